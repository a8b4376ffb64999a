//! Whose turn it is at a host's port: that of its queues, or that of the data of its own flows.

use crate::network::spec::HostScheduler;

/// One of the two that share a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Side {
    /// What waits in queues: packets that the host relays, and ACKs of a data class.
    #[default]
    Queues,
    /// The data of its own flows.
    Own,
}

/// Deficit round robin between the two sides: one sends while it has credit, by packets or by bytes.
#[derive(Debug, Default)]
pub(super) struct Turns {
    next: Side,
    /// What either may send before it is the other's turn; below zero, what it has sent too much.
    credit: [i64; 2],
}

impl Turns {
    /// Whose turn it is, if both have something to send.
    pub(super) fn next(&self) -> Side {
        self.next
    }

    /// A packet of `wire` bytes of `side` leaves.
    pub(super) fn took(&mut self, side: Side, wire: u64, scheduler: HostScheduler) {
        let (cost, quantum) = match scheduler {
            HostScheduler::RelayFirst {} | HostScheduler::Fair {} => (1, 1),
            HostScheduler::Dwrr { quantum } => (wire as i64, quantum.get() as i64),
        };
        if side != self.next {
            // The other had nothing to send, and keeps no credit for that.
            self.credit = [0; 2];
            self.next = side;
        }
        if self.credit[side as usize] <= 0 {
            self.credit[side as usize] += quantum;
        }
        self.credit[side as usize] -= cost;
        while self.credit[self.next as usize] <= 0 {
            self.next = match self.next {
                Side::Queues => Side::Own,
                Side::Own => Side::Queues,
            };
            self.credit[self.next as usize] += quantum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_engine::Bytes;

    fn sides(scheduler: HostScheduler, sizes: [u64; 2], packets: usize) -> Vec<Side> {
        let mut turns = Turns::default();
        let next = |_| {
            let side = turns.next();
            turns.took(side, sizes[side as usize], scheduler);
            side
        };
        (0..packets).map(next).collect()
    }

    #[test]
    fn fair_turns_go_packet_by_packet_whatever_their_sizes() {
        let turns = sides(HostScheduler::Fair {}, [1000, 100], 6);
        assert_eq!(turns, [Side::Queues, Side::Own, Side::Queues, Side::Own, Side::Queues, Side::Own]);
    }

    /// Of 1000 B and 250 B: one of the first for four of the second.
    #[test]
    fn turns_by_bytes_share_the_port_evenly() {
        let turns = sides(HostScheduler::Dwrr { quantum: Bytes(1000) }, [1000, 250], 500);
        let own = turns.iter().filter(|side| **side == Side::Own).count();
        assert_eq!((own, turns.len() - own), (400, 100));
    }

    /// Own data alone for a while gives the queues no claim to be served alone afterwards.
    #[test]
    fn who_has_nothing_to_send_saves_up_nothing() {
        let scheduler = HostScheduler::Dwrr { quantum: Bytes(1000) };
        let mut turns = Turns::default();
        (0..10).for_each(|_| turns.took(Side::Own, 1000, scheduler));
        let mut next = || {
            let side = turns.next();
            turns.took(side, 1000, scheduler);
            side
        };
        assert_eq!([next(), next(), next(), next()], [Side::Queues, Side::Own, Side::Queues, Side::Own]);
    }

    /// Own data that leaves while nothing waits in the queues has had its turn by that.
    #[test]
    fn who_sends_out_of_turn_has_had_its_turn() {
        for scheduler in [HostScheduler::Fair {}, HostScheduler::Dwrr { quantum: Bytes(1000) }] {
            let mut turns = Turns::default();
            turns.took(Side::Own, 1000, scheduler);
            assert_eq!(turns.next(), Side::Queues, "{scheduler:?}");
            turns.took(Side::Queues, 1000, scheduler);
            assert_eq!(turns.next(), Side::Own, "{scheduler:?}");
        }
    }
}
