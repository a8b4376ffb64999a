//! MP-RDMA (Lu et al., NSDI 2018): one window for all paths of a flow, and a packet takes the path of the ACK that releases it.
//!
//! So each path has a share of the window that grows where ACKs come back unmarked, and there is no state per path. Its loss recovery is
//! [`mp-rdma`](crate::mechanisms::recovery::mp_rdma).

use super::ecn::{EcnConfig, EcnMarker};
use crate::contract::{
    AckView, Beside, CongestionOptions, Entropy, Findings, Footprint, InForce, Key, Loss, Notification,
    NotificationPoint, Options, ReactionPoint, SenderFacts, Site,
};
use crate::frame::Psn;
use backwater_engine::memory::HeapBytes;
use backwater_engine::random::Stream;
use backwater_engine::{Bytes, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::VecDeque;

/// MP-RDMA: one window for many paths, clocked by their ACKs (NSDI 2018). Best with the loss recovery of the same name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MpRdmaConfig {
    /// ECN marking at the switches.
    pub ecn: MarkConfig,
    /// Window of a flow that starts, in packets. Default: what the sender's line carries in the longest base round-trip time, rounded up (the paper, and its
    /// re-implementation: one BDP).
    #[schemars(range(min = 1.0, max = 1000000.0))]
    pub initial_cwnd: Option<f64>,
    /// How far behind the highest packet answered another may be answered before its path counts as slow, in packets. Default 32 (the paper, and its
    /// re-implementation).
    pub reordering: u32,
    /// What the answer of a packet further behind takes from the window, besides what its mark does. Default 1 (the re-implementation; of the paper we are not
    /// sure).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub slow_path_cut: f64,
    /// Probability that a packet that an ACK releases takes a new random path all the same. Default 0.01 (the paper; the re-implementation has none).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probing: f64,
}

impl Default for MpRdmaConfig {
    fn default() -> Self {
        MpRdmaConfig {
            ecn: MarkConfig::default(),
            initial_cwnd: None,
            reordering: 32,
            slow_path_cut: 1.0,
            probing: 0.01,
        }
    }
}

/// ECN marking of a switch's egress queues: by one threshold, as in DCTCP, or by two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MarkConfig {
    /// Queue length up to which nothing is marked. Default 60 KB (the paper's testbed at 40 Gb/s, if we remember right: 54 packets, which a flow at line rate
    /// reorders by when some of its packets wait in such a queue, and others do not; the receiver's bitmap holds 64). The re-implementation has 400 KB.
    pub kmin: Bytes,
    /// Queue length above which everything is marked. Default: `kmin`, one threshold for both; the re-implementation has 1600 KB.
    pub kmax: Option<Bytes>,
    /// Marking probability at `kmax`, where that is above `kmin`. Default 1; the re-implementation has 0.2.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pmax: f64,
    /// If set, `kmin` and `kmax` hold for ports of this rate and grow in proportion to a port's rate. Default: none; they hold for every port.
    pub rate: Option<Rate>,
}

impl Default for MarkConfig {
    fn default() -> Self {
        MarkConfig { kmin: Bytes(60_000), kmax: None, pmax: 1.0, rate: None }
    }
}

impl MarkConfig {
    /// What is in force.
    fn ecn(&self) -> EcnConfig {
        let MarkConfig { kmin, kmax, pmax, rate } = *self;
        EcnConfig { kmin, kmax: kmax.unwrap_or(kmin), pmax, rate }
    }
}

/// Loss recoveries that can be beside it.
const RECOVERIES: [&str; 3] = ["mp-rdma", "in-any-order", "irn"];

