//! Reaction point: adopts the rate of each notice, and lets the base set the rate between notices
//! (section III-E).

use super::base::{Base, BaseReaction};
use super::notice::target_of;
use super::{Adjustment, SRCC, SrccConfig};
use crate::contract::{AckView, CongestionSignal, Entropy, LossSignal, ReactionPoint, SenderFacts};
use crate::frame::{Cnp, Notice, Psn};
use crate::ids::PortId;
use arrayvec::ArrayVec;
use backwater_engine::{Duration, Rate, Time};
use get_size2::GetSize;

/// Default of [`SrccConfig::additive_increase`], as a divisor of the rate in a notice.
const STEPS: u64 = 8;

/// Maximum number of ports on a path whose notices count at a time.
const MOST_PORTS: usize = 8;

/// Reaction point of one flow.
#[derive(Debug, GetSize)]
pub struct Srcc {
    base: BaseReaction,
    adjustment: Adjustment,
    /// Base round-trip time. Within this time, the lowest rate of several switches' notices holds.
    base_rtt: Duration,
    /// Last notice of each egress port within `base_rtt`. If not all of these notices fit, the
    /// latest are kept.
    #[get_size(ignore)]
    notices: ArrayVec<RecentNotice, MOST_PORTS>,
    /// Growth of the rate between notices, if the base has no recovery of its own.
    probing: Option<Probing>,
}

/// Notice that still counts.
#[derive(Clone, Copy, Debug)]
struct RecentNotice {
    from: PortId,
    target: Rate,
    at: Time,
}

/// Growth of the rate without any other recovery.
#[derive(Debug, GetSize)]
struct Probing {
    line_rate: Rate,
    /// T, the time between two increases.
    interval: Duration,
    additive_increase: Option<Rate>,
    step: Rate,
    /// Time of the next step; [`Time::NEVER`] at line rate.
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

    /// Restarts after a notice that names `target`.
    fn restart(&mut self, now: Time, target: Rate) {
        self.step = self.additive_increase.unwrap_or(Rate::from_bps((target.bps() / STEPS).max(1)));
        self.next = now + self.interval;
    }

    /// Returns `rate` after the steps due by `now`, if any is due.
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
            notices: ArrayVec::new(),
            probing: matches!(config.base, Base::None(_)).then(|| Probing::new(config, sender)),
        }
    }

    fn adjust_rate(&mut self, now: Time, target: Rate, adjustment: Adjustment) {
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
        self.notices.retain(|notice| notice.from != from && now.since(notice.at) < self.base_rtt);
        if self.notices.is_full() {
            self.notices.remove(0);
        }
        self.notices.push(RecentNotice { from, target: target_of(notice.words), at: now });
        if let Some(lowest) = self.notices.iter().map(|notice| notice.target).min() {
            self.adjust_rate(now, lowest, self.adjustment);
        }
    }

    fn on_loss(&mut self, now: Time, loss: LossSignal) {
        self.base.on_loss(now, loss);
    }

    fn set_rate(&mut self, now: Time, rate: Rate) {
        self.adjust_rate(now, rate, Adjustment::Set);
    }

    fn lower_rate(&mut self, now: Time, rate: Rate) {
        self.adjust_rate(now, rate, Adjustment::Lower);
    }

    fn cut_rate(&mut self, now: Time, rate: Rate) {
        self.adjust_rate(now, rate, Adjustment::Cut);
    }

    fn on_idle(&mut self, now: Time) {
        self.base.on_idle(now);
    }

    fn on_resume(&mut self, now: Time, since: Time) {
        self.base.on_resume(now, since);
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
