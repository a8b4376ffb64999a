//! Random small fabrics that cannot deadlock, with random mechanisms and traffic.
//!
//! Large strategies are boxed, because their values would otherwise overflow the stack of a test.

use super::{applies, flow, link, set_error_rate, sorted};
use backwater_engine::random::Seed;
use backwater_engine::{Bytes, Duration, Rate, Time};
use backwater_fabric::contract::AnswerPath;
use backwater_fabric::driver::partition::Partition;
use backwater_fabric::frame::framing::Framing;
use backwater_fabric::ids::{Class, NodeId};
use backwater_fabric::mechanisms::congestion::CongestionConfig;
use backwater_fabric::mechanisms::congestion::mp_rdma::{MarkConfig, MpRdmaConfig};
use backwater_fabric::mechanisms::congestion::pcn::PcnConfig;
use backwater_fabric::mechanisms::congestion::power_tcp::{PowerTcpConfig, Variant};
use backwater_fabric::mechanisms::congestion::srcc::base::Base;
use backwater_fabric::mechanisms::congestion::srcc::{
    Adjustment, ArrivalCount, EgressPorts, SrccConfig, SrccThreshold, Target, Uncongested, WindowTest,
};
use backwater_fabric::mechanisms::congestion::swift::{SwiftConfig, SwiftProfile};
use backwater_fabric::mechanisms::flow_control::FlowControlConfig;
use backwater_fabric::mechanisms::flow_control::pfc::{PauseModel, PfcConfig};
use backwater_fabric::mechanisms::flow_control::pyrrha::{
    Feed, HostReaction, MergePolicy, Organisation, PyrrhaConfig, RelayMetric, SoftMerge,
};
use backwater_fabric::mechanisms::headroom::HeadroomConfig;
use backwater_fabric::mechanisms::headroom::adaptive::AdaptiveConfig;
use backwater_fabric::mechanisms::headroom::dsh::{DshConfig, EstimatorKind};
use backwater_fabric::mechanisms::headroom::egress::EgressConfig;
use backwater_fabric::mechanisms::headroom::oversubscribed::OversubscribedConfig;
use backwater_fabric::mechanisms::headroom::sih::SihConfig;
use backwater_fabric::mechanisms::headroom::static_threshold::StaticConfig;
use backwater_fabric::mechanisms::load_balance::LoadBalanceConfig;
use backwater_fabric::mechanisms::load_balance::conga::CongaConfig;
use backwater_fabric::mechanisms::load_balance::flb::{
    DelayOf, FlbConfig, FlbThreshold, Moves, OwnUplinks, Rerouting, Spread, StampPoint, Ties,
};
use backwater_fabric::mechanisms::load_balance::letflow::{Answers, Gaps, LetFlowConfig};
use backwater_fabric::mechanisms::load_balance::spray::SprayConfig;
use backwater_fabric::mechanisms::recovery::RecoveryConfig;
use backwater_fabric::mechanisms::recovery::go_back_n::GoBackNConfig;
use backwater_fabric::mechanisms::recovery::in_any_order::InAnyOrderConfig;
use backwater_fabric::mechanisms::recovery::irn::IrnConfig;
use backwater_fabric::mechanisms::recovery::mp_rdma::MpRdmaRecoveryConfig;
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::spec::{FlowSpec, HostConfig, LinkFault, LinkSpec, NetworkSpec, SchedulerConfig};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use std::ops::Range;

/// A network and its flows.
#[derive(Clone, Debug)]
pub struct Case {
    pub spec: NetworkSpec,
    pub flows: Vec<FlowSpec>,
}

/// Numbers of hosts and switches, and the ends of links. Hosts have the lowest ids.
#[derive(Clone, Debug)]
struct Shape {
    hosts: u32,
    switches: u32,
    ends: Vec<(u32, u32)>,
}

impl Shape {
    fn is_multihomed(&self) -> bool {
        (0..self.hosts).any(|host| self.ends.iter().filter(|(a, b)| [a, b].contains(&&host)).count() > 1)
    }
}

