//! Slot *loss recovery*: detects and repairs gaps, at sender and receiver.

use crate::contract::facts::SenderFacts;
use crate::contract::hash::Entropy;
use crate::contract::options::{EffectiveValues, Options};
use crate::frame::Psn;
use ambassador::delegatable_trait;
use auto_impl::auto_impl;
use backwater_engine::{Duration, Time};

/// Options of a loss recovery. The options build the recovery's two parts for every flow.
pub trait RecoveryOptions: Options {
    /// Loss recovery of a flow's sender.
    type Sender: RecoverySender + 'static
    where
        Self: Sized;
    /// Loss recovery of a flow's receiver.
    type Receiver: RecoveryReceiver + 'static
    where
        Self: Sized;

    /// Builds the sender's part for one flow.
    fn sender(&self, sender: &SenderFacts) -> Self::Sender
    where
        Self: Sized;

    /// Builds the receiver's part for one flow.
    fn receiver(&self) -> Self::Receiver
    where
        Self: Sized;

    /// Returns true if answers carry the number of the packet that triggered them
    /// ([`Answer::arrived`]).
    fn is_selective(&self) -> bool {
        false
    }

    /// Returns true if the receiver accepts packets out of order without inferring a loss from a
    /// gap.
    fn tolerates_reordering(&self) -> bool {
        false
    }

    /// Returns the effective values of the options at a sender.
    fn effective_values(&self, _sender: &SenderFacts) -> EffectiveValues {
        EffectiveValues::new()
    }
}

/// Object-safe version of [`RecoveryOptions`], for mechanisms of other crates.
pub trait RecoveryFactory: RecoveryOptions {
    /// See [`RecoveryOptions::sender`].
    fn boxed_sender(&self, sender: &SenderFacts) -> Box<dyn RecoverySender>;

    /// See [`RecoveryOptions::receiver`].
    fn boxed_receiver(&self) -> Box<dyn RecoveryReceiver>;
}

impl<T: RecoveryOptions> RecoveryFactory for T {
    fn boxed_sender(&self, sender: &SenderFacts) -> Box<dyn RecoverySender> {
        Box::new(self.sender(sender))
    }

    fn boxed_receiver(&self) -> Box<dyn RecoveryReceiver> {
        Box::new(self.receiver())
    }
}

/// Progress of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Next packet to send.
    pub next: Psn,
    /// Oldest unacknowledged packet.
    pub acked: Psn,
    /// One more than the highest packet ever sent.
    pub highest: Psn,
}

/// ACK or NACK, as loss recovery receives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// True for a NACK: the receiver requests the expected packet.
    pub is_nack: bool,
    /// Expected packet: the receiver has all packets before it.
    pub expected: Psn,
    /// Packet that triggered the answer; `None` unless recovery is selective
    /// ([`RecoveryOptions::is_selective`]) or hops or paths are echoed.
    pub arrived: Option<Psn>,
    /// Path of the packet that triggered the answer, if hosts choose paths.
    pub path: Option<Entropy>,
}

/// Loss recovery at the sender of one flow.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait RecoverySender: Send {
    /// Returns the next packet to send out of the flow's `packets`, if one may be sent.
    #[inline]
    fn next(&self, progress: &Progress, packets: Psn) -> Option<Psn> {
        Some(progress.next).filter(|next| *next < packets)
    }

    /// Packet `psn`, which [`next`](Self::next) returned, starts on the wire.
    #[inline]
    fn on_sent(&mut self, psn: Psn, progress: &mut Progress) {
        progress.next = psn + 1;
        progress.highest = progress.highest.max(progress.next);
    }

    /// Returns the number of packets between `acked` and `next` that do not count against the
    /// window, because they arrived or are deemed lost.
    #[inline]
    fn not_in_flight(&self, _progress: &Progress) -> u32 {
        0
    }

    /// An ACK or NACK arrived. Updates `progress`. Returns true if the answer starts the repair of
    /// a loss; losses found during a repair do not count.
    fn on_answer(&mut self, answer: &Answer, progress: &mut Progress) -> bool;

    /// The retransmission timer fired: no progress for [`Self::timeout`]. Updates `progress`, or
    /// the mechanism's own state, so that lost packets are sent again.
    fn on_timeout(&mut self, progress: &mut Progress);

    /// Returns the retransmission timeout while packets are in flight; `None` for no timeout.
    fn timeout(&self, progress: &Progress) -> Option<Duration>;
}

/// Decision of a receiver on a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Next packet in order: deliver it together with the kept packets that follow it.
    Deliver {
        /// Number of packets delivered, including this one.
        packets: u32,
    },
    /// Packets before this packet are missing but may still arrive: keep this packet.
    Keep,
    /// Received before: acknowledge again.
    Duplicate,
    /// Packets before this packet are missing: request them.
    Nack {
        /// True if the packet is kept, and was not kept before.
        is_kept: bool,
    },
    /// The packet is dropped without an answer. Either packets before this packet are missing and
    /// already requested, or the receiver has no room for this packet.
    Ignore,
}

/// Loss recovery at the receiver of one flow.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait RecoveryReceiver: Send {
    /// Packet `psn` arrived while `expected` is the next in order. Decides on the packet.
    fn on_data(&mut self, psn: Psn, expected: Psn, now: Time) -> Verdict;
}
