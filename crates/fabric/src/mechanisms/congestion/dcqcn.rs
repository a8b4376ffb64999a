//! DCQCN (Zhu et al., SIGCOMM 2015): switches mark packets, receivers send CNPs, senders cut and
//! recover their rates.
//!
//! Two variants of the reaction point exist. The paper's variant cuts the rate on every CNP and
//! recovers by a timer and a byte counter. The variant of ConnectX firmware, of the HPCC simulator
//! and of its descendants checks for CNPs at fixed intervals. Of these, only firmware has a byte
//! counter by default. This module implements both: a `decrease_interval` of zero cuts at once.
//!
//! Without `repace`, no timer events are needed: a flow's clocks catch up when a CNP or ACK
//! arrives, or a packet is sent. Between these events, nothing depends on the clocks.

use super::ecn::{EcnConfig, EcnMarker, EcnOptions};
use super::parameters::parameters;
use super::window::window_at;
use crate::contract::{
    AckView, CongestionOptions, Diagnostics, EffectiveValues, Notification, NotificationPoint, Options, ReactionPoint,
    SchemeContext, SenderFacts, Site, effective_values,
};
use crate::frame::Cnp;
use backwater_engine::{Bytes, Duration, Rate, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::cmp::Ordering;

/// Source of a set of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DcqcnProfile {
    /// The SIGCOMM 2015 paper: byte counter and timer, and a CNP at most every 50 us.
    Paper,
    /// The original authors' ns-3 code.
    AuthorsNs3,
    /// The HPCC simulator's run script ("dcqcn"); rate increases scale with the link rate.
    #[default]
    HpccNs3,
    /// The HPCC simulator's run script ("dcqcn_paper"); rate increases scale with the link rate.
    HpccNs3Paper,
    /// The configuration file shipped with the HPCC, PowerTCP and Pyrrha simulators.
    ConfigTxt,
    /// The ConWeave simulator.
    Conweave,
    /// ConnectX firmware defaults.
    Firmware,
    /// `firmware`, with ECN thresholds for ports of 200 Gb/s.
    #[serde(rename = "200g")]
    At200G,
    /// `firmware`, with ECN thresholds for ports of 400 Gb/s.
    #[serde(rename = "400g")]
    At400G,
    /// `firmware`, with ECN thresholds for ports of 800 Gb/s.
    #[serde(rename = "800g")]
    At800G,
}

/// Form in which a receiver reports a mark to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, GetSize)]
#[serde(rename_all = "kebab-case")]
pub enum CnpMode {
    /// A bit in the ACK of the marked packet (the HPCC family of simulators).
    AckBit,
    /// A separate CNP frame. A flow's receiver sends at most one CNP per `cnp_interval`.
    Frame,
}

/// Minimum number of bytes per step of the byte counter. A step takes as much computing time as a
/// clock tick. This limit still allows several steps per packet.
const SMALLEST_STEP: Bytes = Bytes(100);

/// Smallest gain above zero. With this gain, alpha is negligible after some 500,000 ticks, which a
/// long gap costs. The number of ticks is in inverse proportion to the gain.
const SMALLEST_GAIN: f64 = 1e-4;

/// Alpha that is negligible in comparison with 1: 2^-54.
const NEGLIGIBLE: f64 = f64::EPSILON / 4.0;

/// Fastest port rate for which publications use the default ECN thresholds (PortFC).
const FASTEST_OF_DEFAULT: Rate = Rate::from_gbps(100);