/// Draws shapes whose shortest paths go up and then down, so that no cycle of buffers can form.
fn shapes() -> impl Strategy<Value = Shape> {
    let star = (2u32..7).prop_map(|hosts| Shape { hosts, switches: 1, ends: (0..hosts).map(|h| (h, hosts)).collect() });
    let chain = (2u32..5, 1u32..4).prop_map(|(switches, per_switch)| {
        let hosts = switches * per_switch;
        let access = (0..hosts).map(|host| (host, hosts + host / per_switch));
        let trunk = (1..switches).map(|switch| (hosts + switch - 1, hosts + switch));
        Shape { hosts, switches, ends: access.chain(trunk).collect() }
    });
    let leaf_spine = (2u32..4, 1u32..4, 1u32..4, 1u32..3).prop_map(|(leaves, spines, per_leaf, parallel)| {
        let hosts = leaves * per_leaf;
        let access = (0..hosts).map(|host| (host, hosts + host / per_leaf));
        let pairs = (0..leaves).flat_map(move |leaf| (0..spines).map(move |spine| (leaf, spine)));
        let up = pairs.flat_map(|(leaf, spine)| (0..parallel).map(move |_| (hosts + leaf, hosts + leaves + spine)));
        Shape { hosts, switches: leaves + spines, ends: access.chain(up).collect() }
    });
    let dual_homed = (2u32..6).prop_map(|hosts| {
        let ends = (0..hosts).flat_map(|host| [(host, hosts), (host, hosts + 1)]).collect();
        Shape { hosts, switches: 2, ends }
    });
    prop_oneof![star, chain, leaf_spine, dual_homed]
}

/// Draws links with rates of 10 to 400 Gb/s, and occasionally a rate from `others`, in Mb/s.
fn links(shape: &Shape, others: &'static [u64]) -> impl Strategy<Value = Vec<LinkSpec>> + use<> {
    let ends = shape.ends.clone();
    let mbps = prop_oneof![
        6 => select(vec![10_000u64, 25_000, 40_000, 100_000, 200_000, 400_000]),
        1 => select(others),
    ];
    prop::collection::vec((mbps, 1u64..3000), ends.len()).prop_map(move |links| {
        let made = ends.iter().zip(links);
        made.map(|((a, b), (mbps, delay_ns))| LinkSpec {
            rate: Rate::from_bps(mbps * 1_000_000),
            ..link(*a, *b, 1, delay_ns)
        })
        .collect()
    })
}

fn flow_control() -> impl Strategy<Value = FlowControlConfig> {
    let response = prop_oneof![Just(0u64), 1u64..600];
    let pause = prop_oneof![Just(PauseModel::UntilResume), Just(PauseModel::Quanta)];
    let quanta = prop_oneof![1 => Just(SHORTEST), 3 => 512u16..];
    (pause, quanta, response).prop_map(|(pause, quanta, response)| {
        FlowControlConfig::Pfc(PfcConfig { pause, quanta, response: Duration::from_ns(response), ..Default::default() })
    })
}

/// Placeholder for a number of quanta. [`shortest_pause`] replaces it once the network is known.
const SHORTEST: u16 = 0;

/// Returns the smallest number of quanta that planning accepts. A pause is refreshed after half of
/// its duration. This half must be at least 100 ns, and must cover the longest wait of a refresh:
/// one data frame and a PFC frame of every class.
fn shortest_pause(spec: &NetworkSpec) -> u16 {
    let largest = spec.framing.largest(spec.mtu.get() as u32, spec.congestion.telemetry_bytes());
    let wait = u64::from(largest.wire) + u64::from(spec.framing.control().wire) * spec.switch.lossless.len() as u64;
    let fastest = spec.links.iter().map(|link| link.rate).max().unwrap();
    let bytes = 2 * wait.max(fastest.bytes_in(Duration::from_ns(100)));
    bytes.div_ceil(64) as u16
}

/// Draws alpha, the threshold as a multiple of the free buffer. With an alpha of 0, every packet
/// triggers a PAUSE.
fn alpha() -> impl Strategy<Value = f64> {
    prop_oneof![4 => 0.01f64..4.0, 1 => Just(0.0)]
}

fn private() -> impl Strategy<Value = u64> {
    prop_oneof![2 => 0u64..6000, 1 => Just(0)]
}

fn headroom() -> impl Strategy<Value = HeadroomConfig> {
    let offset = || prop::option::of((0u64..20_000).prop_map(Bytes));
    let sih = (alpha(), private(), offset(), any::<bool>()).prop_map(|(alpha, private, resume_offset, scaled)| {
        let alpha_rate = scaled.then(|| Rate::from_gbps(100));
        HeadroomConfig::Sih(SihConfig { alpha, alpha_rate, private: Bytes(private), headroom: None, resume_offset })
    });
    let fixed = (0u64..100_000, offset()).prop_map(|(xoff, below)| {
        let xon = below.map(|below| Bytes(xoff.saturating_sub(below.get())));
        HeadroomConfig::Static(StaticConfig { xoff: Bytes(xoff), xon, headroom: None })
    });
    let adaptive = (alpha(), private(), offset(), 1u64..2000).prop_map(|(alpha, private, resume_offset, ns)| {
        let resolution = Duration::from_ns(ns);
        HeadroomConfig::Adaptive(AdaptiveConfig { alpha, private: Bytes(private), resolution, resume_offset })
    });
    let pooled = (alpha(), private(), offset()).prop_map(|(alpha, private, resume_offset)| {
        let private = Bytes(private);
        HeadroomConfig::Oversubscribed(OversubscribedConfig {
            ratio: 1.0,
            alpha,
            private,
            headroom: None,
            resume_offset,
        })
    });
    prop_oneof![2 => sih, 2 => fixed, 1 => adaptive, 1 => pooled, 2 => dsh().prop_map(HeadroomConfig::Dsh)]
}

