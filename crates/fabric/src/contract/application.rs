//! Application of a host: posts messages on connections, and reacts to messages and timers.
//!
//! Sans-IO: an application is told of events at its own host, and requests posts. It reads no clock
//! and no state of other hosts.

use crate::ids::FlowId;
use backwater_engine::Time;
use std::any::Any;

/// A message of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Connection.
    pub connection: FlowId,
    /// Number of the message on its connection, from 0.
    pub number: u32,
    /// Payload bytes, at least 1.
    pub bytes: u64,
    /// Tag for the receiver, as given in the [`Posting`].
    pub tag: u64,
}

/// Announcement of a message to its receiver.
#[derive(Clone, Copy, Debug)]
pub struct Announcement {
    /// The message.
    pub message: Message,
    /// Time at which the message was posted.
    pub at: Time,
}

/// Request to send a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    /// Connection that starts at the host.
    pub connection: FlowId,
    /// Payload bytes, at least 1.
    pub bytes: u64,
    /// Tag for the receiver's application (the immediate data of an RDMA WRITE).
    pub tag: u64,
    /// Number by which the sender's application recognises the message (the `wr_id` of verbs).
    pub id: u64,
}

/// Application of a host.
///
/// The model calls the methods in the order of events at the host. After each call, it sends the
/// posted messages in the order of `posts`, and calls [`wake_at`](Self::wake_at). Events at one
/// instant have this order: arrivals of frames by port, then timers. The ACK of a message's last
/// packet joins its queue before the receiver's application is told of the message.
pub trait Application: Any + Send {
    /// All bytes of `message` arrived at this host.
    fn on_received(&mut self, now: Time, message: &Message, posts: &mut Vec<Posting>);

    /// The message that this host posted with [`Posting::id`] `id` on `connection` is acknowledged.
    fn on_acknowledged(&mut self, now: Time, connection: FlowId, id: u64, posts: &mut Vec<Posting>);

    /// The timer fired: `now` is at or after the time that [`wake_at`](Self::wake_at) returned.
    /// The next timer must be later than `now`.
    fn on_timer(&mut self, now: Time, posts: &mut Vec<Posting>);

    /// Returns the time of the next timer; [`Time::NEVER`] if none is set.
    fn wake_at(&self) -> Time;

    /// Returns true if the application waits for nothing more.
    fn is_done(&self) -> bool;

    /// Returns the heap size in bytes.
    fn heap_bytes(&self) -> u64;
}
