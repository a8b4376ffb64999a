mod reference;

use super::*;
use crate::fixtures::linked;
use crate::network::spec::{NetworkSpec, NodeKind, NodeSpec};
use backwater_engine::interrupt::interruptible;
use backwater_engine::{Duration, Rate};

fn routes(spec: &NetworkSpec) -> (Wiring, Routes) {
    let wiring = Wiring::new(&spec.nodes, &spec.links);
    let routes = Routes::new(&spec.nodes, &wiring);
    (wiring, routes)
}

/// Returns a network with hosts h0 and h1 on leaf 4, h2 and h3 on leaf 5, and spines 6 and 7. Leaf
/// 4 and spine 6 have two links.
fn leaf_spine() -> NetworkSpec {
    linked(4, 4, [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (4, 7), (5, 6), (5, 7), (4, 6)])
}

#[test]
fn layers_count_from_the_hosts() {
    let mut spec = leaf_spine();
    spec.nodes.push(NodeSpec { name: "apart".into(), kind: NodeKind::Switch });
    let wiring = Wiring::new(&spec.nodes, &spec.links);
    assert_eq!([0, 3, 4, 5, 6, 7, 8].map(|node| wiring.layer(NodeId(node))), [0, 0, 1, 1, 2, 2, 0]);
}

#[test]
fn ports_are_numbered_in_the_order_of_the_links() {
    let spec = leaf_spine();
    let (wiring, _) = routes(&spec);
    let peers: Vec<u32> = (0..5).map(|ix| wiring.neighbour(NodeId(4), PortIx(ix)).0).collect();
    assert_eq!(peers, [0, 1, 6, 7, 6]);
    for port in &wiring.ports {
        let peer = &wiring.ports[port.peer];
        assert_eq!((peer.peer, wiring.neighbour(port.node, port.ix)), (port.id, peer.node));
    }
    assert_eq!(wiring.links[8].map(|port| wiring.ports[port].node), [NodeId(4), NodeId(6)]);
}

/// Leaf 4 has three paths to leaf 5, two of them through spine 6, which has two links to leaf 4.
#[test]
fn choices_count_equal_cost_ports_of_switches_between_hosts() {
    let choices = |spec: &NetworkSpec, by_hand: &[(u32, u32, u16)]| {
        let (wiring, mut routes) = routes(spec);
        for (node, target, port) in by_hand {
            routes.set(NodeId(*node), NodeId(*target), PortIx(*port));
        }
        routes.extent(&spec.nodes, &wiring).choices
    };
    let mut spec = leaf_spine();
    assert_eq!(choices(&spec, &[]), 3);
    // Routes set by hand offer no choice. Leaf 4 still has a choice to h3, leaf 5 to both hosts,
    // and spine 6 to leaf 4.
    assert_eq!(choices(&spec, &[(4, 2, 2)]), 3);
    assert_eq!(choices(&spec, &[(4, 2, 2), (4, 3, 2)]), 2);
    assert_eq!(choices(&spec, &[(4, 2, 2), (4, 3, 2), (5, 0, 3), (5, 1, 3)]), 1);
    // Without hosts on leaf 5, no switch has a choice. The choices of source hosts do not count.
    spec.links.retain(|link| link.a.0 < 2 || link.a.0 > 3);
    assert_eq!(choices(&spec, &[]), 1);
    assert_eq!(choices(&linked(2, 2, [(0, 2), (0, 3), (1, 2), (1, 3)]), &[]), 1);
    assert_eq!(choices(&linked(2, 2, [(0, 2), (1, 3), (2, 3), (3, 2)]), &[]), 2);
    assert_eq!(choices(&linked(2, 0, [(0, 1), (1, 0)]), &[]), 0);
}

#[test]
fn all_equal_cost_ports_are_candidates_parallel_links_included() {
    let (_, routes) = routes(&leaf_spine());
    assert_eq!(routes.candidates(NodeId(0), NodeId(3)), [0].map(PortIx));
    assert_eq!(routes.candidates(NodeId(4), NodeId(3)), [2, 3, 4].map(PortIx));
    assert_eq!(routes.candidates(NodeId(4), NodeId(1)), [1].map(PortIx));
    assert_eq!(routes.candidates(NodeId(6), NodeId(0)), [0, 2].map(PortIx));
    assert_eq!(routes.candidates(NodeId(5), NodeId(3)), [1].map(PortIx));
    // Switches become targets only on request.
    assert_eq!(routes.candidates(NodeId(0), NodeId(6)), [] as [PortIx; 0]);
}

