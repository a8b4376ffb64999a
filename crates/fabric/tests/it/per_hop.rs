//! Properties of per-hop flow control that needs no headroom, in random fabrics: flows stay in order, nothing is lost, and all state is given back.

use crate::common::random::pyrrha_configs;
use crate::prelude::*;
use backwater_fabric::mechanisms::flow_control::bfc::Acks;
use backwater_fabric::mechanisms::load_balance::conga::CongaConfig;
use backwater_fabric::mechanisms::load_balance::drill::DrillConfig;
use backwater_fabric::network::spec::NodeKind;
use proptest::prelude::*;

/// Links, and from when and for how long they fail, in ns.
type Faults = Vec<(prop::sample::Index, u64, u64)>;

fn faults(count: std::ops::Range<usize>) -> impl Strategy<Value = Faults> {
    prop::collection::vec((any::<prop::sample::Index>(), 0u64..60_000, 1u64..40_000), count)
}

/// Has links fail, each at most once.
fn fail(spec: &mut NetworkSpec, faults: Faults, recovery: RecoveryConfig) {
    spec.recovery = recovery;
    let at = |ns: u64| at_ns(ns);
    for (link, down, length) in faults {
        let link = link.index(spec.links.len());
        if spec.faults.iter().all(|fault| fault.link != link) {
            spec.faults.push(LinkFault { link, down: at(down), up: at(down + length) });
        }
    }
}

/// Receivers ask for nothing: what is lost is sent again when all else has long arrived.
fn nothing_in_vain() -> RecoveryConfig {
    RecoveryConfig::InAnyOrder(InAnyOrderConfig { timeout: Duration::from_ms(100), ..Default::default() })
}

/// The same flows with so many times their bytes.
fn longer(flows: Vec<FlowSpec>, factor: u64) -> Vec<FlowSpec> {
    flows.into_iter().map(|flow| FlowSpec { bytes: flow.bytes * factor, ..flow }).collect()
}

/// Flow control that needs no headroom, and a buffer that is never full.
fn with_room(spec: &mut NetworkSpec, flow_control: FlowControlConfig) {
    spec.switch.flow_control = flow_control;
    spec.switch.lossless = Vec::new();
    // A share of nothing (alpha = 0) would let nothing in.
    spec.switch.headroom = HeadroomConfig::Static(Default::default());
    spec.switch.buffer = Bytes(1 << 40);
}

/// Mechanisms of per-hop flow control that keep flows in order and lose nothing while there is room.
fn per_hop() -> impl Strategy<Value = FlowControlConfig> {
    prop_oneof![
        6 => (pyrrha_configs(), prop_oneof![1u16..8, Just(100)]).prop_map(|(config, isolation_queues)| {
            FlowControlConfig::Pyrrha(PyrrhaConfig { isolation_queues, ..config })
        }),
        2 => (1u16..9, 0.0f64..3.0, select(vec![Acks::Wait, Acks::Count, Acks::Apart])).prop_map(
            |(queues, sticky, acks)| {
                FlowControlConfig::Bfc(BfcConfig { queues, sticky, acks, ..Default::default() })
            }
        ),
        1 => Just(FlowControlConfig::PerFlow(PerFlowConfig {})),
    ]
}

