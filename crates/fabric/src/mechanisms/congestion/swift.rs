//! Swift (Kumar et al., SIGCOMM 2020): the sender's window follows the delay of its packets, which it holds at a target (Algorithm 1).
//!
//! The target grows with the links that a packet passes, and with a smaller window, so that many flows over one link need not be told of each other.
//! Windows may be smaller than a packet: then packets are paced.

use super::none::NoCongestionControl;
use crate::contract::{
    AckView, Beside, CongestionOptions, Findings, Footprint, InForce, Loss, Options, ReactionPoint, SenderFacts, Site,
    in_force,
};
use backwater_engine::{Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Where a column of parameters comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SwiftProfile {
    /// The target is the base round-trip time of the fabric and some queueing; the rest is what the two simulators have.
    #[default]
    Fabric,
    /// The Pyrrha simulator: a target that suits its fabric alone.
    PyrrhaNs3,
    /// The htsim simulator, whose figures its authors call guesses: a target that suits base round-trip times around 20 us.
    Htsim,
}

/// Swift: window control by the distance of delays from a target (SIGCOMM 2020).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SwiftConfig {
    /// The column of parameters to start from.
    pub profile: SwiftProfile,
    /// Target delay, before what links and a small window add to it. With the profile `fabric`, so much that the target over the longest path is the base
    /// round-trip time of the network and `queueing`.
    pub base_target: Option<Duration>,
    /// How much longer than the base round-trip time the target is. Default 8 us (100 KB at 100 Gb/s, the Kmin of ECN); only where no `base_target` is set.
    pub queueing: Option<Duration>,
    /// What each link that a packet passes adds to the target. With the profile `fabric`, what one adds to base round-trip times.
    pub per_hop: Option<Duration>,
    /// The most that a small window adds to the target (flow scaling); "0 s" switches that off.
    pub fs_range: Option<Duration>,
    /// The window at which flow scaling adds the most.
    #[schemars(range(min = 0.0, max = 1000000.0))]
    pub fs_min_cwnd: Option<f64>,
    /// The window from which on flow scaling adds nothing.
    #[schemars(range(min = 0.0, max = 1000000.0))]
    pub fs_max_cwnd: Option<f64>,
    /// Additive increase: packets per round trip.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub ai: Option<f64>,
    /// Factor beta of a multiplicative decrease.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub beta: Option<f64>,
    /// The largest share of the window that one decrease takes away.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub max_mdf: Option<f64>,
    /// Smallest window.
    #[schemars(range(min = 0.0, max = 1000000.0))]
    pub min_cwnd: Option<f64>,
    /// Largest window.
    #[schemars(range(min = 0.0, max = 1000000.0))]
    pub max_cwnd: Option<f64>,
    /// Window of a flow that starts.
    #[schemars(range(min = 0.0, max = 1000000.0))]
    pub initial_cwnd: Option<f64>,
    /// Weight of the past in the round-trip time by which packets are paced, and within which the window is decreased once. The delay that is compared with
    /// the target is that of each packet.
    #[schemars(range(min = 0.0, max = 0.999))]
    pub rtt_weight: Option<f64>,
}

/// The parameters that a profile and its overrides come to at one sender.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SwiftParameters {
    /// Target delay before what links and a small window add.
    pub base_target: Duration,
    /// What each link adds.
    pub per_hop: Duration,
    /// The most that a small window adds.
    pub fs_range: Duration,
    /// The window at which that is added.
    pub fs_min_cwnd: f64,
    /// The window from which on nothing is added.
    pub fs_max_cwnd: f64,
    /// Additive increase.
    pub ai: f64,
    /// Factor of a multiplicative decrease.
    pub beta: f64,
    /// The largest share that one decrease takes away.
    pub max_mdf: f64,
    /// Smallest window.
    pub min_cwnd: f64,
    /// Largest window.
    pub max_cwnd: f64,
    /// Window at the start.
    pub initial_cwnd: f64,
    /// Weight of the past in the smoothed round-trip time.
    pub rtt_weight: f64,
}