/// A packet goes from h0 to h3 through spine 6 or 7. After spine 6, the packet cannot meet the port
/// of spine 7, although that port leads to h3, nor ports that it has passed.
#[test]
fn packets_meet_only_ports_ahead() {
    let (wiring, routes) = routes(&leaf_spine());
    let port = |node: u32, ix: usize| &wiring.ports_of(NodeId(node))[ix];
    let intersects = |node: u32, port| routes.may_meet(&wiring, NodeId(node), NodeId(3), port);
    let (of_spines, last) = ([port(6, 1), port(7, 1)], port(5, 1));
    assert_eq!(of_spines.map(|port| intersects(4, port)), [true, true]);
    assert_eq!(of_spines.map(|port| intersects(6, port)), [true, false]);
    assert!(intersects(6, last) && intersects(0, last) && intersects(5, last));
    assert!(intersects(0, port(4, 3)) && !intersects(6, port(4, 3)) && !intersects(0, port(4, 1)));
}

#[test]
fn a_path_passes_its_waypoints() {
    let spec = leaf_spine();
    let wiring = Wiring::new(&spec.nodes, &spec.links);
    let mut routes = Routes::new(&spec.nodes, &wiring);
    routes.add(&spec.nodes, &wiring, [6, 7].map(NodeId).into_iter());
    let path = |via: &[u32], choice: usize| {
        let via: Vec<NodeId> = via.iter().copied().map(NodeId).collect();
        routes
            .path(&wiring, NodeId(0), &via, NodeId(3), |_, ports| ports[choice])
            .map(|way| way.iter().map(|port| port.0).collect())
    };
    assert_eq!(path(&[], 1), Some(vec![0, 3, 1, 1]));
    assert_eq!(path(&[7], 0), Some(vec![0, 3, 1, 1]));
    assert_eq!(path(&[6], 1), Some(vec![0, 4, 1, 1]));
    // The path goes up, down, and up again to the other spine.
    assert_eq!(path(&[6, 7], 0), Some(vec![0, 2, 0, 3, 1, 1]));
}

/// Traffic goes from h0 and h1 to h3: leaf 4 has two links to spine 6 and one to spine 7. The path
/// from h2 stays in the rack.
#[test]
fn shares_follow_a_fluid() {
    let (wiring, routes) = routes(&leaf_spine());
    let shares = |sources: &[u32]| {
        let sources: Vec<NodeId> = sources.iter().copied().map(NodeId).collect();
        let shares = routes.shares(&wiring, &sources, NodeId(3)).into_iter();
        let named = shares.map(|(port, share)| {
            let port = &wiring.ports[port];
            ((port.node.0, wiring.neighbour(port.node, port.ix).0, port.ix.0), (share * 36.0).round() / 36.0)
        });
        named.collect::<BTreeMap<_, _>>()
    };
    let third = 1.0 / 3.0;
    let up = [((4, 6, 2), third), ((4, 7, 3), third), ((4, 6, 4), third), ((6, 5, 1), 2.0 * third), ((7, 5, 1), third)];
    let hosts = [((0, 4, 0), 0.5), ((1, 4, 0), 0.5), ((5, 3, 1), 1.0)];
    assert_eq!(shares(&[0, 1]), BTreeMap::from_iter(up.into_iter().chain(hosts)));
    assert_eq!(shares(&[2]), BTreeMap::from([((2, 5, 0), 1.0), ((5, 3, 1), 1.0)]));
    // Two thirds of the traffic cross the spines, one third is local.
    let mixed = shares(&[0, 1, 2]);
    assert_eq!([mixed[&(5, 3, 1)], mixed[&(2, 5, 0)], mixed[&(4, 7, 3)]], [1.0, third, 2.0 * third * third]);
}

