//! Small networks.

#![allow(dead_code, reason = "each test file uses some of it")]

use backwater_engine::{Bytes, Duration, Rate, Time};
use backwater_fabric::frame::framing::Framing;
use backwater_fabric::ids::{Class, NodeId};
use backwater_fabric::mechanisms::congestion::CongestionConfig;
use backwater_fabric::mechanisms::load_balance::LoadBalanceConfig;
use backwater_fabric::mechanisms::recovery::RecoveryConfig;
use backwater_fabric::network::spec::{FlowSpec, LinkSpec, NetworkSpec, NodeKind, NodeSpec};

/// Hosts, which come first, switches, and who is linked to whom.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) hosts: u32,
    pub(crate) switches: u32,
    pub(crate) ends: Vec<(u32, u32)>,
}

/// A network of `shape`, all links at 100 Gb/s, hosts `h0` and on, switches `s0` and on.
pub(crate) fn network_of(shape: &Shape, seed: u64) -> NetworkSpec {
    let node = |index: u32| match index.checked_sub(shape.hosts) {
        None => NodeSpec { name: format!("h{index}"), kind: NodeKind::Host },
        Some(switch) => NodeSpec { name: format!("s{switch}"), kind: NodeKind::Switch },
    };
    let link = |(a, b): &(u32, u32)| LinkSpec {
        a: NodeId(*a),
        b: NodeId(*b),
        rate: Rate::from_gbps(100),
        delay: Duration::from_us(1),
        error_rate: 0.0,
    };
    NetworkSpec {
        seed,
        framing: Framing::Rocev2,
        mtu: Bytes(1024),
        nodes: (0..shape.hosts + shape.switches).map(node).collect(),
        links: shape.ends.iter().map(link).collect(),
        routes: Vec::new(),
        faults: Vec::new(),
        reconvergence: None,
        switch: Default::default(),
        groups: Vec::new(),
        host: Default::default(),
        congestion: CongestionConfig::None(Default::default()),
        load_balance: LoadBalanceConfig::Ecmp(Default::default()),
        recovery: RecoveryConfig::GoBackN(Default::default()),
    }
}

/// An endless flow of class 3 from host `src` to host `dst`.
pub(crate) fn flow(src: u32, dst: u32) -> FlowSpec {
    FlowSpec {
        src: NodeId(src),
        dst: NodeId(dst),
        bytes: FlowSpec::ENDLESS,
        class: Class(3),
        start: Time::ZERO,
        tag: 0,
        data_via: Vec::new(),
        ack_via: Vec::new(),
    }
}

/// `per_leaf` hosts at each leaf, and a link from each leaf to each spine; leaves come before spines.
pub(crate) fn leaf_spine(leaves: u32, spines: u32, per_leaf: u32) -> Shape {
    let hosts = leaves * per_leaf;
    let access = (0..hosts).map(|host| (host, hosts + host / per_leaf));
    let pairs = (0..leaves).flat_map(|leaf| (0..spines).map(move |spine| (leaf, spine)));
    let up = pairs.map(|(leaf, spine)| (hosts + leaf, hosts + leaves + spine));
    Shape { hosts, switches: leaves + spines, ends: access.chain(up).collect() }
}

/// The fat-tree of switches with `k` ports.
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
