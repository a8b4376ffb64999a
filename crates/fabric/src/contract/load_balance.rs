//! Slot *load balancing*: which of several equal-cost ports a packet takes.

use crate::contract::facts::Site;
use crate::contract::view::View;
use crate::ids::PortIx;
use ambassador::delegatable_trait;
use auto_impl::auto_impl;
use std::fmt::Debug;

/// The options of a load balancer, from which it is built at every switch.
pub trait LoadBalanceOptions: Debug + Send + Sync {
    /// What runs at a switch.
    type Instance: LoadBalance + 'static;

    /// Whether a flow's path is a pure function of the flow, so that it can be fixed when the flow starts.
    fn is_static(&self) -> bool {
        false
    }

    /// The instance that runs at `site`.
    fn build(&self, site: &Site<'_>) -> Self::Instance;
}

/// The same for what another crate plugs in, whatever its instances are.
pub trait LoadBalanceFactory: Debug + Send + Sync {
    /// See [`LoadBalanceOptions::is_static`].
    fn is_static(&self) -> bool;

    /// See [`LoadBalanceOptions::build`].
    fn boxed(&self, site: &Site<'_>) -> Box<dyn LoadBalance>;
}

impl<T: LoadBalanceOptions> LoadBalanceFactory for T {
    fn is_static(&self) -> bool {
        LoadBalanceOptions::is_static(self)
    }

    fn boxed(&self, site: &Site<'_>) -> Box<dyn LoadBalance> {
        Box::new(self.build(site))
    }
}

/// Load balancing: which of several equal-cost ports a packet takes.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait LoadBalance: Send {
    /// Index into `candidates` (at least two) for a packet of the flow named by `key`.
    fn choose(&mut self, key: FlowKey, candidates: &[PortIx], view: &View<'_>) -> usize;
}

/// What a hash over a packet's addresses sees: the same for all packets of a flow in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowKey(pub u64);
