//! A checked fabric, and what others ask of it.

use super::{BuildError, did_you_mean};
use backwater_engine::Rate;
use backwater_fabric::ids::{NodeId, PortIx};
use backwater_fabric::network::spec::{LinkSpec, NodeKind, NodeSpec};
use std::collections::{BTreeMap, BTreeSet};

/// A fabric in which every name is unique and every host that has not failed reaches every other.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Hosts and switches; a [`NodeId`] is an index into this list.
    pub nodes: Vec<NodeSpec>,
    /// Full-duplex links, parallel ones included. A node's ports are numbered in the order in which its links stand here.
    pub links: Vec<LinkSpec>,
    /// What a reader wants to know of the fabric: its size, its oversubscription.
    pub notes: Vec<String>,
    ids: BTreeMap<String, NodeId>,
    /// Per node the other end and the link of each port.
    ports: Vec<Vec<(NodeId, usize)>>,
    /// The names of ports, as far as the topology gives them.
    pub port_names: BTreeMap<(NodeId, PortIx), String>,
    /// Nodes that take no part: they keep their ids, and have no links.
    failed: BTreeSet<NodeId>,
}

impl Graph {
    /// Checks `nodes` and `links`: unique names, ends that exist and differ, a link for every node, a path between any two hosts.
    ///
    /// # Errors
    /// Everything that is wrong, under the path `topology`.
    pub fn new(nodes: Vec<NodeSpec>, links: Vec<LinkSpec>, notes: Vec<String>) -> Result<Graph, Vec<BuildError>> {
        Graph::with_failed(nodes, links, notes, BTreeSet::new())
    }

    /// The same, with nodes that have failed and need no link.
    pub(super) fn with_failed(
        nodes: Vec<NodeSpec>,
        links: Vec<LinkSpec>,
        notes: Vec<String>,
        failed: BTreeSet<NodeId>,
    ) -> Result<Graph, Vec<BuildError>> {
        let mut errors = Vec::new();
        let mut ids = BTreeMap::new();
        for (i, node) in nodes.iter().enumerate() {
            if node.name.is_empty() {
                errors.push(error(format!("node {i} has an empty name")));
            } else if ids.insert(node.name.clone(), NodeId(i as u32)).is_some() {
                errors.push(error(format!("the name \"{}\" is given to two nodes", node.name)));
            }
        }
        let mut ports = vec![Vec::new(); nodes.len()];
        for (i, link) in links.iter().enumerate() {
            let (a, b) = (link.a.0 as usize, link.b.0 as usize);
            if a >= nodes.len() || b >= nodes.len() {
                errors.push(error(format!("link {i} ends at a node that does not exist")));
            } else if a == b {
                errors.push(error(format!("link {i} links \"{}\" to itself", nodes[a].name)));
            } else {
                ports[a].push((link.b, i));
                ports[b].push((link.a, i));
            }
        }
        for ((id, node), ports) in (0..).map(NodeId).zip(&nodes).zip(&ports) {
            // A switch may have lost all its neighbours.
            let needs_link = if node.kind.has_endpoint() { !failed.contains(&id) } else { failed.is_empty() };
            if ports.is_empty() && needs_link {
                errors.push(error(format!("{} \"{}\" has no link", word(Some(node.kind)), node.name)));
            }
            if ports.len() > usize::from(PortIx::MAX) {
                let (name, count, most) = (&node.name, ports.len(), PortIx::MAX);
                errors.push(error(format!("\"{name}\" has {count} ports, a node has at most {most}")));
            }
        }
        let hosts = (0..).map(NodeId).zip(&nodes).filter(|(_, node)| node.kind.has_endpoint());
        if hosts.clone().count() == 0 {
            errors.push(error("there is no host"));
        } else if hosts.clone().all(|(id, _)| failed.contains(&id)) {
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
        for (node, ports) in (0..).map(NodeId).zip(&self.ports) {
            for (port, (_, link)) in (0..).zip(ports) {
                let end = usize::from(self.links[*link].a != node);
                self.port_names.extend(names[*link][end].clone().map(|name| ((node, port), name)));
            }
        }
    }

    /// The node called `name`.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.ids.get(name).copied()
    }

    /// The host called `name`; the error, to be raised at the field `path`, says what else there is.
    ///
    /// # Errors
    /// If there is no such node, or it is a switch, or has failed.
    pub fn host(&self, path: &str, name: &str) -> Result<NodeId, BuildError> {
        self.of_name(path, name, Some(NodeKind::Host))
    }

    /// The same for a node of `kind`; of any if none is said.
    ///
    /// # Errors
    /// If there is no such node, or it is of the other kind, or has failed.
    pub fn of_name(&self, path: &str, name: &str, kind: Option<NodeKind>) -> Result<NodeId, BuildError> {
        self.find(path, name, word(kind), |other| is_of(other, kind))
    }

    /// The same for a node that packets pass through.
    ///
    /// # Errors
    /// If there is no such node, or it is a host that does not relay, or has failed.
    pub fn waypoint(&self, path: &str, name: &str) -> Result<NodeId, BuildError> {
        self.find(path, name, "switch or relay", NodeKind::forwards)
    }

