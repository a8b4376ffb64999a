//! The way that a packet takes: egress ports fixed at its source, or its destination alone.

use crate::ids::{NodeId, PortIx};
use get_size2::GetSize;

/// Longest route that a packet carries, in egress ports. Longer ones are looked up hop by hop.
pub const MAX_HOPS: usize = 7;

/// Most switches that a packet passes whose way is found hop by hop (the time to live of its IP header; 64 is the usual one).
pub const TIME_TO_LIVE: u8 = 64;

/// The egress ports of a packet from its source host to the last switch, fixed at its source; or its destination alone, to which the way is
/// found hop by hop.
///
/// Eight bytes, because every packet in every queue carries one: ports are numbered up to 255 and there are at most [`MAX_HOPS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, GetSize)]
pub struct Route {
    /// Ports; or, where there is no hop, the destination in the first four bytes and the time to live in the fifth.
    hops: [u8; MAX_HOPS],
    /// Number of hops in the upper half, number of the next one in the lower.
    cursor: u8,
}

impl Route {
    /// To be found hop by hop.
    pub fn towards(destination: NodeId) -> Route {
        let [a, b, c, d] = destination.0.to_le_bytes();
        Route { hops: [a, b, c, d, TIME_TO_LIVE, 0, 0], cursor: 0 }
    }

    /// A fixed route; `None` if it has more than [`MAX_HOPS`] hops or a port beyond 255.
    pub fn fixed(ports: &[PortIx]) -> Option<Route> {
        let mut route = Route { hops: [0; MAX_HOPS], cursor: (ports.len() as u8) << 4 };
        for (hop, port) in route.hops.get_mut(..ports.len())?.iter_mut().zip(ports) {
            *hop = u8::try_from(*port).ok()?;
        }
        Some(route)
    }

    /// A fixed route whose hops have all been taken.
    pub fn completed(ports: &[PortIx]) -> Option<Route> {
        let route = Route::fixed(ports)?;
        Some(Route { cursor: route.cursor | route.cursor >> 4, ..route })
    }

    /// This fixed route and `port` behind it; `None` if there is no room for that.
    pub fn then(mut self, port: PortIx) -> Option<Route> {
        let hops = self.cursor >> 4;
        *self.hops.get_mut(usize::from(hops))? = u8::try_from(port).ok()?;
        self.cursor += 1 << 4;
        Some(self)
    }

    /// This fixed route behind the egress ports `past` that the packet has taken already; itself, if that is more than there is room for.
    pub fn with_passed(self, past: &[PortIx]) -> Route {
        let ahead = &self.hops[usize::from(self.cursor & 0xf)..usize::from(self.cursor >> 4)];
        let Some(mut whole) = Route::fixed(past) else { return self };
        let Some(hops) = whole.hops.get_mut(past.len()..past.len() + ahead.len()) else { return self };
        hops.copy_from_slice(ahead);
        Route { cursor: ((past.len() + ahead.len()) as u8) << 4 | past.len() as u8, ..whole }
    }

    /// Where the packet goes from the node that it is in.
    #[inline]
    pub fn next(&self) -> NextHop {
        let (hop, hops) = (self.cursor & 0xf, self.cursor >> 4);
        if hop < hops {
            NextHop::Port(self.hops[usize::from(hop)].into())
        } else if hops > 0 {
            NextHop::Arrived
        } else {
            let [a, b, c, d, ..] = self.hops;
            NextHop::Towards(NodeId(u32::from_le_bytes([a, b, c, d])))
        }
    }

    /// Where the packet goes in the end, if the way is found hop by hop.
    pub fn destination(&self) -> Option<NodeId> {
        match self.next() {
            NextHop::Towards(destination) => Some(destination),
            NextHop::Port(_) | NextHop::Arrived => None,
        }
    }

    /// A fixed route whose first hop has been taken.
    pub fn after_first(mut self) -> Route {
        self.advance();
        self
    }

    /// The next hop has been taken; a way that is found hop by hop stays what it is, and the packet has one hop less to live. Whether it may
    /// go on: one that has passed as many switches as it may must be in a routing loop.
    #[inline]
    pub fn advance(&mut self) -> bool {
        if self.cursor > 0 {
            self.cursor += 1;
            return true;
        }
        self.hops[4] = self.hops[4].saturating_sub(1);
        self.hops[4] > 0
    }

