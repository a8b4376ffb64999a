//! DCQCN (Zhu et al., SIGCOMM 2015): switches mark, receivers send CNPs, senders cut and recover their rate.
//!
//! Two variants of the reaction point exist in the field. The paper's cuts on every CNP and recovers by a timer and a byte counter. The one of
//! ConnectX firmware and of the ns-3 simulators looks at fixed intervals whether a CNP came, and has no byte counter unless one is set. Both
//! are the same machine here: a `decrease_interval` of zero cuts at once.
//!
//! Nothing needs an event: clocks are caught up when a CNP arrives or a packet is paced, which is when their effect can be seen.

use super::ecn::{EcnConfig, EcnMarker};
use super::window::window_at;
use crate::contract::{
    AckView, Beside, CongestionOptions, Findings, Footprint, InForce, Notification, NotificationPoint, Options,
    ReactionPoint, SenderFacts, Site, in_force,
};
use backwater_engine::{Bytes, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Where a column of parameters comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DcqcnProfile {
    /// The SIGCOMM 2015 paper: byte counter and timer, 50 us CNPs.
    Paper,
    /// The original authors' ns-3 code.
    AuthorsNs3,
    /// The HPCC simulator's run script ("dcqcn"), scaled with the link rate.
    #[default]
    HpccNs3,
    /// The HPCC simulator's run script ("dcqcn_paper").
    HpccNs3Paper,
    /// The configuration file shipped with the HPCC, PowerTCP and Pyrrha simulators.
    ConfigTxt,
    /// The ConWeave simulator.
    Conweave,
    /// ConnectX firmware defaults.
    Firmware,
}

/// How a receiver tells the sender of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CnpMode {
    /// A bit in the ACK of the marked packet (the HPCC family of simulators).
    AckBit,
    /// A CNP frame of its own, at most one per flow and `cnp_interval`.
    Frame,
}

/// Fewest bytes per step of the byte counter, which costs as much as a tick of a clock: some steps per packet.
const SMALLEST_STEP: Bytes = Bytes(100);

/// DCQCN: ECN marks, CNPs, rate control at the sender (SIGCOMM 2015).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DcqcnConfig {
    /// The column of parameters to start from.
    pub profile: DcqcnProfile,
    /// ECN marking at the switches.
    pub ecn: EcnConfig,
    /// Period of the update of alpha, at least 100 ns.
    pub alpha_interval: Option<Duration>,
    /// Shortest time between two rate decreases, at least 100 ns; "0 s": every CNP decreases at once.
    pub decrease_interval: Option<Duration>,
    /// Period of the rate increase timer, at least 100 ns.
    pub increase_interval: Option<Duration>,
    /// Bytes sent per step of the byte counter, at least 100 B; "0 B" switches it off.
    pub byte_counter: Option<Bytes>,
    /// Gain g of alpha's moving average.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub gain: Option<f64>,
    /// Steps of fast recovery F before additive increase.
    pub fast_recovery_steps: Option<u32>,
    /// Additive increase of the target rate.
    pub additive_increase: Option<Rate>,
    /// Hyper increase of the target rate.
    pub hyper_increase: Option<Rate>,
    /// Lowest rate.
    pub min_rate: Option<Rate>,
    /// Whether every decrease lowers the target rate, even without an increase since the last.
    pub clamp_target: Option<bool>,
    /// How the receiver notifies.
    pub cnp: Option<CnpMode>,
    /// Shortest time between two CNP frames of a flow.
    pub cnp_interval: Option<Duration>,
    /// Whether bytes in flight are limited to rate x base RTT (off in the paper and the HPCC scripts, on in Pyrrha's). Needs `host.ack_every = 1`.
    pub window: bool,
}

/// The parameters that a profile and its overrides come to on one link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DcqcnParameters {
    /// Period of the update of alpha.
    pub alpha_interval: Duration,
    /// Period at which arrived CNPs are acted upon; zero: each at once.
    pub decrease_interval: Duration,
    /// Period of the rate increase timer.
    pub increase_interval: Duration,
    /// Bytes per step of the byte counter; zero: no byte counter.
    pub byte_counter: Bytes,
    /// Gain g of alpha's moving average.
    pub gain: f64,
    /// Alpha before the first CNP (the firmware's variants set it to 1 when that comes).
    pub initial_alpha: f64,
    /// Steps of fast recovery.
    pub fast_recovery_steps: u32,
    /// Additive increase of the target rate.
    pub additive_increase: Rate,
    /// Hyper increase of the target rate.
    pub hyper_increase: Rate,
    /// Lowest rate.
    pub min_rate: Rate,
    /// Whether every decrease lowers the target rate.
    pub clamp_target: bool,
    /// How the receiver notifies.
    pub cnp: CnpMode,
    /// Shortest time between two CNP frames of a flow.
    pub cnp_interval: Duration,
}

