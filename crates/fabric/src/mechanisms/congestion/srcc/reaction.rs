//! The reaction point: goes on at the rate that a notice names, and leaves the rest to the base (section III-E).

use super::base::{Base, BaseReaction};
use super::notice::target_of;
use super::{Adjustment, SRCC, SrccConfig};
use crate::contract::{AckView, CongestionSignal, Entropy, LossSignal, ReactionPoint, SenderFacts};
use crate::frame::{Cnp, Notice, Psn};
use crate::ids::PortId;
use arrayvec::ArrayVec;
use backwater_engine::{Duration, Rate, Time};
use get_size2::GetSize;

/// The part of [`SrccConfig::additive_increase`] that follows from a notice: an eighth of the rate that it names.
const STEPS: u64 = 8;

/// Ports on a path that can notify of a flow at a time.
const MOST_PORTS: usize = 8;

/// The reaction point of one flow.
#[derive(Debug, GetSize)]
pub struct Srcc {
    base: BaseReaction,
    adjustment: Adjustment,
    /// Of notices from several switches that come within this time, the one with the lowest rate holds.
    base_rtt: Duration,
    /// The last notice of each egress port, as far as it came within that time: of the last ones, if there are more.
    #[get_size(ignore)]
    heard: ArrayVec<NoticeAction, MOST_PORTS>,
    /// Where the base has no recovery of its own.
    probing: Option<Probing>,
}

/// A notice that still counts.
#[derive(Clone, Copy, Debug)]
struct NoticeAction {
    from: PortId,
    target: Rate,
    at: Time,
}

/// Growth of the rate where nothing else makes it grow.
#[derive(Debug, GetSize)]
struct Probing {
    line_rate: Rate,
    /// T.
    interval: Duration,
    additive_increase: Option<Rate>,
    step: Rate,
    /// When the next step is due; [`Time::NEVER`] at line rate.
    next: Time,
}

impl Probing {
    fn new(config: &SrccConfig, sender: &SenderFacts) -> Probing {
        Probing {
            line_rate: sender.line_rate,
            interval: config.window(sender.base_rtt),
            additive_increase: config.additive_increase,
            step: Rate::from_bps(0),
            next: Time::NEVER,
        }
    }

    /// A notice has named `target`.
    fn restart(&mut self, now: Time, target: Rate) {
        self.step = self.additive_increase.unwrap_or(Rate::from_bps((target.bps() / STEPS).max(1)));
        self.next = now + self.interval;
    }

    /// What `rate` has become by the steps that are due by `now`, if there are any.
    fn catch_up(&mut self, now: Time, rate: Rate) -> Option<Rate> {
        if self.next > now {
            return None;
        }
        let due = now.since(self.next).ps() / self.interval.ps() + 1;
        let gained = u128::from(self.step.bps()) * u128::from(due);
        let rate = (u128::from(rate.bps()) + gained).min(self.line_rate.bps().into());
        let rate = Rate::from_bps(rate as u64);
        let next = self.next + Duration::from_ps(self.interval.ps().saturating_mul(due));
        self.next = if rate < self.line_rate { next } else { Time::NEVER };
        Some(rate)
    }
}

impl Srcc {
    pub(super) fn new(config: &SrccConfig, sender: &SenderFacts) -> Srcc {
        Srcc {
            base: config.base.reaction(sender),
            adjustment: config.adjustment,
            base_rtt: sender.base_rtt,
            heard: ArrayVec::new(),
            probing: matches!(config.base, Base::None(_)).then(|| Probing::new(config, sender)),
        }
    }

    fn go_on_at(&mut self, now: Time, target: Rate, adjustment: Adjustment) {
        self.catch_up(now);
        match adjustment {
            Adjustment::Lower => self.base.lower_rate(now, target),
            Adjustment::Cut => self.base.cut_rate(now, target),
            Adjustment::Set => self.base.set_rate(now, target),
        }
        if let Some(probing) = &mut self.probing {
            probing.restart(now, target);
        }
    }

    fn catch_up(&mut self, now: Time) {
        if let Some(probing) = &mut self.probing
            && let Some(rate) = probing.catch_up(now, self.base.rate(now))
        {
            self.base.set_rate(now, rate);
        }
    }
}

impl ReactionPoint for Srcc {
    fn rate(&mut self, now: Time) -> Rate {
        self.catch_up(now);
        self.base.rate(now)
    }

    fn window(&self) -> u64 {
        self.base.window()
    }

    fn on_sent(&mut self, now: Time, wire_bytes: u64) {
        self.base.on_sent(now, wire_bytes);
    }

    fn on_ack(&mut self, ack: &AckView<'_>) {
        self.base.on_ack(ack);
    }

    fn signal(&self, ack: &AckView<'_>) -> Option<CongestionSignal> {
        self.base.signal(ack)
    }

    fn on_cnp(&mut self, now: Time, cnp: Cnp) {
        self.base.on_cnp(now, cnp);
    }

    fn on_notice(&mut self, now: Time, notice: &Notice) {
        if notice.protocol != SRCC {
            return;
        }
        let from = notice.from;
        self.heard.retain(|heard| heard.from != from && now.since(heard.at) < self.base_rtt);
        if self.heard.is_full() {
            self.heard.remove(0);
        }
        self.heard.push(NoticeAction { from, target: target_of(notice.words), at: now });
        if let Some(lowest) = self.heard.iter().map(|heard| heard.target).min() {
            self.go_on_at(now, lowest, self.adjustment);
        }
    }

    fn on_loss(&mut self, now: Time, loss: LossSignal) {
        self.base.on_loss(now, loss);
    }

    fn set_rate(&mut self, now: Time, rate: Rate) {
        self.go_on_at(now, rate, Adjustment::Set);
    }

    fn lower_rate(&mut self, now: Time, rate: Rate) {
        self.go_on_at(now, rate, Adjustment::Lower);
    }

    fn cut_rate(&mut self, now: Time, rate: Rate) {
        self.go_on_at(now, rate, Adjustment::Cut);
    }

    fn path(&mut self, psn: Psn, now: Time) -> Option<Entropy> {
        self.base.path(psn, now)
    }

    fn wake_at(&self) -> Time {
        self.base.wake_at()
    }

    fn on_wake(&mut self, now: Time) {
        self.base.on_wake(now);
    }

    fn repaces(&self) -> bool {
        self.base.repaces()
    }
}

#[cfg(test)]
mod tests;