/// Retransmission timeouts in a row after which the window is the smallest (RETX_RESET_THRESHOLD of the paper).
const TIMEOUTS_TO_RESET: u32 = 5;

/// Queueing that the target allows for.
const QUEUEING: Duration = Duration::from_us(8);

/// The most that flow scaling adds, in targets over the longest path (htsim: 5 of its base targets).
const FS_TARGETS: u64 = 5;

fn sum(one: Duration, other: Duration) -> Duration {
    Duration::from_ps(one.ps().saturating_add(other.ps()))
}

fn times(one: Duration, factor: u64) -> Duration {
    Duration::from_ps(one.ps().saturating_mul(factor))
}

impl Options for SwiftConfig {
    fn check(&self, beside: &Beside<'_>, findings: &mut Findings) {
        findings.one_ack_per_packet(beside);
        findings.positive(self.fs_min_cwnd, "fs_min_cwnd");
        findings.positive(self.min_cwnd, "min_cwnd");
        let (low, high) = self.fs_windows();
        findings.error(low >= high, "fs_min_cwnd", format!("must be less than fs_max_cwnd, {high}"));
        let is_off = self.fs_range == Some(Duration::ZERO);
        for (option, window) in [("fs_min_cwnd", self.fs_min_cwnd), ("fs_max_cwnd", self.fs_max_cwnd)] {
            findings.error(is_off && window.is_some(), option, "has no effect: fs_range is 0 s");
        }
        let is_set = self.base_target.is_some() || self.profile != SwiftProfile::Fabric;
        let message = "has no effect: base_target is set, by itself or by the profile";
        findings.error(self.queueing.is_some() && is_set, "queueing", message);
    }

    fn profile(&self, _option: &str) -> Option<Value> {
        Some(json!(self.profile))
    }
}

impl CongestionOptions for SwiftConfig {
    type Point = NoCongestionControl;
    type Notification = NoCongestionControl;
    type Reaction = Swift;

    fn point(&self, _site: &Site<'_>) -> Self::Point {
        NoCongestionControl
    }

    fn notification(&self, _line_rate: Rate) -> Self::Notification {
        NoCongestionControl
    }

    fn reaction(&self, sender: &SenderFacts) -> Swift {
        Swift::new(self, sender)
    }

    fn needs_hops(&self) -> bool {
        true
    }

    fn check_at(&self, sender: &SenderFacts, findings: &mut Findings) {
        let parameters = self.parameters(sender);
        let [least, first, most] = [parameters.min_cwnd, parameters.initial_cwnd, parameters.max_cwnd];
        findings.ordered([("min_cwnd", least), ("max_cwnd", most)]);
        findings.ordered([("initial_cwnd", first), ("max_cwnd", most)]);
        findings.error(first < least, "initial_cwnd", format!("must be at least min_cwnd, {least}"));
        // The longest path, and the shortest that there may be: the target is a straight line between them.
        for hops in [sender.hops, sender.hops.min(2)] {
            let target = sum(parameters.base_target, times(parameters.per_hop, hops.into()));
            let base_rtt = sender.base_rtt - sender.hop_rtt * u64::from(sender.hops - hops);
            let message = format!(
                "over {hops} links the target delay is {target}, and base round-trip times are up to {base_rtt}: packets are late without any queue, and rates \
                 collapse"
            );
            findings.warning(target <= base_rtt, "base_target", message);
            if target <= base_rtt {
                break;
            }
        }
    }

    fn in_force(&self, sender: &SenderFacts) -> InForce {
        let is_derived = self.profile == SwiftProfile::Fabric && self.base_target.is_none();
        let queueing = if is_derived { json!(self.queueing.unwrap_or(QUEUEING)) } else { json!("none") };
        in_force(self.parameters(sender)).into_iter().chain([("queueing".to_owned(), queueing)]).collect()
    }
}