impl DcqcnProfile {
    /// The column of parameters for a link of `line_rate`.
    pub fn parameters(self, line_rate: Rate) -> DcqcnParameters {
        let us = Duration::from_us;
        let mbps = |rate: u64| Rate::from_bps(rate * 1_000_000);
        // Mb/s per Gb/s of the link, in tenths.
        let scaled = |tenths: u64| Rate::from_bps(line_rate.bps() / 10_000 * tenths);
        let authors = DcqcnParameters {
            alpha_interval: us(55),
            decrease_interval: Duration::ZERO,
            increase_interval: us(60),
            byte_counter: Bytes(300_000),
            gain: 1.0 / 256.0,
            initial_alpha: 0.5,
            fast_recovery_steps: 5,
            additive_increase: mbps(40),
            hyper_increase: mbps(200),
            min_rate: mbps(100),
            clamp_target: true,
            cnp: CnpMode::Frame,
            cnp_interval: us(50),
        };
        let hpcc = DcqcnParameters {
            alpha_interval: us(1),
            decrease_interval: us(4),
            increase_interval: us(300),
            byte_counter: Bytes(0),
            initial_alpha: 1.0,
            fast_recovery_steps: 1,
            additive_increase: scaled(2),
            hyper_increase: scaled(20),
            min_rate: mbps(1000),
            clamp_target: false,
            cnp: CnpMode::AckBit,
            ..authors
        };
        match self {
            DcqcnProfile::AuthorsNs3 => authors,
            DcqcnProfile::Paper => DcqcnParameters {
                increase_interval: us(55),
                byte_counter: Bytes(10_000_000),
                initial_alpha: 1.0,
                min_rate: mbps(10),
                ..authors
            },
            DcqcnProfile::HpccNs3 => hpcc,
            DcqcnProfile::HpccNs3Paper => {
                DcqcnParameters { alpha_interval: us(50), decrease_interval: us(50), increase_interval: us(55), ..hpcc }
            }
            DcqcnProfile::ConfigTxt => DcqcnParameters {
                increase_interval: us(900),
                additive_increase: mbps(50),
                hyper_increase: mbps(100),
                min_rate: mbps(100),
                ..hpcc
            },
            DcqcnProfile::Conweave => DcqcnParameters {
                additive_increase: scaled(4),
                hyper_increase: scaled(10),
                min_rate: mbps(100),
                ..hpcc
            },
            DcqcnProfile::Firmware => DcqcnParameters {
                byte_counter: Bytes(32_767),
                gain: 5.0 / 1024.0,
                additive_increase: mbps(5),
                hyper_increase: mbps(50),
                min_rate: mbps(1),
                cnp: CnpMode::Frame,
                cnp_interval: us(4),
                ..hpcc
            },
        }
    }
}

impl Options for DcqcnConfig {
    fn check(&self, beside: &Beside<'_>, findings: &mut Findings) {
        const AT_ONCE: &str = "to act on every CNP at once";
        findings.clock(self.alpha_interval, "alpha_interval", None);
        findings.clock(self.decrease_interval, "decrease_interval", Some(AT_ONCE));
        findings.clock(self.increase_interval, "increase_interval", None);
        let is_fine = self.byte_counter.is_some_and(|step| step > Bytes(0) && step < SMALLEST_STEP);
        let message = format!("must be at least {SMALLEST_STEP}, or \"0 B\" for off: every flow pays for every step");
        findings.error(is_fine, "byte_counter", message);
        findings.ordered([("ecn.kmin", self.ecn.kmin), ("ecn.kmax", self.ecn.kmax)]);
        if self.window {
            findings.one_ack_per_packet(beside);
        }
        findings.positive(self.min_rate, "min_rate");
        findings.positive(self.ecn.rate, "ecn.rate");
    }

    fn profile(&self, _option: &str) -> Option<Value> {
        Some(json!(self.profile))
    }
}

impl CongestionOptions for DcqcnConfig {
    type Point = EcnMarker;
    type Notification = CnpSender;
    type Reaction = Dcqcn;

    fn point(&self, site: &Site<'_>) -> Self::Point {
        EcnMarker::new(&self.ecn, site)
    }

    fn notification(&self, line_rate: Rate) -> Self::Notification {
        CnpSender::new(&self.parameters(line_rate))
    }

    fn reaction(&self, sender: &SenderFacts) -> Dcqcn {
        Dcqcn::new(self, sender)
    }

    fn sends_cnps(&self, line_rate: Rate) -> bool {
        self.parameters(line_rate).cnp == CnpMode::Frame
    }

    fn in_force(&self, sender: &SenderFacts) -> InForce {
        let window = self.window.then(|| ("window".to_owned(), json!(Bytes(sender.bdp()))));
        in_force(self.parameters(sender.line_rate)).into_iter().chain(window).collect()
    }

    fn in_force_at_switch(&self, rate: Rate) -> InForce {
        let (kmin, kmax) = self.ecn.thresholds(rate);
        [("ecn.kmin".to_owned(), json!(kmin)), ("ecn.kmax".to_owned(), json!(kmax))].into_iter().collect()
    }
}

