//! The reaction point: goes on at the rate that a notice names, and leaves the rest to the base (section III-E).

use super::base::{Base, BaseReaction};
use super::notice::target_of;
use super::{SRCC, SrccConfig};
use crate::contract::{AckView, Entropy, Footprint, Loss, ReactionPoint, SenderFacts};
use crate::frame::{Notice, Psn};
use crate::ids::PortId;
use backwater_engine::{Duration, Rate, Time};

/// The part of [`SrccConfig::additive_increase`] that follows from a notice: an eighth of the rate that it names.
const STEPS: u64 = 8;

/// The reaction point of one flow.
#[derive(Debug)]
pub struct Srcc {
    base: BaseReaction,
    /// Of notices from several switches that come within this time, the one with the lowest rate holds.
    base_rtt: Duration,
    held: Option<Held>,
    /// Where the base has no recovery of its own.
    probing: Option<Probing>,
}

/// The notice that holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    from: PortId,
    target: Rate,
    at: Time,
}

/// Growth of the rate where nothing else makes it grow.
#[derive(Debug)]
struct Probing {
    line_rate: Rate,
    /// T.
    interval: Duration,
    additive_increase: Option<Rate>,
    rate: Rate,
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
            rate: sender.line_rate,
            step: Rate::from_bps(0),
            next: Time::NEVER,
        }
    }

    /// A notice has named `target`.
    fn restart(&mut self, now: Time, target: Rate) {
        self.rate = target.min(self.line_rate);
        self.step = self.additive_increase.unwrap_or(Rate::from_bps((target.bps() / STEPS).max(1)));
        self.next = now + self.interval;
    }

    /// Takes the steps that are due by `now`; whether there were any.
    fn catch_up(&mut self, now: Time) -> bool {
        if self.next > now {
            return false;
        }
        let due = now.since(self.next).ps() / self.interval.ps() + 1;
        let gained = u128::from(self.step.bps()) * u128::from(due);
        let rate = (u128::from(self.rate.bps()) + gained).min(self.line_rate.bps().into());
        self.rate = Rate::from_bps(rate as u64);
        let next = self.next + Duration::from_ps(self.interval.ps().saturating_mul(due));
        self.next = if self.rate < self.line_rate { next } else { Time::NEVER };
        true
    }
}

impl Srcc {
    pub(super) fn new(config: &SrccConfig, sender: &SenderFacts) -> Srcc {
        Srcc {
            base: config.base.reaction(sender),
            base_rtt: sender.base_rtt,
            held: None,
            probing: matches!(config.base, Base::None(_)).then(|| Probing::new(config, sender)),
        }
    }

    fn go_on_at(&mut self, now: Time, rate: Rate) {
        self.base.set_rate(now, rate);
        if let Some(probing) = &mut self.probing {
            probing.restart(now, rate);
        }
    }
}

impl Footprint for Srcc {
    fn heap_bytes(&self) -> u64 {
        size_of::<Srcc>() as u64 + self.base.heap_bytes()
    }
}

impl ReactionPoint for Srcc {
    fn rate(&mut self, now: Time) -> Rate {
        if let Some(probing) = &mut self.probing
            && probing.catch_up(now)
        {
            self.base.set_rate(now, probing.rate);
        }
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

    fn on_cnp(&mut self, now: Time, rate: Option<Rate>) {
        self.base.on_cnp(now, rate);
    }

    fn on_notice(&mut self, now: Time, notice: &Notice) {
        if notice.protocol != SRCC {
            return;
        }
        let (from, target) = (notice.from, target_of(notice.words));
        // The same switch may have changed its mind.
        let yields = |held: &Held| held.from == from || target <= held.target || now.since(held.at) >= self.base_rtt;
        if self.held.as_ref().is_none_or(yields) {
            self.held = Some(Held { from, target, at: now });
            self.go_on_at(now, target);
        }
    }

    fn on_loss(&mut self, now: Time, loss: Loss) {
        self.base.on_loss(now, loss);
    }

    fn set_rate(&mut self, now: Time, rate: Rate) {
        self.go_on_at(now, rate);
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
