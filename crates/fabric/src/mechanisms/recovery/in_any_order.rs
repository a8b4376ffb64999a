//! A receiver that tolerates reordering, for fabrics with almost no loss that spread a flow's
//! packets over several paths.

use super::go_back_n::Sender;
use crate::contract::{Options, RecoveryOptions, RecoveryReceiver, SenderFacts, Verdict};
use crate::frame::Psn;
use backwater_engine::bits::BitSet;
use backwater_engine::{Duration, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The receiver accepts packets in any order; the sender goes back only after a timeout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InAnyOrderConfig {
    /// Number of packets that a receiver tracks, from the first missing packet on. The receiver
    /// drops later packets. Default 65536: at the usual MTU, more than a switch's buffer holds.
    #[schemars(range(min = 1, max = 65_536))]
    pub room: u32,
    /// Time that a packet may be missing, while later packets arrive, before the receiver sends a
    /// NACK. Default: for ever (a lossless fabric delivers delayed packets eventually).
    pub allowance: Option<Duration>,
    /// Retransmission timeout: after this time without progress, the sender goes back to the oldest
    /// unacknowledged packet. Default 4 ms, as with `go-back-n`; "0 s" switches it off.
    pub timeout: Duration,
}

impl Default for InAnyOrderConfig {
    fn default() -> Self {
        InAnyOrderConfig { room: 65_536, allowance: None, timeout: Duration::from_ms(4) }
    }
}

impl Options for InAnyOrderConfig {}

impl RecoveryOptions for InAnyOrderConfig {
    type Sender = Sender;
    type Receiver = Box<Receiver>;

    fn sender(&self, _facts: &SenderFacts) -> Sender {
        Sender::new(self.timeout)
    }

    fn receiver(&self) -> Box<Receiver> {
        Box::new(Receiver::new(self))
    }

    fn tolerates_reordering(&self) -> bool {
        true
    }
}

/// Receiver of one flow.
#[derive(Debug, GetSize)]
pub struct Receiver {
    room: u32,
    allowance: Option<Duration>,
    /// Early packets, by number modulo `room`.
    held: BitSet,
    /// Packet last found missing, and the time from which on a NACK for this packet may be sent.
    missing: Psn,
    ask_at: Time,
}

impl Receiver {
    pub(super) fn new(config: &InAnyOrderConfig) -> Receiver {
        let room = config.room.max(1);
        Receiver { room, allowance: config.allowance, held: BitSet::default(), missing: 0, ask_at: Time::NEVER }
    }

    fn place(&self, psn: Psn) -> usize {
        (psn % self.room) as usize
    }

    /// Returns true if a NACK for `expected` is due, after a later packet has arrived. Another NACK
    /// is due after another allowance.
    fn asks(&mut self, expected: Psn, now: Time) -> bool {
        let Some(allowance) = self.allowance else { return false };
        let is_known = self.ask_at != Time::NEVER && self.missing == expected;
        let is_due = is_known && now >= self.ask_at;
        if is_due || !is_known {
            (self.missing, self.ask_at) = (expected, now + allowance);
        }
        is_due
    }
}

impl RecoveryReceiver for Receiver {
    fn on_data(&mut self, psn: Psn, expected: Psn, now: Time) -> Verdict {
        if psn < expected {
            return Verdict::Duplicate;
        }
        if psn == expected {
            let mut next = psn + 1;
            while self.held.has(self.place(next)) {
                self.held.remove(self.place(next));
                next += 1;
            }
            return Verdict::Deliver { packets: next - psn };
        }
        let is_late = self.asks(expected, now);
        if psn - expected < self.room {
            let is_held = self.held.has(self.place(psn));
            self.held.insert(self.place(psn));
            return match (is_late, is_held) {
                (true, is_held) => Verdict::Nack { is_kept: !is_held },
                (false, true) => Verdict::Duplicate,
                (false, false) => Verdict::Keep,
            };
        }
        if is_late { Verdict::Nack { is_kept: false } } else { Verdict::Ignore }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at_us;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn receiver(room: u32, allowance: Option<Duration>) -> Receiver {
        Receiver::new(&InAnyOrderConfig { room, allowance, ..Default::default() })
    }

    #[test]
    fn early_packets_are_delivered_with_the_missing_packet() {
        let mut receiver = receiver(4, None);
        assert_eq!(receiver.on_data(0, 0, at_us(0)), Verdict::Deliver { packets: 1 });
        assert_eq!(receiver.on_data(3, 1, at_us(1)), Verdict::Keep);
        assert_eq!(receiver.on_data(2, 1, at_us(2)), Verdict::Keep);
        assert_eq!(receiver.on_data(3, 1, at_us(3)), Verdict::Duplicate);
        // Packet 4 is the last that fits. Packet 5 would use the place of packet 1.
        assert_eq!(receiver.on_data(5, 1, at_us(4)), Verdict::Ignore);
        assert_eq!(receiver.on_data(4, 1, at_us(5)), Verdict::Keep);
        assert_eq!(receiver.on_data(1, 1, at_us(6)), Verdict::Deliver { packets: 4 });
        assert_eq!(receiver.on_data(4, 5, at_us(7)), Verdict::Duplicate);
        assert_eq!(receiver.on_data(5, 5, at_us(8)), Verdict::Deliver { packets: 1 });
    }

    /// The receiver reuses places, so that a flow of any length needs no further places.
    #[test]
    fn places_are_used_again() {
        let receiver = receiver(4, None);
        assert!((0..100).all(|psn| receiver.place(psn) < 4));
    }

    #[test]
    fn one_nack_per_missing_packet_and_allowance() {
        let mut receiver = receiver(100, Some(Duration::from_us(10)));
        assert_eq!(receiver.on_data(1, 0, at_us(0)), Verdict::Keep);
        assert_eq!(receiver.on_data(2, 0, Time::from_ps(9_999_999)), Verdict::Keep);
        assert_eq!(receiver.on_data(3, 0, at_us(10)), Verdict::Nack { is_kept: true });
        assert_eq!(receiver.on_data(4, 0, at_us(19)), Verdict::Keep);
        assert_eq!(receiver.on_data(5, 0, at_us(20)), Verdict::Nack { is_kept: true });
        // The packet that triggered the NACK has been kept.
        assert_eq!(receiver.on_data(0, 0, at_us(21)), Verdict::Deliver { packets: 6 });
        // The next missing packet has its own allowance.
        assert_eq!(receiver.on_data(8, 6, at_us(31)), Verdict::Keep);
        assert_eq!(receiver.on_data(200, 6, at_us(41)), Verdict::Nack { is_kept: false });
        assert_eq!(receiver.on_data(201, 6, at_us(42)), Verdict::Ignore);
    }

    /// The sender goes back, and the missing packet is lost again. Packets that the receiver
    /// already has then trigger the NACK.
    #[test]
    fn known_packets_also_trigger_the_nack() {
        let mut receiver = receiver(100, Some(Duration::from_us(10)));
        assert_eq!(receiver.on_data(1, 0, at_us(0)), Verdict::Keep);
        assert_eq!(receiver.on_data(1, 0, at_us(9)), Verdict::Duplicate);
        assert_eq!(receiver.on_data(1, 0, at_us(10)), Verdict::Nack { is_kept: false });
        assert_eq!(receiver.on_data(1, 0, at_us(11)), Verdict::Duplicate);
    }

    proptest! {
        /// Packets may arrive in any order, repeatedly or not at all: all packets before the first
        /// missing one are delivered.
        #[test]
        fn any_order_delivers_arrived_packets(arrivals in prop::collection::vec(0u32..200, 0..600), room in 1u32..130) {
            let mut receiver = receiver(room, None);
            let (mut expected, mut came) = (0, BTreeSet::new());
            for psn in arrivals {
                let is_new = psn >= expected && !came.contains(&psn);
                let has_room = psn < expected + room;
                match receiver.on_data(psn, expected, at_us(0)) {
                    Verdict::Deliver { packets } => {
                        prop_assert!(psn == expected && is_new);
                        expected += packets;
                        came.insert(psn);
                    }
                    Verdict::Keep => {
                        prop_assert!(psn > expected && is_new && has_room);
                        came.insert(psn);
                    }
                    Verdict::Duplicate => prop_assert!(!is_new),
                    Verdict::Ignore => prop_assert!(is_new && !has_room),
                    Verdict::Nack { .. } => prop_assert!(false, "no NACK without an allowance"),
                }
                prop_assert_eq!(expected, (0..).find(|psn| !came.contains(psn)).unwrap());
            }
        }
    }
}
