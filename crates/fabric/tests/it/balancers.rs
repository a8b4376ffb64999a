//! All load balancers in random leaf-spines and fat-trees, with links of different rates and links
//! that fail. All tables become empty in the end.

use crate::prelude::*;
use proptest::prelude::*;

/// Number of hosts, number of switches, links of hosts, and links between switches.
type Shape = (u32, u32, Vec<(u32, u32)>, Vec<(u32, u32)>);

fn leaf_spines() -> impl Strategy<Value = Shape> {
    (2u32..4, 2u32..5, 1u32..4, 1u32..3).prop_map(|(leaves, spines, per_leaf, parallel)| {
        let hosts = leaves * per_leaf;
        let access = (0..hosts).map(|host| (host, hosts + host / per_leaf)).collect();
        let pairs = (0..leaves).flat_map(|leaf| (0..spines).map(move |spine| (leaf, spine)));
        let up = pairs.flat_map(|(leaf, spine)| (0..parallel).map(move |_| (hosts + leaf, hosts + leaves + spine)));
        (hosts, leaves + spines, access, up.collect())
    })
}

/// Draws two or three pods of two edges and two aggregation switches, and four cores.
fn fat_trees() -> impl Strategy<Value = Shape> {
    (2u32..4, 1u32..3).prop_map(|(pods, per_edge)| {
        let hosts = pods * 2 * per_edge;
        let (edge, agg, core) = (move |i| hosts + i, move |i| hosts + 2 * pods + i, move |i| hosts + 4 * pods + i);
        let access = (0..hosts).map(|host| (host, edge(host / per_edge))).collect();
        let in_pods = (0..pods).flat_map(|pod| (0..4).map(move |i| (pod * 2 + i / 2, pod * 2 + i % 2)));
        let up = in_pods.map(|(low, high)| (edge(low), agg(high)));
        let to_cores = (0..2 * pods).flat_map(|i| (0..2).map(move |j| (agg(i), core(i % 2 * 2 + j))));
        (hosts, 4 * pods + 4, access, up.chain(to_cores).collect())
    })
}

fn balancers() -> impl Strategy<Value = LoadBalanceConfig> {
    prop_oneof![
        2 => select(LoadBalanceConfig::all()),
        1 => common::random::flb().prop_map(LoadBalanceConfig::Flb),
    ]
}

/// Draws a congestion control. Under MP-RDMA, senders choose the paths.
fn congestion() -> impl Strategy<Value = CongestionConfig> {
    select(vec![
        CongestionConfig::None(Default::default()),
        CongestionConfig::Dcqcn(Default::default()),
        CongestionConfig::Swift(Default::default()),
        CongestionConfig::FlbRc(Default::default()),
        CongestionConfig::MpRdma(Default::default()),
    ])
}

/// Draws a recovery. Two of three recoveries send a NACK for an out-of-order packet.
fn recoveries() -> impl Strategy<Value = RecoveryConfig> {
    select(vec![
        RecoveryConfig::Irn(Default::default()),
        RecoveryConfig::GoBackN(Default::default()),
        RecoveryConfig::InAnyOrder(Default::default()),
    ])
}

fn is_mp_rdma(spec: &NetworkSpec) -> bool {
    matches!(spec.congestion, CongestionConfig::MpRdma(_))
}

#[derive(Clone, Debug)]
struct Case {
    spec: NetworkSpec,
    flows: Vec<FlowSpec>,
    /// Links between switches.
    trunks: std::ops::Range<usize>,
}

