//! Turns at a host's port, between its queues and the data of its own flows.

use crate::network::spec::HostScheduler;

/// One of the two sides that share a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Side {
    /// Packets in queues: relayed packets, and ACKs of a data class.
    #[default]
    Queues,
    /// Data of the host's own flows.
    Own,
}

/// Deficit round robin between the two sides. A side sends while it has credit, in packets or in
/// bytes.
#[derive(Debug, Default)]
pub(super) struct Turns {
    next: Side,
    /// Credit of each side until the other side's turn. Negative if the side sent more than its
    /// credit.
    credit: [i64; 2],
}

impl Turns {
    /// Returns the side whose turn it is, if both have a packet to send.
    pub(super) fn next(&self) -> Side {
        self.next
    }

    /// Charges a packet of `wire` bytes to `side`.
    pub(super) fn charge(&mut self, side: Side, wire: u64, scheduler: HostScheduler) {
        let (cost, quantum) = match scheduler {
            HostScheduler::RelayFirst {} | HostScheduler::Fair {} => (1, 1),
            HostScheduler::Dwrr { quantum } => (wire as i64, quantum.get() as i64),
        };
        if side != self.next {
            // The other side had no packet to send, and keeps no credit.
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
            turns.charge(side, sizes[side as usize], scheduler);
            side
        };
        (0..packets).map(next).collect()
    }

    #[test]
    fn fair_turns_alternate_regardless_of_packet_sizes() {
        let turns = sides(HostScheduler::Fair {}, [1000, 100], 6);
        assert_eq!(turns, [Side::Queues, Side::Own, Side::Queues, Side::Own, Side::Queues, Side::Own]);
    }

    /// The sides have packets of 1000 B and 250 B: one side sends one packet, then the other sends
    /// four.
    #[test]
    fn turns_by_bytes_share_the_port_evenly() {
        let turns = sides(HostScheduler::Dwrr { quantum: Bytes(1000) }, [1000, 250], 500);
        let own = turns.iter().filter(|side| **side == Side::Own).count();
        assert_eq!((own, turns.len() - own), (400, 100));
    }

    /// After a time in which only own data departed, the queues do not get more turns.
    #[test]
    fn an_idle_side_saves_no_credit() {
        let scheduler = HostScheduler::Dwrr { quantum: Bytes(1000) };
        let mut turns = Turns::default();
        for _ in 0..10 {
            turns.charge(Side::Own, 1000, scheduler);
        }
        let mut next = || {
            let side = turns.next();
            turns.charge(side, 1000, scheduler);
            side
        };
        assert_eq!([next(), next(), next(), next()], [Side::Queues, Side::Own, Side::Queues, Side::Own]);
    }

    /// Own data that departs while the queues are empty has used its turn.
    #[test]
    fn sending_out_of_turn_counts_as_a_turn() {
        for scheduler in [HostScheduler::Fair {}, HostScheduler::Dwrr { quantum: Bytes(1000) }] {
            let mut turns = Turns::default();
            turns.charge(Side::Own, 1000, scheduler);
            assert_eq!(turns.next(), Side::Queues, "{scheduler:?}");
            turns.charge(Side::Queues, 1000, scheduler);
            assert_eq!(turns.next(), Side::Own, "{scheduler:?}");
        }
    }
}
