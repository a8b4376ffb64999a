//! MP-RDMA (Lu et al., NSDI 2018): a flow has one window for all its paths, and a packet takes the
//! path of the ACK that releases it.
//!
//! A path's share of the window grows if its ACKs return unmarked, so no state per path is needed.
//! The matching loss recovery is [`mp-rdma`](crate::mechanisms::recovery::mp_rdma).

use super::ecn::{EcnConfig, EcnMarker};
use crate::contract::{
    AckView, AnswerPath, CongestionOptions, Diagnostics, EffectiveValues, Entropy, LossSignal, Notification,
    NotificationPoint, Options, ReactionPoint, SchemeContext, SenderFacts, Site, effective_values,
};
use crate::frame::{Cnp, Psn};
use backwater_engine::random::Stream;
use backwater_engine::{Bytes, Rate, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeSet, VecDeque};

/// MP-RDMA: one window for many paths, clocked by their ACKs (NSDI 2018). Works best with the loss
/// recovery of the same name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MpRdmaConfig {
    /// ECN marking at the switches.
    pub ecn: MarkConfig,
    /// Path of ACKs. Default `echoed`: a path of the paper is a UDP source port, which an ACK
    /// echoes. Commodity switches know no reverse routes.
    pub ack_path: AnswerPath,
    /// Initial window of a flow, in packets. Default: one BDP, rounded up (the paper and its
    /// re-implementation). The BDP is the line rate times the longest base round-trip time.
    #[schemars(range(min = 1.0, max = 1000000.0))]
    pub initial_cwnd: Option<f64>,
    /// Number of packets by which an acknowledged packet may be behind the highest acknowledged
    /// one. The path of a packet that is further behind counts as slow. Default 32 (the paper and
    /// its re-implementation).
    pub reordering: u32,
    /// Packets taken off the window by an ACK of a slow path, in addition to the effect of a mark.
    /// Default 1 (the re-implementation; the paper's value is not certain).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub slow_path_cut: f64,
    /// Probability that a packet takes a new random path instead of the path of the ACK that
    /// releases the packet. Default 0.01 (the paper; the re-implementation has none).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probing: f64,
}

impl Default for MpRdmaConfig {
    fn default() -> Self {
        MpRdmaConfig {
            ecn: MarkConfig::default(),
            ack_path: AnswerPath::default(),
            initial_cwnd: None,
            reordering: 32,
            slow_path_cut: 1.0,
            probing: 0.01,
        }
    }
}

/// ECN marking of a switch's egress queues, by one threshold as in DCTCP, or by two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MarkConfig {
    /// Queue length up to which no packet is marked. Default 60 KB (the paper's testbed at 40 Gb/s,
    /// quoted from memory). A packet that waits in a queue of 60 KB is overtaken by at most 54
    /// packets of its flow at line rate, and the receiver's bitmap holds 64. The re-implementation
    /// has 400 KB.
    pub kmin: Bytes,
    /// Queue length above which every packet is marked. Default: `kmin` (a single threshold); the
    /// re-implementation has 1600 KB.
    pub kmax: Option<Bytes>,
    /// Marking probability at `kmax`, if `kmax` is above `kmin`. Default 1; the re-implementation
    /// has 0.2.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pmax: f64,
    /// Port rate for which `kmin` and `kmax` hold: the thresholds of a port scale with its rate.
    /// Default: none; every port has the same thresholds.
    pub rate: Option<Rate>,
}

impl Default for MarkConfig {
    fn default() -> Self {
        MarkConfig { kmin: Bytes(60_000), kmax: None, pmax: 1.0, rate: None }
    }
}

impl MarkConfig {
    /// Returns the effective thresholds.
    fn ecn(&self) -> EcnConfig {
        let MarkConfig { kmin, kmax, pmax, rate } = *self;
        EcnConfig { kmin, kmax: kmax.unwrap_or(kmin), pmax, rate }
    }
}

/// Loss recoveries that work with MP-RDMA.
const RECOVERIES: [&str; 3] = ["mp-rdma", "in-any-order", "irn"];

