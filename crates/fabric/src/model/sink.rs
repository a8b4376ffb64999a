//! Sink of a node's actions. Nodes have no access to the event queue, clocks, files or sockets: a
//! simulator or a real network can drive them.

use crate::contract::report::Report;
use crate::frame::record::Records;
use crate::ids::NodeId;
use crate::model::fifo::{Frames, Place};
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
