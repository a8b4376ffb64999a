//! What the contract lets mechanisms do at hosts that no built-in one does yet: each power by a toy that needs it.

use crate::prelude::*;
use backwater_fabric::contract::{Answer, Entropy, PathChoice, Progress, RecoveryOptions, RecoverySender};
use backwater_fabric::frame::{Notice, Psn};
use backwater_fabric::mechanisms::congestion::{AnyCongestionPoint, AnyNotificationPoint, AnyReactionPoint};
use backwater_fabric::mechanisms::load_balance::ecmp::{Ecmp, EcmpConfig};
use backwater_fabric::mechanisms::recovery::{AnyRecoveryReceiver, AnyRecoverySender};

/// What toys have seen.
type Log<T> = Arc<Mutex<Vec<T>>>;

fn take<T>(log: &Log<T>) -> Vec<T> {
    std::mem::take(&mut log.lock().unwrap())
}

/// h0 on leaf 2, h1 on leaf 3, and four spines between: 4 to 7. Packets may come in any order.
fn four_spines() -> NetworkSpec {
    let mut spec = network(2, 6);
    let uplinks = (4..8).flat_map(|spine| [(2, spine), (3, spine)]);
    spec.links = [(0, 2), (1, 3)].into_iter().chain(uplinks).map(|(a, b)| link(a, b, 100, 1000)).collect();
    spec.recovery = RecoveryConfig::InAnyOrder(Default::default());
    spec
}

// ------------------------------------------------------------------------------------------------- a path choice at the host

/// Sixteen paths in turn; remembers which were answered.
#[derive(Clone, Debug, Default)]
struct Turns(Log<(Entropy, bool)>);

struct Turn(Log<(Entropy, bool)>);

impl Options for Turns {}

impl LoadBalanceOptions for Turns {
    type Instance = Ecmp;

    fn is_static(&self) -> bool {
        true
    }

    fn build(&self, site: &Site<'_>) -> Ecmp {
        EcmpConfig {}.build(site)
    }

    fn chooses_paths(&self) -> bool {
        true
    }

    fn path_choice(&self, _sender: &SenderFacts) -> Option<Box<dyn PathChoice>> {
        Some(Box::new(Turn(self.0.clone())))
    }
}

impl PathChoice for Turn {
    fn next(&mut self, psn: Psn, _now: Time) -> Entropy {
        Entropy((psn % 16) as u16)
    }

    fn on_answer(&mut self, path: Entropy, marked: bool, _now: Time) {
        self.0.lock().unwrap().push((path, marked));
    }
}

#[test]
fn a_host_chooses_the_path_of_every_packet_and_hears_how_it_fared() {
    let toy = Turns::default();
    let mut spec = four_spines();
    spec.load_balance = LoadBalanceConfig::custom(toy.clone());
    let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 160 * 1024, 0)]);
    assert_eq!((outcomes[0].reception.delivered, outcomes[0].retransmitted), (160 * 1024, 0));
    assert_eq!(simulation.audit(), []);
    // Of sixteen paths, some pass each spine; ten packets take each.
    let sent = |spine: u32| simulation.node(NodeId(spine)).ports()[1].sent_wire_bytes() / 1106;
    assert!((4..8).all(|spine| sent(spine) > 0 && sent(spine) % 10 == 0), "{:?}", [4, 5, 6, 7].map(sent));
    let mut heard = take(&toy.0);
    heard.sort_unstable();
    let every = (0..16).flat_map(|path| [(Entropy(path), false); 10]).collect::<Vec<_>>();
    // The last ACK ends the flow.
    assert_eq!(heard.len(), every.len() - 1);
    assert!(heard.iter().all(|path| every.contains(path)));
}

// ------------------------------------------------------------------------- a mechanism that fills two slots: rate and path

/// Every packet takes the path of the answer that came last; before the first one, its own.
#[derive(Clone, Debug, Default)]
struct Clocked {
    taken: Log<(Psn, Entropy)>,
    answered: Log<(Option<Psn>, Option<Entropy>)>,
}

#[derive(Debug)]
struct Clock {
    line: Rate,
    answered: Option<Entropy>,
    toy: Clocked,
}

#[derive(Debug)]
struct Silent;

impl NotificationPoint for Silent {}
impl PipelineHooks for Silent {}
impl CongestionPoint for Silent {}
impl Options for Clocked {}

impl CongestionOptions for Clocked {
    type Point = Silent;
    type Notification = Silent;
    type Reaction = Clock;

    fn point(&self, _site: &Site<'_>) -> Silent {
        Silent
    }

    fn notification(&self, _line_rate: Rate) -> Silent {
        Silent
    }

    fn reaction(&self, sender: &SenderFacts) -> Clock {
        Clock { line: sender.line_rate, answered: None, toy: self.clone() }
    }

    fn chooses_paths(&self) -> bool {
        true
    }
}

impl ReactionPoint for Clock {
    fn rate(&mut self, _now: Time) -> Rate {
        self.line
    }