impl DcqcnConfig {
    /// The parameters that hold on a link of `line_rate`: the profile's, overridden by those given; the lowest rate
    /// is no higher than the link's.
    pub fn parameters(&self, line_rate: Rate) -> DcqcnParameters {
        let profile = self.profile.parameters(line_rate);
        DcqcnParameters {
            alpha_interval: self.alpha_interval.unwrap_or(profile.alpha_interval),
            decrease_interval: self.decrease_interval.unwrap_or(profile.decrease_interval),
            increase_interval: self.increase_interval.unwrap_or(profile.increase_interval),
            byte_counter: self.byte_counter.unwrap_or(profile.byte_counter),
            gain: self.gain.unwrap_or(profile.gain),
            initial_alpha: profile.initial_alpha,
            fast_recovery_steps: self.fast_recovery_steps.unwrap_or(profile.fast_recovery_steps),
            additive_increase: self.additive_increase.unwrap_or(profile.additive_increase),
            hyper_increase: self.hyper_increase.unwrap_or(profile.hyper_increase),
            min_rate: self.min_rate.unwrap_or(profile.min_rate).min(line_rate),
            clamp_target: self.clamp_target.unwrap_or(profile.clamp_target),
            cnp: self.cnp.unwrap_or(profile.cnp),
            cnp_interval: self.cnp_interval.unwrap_or(profile.cnp_interval),
        }
    }
}

/// The notification point of one flow.
#[derive(Debug)]
pub struct CnpSender {
    mode: CnpMode,
    interval: Duration,
    last: Option<Time>,
}

impl CnpSender {
    pub(super) fn new(parameters: &DcqcnParameters) -> CnpSender {
        CnpSender { mode: parameters.cnp, interval: parameters.cnp_interval, last: None }
    }
}

impl Footprint for CnpSender {}

impl NotificationPoint for CnpSender {
    fn on_data(&mut self, now: Time, marked: bool, _wire_bytes: u64) -> Notification {
        match self.mode {
            CnpMode::AckBit => Notification { echo: marked, ..Default::default() },
            CnpMode::Frame if marked && self.last.is_none_or(|last| now >= last + self.interval) => {
                self.last = Some(now);
                Notification { cnp: true, ..Default::default() }
            }
            CnpMode::Frame => Notification::default(),
        }
    }
}

/// The reaction point of one flow.
#[derive(Debug)]
pub struct Dcqcn {
    parameters: DcqcnParameters,
    line_rate: Rate,
    current: Rate,
    target: Rate,
    /// Payload bytes of line rate times base RTT, if bytes in flight are limited.
    window: Option<u64>,
    limited: Option<Limited>,
}

/// What runs once the first CNP has come, or another control has set the rate.
#[derive(Debug)]
struct Limited {
    alpha: f64,
    /// Whether a CNP came since alpha's last update.
    cnp_for_alpha: bool,
    /// Whether a CNP came since the last look for a decrease.
    cnp_for_decrease: bool,
    /// Next update of alpha; [`Time::NEVER`] before the first CNP.
    next_alpha: Time,
    /// Next look for a decrease; [`Time::NEVER`] before the first CNP, and where CNPs cut at once.
    next_decrease: Time,
    next_increase: Time,
    timer_steps: u32,
    byte_steps: u32,
    bytes: u64,
}

impl Dcqcn {
    pub(super) fn new(config: &DcqcnConfig, sender: &SenderFacts) -> Dcqcn {
        Dcqcn {
            parameters: config.parameters(sender.line_rate),
            line_rate: sender.line_rate,
            current: sender.line_rate,
            target: sender.line_rate,
            window: config.window.then(|| sender.bdp()),
            limited: None,
        }
    }

    /// Lets the clocks run up to and including `now`, in the order of their ticks: alpha, decrease, increase.
    fn catch_up(&mut self, now: Time) {
        while let Some(limited) = &mut self.limited {
            let next = limited.next_decrease.min(limited.next_increase);
            let until = next.min(now);
            // A CNP that arrives exactly at a tick of alpha counts for the period that ends with it.
            while limited.next_alpha < until {
                limited.update_alpha(&self.parameters);
            }
            if next > now {
                return;
            }
            if limited.next_decrease == next {
                limited.next_decrease += self.parameters.decrease_interval;
                if limited.cnp_for_decrease {
                    limited.cnp_for_decrease = false;
                    limited.decrease(&self.parameters, &mut self.current, &mut self.target, next);
                }
            } else {
                limited.next_increase += self.parameters.increase_interval;
                self.increase(Clock::Timer);
            }
        }
    }

    /// One step of recovery, as a clock ticks: fast recovery, then additive, then hyper increase (section 5.1, Figure 7).
    fn increase(&mut self, clock: Clock) {
        let Some(limited) = &mut self.limited else { return };
        let parameters = &self.parameters;
        let (timer, bytes) = (limited.timer_steps, limited.byte_steps);
        let (first, last) =
            if parameters.byte_counter.get() == 0 { (timer, timer) } else { (timer.max(bytes), timer.min(bytes)) };
        let gain = if first < parameters.fast_recovery_steps {
            0
        } else if last > parameters.fast_recovery_steps {
            parameters.hyper_increase.bps()
        } else {
            parameters.additive_increase.bps()
        };
        match clock {
            Clock::Timer => limited.timer_steps += 1,
            Clock::Bytes => limited.byte_steps += 1,
        }
        self.target = Rate::from_bps(self.target.bps() + gain).min(self.line_rate);
        self.current = Rate::from_bps(self.current.bps() / 2 + self.target.bps() / 2);
    }
}

