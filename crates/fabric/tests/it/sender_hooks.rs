//! Hooks of sender mechanisms that no built-in mechanism uses yet. A test mechanism uses each hook.

use crate::common::mechanisms::PathCycling;
use crate::prelude::*;
use backwater_fabric::contract::{Answer, Entropy, Progress, RecoveryOptions, RecoverySender};
use backwater_fabric::frame::{Notice, Psn};
use backwater_fabric::mechanisms::congestion::{AnyCongestionPoint, AnyNotificationPoint, AnyReactionPoint};
use backwater_fabric::mechanisms::recovery::{AnyRecoveryReceiver, AnyRecoverySender};

/// Returns h0 on leaf 2, h1 on leaf 3, and spines 4 to 7. Packets may arrive in any order.
fn four_spines() -> NetworkSpec {
    NetworkSpec { recovery: RecoveryConfig::InAnyOrder(Default::default()), ..leaf_spine(2, 1, 4) }
}

// ------------------------------------------------------------------------- path choice at the host

#[test]
fn a_host_chooses_the_path_of_every_packet_and_receives_every_answer() {
    let answers = Log::default();
    let mut spec = four_spines();
    spec.load_balance = LoadBalanceConfig::custom(PathCycling(Some(answers.clone())));
    let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 160 * 1024, 0)]);
    assert_eq!((outcomes[0].reception.delivered, outcomes[0].retransmitted), (160 * 1024, 0));
    assert_eq!(simulation.audit(), []);
    // Each spine carries some of the sixteen paths, and each path carries ten packets.
    let sent = |spine: u32| simulation.node(NodeId(spine)).ports()[PortIx(1)].sent_wire_bytes() / 1106;
    assert!((4..8).all(|spine| sent(spine) > 0 && sent(spine) % 10 == 0), "{:?}", [4, 5, 6, 7].map(sent));
    let answered = answers.take();
    let all = (0..16).flat_map(|path| [(Entropy(path), false); 10]).collect::<Vec<_>>();
    // The last ACK ends the flow, so it is not recorded.
    assert_eq!(answered.len(), all.len() - 1);
    assert!(answered.iter().all(|path| all.contains(path)));
}

// ---------------------------------------------------- a congestion control that also chooses paths

/// Congestion control whose packets take the path of the last ACK or NACK. Before the first ACK or
/// NACK, every packet takes a path of its own.
#[derive(Clone, Debug, Default)]
struct AckClocked {
    taken: Log<(Psn, Entropy)>,
    answered: Log<(Option<Psn>, Option<Entropy>)>,
}

#[derive(Debug)]
struct AckClockedSender {
    line: Rate,
    answered: Option<Entropy>,
    options: AckClocked,
}

congestion_control!(
    AckClocked,
    AckClockedSender: |options, sender| AckClockedSender {
        line: sender.line_rate,
        answered: None,
        options: options.clone(),
    },
    chooses_paths
);

impl ReactionPoint for AckClockedSender {
    fn rate(&mut self, _now: Time) -> Rate {
        self.line
    }

    fn on_ack(&mut self, ack: &AckView<'_>) {
        self.answered = ack.path;
        self.options.answered.push((ack.arrived, ack.path));
    }

    fn path(&mut self, psn: Psn, _now: Time) -> Option<Entropy> {
        let path = self.answered.unwrap_or(Entropy(psn as u16));
        self.options.taken.push((psn, path));
        Some(path)
    }
}

/// The congestion control's choice takes precedence over that of the load balancer.
#[test]
fn a_congestion_control_chooses_paths_by_the_answers_that_come() {
    let (control, answers) = (AckClocked::default(), Log::default());
    let mut spec = four_spines();
    spec.congestion = CongestionConfig::custom(control.clone());
    spec.load_balance = LoadBalanceConfig::custom(PathCycling(Some(answers.clone())));
    let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 200 * 1024, 0)]);
    assert_eq!((outcomes[0].reception.delivered, simulation.audit()), (200 * 1024, vec![]));
    let taken = control.taken.take();
    // The first ACK returns after eight links of 1 us, four data frames and four ACKs, which take
    // 8.4 us. In this time 95 packets are sent.
    let own = taken.iter().take_while(|(psn, path)| u32::from(path.0) == *psn).count();
    assert!((94..=97).contains(&own), "{own}");
    assert!(taken[own..].iter().all(|(psn, path)| u32::from(path.0) < *psn));
    assert_eq!(taken[own].1, Entropy(0));
    // Packets take the paths of the congestion control, not those of the load balancer.
    let answered: Vec<Entropy> = answers.take().iter().map(|(path, _)| *path).collect();
    assert_eq!(answered, taken[..answered.len()].iter().map(|(_, path)| *path).collect::<Vec<_>>());
    assert!(answered.len() > 150);
}