/// Draws a load balancer, and a recovery that tolerates its reordering and has no retransmission
/// timer.
fn paths(shape: &Shape) -> impl Strategy<Value = (LoadBalanceConfig, RecoveryConfig)> + use<> {
    let in_order = RecoveryConfig::GoBackN(GoBackNConfig { timeout: Duration::ZERO, ..Default::default() });
    let ecmp = Just((LoadBalanceConfig::Ecmp(Default::default()), in_order));
    let sprayed = [LoadBalanceConfig::Drill(Default::default()), LoadBalanceConfig::Spray(SprayConfig {})];
    let others = prop_oneof![1 => ecmp, 2 => (select(sprayed.to_vec()), in_any_order())];
    let flowlets = if shape.is_multihomed() { letflow().boxed() } else { prop_oneof![letflow(), conga()].boxed() };
    let tolerant = RecoveryConfig::InAnyOrder(InAnyOrderConfig { timeout: Duration::ZERO, ..Default::default() });
    let from_edges =
        if shape.is_multihomed() { letflow().boxed() } else { flb().prop_map(LoadBalanceConfig::Flb).boxed() };
    prop_oneof![3 => others, 2 => with_recovery(flowlets), 2 => (from_edges, Just(tolerant))]
}

/// Draws FLB with any of its rules, and thresholds that a few packets exceed.
pub fn flb() -> impl Strategy<Value = FlbConfig> {
    let time = || prop::option::weighted(0.5, (100u64..100_000).prop_map(Duration::from_ns));
    let rules = (
        select(vec![StampPoint::Arrival, StampPoint::Departure, StampPoint::DepartureAndQueue]),
        select(vec![DelayOf::Queueing, DelayOf::OneWay]),
        select(vec![Rerouting::KeepOrder, Rerouting::AsPrinted, Rerouting::FasterThanLast]),
        select(vec![Ties::Random, Ties::InTurn]),
        select(vec![FlbThreshold::Delay, FlbThreshold::Adaptive, FlbThreshold::Static]),
        select(vec![Spread::PerFlow, Spread::PerPacket]),
        select(vec![Moves::AtOnce, Moves::InOrder]),
        select(vec![OwnUplinks::Isolate, OwnUplinks::Notify, OwnUplinks::Ignore]),
    );
    let amounts = (1u64..30_000, 1u64..200_000, (time(), time(), time(), time(), time(), time()));
    let switches = (prop::bool::weighted(0.8), any::<bool>());
    (rules, amounts, switches).prop_map(|(rules, (fixed, timeout, times), (isolation, notify_while_paused))| {
        let (stamp, delay_of, rerouting, ties, threshold, spread, moves, own_uplinks) = rules;
        let (sample_period, delay_aging, gap_unit, n_timeout, notice_interval, check_period) = times;
        let flow_timeout = Duration::from_ns(timeout);
        let plain = FlbConfig {
            flow_timeout,
            sample_period,
            delay_aging,
            stamp,
            delay_of,
            gap_unit,
            rerouting,
            ties,
            ..Default::default()
        };
        if !isolation {
            return FlbConfig { isolation, ..plain };
        }
        FlbConfig {
            threshold,
            static_threshold: (threshold == FlbThreshold::Static).then_some(Bytes(fixed)),
            n_timeout: n_timeout.map(|timeout| timeout.min(flow_timeout)),
            notice_interval,
            check_period,
            notify_while_paused,
            own_uplinks,
            spread,
            moves,
            ..plain
        }
    })
}

/// Draws recoveries that accept packets in any order, with bitmaps that no flow exceeds.
fn in_any_order() -> impl Strategy<Value = RecoveryConfig> {
    let (timeout, rto) = (Duration::ZERO, Duration::ZERO);
    let mp_rdma =
        (8000u32..65_536).prop_map(move |bitmap| RecoveryConfig::MpRdma(MpRdmaRecoveryConfig { bitmap, rto }));
    prop_oneof![
        2 => Just(RecoveryConfig::InAnyOrder(InAnyOrderConfig { timeout, ..Default::default() })),
        1 => mp_rdma,
    ]
}

