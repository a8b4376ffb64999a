//! Slot *load balancing*: chooses one of several equal-cost ports for a packet.

use crate::contract::diagnostic::Diagnostics;
use crate::contract::facts::{SenderFacts, Site};
use crate::contract::hash::{Entropy, FlowKey};
use crate::contract::hooks::PipelineHooks;
use crate::contract::options::Options;
use crate::contract::packet::PacketContext;
use crate::contract::view::View;
use crate::frame::{Psn, Route};
use crate::ids::{NodeId, PortIx};
use ambassador::delegatable_trait;
use auto_impl::auto_impl;
use backwater_engine::{Duration, Time};

/// Options of a load balancer. They build one instance per switch.
pub trait LoadBalanceOptions: Options {
    /// Load balancer of a switch.
    type Instance: LoadBalance + 'static
    where
        Self: Sized;

    /// Returns true if a flow's path is a pure function of the flow. The model then fixes the path
    /// when the flow starts.
    fn is_static(&self) -> bool {
        false
    }

    /// Returns true if packets of a flow may overtake each other even without losses and PAUSEs.
    fn reorders(&self) -> bool {
        false
    }

    /// Returns true if every packet may take another path than the packet before.
    fn chooses_per_packet(&self) -> bool {
        false
    }

    /// Builds the load balancer of the switch at `site`.
    fn build(&self, site: &Site<'_>) -> Self::Instance
    where
        Self: Sized;

    /// Checks the options against the facts of one switch. The model calls this method for every
    /// kind of switch and reports identical diagnostics once.
    fn check_at_switch(&self, _site: &Site<'_>, _diagnostics: &mut Diagnostics) {}

    /// Returns true if switches send notices back along the packets' path. Packets then record
    /// their path.
    fn needs_trails(&self) -> bool {
        false
    }

    /// Returns true if hosts choose paths. [`LoadBalanceOptions::path_choice`] then returns an
    /// instance.
    fn chooses_paths(&self) -> bool {
        false
    }

    /// Builds the path choice of a flow's sender.
    fn path_choice(&self, _sender: &SenderFacts) -> Option<Box<dyn PathChoice>> {
        None
    }
}

/// Object-safe version of [`LoadBalanceOptions`], for mechanisms of other crates.
pub trait LoadBalanceFactory: LoadBalanceOptions {
    /// See [`LoadBalanceOptions::build`].
    fn boxed(&self, site: &Site<'_>) -> Box<dyn LoadBalance>;
}

impl<T: LoadBalanceOptions> LoadBalanceFactory for T {
    fn boxed(&self, site: &Site<'_>) -> Box<dyn LoadBalance> {
        Box::new(self.build(site))
    }
}

/// Load balancer of a switch: chooses one of several equal-cost ports for a packet, or a whole
/// route.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait LoadBalance: PipelineHooks {
    /// Chooses the egress port or the route of a packet at this switch. Called only if there are at
    /// least two candidates.
    fn choose(&mut self, arrival: &mut RouteRequest<'_>, view: &mut View<'_>) -> Choice;

    /// Passes the load balancer's statistics at `now` to `observer`. They do not affect results.
    fn observe(&self, _now: Time, _observer: &mut dyn FnMut(LbStat)) {}
}

/// Statistic of a load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LbStat {
    /// Number of entries or events, with a name such as `flow_entries`.
    Count(&'static str, u64),
    /// State of a path.
    Path(PathState),
}

/// State that an edge switch keeps of a path to another edge switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathState {
    /// Edge switch at the end of the path.
    pub to: NodeId,
    /// Number among the paths to that switch.
    pub path: u32,
    /// First port of the path.
    pub egress: PortIx,
    /// Estimated delay beyond that of the idle path.
    pub delay: Duration,
    /// True if the path is reserved for congested flows.
    pub is_isolated: bool,
}

/// Load balancing at a host: chooses the path of each packet of a flow.
pub trait PathChoice: Send {
    /// Returns the path of packet `psn`, which is sent now.
    fn next(&mut self, psn: Psn, now: Time) -> Entropy;

    /// An ACK or NACK of a packet that took `path` arrived; `marked` is its ECN echo.
    fn on_answer(&mut self, _path: Entropy, _marked: bool, _now: Time) {}
}

/// Packet with several candidate ports.
pub struct RouteRequest<'a> {
    /// Packet, whose side record the load balancer may change.
    pub packet: PacketContext<'a>,
    /// Destination of the packet.
    pub destination: NodeId,
    /// Key for a hash over the packet's addresses.
    pub key: FlowKey,
    /// Equal-cost ports.
    pub candidates: &'a [PortIx],
}

/// Decision of a load balancer on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Port with this index among the candidates. The next switch chooses again.
    Candidate(usize),
    /// Whole route ([`Route::fixed`]). Its first hop is a port of this switch.
    Route(Route),
}
