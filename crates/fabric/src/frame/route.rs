//! Routes of packets: egress ports fixed at the source, or a destination alone.

use crate::ids::{NodeId, PortIx};
use get_size2::GetSize;

/// Maximum number of egress ports in a fixed route. Longer paths are looked up hop by hop.
pub const MAX_HOPS: usize = 7;

/// Maximum number of switches that a packet passes if it is routed hop by hop: the usual time to
/// live of IP, 64.
pub const TIME_TO_LIVE: u8 = 64;

/// Route of a packet. A fixed route lists the egress ports from the source host to the last switch.
/// Otherwise the route is a destination, and every switch looks up the next hop.
///
/// A route takes eight bytes, because every queued packet holds one. Hence fixed routes have at
/// most [`MAX_HOPS`] ports, with numbers up to 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq, GetSize)]
pub struct Route {
    /// Ports of a fixed route. Without a fixed route: the destination in the first four bytes, the
    /// time to live in the fifth.
    hops: [u8; MAX_HOPS],
    /// Upper half: number of ports. Lower half: index of the next port.
    cursor: u8,
}

impl Route {
    /// Creates a route that is looked up hop by hop.
    pub fn towards(destination: NodeId) -> Route {
        let [a, b, c, d] = destination.0.to_le_bytes();
        Route { hops: [a, b, c, d, TIME_TO_LIVE, 0, 0], cursor: 0 }
    }

    /// Creates a fixed route; `None` if it has more than [`MAX_HOPS`] ports or a port above 255.
    pub fn fixed(ports: &[PortIx]) -> Option<Route> {
        let mut route = Route { hops: [0; MAX_HOPS], cursor: (ports.len() as u8) << 4 };
        for (hop, port) in route.hops.get_mut(..ports.len())?.iter_mut().zip(ports) {
            *hop = u8::try_from(port.0).ok()?;
        }
        Some(route)
    }

    /// Creates a fixed route of a packet that has passed all its `ports`.
    pub fn completed(ports: &[PortIx]) -> Option<Route> {
        let route = Route::fixed(ports)?;
        Some(Route { cursor: route.cursor | route.cursor >> 4, ..route })
    }

    /// Appends `port` to a fixed route; `None` if there is no room, or if the port's number is
    /// above 255.
    pub fn then(mut self, port: PortIx) -> Option<Route> {
        let hops = self.cursor >> 4;
        *self.hops.get_mut(usize::from(hops))? = u8::try_from(port.0).ok()?;
        self.cursor += 1 << 4;
        Some(self)
    }

    /// Prepends the egress ports `past`, which the packet has passed, to a fixed route. Returns the
    /// route unchanged if there is no room, or if a port's number is above 255.
    pub fn with_passed(self, past: &[PortIx]) -> Route {
        let ahead = &self.hops[usize::from(self.cursor & 0xf)..usize::from(self.cursor >> 4)];
        let Some(mut whole) = Route::fixed(past) else { return self };
        let Some(hops) = whole.hops.get_mut(past.len()..past.len() + ahead.len()) else { return self };
        hops.copy_from_slice(ahead);
        Route { cursor: ((past.len() + ahead.len()) as u8) << 4 | past.len() as u8, ..whole }
    }

    /// Returns the packet's next hop.
    #[inline]
    pub fn next(&self) -> NextHop {
        let (hop, hops) = (self.cursor & 0xf, self.cursor >> 4);
        if hop < hops {
            NextHop::Port(PortIx(self.hops[usize::from(hop)].into()))
        } else if hops > 0 {
            NextHop::Arrived
        } else {
            let [a, b, c, d, ..] = self.hops;
            NextHop::Towards(NodeId(u32::from_le_bytes([a, b, c, d])))
        }
    }

    /// Returns the destination, if the route is looked up hop by hop.
    pub fn destination(&self) -> Option<NodeId> {
        match self.next() {
            NextHop::Towards(destination) => Some(destination),
            NextHop::Port(_) | NextHop::Arrived => None,
        }
    }

    /// Advances a fixed route past its first hop.
    pub fn after_first(mut self) -> Route {
        self.advance();
        self
    }

    /// Advances the route by one hop, or decrements the time to live if the route is looked up hop
    /// by hop. Returns false if the time to live has expired: the packet is in a routing loop.
    #[inline]
    pub fn advance(&mut self) -> bool {
        if self.cursor > 0 {
            self.cursor += 1;
            return true;
        }
        self.hops[4] = self.hops[4].saturating_sub(1);
        self.hops[4] > 0
    }

