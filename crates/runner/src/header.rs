//! Headers with EtherType 0x88B5 (IEEE 802, local experimental 1), for contents without a standard
//! format. All numbers are big-endian.
//!
//! | bytes | link-local frame | notice | telemetry |
//! |---|---|---|---|
//! | 0 | 0x11: version 1, kind 1 | 0x12 | 0x13 |
//! | 1 | 0 | 0 | number of stamps |
//! | 2-3 | protocol | protocol | |
//! | rest | opcode (2), 3 fields (4) | port, flow, target, 4 fields (4) | stamps (8 each), zeros |
//!
//! Numbers in parentheses are sizes in bytes. A protocol is given by the hash of its name; ports,
//! flows and nodes are given by their numbers in the run.
//!
//! Stamps have the format of HPCC's header. The rate has 4 bits ([`RATES`]), and the time in ns has
//! 24 bits. The bytes sent have 20 bits in units of 128 B, and the queue length has 16 bits in
//! units of 80 B. Time and bytes wrap around; the queue length saturates. After a header with
//! telemetry, the IPv4 header follows.

use backwater_engine::Rate;
use backwater_fabric::frame::Notice;
use backwater_fabric::frame::control::Control;
use backwater_fabric::frame::record::{Stamp, Telemetry};

/// Rates of stamps in Gb/s, by code. Code 0 is any other rate.
const RATES: [u64; 10] = [0, 10, 25, 40, 50, 100, 200, 400, 800, 1600];

/// Returns the header of a link-local frame, or `None` for PFC.
pub(crate) fn of_control(control: &Control) -> Option<Vec<u8>> {
    let Control::Custom { protocol, opcode, words, .. } = control else { return None };
    let mut header = vec![0x11, 0];
    header.extend(protocol.number().to_be_bytes());
    header.extend(opcode.to_be_bytes());
    header.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    Some(header)
}

/// Returns the header of a notice.
pub(crate) fn of_notice(notice: &Notice) -> Vec<u8> {
    let Notice { protocol, from, flow, to, words } = notice;
    let mut header = vec![0x12, 0];
    header.extend(protocol.number().to_be_bytes());
    header.extend([from.0, flow.0, to.0].iter().chain(words).flat_map(|word| word.to_be_bytes()));
    header
}

/// Returns the header of a packet with telemetry, `room` bytes long.
pub(crate) fn of_telemetry(telemetry: &Telemetry, room: usize) -> Vec<u8> {
    let stamps = &telemetry.stamps()[..telemetry.stamps().len().min(room.saturating_sub(2) / 8)];
    let mut header = vec![0x13, stamps.len() as u8];
    header.extend(stamps.iter().flat_map(|stamp| stamp_bits(stamp).to_be_bytes()));
    header.resize(room, 0);
    header
}

fn stamp_bits(stamp: &Stamp) -> u64 {
    let known = |gbps: &u64| stamp.rate == Rate::from_gbps(*gbps);
    let rate = RATES.iter().skip(1).position(known).map_or(0, |code| code as u64 + 1);
    let (time, sent) = (stamp.time.ps() / 1000, stamp.tx_bytes / 128);
    rate << 60 | (time & 0xff_ffff) << 36 | (sent & 0xf_ffff) << 16 | (stamp.queue_bytes / 80).min(0xffff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_engine::Time;
    use backwater_fabric::frame::{Protocol, Signal};
    use backwater_fabric::ids::{FlowId, NodeId, PortId};

    #[test]
    fn link_local_frames_hold_protocol_opcode_and_fields() {
        let protocol = Protocol::named("pyrrha");
        let frame = |words| Control::Custom { protocol, opcode: 0x0203, signal: Signal::Other, reliable: false, words };
        let [a, b] = protocol.number().to_be_bytes();
        let expected = [0x11, 0, a, b, 2, 3, 0, 0, 0, 4, 0, 0, 0, 5, 1, 0, 0, 6];
        assert_eq!(of_control(&frame([4, 5, 0x0100_0006])).unwrap(), expected);
    }

    #[test]
    fn notices_hold_port_flow_node_and_fields() {
        let protocol = Protocol::named("srcc");
        let words = [10, 11, 12, 13];
        let header = of_notice(&Notice { protocol, from: PortId(7), flow: FlowId(8), to: NodeId(9), words });
        let numbers: Vec<u32> =
            header[4..].chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect();
        assert_eq!((header[0], numbers), (0x12, vec![7, 8, 9, 10, 11, 12, 13]));
    }

    /// The header contains as many stamps as fit.
    #[test]
    fn telemetry_fills_its_room() {
        let mut telemetry = Telemetry::default();
        for hop in 1..=6 {
            let (time, rate) = (Time::from_ps(hop * 1_000_000), Rate::from_gbps(if hop == 2 { 3 } else { 400 }));
            telemetry.push(Stamp { time, tx_bytes: hop << 27, queue_bytes: hop * 80 * 0x4000, rate });
        }
        let header = of_telemetry(&telemetry, 42);
        let stamps: Vec<u64> =
            header[2..].chunks(8).map(|stamp| u64::from_be_bytes(stamp.try_into().unwrap())).collect();
        assert_eq!((header.len(), header[0], header[1], stamps.len()), (42, 0x13, 5, 5));
        assert_eq!(stamps[0], 7 << 60 | 1000 << 36 | 0x4000);
        assert_eq!(stamps[1] >> 60, 0);
        assert_eq!(stamps[4] & 0xffff, 0xffff);
        assert_eq!(of_telemetry(&Telemetry::default(), 20), [&[0x13, 0][..], &[0; 18]].concat());
    }
}
