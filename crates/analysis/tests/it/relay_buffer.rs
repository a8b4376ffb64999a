//! Buffer of a relay queue if relayed packets have priority over a server's own data. In
//! simulations, the bound of `docs/concepts/relay-buffer.md` is sufficient and necessary.

use crate::common::networks::{along, bcube, flow};
use backwater_engine::{Bytes, Duration, Time};
use backwater_fabric::Simulation;
use backwater_fabric::ids::NodeId;
use backwater_fabric::mechanisms::flow_control::FlowControlConfig;
use backwater_fabric::mechanisms::headroom::HeadroomConfig;
use backwater_fabric::mechanisms::headroom::static_threshold::StaticConfig;
use backwater_fabric::network::spec::{FlowSpec, NetworkSpec};

/// Wire bytes of a full data frame, of a flow's first frame, and of an ACK; charged bytes of a full
/// data frame.
const FRAME: u64 = 1106;
const FIRST: u64 = 1122;
const ACK: u64 = 86;
const CHARGE: u64 = 1086;

/// Returns the buffer for `relayed` full frames at line rate, if the other port also receives full
/// frames.
fn bound(relayed: u64, ack_every: u64) -> u64 {
    let acks = 1 + (relayed - 1) / ack_every;
    CHARGE * (FIRST + ACK * acks).div_ceil(FRAME)
}

/// Returns the flows of the worst case. In BCube(4, 1), h1 relays `relayed` packets from h0 to h5,
/// receives from h9, and starts to send to h13 just before the first packet arrives. ACKs for h9
/// leave h1 through the relay port; the ACKs of h5 pass another server.
fn worst_case(relayed: u64) -> Vec<FlowSpec> {
    let ends_at_ns = 20_000 + relayed * 89 + 20_000;
    let starting = |ns: u64, packets: u64, flow| FlowSpec {
        start: Time::ZERO + Duration::from_ns(ns),
        bytes: packets * 1024,
        ..flow
    };
    let back = along(4, 1, &[5, 4, 0]).data_via().to_vec();
    vec![
        starting(0, ends_at_ns / 88, flow(9, 1)),
        {
            let there = along(4, 1, &[0, 1, 5]);
            let via = there.data_via().to_vec();
            starting(20_000, relayed, there.via(via, back))
        },
        starting(22_165, 100, flow(1, 13)),
    ]
}

fn run(spec: NetworkSpec, flows: Vec<FlowSpec>) -> Simulation {
    let mut simulation = Simulation::new(spec, flows, 1).unwrap();
    simulation.run_until(Time::ZERO + Duration::from_ms(3), 1);
    assert_eq!(simulation.audit(), []);
    simulation
}

/// Returns BCube(4, 1) with one ACK per `ack_every` packets, under PortFC or without flow control.
fn spec(flow_control: FlowControlConfig, ack_every: u32) -> NetworkSpec {
    let mut spec = bcube(4, 1);
    spec.host.ack_every = ack_every;
    if matches!(flow_control, FlowControlConfig::None(_)) {
        spec.switch.lossless = Vec::new();
    }
    spec.switch.flow_control = flow_control;
    spec
}

fn flow_controls() -> [FlowControlConfig; 2] {
    [FlowControlConfig::PortFc(Default::default()), FlowControlConfig::None(Default::default())]
}

/// Returns the packets that h1 drops with a relay buffer of this size.
fn dropped(flow_control: FlowControlConfig, buffer: u64, ack_every: u32, relayed: u64) -> u64 {
    let mut spec = spec(flow_control, ack_every);
    spec.host.relay.buffer = Some(Bytes(buffer));
    // The whole buffer is shared.
    let (xoff, headroom) = (Bytes(1 << 40), Some(Bytes(0)));
    spec.host.relay.headroom = Some(HeadroomConfig::Static(StaticConfig { xoff, xon: None, headroom }));
    run(spec, worst_case(relayed)).totals().drops.iter().sum()
}

#[test]
fn the_peak_of_a_relay_queue_is_the_bound() {
    for flow_control in flow_controls() {
        for (ack_every, relayed) in [(1, 100), (1, 1000), (1, 10_000), (4, 1000), (4, 10_000)] {
            let simulation = run(spec(flow_control.clone(), ack_every), worst_case(relayed));
            let peak = simulation.node(NodeId(1)).switch().unwrap().occupancy().peak;
            assert_eq!(peak, bound(relayed, ack_every.into()), "an ACK for {ack_every}, {relayed} packets");
        }
    }
}

#[test]
fn packets_are_lost_only_below_the_bound() {
    for flow_control in flow_controls() {
        for (ack_every, relayed) in [(1, 1000), (4, 10_000)] {
            let bound = bound(relayed, ack_every.into());
            assert_eq!(dropped(flow_control.clone(), bound, ack_every, relayed), 0);
            assert!(dropped(flow_control.clone(), bound - 1, ack_every, relayed) > 0);
        }
    }
}
