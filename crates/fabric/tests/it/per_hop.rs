//! Properties of per-hop flow controls without headroom in random fabrics: flows stay in order, no
//! packet is lost, and all state is released.

use crate::common::random::pyrrha_configs;
use crate::prelude::*;
use backwater_fabric::mechanisms::flow_control::bfc::Acks;
use backwater_fabric::mechanisms::load_balance::conga::CongaConfig;
use backwater_fabric::mechanisms::load_balance::drill::DrillConfig;
use backwater_fabric::network::spec::NodeKind;
use proptest::prelude::*;

/// Links, with time and duration of their failures, in ns.
type Faults = Vec<(prop::sample::Index, u64, u64)>;

fn faults(count: std::ops::Range<usize>) -> impl Strategy<Value = Faults> {
    prop::collection::vec((any::<prop::sample::Index>(), 0u64..60_000, 1u64..40_000), count)
}

/// Adds failures of links, at most one per link.
fn fail(spec: &mut NetworkSpec, faults: Faults, recovery: RecoveryConfig) {
    spec.recovery = recovery;
    for (link, down, length) in faults {
        let link = link.index(spec.links.len());
        if spec.faults.iter().all(|fault| fault.link != link) {
            spec.faults.push(LinkFault { link, down: at_ns(down), up: at_ns(down + length) });
        }
    }
}

/// Returns a recovery without NACKs, whose timer repeats lost packets long after all other packets
/// have arrived.
fn nothing_in_vain() -> RecoveryConfig {
    RecoveryConfig::InAnyOrder(InAnyOrderConfig { timeout: Duration::from_ms(100), ..Default::default() })
}

/// Multiplies the bytes of all flows.
fn longer(flows: Vec<FlowSpec>, factor: u64) -> Vec<FlowSpec> {
    flows.into_iter().map(|flow| FlowSpec { bytes: flow.bytes * factor, ..flow }).collect()
}

/// Sets a flow control that needs no headroom, and a buffer that is never full.
fn with_room(spec: &mut NetworkSpec, flow_control: FlowControlConfig) {
    spec.switch.flow_control = flow_control;
    spec.switch.lossless = Vec::new();
    // The drawn policy may have alpha = 0, with which no packet would be admitted.
    spec.switch.headroom = HeadroomConfig::Static(Default::default());
    spec.switch.buffer = Bytes(1 << 40);
}

/// Draws a per-hop flow control that keeps flows in order and loses no packet while there is room.
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

    /// In random fabrics no packet of a flow overtakes another (Go-Back-N would repeat the
    /// overtaken packet), and all packets arrive. The audit finds no root, queue or count that is
    /// left. With a queue for every root, no flow waits for a port that it does not pass.
    #[test]
    fn flows_stay_in_order_and_all_state_is_released(
        Case { spec, flows } in lossless_at_common_rates(),
        flow_control in per_hop(),
        factor in 1u64..40,
    ) {
        let mut spec = spec.clone();
        let is_precise = match &flow_control {
            // The hierarchical organisation needs a queue per root, the single-tier organisation a
            // queue per set of roots.
            FlowControlConfig::Pyrrha(config) => {
                let enough = if config.organisation == Organisation::Hierarchical { 7 } else { 100 };
                config.isolation_queues >= enough && config.hosts == HostReaction::PerFlow
            }
            _ => false,
        };
        with_room(&mut spec, flow_control);
        let flows = longer(flows, factor);
        let (simulation, outcomes) = run(&spec, flows);
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

    /// With spraying, a switch does not know the rest of a packet's path as long as later switches
    /// still choose among several ports. All flows still finish, and no state is left.
    #[test]
    fn sprayed_flows_leave_no_state(
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
        let (simulation, outcomes) = run(&spec, flows);
        prop_assert!(outcomes.iter().all(|outcome| outcome.acknowledged.is_some() && outcome.retransmitted == 0));
        prop_assert_eq!(simulation.audit(), []);
        prop_assert_eq!(simulation.totals().drops, [0; 5]);
    }

    /// Section IV-E of the Pyrrha paper: some switches run Pyrrha and the others run PFC, and
    /// neighbours of different kinds use PFC. Packets are lost only on links that fail, and no
    /// state is left. A host runs the flow control of its first-hop switch, so hosts with links to
    /// both kinds are excluded.
    #[test]
    fn switches_with_pyrrha_and_with_pfc_work_together(
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
        // Switches with Pyrrha do not bound the packets of one ingress port, so PFC needs a large
        // headroom.
        let headroom = HeadroomConfig::Static(StaticConfig { headroom: Some(Bytes(1 << 24)), ..Default::default() });
        spec.groups = vec![SwitchGroup {
            switches: chosen,
            flow_control: Some(FlowControlConfig::Pyrrha(PyrrhaConfig { hosts, ..config })),
            headroom: Some(headroom),
        }];
        spec.switch.buffer = Bytes(1 << 40);
        let flows = longer(flows, factor);
        // With failures, retransmissions of hosts that are not paused would fill any buffer, so
        // packets are repeated late. Without failures, Go-Back-N remains and would repeat overtaken
        // packets.
        if !faults.is_empty() {
            fail(&mut spec, faults, nothing_in_vain());
        }
        let (simulation, outcomes) = run(&spec, flows);
        let is_whole = spec.faults.is_empty();
        let is_in_order = |outcome: &FlowOutcome| !is_whole || outcome.retransmitted == 0;
        let is_done = |outcome: &FlowOutcome| outcome.acknowledged.is_some() && is_in_order(outcome);
        prop_assert!(outcomes.iter().all(is_done));
        prop_assert_eq!(simulation.audit(), []);
        let mut drops = simulation.totals().drops;
        if !is_whole {
            drops[DropCause::LinkDown as usize] = 0;
        }
        prop_assert_eq!(drops, [0; 5]);
    }

    /// Links fail and recover, and neighbours forget the state that they exchanged before. All
    /// flows still finish, and no state is left.
    #[test]
    fn link_failures_leave_no_flow_waiting(
        Case { mut spec, flows } in lossless_at_common_rates(),
        flow_control in per_hop(),
        faults in faults(1..4),
        factor in 1u64..20,
    ) {
        with_room(&mut spec, flow_control);
        let recovery = GoBackNConfig { timeout: Duration::from_us(200), ..Default::default() };
        fail(&mut spec, faults, RecoveryConfig::GoBackN(recovery));
        let flows = longer(flows, factor);
        let (simulation, outcomes) = run(&spec, flows);
        prop_assert!(outcomes.iter().all(|outcome| outcome.acknowledged.is_some()));
        prop_assert_eq!(simulation.audit(), []);
    }
}
