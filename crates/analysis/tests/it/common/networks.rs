//! Small networks.

use backwater_engine::{Duration, Rate};
use backwater_fabric::ids::NodeId;
use backwater_fabric::network::spec::{FlowSpec, LinkSpec, NetworkSpec, NodeKind};

/// Numbers of hosts and switches, and the links. Hosts have the lowest ids.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) hosts: u32,
    pub(crate) switches: u32,
    pub(crate) ends: Vec<(u32, u32)>,
}

/// Returns a network of `shape`, with links at 100 Gb/s, hosts `h0`.. and switches `s0`..
pub(crate) fn network_of(shape: &Shape, seed: u64) -> NetworkSpec {
    let (rate, delay) = (Rate::from_gbps(100), Duration::from_us(1));
    let link = |(a, b): &(u32, u32)| LinkSpec::new(NodeId(*a), NodeId(*b), rate, delay);
    let links = shape.ends.iter().map(link).collect();
    NetworkSpec { seed, links, ..NetworkSpec::with_nodes(shape.hosts, shape.switches) }
}

/// Returns an endless flow of class 3 from host `src` to host `dst`.
pub(crate) fn flow(src: u32, dst: u32) -> FlowSpec {
    FlowSpec::new(NodeId(src), NodeId(dst), FlowSpec::ENDLESS)
}

/// Returns a leaf-spine with `per_leaf` hosts at each leaf; leaves precede spines.
pub(crate) fn leaf_spine(leaves: u32, spines: u32, per_leaf: u32) -> Shape {
    let hosts = leaves * per_leaf;
    let access = (0..hosts).map(|host| (host, hosts + host / per_leaf));
    let pairs = (0..leaves).flat_map(|leaf| (0..spines).map(move |spine| (leaf, spine)));
    let up = pairs.map(|(leaf, spine)| (hosts + leaf, hosts + leaves + spine));
    Shape { hosts, switches: leaves + spines, ends: access.chain(up).collect() }
}

/// Returns the fat-tree of switches with `k` ports.
pub(crate) fn fat_tree(k: u32) -> Shape {
    let (half, hosts) = (k / 2, k * k * k / 4);
    let edge = |pod: u32, i: u32| hosts + pod * half + i;
    let aggregation = |pod: u32, i: u32| hosts + k * half + pod * half + i;
    let core = |i: u32, j: u32| hosts + 2 * k * half + i * half + j;
    let access = (0..hosts).map(|host| (host, hosts + host / half));
    let each = |pod: u32| (0..half).flat_map(move |i| (0..half).map(move |j| (pod, i, j)));
    let links = (0..k)
        .flat_map(each)
        .flat_map(|(pod, i, j)| [(edge(pod, i), aggregation(pod, j)), (aggregation(pod, i), core(i, j))]);
    Shape { hosts, switches: k * k + half * half, ends: access.chain(links).collect() }
}

/// Returns BCube(n, k) with links at 100 Gb/s: servers `h0`.., whose port `l` is in layer `l`, and
/// switches `s0`.., layer by layer. Port `i` of a switch leads to the server with digit `i` in its
/// layer.
pub(crate) fn bcube(n: u32, k: u32) -> NetworkSpec {
    let hosts = n.pow(k + 1);
    let layer = |layer| (0..hosts).map(move |server| (server, switch_of(n, k, server, layer)));
    let shape = Shape { hosts, switches: (k + 1) * n.pow(k), ends: (0..=k).flat_map(layer).collect() };
    let mut spec = network_of(&shape, 1);
    for server in spec.nodes.iter_mut().take(hosts as usize) {
        server.kind = NodeKind::Relay;
    }
    spec
}

/// Returns the switch of BCube(n, k) that `server` is linked to in `layer`.
fn switch_of(n: u32, k: u32, server: u32, layer: u32) -> u32 {
    let place = n.pow(layer);
    n.pow(k + 1) + layer * n.pow(k) + server / (place * n) * place + server % place
}

/// Returns a flow through BCube(n, k) along `servers`: source, relays, destination. Neighbours
/// differ in one digit.
pub(crate) fn along(n: u32, k: u32, servers: &[u32]) -> FlowSpec {
    let differs = |a: u32, b: u32, layer: u32| a / n.pow(layer) % n != b / n.pow(layer) % n;
    let mut data_via = Vec::new();
    for hop in servers.windows(2) {
        let layer = (0..=k).find(|layer| differs(hop[0], hop[1], *layer)).unwrap();
        data_via.extend([switch_of(n, k, hop[0], layer), hop[1]].map(NodeId));
    }
    data_via.pop();
    FlowSpec { data_via, ..flow(servers[0], servers[servers.len() - 1]) }
}

/// Returns a flow between every two servers of BCube(n, k), for every order of correcting digits.
pub(crate) fn all_to_all(n: u32, k: u32) -> Vec<FlowSpec> {
    /// Returns every path from the last of `servers` to `target`.
    fn extend(n: u32, k: u32, servers: &[u32], target: u32, found: &mut Vec<FlowSpec>) {
        let last = servers[servers.len() - 1];
        for layer in 0..=k {
            let (is, shall) = (last / n.pow(layer) % n, target / n.pow(layer) % n);
            if is != shall {
                let next = last + shall * n.pow(layer) - is * n.pow(layer);
                extend(n, k, &[servers, &[next]].concat(), target, found);
            }
        }
        if last == target {
            found.push(along(n, k, servers));
        }
    }
    let (hosts, mut found) = (n.pow(k + 1), Vec::new());
    for (src, dst) in (0..hosts).flat_map(|src| (0..hosts).map(move |dst| (src, dst))).filter(|(src, dst)| src != dst) {
        extend(n, k, &[src], dst, &mut found);
    }
    found
}