impl SwiftConfig {
    /// The windows between which flow scaling acts.
    fn fs_windows(&self) -> (f64, f64) {
        let most = match self.profile {
            SwiftProfile::Fabric | SwiftProfile::Htsim => 100.0,
            SwiftProfile::PyrrhaNs3 => 50.0,
        };
        (self.fs_min_cwnd.unwrap_or(0.1), self.fs_max_cwnd.unwrap_or(most))
    }

    /// The parameters that hold for `sender`: the profile's, overridden by those given.
    pub fn parameters(&self, sender: &SenderFacts) -> SwiftParameters {
        let us = Duration::from_us;
        let wire = packet_bytes(sender) as f64;
        let packets = |bytes: u64| (bytes as f64 / wire).ceil().max(1.0);
        // The target over the longest path.
        let target = sum(sender.base_rtt, self.queueing.unwrap_or(QUEUEING));
        let per_hop = self.per_hop.unwrap_or(match self.profile {
            SwiftProfile::Fabric => sender.hop_rtt,
            SwiftProfile::PyrrhaNs3 => Duration::from_ns(1500),
            SwiftProfile::Htsim => Duration::from_ns(3050),
        });
        let (fs_min_cwnd, fs_max_cwnd) = self.fs_windows();
        let fabric = SwiftParameters {
            base_target: Duration::from_ps(target.ps().saturating_sub(times(per_hop, sender.hops.into()).ps())),
            per_hop,
            fs_range: times(target, FS_TARGETS),
            fs_min_cwnd,
            fs_max_cwnd,
            ai: 1.0,
            beta: 0.8,
            max_mdf: 0.5,
            min_cwnd: 0.01,
            max_cwnd: 2.0 * packets(sender.line_rate.bytes_in(target)),
            initial_cwnd: packets(sender.bdp()),
            rtt_weight: 0.7,
        };
        let profile = match self.profile {
            SwiftProfile::Fabric => fabric,
            SwiftProfile::PyrrhaNs3 => {
                SwiftParameters { base_target: us(3), fs_range: us(50), beta: 0.5, max_cwnd: 100.0, ..fabric }
            }
            SwiftProfile::Htsim => SwiftParameters {
                base_target: us(20),
                fs_range: us(100),
                min_cwnd: 10.0 / f64::from(sender.sizes.mtu),
                max_cwnd: 1000.0,
                initial_cwnd: 12.0,
                rtt_weight: 0.875,
                ..fabric
            },
        };
        // Of the two, the one that is written moves the other.
        let max_cwnd = self.max_cwnd.unwrap_or(profile.max_cwnd.max(self.initial_cwnd.unwrap_or(0.0)));
        SwiftParameters {
            base_target: self.base_target.unwrap_or(profile.base_target),
            fs_range: self.fs_range.unwrap_or(profile.fs_range),
            ai: self.ai.unwrap_or(profile.ai),
            beta: self.beta.unwrap_or(profile.beta),
            max_mdf: self.max_mdf.unwrap_or(profile.max_mdf),
            min_cwnd: self.min_cwnd.unwrap_or(profile.min_cwnd),
            max_cwnd,
            initial_cwnd: self.initial_cwnd.unwrap_or(profile.initial_cwnd.min(max_cwnd)),
            rtt_weight: self.rtt_weight.unwrap_or(profile.rtt_weight),
            ..profile
        }
    }
}

/// What a full packet takes on the wire.
fn packet_bytes(sender: &SenderFacts) -> u64 {
    sender.sizes.framing.data(sender.sizes.mtu, false, sender.sizes.telemetry).wire.into()
}

/// The reaction point of one flow.
#[derive(Debug)]
pub struct Swift {
    parameters: SwiftParameters,
    /// Factor and summand of flow scaling, ps: alpha / sqrt(cwnd) + beta.
    fs_alpha: f64,
    fs_beta: f64,
    line_rate: Rate,
    /// Payload bytes of a full packet.
    mtu: u64,
    /// Picoseconds that a full packet takes at one bit per second.
    packet: f64,
    /// The window, packets.
    cwnd: f64,
    /// The smoothed round-trip time, ps: the network's base one until the first ACK.
    rtt: f64,
    has_rtt: bool,
    last_decrease: Option<Time>,
    /// Retransmission timeouts in a row.
    timeouts: u32,
    /// Payload bytes that have been acknowledged.
    acked_bytes: u64,
}