/// What makes a flow recover.
#[derive(Clone, Copy, Debug)]
enum Clock {
    Timer,
    Bytes,
}

impl Limited {
    fn new(parameters: &DcqcnParameters) -> Limited {
        Limited {
            alpha: parameters.initial_alpha,
            cnp_for_alpha: false,
            cnp_for_decrease: false,
            next_alpha: Time::NEVER,
            next_decrease: Time::NEVER,
            next_increase: Time::NEVER,
            timer_steps: 0,
            byte_steps: 0,
            bytes: 0,
        }
    }

    /// The first CNP comes, at `now`.
    fn start(&mut self, parameters: &DcqcnParameters, now: Time) {
        self.next_alpha = now + parameters.alpha_interval;
        if parameters.decrease_interval > Duration::ZERO {
            // The decrease clock runs one nanosecond behind alpha's, so that a cut sees the newer alpha.
            self.next_decrease = now + parameters.decrease_interval + Duration::from_ns(1);
        }
    }

    fn update_alpha(&mut self, parameters: &DcqcnParameters) {
        self.alpha *= 1.0 - parameters.gain;
        if self.cnp_for_alpha {
            self.alpha += parameters.gain;
            self.cnp_for_alpha = false;
        }
        self.next_alpha += parameters.alpha_interval;
    }

    fn decrease(&mut self, parameters: &DcqcnParameters, current: &mut Rate, target: &mut Rate, now: Time) {
        self.remember(parameters, *current, target);
        *current = Rate::from_bps((current.bps() as f64 * (1.0 - self.alpha / 2.0)) as u64).max(parameters.min_rate);
        self.recover_from(now, parameters);
    }

    /// The rate to which a flow recovers that is cut now.
    fn remember(&self, parameters: &DcqcnParameters, current: Rate, target: &mut Rate) {
        if parameters.clamp_target || self.timer_steps + self.byte_steps > 0 {
            *target = current;
        }
    }

    /// Recovery begins anew.
    fn recover_from(&mut self, now: Time, parameters: &DcqcnParameters) {
        self.timer_steps = 0;
        self.byte_steps = 0;
        self.bytes = 0;
        self.next_increase = now + parameters.increase_interval;
    }
}

impl Footprint for Dcqcn {}

impl ReactionPoint for Dcqcn {
    fn rate(&mut self, now: Time) -> Rate {
        self.catch_up(now);
        self.current
    }

    fn window(&self) -> u64 {
        self.window.map_or(u64::MAX, |window| window_at(self.current, self.line_rate, window))
    }

    fn on_sent(&mut self, now: Time, wire_bytes: u64) {
        let counter = self.parameters.byte_counter.get();
        if counter == 0 {
            return;
        }
        self.catch_up(now);
        let Some(limited) = &mut self.limited else { return };
        limited.bytes += wire_bytes;
        let steps = limited.bytes / counter;
        limited.bytes %= counter;
        for _ in 0..steps {
            self.increase(Clock::Bytes);
        }
    }

    fn on_ack(&mut self, ack: &AckView<'_>) {
        self.catch_up(ack.now);
    }

    fn on_cnp(&mut self, now: Time, _rate: Option<Rate>) {
        self.catch_up(now);
        let parameters = &self.parameters;
        let limited = self.limited.get_or_insert_with(|| Limited::new(parameters));
        let is_first = limited.next_alpha == Time::NEVER;
        if is_first {
            limited.start(parameters, now);
        }
        if parameters.decrease_interval == Duration::ZERO {
            limited.decrease(parameters, &mut self.current, &mut self.target, now);
            limited.cnp_for_alpha = true;
            limited.next_alpha = now;
            limited.update_alpha(parameters);
        } else {
            limited.cnp_for_alpha = !is_first;
            limited.cnp_for_decrease = true;
        }
    }

    fn set_rate(&mut self, now: Time, rate: Rate) {
        self.catch_up(now);
        let parameters = &self.parameters;
        self.current = rate.clamp(parameters.min_rate, self.line_rate);
        self.target = self.current;
        let limited = self.limited.get_or_insert_with(|| Limited::new(parameters));
        // What has been reported before has been answered by that.
        limited.cnp_for_decrease = false;
        limited.recover_from(now, parameters);
    }

