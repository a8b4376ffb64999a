//! What mechanisms ask for at a time of their own: those of one switch, which hear of its links as well, and reaction points of one host.
//!
//! Links are of 100 Gb/s and 1 us: the first data frame of a flow takes 1,122 B or 89.76 ns.

use crate::prelude::*;
use backwater_fabric::no_congestion_point;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NoticeAction {
    FlowControl,
    CongestionPoint,
    LoadBalance,
    Link(PortIx, bool),
}

/// Asks for a call some microseconds after the first packet that it sees at a node, and notes when it comes.
#[derive(Clone, Debug)]
struct Bell {
    log: Arc<Mutex<Vec<(Time, NoticeAction)>>>,
    node: NodeId,
    at: NodeId,
    after: Duration,
    has_asked: bool,
}

impl Bell {
    fn ask(&mut self, view: &mut View<'_>) {
        if self.node == self.at && !std::mem::replace(&mut self.has_asked, true) {
            view.wake_at(view.now + self.after);
        }
    }

    fn hear(&self, heard: NoticeAction, view: &View<'_>) {
        if self.node == self.at {
            self.log.lock().unwrap().push((view.now, heard));
        }
    }

    fn at(&self, site: &Site<'_>) -> Bell {
        Bell { node: site.node, ..self.clone() }
    }
}

impl Options for Bell {}

impl FlowControlOptions for Bell {
    type Instance = OfFlowControl;

    fn facts(&self, _is_host: bool) -> FlowControlFacts {
        FlowControlFacts::default()
    }

    fn build(&self, site: &Site<'_>) -> OfFlowControl {
        OfFlowControl(self.at(site))
    }
}

struct OfFlowControl(Bell);

impl FlowControlAccounts for OfFlowControl {}

impl FlowControl for OfFlowControl {
    fn on_enqueue(&mut self, _packet: &PacketContext<'_>, _pressure: Pressure, view: &mut View<'_>) {
        self.0.ask(view);
    }

    fn on_wake(&mut self, view: &mut View<'_>) {
        self.0.hear(NoticeAction::FlowControl, view);
    }
}

impl CongestionOptions for Bell {
    type Point = OfCongestion;
    type Notification = Silent;
    type Reaction = LineRate;

    fn point(&self, site: &Site<'_>) -> OfCongestion {
        OfCongestion(self.at(site))
    }

    fn notification(&self, _line_rate: Rate) -> Silent {
        Silent
    }

    fn reaction(&self, sender: &SenderFacts) -> LineRate {
        LineRate(sender.line_rate)
    }
}

struct OfCongestion(Bell);
struct Silent;
struct LineRate(Rate);

impl NotificationPoint for Silent {}

impl ReactionPoint for LineRate {
    fn rate(&mut self, _now: Time) -> Rate {
        self.0
    }
}

impl CongestionPoint for OfCongestion {}

impl PipelineHooks for OfCongestion {
    fn hooks(&self) -> HookSet {
        HookSet::ENQUEUE | HookSet::LINK
    }

    fn on_enqueue(&mut self, _packet: &mut PacketContext<'_>, _queue_bytes: u64, view: &mut View<'_>) {
        self.0.ask(view);
    }

    fn on_link(&mut self, port: PortIx, is_up: bool, view: &mut View<'_>) {
        self.0.hear(NoticeAction::Link(port, is_up), view);
    }

    fn on_wake(&mut self, view: &mut View<'_>) {
        self.0.hear(NoticeAction::CongestionPoint, view);
    }
}

impl LoadBalanceOptions for Bell {
    type Instance = OfLoadBalance;

    fn build(&self, site: &Site<'_>) -> OfLoadBalance {
        OfLoadBalance(self.at(site))
    }
}

struct OfLoadBalance(Bell);

impl PipelineHooks for OfLoadBalance {
    fn on_wake(&mut self, view: &mut View<'_>) {
        self.0.hear(NoticeAction::LoadBalance, view);
    }
}

impl LoadBalance for OfLoadBalance {
    fn choose(&mut self, _arrival: &mut RouteRequest<'_>, view: &mut View<'_>) -> Choice {
        self.0.ask(view);
        Choice::Candidate(0)
    }
}