parameters! {
    /// DCQCN: ECN marks, CNPs, rate control at the sender (SIGCOMM 2015).
    DcqcnConfig => DcqcnParameters { initial_alpha: f64 };

    /// Set of parameters that the options below override.
    profile: DcqcnProfile,
    /// ECN marking at the switches.
    ecn: EcnOptions,
    /// Update period of alpha, at least 100 ns.
    alpha_interval?: Duration,
    /// Shortest time between two rate decreases, at least 100 ns. With "0 s", every CNP decreases
    /// the rate.
    decrease_interval?: Duration,
    /// Period of the rate increase timer, at least 100 ns.
    increase_interval?: Duration,
    /// Bytes sent per step of the byte counter, at least 100 B; "0 B" switches it off.
    byte_counter?: Bytes,
    /// Gain g of alpha's moving average: 0, or at least 0.0001.
    #[schemars(range(min = 0.0, max = 1.0))]
    gain?: f64,
    /// Number F of fast recovery steps before additive increase.
    fast_recovery_steps?: u32,
    /// Additive increase of the target rate.
    additive_increase?: Rate,
    /// Hyper increase of the target rate.
    hyper_increase?: Rate,
    /// Lowest rate of a flow.
    min_rate?: Rate,
    /// True if every decrease sets the target rate to the rate before the decrease. False if a
    /// decrease keeps the target rate unless the rate has been increased since the previous
    /// decrease.
    clamp_target?: bool,
    /// Smallest percentage of the current rate that remains after a single decrease (NVIDIA's
    /// `rpg_min_dec_fac`): 100 prevents decreases. Default 50 with `firmware`, `200g`, `400g` and
    /// `800g`, and 0, no bound, with other profiles. While alpha is at most 1, only values above 50
    /// have an effect.
    #[schemars(range(min = 0, max = 100))]
    rpg_min_dec_fac?: u8,
    /// Upper bound of the current and the target rate at a flow's first CNP (NVIDIA's
    /// `rate_to_set_on_first_cnp`). Default "0 bps", off.
    rate_to_set_on_first_cnp?: Rate,
    /// True if every new rate moves the departure of the packet being paced. Default: true with
    /// `firmware`, `200g`, `400g` and `800g`, false with other profiles. The public simulators fix
    /// a packet's departure when the previous packet departs.
    repace?: bool,
    /// Form of the receiver's reports.
    cnp?: CnpMode,
    /// Shortest time between two CNP frames of a flow.
    cnp_interval?: Duration,
    /// True if bytes in flight are limited to rate x base RTT (off in the paper and the HPCC
    /// simulator's scripts, on in the Pyrrha simulator). Needs `host.ack_every = 1`.
    window: bool,
}

impl DcqcnProfile {
    /// Returns the host link rate for which the profile is made; `None` if it suits any rate.
    fn rate(self) -> Option<Rate> {
        match self {
            DcqcnProfile::At200G => Some(Rate::from_gbps(200)),
            DcqcnProfile::At400G => Some(Rate::from_gbps(400)),
            DcqcnProfile::At800G => Some(Rate::from_gbps(800)),
            _ => None,
        }
    }

    /// Returns the ECN thresholds. A profile made for a link rate has 4 KB and 16 KB per Gb/s of
    /// the port (section 5.1 of HPCC's paper). Other profiles have the thresholds of ConWeave.
    fn ecn(self) -> EcnConfig {
        let scaled = |rate: Rate| {
            let per_gbps = rate.bps() / 1_000_000_000;
            EcnConfig { kmin: Bytes(4000 * per_gbps), kmax: Bytes(16_000 * per_gbps), pmax: 0.2, rate: Some(rate) }
        };
        self.rate().map_or_else(EcnConfig::default, scaled)
    }

    /// Returns the profile's parameters for a link of `line_rate`.
    pub(super) fn parameters(self, line_rate: Rate) -> DcqcnParameters {
        let us = Duration::from_us;
        let mbps = |rate: u64| Rate::from_bps(rate * 1_000_000);
        // `tenths` is a number of tenths of Mb/s per Gb/s of the link.
        let scaled = |tenths: u64| Rate::from_bps(line_rate.bps() / 10_000 * tenths);
        let authors = DcqcnParameters {
            alpha_interval: us(55),
            decrease_interval: Duration::ZERO,
            increase_interval: us(60),
            byte_counter: Bytes(300_000),
            gain: 1.0 / 256.0,
            // In all other profiles, alpha is 1 at the first CNP.
            initial_alpha: 0.5,
            fast_recovery_steps: 5,
            additive_increase: mbps(40),
            hyper_increase: mbps(200),
            min_rate: mbps(100),
            clamp_target: true,
            rpg_min_dec_fac: 0,
            rate_to_set_on_first_cnp: Rate::from_bps(0),
            repace: false,
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
            DcqcnProfile::Firmware | DcqcnProfile::At200G | DcqcnProfile::At400G | DcqcnProfile::At800G => {
                DcqcnParameters {
                    byte_counter: Bytes(32_767),
                    gain: 5.0 / 1024.0,
                    additive_increase: mbps(5),
                    hyper_increase: mbps(50),
                    min_rate: mbps(1),
                    rpg_min_dec_fac: 50,
                    repace: true,
                    cnp: CnpMode::Frame,
                    cnp_interval: us(4),
                    ..hpcc
                }
            }
        }
    }
}

