//! Slot *flow control*: chooses the queue of each packet, and pauses and resumes the upstream.

use crate::contract::accounts::FlowControlAccounts;
use crate::contract::diagnostic::Diagnostics;
use crate::contract::facts::{FlowControlFacts, Site, Sizes};
use crate::contract::headroom::{IngressGauge, Pressure};
use crate::contract::options::{EffectiveValues, Options};
use crate::contract::packet::{PacketContext, QueueChoice};
use crate::contract::paths::RemainingHops;
use crate::contract::view::View;
use crate::frame::Control;
use crate::frame::cause::Causes;
use crate::ids::{Class, ClassMask, FlowId, PortIx, QueueIx};
use ambassador::delegatable_trait;
use auto_impl::auto_impl;
use backwater_engine::{Duration, Rate};
use get_size2::GetSize;

/// Options of a flow control. They build one instance per node.
pub trait FlowControlOptions: Options {
    /// Flow control of a node.
    type Instance: FlowControl + 'static
    where
        Self: Sized;

    /// Returns the properties that other mechanisms rely on, at a host or at a switch.
    fn facts(&self, is_host: bool) -> FlowControlFacts;

    /// Builds the flow control of the node at `site`.
    fn build(&self, site: &Site<'_>) -> Self::Instance
    where
        Self: Sized;

    /// Checks at `site` that the flow control keeps the guarantee of
    /// [`FlowControlFacts::is_lossless`], together with a lossless buffer policy.
    ///
    /// # Errors
    /// Returns the reason if the guarantee does not hold at `site`; the model then treats drops as
    /// best effort.
    fn check_guarantee(&self, _site: &Site<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Checks the options against the links and against the flow controls of the other switches.
    fn check_among(&self, _network: &FlowControlContext<'_>, _diagnostics: &mut Diagnostics) {}

    /// Returns the effective values of the options. `_base_rtt` is the largest base round-trip time
    /// of the network.
    fn effective_values(&self, _base_rtt: Duration) -> EffectiveValues {
        EffectiveValues::new()
    }
}

/// Network for which the options of a flow control are checked.
#[derive(Clone, Copy, Debug)]
pub struct FlowControlContext<'a> {
    /// Flow controls of all switches, in the order of the first switch that runs each.
    pub running: &'a [RunningFlowControl],
    /// Rate of the fastest link.
    pub fastest: Rate,
    /// Classes that are lossless at switches.
    pub lossless: ClassMask,
    /// True if some hosts relay packets of other hosts.
    pub relays: bool,
    /// Sizes of frames.
    pub sizes: Sizes,
}

/// Flow control that at least one switch runs.
#[derive(Clone, Debug)]
pub struct RunningFlowControl {
    /// Path of the flow control's options in the scenario.
    pub path: String,
    /// Name of the mechanism.
    pub name: &'static str,
    /// Properties at a switch.
    pub facts: FlowControlFacts,
}

/// Object-safe version of [`FlowControlOptions`], for mechanisms of other crates.
pub trait FlowControlFactory: FlowControlOptions {
    /// See [`FlowControlOptions::build`].
    fn boxed(&self, site: &Site<'_>) -> Box<dyn FlowControl>;
}

impl<T: FlowControlOptions> FlowControlFactory for T {
    fn boxed(&self, site: &Site<'_>) -> Box<dyn FlowControl> {
        Box::new(self.build(site))
    }
}

/// Flow that is about to start at a host.
#[derive(Clone, Copy)]
pub struct StartingFlow<'a> {
    /// Flow id.
    pub flow: FlowId,
    /// Traffic class of its data.
    pub class: Class,
    /// Port of the host through which the flow leaves.
    pub port: PortIx,
    /// Ports that the flow's packets pass after `port`.
    pub remaining_hops: RemainingHops<'a>,
}

/// Queues that a flow control adds to every port of a node. Their numbers follow those of the class
/// queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, GetSize)]
pub struct AddedQueues {
    /// Maximum number of added queues at one port.
    pub most: u16,
    /// Destination of the packets that leave an added queue.
    pub stage: Stage,
    /// True if packets may depart in another class than they arrived in. The buffer charges the
    /// class on arrival ([`PacketContext::ingress_class`]), and a PAUSE to the upstream names this
    /// class.
    pub changes_class: bool,
}

/// Destination of the packets that leave a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, GetSize)]
pub enum Stage {
    /// Wire: the queue takes turns with the queues of the classes.
    #[default]
    Wire,
    /// Next queue, chosen by [`FlowControl::next_queue`]. Whenever a data packet starts on the
    /// wire, open queues take turns to advance one packet each. The turns end when a packet has
    /// reached a queue that feeds the wire.
    Queue,
    /// Next queue, as with `Queue`, but every open queue advances one packet.
    QueueAll,
}

/// Flow control between neighbours: chooses the queue of each packet, and pauses and resumes the
/// upstream. A control frame that a hook sends leaves before all waiting packets.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait FlowControl: FlowControlAccounts + Send {
    /// Returns the queues that the flow control needs in addition to the class queues. The result
    /// must not change during a run.
    fn added_queues(&self) -> AddedQueues {
        AddedQueues::default()
    }

    /// Chooses the queue of a packet that arrived. The packet joins the queue after this call.
    /// Default: the queue of the packet's class. Called only if there are added queues or changes
    /// of class.
    fn queue(&mut self, packet: &PacketContext<'_>, _view: &View<'_>) -> QueueChoice {
        packet.by_class()
    }

    /// Chooses the next queue of a packet that leaves `packet.queue`, a queue that does not feed
    /// the wire ([`Stage::Queue`]).
    fn next_queue(&mut self, packet: &PacketContext<'_>, _view: &View<'_>) -> QueueChoice {
        packet.by_class()
    }

    /// Accounts for a charged packet that is about to join its queue. `pressure` is the state of
    /// its ingress port after the charge. Returns false if [`FlowControl::on_enqueue`] has nothing
    /// to do, which makes the packet's way shorter.
    fn count_enqueue(&mut self, _packet: &PacketContext<'_>, _pressure: Pressure) -> bool {
        true
    }

    /// A charged packet has joined its queue. `pressure` is the state of its ingress port after the
    /// charge. Called only if [`FlowControl::count_enqueue`] returned true.
    fn on_enqueue(&mut self, _packet: &PacketContext<'_>, _pressure: Pressure, _view: &mut View<'_>) {}

    /// A packet of a lossless class was dropped for lack of buffer. `packet.queue` is the queue
    /// that it would have joined.
    fn on_refuse(&mut self, _packet: &PacketContext<'_>, _gauge: IngressGauge<'_>, _view: &mut View<'_>) {}

    /// A charged packet moved from one queue to another one of its port.
    fn on_move(&mut self, _packet: &PacketContext<'_>, _from: QueueChoice, _view: &mut View<'_>) {}

    /// Accounts for a charged packet that left its queue for the wire. The buffer policy has
    /// released it. Returns false if [`FlowControl::on_dequeue`] has nothing to do.
    fn count_dequeue(&mut self, _packet: &PacketContext<'_>) -> bool {
        true
    }

    /// A charged packet left its queue for the wire. The buffer policy has released it. Called only
    /// if [`FlowControl::count_dequeue`] returned true.
    fn on_dequeue(&mut self, _packet: &PacketContext<'_>, _gauge: IngressGauge<'_>, _view: &mut View<'_>) {}

    /// Returns false if [`FlowControl::on_flow_start`] and [`FlowControl::on_flow_end`] are the
    /// defaults. Flows then wait for their first turn in little memory. The result must not change
    /// during a run.
    fn follows_flows(&self) -> bool {
        true
    }

    /// A flow starts at this host, or an idle connection resumes. Returns the queue of its port
    /// whose gate holds the flow back. Default: the queue of the flow's class.
    fn on_flow_start(&mut self, flow: StartingFlow<'_>, _view: &mut View<'_>) -> QueueIx {
        QueueIx::of(flow.class)
    }

    /// A flow of this host ended or leaves `port`, or a connection fell idle. The gate of `queue`
    /// held the flow back.
    fn on_flow_end(&mut self, _flow: FlowId, _port: PortIx, _queue: QueueIx, _view: &mut View<'_>) {}

    /// A control frame arrived on `port`, with its causes if it carries any.
    fn on_control(&mut self, _port: PortIx, _control: &Control, _causes: Option<&Causes>, _view: &mut View<'_>) {}

    /// The timer of `port` that was set with [`View::set_timer`] fired.
    fn on_timer(&mut self, _port: PortIx, _view: &mut View<'_>) {}

    /// The timer set with [`View::wake_at`] fired.
    fn on_wake(&mut self, _view: &mut View<'_>) {}

    /// New routes avoid `port`, whose link failed. The packets that waited at `port` are lost.
    fn on_dead_end(&mut self, _port: PortIx, _view: &mut View<'_>) {}

    /// The link of `port` recovered. Both ends discard the state that they exchanged.
    fn on_link_up(&mut self, _port: PortIx, _view: &mut View<'_>) {}
}