impl Options for MpRdmaConfig {
    fn check(&self, scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        diagnostics.one_ack_per_packet(scheme);
        diagnostics.scenario_error(
            scheme.load_balance != "ecmp",
            "load_balance.kind",
            "must be ecmp: mp-rdma senders choose the path of each packet by its UDP source port; write load_balance = \
                { kind = \"ecmp\" }",
        );
        diagnostics.scenario_error(
            !RECOVERIES.contains(&scheme.recovery),
            "recovery.kind",
            "must be mp-rdma, in-any-order or irn: mp-rdma uses several paths at once, so packets arrive out of order; \
                write recovery = { kind = \"mp-rdma\" }",
        );
        diagnostics.scenario_warning(
            scheme.recovery == "irn",
            "recovery.kind",
            "irn treats each reordered packet as lost, and mp-rdma reorders packets; use mp-rdma or in-any-order",
        );
        let ecn = self.ecn.ecn();
        diagnostics.ordered([("ecn.kmin", ecn.kmin), ("ecn.kmax", ecn.kmax)]);
        diagnostics.positive(self.ecn.rate, "ecn.rate");
        let is_step = ecn.kmin == ecn.kmax && ecn.pmax != MarkConfig::default().pmax;
        diagnostics.warning(
            is_step,
            "ecn.pmax",
            "has no effect: kmin equals kmax, so every packet is marked that meets a queue longer than kmin",
        );
    }
}

impl CongestionOptions for MpRdmaConfig {
    type Point = EcnMarker;
    type Notification = MarkEcho;
    type Reaction = Box<MpRdma>;

    fn point(&self, site: &Site<'_>) -> EcnMarker {
        EcnMarker::new(&self.ecn.ecn(), site)
    }

    fn notification(&self, _line_rate: Rate) -> MarkEcho {
        MarkEcho
    }

    fn reaction(&self, sender: &SenderFacts) -> Box<MpRdma> {
        Box::new(MpRdma::new(self, sender))
    }

    fn chooses_paths(&self) -> bool {
        true
    }

    fn answer_path(&self) -> Option<AnswerPath> {
        Some(self.ack_path)
    }

    fn effective_values(&self, sender: &SenderFacts) -> EffectiveValues {
        effective_values(json!({ "initial_cwnd": self.initial_cwnd(sender) }))
    }

    fn effective_values_at_switch(&self, rate: Rate) -> EffectiveValues {
        let (kmin, kmax) = self.ecn.ecn().thresholds(rate);
        effective_values(json!({ "ecn.kmin": kmin, "ecn.kmax": kmax }))
    }
}

impl MpRdmaConfig {
    /// Returns the initial window of a flow, in packets.
    fn initial_cwnd(&self, sender: &SenderFacts) -> f64 {
        self.initial_cwnd.unwrap_or((sender.bdp() as f64 / packet_bytes(sender)).ceil()).max(1.0)
    }
}

/// Returns the wire bytes of a full packet.
fn packet_bytes(sender: &SenderFacts) -> f64 {
    sender.sizes.framing.data(sender.sizes.mtu, false, sender.sizes.telemetry).wire.into()
}

/// Echoes the mark of every packet in its ACK.
#[derive(Debug, GetSize)]
pub struct MarkEcho;

impl NotificationPoint for MarkEcho {
    fn on_data(&mut self, _now: Time, marked: bool, _wire_bytes: u64) -> Notification {
        Notification { echo: marked, ..Default::default() }
    }
}