impl Options for DcqcnConfig {
    fn check(&self, scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        const AT_ONCE: &str = "to act on every CNP at once";
        diagnostics.clock(self.alpha_interval, "alpha_interval", None);
        diagnostics.clock(self.decrease_interval, "decrease_interval", Some(AT_ONCE));
        diagnostics.clock(self.increase_interval, "increase_interval", None);
        let is_fine = self.byte_counter.is_some_and(|step| step > Bytes(0) && step < SMALLEST_STEP);
        let message = format_args!(
            "must be at least {SMALLEST_STEP}, or \"0 B\" to disable the counter: smaller steps slow the simulation \
                down"
        );
        diagnostics.error(is_fine, "byte_counter", message);
        let is_fine = self.gain.is_some_and(|gain| gain > 0.0 && gain < SMALLEST_GAIN);
        let message = format_args!("must be 0 or at least {SMALLEST_GAIN}: smaller gains slow the simulation down");
        diagnostics.error(is_fine, "gain", message);
        let ecn = self.thresholds();
        diagnostics.ordered([("ecn.kmin", ecn.kmin), ("ecn.kmax", ecn.kmax)]);
        let is_idle = self.ecn.rate.is_some() && self.ecn.kmin.is_none() && self.ecn.kmax.is_none();
        let is_idle = is_idle && self.profile.rate().is_some();
        diagnostics.error(
            is_idle,
            "ecn.rate",
            "has no effect without ecn.kmin or ecn.kmax: the profile sets the thresholds",
        );
        if self.window {
            diagnostics.one_ack_per_packet(scheme);
        }
        let is_idle = self.rpg_min_dec_fac.is_some_and(|percent| (1..50).contains(&percent));
        diagnostics.warning(is_idle, "rpg_min_dec_fac", "has no effect below 50: one decrease at most halves the rate");
        diagnostics.positive(self.min_rate, "min_rate");
        diagnostics.positive(self.ecn.rate, "ecn.rate");
    }

    fn profile(&self, option: &str) -> Option<Value> {
        let is_of_all = option.starts_with("ecn.") && self.profile.rate().is_none();
        (!is_of_all).then(|| json!(self.profile))
    }
}

impl CongestionOptions for DcqcnConfig {
    type Point = EcnMarker;
    type Notification = CnpSender;
    type Reaction = Dcqcn;

    fn point(&self, site: &Site<'_>) -> Self::Point {
        EcnMarker::new(&self.thresholds(), site)
    }

    fn notification(&self, line_rate: Rate) -> Self::Notification {
        CnpSender::new(&self.parameters(line_rate))
    }

    fn reaction(&self, sender: &SenderFacts) -> Dcqcn {
        Dcqcn::new(self, sender)
    }

    fn needs_ack_times(&self) -> bool {
        self.window
    }

    fn sends_cnps(&self, line_rate: Rate) -> bool {
        self.parameters(line_rate).cnp == CnpMode::Frame
    }

    fn needs_sender_timers(&self) -> bool {
        self.repace.unwrap_or(self.profile.parameters(Rate::from_gbps(100)).repace)
    }

    fn effective_values(&self, sender: &SenderFacts) -> EffectiveValues {
        let window = self.window.then(|| ("window".to_owned(), json!(Bytes(sender.bdp()))));
        effective_values(self.parameters(sender.line_rate)).into_iter().chain(window).collect()
    }

