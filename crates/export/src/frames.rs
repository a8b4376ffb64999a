//! Bytes of frames on the wire, from the Ethernet header to the last byte before the FCS.
//!
//! Packets are RoCEv2 (InfiniBand architecture specification, annex A17) over IPv4 and Ethernet.
//! PFC is IEEE 802.1Qbb. Contents without a standard format have EtherType 0x88B5 and the header
//! that the run recorded. Payload is all zeros.

use crate::run::{Flow, Port, Run};

const ROCE: u16 = 4791;
const IPV4: u16 = 0x0800;
const MAC_CONTROL: u16 = 0x8808;
const EXPERIMENTAL: u16 = 0x88b5;
/// Destination of link-local frames, which bridges do not forward (IEEE 802.1Q table 8-1).
const LINK_LOCAL: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01];
/// Smallest frame, without its FCS.
const SMALLEST: usize = 60;
/// Queue pair of flow 0. Lower numbers are for management.
const FIRST_PAIR: u32 = 2;
/// DSCP of CNPs: network control, as is customary.
const CNP_DSCP: u8 = 48;
/// Opcode of a CNP in the BTH.
const CNP: u8 = 0x81;

/// Transmitted frame, as in the table of events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent<'a> {
    pub(crate) port: Port,
    pub(crate) kind: &'a str,
    pub(crate) class: u8,
    pub(crate) flow: u32,
    pub(crate) psn: u32,
    pub(crate) is_marked: bool,
    pub(crate) pfc_classes: u8,
    pub(crate) pfc_quanta: u16,
    pub(crate) header: Option<&'a [u8]>,
}

/// Content of a packet from its BTH on.
struct Content {
    /// Sending host.
    from: u32,
    to: u32,
    opcode: u8,
    psn: u32,
    is_last: bool,
    /// True if the packet reports marks to the sender.
    becn: bool,
    dscp: u8,
    ecn: u8,
    /// Bytes after the BTH.
    rest: Vec<u8>,
}

/// Returns the bytes of a frame.
pub(crate) fn bytes(sent: &Sent<'_>, run: &Run) -> Vec<u8> {
    let peer = run.links.get(&sent.port).map_or(sent.port, |link| link.to);
    match sent.kind {
        "pfc" => pfc(sent),
        "notice" => padded(ethernet(mac(peer), mac(sent.port), EXPERIMENTAL, sent.header.unwrap_or_default())),
        "data" | "ack" | "nack" | "cnp" => {
            let flow = run.flows.get(&sent.flow);
            let packet = packet(&content(sent, flow, run.mtu), sent.flow, &mac(peer), &mac(sent.port));
            match sent.header {
                // The header precedes the IPv4 header.
                Some(header) => {
                    let (ethernet, ip) = packet.split_at(14);
                    let mut frame = [&ethernet[..12], &EXPERIMENTAL.to_be_bytes(), header].concat();
                    frame.extend(ip);
                    padded(frame)
                }
                None => padded(packet),
            }
        }
        _ => padded(ethernet(LINK_LOCAL, mac(sent.port), EXPERIMENTAL, sent.header.unwrap_or_default())),
    }
}

/// Returns the MAC address of a port: locally administered, with node and port number.
fn mac((node, port): Port) -> [u8; 6] {
    let ([_, a, b, c], [d, e]) = (node.to_be_bytes(), port.to_be_bytes());
    [0x02, a, b, c, d, e]
}

/// Returns the IPv4 address of a host, from 10.0.0.1.
fn address(host: u32) -> [u8; 4] {
    (0x0a00_0001 + (host & 0x00ff_ffff)).to_be_bytes()
}

fn ethernet(to: [u8; 6], from: [u8; 6], kind: u16, rest: &[u8]) -> Vec<u8> {
    [&to[..], &from, &kind.to_be_bytes(), rest].concat()
}

fn padded(mut frame: Vec<u8>) -> Vec<u8> {
    frame.resize(frame.len().max(SMALLEST), 0);
    frame
}

/// Returns a PFC frame with opcode 0x0101, the class-enable vector and eight times.
fn pfc(sent: &Sent<'_>) -> Vec<u8> {
    let mut rest = vec![0x01, 0x01, 0, sent.pfc_classes];
    for class in 0..8 {
        let quanta = if sent.pfc_classes & 1 << class == 0 { 0 } else { sent.pfc_quanta };
        rest.extend(quanta.to_be_bytes());
    }
    padded(ethernet(LINK_LOCAL, mac(sent.port), MAC_CONTROL, &rest))
}

