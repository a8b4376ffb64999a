//! Operations of a rank, and the dependencies between them.

use backwater_engine::Duration;
use std::fmt::{self, Debug};

/// Position in a job, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(pub u32);

impl Rank {
    /// Returns the position as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Number of an operation among the operations of its rank, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationIx(pub u64);

/// Stream of a rank. A stream runs one computation at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamIx(pub u8);

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Sends a message. Starts when the message is posted, ends when it is acknowledged.
    Send {
        /// Receiver.
        to: Rank,
        /// Payload bytes, at least 1.
        bytes: u64,
        /// Tag for the receiver.
        tag: u64,
        /// Channel: each channel has connections of its own.
        channel: u32,
    },
    /// Receives a message. Starts when the rank is ready for the message, ends when the message has
    /// arrived. A message that arrives earlier waits.
    Receive {
        /// Sender; `None` for any.
        from: Option<Rank>,
        /// Tag of the message; `None` for any.
        tag: Option<u64>,
    },
    /// Computes. Starts when its stream is free, and ends after `length`.
    Compute {
        /// Time on the stream.
        length: Duration,
        /// Stream of the rank.
        stream: StreamIx,
    },
}

impl Operation {
    /// Names of the kinds of operations.
    pub const KINDS: [&str; 3] = ["send", "receive", "compute"];

    /// Returns the name of the kind.
    pub fn kind(&self) -> &'static str {
        let kind = match self {
            Operation::Send { .. } => 0,
            Operation::Receive { .. } => 1,
            Operation::Compute { .. } => 2,
        };
        Operation::KINDS[kind]
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Send { to, bytes, tag, .. } => write!(f, "send of {bytes} B to rank {} with tag {tag}", to.0),
            Operation::Receive { from, tag } => {
                match from {
                    Some(from) => write!(f, "receive from rank {}", from.0)?,
                    None => write!(f, "receive from any rank")?,
                }
                match tag {
                    Some(tag) => write!(f, " with tag {tag}"),
                    None => write!(f, " with any tag"),
                }
            }
            Operation::Compute { length, .. } => write!(f, "computation of {length}"),
        }
    }
}

/// Event of an operation that another operation waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum After {
    /// Start of the operation.
    Start,
    /// End of the operation.
    End,
}

/// Way in which messages find the receives that wait for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matching {
    /// A message ends the first receive, in order of their starts, whose sender and tag match.
    Tag,
    /// The tag of a message is the number of the receive. Receives have no prerequisites and start
    /// with their messages.
    Operation,
}

/// Operations of all ranks of a job. Every call returns the same operations.
pub trait Operations: Debug + Send + Sync {
    /// Returns the number of ranks.
    fn ranks(&self) -> u32;

    /// Returns the number of operations of a rank.
    fn count(&self, rank: Rank) -> u64;

    /// Returns an operation.
    fn get(&self, rank: Rank, operation: OperationIx) -> Operation;

    /// Calls `visit` with the operations that start at once, in order. Under
    /// [`Matching::Operation`], receives are left out.
    fn visit_first(&self, rank: Rank, visit: &mut dyn FnMut(OperationIx));

    /// Returns the number of events that an operation waits for before it starts.
    fn prerequisites(&self, rank: Rank, operation: OperationIx) -> u32;

    /// Calls `visit` with the operations that wait for an event of `operation`, in order.
    fn visit_dependents(&self, rank: Rank, operation: OperationIx, after: After, visit: &mut dyn FnMut(OperationIx));

    /// Returns the way in which messages find receives.
    fn matching(&self) -> Matching;

    /// Returns the number of iterations; `None` if all operations are one iteration, which ends
    /// with the last operation.
    fn iterations(&self) -> Option<u32>;

    /// Returns the iteration that begins when `operation` ends. The previous iteration ends when
    /// this operation's prerequisites have occurred. After the last iteration, an operation of this
    /// kind ends the rank. `None` for all other operations.
    fn begins(&self, rank: Rank, operation: OperationIx) -> Option<u32>;

    /// Returns the heap size in bytes.
    fn heap_bytes(&self) -> u64;
}
