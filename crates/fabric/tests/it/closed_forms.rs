//! Checks completion times against closed forms, to the picosecond.

use crate::common::no_flow_control;
use crate::prelude::*;

/// Computes store-and-forward packet by packet. Returns the arrival of the last packet's last byte
/// at the receiver.
fn pipeline(framing: Framing, mtu: u64, bytes: u64, gbps: &[u64], delay_ns: u64) -> u64 {
    let packets = bytes.div_ceil(mtu);
    // The clock of the HPCC simulator counts whole nanoseconds.
    let tick = if framing == Framing::HpccNs3 { 1000 } else { 1 };
    let mut free = vec![0; gbps.len()];
    for packet in 0..packets {
        let payload = if packet + 1 == packets { bytes - packet * mtu } else { mtu };
        let wire = u64::from(framing.data(payload as u32, packet == 0, 0).wire);
        let mut ready = 0;
        for (free, gbps) in free.iter_mut().zip(gbps) {
            *free = ready.max(*free) + wire * 8000 / gbps / tick * tick;
            ready = *free + delay_ns * 1000;
        }
    }
    free[gbps.len() - 1] + delay_ns * 1000
}

#[test]
fn unloaded_flow_completion_times_are_exact() {
    let rates: &[&[u64]] = &[
        &[100, 100],
        &[100, 100, 100, 100],
        &[100, 100, 100, 100, 100, 100],
        &[100, 400],
        &[400, 100],
        &[100, 400, 400, 100],
        &[400, 100, 40, 200, 25, 100],
        &[25, 40, 100, 200, 400, 800],
    ];
    for framing in [Framing::Rocev2, Framing::HpccNs3, Framing::PyrrhaNs3] {
        for gbps in rates {
            for bytes in [1, 1024, 1025, 1_000_000, 100_000_000] {
                let mut spec = chain(gbps, 1000);
                spec.framing = framing;
                let (simulation, outcomes) = run(&spec, vec![flow(0, 1, bytes, 7)]);
                let expected = pipeline(framing, 1024, bytes, gbps, 1000);
                let finish = outcomes[0].reception.finish.unwrap();
                assert_eq!((finish - Time::from_ps(7000)).ps(), expected, "{framing:?} {gbps:?} {bytes}");
                let ideal = simulation.fabric().ideal_fct(&outcomes[0].spec, &outcomes[0].path, 0);
                assert_eq!(ideal, Some(Duration::from_ps(expected)));
            }
        }
    }
}

/// Two hosts are linked directly, without a switch.
#[test]
fn one_hop_is_serialisation_and_propagation() {
    let mut spec = NetworkSpec::with_nodes(2, 0);
    spec.links = vec![fixtures::link(0, 1, 100, 500)];
    let (_, outcomes) = run(&spec, vec![flow(0, 1, 1024, 0)]);
    // 1024 + 78 + 20 bytes take 80 ps each, and the link has a delay of 500 ns.
    assert_eq!(outcomes[0].reception.finish, Some(Time::from_ps(1122 * 80 + 500_000)));
    // The ACK of 86 bytes returns over the same link.
    assert_eq!(outcomes[0].acknowledged, Some(Time::from_ps(1122 * 80 + 500_000 + 86 * 80 + 500_000)));
}

