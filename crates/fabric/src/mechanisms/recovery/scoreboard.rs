//! A sender's record of arrived and lost packets, for receivers whose answers name arrived packets.

use crate::contract::Progress;
use crate::frame::Psn;
use backwater_engine::bits::BitSet;
use get_size2::GetSize;

/// Packets of one flow from the oldest unacknowledged packet on.
#[derive(Debug, GetSize)]
pub(super) struct Scoreboard {
    /// Packets that a receiver tracks, from the oldest missing packet on.
    places: u32,
    /// Arrived packets after the oldest unacknowledged one, by number modulo `places`.
    arrived: BitSet,
    /// Number of arrived packets after the oldest unacknowledged one.
    arrivals: u32,
    recovery: Option<Recovery>,
}

/// Loss recovery of a sender, from the first sign of a loss until all packets before `until` are
/// acknowledged.
#[derive(Clone, Copy, Debug, GetSize)]
struct Recovery {
    /// Packet after the last one that must be acknowledged.
    until: Psn,
    /// Next packet that may be retransmitted: each packet is retransmitted once.
    next: Psn,
    /// Packet before which all packets that have not arrived are lost.
    lost_before: Psn,
    /// Next lost packet, if there is one.
    lost: Option<Psn>,
}

impl Scoreboard {
    pub(super) fn new(places: u32) -> Scoreboard {
        Scoreboard { places, arrived: BitSet::default(), arrivals: 0, recovery: None }
    }

    /// Returns the number of arrived packets after the oldest unacknowledged one.
    #[cfg(test)]
    pub(super) fn arrivals(&self) -> u32 {
        self.arrivals
    }

    /// Returns true if losses are being repaired.
    pub(super) fn recovers(&self) -> bool {
        self.recovery.is_some()
    }

    /// Returns true if `psn` was sent before the losses being repaired were detected, and has not
    /// been retransmitted since.
    pub(super) fn repairs(&self, psn: Psn) -> bool {
        self.recovery.is_some_and(|recovery| (recovery.next..recovery.until).contains(&psn))
    }

    /// Returns the next lost packet, if there is one.
    pub(super) fn lost(&self) -> Option<Psn> {
        self.recovery.and_then(|recovery| recovery.lost)
    }

    /// Returns true if a receiver would keep `psn`, as far as the sender knows.
    fn has_place(&self, psn: Psn, progress: &Progress) -> bool {
        psn - progress.acked < self.places
    }

    /// Returns true if `psn`, which is not acknowledged, has arrived.
    pub(super) fn has_arrived(&self, psn: Psn, progress: &Progress) -> bool {
        self.has_place(psn, progress) && self.arrived.has((psn % self.places) as usize)
    }

    /// Processes an answer: all packets before `expected` have arrived, and so has `arrived`.
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

    /// Starts recovery: packets before `lost_before` that have not arrived are lost and
    /// retransmitted once. Recovery ends when all packets before `until` are acknowledged.
    pub(super) fn recover(&mut self, lost_before: Psn, until: Psn, progress: &Progress) {
        self.recovery = Some(Recovery { until, next: progress.acked, lost_before, lost: None });
        self.find_lost(progress);
    }

    /// During recovery, also declares as lost the packets before `lost_before` that have not
    /// arrived.
    pub(super) fn lose_before(&mut self, lost_before: Psn, progress: &Progress) {
        if let Some(recovery) = &mut self.recovery {
            recovery.lost_before = recovery.lost_before.max(lost_before);
            self.find_lost(progress);
        }
    }

    /// Records the transmission of `psn`, which is new or lost.
    pub(super) fn on_sent(&mut self, psn: Psn, progress: &mut Progress) {
        if psn < progress.next {
            self.recovery.iter_mut().for_each(|recovery| recovery.next = psn + 1);
            self.find_lost(progress);
        } else {
            progress.next = psn + 1;
            progress.highest = progress.next;
        }
    }

    /// Returns the number of packets that are not in flight: arrived, or lost and not yet
    /// retransmitted.
    pub(super) fn not_in_flight(&self, progress: &Progress) -> u32 {
        // The oldest packet is retransmitted even if the window is full (RFC 5681, section 3.2).
        // All packets in the window may be lost, and no answer would report that.
        let is_oldest_lost = self.lost() == Some(progress.acked);
        if is_oldest_lost { progress.next - progress.acked } else { self.arrivals + self.losses(progress) }
    }

    /// Finds the next lost packet.
    fn find_lost(&mut self, progress: &Progress) {
        let Some(Recovery { next, lost_before, .. }) = self.recovery else { return };
        let lost = (next.max(progress.acked)..lost_before).find(|psn| !self.has_arrived(*psn, progress));
        self.recovery.iter_mut().for_each(|recovery| recovery.lost = lost);
    }

    /// Returns the number of packets that are lost and not yet retransmitted.
    fn losses(&self, progress: &Progress) -> u32 {
        let Some(Recovery { lost: Some(first), lost_before, .. }) = self.recovery else { return 0 };
        (first..lost_before).filter(|psn| !self.has_arrived(*psn, progress)).count() as u32
    }
}
