//! Messages of connections, at both ends.

use crate::contract::Announcement;
use crate::frame::Psn;
use backwater_engine::Time;
use backwater_engine::memory::HeapBytes;
use std::collections::VecDeque;

/// Messages that the sender of a connection has posted and that are not acknowledged.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    messages: VecDeque<Posted>,
    /// Number of messages posted so far.
    count: u32,
    /// Payload bytes of all messages posted so far.
    bytes: u64,
    /// Payload bytes of the messages before the present reaction point.
    before_reaction: u64,
    /// Time since which all messages are acknowledged; `None` before the first message, and while
    /// a message is not acknowledged.
    pub(super) idle_since: Option<Time>,
}

/// A posted message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    pub(crate) number: u32,
    /// Number that the application gave to the message.
    pub(super) id: u64,
    /// Numbers of the first packet, and of the packet after the last one.
    pub(crate) packets: [Psn; 2],
    /// Payload bytes of earlier messages.
    before: u64,
    pub(crate) bytes: u64,
    pub(crate) at: Time,
    /// Payload bytes sent more than once.
    pub(crate) retransmitted: u64,
}

impl Outgoing {
    /// Adds a message after the packets before `first`. Returns the message.
    pub(super) fn post(&mut self, id: u64, bytes: u64, [first, mtu]: [u64; 2], at: Time) -> Posted {
        let end = first + bytes.div_ceil(mtu);
        let psn = |psn: u64| Psn::try_from(psn).expect("a connection sends fewer than 2^32 packets");
        let (number, before) = (self.count, self.bytes);
        let posted = Posted { number, id, packets: [psn(first), psn(end)], before, bytes, at, retransmitted: 0 };
        self.messages.push_back(posted);
        self.count += 1;
        self.bytes += bytes;
        posted
    }

    /// Takes the next message whose packets before `acked` are all of its packets.
    pub(super) fn take_acknowledged(&mut self, acked: Psn) -> Option<Posted> {
        self.messages.pop_front_if(|posted| posted.packets[1] <= acked)
    }

    /// Returns the messages that are not acknowledged.
    pub(super) fn unacknowledged(&self) -> impl Iterator<Item = &Posted> {
        self.messages.iter()
    }

    /// Returns the payload bytes of all acknowledged messages.
    pub(super) fn acknowledged_bytes(&self) -> u64 {
        self.messages.front().map_or(self.bytes, |posted| posted.before)
    }

    /// Returns the message of packet `psn`, which is not acknowledged.
    pub(super) fn message_of(&mut self, psn: Psn) -> &mut Posted {
        let place = self.messages.partition_point(|posted| posted.packets[1] <= psn);
        &mut self.messages[place]
    }

    /// Returns the payload bytes of packet `psn`, which is not acknowledged, and true if it is the
    /// first packet of its message.
    #[inline(never)]
    pub(super) fn payload_of(&mut self, psn: Psn, mtu: u64) -> (u64, bool) {
        let posted = self.message_of(psn);
        let before = posted.payload_before(psn, mtu);
        ((posted.bytes - before).min(mtu), psn == posted.packets[0])
    }

    /// Counts payload for a new reaction point from now on. All messages are acknowledged.
    pub(super) fn start_afresh(&mut self) {
        self.before_reaction = self.bytes;
    }

    /// Returns the payload bytes of all packets before `psn`, from the first message of the
    /// reaction point on. Packets of acknowledged messages count as acknowledged.
    #[inline(never)]
    pub(super) fn payload_before(&self, psn: Psn, mtu: u64) -> u64 {
        let place = self.messages.partition_point(|posted| posted.packets[1] <= psn);
        let before = match self.messages.get(place) {
            None => self.bytes,
            Some(posted) => posted.before + posted.payload_before(psn, mtu),
        };
        before - self.before_reaction
    }

    pub(super) fn heap_bytes(&self) -> u64 {
        size_of::<Outgoing>() as u64 + self.messages.heap_bytes()
    }
}

impl Posted {
    /// Returns the payload bytes of the message's packets before `psn`.
    pub(super) fn payload_before(&self, psn: Psn, mtu: u64) -> u64 {
        (u64::from(psn.saturating_sub(self.packets[0])) * mtu).min(self.bytes)
    }
}

/// Messages of a connection that were announced to its receiver and are not complete. The first one
/// may be arriving.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    messages: VecDeque<Announcement>,
    /// Payload bytes of all complete messages.
    pub(super) complete: u64,
}

impl Incoming {
    pub(super) fn announce(&mut self, announcement: Announcement) {
        self.messages.push_back(announcement);
    }

    /// Returns the first message that is not complete.
    pub(super) fn first(&self) -> Option<Announcement> {
        self.messages.front().copied()
    }

    /// Takes the first message, which is complete.
    pub(super) fn take_complete(&mut self) -> Option<Announcement> {
        let complete = self.messages.pop_front()?;
        self.complete += complete.message.bytes;
        Some(complete)
    }

    pub(super) fn heap_bytes(&self) -> u64 {
        size_of::<Incoming>() as u64 + self.messages.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of 2500 B and 1000 B with packets of 1000 B: packets 0 to 2, and packet 3.
    #[test]
    fn packets_of_several_messages_have_their_own_sizes() {
        let mut outgoing = Outgoing::default();
        assert_eq!(outgoing.payload_before(0, 1000), 0);
        let first = outgoing.post(7, 2500, [0, 1000], Time::ZERO);
        let second = outgoing.post(8, 1000, [3, 1000], Time::ZERO);
        assert_eq!((first.packets, second.packets, second.number), ([0, 3], [3, 4], 1));
        let before = |outgoing: &Outgoing| [0, 1, 2, 3, 4].map(|psn| outgoing.payload_before(psn, 1000));
        assert_eq!(before(&outgoing), [0, 1000, 2000, 2500, 3500]);
        assert_eq!([0, 2, 3].map(|psn| outgoing.message_of(psn).id), [7, 7, 8]);
        assert_eq!(outgoing.take_acknowledged(2).map(|posted| posted.id), None);
        assert_eq!(outgoing.take_acknowledged(4).map(|posted| posted.id), Some(7));
        // An old ACK acknowledges what is known to be acknowledged.
        assert_eq!(before(&outgoing), [2500, 2500, 2500, 2500, 3500]);
        assert_eq!(outgoing.take_acknowledged(4).map(|posted| posted.id), Some(8));
        assert_eq!(before(&outgoing), [3500; 5]);
        // A new reaction point counts from 0, also for old ACKs.
        outgoing.start_afresh();
        outgoing.post(9, 1500, [4, 1000], Time::ZERO);
        assert_eq!([0, 4, 5, 6].map(|psn| outgoing.payload_before(psn, 1000)), [0, 0, 1000, 1500]);
        assert_eq!(outgoing.acknowledged_bytes(), 3500);
    }
}