    fn find(
        &self,
        path: &str,
        name: &str,
        wanted: &str,
        fits: impl Fn(NodeKind) -> bool,
    ) -> Result<NodeId, BuildError> {
        let kind = |node: NodeId| self.nodes[node.0 as usize].kind;
        match self.node(name) {
            Some(id) if self.failed.contains(&id) => {
                Err(BuildError::new(path, format!("\"{name}\" is one of topology.failed_nodes")))
            }
            Some(id) if fits(kind(id)) => Ok(id),
            Some(id) => Err(BuildError::new(path, format!("\"{name}\" is a {}, not a {wanted}", word(Some(kind(id)))))),
            None => {
                let names = self.alive().filter(|node| fits(kind(*node))).map(|node| self.name(node));
                let message = format!("there is no {wanted} \"{name}\"");
                Err(BuildError { path: path.into(), message, hint: did_you_mean(name, names) })
            }
        }
    }

    /// The name of `node`.
    pub fn name(&self, node: NodeId) -> &str {
        &self.nodes[node.0 as usize].name
    }

    /// Whether `node` is a host.
    pub fn is_host(&self, node: NodeId) -> bool {
        self.nodes[node.0 as usize].kind.has_endpoint()
    }

    /// Whether `node` takes no part.
    pub fn has_failed(&self, node: NodeId) -> bool {
        self.failed.contains(&node)
    }

    /// The nodes that take part, in ascending order of id.
    fn alive(&self) -> impl Iterator<Item = NodeId> {
        (0..self.nodes.len() as u32).map(NodeId).filter(|node| !self.failed.contains(node))
    }

    /// The hosts in ascending order of id, without those that have failed.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> {
        self.of_kind(Some(NodeKind::Host))
    }

    /// The switches in ascending order of id, without those that have failed.
    pub fn switches(&self) -> impl Iterator<Item = NodeId> {
        self.of_kind(Some(NodeKind::Switch))
    }

    /// The nodes of a kind, hosts that relay among the hosts, or of any, in ascending order of id, without those that have failed.
    pub fn of_kind(&self, kind: Option<NodeKind>) -> impl Iterator<Item = NodeId> {
        self.alive().filter(move |node| is_of(self.nodes[node.0 as usize].kind, kind))
    }

    /// The other end and the link (an index into [`Graph::links`]) of each port of `node`, in port order.
    pub fn ports(&self, node: NodeId) -> &[(NodeId, usize)] {
        &self.ports[node.0 as usize]
    }

    /// The switch at the other end of `host`'s first port; hosts with the same one form a rack. `None` where that is a host.
    pub fn rack_of(&self, host: NodeId) -> Option<NodeId> {
        self.ports(host).first().map(|&(peer, _)| peer).filter(|&peer| !self.is_host(peer))
    }

    /// What names the rack of `host`: its first switch, or itself where it has none.
    pub fn rack(&self, host: NodeId) -> NodeId {
        self.rack_of(host).unwrap_or(host)
    }

    /// Whether not all hosts are in one rack.
    pub fn has_several_racks(&self) -> bool {
        let mut racks = self.hosts().map(|host| self.rack(host));
        racks.next().is_some_and(|first| racks.any(|rack| rack != first))
    }

    /// What `host` can send: the sum of the rates of its ports.
    pub fn host_rate(&self, host: NodeId) -> Rate {
        self.rate_to(host, |_| true)
    }

    /// What a switch can send to other switches: the sum of the rates of those links, zero for one that has hosts only.
    pub fn uplink_capacity(&self, switch: NodeId) -> Rate {
        self.rate_to(switch, |peer| !self.is_host(peer))
    }

    fn rate_to(&self, node: NodeId, wanted: impl Fn(NodeId) -> bool) -> Rate {
        let ports = self.ports(node).iter().filter(|(peer, _)| wanted(*peer));
        Rate::from_bps(ports.map(|&(_, link)| self.links[link].rate.bps()).sum())
    }
}

/// Nodes of a kind, or of any, in messages.
pub(crate) fn word(kind: Option<NodeKind>) -> &'static str {
    kind.map_or("node", |kind| if kind.has_endpoint() { "host" } else { "switch" })
}

fn is_of(kind: NodeKind, wanted: Option<NodeKind>) -> bool {
    wanted.is_none_or(|wanted| kind.has_endpoint() == wanted.has_endpoint())
}

fn error(message: impl Into<String>) -> BuildError {
    BuildError::new("topology", message)
}

/// Pairs of hosts without a path. Hosts do not forward unless they relay, so two hosts are connected if a link, or one set of switches and relays that
/// are linked to each other, touches both: call that an island. It is enough to compare hosts that touch different islands. Hosts without a link have failed.
fn unreachable(nodes: &[NodeSpec], ports: &[Vec<(NodeId, usize)>]) -> Option<BuildError> {
    let is_host = |node: usize| !nodes[node].kind.forwards();
    let mut island_of_switch = vec![usize::MAX; nodes.len()];
    for start in (0..nodes.len()).filter(|&node| !is_host(node)) {
        let mut front = vec![start];
        while let Some(switch) = front.pop() {
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
    let message = format!("no path leads from host \"{from}\" to {}{more}", named.join(", "));
    Some(error(message).hint("hosts that do not relay forward nothing: link the switches"))
}