    fn on_ack(&mut self, ack: &AckView<'_>) {
        self.answered = ack.path;
        self.toy.answered.lock().unwrap().push((ack.arrived, ack.path));
    }

    fn path(&mut self, psn: Psn, _now: Time) -> Option<Entropy> {
        let path = self.answered.unwrap_or(Entropy(psn as u16));
        self.toy.taken.lock().unwrap().push((psn, path));
        Some(path)
    }
}

/// Its word goes before that of load balancing.
#[test]
fn a_congestion_control_chooses_paths_by_the_answers_that_come() {
    let (toy, turns) = (Clocked::default(), Turns::default());
    let mut spec = four_spines();
    spec.congestion = CongestionConfig::custom(toy.clone());
    spec.load_balance = LoadBalanceConfig::custom(turns.clone());
    let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 200 * 1024, 0)]);
    assert_eq!((outcomes[0].reception.delivered, simulation.audit()), (200 * 1024, vec![]));
    let taken = take(&toy.taken);
    // Eight links of 1 us there and back, four data frames and four ACKs: the first answer comes 8.4 us later, when 95 packets have been sent.
    let own = taken.iter().take_while(|(psn, path)| u32::from(path.0) == *psn).count();
    assert!((94..=97).contains(&own), "{own}");
    assert!(taken[own..].iter().all(|(psn, path)| u32::from(path.0) < *psn));
    assert_eq!(taken[own].1, Entropy(0));
    // Packets take the paths that it has chosen, not those of the load balancing beside it.
    let answered: Vec<Entropy> = take(&turns.0).iter().map(|(path, _)| *path).collect();
    assert_eq!(answered, taken[..answered.len()].iter().map(|(_, path)| *path).collect::<Vec<_>>());
    assert!(answered.len() > 150);
}

// ------------------------------------------------------------------- a loss recovery that knows the path of what has come

/// Recovery in any order, which remembers what each answer tells.
#[derive(Clone, Debug, Default)]
struct Listening(Log<(Option<Psn>, Option<Entropy>)>);

struct Listener(AnyRecoverySender, Log<(Option<Psn>, Option<Entropy>)>);

impl Options for Listening {}

impl RecoveryOptions for Listening {
    type Sender = Listener;
    type Receiver = AnyRecoveryReceiver;

    fn sender(&self, sender: &SenderFacts) -> Listener {
        Listener(RecoveryConfig::InAnyOrder(Default::default()).sender(sender), self.0.clone())
    }

    fn receiver(&self) -> AnyRecoveryReceiver {
        RecoveryConfig::InAnyOrder(Default::default()).receiver()
    }

    fn tolerates_reordering(&self) -> bool {
        true
    }
}

impl RecoverySender for Listener {
    fn on_answer(&mut self, answer: &Answer, progress: &mut Progress) -> bool {
        self.1.lock().unwrap().push((answer.arrived, answer.path));
        self.0.on_answer(answer, progress)
    }

    fn on_timeout(&mut self, progress: &mut Progress) {
        self.0.on_timeout(progress);
    }

    fn timeout(&self, progress: &Progress) -> Option<Duration> {
        self.0.timeout(progress)
    }
}

/// What MP-RDMA needs: its recovery is told of which packet has come and by which path, and so is its rate control.
#[test]
fn recovery_and_rate_control_hear_which_packet_has_come_by_which_path() {
    let (turns, listening, clocked) = (Turns::default(), Listening::default(), Clocked::default());
    let mut spec = four_spines();
    spec.load_balance = LoadBalanceConfig::custom(turns);
    spec.recovery = RecoveryConfig::custom(listening.clone());
    run(&spec, vec![flow(0, 1, 60 * 1024, 0)]);
    let of_turn = |psn: Psn| (Some(psn), Some(Entropy((psn % 16) as u16)));
    let by_packet = |log: &Log<(Option<Psn>, Option<Entropy>)>| {
        let mut heard = take(log);
        heard.sort_unstable();
        heard
    };
    assert_eq!(by_packet(&listening.0), (0..60).map(of_turn).collect::<Vec<_>>());
    // By itself, the control keeps to the paths of packets' own numbers until the first answer comes: after 60 packets.
    spec.congestion = CongestionConfig::custom(clocked.clone());
    run(&spec, vec![flow(0, 1, 60 * 1024, 0)]);
    let own = |psn: Psn| (psn, Entropy(psn as u16));
    assert_eq!(
        by_packet(&listening.0),
        (0..60).map(own).map(|(psn, path)| (Some(psn), Some(path))).collect::<Vec<_>>()
    );
    let mut answered = take(&clocked.answered);
    answered.sort_unstable();
    // The last answer ends the flow.
    assert_eq!(answered.len(), 59);
    assert!(
        answered.iter().all(|(psn, path)| path.is_some_and(|path| psn.map(own) == Some((u32::from(path.0), path))))
    );
    // Nobody has asked: nothing is told.
    spec = four_spines();
    spec.recovery = RecoveryConfig::custom(listening.clone());
    run(&spec, vec![flow(0, 1, 1024, 0)]);
    assert_eq!(take(&listening.0), [(None, None)]);
}