    fn cut_rate(&mut self, now: Time, rate: Rate) {
        let current = self.rate(now);
        if rate < current {
            let mut target = self.target;
            self.limited.iter().for_each(|limited| limited.remember(&self.parameters, current, &mut target));
            self.set_rate(now, rate);
            self.target = target;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sender;

    const MBPS: u64 = 1_000_000;
    const GBPS: u64 = 1_000 * MBPS;

    fn at(us: u64, ns: u64) -> Time {
        Time::ZERO + Duration::from_us(us) + Duration::from_ns(ns)
    }

    fn reaction_point(profile: DcqcnProfile, gbps: u64) -> Dcqcn {
        let sender = sender(Rate::from_gbps(gbps), Duration::from_us(8));
        Dcqcn::new(&DcqcnConfig { profile, ..Default::default() }, &sender)
    }

    fn rates(point: &mut Dcqcn, now: Time) -> (u64, u64) {
        (point.rate(now).bps(), point.target.bps())
    }

    /// One CNP: alpha is 1 and decays in four ticks to (255/256)^4, then the cut comes, a nanosecond behind the fourth tick.
    #[test]
    fn the_first_cnp_cuts_after_the_decrease_interval() {
        let mut point = reaction_point(DcqcnProfile::HpccNs3, 100);
        point.on_cnp(at(10, 0), None);
        assert_eq!(rates(&mut point, at(14, 0)), (100 * GBPS, 100 * GBPS));
        assert_eq!(rates(&mut point, at(14, 1)), (50_776_684_272, 100 * GBPS));
        // No CNP since: no cut at 18.001 us.
        assert_eq!(rates(&mut point, at(309, 0)), (50_776_684_272, 100 * GBPS));
    }

    /// A CNP in every slot keeps alpha at 1: every cut halves, every four microseconds, down to the lowest rate.
    #[test]
    fn steady_cnps_halve_the_rate_every_decrease_interval() {
        for (profile, lowest) in [(DcqcnProfile::HpccNs3, 1000 * MBPS), (DcqcnProfile::Conweave, 100 * MBPS)] {
            let mut point = reaction_point(profile, 100);
            point.on_cnp(at(0, 0), None);
            let mut expected = 100 * GBPS;
            for us in 0..44 {
                point.on_cnp(at(us, 500), None);
                if us % 4 == 0 && us > 0 {
                    expected = (expected / 2).max(lowest);
                    assert_eq!(rates(&mut point, at(us, 500)), (expected, 100 * GBPS), "{us} us");
                }
            }
            assert_eq!(expected, lowest);
        }
    }

    /// A link slower than the lowest rate of the profile: a cut must not make a flow faster than its link.
    #[test]
    fn the_lowest_rate_is_no_higher_than_the_links() {
        let line_rate = Rate::from_bps(500 * MBPS);
        let sender = sender(line_rate, Duration::from_us(8));
        let mut point = Dcqcn::new(&DcqcnConfig { window: true, ..Default::default() }, &sender);
        for us in 0..5 {
            point.on_cnp(at(us, 0), None);
        }
        assert_eq!((point.rate(at(10, 0)), point.window()), (line_rate, 500));
    }

    #[test]
    fn alpha_decays_once_per_tick_and_grows_with_a_cnp() {
        let mut point = reaction_point(DcqcnProfile::HpccNs3, 100);
        point.on_cnp(at(0, 0), None);
        let mut alpha = 1.0;
        for tick in 1..=20u64 {
            // A CNP in the slots of ticks 6 and 7 only.
            if tick == 6 || tick == 7 {
                point.on_cnp(at(tick - 1, 300), None);
            }
            // A CNP exactly at the tick would still count for it.
            point.rate(at(tick, 1));
            alpha *= 255.0 / 256.0;
            if tick == 6 || tick == 7 {
                alpha += 1.0 / 256.0;
            }
            assert_eq!(point.limited.as_ref().map(|limited| limited.alpha), Some(alpha), "tick {tick}");
        }
    }

    /// F = 1: one step of fast recovery, one of additive increase, then hyper increase; each halves the distance to the target.
    #[test]
    fn the_timer_recovers_in_three_stages() {
        let mut point = reaction_point(DcqcnProfile::HpccNs3, 100);
        for ns in [0, 500, 1500, 2500, 3500] {
            point.on_cnp(at(0, ns), None);
        }
        assert_eq!(rates(&mut point, at(4, 1)), (50 * GBPS, 100 * GBPS));
        // The increase timer starts with the cut at 4.001 us.
        assert_eq!(rates(&mut point, at(304, 0)), (50 * GBPS, 100 * GBPS));
        assert_eq!(rates(&mut point, at(304, 1)), (75 * GBPS, 100 * GBPS));
        // A cut after an increase lowers the target too; alpha has all but vanished, so lend it one.
        point.limited.as_mut().unwrap().alpha = 1.0;
        point.limited.as_mut().unwrap().next_alpha = at(1_000_000, 0);
        point.on_cnp(at(305, 0), None);
        assert_eq!(rates(&mut point, at(308, 1)), (37_500 * MBPS, 75 * GBPS));
        assert_eq!(rates(&mut point, at(608, 1)), (56_250 * MBPS, 75 * GBPS));
        // 20 Mb/s additive, then 200 Mb/s hyper.
        assert_eq!(rates(&mut point, at(908, 1)), (65_635 * MBPS, 75_020 * MBPS));
        assert_eq!(rates(&mut point, at(1208, 1)), (70_427_500_000, 75_220 * MBPS));
        assert_eq!(rates(&mut point, at(1508, 1)), (72_923_750_000, 75_420 * MBPS));
    }

    /// The paper's machine at 40 Gb/s: every CNP cuts at once, and a timer of 55 us and a counter of 10 MB recover, F = 5.
    #[test]
    fn the_papers_timer_and_byte_counter_take_turns() {
        let mut point = reaction_point(DcqcnProfile::Paper, 40);
        point.on_cnp(at(0, 0), None);
        assert_eq!(rates(&mut point, at(0, 0)), (20 * GBPS, 40 * GBPS));
        point.on_cnp(at(50, 0), None);
        assert_eq!(rates(&mut point, at(50, 0)), (10 * GBPS, 20 * GBPS));
        // Five steps of fast recovery by bytes, not one byte sooner.
        point.on_sent(at(51, 0), 9_999_999);
        assert_eq!(rates(&mut point, at(51, 0)), (10 * GBPS, 20 * GBPS));
        point.on_sent(at(51, 0), 1);
        assert_eq!(rates(&mut point, at(51, 0)), (15 * GBPS, 20 * GBPS));
        point.on_sent(at(51, 0), 40_000_000);
        assert_eq!(rates(&mut point, at(51, 0)), (19_687_500_000, 20 * GBPS));
        // The sixth is additive: 40 Mb/s. So are six ticks of the timer, from 50 + 55 us on.
        point.on_sent(at(51, 0), 10_000_000);
        assert_eq!(rates(&mut point, at(51, 0)), (19_863_750_000, 20_040 * MBPS));
        assert_eq!(rates(&mut point, at(105, 0)), (19_971_875_000, 20_080 * MBPS));
        assert_eq!(rates(&mut point, at(380, 0)), (20_237_871_093, 20_280 * MBPS));
        // Both have passed F: 200 Mb/s.
        assert_eq!(rates(&mut point, at(435, 0)), (20_358_935_546, 20_480 * MBPS));
        // A CNP starts everything anew.
        point.on_cnp(at(440, 0), None);
        let limited = point.limited.as_ref().unwrap();
        assert_eq!((limited.timer_steps, limited.byte_steps, limited.bytes), (0, 0, 0));
        assert_eq!((limited.next_increase, limited.next_alpha), (at(495, 0), at(495, 0)));
    }

    /// The paper's machine at 40 Gb/s: 55 us and 10 MB count from the last cut.
    #[test]
    fn a_cut_begins_the_timer_and_the_byte_counter_anew() {
        let mut point = reaction_point(DcqcnProfile::Paper, 40);
        point.on_cnp(at(0, 0), None);
        point.on_sent(at(10, 0), 9_999_999);
        point.on_cnp(at(50, 0), None);
        assert_eq!(rates(&mut point, at(50, 0)), (10 * GBPS, 20 * GBPS));
        // Neither the byte that would have been the last of ten million, nor the instant 55 us after the first cut.
        point.on_sent(at(51, 0), 1);
        assert_eq!(rates(&mut point, at(104, 999)), (10 * GBPS, 20 * GBPS));
        assert_eq!(rates(&mut point, at(105, 0)), (15 * GBPS, 20 * GBPS));
        point.on_sent(at(106, 0), 9_999_999);
        assert_eq!(rates(&mut point, at(106, 0)), (17_500 * MBPS, 20 * GBPS));
    }

    /// The paper's machine at 40 Gb/s, before any CNP: from the rate that is set, five steps of fast recovery without a target above it, then 40 Mb/s.
    /// Alpha waits for the first CNP at 1, which halves.
    #[test]
    fn recovery_begins_at_a_rate_that_is_set() {
        let mut point = reaction_point(DcqcnProfile::Paper, 40);
        point.set_rate(at(10, 0), Rate::from_gbps(10));
        assert_eq!(rates(&mut point, at(10, 0)), (10 * GBPS, 10 * GBPS));
        assert_eq!(rates(&mut point, at(339, 999)), (10 * GBPS, 10 * GBPS));
        assert_eq!(rates(&mut point, at(340, 0)), (10_020 * MBPS, 10_040 * MBPS));
        point.on_cnp(at(341, 0), None);
        assert_eq!(rates(&mut point, at(341, 0)), (5_010 * MBPS, 10_020 * MBPS));
    }

    /// Neither the target of before nor the steps made towards it count any more; the tick of the timer at 304.001 us is put off to 310.
    #[test]
    fn a_rate_that_is_set_is_the_target_too() {
        let mut point = reaction_point(DcqcnProfile::HpccNs3, 100);
        for ns in [0, 500, 1500, 2500, 3500] {
            point.on_cnp(at(0, ns), None);
        }
        assert_eq!(rates(&mut point, at(4, 1)), (50 * GBPS, 100 * GBPS));
        // Nor does a CNP that has not been acted upon.
        point.on_cnp(at(9, 0), None);
        point.set_rate(at(10, 0), Rate::from_gbps(60));
        assert_eq!(rates(&mut point, at(609, 999)), (60 * GBPS, 60 * GBPS));
        assert_eq!(rates(&mut point, at(610, 0)), (60_010 * MBPS, 60_020 * MBPS));
        for (set, held) in [(1, 1000 * MBPS), (200 * GBPS, 100 * GBPS)] {
            point.set_rate(at(611, 0), Rate::from_bps(set));
            assert_eq!(rates(&mut point, at(611, 0)), (held, held));
        }
    }

    /// The paper's machine at 40 Gb/s, whose timer ticks every 55 us: recovery leads back to the rate before, that of the last step if there was one.
    #[test]
    fn a_rate_that_is_cut_recovers_as_after_a_cnp() {
        for (clamp_target, after_a_second_cut) in [(false, 25 * GBPS), (true, 20 * GBPS)] {
            let config =
                DcqcnConfig { profile: DcqcnProfile::Paper, clamp_target: Some(clamp_target), ..Default::default() };
            let mut point = Dcqcn::new(&config, &sender(Rate::from_gbps(40), Duration::from_us(8)));
            point.cut_rate(at(10, 0), Rate::from_gbps(10));
            assert_eq!(rates(&mut point, at(64, 999)), (10 * GBPS, 40 * GBPS));
            assert_eq!(rates(&mut point, at(65, 0)), (25 * GBPS, 40 * GBPS));
            point.cut_rate(at(70, 0), Rate::from_gbps(20));
            assert_eq!(rates(&mut point, at(70, 0)), (20 * GBPS, 25 * GBPS));
            // It is no faster already.
            point.cut_rate(at(71, 0), Rate::from_gbps(20));
            assert_eq!(rates(&mut point, at(71, 0)), (20 * GBPS, 25 * GBPS));
            point.cut_rate(at(72, 0), Rate::from_gbps(15));
            assert_eq!(rates(&mut point, at(72, 0)), (15 * GBPS, after_a_second_cut));
        }
    }

    /// Steps of either clock count, whether or not the rate has been asked for since; what is cut below the lowest rate is at that, and the timer begins anew.
    #[test]
    fn a_cut_reckons_with_all_that_was_before() {
        let config = DcqcnConfig { profile: DcqcnProfile::Paper, clamp_target: Some(false), ..Default::default() };
        let point = || Dcqcn::new(&config, &sender(Rate::from_gbps(40), Duration::from_us(8)));
        let mut by_bytes = point();
        by_bytes.cut_rate(at(10, 0), Rate::from_gbps(10));
        by_bytes.on_sent(at(20, 0), by_bytes.parameters.byte_counter.get());
        by_bytes.cut_rate(at(21, 0), Rate::from_gbps(20));
        assert_eq!(rates(&mut by_bytes, at(21, 0)), (20 * GBPS, 25 * GBPS));
        let mut unasked = point();
        unasked.cut_rate(at(10, 0), Rate::from_gbps(10));
        unasked.cut_rate(at(66, 0), Rate::from_gbps(20));
        assert_eq!(rates(&mut unasked, at(66, 0)), (20 * GBPS, 25 * GBPS));
        assert_eq!(rates(&mut unasked, at(120, 999)), (20 * GBPS, 25 * GBPS));
        assert_eq!(rates(&mut unasked, at(121, 0)), (22_500 * MBPS, 25 * GBPS));
        let mut lowest = point();
        lowest.cut_rate(at(10, 0), Rate::from_bps(1000));
        let min_rate = lowest.parameters.min_rate.bps();
        lowest.cut_rate(at(60, 0), Rate::from_bps(1000));
        assert_eq!(rates(&mut lowest, at(65, 0)), (min_rate, 40 * GBPS));
    }

    /// A rate that is lowered to what it is stays, and so does the timer.
    #[test]
    fn a_rate_that_is_low_enough_is_left_alone() {
        let mut point = reaction_point(DcqcnProfile::HpccNs3, 100);
        point.lower_rate(at(10, 0), Rate::from_gbps(60));
        point.lower_rate(at(200, 0), Rate::from_gbps(60));
        assert_eq!(rates(&mut point, at(309, 999)), (60 * GBPS, 60 * GBPS));
        assert_ne!(rates(&mut point, at(610, 0)).0, 60 * GBPS);
    }

    /// The first CNP behind a rate that was set finds an alpha of 1 and starts its clock: (255/256)^4 four microseconds later.
    #[test]
    fn a_rate_that_is_set_is_no_cnp() {
        let mut point = reaction_point(DcqcnProfile::HpccNs3, 100);
        point.set_rate(at(0, 0), Rate::from_gbps(50));
        point.on_cnp(at(200, 0), None);
        assert_eq!(rates(&mut point, at(204, 0)), (50 * GBPS, 50 * GBPS));
        assert_eq!(rates(&mut point, at(204, 1)), (25_388_342_136, 50 * GBPS));
    }

    /// A CNP at the tick of 3 us counts for the period that ends then: alpha is ((255/256)^3 + 1/256) 255/256 when the rate is cut.
    #[test]
    fn a_cnp_at_the_very_tick_of_alpha_counts_for_what_is_over() {
        let mut point = reaction_point(DcqcnProfile::HpccNs3, 100);
        point.on_cnp(at(0, 0), None);
        point.on_cnp(at(3, 0), None);
        assert_eq!(rates(&mut point, at(4, 1)), (50_582_134_712, 100 * GBPS));
    }

    #[test]
    fn a_window_shrinks_with_the_rate() {
        let sender = sender(Rate::from_gbps(100), Duration::from_us(8));
        let mut point = Dcqcn::new(&DcqcnConfig { window: true, ..Default::default() }, &sender);
        assert_eq!(point.window(), 100_000);
        for ns in [0, 500, 1500, 2500, 3500] {
            point.on_cnp(at(0, ns), None);
        }
        point.rate(at(4, 1));
        assert_eq!(point.window(), 50_000);
        assert_eq!(reaction_point(DcqcnProfile::HpccNs3, 100).window(), u64::MAX);
    }

    #[test]
    fn a_notification_point_paces_cnp_frames_or_echoes_every_mark() {
        let parameters = DcqcnProfile::Paper.parameters(Rate::from_gbps(40));
        let mut frames = CnpSender::new(&parameters);
        let cnp = Notification { cnp: true, ..Default::default() };
        assert_eq!(frames.on_data(at(0, 0), false, 1000), Notification::default());
        assert_eq!(frames.on_data(at(1, 0), true, 1000), cnp);
        assert_eq!(frames.on_data(at(50, 999), true, 1000), Notification::default());
        assert_eq!(frames.on_data(at(51, 0), false, 1000), Notification::default());
        assert_eq!(frames.on_data(at(52, 0), true, 1000), cnp);
        assert_eq!(frames.on_data(at(101, 999), true, 1000), Notification::default());
        assert_eq!(frames.on_data(at(102, 0), true, 1000), cnp);
        let mut echoes = CnpSender::new(&DcqcnProfile::HpccNs3.parameters(Rate::from_gbps(40)));
        assert_eq!(echoes.on_data(at(0, 0), true, 1000), Notification { echo: true, ..Default::default() });
        assert_eq!(echoes.on_data(at(0, 1), true, 1000), Notification { echo: true, ..Default::default() });
        assert_eq!(echoes.on_data(at(0, 2), false, 1000), Notification::default());
    }

    /// Every profile against its source, at 100 Gb/s: microseconds of alpha, decrease and increase; bytes; 1/g; F; Mb/s of additive, hyper and
    /// lowest rate; clamp.
    #[test]
    fn profiles_have_the_parameters_of_their_sources() {
        type Row = (u64, u64, u64, u64, f64, u32, u64, u64, u64, bool);
        let table: [(DcqcnProfile, Row); 7] = [
            (DcqcnProfile::Paper, (55, 0, 55, 10_000_000, 256.0, 5, 40, 200, 10, true)),
            (DcqcnProfile::AuthorsNs3, (55, 0, 60, 300_000, 256.0, 5, 40, 200, 100, true)),
            (DcqcnProfile::HpccNs3, (1, 4, 300, 0, 256.0, 1, 20, 200, 1000, false)),
            (DcqcnProfile::HpccNs3Paper, (50, 50, 55, 0, 256.0, 1, 20, 200, 1000, false)),
            (DcqcnProfile::ConfigTxt, (1, 4, 900, 0, 256.0, 1, 50, 100, 100, false)),
            (DcqcnProfile::Conweave, (1, 4, 300, 0, 256.0, 1, 40, 100, 100, false)),
            (DcqcnProfile::Firmware, (1, 4, 300, 32_767, 204.8, 1, 5, 50, 1, false)),
        ];
        for (profile, row) in table {
            let p = profile.parameters(Rate::from_gbps(100));
            let us = |span: Duration| span.ps() / 1_000_000;
            let mbps = |rate: Rate| rate.bps() / MBPS;
            let actual: Row = (
                us(p.alpha_interval),
                us(p.decrease_interval),
                us(p.increase_interval),
                p.byte_counter.get(),
                1.0 / p.gain,
                p.fast_recovery_steps,
                mbps(p.additive_increase),
                mbps(p.hyper_increase),
                mbps(p.min_rate),
                p.clamp_target,
            );
            assert_eq!(actual, row, "{profile:?}");
        }
        // Scaled with the link: 5 and 50 Mb/s at 25 Gb/s, 80 and 800 at 400; the lowest rate is not (HPCC's run script).
        for (gbps, additive, hyper) in [(25, 5, 50), (40, 8, 80), (400, 80, 800)] {
            let p = DcqcnProfile::HpccNs3.parameters(Rate::from_gbps(gbps));
            let rates = [p.additive_increase, p.hyper_increase, p.min_rate].map(|rate| rate.bps() / MBPS);
            assert_eq!(rates, [additive, hyper, 1000]);
        }
    }

    #[test]
    fn single_parameters_override_the_profile() {
        let config = DcqcnConfig {
            profile: DcqcnProfile::Conweave,
            increase_interval: Some(Duration::from_us(7)),
            cnp: Some(CnpMode::Frame),
            ..Default::default()
        };
        let (line, profile) = (Rate::from_gbps(100), DcqcnProfile::Conweave.parameters(Rate::from_gbps(100)));
        let expected = DcqcnParameters { increase_interval: Duration::from_us(7), cnp: CnpMode::Frame, ..profile };
        assert_eq!(config.parameters(line), expected);
    }
}
