//! Sink of a node's actions. Nodes have no access to the event queue, clocks, files or sockets: a
//! simulator or a real network can drive them.

use crate::contract::report::{Reception, Report};
use crate::contract::{Announcement, Message};
use crate::frame::record::Records;
use crate::ids::{FlowId, NodeId};
use crate::model::fifo::{Frames, Place};
use crate::model::ledger::FlowAccount;
use crate::model::port::Port;
use crate::network::fabric::Fabric;
use backwater_engine::Time;

/// Receives the actions of nodes.
pub trait Sink {
    /// True if no node needs more than the plain pipeline (`Node::is_plain`) and nothing is traced.
    /// Code for other cases is then left out.
    const PLAIN: bool = false;

    /// Starts the frame at `place`, which has left its queue, on the wire of `port` at `now`. The
    /// transmission ends when the port is no longer busy. `records` holds the frame's side record.
    fn transmit(&mut self, port: &Port, place: Place, now: Time, records: &Records, frames: &mut Frames);
    /// Schedules a wake-up of the node. Wake-ups cannot be cancelled: a node ignores obsolete ones.
    fn schedule(&mut self, wakeup: Wakeup<'_>, at: Time);
    /// Returns true if events at `now` may be traced. Reports for the trace alone may be omitted
    /// otherwise.
    fn traces(&self, now: Time) -> bool;
    /// Reports to the observers.
    fn report(&mut self, report: Report, now: Time);
    /// Announces a message to its receiver, host `to`, before a packet of the message arrives
    /// there.
    fn announce(&mut self, to: NodeId, announcement: Announcement);
    /// Reports the end of a message at one of its hosts.
    fn message(&mut self, event: MessageEvent, now: Time);
}

/// End of a message at one of its hosts.
#[derive(Clone, Debug)]
pub enum MessageEvent {
    /// All bytes arrived at the receiver.
    Received {
        /// The message.
        message: Message,
        /// Time at which the message was posted.
        posted: Time,
        /// Measurements at the receiver.
        reception: Box<Reception>,
        /// Latency breakdown at the receiver, if it is recorded.
        account: Option<Box<FlowAccount>>,
    },
    /// The sender has the acknowledgement of all bytes.
    Acknowledged {
        /// Connection of the message.
        connection: FlowId,
        /// Number of the message.
        number: u32,
        /// Payload bytes sent more than once.
        retransmitted: u64,
        /// Latency breakdown at the sender, if it is recorded.
        account: Option<Box<FlowAccount>>,
    },
}

/// Reason for a wake-up.
#[derive(Clone, Copy, Debug)]
pub enum Wakeup<'a> {
    /// Start of a flow.
    FlowStart(NodeId),
    /// Timer of the flow control for a port.
    FlowControl(&'a Port),
    /// First retransmission timer of a host.
    Retransmission(NodeId),
    /// Port that may be able to send.
    Port(&'a Port),
    /// Timer of a mechanism of the node, or end of a packet's forwarding delay.
    Node(NodeId),
}

/// Environment of a node while it handles one input.
pub struct Env<'a, S> {
    /// Present time.
    pub now: Time,
    /// Fabric, which all nodes share.
    pub fabric: &'a Fabric,
    /// Side records of frames.
    pub records: &'a mut Records,
    /// Frames of all queues and wires.
    pub frames: &'a mut Frames,
    /// Sink of the node's actions.
    pub sink: &'a mut S,
}