/// Reaction point of one flow.
#[derive(Debug, GetSize)]
pub struct MpRdma {
    line_rate: Rate,
    /// Line rate, or the rate set by another control until the next ACK.
    rate: Rate,
    /// Payload bytes of a full packet.
    mtu: u64,
    /// Packets that the line carries in a base round-trip time.
    bdp: f64,
    initial_cwnd: f64,
    /// Window in packets, at least 1.
    cwnd: f64,
    reordering: Psn,
    slow_path_cut: f64,
    probing: f64,
    /// Paths of packets that ACKs have released and that are not yet sent; the newest is last.
    released: VecDeque<Entropy>,
    /// Path of the last ACK that was not late, for packets that no ACK released.
    latest: Option<Entropy>,
    /// True if the ACK being processed echoes a mark.
    is_marked: bool,
    /// Highest acknowledged packet, snd_ooh.
    highest: Psn,
    /// Packet number after the highest one sent.
    sent: Psn,
    /// Packets sent more than once and not yet acknowledged. Their ACKs do not count as late.
    repeated: BTreeSet<Psn>,
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
            latest: None,
            is_marked: false,
            highest: 0,
            sent: 0,
            repeated: BTreeSet::new(),
            draws: sender.seed.stream("mp-rdma", sender.identity),
        }
    }

    /// Returns the window in whole packets.
    fn packets(&self) -> u64 {
        self.cwnd as u64
    }

    /// Returns true if a packet was acknowledged so late that its path counts as slow.
    fn is_late(&self, arrived: Psn) -> bool {
        self.highest > arrived.saturating_add(self.reordering) && !self.repeated.contains(&arrived)
    }
}

impl ReactionPoint for MpRdma {
    fn rate(&mut self, _now: Time) -> Rate {
        self.rate
    }

    fn window(&self) -> u64 {
        self.packets() * self.mtu
    }

    /// Records the mark echoed by the ACK about to be processed.
    fn on_cnp(&mut self, _now: Time, _cnp: Cnp) {
        self.is_marked = true;
    }

    fn on_ack(&mut self, ack: &AckView<'_>) {
        self.rate = self.line_rate;
        let before = self.packets();
        let is_marked = std::mem::take(&mut self.is_marked);
        let change = if is_marked { -0.5 } else { 1.0 / self.cwnd };
        let is_late = ack.arrived.is_some_and(|arrived| self.is_late(arrived));
        self.highest = self.highest.max(ack.arrived.unwrap_or(0));
        let acked = ack.acked_bytes / self.mtu;
        while self.repeated.first().is_some_and(|psn| u64::from(*psn) < acked) {
            self.repeated.pop_first();
        }
        self.cwnd = (self.cwnd + change - if is_late { self.slow_path_cut } else { 0.0 }).max(1.0);
        // The ACK releases one packet in place of the packet that has left the network, and one
        // packet for each whole packet by which the window has grown.
        let released = (self.packets() + 1).saturating_sub(before) as usize;
        let path = ack.path.filter(|_| !is_late);
        self.latest = path.or(self.latest);
        self.released.extend(path.into_iter().flat_map(|path| std::iter::repeat_n(path, released)));
        let needless = self.released.len().saturating_sub(self.packets() as usize);
        self.released.drain(..needless);
    }

    /// Resets the window and forgets all paths after a timeout.
    fn on_loss(&mut self, _now: Time, loss: LossSignal) {
        if loss == LossSignal::TimedOut {
            self.cwnd = self.initial_cwnd;
            self.released.clear();
            self.latest = None;
        }
    }

    fn set_rate(&mut self, _now: Time, rate: Rate) {
        self.rate = rate.min(self.line_rate);
        self.cwnd = (self.bdp * self.rate.bps() as f64 / self.line_rate.bps() as f64).max(1.0);
    }

    /// Returns the path for packet `psn`, which is sent now: the path of the last ACK that has
    /// released a packet not yet sent. If no such packet is left, the path is that of the last ACK
    /// that was not late. With probability `probing`, and if no ACK has named a path yet, the path
    /// is random.
    fn path(&mut self, psn: Psn, _now: Time) -> Option<Entropy> {
        if psn < self.sent {
            self.repeated.insert(psn);
        }
        self.sent = self.sent.max(psn + 1);
        let known = self.released.pop_back().or(self.latest);
        let kept = known.filter(|_| !self.draws.chance(self.probing));
        Some(kept.unwrap_or_else(|| Entropy(self.draws.below(1 << 16) as u16)))
    }
}

#[cfg(test)]
mod tests;