impl Swift {
    pub(super) fn new(config: &SwiftConfig, sender: &SenderFacts) -> Swift {
        let parameters = config.parameters(sender);
        // Square roots are exact to the last bit everywhere (IEEE 754).
        let [low, high] = [parameters.fs_min_cwnd, parameters.fs_max_cwnd].map(|window| 1.0 / window.sqrt());
        let fs_alpha = parameters.fs_range.ps() as f64 / (low - high);
        Swift {
            fs_alpha,
            fs_beta: -fs_alpha * high,
            line_rate: sender.line_rate,
            mtu: sender.sizes.mtu.into(),
            packet: packet_bytes(sender) as f64 * 8e12,
            cwnd: parameters.initial_cwnd,
            rtt: sender.base_rtt.ps() as f64,
            has_rtt: false,
            last_decrease: None,
            timeouts: 0,
            acked_bytes: 0,
            parameters,
        }
    }

    /// The target delay of a packet that has passed `hops` links, ps.
    fn target(&self, hops: u8) -> f64 {
        let SwiftParameters { base_target, per_hop, fs_range, .. } = self.parameters;
        let scaling = (self.fs_alpha / self.cwnd.sqrt() + self.fs_beta).clamp(0.0, fs_range.ps() as f64);
        base_target.ps() as f64 + f64::from(hops) * per_hop.ps() as f64 + scaling
    }

    /// The window that comes to `rate`.
    fn window_at(&self, rate: Rate) -> f64 {
        rate.min(self.line_rate).bps() as f64 * self.rtt / self.packet
    }

    fn set_window(&mut self, cwnd: f64) {
        self.cwnd = cwnd.clamp(self.parameters.min_cwnd, self.parameters.max_cwnd);
    }

    /// Multiplies the window by `factor`, at most once per round trip.
    fn decrease(&mut self, now: Time, factor: f64) {
        if self.last_decrease.is_none_or(|last| now.since(last).ps() as f64 >= self.rtt) {
            self.set_window(self.cwnd * factor);
            self.last_decrease = Some(now);
        }
    }
}

impl Footprint for Swift {}

impl ReactionPoint for Swift {
    /// A window of at least a packet is clocked by ACKs. A smaller one is paced: a packet in `rtt / cwnd`.
    fn rate(&mut self, _now: Time) -> Rate {
        if self.cwnd >= 1.0 {
            return self.line_rate;
        }
        Rate::from_bps((self.cwnd * self.packet / self.rtt).round() as u64).clamp(Rate::from_bps(1), self.line_rate)
    }

    /// As many whole packets as the window has, and one at least.
    fn window(&self) -> u64 {
        self.cwnd.max(1.0) as u64 * self.mtu
    }

    fn on_ack(&mut self, ack: &AckView<'_>) {
        let SwiftParameters { ai, beta, max_mdf, rtt_weight, .. } = self.parameters;
        let delay = ack.rtt.ps() as f64;
        let weight = if self.has_rtt { rtt_weight } else { 0.0 };
        (self.rtt, self.has_rtt) = (weight * self.rtt + (1.0 - weight) * delay, true);
        self.timeouts = 0;
        let acked = ack.acked_bytes.saturating_sub(self.acked_bytes) as f64 / self.mtu as f64;
        self.acked_bytes = self.acked_bytes.max(ack.acked_bytes);
        let target = self.target(ack.hops);
        if delay < target {
            self.set_window(self.cwnd + ai * acked / self.cwnd.max(1.0));
        } else {
            self.decrease(ack.now, (1.0 - beta * (delay - target) / delay).max(1.0 - max_mdf));
        }
    }