fn content(sent: &Sent<'_>, flow: Option<&Flow>, mtu: u64) -> Content {
    let (src, dst) = flow.map_or((0, 0), |flow| (flow.src, flow.dst));
    // A class uses the code point of its class selector (RFC 2474).
    let dscp = sent.class << 3;
    let answer = |opcode, psn, rest| {
        let becn = sent.is_marked || opcode == CNP;
        Content { from: dst, to: src, opcode, psn, is_last: false, becn, dscp, ecn: 0, rest }
    };
    // The AETH contains a syndrome and an unused message number.
    let aeth = |syndrome: u8| vec![syndrome, 0, 0, 0];
    match sent.kind {
        // An ACK carries the number of the last packet in order, not of the next packet.
        "ack" => answer(0x11, sent.psn.wrapping_sub(1), aeth(0x1f)),
        "nack" => answer(0x11, sent.psn, aeth(0x60)),
        "cnp" => Content { dscp: CNP_DSCP, ..answer(CNP, 0, vec![0; 16]) },
        _ => {
            let message = flow.and_then(|flow| flow.message_of(sent.psn));
            let (first, bytes) = message.map_or((0, None), |message| (message.first, message.bytes));
            let before = u64::from(sent.psn - first) * mtu;
            let payload = bytes.map_or(mtu, |bytes| bytes.saturating_sub(before).min(mtu));
            let (is_first, is_last) = (sent.psn == first, bytes.is_some_and(|bytes| before + payload >= bytes));
            // Opcodes are those of RDMA WRITE: first, middle, last and only.
            let opcode = match (is_first, is_last) {
                (true, false) => 0x06,
                (false, false) => 0x07,
                (false, true) => 0x08,
                (true, true) => 0x0a,
            };
            let mut rest = Vec::new();
            if is_first {
                // The RETH contains address, key and length of the message.
                let length = bytes.unwrap_or(u64::MAX).min(u32::MAX.into()) as u32;
                rest.extend([&[0; 8][..], &sent.flow.to_be_bytes(), &length.to_be_bytes()].concat());
            }
            rest.resize(rest.len() + payload as usize, 0);
            let ecn = if sent.is_marked { 3 } else { 2 };
            Content { from: src, to: dst, opcode, psn: sent.psn, is_last, becn: false, dscp, ecn, rest }
        }
    }
}

/// Returns a RoCEv2 packet with its Ethernet header.
fn packet(content: &Content, flow: u32, to: &[u8; 6], from: &[u8; 6]) -> Vec<u8> {
    let udp_length = 8 + 12 + content.rest.len() + 4;
    let ip_length = (20 + udp_length) as u16;
    let mut ip = vec![0x45, content.dscp << 2 | content.ecn];
    ip.extend(ip_length.to_be_bytes());
    // The fields are identification 0, don't fragment, time to live 64, UDP, and an empty checksum.
    ip.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    ip.extend([address(content.from), address(content.to)].concat());
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    // The source port is the entropy of the flow. The UDP checksum is 0, which means none.
    let source = 0xc000 | (flow.wrapping_mul(0x9e37_79b1) >> 18) as u16;
    let mut udp = [source.to_be_bytes(), ROCE.to_be_bytes(), (udp_length as u16).to_be_bytes(), [0, 0]].concat();
    udp.extend(bth(content, flow));
    udp.extend(&content.rest);
    let icrc = icrc(&ip, &udp);
    udp.extend(icrc.to_le_bytes());
    [&to[..], from, &IPV4.to_be_bytes(), &ip, &udp].concat()
}

/// Returns the base transport header.
fn bth(content: &Content, flow: u32) -> [u8; 12] {
    let ([_, a, b, c], [_, p, s, n]) = (flow.wrapping_add(FIRST_PAIR).to_be_bytes(), content.psn.to_be_bytes());
    // Flags are: no solicited event, migrated, no padding. The partition is the default one.
    let flags = if content.opcode == CNP { 0 } else { 0x40 };
    [content.opcode, flags, 0xff, 0xff, u8::from(content.becn) << 6, a, b, c, u8::from(content.is_last) << 7, p, s, n]
}

/// Returns the Internet checksum of a header whose checksum is 0 (RFC 1071).
fn checksum(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// Returns the invariant CRC (annex A17.3.3): CRC-32 over eight bytes of ones and the packet.
/// Fields that switches may change count as ones: type of service, time to live, both checksums,
/// and the fifth byte of the BTH.
fn icrc(ip: &[u8], udp: &[u8]) -> u32 {
    let (mut ip, mut head) = (ip.to_vec(), udp[..20].to_vec());
    for at in [1, 8, 10, 11] {
        ip[at] = 0xff;
    }
    for at in [6, 7, 12] {
        head[at] = 0xff;
    }
    let mut crc = crc32fast::Hasher::new();
    for part in [&[0xff; 8][..], &ip, &head, &udp[20..]] {
        crc.update(part);
    }
    crc.finalize()
}

#[cfg(test)]
mod tests;
