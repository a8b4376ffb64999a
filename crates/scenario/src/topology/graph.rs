//! A checked fabric, with lookups by name and by neighbour.

use crate::diagnostic::Diagnostic;
use backwater_engine::Rate;
use backwater_engine::index::{Id, IndexVec};
use backwater_engine::interrupt;
use backwater_fabric::ids::{NodeId, PortIx};
use backwater_fabric::network::spec::{LinkSpec, NodeKind, NodeSpec, Nodes};
use std::collections::{BTreeMap, BTreeSet};

/// A fabric with unique names, in which every host that has not failed reaches every other such
/// host.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Hosts and switches.
    pub nodes: Nodes,
    /// Full-duplex links, including parallel ones. A node's ports are numbered in the order of its
    /// links.
    pub links: Vec<LinkSpec>,
    /// Notes for the user: size, oversubscription.
    pub notes: Vec<String>,
    ids: BTreeMap<String, NodeId>,
    /// Peer and link of each port, by node.
    ports: IndexVec<NodeId, Vec<(NodeId, usize)>>,
    /// Port names that the topology gives.
    pub port_names: BTreeMap<(NodeId, PortIx), String>,
    /// Failed nodes. They keep their ids, but have no links.
    failed: BTreeSet<NodeId>,
}

impl Graph {
    /// Checks `nodes` and `links`: unique names, ends that exist and differ, a link for every node,
    /// a path between any two hosts.
    ///
    /// # Errors
    /// All errors, with the path `topology`.
    pub fn new(nodes: impl Into<Nodes>, links: Vec<LinkSpec>, notes: Vec<String>) -> Result<Graph, Vec<Diagnostic>> {
        Graph::with_failed(nodes.into(), links, notes, BTreeSet::new())
    }

    /// Like [`Graph::new`], with failed nodes, which need no link.
    pub(super) fn with_failed(
        nodes: Nodes,
        links: Vec<LinkSpec>,
        notes: Vec<String>,
        failed: BTreeSet<NodeId>,
    ) -> Result<Graph, Vec<Diagnostic>> {
        let mut errors = Vec::new();
        let mut ids = BTreeMap::new();
        for (id, node) in nodes.enumerate() {
            interrupt::check();
            if node.name.is_empty() {
                errors.push(error(format!("node {} has an empty name", id.0)));
            } else if ids.insert(node.name.clone(), id).is_some() {
                errors.push(error(format!("two nodes are called \"{}\"", node.name)));
            }
        }
        let mut ports = IndexVec::from(vec![Vec::new(); nodes.len()]);
        for (i, link) in links.iter().enumerate() {
            interrupt::check();
            if link.a.max(link.b).index() >= nodes.len() {
                errors.push(error(format!("link {i} ends at a node that does not exist")));
            } else if link.a == link.b {
                errors.push(error(format!("link {i} links \"{}\" to itself", nodes[link.a].name)));
            } else {
                ports[link.a].push((link.b, i));
                ports[link.b].push((link.a, i));
            }
        }
        for ((id, node), ports) in nodes.enumerate().zip(&ports) {
            // A switch may have no link if nodes have failed, because all its neighbours may be
            // among these.
            let needs_link = if node.kind.has_endpoint() { !failed.contains(&id) } else { failed.is_empty() };
            if ports.is_empty() && needs_link {
                errors.push(error(format!("{} \"{}\" has no link", word(Some(node.kind)), node.name)));
            }
            if ports.len() > usize::from(u16::MAX) {
                let (name, count, most) = (&node.name, ports.len(), u16::MAX);
                errors.push(error(format!("\"{name}\" has {count} ports; at most {most} are supported")));
            }
        }
        let hosts = || nodes.enumerate().filter(|(_, node)| node.kind.has_endpoint());
        if hosts().count() == 0 {
            errors.push(error("has no host"));
        } else if hosts().all(|(id, _)| failed.contains(&id)) {
            errors.push(error("all hosts have failed"));
        }
        if errors.is_empty() {
            errors.extend(unreachable(&nodes, &ports));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Graph { nodes, links, notes, ids, ports, port_names: BTreeMap::new(), failed })
    }

