//! Small networks and their traffic, for tests of all crates. Networks have PFC with SIH, ECMP,
//! Go-Back-N and no congestion control. Node ids count hosts first.

use crate::ids::NodeId;
use crate::network::spec::{FlowSpec, LinkSpec, NetworkSpec, NodeKind};
use backwater_engine::{Duration, Rate, Time};

/// Returns the time `us` microseconds after the start.
pub fn at_us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

/// Returns the time `ns` nanoseconds after the start.
pub fn at_ns(ns: u64) -> Time {
    Time::ZERO + Duration::from_ns(ns)
}

/// Returns a link between nodes `a` and `b`.
pub fn link(a: u32, b: u32, gbps: u64, delay_ns: u64) -> LinkSpec {
    LinkSpec::new(NodeId(a), NodeId(b), Rate::from_gbps(gbps), Duration::from_ns(delay_ns))
}

/// Returns a network with a link between the two nodes of each pair in `ends`. Links have 100 Gb/s
/// and a delay of 1 us.
pub fn linked(hosts: u32, switches: u32, ends: impl IntoIterator<Item = (u32, u32)>) -> NetworkSpec {
    let links = ends.into_iter().map(|(a, b)| link(a, b, 100, 1000)).collect();
    NetworkSpec { links, ..NetworkSpec::with_nodes(hosts, switches) }
}

/// Returns `hosts` hosts on one switch, whose id is `hosts`. Links have 100 Gb/s and a delay of 1
/// us.
pub fn star(hosts: u32) -> NetworkSpec {
    star_of(hosts, 100, 1000)
}

/// Returns `hosts` hosts on one switch, with links of this rate and delay.
pub fn star_of(hosts: u32, gbps: u64, delay_ns: u64) -> NetworkSpec {
    let links = (0..hosts).map(|host| link(host, hosts, gbps, delay_ns)).collect();
    NetworkSpec { links, ..NetworkSpec::with_nodes(hosts, 1) }
}

/// Returns a leaf-spine whose links have 100 Gb/s and a delay of 1 us. Nodes are the hosts, leaf by
/// leaf, then leaves, then spines. Links of hosts come first, followed by the links of the first
/// leaf to every spine, those of the second leaf, and so on.
pub fn leaf_spine(leaves: u32, hosts_per_leaf: u32, spines: u32) -> NetworkSpec {
    let hosts = leaves * hosts_per_leaf;
    let host_links = (0..hosts).map(|host| (host, hosts + host / hosts_per_leaf));
    let leaf_links = (0..leaves).flat_map(|leaf| (0..spines).map(move |spine| (hosts + leaf, hosts + leaves + spine)));
    linked(hosts, leaves + spines, host_links.chain(leaf_links))
}

/// Returns BCube(n, k), whose links have 100 Gb/s and a delay of 1 us. Switches follow the servers,
/// layer by layer, ordered by the digits that their servers share. Port `l` of a server leads to
/// layer `l`, and port `i` of a switch to the server with digit `i` in its layer.
pub fn bcube(n: u32, k: u32) -> NetworkSpec {
    let servers = n.pow(k + 1);
    let layer = |layer| (0..servers).map(move |server| (server, bcube_switch(n, k, server, layer)));
    let mut spec = linked(servers, (k + 1) * n.pow(k), (0..=k).flat_map(layer));
    if k > 0 {
        for server in spec.nodes.iter_mut().take(servers as usize) {
            server.kind = NodeKind::Relay;
        }
    }
    spec
}

/// Returns the switch of BCube(n, k) that `server` is linked to in `layer`.
pub fn bcube_switch(n: u32, k: u32, server: u32, layer: u32) -> u32 {
    let place = n.pow(layer);
    n.pow(k + 1) + layer * n.pow(k) + server / (place * n) * place + server % place
}

/// Returns a flow of class 3.
pub fn flow(src: u32, dst: u32, bytes: u64, start_ns: u64) -> FlowSpec {
    FlowSpec { start: at_ns(start_ns), ..FlowSpec::new(NodeId(src), NodeId(dst), bytes) }
}
