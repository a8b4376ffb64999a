//! Keys of events, which define the order of simultaneous events.

use crate::driver::wire::{WireArrival, wire_index};
use crate::ids::ID_LIMIT;
use crate::model::port::WireIx;
use backwater_engine::Time;
use backwater_engine::events::{Event, KEY_BITS};

/// Kinds of events, in the order of handling within an instant.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    LinkDown,
    LinkUp,
    Arrive,
    FlowStart,
    FlowControl,
    Retransmission,
    Port,
    Node,
}

/// A key holds the kind of the event and an id: the wire at whose port the event is, or the node.
/// Keys of arrivals also hold the age of the sender's burst.
pub(super) const KIND_SHIFT: u32 = KEY_BITS - 3;
pub(super) const AGE_SHIFT: u32 = 27;
pub(super) const AGE_MAX: u64 = (1 << (KIND_SHIFT - AGE_SHIFT)) - 1;
const _: () = assert!(ID_LIMIT == 1 << AGE_SHIFT);

#[inline]
pub(super) fn event(kind: Kind, id: u32, time: Time) -> Event {
    Event { time, key: (kind as u64) << KIND_SHIFT | u64::from(id) }
}

#[inline]
pub(super) fn kind_of(key: u64) -> Kind {
    match key >> KIND_SHIFT & 7 {
        0 => Kind::LinkDown,
        1 => Kind::LinkUp,
        2 => Kind::Arrive,
        3 => Kind::FlowStart,
        4 => Kind::FlowControl,
        5 => Kind::Retransmission,
        6 => Kind::Port,
        _ => Kind::Node,
    }
}

#[inline]
pub(super) fn id_of(key: u64) -> u32 {
    key as u32 & (ID_LIMIT - 1)
}

/// Returns the arrival event of a frame on `wire`.
#[inline]
pub(super) fn arrival(wire: WireIx, WireArrival { at, burst_age }: WireArrival) -> Event {
    let Event { time, key } = event(Kind::Arrive, wire_index(wire), at);
    Event { time, key: key | u64::from(burst_age) << AGE_SHIFT }
}