    /// Returns the egress ports of a fixed route that the packet has passed, from the source host
    /// on.
    pub fn passed(&self) -> impl Iterator<Item = PortIx> + '_ {
        self.hops[..usize::from(self.cursor & 0xf)].iter().map(|port| PortIx((*port).into()))
    }

    /// Returns the full route of a packet that has arrived, where `trail` lists the ports that it
    /// passed before it received a fixed route. `None` if the path is not known.
    pub fn full_route(self, trail: Option<&[PortIx]>) -> Option<Route> {
        match self.next() {
            NextHop::Arrived => Some(self).filter(|route| {
                let trail = trail.unwrap_or_default();
                route.passed().take(trail.len()).eq(trail.iter().copied())
            }),
            // A trail that is shorter than the number of passed links has been truncated.
            NextHop::Towards(_) => {
                Route::completed(trail.filter(|trail| trail.len() == usize::from(self.links_passed()))?)
            }
            NextHop::Port(_) => None,
        }
    }

    /// Returns the number of links passed so far, including the source host's.
    pub fn links_passed(&self) -> u8 {
        if self.cursor > 0 { self.cursor & 0xf } else { TIME_TO_LIVE - self.hops[4] + 1 }
    }

    /// Returns the remaining egress ports of a fixed route.
    pub fn remaining(&self) -> impl Iterator<Item = PortIx> + '_ {
        let hops = &self.hops[usize::from(self.cursor & 0xf)..usize::from(self.cursor >> 4)];
        hops.iter().map(|port| PortIx((*port).into()))
    }
}

/// Next hop of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// Egress port, given by a fixed route.
    Port(PortIx),
    /// None: the node is the destination.
    Arrived,
    /// Any egress port on a path to this host.
    Towards(NodeId),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(numbers: &[u16]) -> Vec<PortIx> {
        numbers.iter().copied().map(PortIx).collect()
    }

    /// If a packet received a fixed route on its way, the full route is the packet's trail,
    /// followed by that fixed route. Otherwise the trail alone is the full route. A trail or a
    /// route can be too long to be recorded.
    #[test]
    fn the_full_route_joins_route_and_trail() {
        let arrived = |numbers: &[u16]| Route::completed(&ports(numbers)).expect("few hops fit");
        let onward = Route::fixed(&ports(&[4, 5])).expect("two hops fit");
        assert_eq!(arrived(&[1, 4, 5]).full_route(Some(&ports(&[1]))), Some(arrived(&[1, 4, 5])));
        assert_eq!(arrived(&[1, 4, 5]).full_route(None), Some(arrived(&[1, 4, 5])));
        assert_eq!(arrived(&[4, 5]).full_route(Some(&ports(&[1]))), None);
        let mut towards = Route::towards(NodeId(3));
        assert_eq!(towards.full_route(Some(&ports(&[1]))), Some(arrived(&[1])));
        assert_eq!([towards.full_route(Some(&ports(&[1, 2]))), towards.full_route(None)], [None; 2]);
        assert!(towards.advance());
        assert_eq!(towards.full_route(Some(&ports(&[1, 2]))), Some(arrived(&[1, 2])));
        assert_eq!(onward.full_route(None), None);
    }

    #[test]
    fn a_route_leads_from_port_to_port_and_ends() {
        let mut route = Route::fixed(&ports(&[4, 0, 255, 1, 2, 3, 9])).expect("seven hops fit");
        for port in [4, 0, 255, 1, 2, 3, 9] {
            assert_eq!(route.next(), NextHop::Port(PortIx(port)));
            route.advance();
        }
        assert_eq!(route.next(), NextHop::Arrived);
        assert_eq!((route.passed().count(), route.remaining().count()), (7, 0));
        let onward = Route::fixed(&ports(&[4, 5])).expect("two hops fit").with_passed(&ports(&[1, 2]));
        assert_eq!((onward.passed().collect(), onward.next()), (ports(&[1, 2]), NextHop::Port(PortIx(4))));
        assert_eq!(onward.remaining().collect::<Vec<_>>(), ports(&[4, 5]));
        assert_eq!(onward.with_passed(&ports(&[0; MAX_HOPS])), onward);
        let short = Route::fixed(&ports(&[4])).expect("it fits");
        assert_eq!(short.then(PortIx(5)), Route::fixed(&ports(&[4, 5])));
        assert_eq!([onward.then(PortIx(256)), route.then(PortIx(1))], [None, None]);
        let route = Route::towards(NodeId(0x0102_0304));
        assert_eq!(
            (route.next(), route.destination()),
            (NextHop::Towards(NodeId(0x0102_0304)), Some(NodeId(0x0102_0304)))
        );
    }

    #[test]
    fn routes_that_are_too_long_or_need_large_ports_are_found_hop_by_hop() {
        assert_eq!(Route::fixed(&ports(&[1; MAX_HOPS + 1])), None);
        assert_eq!(Route::fixed(&ports(&[256])), None);
    }
}
