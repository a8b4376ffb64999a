//! Slot *flow control*: which queue a packet joins, and when the upstream is paused and resumed.

use crate::contract::accounts::FlowControlAccounts;
use crate::contract::facts::{FlowControlFacts, Site, Sizes};
use crate::contract::headroom::{Gauge, Pressure};
use crate::contract::options::{EffectiveValues, Findings, Options};
use crate::contract::packet::PacketContext;
use crate::contract::paths::RemainingHops;
use crate::contract::view::View;
use crate::frame::Control;
use crate::frame::cause::Causes;
use crate::ids::{Class, ClassMask, FlowId, PortIx, QueueIx};
use ambassador::delegatable_trait;
use auto_impl::auto_impl;
use backwater_engine::{Duration, Rate};
use get_size2::GetSize;

/// The options of a flow control, from which it is built at every node.
pub trait FlowControlOptions: Options {
    /// What runs at a node.
    type Instance: FlowControl + 'static
    where
        Self: Sized;

    /// What it is to others, at a host or at a switch.
    fn facts(&self, is_host: bool) -> FlowControlFacts;

    /// The instance that runs at `site`.
    fn build(&self, site: &Site<'_>) -> Self::Instance
    where
        Self: Sized;

    /// Whether it loses no packet of a lossless class at `site`, as [`FlowControlFacts::is_lossless`] has it, with a buffer policy that does not either.
    ///
    /// # Errors
    /// What stands against it.
    fn check_guarantee(&self, _site: &Site<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Checks what a schema cannot say of the options among those of the other switches, and on these links.
    fn check_among(&self, _network: &FlowControlContext<'_>, _findings: &mut Findings) {}

    /// What the options come to in a network with this longest base round-trip time.
    fn effective_values(&self, _base_rtt: Duration) -> EffectiveValues {
        EffectiveValues::new()
    }
}

/// The network for which the options of a flow control are checked.
#[derive(Clone, Copy, Debug)]
pub struct FlowControlContext<'a> {
    /// The flow controls of all switches, in the order of the first switch that runs each.
    pub running: &'a [RunningFlowControl],
    /// Rate of the fastest link.
    pub fastest: Rate,
    /// Classes that are lossless at switches.
    pub lossless: ClassMask,
    /// Whether there are hosts through which packets of others pass.
    pub relays: bool,
    /// Sizes of frames.
    pub sizes: Sizes,
}

/// A flow control that some of the switches run.
#[derive(Clone, Debug)]
pub struct RunningFlowControl {
    /// Where the scenario has its options.
    pub path: String,
    /// Its name.
    pub name: &'static str,
    /// What it is to others at a switch.
    pub facts: FlowControlFacts,
}

/// The same for what another crate plugs in, whatever its instances are.
pub trait FlowControlFactory: FlowControlOptions {
    /// See [`FlowControlOptions::build`].
    fn boxed(&self, site: &Site<'_>) -> Box<dyn FlowControl>;
}

impl<T: FlowControlOptions> FlowControlFactory for T {
    fn boxed(&self, site: &Site<'_>) -> Box<dyn FlowControl> {
        Box::new(self.build(site))
    }
}

/// Where a packet is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueChoice {
    /// The queue of its egress port.
    pub queue: QueueIx,
    /// The class in which it leaves, one of data; another one than that in which it came only where [`AddedQueues::changes_class`] says so.
    pub class: Class,
    /// What its [`PacketContext`] tells from now on.
    pub note: u32,
}

/// A flow that is about to start at a host.
#[derive(Clone, Copy)]
pub struct StartingFlow<'a> {
    /// Its number.
    pub flow: FlowId,
    /// Traffic class of its data.
    pub class: Class,
    /// The port through which it leaves the host.
    pub port: PortIx,
    /// The ports that its packets pass behind that one.
    pub remaining_hops: RemainingHops<'a>,
}

/// Queues that a flow control adds to every port of a node; they follow those of the classes in number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, GetSize)]
pub struct AddedQueues {
    /// The most at one port.
    pub most: QueueIx,
    /// Where their packets go.
    pub stage: Stage,
    /// Whether packets may leave in another class than that in which they came. What they are charged to, and what a PAUSE to the upstream names, is the
    /// class in which they came ([`PacketContext::came`]).
    pub changes_class: bool,
}

/// Where packets go that leave a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, GetSize)]
pub enum Stage {
    /// Onto the wire, in turn with the queues of the classes.
    #[default]
    Wire,
    /// Into the next queue, which [`FlowControl::next_queue`] names: whenever a packet of a data class goes onto the wire, open queues hand one
    /// packet each on, in turn, until one has come to a queue that leads to the wire.
    Queue,
    /// The same, but every open queue hands one packet on.
    QueueAll,
}

/// Flow control between neighbours: which queue a packet joins, and when the upstream is paused and resumed.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait FlowControl: FlowControlAccounts + Send {
    /// The queues that it needs at every port besides those of the classes. Never changes.
    fn added_queues(&self) -> AddedQueues {
        AddedQueues::default()
    }