// --------------------------------------------------------------------------------------------- a base control inside another

const TOY: Protocol = Protocol::named("toy-rate");

/// A switch tells the sender of a packet that joins a queue of 50 KB or more to go on at a rate; otherwise the base control governs.
#[derive(Clone, Debug)]
struct Tempered {
    base: CongestionConfig,
    mbps: u32,
}

struct TemperedPoint(AnyCongestionPoint, u32);
struct TemperedSender(AnyReactionPoint);

impl Options for Tempered {}

impl CongestionOptions for Tempered {
    type Point = TemperedPoint;
    type Notification = AnyNotificationPoint;
    type Reaction = TemperedSender;

    fn point(&self, site: &Site<'_>) -> TemperedPoint {
        TemperedPoint(self.base.point(site), self.mbps)
    }

    fn notification(&self, line_rate: Rate) -> AnyNotificationPoint {
        self.base.notification(line_rate)
    }

    fn reaction(&self, sender: &SenderFacts) -> TemperedSender {
        TemperedSender(self.base.reaction(sender))
    }

    fn telemetry_bytes(&self) -> u32 {
        self.base.telemetry_bytes()
    }
}

impl CongestionPoint for TemperedPoint {}

impl PipelineHooks for TemperedPoint {
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

impl ReactionPoint for TemperedSender {
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

/// Eight hosts send to one: told to go at an eighth of the line each, they keep the queue short, which the base control alone does not; and it goes on
/// from there: it is not back at line rate soon after.
#[test]
fn a_control_inside_another_goes_on_from_the_rate_that_it_is_told() {
    let peak = |congestion| {
        let mut spec = star(9, 100, 1000);
        spec.congestion = congestion;
        let (simulation, outcomes) = run(&spec, (0..8).map(|host| flow(host, 8, 1_000_000, 0)).collect());
        assert_eq!((simulation.audit(), simulation.totals().drops), (vec![], [0; 5]));
        let last = outcomes.iter().map(|outcome| outcome.reception.finish.unwrap()).max().unwrap();
        (simulation.node(NodeId(9)).switch().unwrap().occupancy().peak, last)
    };
    let base = CongestionConfig::Dcqcn(Default::default());
    let (alone, _) = peak(base.clone());
    let (tempered, last) = peak(CongestionConfig::custom(Tempered { base, mbps: 12_500 }));
    assert!(tempered * 2 < alone, "{tempered} {alone}");
    // 8 MB at line rate take 691 us with their headers.
    assert!(last < Time::ZERO + Duration::from_us(900), "{last}");
}

// --------------------------------------------------------------------------------- a congestion control that goes by the clock

/// The window is shut for 50 us, and opened by the clock alone.
#[derive(Clone, Debug)]
struct Sleeping;

#[derive(Debug)]
struct Sleeper {
    line: Rate,
    is_open: bool,
}

impl Options for Sleeping {}

impl CongestionOptions for Sleeping {
    type Point = Silent;
    type Notification = Silent;
    type Reaction = Sleeper;

    fn point(&self, _site: &Site<'_>) -> Silent {
        Silent
    }

    fn notification(&self, _line_rate: Rate) -> Silent {
        Silent
    }

    fn reaction(&self, sender: &SenderFacts) -> Sleeper {
        Sleeper { line: sender.line_rate, is_open: false }
    }

    fn needs_sender_timers(&self) -> bool {
        true
    }
}

impl ReactionPoint for Sleeper {
    fn rate(&mut self, _now: Time) -> Rate {
        self.line
    }

    fn window(&self) -> u64 {
        if self.is_open { u64::MAX } else { 0 }
    }

    fn wake_at(&self) -> Time {
        if self.is_open { Time::NEVER } else { Time::ZERO + Duration::from_us(50) }
    }

    fn on_wake(&mut self, _now: Time) {
        self.is_open = true;
    }
}

/// Two links of 1 us, and one frame on each.
#[test]
fn a_reaction_point_is_called_by_the_clock() {
    let mut spec = star(3, 100, 1000);
    spec.congestion = CongestionConfig::custom(Sleeping);
    let (simulation, outcomes) =
        run(&spec, vec![flow(0, 2, 1024, 0), flow(1, 2, 1024, 10_000), flow(1, 2, 1024, 70_000)]);
    let way = 2 * (1_000_000 + 1122 * 80);
    let finish: Vec<u64> = outcomes.iter().map(|outcome| outcome.reception.finish.unwrap().ps()).collect();
    // The second waits for the first at the switch; the third comes when its time is over already.
    assert_eq!(finish, [50_000_000 + way, 50_000_000 + way + 1122 * 80, 70_000_000 + way]);
    assert_eq!(simulation.audit(), []);
}