    fn on_loss(&mut self, now: Time, loss: Loss) {
        self.timeouts = if loss == Loss::TimedOut { self.timeouts + 1 } else { 0 };
        if self.timeouts >= TIMEOUTS_TO_RESET {
            self.cwnd = self.parameters.min_cwnd;
        } else {
            self.decrease(now, 1.0 - self.parameters.max_mdf);
        }
    }

    fn lower_rate(&mut self, now: Time, rate: Rate) {
        if self.window_at(rate) < self.cwnd {
            self.set_rate(now, rate);
        }
    }

    fn set_rate(&mut self, now: Time, rate: Rate) {
        let before = self.cwnd;
        self.set_window(self.window_at(rate));
        if self.cwnd < before {
            // ACKs of packets sent before tell of delays that this has answered.
            self.last_decrease = Some(now);
        }
    }

    fn repaces(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn us(us: u64) -> Duration {
        Duration::from_us(us)
    }

    /// 100 Gb/s, 8 us over four links; packets of 952 B that take 1000 B on the wire, of which 100 are on the way in 8 us.
    fn sender() -> SenderFacts {
        SenderFacts { hops: 4, hop_rtt: us(2), ..testing::sender(Rate::from_gbps(100), us(8)) }
    }

    /// A target of 10 us, whatever the path and the window; the round-trip time is that of the last packet.
    fn fixed() -> SwiftConfig {
        let [target, none] = [us(10), Duration::ZERO].map(Some);
        let per_hop = none;
        SwiftConfig { base_target: target, per_hop, fs_range: none, rtt_weight: Some(0.0), ..Default::default() }
    }

    fn reaction_point(config: SwiftConfig, cwnd: f64) -> Swift {
        Swift { cwnd, ..Swift::new(&config, &sender()) }
    }

    /// The window after an ACK at `at_us` for `packets` more, of which the last had `delay_us`.
    fn ack(point: &mut Swift, at_us: u64, delay_us: u64, packets: u64) -> f64 {
        let acked_bytes = point.acked_bytes + packets * 952;
        let (now, rtt) = (Time::ZERO + us(at_us), us(delay_us));
        point.on_ack(&AckView {
            now,
            arrived: None,
            acked_bytes,
            sent_bytes: acked_bytes,
            rtt,
            hops: 4,
            path: None,
            telemetry: None,
        });
        point.cwnd
    }

    fn assert_near(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < 1e-9 * expected.abs(), "{actual} is not {expected}");
    }

    /// Between windows of 1/4 and 100: alpha = 19 us / (2 - 0.1) = 10 us, beta = -1 us.
    #[test]
    fn the_target_grows_with_links_and_with_a_smaller_window() {
        let config = SwiftConfig {
            base_target: Some(us(5)),
            per_hop: Some(us(2)),
            fs_range: Some(us(19)),
            fs_min_cwnd: Some(0.25),
            ..Default::default()
        };
        for (hops, cwnd, target) in [
            (0, 100.0, 5.0),
            (2, 100.0, 9.0),
            (6, 100.0, 17.0),
            (0, 25.0, 6.0),
            (0, 4.0, 9.0),
            (4, 1.0, 22.0),
            (0, 0.25, 24.0),
            // No less and no more than that.
            (0, 400.0, 5.0),
            (0, 0.01, 24.0),
        ] {
            assert_near(reaction_point(config.clone(), cwnd).target(hops) / 1e6, target);
        }
    }

    /// Below the target a packet more per window acknowledged; beyond it 1 - 0.8 (delay - target) / delay, and half at least.
    #[test]
    fn a_window_grows_below_the_target_and_shrinks_beyond_it() {
        let mut point = reaction_point(fixed(), 10.0);
        assert_near(ack(&mut point, 10, 9, 1), 10.1);
        assert_near(ack(&mut point, 11, 9, 2), 10.1 + 2.0 / 10.1);
        point.cwnd = 10.0;
        assert_near(ack(&mut point, 50, 16, 1), 7.0);
        assert_near(ack(&mut point, 100, 100, 1), 7.0);
        assert_near(ack(&mut point, 200, 100, 1), 3.5);
        // At the target neither.
        assert_near(ack(&mut point, 300, 10, 1), 3.5);
    }