fn networks() -> impl Strategy<Value = Case> {
    let shape = prop_oneof![2 => leaf_spines(), 1 => fat_trees()];
    let rates = prop::collection::vec(select(vec![10u64, 25, 40, 100]), 1..40);
    let flows = prop::collection::vec((any::<u32>(), any::<u32>(), 1u64..150_000, 0u64..80_000), 1..24);
    (shape, rates, flows, balancers(), congestion(), any::<u64>()).prop_map(
        |((hosts, switches, access, trunks), rates, drawn, load_balance, congestion, seed)| {
            let mut spec = NetworkSpec::with_nodes(hosts, switches);
            let rate = |i: usize| rates[i % rates.len()];
            let ends = access.iter().chain(&trunks).enumerate();
            spec.links = ends.map(|(i, (a, b))| link(*a, *b, rate(i), 300 + 100 * (i as u64 % 3))).collect();
            spec.seed = seed;
            spec.host.ack_every = 1;
            spec.recovery =
                RecoveryConfig::InAnyOrder(InAnyOrderConfig { timeout: Duration::ZERO, ..Default::default() });
            let listens = matches!(&load_balance, LoadBalanceConfig::Flb(flb) if flb.isolation);
            let needs_it = matches!(congestion, CongestionConfig::FlbRc(_));
            spec.congestion =
                if needs_it && !listens { CongestionConfig::None(Default::default()) } else { congestion };
            // CONGA supports two layers only.
            let is_tall = access.len() + trunks.len() > 0
                && trunks.iter().any(|(a, b)| {
                    let has_host = |switch: &u32| access.iter().any(|(_, edge)| edge == switch);
                    !has_host(a) && !has_host(b)
                });
            let is_conga = matches!(load_balance, LoadBalanceConfig::Conga(_));
            spec.load_balance =
                if is_conga && is_tall { LoadBalanceConfig::LetFlow(Default::default()) } else { load_balance };
            if is_mp_rdma(&spec) {
                spec.load_balance = LoadBalanceConfig::Ecmp(Default::default());
                spec.recovery = RecoveryConfig::MpRdma(Default::default());
            }
            let flows = drawn.into_iter().map(|(src, ahead, bytes, start)| {
                let src = src % hosts;
                flow(src, (src + 1 + ahead % (hosts - 1)) % hosts, bytes, start)
            });
            Case { spec, flows: sorted(flows), trunks: access.len()..access.len() + trunks.len() }
        },
    )
}

/// Returns the sum of all table entries, isolated paths and measured delays of all load balancers
/// at `now`; 0 if all tables are empty.
fn entries(simulation: &Simulation, now: Time) -> u64 {
    let mut entries = 0;
    for pipeline in simulation.nodes().filter_map(|node| node.switch()) {
        pipeline.observe_balancing(now, &mut |held| match held {
            LbStat::Count(_, count) => entries += count,
            LbStat::Path(path) => entries += u64::from(path.is_isolated) + path.delay.ps(),
        });
    }
    entries
}