impl Options for MpRdmaConfig {
    fn check(&self, beside: &Beside<'_>, findings: &mut Findings) {
        findings.one_ack_per_packet(beside);
        findings.error(
            beside.load_balance != "ecmp",
            Key::Scenario("load_balance.kind"),
            "must be ecmp: senders of mp-rdma choose the paths of packets themselves, by what switches hash; write load_balance = { kind = \"ecmp\" }",
        );
        findings.error(
            !RECOVERIES.contains(&beside.recovery),
            Key::Scenario("recovery.kind"),
            "must be mp-rdma, in-any-order or irn: mp-rdma sends packets along paths on which they overtake each other; write recovery = { kind = \"mp-rdma\" }",
        );
        findings.warning(
            beside.recovery == "irn",
            Key::Scenario("recovery.kind"),
            "mp-rdma reorders packets, and irn takes each reordering for a loss; mp-rdma and in-any-order do not",
        );
        let ecn = self.ecn.ecn();
        findings.ordered([("ecn.kmin", ecn.kmin), ("ecn.kmax", ecn.kmax)]);
        findings.positive(self.ecn.rate, "ecn.rate");
    }
}

impl CongestionOptions for MpRdmaConfig {
    type Point = EcnMarker;
    type Notification = Echo;
    type Reaction = Box<MpRdma>;

    fn point(&self, site: &Site<'_>) -> EcnMarker {
        EcnMarker::new(&self.ecn.ecn(), site)
    }

    fn notification(&self, _line_rate: Rate) -> Echo {
        Echo
    }

    fn reaction(&self, sender: &SenderFacts) -> Box<MpRdma> {
        Box::new(MpRdma::new(self, sender))
    }

    fn chooses_paths(&self) -> bool {
        true
    }

    fn in_force(&self, sender: &SenderFacts) -> InForce {
        [("initial_cwnd".to_owned(), json!(self.initial_cwnd(sender)))].into_iter().collect()
    }

    fn in_force_at_switch(&self, rate: Rate) -> InForce {
        let (kmin, kmax) = self.ecn.ecn().thresholds(rate);
        [("ecn.kmin".to_owned(), json!(kmin)), ("ecn.kmax".to_owned(), json!(kmax))].into_iter().collect()
    }
}

impl MpRdmaConfig {
    /// Window of a flow that starts, packets.
    fn initial_cwnd(&self, sender: &SenderFacts) -> f64 {
        self.initial_cwnd.unwrap_or((sender.bdp() as f64 / packet_bytes(sender)).ceil()).max(1.0)
    }
}

/// What a full packet takes on the wire.
fn packet_bytes(sender: &SenderFacts) -> f64 {
    sender.sizes.framing.data(sender.sizes.mtu, false, sender.sizes.telemetry).wire.into()
}

/// Echoes the mark of every packet in its ACK.
#[derive(Debug)]
pub struct Echo;

impl Footprint for Echo {}

impl NotificationPoint for Echo {
    fn on_data(&mut self, _now: Time, marked: bool, _wire_bytes: u64) -> Notification {
        Notification { echo: marked, ..Default::default() }
    }
}

/// The reaction point of one flow.
#[derive(Debug)]
pub struct MpRdma {
    line_rate: Rate,
    /// Line rate, but until the next ACK that which another control has set.
    rate: Rate,
    /// Payload bytes of a full packet.
    mtu: u64,
    /// What the line carries in a base round-trip time, in packets.
    bdp: f64,
    initial_cwnd: f64,
    /// The window, packets: 1 at least.
    cwnd: f64,
    reordering: Psn,
    slow_path_cut: f64,
    probing: f64,
    /// Paths of packets that ACKs have released and that have not been sent, the newest last.
    released: VecDeque<Entropy>,
    /// Whether the ACK that is coming in echoes a mark.
    is_marked: bool,
    /// The highest packet answered, snd_ooh.
    highest: Psn,
    /// The packet behind the highest one sent.
    sent: Psn,
    /// Packets before this one may have been sent more than once: their answers tell nothing of their paths.
    repeated_before: Psn,
    draws: Stream,
}