    /// What comes within a round-trip time of a decrease tells of what has been answered.
    #[test]
    fn a_window_is_decreased_once_per_round_trip() {
        let mut point = reaction_point(fixed(), 16.0);
        assert_near(ack(&mut point, 50, 20, 1), 9.6);
        assert_near(ack(&mut point, 69, 20, 1), 9.6);
        assert_near(ack(&mut point, 70, 20, 1), 5.76);
        // Below the target it grows meanwhile.
        assert_near(ack(&mut point, 71, 9, 1), 5.76 + 1.0 / 5.76);
        point.cwnd = 10.0;
        point.on_loss(Time::ZERO + us(78), Loss::Answered);
        assert_near(point.cwnd, 10.0);
        // The round-trip time is 9 us now.
        point.on_loss(Time::ZERO + us(79), Loss::Answered);
        assert_near(point.cwnd, 5.0);
        assert_near(ack(&mut point, 80, 20, 1), 5.0);
    }

    /// A packet of 1000 B in rtt / cwnd: half a packet in 8 us before the first ACK, in 20 us behind it.
    #[test]
    fn below_a_packet_the_window_is_paced_and_grows_by_whole_packets() {
        let config = SwiftConfig { ai: Some(0.25), ..fixed() };
        let mut point = reaction_point(config, 0.5);
        assert_eq!((point.rate(Time::ZERO), point.window()), (Rate::from_bps(500_000_000), 952));
        assert_near(ack(&mut point, 50, 20, 1), 0.3);
        assert_eq!((point.rate(Time::ZERO), point.window()), (Rate::from_bps(120_000_000), 952));
        assert_near(ack(&mut point, 51, 8, 2), 0.8);
        assert_eq!(point.rate(Time::ZERO), Rate::from_bps(800_000_000));
        // From one on by ACKs.
        assert_near(ack(&mut point, 52, 8, 1), 1.05);
        assert_eq!((point.rate(Time::ZERO), point.window()), (Rate::from_gbps(100), 952));
        point.cwnd = 2.99;
        assert_eq!(point.window(), 2 * 952);
    }

    /// Half a packet in 20 ns would be 200 Gb/s, and half a packet in 100 ns is 40 Gb/s.
    #[test]
    fn a_small_window_is_paced_no_faster_than_the_line() {
        for (rtt_ns, gbps) in [(20, 100), (100, 40)] {
            let mut point = reaction_point(fixed(), 0.5);
            point.rtt = rtt_ns as f64 * 1000.0;
            assert_eq!(point.rate(Time::ZERO), Rate::from_gbps(gbps));
        }
    }

    /// ACKs of 10, 5 and 12 packets in all, the second of which is late: 10 packets, none and 2.
    #[test]
    fn an_ack_that_is_late_acknowledges_nothing_and_takes_nothing_back() {
        let mut point = reaction_point(fixed(), 100.0);
        let mut ack = |at_us, packets: u64| {
            point.on_ack(&AckView {
                now: Time::ZERO + us(at_us),
                arrived: None,
                acked_bytes: packets * 952,
                sent_bytes: 100 * 952,
                rtt: us(9),
                hops: 4,
                path: None,
                telemetry: None,
            });
            point.cwnd
        };
        assert_near(ack(10, 10), 100.1);
        assert_near(ack(11, 5), 100.1);
        assert_near(ack(12, 12), 100.1 + 2.0 / 100.1);
    }

