//! What a sender knows of its packets where answers name those that have come, and which of them it sends again.

use crate::contract::Progress;
use crate::frame::Psn;
use backwater_engine::bits::BitSet;
use get_size2::GetSize;

/// The packets of one flow from the oldest that is not acknowledged on.
#[derive(Debug, GetSize)]
pub(super) struct Scoreboard {
    /// Packets of which a receiver keeps track, from the oldest missing on.
    places: u32,
    /// Packets behind the oldest not acknowledged that have arrived, by number modulo `places`.
    arrived: BitSet,
    /// How many these are.
    arrivals: u32,
    recovery: Option<Recovery>,
}

/// Loss recovery of a sender, from the first sign of a loss until all is acknowledged before a certain packet.
#[derive(Clone, Copy, Debug, GetSize)]
struct Recovery {
    /// The packet behind the last that must be acknowledged.
    until: Psn,
    /// The next packet that may have to be sent again: each is once.
    next: Psn,
    /// Packets before this one that have not arrived are lost.
    lost_before: Psn,
    /// The next lost packet, if there is one.
    lost: Option<Psn>,
}

impl Scoreboard {
    pub(super) fn new(places: u32) -> Scoreboard {
        Scoreboard { places, arrived: BitSet::default(), arrivals: 0, recovery: None }
    }

    /// Packets behind the oldest not acknowledged that have arrived.
    #[cfg(test)]
    pub(super) fn arrivals(&self) -> u32 {
        self.arrivals
    }

    /// Whether losses are being repaired.
    pub(super) fn recovers(&self) -> bool {
        self.recovery.is_some()
    }

    /// Whether `psn` had been sent when the losses were found that are being repaired, and has not been sent again since.
    pub(super) fn repairs(&self, psn: Psn) -> bool {
        self.recovery.is_some_and(|recovery| (recovery.next..recovery.until).contains(&psn))
    }

    /// The next lost packet, if there is one.
    pub(super) fn lost(&self) -> Option<Psn> {
        self.recovery.and_then(|recovery| recovery.lost)
    }

    /// Whether a receiver would keep `psn`, as far as is known.
    fn has_place(&self, psn: Psn, progress: &Progress) -> bool {
        psn - progress.acked < self.places
    }

    /// Whether `psn`, which is not acknowledged, has arrived.
    pub(super) fn has_arrived(&self, psn: Psn, progress: &Progress) -> bool {
        self.has_place(psn, progress) && self.arrived.has((psn % self.places) as usize)
    }

    /// An answer says that all has come before `expected`, and that `arrived` has.
    pub(super) fn on_answer(&mut self, expected: Psn, arrived: Option<Psn>, progress: &mut Progress) {
        for psn in progress.acked..expected {
            if self.has_arrived(psn, progress) {
                self.arrived.remove((psn % self.places) as usize);
                self.arrivals -= 1;
            }
        }
        progress.acked = progress.acked.max(expected);
        let early = arrived.filter(|psn| *psn > progress.acked && self.has_place(*psn, progress));
        if let Some(psn) = early.filter(|psn| !self.has_arrived(*psn, progress)) {
            self.arrived.insert((psn % self.places) as usize);
            self.arrivals += 1;
        }
        if self.recovery.is_some_and(|recovery| progress.acked >= recovery.until) {
            self.recovery = None;
        }
    }

    /// Packets before `lost_before` that have not arrived are lost. They are sent again, each once, and that is over when all is acknowledged before `until`.
    pub(super) fn recover(&mut self, lost_before: Psn, until: Psn, progress: &Progress) {
        self.recovery = Some(Recovery { until, next: progress.acked, lost_before, lost: None });
        self.find_lost(progress);
    }

    /// If losses are being repaired, packets before `lost_before` that have not arrived are lost as well.
    pub(super) fn lose_before(&mut self, lost_before: Psn, progress: &Progress) {
        if let Some(recovery) = &mut self.recovery {
            recovery.lost_before = recovery.lost_before.max(lost_before);
            self.find_lost(progress);
        }
    }

    /// Packet `psn`, a lost one or a new one, is sent.
    pub(super) fn on_sent(&mut self, psn: Psn, progress: &mut Progress) {
        if psn < progress.next {
            self.recovery.iter_mut().for_each(|recovery| recovery.next = psn + 1);
            self.find_lost(progress);
        } else {
            progress.next = psn + 1;
            progress.highest = progress.next;
        }
    }

    /// How many packets do not count as in flight: they have arrived, or are lost and have yet to be sent again.
    pub(super) fn not_in_flight(&self, progress: &Progress) -> u32 {
        // The oldest packet is sent again whatever the window (RFC 5681, section 3.2): what fills it may be lost as well, and nothing would tell.
        let is_oldest_lost = self.lost() == Some(progress.acked);
        if is_oldest_lost { progress.next - progress.acked } else { self.arrivals + self.losses(progress) }
    }

    /// Looks for the next packet that is lost.
    fn find_lost(&mut self, progress: &Progress) {
        let Some(Recovery { next, lost_before, .. }) = self.recovery else { return };
        let lost = (next.max(progress.acked)..lost_before).find(|psn| !self.has_arrived(*psn, progress));
        self.recovery.iter_mut().for_each(|recovery| recovery.lost = lost);
    }

    /// Packets that are lost and have yet to be sent again.
    fn losses(&self, progress: &Progress) -> u32 {
        let Some(Recovery { lost: Some(first), lost_before, .. }) = self.recovery else { return 0 };
        (first..lost_before).filter(|psn| !self.has_arrived(*psn, progress)).count() as u32
    }
}