// ------------------------------------------------ loss recovery that knows the path of each packet

/// Recovery that accepts any order and records ACKs and NACKs by packet and path.
#[derive(Clone, Debug, Default)]
struct RecordingRecovery(Log<(Option<Psn>, Option<Entropy>)>);

struct RecordingSender(AnyRecoverySender, Log<(Option<Psn>, Option<Entropy>)>);

impl Options for RecordingRecovery {}

impl RecoveryOptions for RecordingRecovery {
    type Sender = RecordingSender;
    type Receiver = AnyRecoveryReceiver;

    fn sender(&self, sender: &SenderFacts) -> RecordingSender {
        RecordingSender(RecoveryConfig::InAnyOrder(Default::default()).sender(sender), self.0.clone())
    }

    fn receiver(&self) -> AnyRecoveryReceiver {
        RecoveryConfig::InAnyOrder(Default::default()).receiver()
    }

    fn tolerates_reordering(&self) -> bool {
        true
    }
}

impl RecoverySender for RecordingSender {
    fn on_answer(&mut self, answer: &Answer, progress: &mut Progress) -> bool {
        self.1.push((answer.arrived, answer.path));
        self.0.on_answer(answer, progress)
    }

    fn on_timeout(&mut self, progress: &mut Progress) {
        self.0.on_timeout(progress);
    }

    fn timeout(&self, progress: &Progress) -> Option<Duration> {
        self.0.timeout(progress)
    }
}

/// Recovery and congestion control receive packet number and path of every ACK and NACK, as MP-RDMA
/// needs.
#[test]
fn recovery_and_rate_control_get_packet_and_path_of_every_answer() {
    let (recovery, control) = (RecordingRecovery::default(), AckClocked::default());
    let mut spec = four_spines();
    spec.load_balance = LoadBalanceConfig::custom(PathCycling(None));
    spec.recovery = RecoveryConfig::custom(recovery.clone());
    run(&spec, vec![flow(0, 1, 60 * 1024, 0)]);
    let in_cycle = |psn: Psn| (Some(psn), Some(Entropy((psn % 16) as u16)));
    assert_eq!(recovery.0.take_sorted(), (0..60).map(in_cycle).collect::<Vec<_>>());
    // Until the first ACK, the congestion control uses the packet number as the path. All 60
    // packets are sent before the first ACK.
    spec.congestion = CongestionConfig::custom(control.clone());
    run(&spec, vec![flow(0, 1, 60 * 1024, 0)]);
    let own = |psn: Psn| (psn, Entropy(psn as u16));
    assert_eq!(
        recovery.0.take_sorted(),
        (0..60).map(own).map(|(psn, path)| (Some(psn), Some(path))).collect::<Vec<_>>()
    );
    let answered = control.answered.take_sorted();
    // The last ACK ends the flow, so it is not recorded.
    assert_eq!(answered.len(), 59);
    assert!(
        answered.iter().all(|(psn, path)| path.is_some_and(|path| psn.map(own) == Some((u32::from(path.0), path))))
    );
    // If neither mechanism requests paths, ACKs carry no path.
    spec = four_spines();
    spec.recovery = RecoveryConfig::custom(recovery.clone());
    run(&spec, vec![flow(0, 1, 1024, 0)]);
    assert_eq!(recovery.0.take(), [(None, None)]);
}

// ------------------------------------------------------------- a congestion control inside another

const TOY: Protocol = Protocol::named("toy-rate");

/// Congestion control around a base control. A switch sends a rate to the sender of every packet
/// that joins a queue of 50 KB or more. Otherwise the base control sets the rate.
#[derive(Clone, Debug)]
struct NotifiedRate {
    base: CongestionConfig,
    mbps: u32,
}

struct NotifiedRatePoint(AnyCongestionPoint, u32);
struct NotifiedRateSender(AnyReactionPoint);

impl Options for NotifiedRate {}

impl CongestionOptions for NotifiedRate {
    type Point = NotifiedRatePoint;
    type Notification = AnyNotificationPoint;
    type Reaction = NotifiedRateSender;

    fn point(&self, site: &Site<'_>) -> NotifiedRatePoint {
        NotifiedRatePoint(self.base.point(site), self.mbps)
    }

    fn notification(&self, line_rate: Rate) -> AnyNotificationPoint {
        self.base.notification(line_rate)
    }

    fn reaction(&self, sender: &SenderFacts) -> NotifiedRateSender {
        NotifiedRateSender(self.base.reaction(sender))
    }

    fn telemetry_bytes(&self) -> u32 {
        self.base.telemetry_bytes()
    }
}

