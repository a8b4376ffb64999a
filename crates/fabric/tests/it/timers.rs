//! Timers of the mechanisms of one switch, and of the reaction points of one host. The mechanisms
//! of the switch are also notified of link changes.
//!
//! Links have 100 Gb/s and a delay of 1 us. The first data frame of a flow has 1,122 B and takes
//! 89.76 ns.

use crate::prelude::*;

/// A hook call of a mechanism at the watched node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    FlowControl,
    CongestionPoint,
    LoadBalance,
    Link(PortIx, bool),
}

/// Timer that a mechanism sets when the first packet arrives at one node. The timer fires `after`
/// this arrival. Hook calls are recorded.
#[derive(Clone, Debug)]
struct TestTimer {
    log: Log<(Time, Call)>,
    node: NodeId,
    watched: NodeId,
    after: Duration,
    is_set: bool,
}

impl TestTimer {
    fn set(&mut self, view: &mut View<'_>) {
        if self.node == self.watched && !std::mem::replace(&mut self.is_set, true) {
            view.wake_at(view.now + self.after);
        }
    }

    fn record(&self, call: Call, view: &View<'_>) {
        if self.node == self.watched {
            self.log.push((view.now, call));
        }
    }

    fn at(&self, site: &Site<'_>) -> TestTimer {
        TestTimer { node: site.node, ..self.clone() }
    }
}

#[derive(Debug)]
struct TimedFlowControl(TestTimer);

flow_control!(TimedFlowControl, TimedFlowControl: |options, site| TimedFlowControl(options.0.at(site)));

impl FlowControl for TimedFlowControl {
    fn on_enqueue(&mut self, _packet: &PacketContext<'_>, _pressure: Pressure, view: &mut View<'_>) {
        self.0.set(view);
    }

    fn on_wake(&mut self, view: &mut View<'_>) {
        self.0.record(Call::FlowControl, view);
    }
}

#[derive(Debug)]
struct TimedPoint(TestTimer);

congestion_control!(
    TimedPoint,
    TimedPoint: |options, site| TimedPoint(options.0.at(site)),
    FixedRate: |_options, sender| FixedRate(sender.line_rate)
);

impl PipelineHooks for TimedPoint {
    fn hooks(&self) -> HookSet {
        HookSet::ENQUEUE | HookSet::LINK
    }

    fn on_enqueue(&mut self, _packet: &mut PacketContext<'_>, _queue_bytes: u64, view: &mut View<'_>) {
        self.0.set(view);
    }

    fn on_link(&mut self, port: PortIx, is_up: bool, view: &mut View<'_>) {
        self.0.record(Call::Link(port, is_up), view);
    }

    fn on_wake(&mut self, view: &mut View<'_>) {
        self.0.record(Call::CongestionPoint, view);
    }
}

#[derive(Debug)]
struct TimedBalancer(TestTimer);

load_balancer!(TimedBalancer, TimedBalancer: |options, site| TimedBalancer(options.0.at(site)));

impl PipelineHooks for TimedBalancer {
    fn on_wake(&mut self, view: &mut View<'_>) {
        self.0.record(Call::LoadBalance, view);
    }
}

impl LoadBalance for TimedBalancer {
    fn choose(&mut self, _arrival: &mut RouteRequest<'_>, view: &mut View<'_>) -> Choice {
        self.0.set(view);
        Choice::Candidate(0)
    }
}