    /// The first round-trip time, 2 us, and then three quarters of the past: 2 and 10 us give 4, 4 and 10 us 5.5, and those and 10 us 6.625.
    #[test]
    fn pacing_goes_by_the_smoothed_round_trip_time() {
        let mut point = reaction_point(SwiftConfig { rtt_weight: Some(0.75), ai: Some(0.0), ..fixed() }, 0.5);
        ack(&mut point, 10, 2, 1);
        assert_eq!(point.rate(Time::ZERO), Rate::from_bps(2_000_000_000));
        point.last_decrease = Some(Time::ZERO + us(20));
        ack(&mut point, 20, 10, 1);
        assert_eq!(point.rate(Time::ZERO), Rate::from_bps(1_000_000_000));
        // And so does the time between two decreases.
        ack(&mut point, 24, 10, 1);
        assert_eq!(point.last_decrease, Some(Time::ZERO + us(20)));
        ack(&mut point, 27, 10, 1);
        assert_eq!(point.last_decrease, Some(Time::ZERO + us(27)));
    }

    #[test]
    fn windows_end_at_the_smallest_and_the_largest() {
        let mut point = reaction_point(fixed(), 400.0);
        assert_eq!(ack(&mut point, 0, 1, 1000), 400.0);
        (1..40).for_each(|round| _ = ack(&mut point, round * 1000, 1000, 1));
        assert_eq!(point.cwnd, 0.01);
    }

    /// A timeout is a loss like another, once per round trip; the fifth without an ACK between leaves the smallest window. What the receiver asks for
    /// ends a row.
    #[test]
    fn five_timeouts_in_a_row_leave_the_smallest_window() {
        let mut point = reaction_point(fixed(), 64.0);
        ack(&mut point, 0, 9, 0);
        let mut lose = |at_us: u64, loss| {
            point.on_loss(Time::ZERO + us(at_us), loss);
            point.cwnd
        };
        assert_eq!([1000, 2000, 3000].map(|at| lose(at, Loss::TimedOut)), [32.0, 16.0, 8.0]);
        assert_eq!(lose(4000, Loss::Answered), 4.0);
        assert_eq!([5000, 6000].map(|at| lose(at, Loss::TimedOut)), [2.0, 1.0]);
        ack(&mut point, 7000, 10, 0);
        point.cwnd = 64.0;
        let mut lose = |at_us: u64| {
            point.on_loss(Time::ZERO + us(at_us), Loss::TimedOut);
            point.cwnd
        };
        assert_eq!([8000, 8001, 9000, 9001, 9002].map(&mut lose), [32.0, 32.0, 16.0, 16.0, 0.01]);
        assert_eq!(lose(10_000), 0.01);
    }

    /// 8 us at 25 Gb/s are 25 packets, and at 50 Mb/s a twentieth of one. A window that shrinks is not decreased again within the round trip.
    #[test]
    fn a_window_follows_a_rate_that_is_set() {
        let mut point = reaction_point(fixed(), 100.0);
        point.set_rate(Time::ZERO + us(50), Rate::from_gbps(25));
        assert_eq!((point.cwnd, point.window()), (25.0, 25 * 952));
        assert_near(ack(&mut point, 57, 9, 1), 25.04);
        assert_near(ack(&mut point, 58, 20, 1), 25.04);
        assert_near(ack(&mut point, 70, 20, 1), 15.024);
        // By the round-trip time of 20 us: 31.25 packets, and an eighth of one.
        point.set_rate(Time::ZERO + us(71), Rate::from_bps(12_500_000_000));
        assert_near(point.cwnd, 31.25);
        assert_near(ack(&mut point, 90, 20, 1), 18.75);
        point.set_rate(Time::ZERO + us(91), Rate::from_bps(50_000_000));
        assert_eq!((point.rate(Time::ZERO), point.cwnd), (Rate::from_bps(50_000_000), 0.125));
        // Line rate, and the smallest window.
        point.set_rate(Time::ZERO + us(92), Rate::from_gbps(200));
        assert_eq!(point.cwnd, 250.0);
        point.set_rate(Time::ZERO + us(93), Rate::from_bps(1));
        assert_eq!(point.cwnd, 0.01);
    }

