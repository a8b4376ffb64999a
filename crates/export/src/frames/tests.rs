use super::*;
use crate::run::{Link, Message};
use std::collections::BTreeMap;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn run() -> Run {
    let links =
        BTreeMap::from([((0, 0), Link { to: (1, 2), rate_bps: 1 }), ((1, 2), Link { to: (0, 0), rate_bps: 1 })]);
    let message = Message { number: 0, first: 0, bytes: Some(2500), start_ps: 0, finish_ps: None };
    let flow = Flow { src: 0, dst: 3, messages: vec![message] };
    Run::of_parts(links, BTreeMap::from([(0xd0, flow)]), 1024)
}

fn sent(kind: &str) -> Sent<'_> {
    Sent {
        port: (0, 0),
        kind,
        class: 3,
        flow: 0xd0,
        psn: 0,
        is_marked: false,
        pfc_classes: 0,
        pfc_quanta: 0,
        header: None,
    }
}

/// PAUSE for priority 3, as built by scapy.
#[test]
fn pfc_frames_follow_the_standard() {
    let frame = bytes(&Sent { pfc_classes: 8, pfc_quanta: 0xffff, ..sent("pfc") }, &run());
    let expected = "0180c2000001 020000000000 8808 0101 0008 0000 0000 0000 ffff 0000 0000 0000 0000";
    assert_eq!((frame.len(), &frame[..34]), (60, &hex(expected)[..]));
    assert!(frame[34..].iter().all(|byte| *byte == 0));
}

/// CNP of the published example: opcode 0x81, BECN, queue pair 0xd2 for flow 0xd0.
#[test]
fn cnps_follow_the_annex() {
    let frame = bytes(&sent("cnp"), &run());
    assert_eq!(frame.len(), 14 + 20 + 8 + 12 + 16 + 4);
    assert_eq!(frame[42..54], hex("81 00 ffff 40 0000d2 00000000")[..]);
    assert_eq!(frame[15] >> 2, CNP_DSCP);
}

/// 2500 bytes are a first, a middle and a last packet. IP addresses are those of the hosts, MAC
/// addresses those of the link.
#[test]
fn data_packets_are_writes_of_their_flow() {
    let frames = [0, 1, 2].map(|psn| bytes(&Sent { psn, is_marked: psn == 1, ..sent("data") }, &run()));
    assert_eq!(frames.each_ref().map(|frame| frame[42]), [6, 7, 8]);
    assert_eq!(frames.each_ref().map(|frame| frame[15] & 3), [2, 3, 2]);
    assert_eq!(frames.each_ref().map(|frame| frame.len()), [58 + 16 + 1024, 58 + 1024, 58 + 452]);
    assert_eq!(frames[0][..12], hex("020000010002 020000000000")[..]);
    assert_eq!(frames[0][26..34], [10, 0, 0, 1, 10, 0, 0, 4]);
    // The RETH contains the length of the message.
    assert_eq!(frames[0][66..70], 2500u32.to_be_bytes());
    assert_eq!(frames[2][50] & 0x80, 0x80);
}

/// Messages of 2500 and 1500 bytes have three packets and two.
#[test]
fn data_packets_are_writes_of_their_message() {
    let mut run = run();
    let second = Message { number: 1, first: 3, bytes: Some(1500), start_ps: 0, finish_ps: None };
    run.flows.entry(0xd0).and_modify(|flow| flow.messages.push(second));
    let frames = [2, 3, 4].map(|psn| bytes(&Sent { psn, ..sent("data") }, &run));
    assert_eq!(frames.each_ref().map(|frame| frame[42]), [8, 6, 8]);
    assert_eq!(frames.each_ref().map(|frame| frame.len()), [58 + 452, 58 + 16 + 1024, 58 + 476]);
    assert_eq!(frames[1][66..70], 1500u32.to_be_bytes());
    assert_eq!(frames.each_ref().map(|frame| frame[50] & 0x80), [0x80, 0, 0x80]);
}

/// An ACK that echoes a mark has BECN, like a CNP. A PSN has 24 bits.
#[test]
fn echoed_marks_set_becn() {
    let frames = [false, true].map(|is_marked| bytes(&Sent { psn: 1 << 24 | 6, is_marked, ..sent("ack") }, &run()));
    assert_eq!(frames.each_ref().map(|frame| frame[46]), [0, 0x40]);
    assert_eq!(frames[1][50..54], [0, 0, 0, 5]);
    assert_eq!(bytes(&Sent { psn: (1 << 24) + 5, ..sent("data") }, &run())[51..54], [0, 0, 5]);
}

#[test]
fn acks_name_the_last_packet_and_nacks_the_next() {
    let frames = ["ack", "nack"].map(|kind| bytes(&Sent { psn: 7, ..sent(kind) }, &run()));
    assert_eq!(frames.each_ref().map(|frame| (frame[42], frame[53], frame[54])), [(0x11, 6, 0x1f), (0x11, 7, 0x60)]);
    assert_eq!(frames[0][26..34], [10, 0, 0, 4, 10, 0, 0, 1]);
}

#[test]
fn a_header_with_its_checksum_sums_to_zero() {
    let frame = bytes(&sent("data"), &run());
    assert_eq!(checksum(&frame[14..34]), 0);
}

/// Telemetry is between the Ethernet header and the IPv4 header.
#[test]
fn telemetry_precedes_the_packet() {
    let plain = bytes(&Sent { psn: 1, ..sent("data") }, &run());
    let header = [0x13, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    let frame = bytes(&Sent { psn: 1, header: Some(&header), ..sent("data") }, &run());
    assert_eq!(frame[12..24], [&[0x88, 0xb5][..], &header].concat());
    assert_eq!(frame[24..], plain[14..]);
}