    fn effective_values_at_switch(&self, rate: Rate) -> EffectiveValues {
        let ecn = self.thresholds();
        let (kmin, kmax) = ecn.thresholds(rate);
        effective_values(json!({ "ecn.kmin": kmin, "ecn.kmax": kmax, "ecn.pmax": ecn.pmax }))
    }

    fn check_at(&self, sender: &SenderFacts, diagnostics: &mut Diagnostics) {
        let (line, made_for) = (sender.line_rate, self.profile.rate());
        let message = format_args!("is not made for the rate of the host links, {line}");
        diagnostics.warning(made_for.is_some_and(|rate| rate != line), "profile", message);
        diagnostics.warning(
            self.cnp_interval.is_some() && self.parameters(line).cnp == CnpMode::AckBit,
            "cnp_interval",
            "has no effect: with cnp = \"ack-bit\", receivers report marks in ACKs and send no CNPs",
        );
        let least = self.parameters(line).min_rate;
        let is_idle = |first: Rate| first > Rate::from_bps(0) && (first < least || first >= line);
        let message = format_args!(
            "has no effect: the value is not between min_rate, {least}, and the rate of the host links, {line}"
        );
        diagnostics.warning(self.rate_to_set_on_first_cnp.is_some_and(is_idle), "rate_to_set_on_first_cnp", message);
    }

    fn check_at_switch(&self, site: &Site<'_>, diagnostics: &mut Diagnostics) {
        let fastest = site.ports.iter().map(|port| port.rate).max();
        let is_own = self.ecn.kmin.is_some() || self.ecn.kmax.is_some() || self.ecn.rate.is_some();
        let is_fixed = !is_own && self.profile.rate().is_none();
        if let Some(fastest) = fastest.filter(|rate| is_fixed && *rate > FASTEST_OF_DEFAULT) {
            let message = format_args!(
                "the default ECN thresholds, kmin = \"100 KB\" and kmax = \"400 KB\", are meant for ports of 25 to 100 \
                    Gb/s: at {fastest}, a slight overload throttles flows almost to a stop; set ecn.rate = \"25 Gbps\" \
                    to let thresholds grow with the port's rate, or use a profile made for the rate of the host links, \
                    e.g. \"400g\""
            );
            diagnostics.warning(true, "ecn", message);
        }
    }
}

impl DcqcnConfig {
    /// Returns the profile's ECN thresholds, overridden by the options that are set.
    fn thresholds(&self) -> EcnConfig {
        self.ecn.over(self.profile.ecn())
    }

    /// Returns the effective parameters on a link of `line_rate`: `min_rate` is at most the link's
    /// rate.
    pub(super) fn parameters(&self, line_rate: Rate) -> DcqcnParameters {
        let parameters = self.over(self.profile.parameters(line_rate));
        DcqcnParameters { min_rate: parameters.min_rate.min(line_rate), ..parameters }
    }
}

/// Notification point of one flow.
#[derive(Debug, GetSize)]
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

impl NotificationPoint for CnpSender {
    fn on_data(&mut self, now: Time, marked: bool, _wire_bytes: u64) -> Notification {
        match self.mode {
            CnpMode::AckBit => Notification { echo: marked, ..Default::default() },
            CnpMode::Frame if marked && self.last.is_none_or(|last| now >= last + self.interval) => {
                self.last = Some(now);
                Notification { cnp: Some(Cnp::Congested(None)), ..Default::default() }
            }
            CnpMode::Frame => Notification::default(),
        }
    }
}

/// Reaction point of one flow.
#[derive(Debug, GetSize)]
pub struct Dcqcn {
    parameters: DcqcnParameters,
    line_rate: Rate,
    current: Rate,
    target: Rate,
    /// Limit of payload bytes in flight: line rate times base RTT. `None` without a limit.
    window: Option<u64>,
    limited: Option<Limited>,
    /// True while the connection is idle: no packet waits for a new rate.
    is_idle: bool,
}

