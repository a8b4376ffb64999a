//! Slot *headroom* (the buffer policy): which pool pays for a packet, and when an ingress queue is full.

use crate::contract::accounts::BufferAccounts;
use crate::contract::facts::{HeadroomFacts, Site};
use crate::contract::note::DropCause;
use crate::contract::options::Options;
use crate::contract::packet::PacketContext;
use crate::ids::{Class, ClassMask, PortIx};
use ambassador::delegatable_trait;
use auto_impl::auto_impl;
use backwater_engine::{Bytes, Time};
use serde_json::Value;

/// The options of a buffer policy, from which it is built at every switch.
pub trait HeadroomOptions: Options {
    /// What runs at a switch.
    type Instance: BufferPolicy + 'static
    where
        Self: Sized;

    /// What it is to the mechanisms beside it.
    fn facts(&self) -> HeadroomFacts;

    /// Bytes that it sets aside at `site`: what must fit into the buffer.
    fn reserved(&self, site: &Site<'_>) -> u64;

    /// Bytes that the ports of `site` may hold besides below thresholds that do not yield, where there are such, and the option that says so.
    fn below_thresholds(&self, _site: &Site<'_>) -> Option<(&'static str, u64)> {
        None
    }

    /// Whether any port may fill all of `buffer`, where these classes are lossless, as flow controls want it that bound queues.
    fn shares_all(&self, _buffer: Bytes, _lossless: ClassMask) -> bool {
        false
    }

    /// The instance that runs at `site`; what it sets aside must fit into the buffer.
    fn build(&self, site: &Site<'_>) -> Self::Instance
    where
        Self: Sized;

    /// What the options come to that follow from links and frames: their names, and a value for every port of `site`.
    fn effective_values(&self, _site: &Site<'_>) -> Vec<(&'static str, Vec<Value>)> {
        Vec::new()
    }
}

/// The same for what another crate plugs in, whatever its instances are.
pub trait HeadroomFactory: HeadroomOptions {
    /// See [`HeadroomOptions::build`].
    fn boxed(&self, site: &Site<'_>) -> Box<dyn BufferPolicy>;
}

impl<T: HeadroomOptions> HeadroomFactory for T {
    fn boxed(&self, site: &Site<'_>) -> Box<dyn BufferPolicy> {
        Box::new(self.build(site))
    }
}

/// The buffer policy of a switch: which pool pays for a packet, and when an ingress queue is full.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait BufferPolicy: BufferAccounts + Send {
    /// Charges an arriving packet to a pool, if one takes it.
    fn admit(&mut self, packet: &PacketContext<'_>, now: Time) -> Admission;

    /// A packet of `class` is about to come in on `ingress`: the moment to ask the memory for what [`BufferPolicy::admit`] needs.
    fn prefetch(&self, _ingress: PortIx, _class: Class) {}

    /// Frees a departing packet that was admitted.
    fn release(&mut self, packet: &PacketContext<'_>, now: Time);

    /// Bytes at which an ingress queue is full, as things are (X_off); `None` if it has no such bound: its class is not lossless, or other queues are
    /// bounded.
    fn threshold(&self, _ingress: PortIx, _class: Class) -> Option<u64> {
        None
    }

    /// Which classes of `ingress` are full or below_xon, after a packet of `class` came or went.
    fn pressure(&self, ingress: PortIx, class: Class) -> Pressure;
}

/// What becomes of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// A pool pays for it; what [`BufferPolicy::pressure`] says now.
    Charged(Pressure),
    /// No pool takes it: it is dropped, for this reason.
    Refused(DropCause),
}

/// What the buffer policy finds about an ingress port after an arrival or a departure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Classes whose ingress queue is full: their upstream must stop.
    pub full: ClassMask,
    /// Classes whose ingress queue has room again: their upstream may go.
    pub below_xon: ClassMask,
    /// The port as a whole.
    pub port: PortPressure,
}

impl Pressure {
    /// Whether a queue or the port as a whole is full.
    #[inline]
    pub fn is_full(&self) -> bool {
        !self.full.is_empty() || self.port == PortPressure::Full
    }

    /// What a policy finds that looks at single queues.
    pub fn of_class(class: Class, is_full: bool, is_eased: bool) -> Pressure {
        let class = |it_is| if it_is { ClassMask::of(class) } else { ClassMask::NONE };
        Pressure { full: class(is_full), below_xon: class(is_eased), port: PortPressure::Between }
    }
}

/// What the buffer policy finds about an ingress port as a whole, whatever it finds about its queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortPressure {
    /// All classes of the upstream port must stop.
    Full,
    /// Neither full nor below_xon. Policies that look at queues alone say nothing else.
    #[default]
    Between,
    /// It has room again: those classes may go whose own queue is not full.
    Eased,
}

/// The ingress queue of a packet that came or went, as the buffer policy sees it; read only when someone wants to know.
#[derive(Clone, Copy)]
pub struct Gauge<'a> {
    pub(crate) policy: &'a dyn BufferPolicy,
    pub(crate) packet: &'a PacketContext<'a>,
}

impl Gauge<'_> {
    /// Bytes that the packet's ingress queue holds.
    pub fn held(&self) -> u64 {
        self.policy.held(self.packet.ingress, self.packet.ingress_class)
    }

    /// Which classes of the packet's ingress port are full or below_xon now.
    #[inline]
    pub fn pressure(&self) -> Pressure {
        self.policy.pressure(self.packet.ingress, self.packet.ingress_class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_or_the_port_may_be_full() {
        let of_port = |port| Pressure { port, ..Default::default() };
        for (pressure, is_full) in [
            (Pressure::of_class(Class(3), true, false), true),
            (Pressure::of_class(Class(3), false, true), false),
            (of_port(PortPressure::Full), true),
            (of_port(PortPressure::Eased), false),
            (of_port(PortPressure::Between), false),
        ] {
            assert_eq!(pressure.is_full(), is_full, "{pressure:?}");
        }
    }
}