impl MpRdma {
    fn new(config: &MpRdmaConfig, sender: &SenderFacts) -> MpRdma {
        let cwnd = config.initial_cwnd(sender);
        MpRdma {
            line_rate: sender.line_rate,
            rate: sender.line_rate,
            mtu: sender.sizes.mtu.into(),
            bdp: sender.bdp() as f64 / packet_bytes(sender),
            initial_cwnd: cwnd,
            cwnd,
            reordering: config.reordering,
            slow_path_cut: config.slow_path_cut,
            probing: config.probing,
            released: VecDeque::new(),
            is_marked: false,
            highest: 0,
            sent: 0,
            repeated_before: 0,
            draws: sender.seed.stream("mp-rdma", sender.flow.0.into()),
        }
    }

    /// Whole packets that may be in flight.
    fn packets(&self) -> u64 {
        self.cwnd as u64
    }

    /// Whether a packet was answered so late that its path is slow.
    fn is_late(&self, arrived: Psn) -> bool {
        arrived >= self.repeated_before && self.highest > arrived.saturating_add(self.reordering)
    }
}

impl Footprint for MpRdma {
    fn heap_bytes(&self) -> u64 {
        self.released.heap_bytes()
    }
}

impl ReactionPoint for MpRdma {
    fn rate(&mut self, _now: Time) -> Rate {
        self.rate
    }

    fn window(&self) -> u64 {
        self.packets() * self.mtu
    }

    /// The echo of a mark, in the ACK that is about to be looked at.
    fn on_cnp(&mut self, _now: Time, _rate: Option<Rate>) {
        self.is_marked = true;
    }

    fn on_ack(&mut self, ack: &AckView<'_>) {
        self.rate = self.line_rate;
        let before = self.packets();
        let is_marked = std::mem::take(&mut self.is_marked);
        let change = if is_marked { -0.5 } else { 1.0 / self.cwnd };
        let is_late = ack.arrived.is_some_and(|arrived| self.is_late(arrived));
        self.highest = self.highest.max(ack.arrived.unwrap_or(0));
        self.cwnd = (self.cwnd + change - if is_late { self.slow_path_cut } else { 0.0 }).max(1.0);
        // The packet that has left the network, and what the window has grown by.
        let released = (self.packets() + 1).saturating_sub(before) as usize;
        let path = ack.path.filter(|_| !is_late);
        self.released.extend(path.into_iter().flat_map(|path| std::iter::repeat_n(path, released)));
        let needless = self.released.len().saturating_sub(self.packets() as usize);
        self.released.drain(..needless);
    }

    /// After a timeout a flow begins anew: nothing is known of the paths.
    fn on_loss(&mut self, _now: Time, loss: Loss) {
        if loss == Loss::TimedOut {
            self.cwnd = self.initial_cwnd;
            self.released.clear();
        }
    }

    fn set_rate(&mut self, _now: Time, rate: Rate) {
        self.rate = rate.min(self.line_rate);
        self.cwnd = (self.bdp * self.rate.bps() as f64 / self.line_rate.bps() as f64).max(1.0);
    }