/// Clocks of a flow that has received a CNP, or whose rate another control has set.
#[derive(Debug, GetSize)]
struct Limited {
    alpha: f64,
    /// True if a CNP arrived since the last update of alpha.
    cnp_for_alpha: bool,
    /// True if a CNP arrived since the last check for a decrease.
    cnp_for_decrease: bool,
    /// Next update of alpha; [`Time::NEVER`] before the first CNP.
    next_alpha: Time,
    /// Next check for a decrease; [`Time::NEVER`] before the first CNP, and if every CNP cuts at
    /// once.
    next_decrease: Time,
    next_increase: Time,
    timer_steps: u32,
    byte_steps: u32,
    bytes: u64,
    /// Ticks and steps processed one by one.
    #[cfg(test)]
    ticks: u64,
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
            is_idle: false,
        }
    }

    /// Runs the clocks up to and including `now`.
    #[inline(always)]
    fn catch_up(&mut self, now: Time) {
        // For most packets, no clock has ticked since the last packet.
        let first = |it: &Limited| it.next_decrease.min(it.next_increase);
        if self.limited.as_ref().is_some_and(|it| it.next_alpha < now || first(it) <= now) {
            self.run_clocks(now);
        }
    }

    /// Runs the clocks as a loop over all ticks in the order of their times would: decrease before
    /// increase, increase before alpha at equal times. The number of ticks processed is bounded,
    /// however long the clocks have been overdue.
    #[inline(never)]
    fn run_clocks(&mut self, now: Time) {
        // Only the first overdue check can find a CNP. Without a cut, the clocks are independent.
        let is_cut = |it: &&Limited| it.cnp_for_decrease && it.next_decrease <= now;
        if let Some(cut_at) = self.limited.as_ref().filter(is_cut).map(|it| it.next_decrease) {
            self.recover_before(cut_at);
            if let Some(limited) = &mut self.limited {
                limited.update_alpha_before(&self.parameters, cut_at);
                limited.cnp_for_decrease = false;
                limited.decrease(&self.parameters, &mut self.current, &mut self.target, cut_at);
            }
        }
        let after = now + Duration::from_ps(1);
        self.recover_before(after);
        if let Some(limited) = &mut self.limited {
            // A CNP that arrives exactly at a tick of alpha counts for the period that ends at this
            // tick.
            limited.update_alpha_before(&self.parameters, now);
            limited.next_decrease = first_tick(limited.next_decrease, self.parameters.decrease_interval, after);
        }
    }

    /// Takes the steps of the recovery timer that are due before `end`.
    ///
    /// Regular steps are skipped in pairs. If two steps with the same gain raise both rates by the
    /// same even amount, so do the next two: half of an even amount has no remainder.
    fn recover_before(&mut self, end: Time) {
        while let Some(next) = self.limited.as_ref().map(|it| it.next_increase).filter(|next| *next < end) {
            let (current, target) = (self.current.bps(), self.target.bps());
            let Some((gain, alike)) = self.limited.as_ref().map(|it| it.next_gains(&self.parameters)) else { return };
            self.take_timer_step();
            let interval = self.parameters.increase_interval;
            let due = first_tick(next, interval, end).since(next).ps() / interval.ps();
            let most = due.min(alike);
            if most < 4 {
                continue;
            }
            self.take_timer_step();
            let growth = self.target.bps() - target;
            let is_regular = growth == 0 || growth == gain.saturating_mul(2);
            if is_regular && self.current.bps().checked_sub(current) == Some(growth) {
                let room = (self.line_rate.bps() - self.target.bps()).checked_div(growth).unwrap_or(u64::MAX);
                self.skip_timer_steps((most / 2 - 1).min(room), growth);
            }
        }
    }

    /// Takes the next step of the recovery timer.
    fn take_timer_step(&mut self) {
        if let Some(limited) = &mut self.limited {
            limited.next_increase += self.parameters.increase_interval;
        }
        self.increase(Clock::Timer);
    }

    /// Takes `pairs` of timer steps, each of which raises both rates by `growth`.
    fn skip_timer_steps(&mut self, pairs: u64, growth: u64) {
        let Some(limited) = &mut self.limited else { return };
        limited.next_increase += self.parameters.increase_interval * (2 * pairs);
        limited.timer_steps = limited.timer_steps.saturating_add(u32::try_from(2 * pairs).unwrap_or(u32::MAX));
        self.target = Rate::from_bps(self.target.bps() + pairs * growth);
        self.current = Rate::from_bps(self.current.bps() + pairs * growth);
    }

    /// Takes one step of recovery, at a tick of the timer or of the byte counter.
    fn increase(&mut self, clock: Clock) {
        let Some(limited) = &mut self.limited else { return };
        let (gain, _) = limited.next_gains(&self.parameters);
        // No decision depends on a number of steps above F + 1.
        match clock {
            Clock::Timer => limited.timer_steps = limited.timer_steps.saturating_add(1),
            Clock::Bytes => limited.byte_steps = limited.byte_steps.saturating_add(1),
        }
        #[cfg(test)]
        (limited.ticks += 1);
        self.target = Rate::from_bps(self.target.bps().saturating_add(gain)).min(self.line_rate);
        self.current = halfway(self.current, self.target);
    }

    /// Returns true if no further step of the timer changes the current rate.
    fn is_settled(&self, limited: &Limited) -> bool {
        let grows = self.target < self.line_rate && limited.may_grow(&self.parameters);
        !grows && halfway(self.current, self.target) == self.current
    }
}