    /// Names the ports at the two ends of each link.
    pub(super) fn name_ports(&mut self, names: &[[Option<String>; 2]]) {
        for (node, ports) in self.ports.enumerate() {
            for (port, (_, link)) in (0..).map(PortIx).zip(ports) {
                let end = usize::from(self.links[*link].a != node);
                self.port_names.extend(names[*link][end].clone().map(|name| ((node, port), name)));
            }
        }
    }

    /// Returns the node called `name`.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.ids.get(name).copied()
    }

    /// Returns the host called `name`, which the option at `path` names.
    ///
    /// # Errors
    /// If there is no such node, or it is a switch, or has failed.
    pub fn host(&self, path: &str, name: &str) -> Result<NodeId, Diagnostic> {
        self.of_name(path, name, Some(NodeKind::Host))
    }

    /// Returns the node called `name`, of `kind` if one is given.
    ///
    /// # Errors
    /// If there is no such node, or it is of the other kind, or has failed.
    pub fn of_name(&self, path: &str, name: &str, kind: Option<NodeKind>) -> Result<NodeId, Diagnostic> {
        self.find(path, name, word(kind), |other| is_of(other, kind))
    }

    /// Returns the node called `name`, which forwards packets.
    ///
    /// # Errors
    /// If there is no such node, or it is a host that does not relay, or has failed.
    pub fn waypoint(&self, path: &str, name: &str) -> Result<NodeId, Diagnostic> {
        self.find(path, name, "switch or relay", NodeKind::forwards)
    }

    fn find(
        &self,
        path: &str,
        name: &str,
        wanted: &str,
        fits: impl Fn(NodeKind) -> bool,
    ) -> Result<NodeId, Diagnostic> {
        let kind = |node: NodeId| self.nodes[node].kind;
        match self.node(name) {
            Some(id) if self.failed.contains(&id) => {
                Err(Diagnostic::error(path, format!("\"{name}\" has failed (topology.failed_nodes)")))
            }
            Some(id) if fits(kind(id)) => Ok(id),
            Some(id) => {
                Err(Diagnostic::error(path, format!("\"{name}\" is a {}, not a {wanted}", word(Some(kind(id))))))
            }
            None => {
                let names = self.alive().filter(|node| fits(kind(*node))).map(|node| self.name(node));
                let message = format!("there is no {wanted} \"{name}\"");
                Err(Diagnostic::error(path, message).did_you_mean(name, names))
            }
        }
    }

    /// Returns the name of `node`.
    pub fn name(&self, node: NodeId) -> &str {
        &self.nodes[node].name
    }

    /// True if `node` is a host, relaying or not.
    pub fn is_host(&self, node: NodeId) -> bool {
        self.nodes[node].kind.has_endpoint()
    }

    /// True if `node` has failed before the run.
    pub fn has_failed(&self, node: NodeId) -> bool {
        self.failed.contains(&node)
    }

    /// Returns the nodes that have not failed, in ascending order of id.
    fn alive(&self) -> impl Iterator<Item = NodeId> {
        self.nodes.ids().filter(|node| !self.failed.contains(node))
    }

    /// Returns the hosts that have not failed, in ascending order of id.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> {
        self.of_kind(Some(NodeKind::Host))
    }

    /// Returns the switches that have not failed, in ascending order of id.
    pub fn switches(&self) -> impl Iterator<Item = NodeId> {
        self.of_kind(Some(NodeKind::Switch))
    }

    /// Returns the nodes of a kind, or of all kinds, that have not failed, in ascending order of
    /// id. Hosts that relay count as hosts.
    pub fn of_kind(&self, kind: Option<NodeKind>) -> impl Iterator<Item = NodeId> {
        self.alive().filter(move |node| is_of(self.nodes[*node].kind, kind))
    }

    /// Returns peer and link (an index into [`Graph::links`]) of each port of `node`, in port
    /// order.
    pub fn ports(&self, node: NodeId) -> &[(NodeId, usize)] {
        &self.ports[node]
    }

    /// Returns the switch at `host`'s first port, or `None` if the peer is a host. Hosts with the
    /// same first switch form a rack.
    pub fn rack_of(&self, host: NodeId) -> Option<NodeId> {
        self.ports(host).first().map(|&(peer, _)| peer).filter(|&peer| !self.is_host(peer))
    }

    /// Returns the node that identifies `host`'s rack: its first switch, or `host` itself.
    pub fn rack(&self, host: NodeId) -> NodeId {
        self.rack_of(host).unwrap_or(host)
    }

    /// True if the hosts are in two racks or more.
    pub fn has_several_racks(&self) -> bool {
        let mut racks = self.hosts().map(|host| self.rack(host));
        racks.next().is_some_and(|first| racks.any(|rack| rack != first))
    }

    /// Returns the sum of the rates of `host`'s ports.
    pub fn host_rate(&self, host: NodeId) -> Rate {
        self.rate_to(host, |_| true)
    }

    /// Returns the sum of the rates of a switch's links to other switches.
    pub fn uplink_capacity(&self, switch: NodeId) -> Rate {
        self.rate_to(switch, |peer| !self.is_host(peer))
    }

    fn rate_to(&self, node: NodeId, wanted: impl Fn(NodeId) -> bool) -> Rate {
        let ports = self.ports(node).iter().filter(|(peer, _)| wanted(*peer));
        Rate::from_bps(ports.map(|&(_, link)| self.links[link].rate.bps()).sum())
    }
}