proptest! {
    #![proptest_config(common::cases(100))]

    /// Without failures there is no loss and every byte is delivered once. All tables are empty
    /// after the longest timeout.
    #[test]
    fn nothing_is_lost_and_tables_become_empty(Case { spec, flows, .. } in networks(), shards in 1usize..4) {
        let (simulation, outcomes) = common::run_shards(&spec, flows.clone(), shards);
        prop_assert_eq!(simulation.totals().drops, [0; DropCause::ALL.len()]);
        prop_assert_eq!(outcomes.len(), flows.len());
        for outcome in &outcomes {
            prop_assert!(outcome.acknowledged.is_some() && outcome.reception.delivered == outcome.spec.bytes);
            // MP-RDMA's receiver drops packets that are too far ahead, so the sender repeats these
            // packets.
            prop_assert!(outcome.retransmitted == 0 || is_mp_rdma(&spec));
        }
        prop_assert_eq!(simulation.audit(), []);
        prop_assert_eq!(simulation.violations(), []);
        let (alone, _) = common::run_shards(&spec, flows, 1);
        prop_assert_eq!(alone.fingerprint(), simulation.fingerprint());
        prop_assert_eq!(entries(&simulation, simulation.now() + Duration::from_ms(20)), 0);
    }

    /// Flow state is released when a run is interrupted: every microsecond in one run, and rarely
    /// in the other. ACKs that arrive after the release are still forwarded with their reports, so
    /// both runs are equal.
    #[test]
    fn results_do_not_depend_on_the_release_of_flows(
        Case { mut spec, flows, .. } in networks(),
        recovery in recoveries(),
    ) {
        if !is_mp_rdma(&spec) {
            spec.recovery = recovery;
        }
        let (rarely, _) = common::run_shards(&spec, flows.clone(), 1);
        let mut often = Simulation::new(spec, flows, 1).unwrap();
        while often.next_event() < Time::NEVER {
            let next = often.next_event();
            often.run_until(next + Duration::from_us(1), 1);
        }
        prop_assert_eq!(often.fingerprint(), rarely.fingerprint());
    }

    /// A link fails and recovers, and every byte is delivered. While other uplinks are up, no
    /// switch enqueues a host's packet at an uplink that is down. No switch enqueues any packet at
    /// a dead port that routes already avoid. All tables become empty in the end.
    #[test]
    fn dead_links_are_avoided(
        Case { mut spec, flows, trunks } in networks(),
        which in any::<prop::sample::Index>(), down in 1u64..60, up in 20u64..400, delay in prop::option::of(1u64..60),
    ) {
        if !is_mp_rdma(&spec) {
            spec.recovery = RecoveryConfig::InAnyOrder(Default::default());
        }
        let (link, down) = (trunks.start + which.index(trunks.len()), at_us(down));
        let up = down + Duration::from_us(up);
        spec.faults = vec![LinkFault { link, down, up }];
        spec.reconvergence = delay.map(Duration::from_us);
        let mut simulation = Simulation::new(spec.clone(), flows.clone(), 1).unwrap();
        simulation.watch_trace(&TraceSpec::ALL);
        let ends = simulation.fabric().wiring.links[link];
        drain(&mut simulation);
        let outcomes = simulation.outcomes();
        prop_assert!(outcomes.iter().all(|outcome| outcome.acknowledged.is_some()), "{:?}", outcomes);
        prop_assert!(outcomes.iter().all(|outcome| outcome.reception.delivered == outcome.spec.bytes));
        prop_assert_eq!(simulation.violations(), []);
        let trace = simulation.take_trace();
        // Notices are lost on dead links. The state that these notices would have released is
        // released by timeouts.
        simulation.run_until(simulation.now() + Duration::from_ms(5), 1);
        prop_assert_eq!(entries(&simulation, simulation.now() + Duration::from_ms(20)), 0);
        let known = delay.map_or(Time::NEVER, |us| down + Duration::from_us(us));
        let is_edge = |port: PortId| {
            let node = simulation.fabric().wiring.ports[port].node;
            simulation.fabric().wiring.layer(node) == 1
        };
        let mut into_dead = Vec::new();
        for Traced { at, what, .. } in trace {
            if let TracedAction::Reported(Report::Enqueued { port, flow, psn, .. }) = what
                && ends.contains(&port) && at > down && at < up
            {
                let chooses = is_edge(port) && !spec.load_balance.is_static();
                let is_own = chooses && goes_up(&simulation, &flows, flow.0, port);
                if is_own || at > known {
                    into_dead.push((at, port, flow, psn));
                }
            }
        }
        prop_assert_eq!(into_dead, []);
    }
}

/// True if `port` belongs to the edge switch of the flow's source, and the flow leaves this switch
/// by one of several ports.
fn goes_up(simulation: &Simulation, flows: &[FlowSpec], flow: u32, port: PortId) -> bool {
    let fabric = simulation.fabric();
    let (FlowSpec { src, dst, .. }, facts) = (&flows[flow as usize], fabric.wiring.ports[port]);
    let is_edge = |host: NodeId| fabric.wiring.ports_of(host).iter().any(|link| fabric.wiring.peer(link) == facts.node);
    let several = |to: NodeId| fabric.routes.candidates(facts.node, to).len() > 1;
    is_edge(*src) && !is_edge(*dst) && several(*dst)
}