/// Returns the rate halfway between the current rate and the target rate.
fn halfway(current: Rate, target: Rate) -> Rate {
    Rate::from_bps(current.bps() / 2 + target.bps() / 2)
}

/// Returns the first tick at or after `from` of a clock with a tick at `next`.
fn first_tick(next: Time, interval: Duration, from: Time) -> Time {
    let late = from.since(next).ps();
    if late == 0 {
        return next;
    }
    next + Duration::from_ps(late.div_ceil(interval.ps()).saturating_mul(interval.ps()))
}

/// Clocks that drive recovery.
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
            #[cfg(test)]
            ticks: 0,
        }
    }

    /// Starts the clocks at the first CNP.
    fn start(&mut self, parameters: &DcqcnParameters, now: Time) {
        self.next_alpha = now + parameters.alpha_interval;
        if parameters.decrease_interval > Duration::ZERO {
            // The decrease clock runs one nanosecond behind alpha's clock, so that a cut uses the
            // updated alpha.
            self.next_decrease = now + parameters.decrease_interval + Duration::from_ns(1);
        }
    }

    /// Handles the ticks of alpha's clock before `end`.
    fn update_alpha_before(&mut self, parameters: &DcqcnParameters, end: Time) {
        while self.next_alpha < end {
            let (before, decays) = (self.alpha, !self.cnp_for_alpha);
            self.update_alpha(parameters);
            if decays && self.alpha == before {
                self.next_alpha = first_tick(self.next_alpha, parameters.alpha_interval, end);
            }
        }
    }

    fn update_alpha(&mut self, parameters: &DcqcnParameters) {
        #[cfg(test)]
        (self.ticks += 1);
        self.alpha *= 1.0 - parameters.gain;
        // Rounding removes such a small alpha from 1 - alpha / 2 and from alpha + gain: alpha is
        // less than half of their last bit.
        if self.alpha < NEGLIGIBLE * parameters.gain {
            self.alpha = 0.0;
        }
        if self.cnp_for_alpha {
            self.alpha += parameters.gain;
            self.cnp_for_alpha = false;
        }
        self.next_alpha += parameters.alpha_interval;
    }

    /// Returns the increase of the target rate by the next step, and the number of next timer steps
    /// that surely have this increase too. The numbers of steps taken select fast recovery,
    /// additive increase or hyper increase.
    fn next_gains(&self, parameters: &DcqcnParameters) -> (u64, u64) {
        let (timer, bytes) = (self.timer_steps, self.byte_steps);
        let (first, last) =
            if parameters.byte_counter.get() == 0 { (timer, timer) } else { (timer.max(bytes), timer.min(bytes)) };
        let fast_steps = parameters.fast_recovery_steps;
        let gain = if first < fast_steps {
            0
        } else if last > fast_steps {
            parameters.hyper_increase.bps()
        } else {
            parameters.additive_increase.bps()
        };
        let alike = match timer.cmp(&fast_steps) {
            Ordering::Less => u64::from(fast_steps - timer),
            Ordering::Equal if timer < u32::MAX => 1,
            Ordering::Equal | Ordering::Greater => u64::MAX,
        };
        (gain, alike)
    }

    /// Returns true if steps of the timer alone will raise a target rate below line rate.
    fn may_grow(&self, parameters: &DcqcnParameters) -> bool {
        let fast_steps = parameters.fast_recovery_steps;
        let gets_hyper = parameters.byte_counter.get() == 0 || self.byte_steps > fast_steps;
        let gets_additive = !gets_hyper || self.timer_steps <= fast_steps;
        let is_positive = |rate: Rate| rate > Rate::from_bps(0);
        gets_additive && is_positive(parameters.additive_increase)
            || gets_hyper && is_positive(parameters.hyper_increase)
    }

    fn decrease(&mut self, parameters: &DcqcnParameters, current: &mut Rate, target: &mut Rate, now: Time) {
        *target = self.target_after_cut(parameters, *current, *target);
        let lower = Rate::from_bps((current.bps() as f64 * (1.0 - self.alpha / 2.0)) as u64);
        let least = Rate::from_bps(current.bps() / 100 * u64::from(parameters.rpg_min_dec_fac));
        *current = lower.max(least).max(parameters.min_rate);
        self.recover_from(now, parameters);
    }

    /// Returns the target rate after a cut.
    fn target_after_cut(&self, parameters: &DcqcnParameters, current: Rate, target: Rate) -> Rate {
        if parameters.clamp_target || self.timer_steps > 0 || self.byte_steps > 0 { current } else { target }
    }

    /// Restarts recovery.
    fn recover_from(&mut self, now: Time, parameters: &DcqcnParameters) {
        self.timer_steps = 0;
        self.byte_steps = 0;
        self.bytes = 0;
        self.next_increase = now + parameters.increase_interval;
    }
}

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

    fn on_cnp(&mut self, now: Time, _cnp: Cnp) {
        self.catch_up(now);
        let parameters = &self.parameters;
        let limited = self.limited.get_or_insert_with(|| Limited::new(parameters));
        let is_first = limited.next_alpha == Time::NEVER;
        if is_first {
            limited.start(parameters, now);
            if parameters.rate_to_set_on_first_cnp > Rate::from_bps(0) {
                self.current = self.current.min(parameters.rate_to_set_on_first_cnp).max(parameters.min_rate);
                self.target = self.current;
            }
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
        // The new rate accounts for earlier CNPs.
        limited.cnp_for_decrease = false;
        limited.recover_from(now, parameters);
    }

    fn on_idle(&mut self, _now: Time) {
        self.is_idle = true;
    }

    fn on_resume(&mut self, now: Time, _since: Time) {
        self.catch_up(now);
        self.is_idle = false;
    }

    fn wake_at(&self) -> Time {
        let has_timers = self.parameters.repace && !self.is_idle;
        let Some(limited) = self.limited.as_ref().filter(|_| has_timers) else { return Time::NEVER };
        let is_below = self.current < self.line_rate && !self.is_settled(limited);
        let increase = if is_below { limited.next_increase } else { Time::NEVER };
        let decrease = if limited.cnp_for_decrease { limited.next_decrease } else { Time::NEVER };
        increase.min(decrease)
    }

    fn on_wake(&mut self, now: Time) {
        self.catch_up(now);
    }

    fn repaces(&self) -> bool {
        self.parameters.repace
    }

    fn cut_rate(&mut self, now: Time, rate: Rate) {
        let current = self.rate(now);
        if rate < current {
            let after_cut = |limited: &Limited| limited.target_after_cut(&self.parameters, current, self.target);
            let target = self.limited.as_ref().map_or(self.target, after_cut);
            self.set_rate(now, rate);
            self.target = target;
        }
    }
}

#[cfg(test)]
mod tests;
