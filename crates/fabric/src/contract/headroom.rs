//! Slot *headroom* (buffer policy): charges packets to pools, and determines when an ingress queue
//! is full.

use crate::contract::accounts::BufferAccounts;
use crate::contract::facts::{HeadroomFacts, Site};
use crate::contract::options::Options;
use crate::contract::packet::PacketContext;
use crate::contract::report::DropCause;
use crate::ids::{Class, ClassMask, PortIx};
use ambassador::delegatable_trait;
use auto_impl::auto_impl;
use backwater_engine::{Bytes, Time};
use serde_json::Value;

/// Options of a buffer policy. They build one instance per switch.
pub trait HeadroomOptions: Options {
    /// Buffer policy of a switch.
    type Instance: BufferPolicy + 'static
    where
        Self: Sized;

    /// Returns the properties that other mechanisms rely on.
    fn facts(&self) -> HeadroomFacts;

    /// Returns the bytes that the policy reserves at `site`. The reserved bytes must fit into the
    /// buffer.
    fn reserved(&self, site: &Site<'_>) -> u64;

    /// Returns the bytes that ingress queues may hold below fixed thresholds, with the name of the
    /// option that sets these thresholds. `None` if thresholds are not fixed.
    fn below_thresholds(&self, _site: &Site<'_>) -> Option<(&'static str, u64)> {
        None
    }

    /// Returns true if any port may fill all of `buffer` with packets of `lossless` classes. Flow
    /// controls that bound egress queues need such a policy.
    fn shares_buffer(&self, _buffer: Bytes, _lossless: ClassMask) -> bool {
        false
    }

    /// Builds the buffer policy of the switch at `site`. The caller has checked that the policy's
    /// reserved bytes fit into the buffer.
    fn build(&self, site: &Site<'_>) -> Self::Instance
    where
        Self: Sized;

    /// Returns the effective values that follow from links and frames: each name with one value per
    /// port of `site`.
    fn effective_values(&self, _site: &Site<'_>) -> Vec<(&'static str, Vec<Value>)> {
        Vec::new()
    }
}

/// Object-safe version of [`HeadroomOptions`], for mechanisms of other crates.
pub trait HeadroomFactory: HeadroomOptions {
    /// See [`HeadroomOptions::build`].
    fn boxed(&self, site: &Site<'_>) -> Box<dyn BufferPolicy>;
}

impl<T: HeadroomOptions> HeadroomFactory for T {
    fn boxed(&self, site: &Site<'_>) -> Box<dyn BufferPolicy> {
        Box::new(self.build(site))
    }
}

/// Buffer policy of a switch: charges packets to pools, and determines when an ingress queue is
/// full.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait BufferPolicy: BufferAccounts + Send {
    /// Charges an arriving packet to a pool, or refuses it. A refused packet is dropped.
    fn admit(&mut self, packet: &PacketContext<'_>, now: Time) -> Admission;

    /// Releases the bytes of a departing packet that was admitted.
    fn release(&mut self, packet: &PacketContext<'_>, now: Time);

    /// Returns the present size at which an ingress queue is full (X_off). `None` if the queue has
    /// no threshold: the queue's class is lossy, or the policy bounds egress queues only.
    fn threshold(&self, _ingress: PortIx, _class: Class) -> Option<u64> {
        None
    }

    /// Returns the state of the classes of `ingress` after a packet of `class` was charged or
    /// released.
    fn pressure(&self, ingress: PortIx, class: Class) -> Pressure;
}

/// Decision on an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Charged to a pool. Carries the present [`BufferPolicy::pressure`].
    Charged(Pressure),
    /// Refused by all pools: the packet is dropped for this cause.
    Refused(DropCause),
}

/// State of an ingress port after a packet was charged or released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Classes whose ingress queue is full: their upstream must pause.
    pub full: ClassMask,
    /// Classes whose ingress queue is below X_on: their upstream may resume.
    pub below_xon: ClassMask,
    /// State of the port as a whole.
    pub port: PortPressure,
}

impl Pressure {
    /// Returns true if a queue or the port as a whole is full.
    #[inline]
    pub fn is_full(&self) -> bool {
        !self.full.is_empty() || self.port == PortPressure::Full
    }

    /// Returns the pressure of a policy that has no thresholds for whole ports.
    pub fn of_class(class: Class, is_full: bool, is_below_xon: bool) -> Pressure {
        let class = |condition| if condition { ClassMask::of(class) } else { ClassMask::NONE };
        Pressure { full: class(is_full), below_xon: class(is_below_xon), port: PortPressure::Between }
    }
}

/// State of an ingress port as a whole, independent of its queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortPressure {
    /// All classes of the upstream port must pause.
    Full,
    /// Neither full nor below X_on. Policies without thresholds for whole ports report only this
    /// state.
    #[default]
    Between,
    /// Below X_on: classes whose own queue is not full may resume.
    BelowXon,
}

/// Buffer policy's view of a packet's ingress queue, after the packet was charged or released.
#[derive(Clone, Copy)]
pub struct IngressGauge<'a> {
    pub(crate) policy: &'a dyn BufferPolicy,
    pub(crate) packet: &'a PacketContext<'a>,
}

impl IngressGauge<'_> {
    /// Returns the bytes charged to the packet's ingress queue.
    pub fn occupancy(&self) -> u64 {
        self.policy.ingress_occupancy(self.packet.ingress(), self.packet.ingress_class())
    }

    /// Returns the present state of the packet's ingress port.
    #[inline]
    pub fn pressure(&self) -> Pressure {
        self.policy.pressure(self.packet.ingress(), self.packet.ingress_class())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_is_full_if_a_queue_or_the_port_is() {
        let of_port = |port| Pressure { port, ..Default::default() };
        for (pressure, is_full) in [
            (Pressure::of_class(Class(3), true, false), true),
            (Pressure::of_class(Class(3), false, true), false),
            (of_port(PortPressure::Full), true),
            (of_port(PortPressure::BelowXon), false),
            (of_port(PortPressure::Between), false),
        ] {
            assert_eq!(pressure.is_full(), is_full, "{pressure:?}");
        }
    }
}