    /// The egress ports taken so far, from the source host on.
    pub fn passed(&self) -> impl Iterator<Item = PortIx> + '_ {
        self.hops[..usize::from(self.cursor & 0xf)].iter().map(|port| PortIx::from(*port))
    }

    /// The way that a packet has come that is where it goes, of which `trail` tells what it passed before it got this route; `None` if it is not known.
    pub fn full_route(self, trail: Option<&[PortIx]>) -> Option<Route> {
        match self.next() {
            NextHop::Arrived => Some(self).filter(|route| {
                let trail = trail.unwrap_or_default();
                route.passed().take(trail.len()).eq(trail.iter().copied())
            }),
            // A trail that was too long has been cut off.
            NextHop::Towards(_) => {
                Route::completed(trail.filter(|trail| trail.len() == usize::from(self.links_passed()))?)
            }
            NextHop::Port(_) => None,
        }
    }

    /// Links passed so far, that from the source host included.
    pub fn links_passed(&self) -> u8 {
        if self.cursor > 0 { self.cursor & 0xf } else { TIME_TO_LIVE - self.hops[4] + 1 }
    }

    /// The egress ports to come.
    pub fn remaining(&self) -> impl Iterator<Item = PortIx> + '_ {
        self.hops[usize::from(self.cursor & 0xf)..usize::from(self.cursor >> 4)].iter().map(|port| PortIx::from(*port))
    }
}

/// Where a packet goes from the node that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// Out of this port.
    Port(PortIx),
    /// Nowhere: the node is its destination.
    Arrived,
    /// Out of a port that leads to this host.
    Towards(NodeId),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A route given on the way starts behind what the trail tells; a trail alone tells all; either may be too long to be told.
    #[test]
    fn the_whole_way_is_that_of_the_route_and_the_trail() {
        let arrived = |ports: &[PortIx]| Route::completed(ports).expect("few hops fit");
        let onward = Route::fixed(&[4, 5]).expect("two hops fit");
        assert_eq!(arrived(&[1, 4, 5]).full_route(Some(&[1])), Some(arrived(&[1, 4, 5])));
        assert_eq!(arrived(&[1, 4, 5]).full_route(None), Some(arrived(&[1, 4, 5])));
        assert_eq!(arrived(&[4, 5]).full_route(Some(&[1])), None);
        let mut towards = Route::towards(NodeId(3));
        assert_eq!(towards.full_route(Some(&[1])), Some(arrived(&[1])));
        assert_eq!([towards.full_route(Some(&[1, 2])), towards.full_route(None)], [None; 2]);
        assert!(towards.advance());
        assert_eq!(towards.full_route(Some(&[1, 2])), Some(arrived(&[1, 2])));
        assert_eq!(onward.full_route(None), None);
    }

    #[test]
    fn a_route_leads_from_port_to_port_and_ends() {
        let mut route = Route::fixed(&[4, 0, 255, 1, 2, 3, 9]).expect("seven hops fit");
        for port in [4, 0, 255, 1, 2, 3, 9] {
            assert_eq!(route.next(), NextHop::Port(port));
            route.advance();
        }
        assert_eq!(route.next(), NextHop::Arrived);
        assert_eq!((route.passed().count(), route.remaining().count()), (7, 0));
        let onward = Route::fixed(&[4, 5]).expect("two hops fit").with_passed(&[1, 2]);
        assert_eq!((onward.passed().collect(), onward.next()), (vec![1, 2], NextHop::Port(4)));
        assert_eq!(onward.remaining().collect::<Vec<_>>(), [4, 5]);
        assert_eq!(onward.with_passed(&[0; MAX_HOPS]), onward);
        assert_eq!(Route::fixed(&[4]).and_then(|route| route.then(5)), Some(Route::fixed(&[4, 5]).expect("it fits")));
        assert_eq!([onward.then(256), route.then(1)], [None, None]);
        let route = Route::towards(NodeId(0x0102_0304));
        assert_eq!(
            (route.next(), route.destination()),
            (NextHop::Towards(NodeId(0x0102_0304)), Some(NodeId(0x0102_0304)))
        );
    }

    #[test]
    fn routes_that_are_too_long_or_need_large_ports_are_found_hop_by_hop() {
        assert_eq!(Route::fixed(&[1; MAX_HOPS + 1]), None);
        assert_eq!(Route::fixed(&[256]), None);
    }
}