/// Two or three flows share an egress port. The port never idles, so the last byte leaves after the
/// serialisation of all bytes.
#[test]
fn a_shared_port_is_busy_from_the_first_byte_to_the_last() {
    for senders in [2u64, 3] {
        let mut spec = star(senders as u32 + 1);
        spec.switch.flow_control = no_flow_control();
        spec.switch.buffer = Bytes(1 << 30);
        let bytes = 1_000_000;
        let flows = (0..senders).map(|host| flow(host as u32, senders as u32, bytes, 0)).collect();
        let (simulation, outcomes) = run(&spec, flows);
        let framing = Framing::Rocev2;
        let packets = bytes.div_ceil(1024);
        let last = bytes - (packets - 1) * 1024;
        let wire = u64::from(framing.data(1024, true, 0).wire)
            + (packets - 2) * u64::from(framing.data(1024, false, 0).wire)
            + u64::from(framing.data(last as u32, false, 0).wire);
        let first = u64::from(framing.data(1024, true, 0).wire);
        let rate = Rate::from_gbps(100);
        // The first packet reaches the switch after its own serialisation and the delay of one
        // link. From then on the port sends all packets back to back.
        let expected = rate.time_for(first) + rate.time_for(senders * wire) + Duration::from_us(2);
        assert_eq!(last_finish(&outcomes), Time::ZERO + expected);
        assert_eq!(simulation.totals().drops, [0; 5]);
        assert_eq!(simulation.audit(), []);
    }
}

/// Data of h0 and an ACK of h1, both for h2, arrive at the switch in the same picosecond. The
/// packet whose transmission started later is handled first, and the switch starts to send it
/// before the other arrival is handled. Data may therefore leave before an ACK, although ACKs have
/// strict priority. If the data arrives a picosecond later, the ACK leaves first.
#[test]
fn the_first_of_two_arrivals_transmits_before_the_other_is_handled() {
    let (data, ack) = (1098 * 80, 86 * 80);
    // Delays of the links of h0 and h1. A packet on a longer link started earlier.
    for (delay_0, delay_1, late, data_first) in [(1, 2, 0, true), (3, 2, 0, false), (1, 2, 1, false)] {
        let mut spec = star(3);
        spec.switch.flow_control = no_flow_control();
        spec.links[0].delay = Duration::from_us(delay_0);
        spec.links[1].delay = Duration::from_us(delay_1);
        let [to_0, to_1, to_2] = [delay_0, delay_1, 1].map(|us| us * 1_000_000);
        // Time at which h1's ACK of the packet from h2 arrives at the switch.
        let meeting = data + to_2 + data + to_1 + ack + to_1;
        let (answered, mut other) = (flow(2, 1, 1000, 0), flow(0, 2, 1000, 0));
        other.start = Time::from_ps(meeting - to_0 - data + late);
        let (simulation, outcomes) = run(&spec, vec![answered, other]);
        let [finish, acknowledged] = [outcomes[1].reception.finish, outcomes[0].acknowledged].map(Option::unwrap);
        let expected = match data_first {
            true => (meeting + data, meeting + data + ack),
            false => (meeting + ack + data, meeting + ack),
        };
        assert_eq!((finish.ps() - to_2, acknowledged.ps() - to_2), expected, "{delay_0} {delay_1} {late}");
        assert_eq!(simulation.audit(), []);
    }
}

/// The shortest link has a delay of 1 ps, so an epoch lasts 1 ps. Frames on a longer link may
/// arrive any number of epochs apart.
#[test]
fn frames_arrive_in_time_however_many_epochs_lie_between() {
    for gap in [1 << 16, 1 << 31, 1 << 32, (1 << 32) + 1, 1 << 33] {
        let mut spec = chain(&[100, 100, 100], 1);
        spec.links.iter_mut().for_each(|link| link.delay = Duration::from_ps(1));
        spec.links[1].delay = Duration::from_ms(10);
        spec.switch.buffer = Bytes(1 << 30);
        // Without retransmissions, no other frame wakes the switch.
        spec.recovery = RecoveryConfig::GoBackN(GoBackNConfig { timeout: Duration::ZERO, ..Default::default() });
        let second = FlowSpec { start: Time::from_ps(gap), ..flow(0, 1, 1000, 0) };
        let (_, outcomes) = run(&spec, vec![flow(0, 1, 1000, 0), second]);
        let [first, second] = [0, 1].map(|flow| outcomes[flow].reception.finish.unwrap());
        // After a shorter gap, the second frame waits for the first at the host.
        assert!(gap < 1_000_000 || (second - first).ps() == gap, "{gap}: {first}, {second}");
    }
}