/// Draws LetFlow or CONGA, and a recovery that tolerates its reordering.
pub fn flowlets() -> impl Strategy<Value = (LoadBalanceConfig, RecoveryConfig)> {
    with_recovery(prop_oneof![letflow(), conga()].boxed())
}

/// Adds a recovery. If the recovery needs packets in order, the flowlet timeout is so long that no
/// flowlet overtakes another: ten seconds, longer than any pause at the slowest rates.
fn with_recovery(
    balancers: BoxedStrategy<LoadBalanceConfig>,
) -> impl Strategy<Value = (LoadBalanceConfig, RecoveryConfig)> {
    (balancers, any::<bool>()).prop_map(|(mut balancer, in_order)| {
        let timeout = Duration::ZERO;
        if !in_order {
            return (balancer, RecoveryConfig::InAnyOrder(InAnyOrderConfig { timeout, ..Default::default() }));
        }
        let long = Duration::from_ms(10_000);
        match &mut balancer {
            LoadBalanceConfig::LetFlow(config) => (config.flowlet_timeout, config.aging) = (long, long * 2),
            LoadBalanceConfig::Conga(config) => (config.flowlet_timeout, config.aging) = (long, long * 2),
            _ => unreachable!("only these two have flowlets"),
        }
        (balancer, RecoveryConfig::GoBackN(GoBackNConfig { timeout, ..Default::default() }))
    })
}

/// Draws a flowlet timeout, an ageing time that is no shorter than the longest gap within a
/// flowlet, and rules for gaps and ACKs.
fn flowlet_rules() -> impl Strategy<Value = (Duration, Duration, Gaps, Answers)> {
    let timeout = prop_oneof![1u64..2000, 1u64..50_000];
    let rules = (select(vec![Gaps::Exact, Gaps::AgeBit]), select(vec![Answers::ByHash, Answers::ByFlowlets]));
    (timeout, 0u64..100_000, rules).prop_map(|(timeout, more, (gaps, answers))| {
        let longest = if gaps == Gaps::AgeBit { 2 * timeout } else { timeout };
        (Duration::from_ns(timeout), Duration::from_ns(longest + more), gaps, answers)
    })
}

fn letflow() -> impl Strategy<Value = LoadBalanceConfig> {
    let config = |(flowlet_timeout, aging, gaps, answers)| {
        LoadBalanceConfig::LetFlow(LetFlowConfig { flowlet_timeout, aging, gaps, answers })
    };
    flowlet_rules().prop_map(config)
}

fn conga() -> impl Strategy<Value = LoadBalanceConfig> {
    let config = |((flowlet_timeout, aging, gaps, answers), (period, fade), alpha, bits)| {
        let [dre_period, fade] = [period, fade].map(Duration::from_ns);
        LoadBalanceConfig::Conga(CongaConfig { flowlet_timeout, aging, bits, dre_period, alpha, fade, gaps, answers })
    };
    (flowlet_rules(), (1u64..50_000, 0u64..100_000), 0.01f64..1.0, 1u8..=8).prop_map(config)
}

/// Draws any options under which DSH is lossless.
pub fn dsh() -> impl Strategy<Value = DshConfig> {
    let offset = || prop::option::of((0u64..20_000).prop_map(Bytes));
    let thresholds = (alpha(), private(), offset(), offset());
    let estimator = select(vec![EstimatorKind::Exact, EstimatorKind::Hardware]);
    let weight = || select(vec![1.0, 0.5, 0.25, 0.125]);
    let estimate = (estimator, weight(), weight(), select(vec![1.0, 2.0, 4.0, 8.0]));
    let switches = (1u64..10_000, any::<bool>());
    (thresholds, estimate, switches).prop_map(
        |((alpha, private, queue, port), (estimator, gradient, deviation, factor), (window, shared_headroom))| {
            DshConfig {
                alpha,
                private: Bytes(private),
                headroom: None,
                queue_resume_offset: queue,
                port_resume_offset: port,
                estimator,
                gradient_weight: gradient,
                deviation_weight: deviation,
                deviation_factor: factor,
                window: Duration::from_ns(window),
                insurance: true,
                shared_headroom,
            }
        },
    )
}

