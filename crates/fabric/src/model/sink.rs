//! Where nodes push what they do: they never see the event set, a clock, a file or a socket, so that whatever drives them can be a simulator or a
//! wire.

use crate::contract::report::Report;
use crate::frame::Frame;
use crate::frame::record::Records;
use crate::ids::NodeId;
use crate::model::fifo::Frames;
use crate::model::port::Port;
use crate::network::fabric::Fabric;
use backwater_engine::Time;

/// Takes what nodes do.
pub trait Sink {
    /// `frame`, whose side record is among `records`, starts on the wire of `port` now and has left when the port is no longer busy.
    fn transmit(&mut self, port: &Port, frame: &Frame, records: &Records);
    /// Wake the node at `at`. Wake-ups cannot be cancelled: a node ignores those that it no longer waits for.
    fn schedule(&mut self, wakeup: Wakeup<'_>, at: Time);
    /// Whether what happens now may be traced: what is told for the trace alone need not be told otherwise.
    fn traces(&self) -> bool;
    /// Something worth telling has happened.
    fn report(&mut self, report: Report);
}

/// What a node is woken for.
#[derive(Clone, Copy, Debug)]
pub enum Wakeup<'a> {
    /// A flow becomes ready to send.
    FlowStart(NodeId),
    /// The timer that flow control set for a port.
    FlowControl(&'a Port),
    /// The first of a host's retransmission timers.
    Retransmission(NodeId),
    /// A port may have something to send.
    Port(&'a Port),
    /// A mechanism of the node has asked for it, or a packet that it forwards has been delayed until now.
    Node(NodeId),
}

/// What a node works with while it handles one input.
pub struct Env<'a, S> {
    /// The present.
    pub now: Time,
    /// What all nodes share.
    pub fabric: &'a Fabric,
    /// Side records of frames.
    pub records: &'a mut Records,
    /// Where the frames of all queues stand.
    pub frames: &'a mut Frames,
    /// Where effects go.
    pub sink: &'a mut S,
}