/// Host h1 has links to two switches and would be a short cut. Switch 5 links switches 3 and 4.
#[test]
fn hosts_are_reached_through_all_their_ports_and_never_passed_through() {
    let spec = linked(3, 3, [(0, 3), (1, 3), (1, 4), (2, 4), (3, 5), (5, 4)]);
    let (wiring, routes) = routes(&spec);
    let path = routes.path(&wiring, NodeId(0), &[], NodeId(2), |_, ports| ports[0]);
    assert_eq!(path.as_deref(), Some([0, 2, 1, 1].map(PortIx).as_slice()));
    assert_eq!(routes.candidates(NodeId(1), NodeId(0)), [0].map(PortIx));
    assert_eq!(routes.candidates(NodeId(1), NodeId(2)), [1].map(PortIx));
    assert_eq!(routes.candidates(NodeId(3), NodeId(1)), [1].map(PortIx));
}

#[test]
fn no_route_without_a_path() {
    let spec = linked(4, 2, [(0, 4), (1, 4), (2, 5), (3, 5)]);
    let (wiring, routes) = routes(&spec);
    assert_eq!(routes.candidates(NodeId(4), NodeId(2)), [] as [PortIx; 0]);
    assert_eq!(routes.path(&wiring, NodeId(0), &[], NodeId(2), |_, ports| ports[0]), None);
}

/// A data frame of 1000 B and an ACK of 60 B are stored and forwarded at every hop. At 100 Gb/s, a
/// hop takes 80 ns for the data frame, 4.8 ns for the ACK, and a delay of 1 us each way.
#[test]
fn the_longest_round_trip_is_that_of_the_slowest_pair() {
    let mut spec = leaf_spine();
    let rtt = |spec: &NetworkSpec| {
        let (wiring, routes) = routes(spec);
        let RoundTrips { longest, hops, per_hop } = routes.round_trips(&spec.nodes, &wiring, 1000, 60);
        (longest.ps(), hops, per_hop.ps())
    };
    let hop = 2_000_000 + 80_000 + 4_800;
    assert_eq!(rtt(&spec), (4 * hop, 4, hop));
    spec.links[2].rate = Rate::from_gbps(25);
    // Within the rack of the slow host, the longest path counts as two slow links. The longest path
    // to the other rack has one slow link and three fast links. So two more hops add three fast
    // hops less one slow hop.
    let slow = 2_000_000 + 4 * 84_800;
    assert_eq!(rtt(&spec), (3 * hop + slow, 4, (3 * hop - slow) / 2));
    // The star is a single rack: two hosts on a switch.
    assert_eq!(rtt(&crate::fixtures::star(2)), (2 * hop, 2, hop));
}

/// Pairs with more links may have shorter round-trip times. Such pairs do not limit the increment.
#[test]
fn increment_per_link_follows_from_shorter_paths() {
    let of = |pairs: &[(u8, u64)]| {
        let trips = RoundTrips::of(&pairs.iter().map(|(hops, ps)| (*hops, Duration::from_ps(*ps))).collect());
        (trips.longest.ps(), trips.hops, trips.per_hop.ps())
    };
    assert_eq!(of(&[(2, 10), (4, 18), (6, 24)]), (24, 6, 3));
    assert_eq!(of(&[(2, 10), (4, 22), (6, 24)]), (24, 6, 1));
    assert_eq!(of(&[(2, 40), (4, 30)]), (40, 2, 20));
    assert_eq!(of(&[(2, 40), (4, 40)]), (40, 2, 20));
    assert_eq!(of(&[]), (0, 0, 0));
}

/// Each part of the work on routes checks for interruptions.
#[test]
fn work_on_routes_can_be_interrupted() {
    let spec = leaf_spine();
    let (wiring, routes) = routes(&spec);
    assert!(interruptible(|| Err(()), || Routes::new(&spec.nodes, &wiring)).is_err());
    assert!(interruptible(|| Err(()), || routes.extent(&spec.nodes, &wiring)).is_err());
    assert!(interruptible(|| Err(()), || routes.round_trips(&spec.nodes, &wiring, 1000, 60)).is_err());
}