/// h0 on leaf 2, h1 on leaf 3, spines 4 and 5. Whatever the order of the requests, each mechanism of leaf 2 is called when it has asked to be.
#[test]
fn every_mechanism_of_a_switch_is_called_when_it_asked_to_be() {
    let ns = |ns| Time::ZERO + Duration::from_ns(ns);
    for [flow_control, congestion, balancer] in [[10, 20, 30], [30, 20, 10], [20, 10, 30], [10, 10, 10]] {
        let log = Arc::new(Mutex::new(Vec::new()));
        let bell = |us| {
            let after = Duration::from_us(us);
            Bell { log: log.clone(), node: NodeId(0), at: NodeId(2), after, has_asked: false }
        };
        let mut spec = network(2, 4);
        spec.links = [(0, 2), (1, 3), (2, 4), (2, 5), (3, 4), (3, 5)].map(|(a, b)| link(a, b, 100, 1000)).to_vec();
        spec.switch.flow_control = FlowControlConfig::custom(bell(flow_control));
        spec.congestion = CongestionConfig::custom(bell(congestion));
        spec.load_balance = LoadBalanceConfig::custom(bell(balancer));
        spec.faults = vec![LinkFault { link: 3, down: ns(40_000), up: ns(50_000) }];
        let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 1024, 0)]);
        assert!(outcomes[0].acknowledged.is_some());
        assert_eq!(simulation.audit(), []);
        // The packet comes after a link of 1 us and 89.76 ns.
        let first = Duration::from_ps(1_089_760);
        let at = |us| Time::ZERO + first + Duration::from_us(us);
        let mut expected = vec![
            (at(flow_control), NoticeAction::FlowControl),
            (at(congestion), NoticeAction::CongestionPoint),
            (at(balancer), NoticeAction::LoadBalance),
        ];
        expected.sort_by_key(|(at, _)| *at);
        expected.extend([(ns(40_000), NoticeAction::Link(2, false)), (ns(50_000), NoticeAction::Link(2, true))]);
        assert_eq!(*log.lock().unwrap(), expected);
    }
}

/// Reaction points that ask to be called once: at 50 us; or, once an ACK has come, at another time.
#[derive(Clone, Debug, Default)]
struct Alarm {
    log: Arc<Mutex<Vec<(Time, FlowId)>>>,
    later_us: Option<u64>,
}

struct Clock {
    alarm: Alarm,
    flow: FlowId,
    line_rate: Rate,
    at: Time,
}

impl Options for Alarm {}

impl CongestionOptions for Alarm {
    no_congestion_point!();
    type Notification = Silent;
    type Reaction = Clock;

    fn notification(&self, _line_rate: Rate) -> Silent {
        Silent
    }

    fn reaction(&self, sender: &SenderFacts) -> Clock {
        let at = Time::ZERO + Duration::from_us(50);
        Clock { alarm: self.clone(), flow: sender.flow, line_rate: sender.line_rate, at }
    }

    fn needs_sender_timers(&self) -> bool {
        true
    }
}

impl ReactionPoint for Clock {
    fn rate(&mut self, _now: Time) -> Rate {
        self.line_rate
    }

    fn on_ack(&mut self, _ack: &AckView<'_>) {
        if let Some(us) = self.alarm.later_us.take() {
            self.at = Time::ZERO + Duration::from_us(us);
        }
    }

    fn wake_at(&self) -> Time {
        self.at
    }

    fn on_wake(&mut self, now: Time) {
        self.alarm.log.lock().unwrap().push((now, self.flow));
        self.at = Time::NEVER;
    }
}

/// When the reaction points of these flows of one host are called.
fn called(later_us: Option<u64>, flows: Vec<FlowSpec>) -> Vec<(u64, u32)> {
    let alarm = Alarm { later_us, ..Default::default() };
    let mut spec = star(2, 100, 1000);
    spec.congestion = CongestionConfig::custom(alarm.clone());
    let (simulation, outcomes) = run(&spec, flows);
    assert!(outcomes.iter().all(|outcome| outcome.acknowledged.is_some()));
    assert_eq!(simulation.audit(), []);
    let log = alarm.log.lock().unwrap();
    log.iter().map(|(at, flow)| (at.ps(), flow.0)).collect()
}

/// A flow of 160 us, whose first ACK comes after less than 5.
#[test]
fn a_reaction_point_that_has_asked_for_another_time_is_not_called_at_the_old_one() {
    for (later_us, at) in [(None, 50_000_000), (Some(20), 20_000_000), (Some(80), 80_000_000)] {
        assert_eq!(called(later_us, vec![flow(0, 1, 2_000_000, 0)]), [(at, 0)]);
    }
}

/// The first flow is done long before its time; the third has its place among the queue pairs, and is not called for it: the second comes first.
#[test]
fn reaction_points_are_called_in_the_order_of_their_flows() {
    let flows = vec![flow(0, 1, 1024, 0), flow(0, 1, 2_000_000, 1000), flow(0, 1, 2_000_000, 20_000)];
    assert_eq!(called(None, flows), [(50_000_000, 1), (50_000_000, 2)]);
}
