//! Slot *loss recovery*: what sender and receiver do about gaps.

use crate::contract::facts::SenderFacts;
use crate::contract::load_balance::Entropy;
use crate::contract::options::{EffectiveValues, Options};
use crate::frame::Psn;
use ambassador::delegatable_trait;
use auto_impl::auto_impl;
use backwater_engine::{Duration, Time};

/// The options of a loss recovery, from which its two parts are built for every flow.
pub trait RecoveryOptions: Options {
    /// What runs at a flow's sender.
    type Sender: RecoverySender + 'static
    where
        Self: Sized;
    /// What runs at a flow's receiver.
    type Receiver: RecoveryReceiver + 'static
    where
        Self: Sized;

    /// What a flow's sender does.
    fn sender(&self, sender: &SenderFacts) -> Self::Sender
    where
        Self: Sized;

    /// What a flow's receiver does.
    fn receiver(&self) -> Self::Receiver
    where
        Self: Sized;

    /// Whether answers name the packet that has come.
    fn is_selective(&self) -> bool {
        false
    }

    /// Whether the receiver takes packets in any order: what comes early is not taken for a loss of what should have come before.
    fn tolerates_reordering(&self) -> bool {
        false
    }

    /// What the options come to at a sender.
    fn effective_values(&self, _sender: &SenderFacts) -> EffectiveValues {
        EffectiveValues::new()
    }
}

/// The same for what another crate plugs in, whatever its instances are.
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

/// How far a sender is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The next packet to send.
    pub next: Psn,
    /// The oldest packet not acknowledged.
    pub acked: Psn,
    /// One more than the highest packet ever sent.
    pub highest: Psn,
}

/// What a receiver says of a data packet that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether it asks for the packet that it expects: a NACK.
    pub asks: bool,
    /// The packet that it expects: everything before has arrived.
    pub expected: Psn,
    /// The packet that has come; `None` if nobody has asked for it ([`RecoveryOptions::is_selective`], a choice of paths).
    pub arrived: Option<Psn>,
    /// The path that it has taken, where hosts choose paths.
    pub path: Option<Entropy>,
}

/// Loss recovery at the sender of one flow.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait RecoverySender: Send {
    /// The packet of the flow's `packets` that is sent next, if one may be.
    #[inline]
    fn next(&self, progress: &Progress, packets: Psn) -> Option<Psn> {
        Some(progress.next).filter(|next| *next < packets)
    }

    /// Packet `psn`, the one that was [`next`](Self::next), goes onto the wire.
    #[inline]
    fn on_sent(&mut self, psn: Psn, progress: &mut Progress) {
        progress.next = psn + 1;
        progress.highest = progress.highest.max(progress.next);
    }

    /// How many packets between `acked` and `next` do not count against a window: they have arrived, or are lost.
    #[inline]
    fn settled(&self, _progress: &Progress) -> u32 {
        0
    }

    /// An answer of the receiver has come; whether it begins to repair a loss by that. Losses found while it repairs others are no news.
    fn on_answer(&mut self, answer: &Answer, progress: &mut Progress) -> bool;

    /// Nothing was acknowledged for [`Self::timeout`].
    fn on_timeout(&mut self, progress: &mut Progress);

    /// How long a sender with packets in flight waits for progress; `None`: for ever.
    fn timeout(&self, progress: &Progress) -> Option<Duration>;
}

/// What a receiver does with a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The next one in order: deliver it, and those kept that follow it.
    Deliver {
        /// How many these are, itself included.
        packets: u32,
    },
    /// Something before it is missing, but may still come: it is kept.
    Keep,
    /// Had it already: acknowledge again.
    Duplicate,
    /// Something before it is missing: ask for it.
    Nack {
        /// Whether the packet itself is kept, and was not before.
        is_kept: bool,
    },
    /// Something before it is missing and has been asked for.
    Ignore,
}

/// Loss recovery at the receiver of one flow.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait RecoveryReceiver: Send {
    /// Packet `psn` has arrived while `expected` is the next in order.
    fn on_data(&mut self, psn: Psn, expected: Psn, now: Time) -> Verdict;
}