/// The network has h0 on leaf 2, h1 on leaf 3, and spines 4 and 5. The timer of each mechanism of
/// leaf 2 fires on time, in whatever order the timers were set.
#[test]
fn the_timers_of_all_mechanisms_of_a_switch_fire_on_time() {
    for [flow_control, congestion, balancer] in [[10, 20, 30], [30, 20, 10], [20, 10, 30], [10, 10, 10]] {
        let log = Log::default();
        let timer = |us| {
            let after = Duration::from_us(us);
            TestTimer { log: log.clone(), node: NodeId(0), watched: NodeId(2), after, is_set: false }
        };
        let mut spec = leaf_spine(2, 1, 2);
        spec.switch.flow_control = FlowControlConfig::custom(TimedFlowControl(timer(flow_control)));
        spec.congestion = CongestionConfig::custom(TimedPoint(timer(congestion)));
        spec.load_balance = LoadBalanceConfig::custom(TimedBalancer(timer(balancer)));
        spec.faults = vec![LinkFault { link: 3, down: at_us(40), up: at_us(50) }];
        let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 1024, 0)]);
        assert!(outcomes[0].acknowledged.is_some());
        assert_eq!(simulation.audit(), []);
        // The packet arrives after its transmission of 89.76 ns and the link's delay of 1 us.
        let first = Duration::from_ps(1_089_760);
        let at = |us| at_us(us) + first;
        let mut expected = vec![
            (at(flow_control), Call::FlowControl),
            (at(congestion), Call::CongestionPoint),
            (at(balancer), Call::LoadBalance),
        ];
        expected.sort_by_key(|(at, _)| *at);
        expected.extend([(at_us(40), Call::Link(PortIx(2), false)), (at_us(50), Call::Link(PortIx(2), true))]);
        assert_eq!(log.take(), expected);
    }
}

/// Congestion control whose senders set a timer to 50 us. If `moved_us` is given, the first ACK
/// moves the timer to that time.
#[derive(Clone, Debug, Default)]
struct SenderTimer {
    log: Log<(Time, FlowId)>,
    moved_us: Option<u64>,
}

struct TimedSender {
    options: SenderTimer,
    flow: FlowId,
    line_rate: Rate,
    at: Time,
}

congestion_control!(
    SenderTimer,
    TimedSender: |options, sender| TimedSender {
        options: options.clone(),
        flow: sender.flow,
        line_rate: sender.line_rate,
        at: at_us(50),
    },
    needs_sender_timers
);

impl ReactionPoint for TimedSender {
    fn rate(&mut self, _now: Time) -> Rate {
        self.line_rate
    }

    fn on_ack(&mut self, _ack: &AckView<'_>) {
        if let Some(us) = self.options.moved_us.take() {
            self.at = at_us(us);
        }
    }

    fn wake_at(&self) -> Time {
        self.at
    }

    fn on_wake(&mut self, now: Time) {
        self.options.log.push((now, self.flow));
        self.at = Time::NEVER;
    }
}

/// Returns the times at which timers of these flows of one host fire, in picoseconds.
fn fired(moved_us: Option<u64>, flows: Vec<FlowSpec>) -> Vec<(u64, u32)> {
    let timer = SenderTimer { moved_us, ..Default::default() };
    let mut spec = star(2);
    spec.congestion = CongestionConfig::custom(timer.clone());
    let (simulation, outcomes) = run(&spec, flows);
    assert!(outcomes.iter().all(|outcome| outcome.acknowledged.is_some()));
    assert_eq!(simulation.audit(), []);
    timer.log.take().iter().map(|(at, flow)| (at.ps(), flow.0)).collect()
}

/// The flow takes 160 us, and its first ACK arrives after less than 5 us.
#[test]
fn a_moved_timer_does_not_fire_at_its_old_time() {
    for (moved_us, at) in [(None, 50_000_000), (Some(20), 20_000_000), (Some(80), 80_000_000)] {
        assert_eq!(fired(moved_us, vec![flow(0, 1, 2_000_000, 0)]), [(at, 0)]);
    }
}

/// The first flow is done long before its timer would fire. The third flow reuses the first flow's
/// queue pair, but its timer fires after that of the second flow.
#[test]
fn timers_of_reaction_points_fire_in_the_order_of_flows() {
    let flows = vec![flow(0, 1, 1024, 0), flow(0, 1, 2_000_000, 1000), flow(0, 1, 2_000_000, 20_000)];
    assert_eq!(fired(None, flows), [(50_000_000, 1), (50_000_000, 2)]);
}
