//! Small networks, and flows through them.

pub(crate) use backwater_fabric::fixtures::{bcube, bcube_switch, leaf_spine, linked, star};
use backwater_fabric::ids::NodeId;
use backwater_fabric::network::spec::{FlowSpec, NetworkSpec};

/// Returns an endless flow of class 3 from host `src` to host `dst`.
pub(crate) fn flow(src: u32, dst: u32) -> FlowSpec {
    FlowSpec::new(NodeId(src), NodeId(dst), FlowSpec::ENDLESS)
}

/// Returns the fat-tree of switches with `k` ports.
pub(crate) fn fat_tree(k: u32) -> NetworkSpec {
    let (half, hosts) = (k / 2, k * k * k / 4);
    let edge = |pod: u32, i: u32| hosts + pod * half + i;
    let aggregation = |pod: u32, i: u32| hosts + k * half + pod * half + i;
    let core = |i: u32, j: u32| hosts + 2 * k * half + i * half + j;
    let access = (0..hosts).map(|host| (host, hosts + host / half));
    let each = |pod: u32| (0..half).flat_map(move |i| (0..half).map(move |j| (pod, i, j)));
    let links = (0..k)
        .flat_map(each)
        .flat_map(|(pod, i, j)| [(edge(pod, i), aggregation(pod, j)), (aggregation(pod, i), core(i, j))]);
    linked(hosts, k * k + half * half, access.chain(links))
}

/// Returns a flow through BCube(n, k) along `servers`: source, relays, destination. Neighbours
/// differ in one digit.
pub(crate) fn along(n: u32, k: u32, servers: &[u32]) -> FlowSpec {
    let differs = |a: u32, b: u32, layer: u32| a / n.pow(layer) % n != b / n.pow(layer) % n;
    let mut data_via = Vec::new();
    for hop in servers.windows(2) {
        let layer = (0..=k).find(|layer| differs(hop[0], hop[1], *layer)).unwrap();
        data_via.extend([bcube_switch(n, k, hop[0], layer), hop[1]].map(NodeId));
    }
    data_via.pop();
    flow(servers[0], servers[servers.len() - 1]).via(data_via, vec![])
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