    /// Nanoseconds of base target, per hop and fs_range; windows of flow scaling, beta, max_mdf, and windows; weight.
    #[test]
    fn profiles_have_the_parameters_of_their_sources() {
        type Row = ([u64; 3], [f64; 2], [f64; 3], [f64; 3], f64);
        let table: [(SwiftProfile, Row); 3] = [
            // 8 us and 8 us over four links of 2 us; 16 us are 200 packets.
            (SwiftProfile::Fabric, ([8000, 2000, 80_000], [0.1, 100.0], [1.0, 0.8, 0.5], [0.01, 100.0, 400.0], 0.7)),
            (SwiftProfile::PyrrhaNs3, ([3000, 1500, 50_000], [0.1, 50.0], [1.0, 0.5, 0.5], [0.01, 100.0, 100.0], 0.7)),
            (
                SwiftProfile::Htsim,
                ([20_000, 3050, 100_000], [0.1, 100.0], [1.0, 0.8, 0.5], [10.0 / 952.0, 12.0, 1000.0], 0.875),
            ),
        ];
        for (profile, row) in table {
            let p = SwiftConfig { profile, ..Default::default() }.parameters(&sender());
            let ns = [p.base_target, p.per_hop, p.fs_range].map(|span| span.ps() / 1000);
            let windows = [p.min_cwnd, p.initial_cwnd, p.max_cwnd];
            let actual: Row = (ns, [p.fs_min_cwnd, p.fs_max_cwnd], [p.ai, p.beta, p.max_mdf], windows, p.rtt_weight);
            assert_eq!(actual, row, "{profile:?}");
        }
    }

    #[test]
    fn single_parameters_override_the_profile_and_what_follows_from_them() {
        let config = |config: SwiftConfig| config.parameters(&sender());
        let default = config(SwiftConfig::default());
        // 8 us and 4 us, less four links of 1 us; 12 us are 150 packets.
        let queueing = config(SwiftConfig { queueing: Some(us(4)), per_hop: Some(us(1)), ..Default::default() });
        let expected =
            SwiftParameters { base_target: us(8), per_hop: us(1), fs_range: us(60), max_cwnd: 300.0, ..default };
        assert_eq!(queueing, expected);
        // More than the whole target for links: nothing is left.
        assert_eq!(config(SwiftConfig { per_hop: Some(us(5)), ..Default::default() }).base_target, Duration::ZERO);
        let small = config(SwiftConfig { max_cwnd: Some(10.0), ..Default::default() });
        assert_eq!((small.initial_cwnd, small.max_cwnd), (10.0, 10.0));
        let large = config(SwiftConfig { initial_cwnd: Some(500.0), ..Default::default() });
        assert_eq!((large.initial_cwnd, large.max_cwnd), (500.0, 500.0));
    }

    /// What is said about the target.
    fn late(config: &SwiftConfig, sender: &SenderFacts) -> Vec<String> {
        let mut findings = Findings::default();
        config.check_at(sender, &mut findings);
        findings.into_vec().into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_target_that_is_not_above_the_base_round_trip_time_is_told() {
        let message = |hops: u8, target: u64, base: u64| {
            format!(
                "over {hops} links the target delay is {target} us, and base round-trip times are up to {base} us: packets are late without any queue, and \
                 rates collapse"
            )
        };
        let config = |base: u64, per_hop: u64| SwiftConfig {
            base_target: Some(us(base)),
            per_hop: Some(us(per_hop)),
            ..Default::default()
        };
        assert_eq!(late(&SwiftConfig::default(), &sender()), [""; 0]);
        assert_eq!(late(&config(1, 2), &sender()), [""; 0]);
        assert_eq!(late(&config(0, 2), &sender()), [message(4, 8, 8)]);
        assert_eq!(late(&config(4, 1), &sender()), [message(4, 8, 8)]);
        // Long links at the hosts, short ones between switches: 7 us over two links, and 8 over four.
        let edge = SenderFacts { hop_rtt: Duration::from_ns(500), ..sender() };
        assert_eq!(late(&config(1, 2), &edge), [message(2, 5, 7)]);
        assert_eq!(late(&SwiftConfig::default(), &edge), [""; 0]);
    }
}