    /// That of the last ACK whose release has not been used; a random one where no ACK has released the packet, as in the first round trip.
    fn path(&mut self, psn: Psn, _now: Time) -> Option<Entropy> {
        if psn < self.sent {
            self.repeated_before = self.repeated_before.max(psn + 1);
        }
        self.sent = self.sent.max(psn + 1);
        let released = self.released.pop_back();
        let kept = released.filter(|_| !self.draws.chance(self.probing));
        Some(kept.unwrap_or_else(|| Entropy(self.draws.below(1 << 16) as u16)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use backwater_engine::Duration;
    use std::collections::BTreeSet;

    /// 100 Gb/s and 8 us; packets of 952 B that take 1000 B on the wire, of which 100 are on the way in 8 us.
    fn sender() -> SenderFacts {
        testing::sender(Rate::from_gbps(100), Duration::from_us(8))
    }

    /// A flow that has sent packets 0 to 99, and does not probe.
    fn flow(cwnd: f64) -> MpRdma {
        let config = MpRdmaConfig { probing: 0.0, ..Default::default() };
        MpRdma { cwnd, sent: 100, ..MpRdma::new(&config, &sender()) }
    }

    /// The window after the ACK of packet `psn`, which has taken `path`.
    fn ack(point: &mut MpRdma, psn: Psn, path: u16, is_marked: bool) -> f64 {
        if is_marked {
            point.on_cnp(Time::ZERO, None);
        }
        point.on_ack(&AckView {
            now: Time::ZERO,
            arrived: Some(psn),
            acked_bytes: 0,
            sent_bytes: 0,
            rtt: Duration::from_us(8),
            hops: 0,
            path: Some(Entropy(path)),
            telemetry: None,
        });
        point.cwnd
    }

    /// The paths that ACKs have left to packets, in the order in which these are sent.
    fn released(point: &MpRdma) -> Vec<u16> {
        point.released.iter().rev().map(|path| path.0).collect()
    }

    fn assert_near(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < 1e-9 * expected.abs(), "{actual} is not {expected}");
    }

    /// 1/10, 1/10.1, half a packet back for each mark, and 1 at least.
    #[test]
    fn the_window_grows_by_a_packet_per_round_trip_and_loses_half_a_packet_per_mark() {
        let mut point = flow(10.0);
        assert_near(ack(&mut point, 0, 1, false), 10.1);
        assert_near(ack(&mut point, 1, 1, false), 10.1 + 1.0 / 10.1);
        assert_near(ack(&mut point, 2, 1, true), 9.6 + 1.0 / 10.1);
        // One mark counts once.
        point.cwnd = 4.0;
        assert_near(ack(&mut point, 3, 1, false), 4.25);
        assert_eq!(point.window(), 4 * 952);
        point.cwnd = 1.25;
        assert_eq!([ack(&mut point, 4, 1, true), ack(&mut point, 5, 1, true)], [1.0, 1.0]);
        assert_eq!((point.window(), ack(&mut point, 6, 1, false)), (952, 2.0));
    }

    /// 10 to 10.1: the packet that has left. 9.95 to 10.05: one more.
    #[test]
    fn an_ack_releases_a_packet_onto_its_path_and_two_where_the_window_has_grown_by_one() {
        let mut point = flow(10.0);
        ack(&mut point, 0, 7, false);
        assert_eq!(released(&point), [7]);
        assert_eq!(point.path(100, Time::ZERO), Some(Entropy(7)));
        point.cwnd = 9.95;
        ack(&mut point, 1, 8, false);
        assert_eq!(released(&point), [8, 8]);
        assert_eq!([101, 102].map(|psn| point.path(psn, Time::ZERO)), [Some(Entropy(8)); 2]);
        // No ACK has released what is sent now: a path of its own.
        let own = [103, 104, 105].map(|psn| point.path(psn, Time::ZERO));
        assert_eq!(own.iter().collect::<BTreeSet<_>>().len(), 3);
    }

    /// 10 to 9.5: nine may be in flight, and are. 9.5 to 9: the packet that has left.
    #[test]
    fn every_other_mark_takes_a_packet_from_its_path() {
        let mut point = flow(10.0);
        ack(&mut point, 0, 7, true);
        assert_eq!(released(&point), [0; 0]);
        ack(&mut point, 1, 8, true);
        assert_eq!(released(&point), [8]);
        // At the smallest window the packet goes on.
        point.cwnd = 1.0;
        ack(&mut point, 2, 9, true);
        assert_eq!(released(&point), [9, 8][..1]);
    }

    /// Packet 40 is the highest answered: 8 is 32 behind, and 7 is 33.
    #[test]
    fn an_answer_too_far_behind_takes_its_path_out() {
        let mut point = flow(20.0);
        ack(&mut point, 40, 1, false);
        point.cwnd = 20.0;
        assert_near(ack(&mut point, 8, 2, false), 20.05);
        assert_eq!(released(&point), [2, 1]);
        point.cwnd = 20.0;
        assert_near(ack(&mut point, 7, 3, false), 19.05);
        // As a mark would have it besides, and one packet at least.
        assert_near(ack(&mut point, 6, 3, true), 17.55);
        assert_eq!(released(&point), [2, 1]);
        point.cwnd = 1.5;
        assert_eq!(ack(&mut point, 5, 3, true), 1.0);
        // What is late is late after the highest, not after the last.
        assert_eq!((point.highest, ack(&mut point, 41, 4, true)), (40, 1.0));
        assert_eq!(released(&point), [4]);
    }

    /// Without a cut, the window does as its mark says, and what the ACK releases takes another path.
    #[test]
    fn a_slow_path_may_leave_the_window_as_it_is() {
        let mut point = MpRdma { slow_path_cut: 0.0, highest: 99, ..flow(20.0) };
        assert_near(ack(&mut point, 3, 2, false), 20.05);
        assert_near(ack(&mut point, 4, 2, true), 19.55);
        assert_eq!(released(&point), [0; 0]);
        assert_ne!(point.path(100, Time::ZERO), Some(Entropy(2)));
    }

    /// Nobody knows which of two copies has been answered, and one sent later comes later.
    #[test]
    fn what_has_been_sent_again_says_nothing_of_its_path() {
        let mut point = MpRdma { highest: 99, ..flow(20.0) };
        point.path(10, Time::ZERO);
        point.path(5, Time::ZERO);
        assert_near(ack(&mut point, 10, 2, false), 20.05);
        assert_eq!(released(&point), [2]);
        point.cwnd = 20.0;
        assert_near(ack(&mut point, 11, 2, false), 19.05);
    }

    /// 65,536 paths: of a thousand packets hardly two take the same, and each eighth of the paths has its share, within five standard deviations.
    #[test]
    fn the_first_window_is_a_bdp_on_random_paths() {
        let config = MpRdmaConfig::default();
        let mut point = MpRdma::new(&config, &sender());
        assert_eq!((point.rate(Time::ZERO), point.window()), (Rate::from_gbps(100), 100 * 952));
        let paths: Vec<_> = (0..1000).filter_map(|psn| point.path(psn, Time::ZERO)).collect();
        assert!(paths.iter().collect::<BTreeSet<_>>().len() > 970);
        for part in 0..8 {
            let count = paths.iter().filter(|path| path.0 / 8192 == part).count();
            assert!(count.abs_diff(125) < 53, "{part}: {count}");
        }
        // Another flow has others, and the same flow the same.
        let first = |flow| {
            let facts = SenderFacts { flow, ..sender() };
            let mut point = MpRdma::new(&config, &facts);
            [0, 1].map(|psn| point.path(psn, Time::ZERO))
        };
        assert_eq!(first(sender().flow), [Some(paths[0]), Some(paths[1])]);
        assert_ne!(first(crate::ids::FlowId(77)), first(sender().flow));
    }

    /// Of 100,000 packets released onto path 7: 1000, within five standard deviations, and those that come to 7 by chance.
    #[test]
    fn a_released_packet_takes_a_new_path_now_and_then() {
        let probes = |probing| {
            let mut point = MpRdma { probing, ..flow(10.0) };
            let mut draw = |psn| {
                point.released.push_back(Entropy(7));
                point.path(psn, Time::ZERO)
            };
            (0..100_000).filter(|psn| draw(100 + psn) != Some(Entropy(7))).count()
        };
        assert_eq!(probes(0.0), 0);
        assert!(probes(MpRdmaConfig::default().probing).abs_diff(1000) < 158);
        assert!(probes(1.0) > 99_900);
    }

    /// While its port is closed: as many paths as packets may go, the newest.
    #[test]
    fn what_acks_release_waits_for_the_port() {
        let mut point = flow(4.0);
        (0..100).for_each(|psn| _ = ack(&mut point, psn, psn as u16, true));
        assert_eq!((point.cwnd, released(&point)), (1.0, vec![99]));
        // 4.25, 4.49, 4.71, 4.92, 5.12: the fifth releases two.
        point.cwnd = 4.0;
        (100..106).for_each(|psn| _ = ack(&mut point, psn, psn as u16, false));
        assert_eq!((point.packets(), released(&point)), (5, vec![105, 104, 104, 103, 102]));
        let sent = [110, 111, 112].map(|psn| point.path(psn, Time::ZERO));
        assert_eq!(sent, [105, 104, 104].map(|path| Some(Entropy(path))));
    }

    #[test]
    fn after_a_timeout_a_flow_begins_anew() {
        let mut point = flow(3.0);
        ack(&mut point, 0, 7, false);
        let before = point.cwnd;
        point.on_loss(Time::ZERO, Loss::Answered);
        assert_eq!((point.cwnd, released(&point)), (before, vec![7]));
        point.on_loss(Time::ZERO, Loss::TimedOut);
        assert_eq!((point.cwnd, released(&point)), (100.0, vec![]));
        assert_ne!(point.path(0, Time::ZERO), Some(Entropy(7)));
        let config = MpRdmaConfig { initial_cwnd: Some(12.0), ..Default::default() };
        let mut point = MpRdma { cwnd: 3.0, ..MpRdma::new(&config, &sender()) };
        point.on_loss(Time::ZERO, Loss::TimedOut);
        assert_eq!(point.window(), 12 * 952);
    }

    /// 40 Gb/s are 40 packets in 8 us, paced until the next ACK clocks them; 1 Mb/s is a packet at least.
    #[test]
    fn a_window_follows_a_rate_that_is_set() {
        let mut point = flow(100.0);
        for (set, rate, cwnd) in [(40_000, 40_000, 40.0), (200_000, 100_000, 100.0), (1, 1, 1.0)] {
            point.set_rate(Time::ZERO, Rate::from_bps(set * 1_000_000));
            assert_eq!((point.rate(Time::ZERO), point.cwnd), (Rate::from_bps(rate * 1_000_000), cwnd));
        }
        ack(&mut point, 0, 7, false);
        assert_eq!(point.rate(Time::ZERO), Rate::from_gbps(100));
    }

    #[test]
    fn one_threshold_marks_unless_two_are_written() {
        let kb = |kb: u64| Bytes(kb * 1000);
        let thresholds = |config: &MarkConfig| [40, 100].map(|gbps| config.ecn().thresholds(Rate::from_gbps(gbps)));
        let default = MarkConfig::default();
        assert_eq!((thresholds(&default), default.ecn().pmax), ([(kb(60), kb(60)); 2], 1.0));
        let scaled = MarkConfig { rate: Some(Rate::from_gbps(40)), ..default.clone() };
        assert_eq!(thresholds(&scaled), [(kb(60), kb(60)), (kb(150), kb(150))]);
        let other = MarkConfig { kmin: kb(400), kmax: Some(kb(1600)), pmax: 0.2, ..default.clone() };
        assert_eq!((thresholds(&other), other.ecn().pmax), ([(kb(400), kb(1600)); 2], 0.2));
        assert_eq!(thresholds(&MarkConfig { kmax: Some(kb(120)), ..default }), [(kb(60), kb(120)); 2]);
    }

    #[test]
    fn every_mark_is_echoed_and_nothing_else() {
        let notification = [true, false].map(|marked| Echo.on_data(Time::ZERO, marked, 1000));
        assert_eq!(
            notification.map(|notification| (notification.echo, notification.cnp)),
            [(true, false), (false, false)]
        );
    }
}