    /// The queue of its egress port that a packet joins which has come in. Default: that of its class; so it is for all packets where no queues are
    /// added and no classes changed, and this is not called.
    fn queue(&mut self, packet: &PacketContext<'_>, _view: &View<'_>) -> QueueChoice {
        packet.by_class()
    }

    /// The queue that a packet joins next which leaves the queue of `from`, one that does not lead to the wire ([`Stage::Queue`]).
    fn next_queue(&mut self, packet: &PacketContext<'_>, _view: &View<'_>) -> QueueChoice {
        packet.by_class()
    }

    /// A charged packet has joined its queue; what the buffer policy has found about its ingress port.
    fn on_enqueue(&mut self, _packet: &PacketContext<'_>, _pressure: Pressure, _view: &mut View<'_>) {}

    /// A packet of a lossless class is lost for lack of headroom; its queue is the one it would have joined.
    fn on_refuse(&mut self, _packet: &PacketContext<'_>, _gauge: Gauge<'_>, _view: &mut View<'_>) {}

    /// A charged packet has left one queue for another one.
    fn on_move(&mut self, _packet: &PacketContext<'_>, _from: QueueChoice, _view: &mut View<'_>) {}

    /// A charged packet has left its queue for the wire.
    fn on_dequeue(&mut self, _packet: &PacketContext<'_>, _gauge: Gauge<'_>, _view: &mut View<'_>) {}

    /// A flow starts at this host: the queue of its port whose gate holds it back. Default: that of its class.
    fn on_flow_start(&mut self, flow: StartingFlow<'_>, _view: &mut View<'_>) -> QueueIx {
        QueueIx::from(flow.class.0)
    }

    /// A flow of this host, which was held back by the gate of `queue`, is acknowledged in full.
    fn on_flow_end(&mut self, _flow: FlowId, _port: PortIx, _queue: QueueIx, _view: &mut View<'_>) {}

    /// A control frame has arrived on `port`; the causes that travel with it, if it has any.
    fn on_control(&mut self, _port: PortIx, _control: &Control, _causes: Option<&Causes>, _view: &mut View<'_>) {}

    /// The timer that was set for `port` is due.
    fn on_timer(&mut self, _port: PortIx, _view: &mut View<'_>) {}

    /// The time has come that it asked for with [`View::wake_at`].
    fn on_wake(&mut self, _view: &mut View<'_>) {}

    /// Routes avoid `port`, whose link is down: what waited there is lost.
    fn on_dead_end(&mut self, _port: PortIx, _view: &mut View<'_>) {}

    /// The link of `port` has come back: both ends discard the state they exchanged.
    fn on_link_up(&mut self, _port: PortIx, _view: &mut View<'_>) {}
}