/// Returns the word for nodes of a kind, or of any kind, in messages.
pub(crate) fn word(kind: Option<NodeKind>) -> &'static str {
    kind.map_or("node", |kind| if kind.has_endpoint() { "host" } else { "switch" })
}

fn is_of(kind: NodeKind, wanted: Option<NodeKind>) -> bool {
    wanted.is_none_or(|wanted| kind.has_endpoint() == wanted.has_endpoint())
}

fn error(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error("topology", message)
}

/// Returns an error if a pair of hosts has no path. Hosts forward only if they relay. Two hosts are
/// therefore connected if both touch the same island: a link, or a set of interlinked switches and
/// relays. It suffices to compare hosts that touch different islands. Hosts without a link have
/// failed.
fn unreachable(nodes: &[NodeSpec], ports: &[Vec<(NodeId, usize)>]) -> Option<Diagnostic> {
    let is_host = |node: usize| !nodes[node].kind.forwards();
    let mut island_of_switch = vec![usize::MAX; nodes.len()];
    for start in (0..nodes.len()).filter(|&node| !is_host(node)) {
        let mut front = vec![start];
        while let Some(switch) = front.pop() {
            interrupt::check();
            if island_of_switch[switch] == usize::MAX {
                island_of_switch[switch] = start;
                front.extend(ports[switch].iter().map(|&(peer, _)| peer.0 as usize).filter(|&peer| !is_host(peer)));
            }
        }
    }
    let mut groups: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for host in (0..nodes.len()).filter(|&node| nodes[node].kind.has_endpoint() && !ports[node].is_empty()) {
        let island = |&(peer, link): &(NodeId, usize)| match peer.0 as usize {
            peer if is_host(peer) => nodes.len() + link,
            switch => island_of_switch[switch],
        };
        let own = Some(island_of_switch[host]).filter(|_| !is_host(host));
        let mut islands: Vec<usize> = ports[host].iter().map(island).chain(own).collect();
        islands.sort_unstable();
        islands.dedup();
        groups.entry(islands).or_default().push(host);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, hosts)| hosts[0]);
    let (islands, hosts, others) = groups.iter().enumerate().find_map(|(i, (islands, hosts))| {
        let apart = |(other, _): &&(Vec<usize>, Vec<usize>)| !other.iter().any(|island| islands.contains(island));
        let others: Vec<usize> = groups[i + 1..].iter().filter(apart).flat_map(|(_, hosts)| hosts.clone()).collect();
        (!others.is_empty()).then_some((islands, hosts, others))
    })?;
    debug_assert!(!islands.is_empty());
    let named: Vec<_> = others.iter().take(5).map(|&host| format!("\"{}\"", nodes[host].name)).collect();
    let more = others.len() - named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let from = &nodes[hosts[0]].name;
    let message = format!("there is no path from host \"{from}\" to {}{more}", named.join(", "));
    Some(error(message).hint("only switches and relaying hosts forward packets; add links between them"))
}