proptest! {
    #![proptest_config(common::cases(150))]

    /// Order and secession in random fabrics: no packet of a flow overtakes another (Go-Back-N would send again), all arrive, and nothing is
    /// left of any root, queue or count (the audit looks). With a queue for every root, no flow waits for a port that it does not pass.
    #[test]
    fn flows_stay_in_order_and_all_state_is_given_back(
        Case { spec, flows } in lossless_at_common_rates(),
        flow_control in per_hop(),
        factor in 1u64..40,
    ) {
        let mut spec = spec.clone();
        let is_precise = match &flow_control {
            // There are more sets of roots than roots.
            FlowControlConfig::Pyrrha(config) => {
                let enough = if config.organisation == Organisation::Hierarchical { 7 } else { 100 };
                config.isolation_queues >= enough && config.hosts == HostReaction::PerFlow
            }
            _ => false,
        };
        with_room(&mut spec, flow_control);
        let flows = longer(flows, factor);
        let (simulation, outcomes) = common::run(&spec, flows);
        for outcome in &outcomes {
            prop_assert!(outcome.acknowledged.is_some());
            prop_assert_eq!(outcome.retransmitted, 0);
            prop_assert!(!is_precise || outcome.reception.blocked == Duration::ZERO);
        }
        prop_assert_eq!(simulation.audit(), []);
        prop_assert_eq!(simulation.totals().drops, [0; 5]);
        let (sharded, _) = common::run_shards(&spec, outcomes.iter().map(|outcome| outcome.spec.clone()).collect(), 3);
        prop_assert_eq!(sharded.fingerprint(), simulation.fingerprint());
        prop_assert_eq!(sharded.counters(), simulation.counters());
    }

    /// Paths that are chosen packet by packet are known from the last choice on: all flows finish all the same, and nothing is left over.
    #[test]
    fn flows_whose_packets_part_leave_nothing_over(
        Case { mut spec, flows } in lossless_at_common_rates(),
        flow_control in per_hop(),
        load_balance in select(vec![
            LoadBalanceConfig::Spray(SprayConfig {}),
            LoadBalanceConfig::Drill(DrillConfig::default()),
            LoadBalanceConfig::LetFlow(LetFlowConfig::default()),
            LoadBalanceConfig::Conga(CongaConfig::default()),
        ]),
        factor in 1u64..40,
    ) {
        with_room(&mut spec, flow_control);
        spec.load_balance = load_balance;
        prop_assume!(common::applies(&spec));
        spec.recovery = nothing_in_vain();
        let flows = longer(flows, factor);
        let (simulation, outcomes) = common::run(&spec, flows);
        prop_assert!(outcomes.iter().all(|outcome| outcome.acknowledged.is_some() && outcome.retransmitted == 0));
        prop_assert_eq!(simulation.audit(), []);
        prop_assert_eq!(simulation.totals().drops, [0; 5]);
    }

    /// Section IV-E: some switches run Pyrrha and the others PFC, which both sides of the border then speak. Nothing is lost but by links
    /// that fail, or left over. A host runs what the switch at its first link does, so that nothing is promised of one with links to both.
    #[test]
    fn switches_with_pyrrha_and_switches_with_pfc_get_along(
        Case { mut spec, flows } in lossless_at_common_rates(),
        config in pyrrha_configs(),
        hosts in select(vec![HostReaction::PerFlow, HostReaction::None, HostReaction::Pfc]),
        with_pyrrha in prop::collection::vec(any::<bool>(), 8),
        faults in faults(0..3),
        factor in 1u64..40,
    ) {
        let switches = (0..).map(NodeId).zip(&spec.nodes).filter(|(_, node)| node.kind == NodeKind::Switch);
        let chosen: Vec<_> = switches.zip(with_pyrrha).filter(|(_, chosen)| *chosen).map(|((id, _), _)| id).collect();
        let is_between = |host: u32| {
            let links = spec.links.iter().filter(|link| link.a == NodeId(host));
            links.map(|link| chosen.contains(&link.b)).collect::<BTreeSet<_>>().len() > 1
        };
        prop_assume!(!(0..spec.nodes.len() as u32).any(|node| spec.is_host(NodeId(node)) && is_between(node)));
        // Among themselves switches with Pyrrha do not bound what comes in by one port.
        let headroom = HeadroomConfig::Static(StaticConfig { headroom: Some(Bytes(1 << 24)), ..Default::default() });
        spec.groups = vec![SwitchGroup {
            switches: chosen,
            flow_control: Some(FlowControlConfig::Pyrrha(PyrrhaConfig { hosts, ..config })),
            headroom: Some(headroom),
        }];
        spec.switch.buffer = Bytes(1 << 40);
        let flows = longer(flows, factor);
        // Where links fail, retransmissions of hosts that are not paused would fill any buffer. Otherwise order shows, as Go-Back-N would send
        // again.
        if !faults.is_empty() {
            fail(&mut spec, faults, nothing_in_vain());
        }
        let (simulation, outcomes) = common::run(&spec, flows);
        let is_whole = spec.faults.is_empty();
        let is_done = |outcome: &FlowOutcome| outcome.acknowledged.is_some() && (!is_whole || outcome.retransmitted == 0);
        prop_assert!(outcomes.iter().all(is_done));
        prop_assert_eq!(simulation.audit(), []);
        let mut drops = simulation.totals().drops;
        if !is_whole {
            drops[DropCause::LinkDown as usize] = 0;
        }
        prop_assert_eq!(drops, [0; 5]);
    }

    /// Links fail and come back: what neighbours had told each other is void. All flows finish all the same, and nothing is left over.
    #[test]
    fn links_that_fail_leave_nobody_waiting(
        Case { mut spec, flows } in lossless_at_common_rates(),
        flow_control in per_hop(),
        faults in faults(1..4),
        factor in 1u64..20,
    ) {
        with_room(&mut spec, flow_control);
        let recovery = GoBackNConfig { timeout: Duration::from_us(200), ..Default::default() };
        fail(&mut spec, faults, RecoveryConfig::GoBackN(recovery));
        let flows = longer(flows, factor);
        let (simulation, outcomes) = common::run(&spec, flows);
        prop_assert!(outcomes.iter().all(|outcome| outcome.acknowledged.is_some()));
        prop_assert_eq!(simulation.audit(), []);
    }
}