/// Draws any options of Pyrrha.
pub fn pyrrha_configs() -> impl Strategy<Value = PyrrhaConfig> {
    let merge = select(vec![MergePolicy::Down, MergePolicy::Any, MergePolicy::Never]);
    let soft_merge = select(vec![SoftMerge::Flush, SoftMerge::Drain]);
    let feed = select(vec![Feed::LineRate, Feed::EveryQueue]);
    let metric = select(vec![RelayMetric::Queue, RelayMetric::PerIngress]);
    let hosts = select(vec![HostReaction::PerFlow, HostReaction::None]);
    let organisation = select(vec![Organisation::Hierarchical, Organisation::SingleTier]);
    (0.1f64..3.0, 0.1f64..3.0, merge, soft_merge, (feed, organisation), metric, hosts).prop_map(
        |(pause, resume, merge, soft_merge, (feed, organisation), relay_metric, hosts)| PyrrhaConfig {
            pause: pause.max(resume),
            resume: resume.min(pause),
            merge,
            soft_merge,
            organisation,
            feed,
            relay_metric,
            hosts,
            ..Default::default()
        },
    )
}

fn congestion() -> impl Strategy<Value = CongestionConfig> {
    prop_oneof![
        2 => Just(CongestionConfig::None(Default::default())),
        1 => Just(CongestionConfig::Dcqcn(Default::default())),
        1 => Just(CongestionConfig::Hpcc(Default::default())),
        1 => Just(CongestionConfig::Timely(Default::default())),
        1 => select(vec![Variant::Telemetry, Variant::Delay])
            .prop_map(|variant| CongestionConfig::PowerTcp(PowerTcpConfig { variant, ..Default::default() })),
        1 => swift(),
        1 => pcn(),
        1 => srcc(base()).prop_map(CongestionConfig::Srcc),
        1 => mp_rdma(),
    ]
}

/// Draws MP-RDMA with windows of at least one packet, and with thresholds and reordering limits
/// that a few packets exceed.
fn mp_rdma() -> impl Strategy<Value = CongestionConfig> {
    let kmin = prop_oneof![1 => Just(60_000u64), 2 => 0u64..50_000].prop_map(Bytes);
    let sending = (select(vec![AnswerPath::Echoed, AnswerPath::Reverse]), prop::option::weighted(0.5, 1.0f64..200.0));
    let amounts = (prop_oneof![Just(32u32), 0u32..10], 0.0f64..3.0, prop_oneof![Just(0.01f64), 0.0f64..=1.0]);
    (kmin, sending, amounts).prop_map(|(kmin, sending, (reordering, slow_path_cut, probing))| {
        let (ack_path, initial_cwnd) = sending;
        let ecn = MarkConfig { kmin, ..Default::default() };
        CongestionConfig::MpRdma(MpRdmaConfig { ecn, ack_path, initial_cwnd, reordering, slow_path_cut, probing })
    })
}

/// Draws the congestion control on which SRCC is based.
fn base() -> impl Strategy<Value = Base> {
    select(vec![
        Base::Dcqcn(Default::default()),
        Base::Hpcc(Default::default()),
        Base::Swift(Default::default()),
        Base::None(Default::default()),
    ])
}

/// Draws SRCC with any of its rules, and thresholds that a few packets exceed.
pub fn srcc(base: impl Strategy<Value = Base>) -> impl Strategy<Value = SrccConfig> {
    let bytes = || prop::option::weighted(0.7, (1u64..50_000).prop_map(Bytes));
    let time = || prop::option::weighted(0.3, (1u64..100_000).prop_map(Duration::from_ns));
    let rules = (
        select(vec![SrccThreshold::Eq5, SrccThreshold::Eq6, SrccThreshold::Static]),
        select(vec![EgressPorts::Active, EgressPorts::All]),
        select(vec![ArrivalCount::Flows, ArrivalCount::IngressPorts]),
        select(vec![WindowTest::Within, WindowTest::Beyond]),
        select(vec![Uncongested::OtherPorts, Uncongested::AnyPort]),
        select(vec![Target::Average, Target::Share]),
        (any::<bool>(), any::<bool>(), select(vec![Adjustment::Lower, Adjustment::Cut, Adjustment::Set])),
    );
    let amounts = (1u64..30_000, bytes(), bytes(), (time(), time(), time(), time(), time()));
    (base, rules, amounts).prop_map(|(base, rules, (fixed, floor, q_pfc, times))| {
        let (
            threshold,
            egress_ports,
            arrivals,
            window_test,
            uncongested,
            target,
            (two_way, notify_while_paused, adjustment),
        ) = rules;
        let (link_delay, rate_interval, window, count_window, notice_interval) = times;
        let (is_static, default) = (threshold == SrccThreshold::Static, SrccConfig::default());
        let cut_has_no_effect = adjustment == Adjustment::Cut && !matches!(base, Base::Dcqcn(_));
        // Options without effect are refused.
        SrccConfig {
            base,
            threshold,
            static_threshold: is_static.then_some(Bytes(fixed)),
            floor: floor.filter(|_| !is_static),
            q_pfc: q_pfc.filter(|_| !is_static),
            egress_ports: if is_static { default.egress_ports } else { egress_ports },
            arrivals: if threshold == SrccThreshold::Eq6 { arrivals } else { default.arrivals },
            link_delay: link_delay.filter(|_| !is_static || notice_interval.is_none()),
            two_way: two_way && !is_static,
            rate_interval: rate_interval.filter(|_| threshold == SrccThreshold::Eq5),
            window,
            window_test,
            uncongested,
            count_window,
            target,
            notice_interval,
            notify_while_paused,
            adjustment: if cut_has_no_effect { default.adjustment } else { adjustment },
            additive_increase: None,
        }
    })
}