impl CongestionPoint for NotifiedRatePoint {}

impl PipelineHooks for NotifiedRatePoint {
    fn hooks(&self) -> HookSet {
        self.0.hooks() | HookSet::ENQUEUE
    }

    fn on_enqueue(&mut self, packet: &mut PacketContext<'_>, queue_bytes: u64, view: &mut View<'_>) {
        if queue_bytes >= 50_000 {
            let (headers, from) = (*packet.headers(), view.port(packet.egress).id());
            view.notify_source(&headers, None, packet.ingress(), TOY, from, [self.1, 0, 0, 0]);
        }
    }

    fn on_departure(&mut self, packet: &mut PacketContext<'_>, queue_bytes: u64, view: &mut View<'_>) {
        self.0.on_departure(packet, queue_bytes, view);
    }
}

impl ReactionPoint for NotifiedRateSender {
    fn rate(&mut self, now: Time) -> Rate {
        self.0.rate(now)
    }

    fn window(&self) -> u64 {
        self.0.window()
    }

    fn on_sent(&mut self, now: Time, wire_bytes: u64) {
        self.0.on_sent(now, wire_bytes);
    }

    fn on_ack(&mut self, ack: &AckView<'_>) {
        self.0.on_ack(ack);
    }

    fn on_cnp(&mut self, now: Time, cnp: Cnp) {
        self.0.on_cnp(now, cnp);
    }

    fn on_notice(&mut self, now: Time, notice: &Notice) {
        self.0.set_rate(now, Rate::from_bps(u64::from(notice.words[0]) * 1_000_000));
    }
}

/// Eight hosts send to one host. The notified rate, an eighth of the line rate, keeps the queue
/// short; the base control alone does not. The base control continues from that rate and does not
/// return to line rate soon.
#[test]
fn a_base_control_continues_from_the_rate_set() {
    let peak = |congestion| {
        let mut spec = star(9);
        spec.congestion = congestion;
        let (simulation, outcomes) = run(&spec, (0..8).map(|host| flow(host, 8, 1_000_000, 0)).collect());
        assert_eq!((simulation.audit(), simulation.totals().drops), (vec![], [0; 5]));
        let last = outcomes.iter().map(|outcome| outcome.reception.finish.unwrap()).max().unwrap();
        (simulation.node(NodeId(9)).switch().unwrap().occupancy().peak, last)
    };
    let base = CongestionConfig::Dcqcn(Default::default());
    let (alone, _) = peak(base.clone());
    let (notified, last) = peak(CongestionConfig::custom(NotifiedRate { base, mbps: 12_500 }));
    assert!(notified * 2 < alone, "{notified} {alone}");
    // 8 MB at line rate take 691 us, headers included.
    assert!(last < at_us(900), "{last}");
}

// --------------------------------------------------------------- a congestion control with a timer

/// Congestion control whose window is 0 for 50 us, until its timer fires.
#[derive(Clone, Debug)]
struct DelayedWindow;

#[derive(Debug)]
struct DelayedWindowSender {
    line: Rate,
    is_open: bool,
}

congestion_control!(
    DelayedWindow,
    DelayedWindowSender: |_options, sender| DelayedWindowSender { line: sender.line_rate, is_open: false },
    needs_sender_timers
);

impl ReactionPoint for DelayedWindowSender {
    fn rate(&mut self, _now: Time) -> Rate {
        self.line
    }

    fn window(&self) -> u64 {
        if self.is_open { u64::MAX } else { 0 }
    }

    fn wake_at(&self) -> Time {
        if self.is_open { Time::NEVER } else { at_us(50) }
    }

    fn on_wake(&mut self, _now: Time) {
        self.is_open = true;
    }
}

/// The first flow's packet leaves at 50 us and passes two links of 1 us, with one transmission on
/// each.
#[test]
fn a_timer_of_a_reaction_point_opens_the_window() {
    let mut spec = star(3);
    spec.congestion = CongestionConfig::custom(DelayedWindow);
    let (simulation, outcomes) =
        run(&spec, vec![flow(0, 2, 1024, 0), flow(1, 2, 1024, 10_000), flow(1, 2, 1024, 70_000)]);
    let way = 2 * (1_000_000 + 1122 * 80);
    let finish: Vec<u64> = outcomes.iter().map(|outcome| outcome.reception.finish.unwrap().ps()).collect();
    // The second flow waits for the first flow at the switch. The third flow starts at 70 us, so
    // its window is open from the start.
    assert_eq!(finish, [50_000_000 + way, 50_000_000 + way + 1122 * 80, 70_000_000 + way]);
    assert_eq!(simulation.audit(), []);
}
