//! A small network to try a flow control in.

use backwater_engine::{Bytes, Duration, Rate, Time};
use backwater_fabric::Simulation;
use backwater_fabric::frame::framing::Framing;
use backwater_fabric::ids::{Class, NodeId};
use backwater_fabric::mechanisms::congestion::CongestionConfig;
use backwater_fabric::mechanisms::flow_control::FlowControlConfig;
use backwater_fabric::mechanisms::load_balance::LoadBalanceConfig;
use backwater_fabric::mechanisms::recovery::RecoveryConfig;
use backwater_fabric::network::spec::{FlowSpec, LinkSpec, NetworkSpec, NodeKind, NodeSpec, SwitchConfig};

const HOSTS: u32 = 8;

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// When the last byte of the incast had arrived.
    pub incast: Time,
    /// When the last byte of the flow in the other class had arrived.
    pub bystander: Time,
    /// Packets lost, for whatever reason.
    pub drops: u64,
    /// Whether all books balance at the end.
    pub is_sound: bool,
}

/// Eight hosts at 100 Gb/s on one switch with little buffer.
fn network(flow_control: FlowControlConfig) -> NetworkSpec {
    let host = |i| NodeSpec { name: format!("h{i}"), kind: NodeKind::Host };
    let switch = NodeSpec { name: "s0".into(), kind: NodeKind::Switch };
    let link = |host| LinkSpec {
        a: NodeId(host),
        b: NodeId(HOSTS),
        rate: Rate::from_gbps(100),
        delay: Duration::from_us(1),
        error_rate: 0.0,
    };
    NetworkSpec {
        seed: 1,
        framing: Framing::Rocev2,
        mtu: Bytes(1024),
        nodes: (0..HOSTS).map(host).chain([switch]).collect(),
        links: (0..HOSTS).map(link).collect(),
        routes: Vec::new(),
        faults: Vec::new(),
        reconvergence: None,
        switch: SwitchConfig {
            buffer: Bytes(1_000_000),
            lossless: vec![Class(3), Class(5)],
            flow_control,
            ..Default::default()
        },
        groups: Vec::new(),
        host: Default::default(),
        congestion: CongestionConfig::None(Default::default()),
        load_balance: LoadBalanceConfig::Ecmp(Default::default()),
        recovery: RecoveryConfig::GoBackN(Default::default()),
    }
}

fn flow(src: u32, dst: u32, class: u8) -> FlowSpec {
    FlowSpec {
        src: NodeId(src),
        dst: NodeId(dst),
        bytes: 200_000,
        class: Class(class),
        start: Time::ZERO,
        tag: 0,
        data_via: Vec::new(),
        ack_via: Vec::new(),
    }
}

/// Hosts 0 to 6 send to host 7 in class 3, host 0 to host 1 in class 5.
///
/// # Panics
/// If a flow has not finished after ten milliseconds.
pub fn run(flow_control: FlowControlConfig) -> Fate {
    let flows = (0..HOSTS - 1).map(|src| flow(src, HOSTS - 1, 3)).chain([flow(0, 1, 5)]).collect();
    let mut simulation = Simulation::new(network(flow_control), flows, 1).expect("the network is possible");
    simulation.run_until(Time::ZERO + Duration::from_ms(10), 1);
    let finish: Vec<Time> =
        simulation.outcomes().iter().map(|outcome| outcome.reception.finish.expect("every flow finishes")).collect();
    let (bystander, incast) = finish.split_last().expect("there are flows");
    Fate {
        incast: *incast.iter().max().expect("there are senders"),
        bystander: *bystander,
        drops: simulation.totals().drops.iter().sum(),
        is_sound: simulation.audit().is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OnOffConfig;
    use std::sync::Arc;

    #[test]
    fn on_off_loses_nothing_but_stops_the_bystander_with_the_culprits() {
        let pfc = run(FlowControlConfig::Pfc(Default::default()));
        let on_off = run(FlowControlConfig::Custom(Arc::new(OnOffConfig)));
        for fate in [pfc, on_off] {
            assert_eq!((fate.drops, fate.is_sound), (0, true), "{fate:?}");
            // 1.4 MB into one port of 100 Gb/s.
            assert!(fate.incast > Time::ZERO + Duration::from_us(112), "{fate:?}");
        }
        // Under PFC the bystander has its host's link to itself while class 3 is paused.
        assert!(pfc.bystander < Time::ZERO + Duration::from_us(40), "{pfc:?}");
        assert!(on_off.bystander > Time::ZERO + Duration::from_us(80), "{on_off:?}");
    }

    #[test]
    fn without_flow_control_packets_are_lost() {
        assert!(run(FlowControlConfig::None(Default::default())).drops > 0);
    }
}