/// Draws Swift with any target delay, so that windows reach any size.
fn swift() -> impl Strategy<Value = CongestionConfig> {
    let base_target = prop::option::weighted(0.5, (0u64..40).prop_map(Duration::from_us));
    let profile = select(vec![SwiftProfile::Fabric, SwiftProfile::PyrrhaNs3, SwiftProfile::Htsim]);
    (profile, base_target).prop_map(|(profile, base_target)| {
        CongestionConfig::Swift(SwiftConfig { profile, base_target, ..Default::default() })
    })
}

/// Draws PCN with any threshold, and with periods from the duration of a packet to that of a flow.
fn pcn() -> impl Strategy<Value = CongestionConfig> {
    let threshold = prop::option::weighted(0.7, (0u64..50_000).prop_map(Bytes));
    (threshold, 100u64..60_000).prop_map(|(threshold, period_ns)| {
        let period = Duration::from_ns(period_ns);
        CongestionConfig::Pcn(PcnConfig { threshold, period, ..Default::default() })
    })
}

fn flows(hosts: u32, classes: Vec<Class>, most: usize) -> impl Strategy<Value = Vec<FlowSpec>> {
    let one = (0..hosts, 1..hosts, 1u64..40_000, select(classes), 0u64..20_000);
    prop::collection::vec(one, 1..=most).prop_map(move |drawn| {
        let of_class = |(src, ahead, bytes, class, start_ns)| FlowSpec {
            class,
            ..flow(src, (src + ahead) % hosts, bytes, start_ns)
        };
        sorted(drawn.into_iter().map(of_class))
    })
}

/// Draws fabrics with PFC that lose no packet; the retransmission timer is off.
pub fn lossless() -> BoxedStrategy<Case> {
    cases(1..8, 15, headroom().boxed(), FAR_APART)
}

/// Draws lossless fabrics in which no link is slower or faster than all others by orders of
/// magnitude.
pub fn lossless_at_common_rates() -> BoxedStrategy<Case> {
    cases(1..8, 15, headroom().boxed(), &[100_000])
}

/// Rates in Mb/s of links slower or faster than all others by orders of magnitude.
const FAR_APART: &[u64] = &[10, 100, 1000, 800_000, 1_600_000];

/// Draws lossless fabrics under DSH, with more flows than in [`lossless`].
pub fn under_dsh() -> BoxedStrategy<Case> {
    cases(1..8, 60, dsh().prop_map(HeadroomConfig::Dsh).boxed(), FAR_APART)
}

fn cases(
    classes: Range<usize>,
    most: usize,
    headroom: BoxedStrategy<HeadroomConfig>,
    rates: &'static [u64],
) -> BoxedStrategy<Case> {
    let classes = subsequence((1..8).map(Class).collect::<Vec<_>>(), classes);
    let drawn = (shapes(), classes).prop_flat_map(move |(shape, classes)| {
        let hosts = shape.hosts;
        let mechanisms = (flow_control().boxed(), headroom.clone(), congestion().boxed());
        let scheduler = prop_oneof![
            Just(SchedulerConfig::RoundRobin {}),
            (100u64..4000).prop_map(|quantum| SchedulerConfig::Dwrr { quantum: Bytes(quantum) })
        ];
        let acks = (1u32..8, prop::option::weighted(0.5, select(classes.clone())));
        let framing = select(vec![Framing::Rocev2, Framing::HpccNs3, Framing::PyrrhaNs3]);
        let mtu = select(vec![256u64, 1000, 1024, 1500, 4096, 8192]);
        let room = prop_oneof![3 => 1u64..400_000, 1 => 1u64..2000];
        let paths = (paths(&shape).boxed(), in_any_order().boxed());
        let options = (scheduler, paths, acks, (framing, mtu), room, any::<u64>());
        (links(&shape, rates).boxed(), flows(hosts, classes.clone(), most).boxed(), mechanisms, options).prop_map(
            move |(links, flows, (flow_control, headroom, congestion), options)| {
                let (scheduler, (mut paths, in_any_order), acks, (framing, mtu), room, seed) = options;
                // MP-RDMA's senders choose the paths.
                if matches!(congestion, CongestionConfig::MpRdma(_)) {
                    paths = (LoadBalanceConfig::Ecmp(Default::default()), in_any_order);
                }
                let mut spec = NetworkSpec::with_nodes(hosts, shape.switches);
                spec.links = links;
                spec.seed = seed;
                // There is no lossless guarantee if the clock rounds the transmission time of a
                // frame down to 0.
                let takes_time = spec.links.iter().all(|link| framing.rate_excess(link.rate, 0).is_some());
                spec.framing = if takes_time { framing } else { Framing::Rocev2 };
                spec.mtu = Bytes(mtu);
                spec.switch.lossless = classes.clone();
                spec.switch.flow_control = flow_control;
                spec.switch.headroom = headroom;
                spec.switch.scheduler = scheduler;
                // With a window of fewer packets than `ack_every`, no ACK would ever be sent.
                let windowed = match &congestion {
                    CongestionConfig::Srcc(srcc) => matches!(srcc.base, Base::Hpcc(_) | Base::Swift(_)),
                    other => matches!(
                        other,
                        CongestionConfig::Hpcc(_)
                            | CongestionConfig::PowerTcp(_)
                            | CongestionConfig::Swift(_)
                            | CongestionConfig::MpRdma(_)
                    ),
                };
                let answers_all = windowed || matches!(paths.1, RecoveryConfig::MpRdma(_));
                spec.host = HostConfig {
                    ack_every: if answers_all { 1 } else { acks.0 },
                    ack_class: acks.1.unwrap_or(Class::CONTROL),
                    ..HostConfig::default()
                };
                spec.congestion = congestion;
                let shortest = shortest_pause(&spec);
                if let FlowControlConfig::Pfc(pfc) = &mut spec.switch.flow_control
                    && pfc.quanta == SHORTEST
                {
                    pfc.quanta = shortest;
                }
                (spec.load_balance, spec.recovery) = paths;
                // A third of the networks with FLB's isolation also have FLB's rate control.
                if let LoadBalanceConfig::Flb(FlbConfig { isolation: true, .. }) = spec.load_balance
                    && seed % 3 == 0
                {
                    spec.congestion = CongestionConfig::FlbRc(Default::default());
                    // The rate control needs an ACK for every packet of the first window.
                    spec.host.ack_every = 1;
                }
                spec.switch.buffer = Bytes(reserved(&spec) + room);
                Case { spec, flows }
            },
        )
    });
    drawn.boxed()
}

/// Returns the most bytes that any switch reserves.
pub fn reserved(spec: &NetworkSpec) -> u64 {
    let mut roomy = spec.clone();
    roomy.switch.buffer = Bytes(u64::MAX);
    let fabric = Fabric::new(roomy).unwrap();
    let switches = (0..spec.nodes.len() as u32).map(NodeId).filter(|node| fabric.is_switch(*node));
    switches.map(|node| spec.switch.headroom.reserved(&fabric.site(node))).max().unwrap()
}

/// Draws fabrics without flow control, whose small buffers lose packets, and a recovery that
/// repeats lost packets.
pub fn lossy() -> BoxedStrategy<Case> {
    let irn = (prop::option::of(1u64..200_000), 16u32..5000, 0u32..6).prop_map(|(cap, bitmap, few)| {
        RecoveryConfig::Irn(IrnConfig { bdp_cap: cap.map(Bytes), bitmap, few, ..Default::default() })
    });
    let mp_rdma =
        (2u32..200).prop_map(|bitmap| RecoveryConfig::MpRdma(MpRdmaRecoveryConfig { bitmap, ..Default::default() }));
    let recovery = prop_oneof![2 => irn, 1 => mp_rdma, 1 => Just(RecoveryConfig::GoBackN(Default::default()))];
    // Every queue has room for at least one packet; otherwise no packet could pass.
    let options = (recovery, 0.5f64..4.0, 60_000u64..400_000, any::<bool>());
    let drawn = (cases(1..4, 15, headroom().boxed(), &[100_000]), options).prop_map(
        |(Case { mut spec, flows }, (mut recovery, alpha, buffer, is_listed))| {
            if let (CongestionConfig::MpRdma(_), RecoveryConfig::GoBackN(_)) = (&spec.congestion, &recovery) {
                recovery = RecoveryConfig::InAnyOrder(Default::default());
            }
            spec.switch.flow_control = FlowControlConfig::None(Default::default());
            spec.switch.headroom = HeadroomConfig::Egress(EgressConfig { alpha });
            spec.switch.buffer = Bytes(buffer);
            if !is_listed {
                spec.switch.lossless.clear();
            }
            spec.host.ack_every = 1;
            (spec.recovery, spec.load_balance) = (recovery, LoadBalanceConfig::Ecmp(Default::default()));
            Case { spec, flows }
        },
    );
    drawn.boxed()
}

/// Sets a flow control that bounds queues, and a buffer policy that shares the whole buffer.
pub fn with_flow_control(spec: &mut NetworkSpec, flow_control: FlowControlConfig) {
    spec.switch.flow_control = flow_control;
    spec.switch.lossless = Vec::new();
    spec.switch.headroom = HeadroomConfig::Static(Default::default());
}

/// Draws lossless fabrics for which the plain pipeline suffices: packets follow fixed routes over
/// reliable links.
pub fn plain() -> BoxedStrategy<Case> {
    let congestion = select(vec![
        CongestionConfig::None(Default::default()),
        CongestionConfig::Dcqcn(Default::default()),
        CongestionConfig::Hpcc(Default::default()),
        CongestionConfig::Timely(Default::default()),
    ]);
    let drawn = (lossless(), congestion).prop_map(|(mut case, congestion)| {
        let spec = &mut case.spec;
        let room = spec.switch.buffer.get() - reserved(spec);
        (spec.congestion, spec.host.ack_every) = (congestion, 1);
        spec.load_balance = LoadBalanceConfig::Ecmp(Default::default());
        spec.recovery = RecoveryConfig::GoBackN(GoBackNConfig { timeout: Duration::ZERO, ..Default::default() });
        spec.switch.buffer = Bytes(reserved(spec) + room);
        case
    });
    drawn.boxed()
}

/// Draws fabrics with losses, faults, reconvergence, timeouts, and packets that overtake each
/// other, none of which occurs in [`lossless`].
pub fn any_case() -> BoxedStrategy<Case> {
    let error_rate = select(vec![0.0, 0.0, 1e-3, 1e-2]);
    let fault = (any::<prop::sample::Index>(), 0u64..30_000, 1u64..30_000);
    let reconvergence = prop::option::weighted(0.7, prop_oneof![Just(0), 0u64..20_000]);
    let faults = (prop::collection::vec(fault, 0..3), reconvergence.prop_map(|ns| ns.map(Duration::from_ns)));
    let flow_control = prop::option::of(select(FlowControlConfig::all()));
    let mechanisms = (select(LoadBalanceConfig::all()), select(RecoveryConfig::all()), flow_control);
    let drawn = (lossless(), error_rate, faults, mechanisms).prop_map(|(mut case, error_rate, faults, mechanisms)| {
        let (load_balance, recovery, flow_control) = mechanisms;
        if let Some(flow_control) = flow_control.filter(|config| config.facts(false).bounds_queues) {
            let mut spec = case.spec.clone();
            with_flow_control(&mut spec, flow_control);
            if applies(&spec) {
                case.spec = spec;
            }
        }
        set_error_rate(&mut case.spec, error_rate);
        let (faults, reconvergence) = faults;
        for (link, down, length) in faults {
            let down = Time::ZERO + Duration::from_ns(down);
            let link = link.index(case.spec.links.len());
            if case.spec.faults.iter().all(|fault| fault.link != link) {
                case.spec.faults.push(LinkFault { link, down, up: down + Duration::from_ns(length) });
            }
        }
        case.spec.reconvergence = reconvergence;
        case.spec.recovery = recovery;
        let spec = NetworkSpec { load_balance, ..case.spec.clone() };
        if applies(&spec) {
            case.spec = spec;
        }
        case
    });
    drawn.boxed()
}

/// Deals the nodes out to shards at random, and in random order.
pub fn dealt(fabric: &Fabric, shards: usize, seed: u64) -> Partition {
    let mut nodes: Vec<NodeId> = fabric.spec.nodes.ids().collect();
    let mut stream = Seed(seed).stream("deal", 0);
    stream.shuffle(&mut nodes);
    let mut parts = vec![Vec::new(); shards];
    for node in nodes {
        parts[stream.below(shards as u64) as usize].push(node);
    }
    Partition(parts)
}
