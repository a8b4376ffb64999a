//! Paths of an edge, and their discovery.

use super::delay::Delay;
use super::echo::PathIx;
use crate::contract::{Choice, Diagnostics, SchemeContext, Shape, View};
use crate::frame::{MAX_HOPS, Route};
use crate::ids::{NodeId, PortIx};
use arrayvec::ArrayVec;
use backwater_engine::index::{Id, IndexVec};
use get_size2::GetSize;

/// Maximum number of paths to an edge that are considered.
const MOST_PATHS: usize = 1024;

/// Index of a path's ascent: its links from the edge to the highest layer. Paths with the same
/// ascent differ only on their descent.
pub(in super::super) type Ascent = u16;

/// Egress ports of a path from one edge to the other, without the links from and to hosts. For a
/// path longer than a route can hold, only the first ports are stored: one more than a route holds.
type Ports = ArrayVec<PortIx, { MAX_HOPS - 1 }>;

/// Rejects networks in which a mechanism that chooses whole paths cannot run.
pub(in super::super) fn applies(mechanism: &str, shape: &Shape) -> Result<(), String> {
    shape.without_relays(mechanism)?;
    shape.single_homed(mechanism)?;
    if shape.layers > 3 {
        return Err(format!(
            "{mechanism} supports at most 3 layers of switches (packets carry their route), but this network has {} \
                layers",
            shape.layers
        ));
    }
    if shape.routes_by_hand {
        return Err(format!("{mechanism} chooses whole paths at edge switches: remove [[routes]]"));
    }
    Ok(())
}

/// Warns if the flow control queues packets outside the class queues, since edges measure only the
/// class queues.
pub(in super::super) fn check_queues(scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
    let (flow_control, facts) = &scheme.flow_control;
    let message = format_args!(
        "cannot measure queues and pauses at the uplinks of edge switches: flow control {flow_control} keeps packets \
            in its own queues"
    );
    diagnostics.warning(facts.bypasses_class_queues, "", message);
}

/// Paths from an edge to other edges.
#[derive(Debug, GetSize)]
pub(in super::super) struct EdgePaths {
    pub(super) node: NodeId,
    /// Paths by destination edge.
    sets: IndexVec<NodeId, Option<Box<PathSet>>>,
    #[get_size(size_fn = vec_bytes)]
    ascents: Vec<Ports>,
}

fn vec_bytes(ports: &Vec<Ports>) -> usize {
    ports.capacity() * size_of::<Ports>()
}

/// Paths to another edge.
#[derive(Debug, Default, GetSize)]
pub(in super::super) struct PathSet {
    pub(in super::super) edge: NodeId,
    pub(in super::super) paths: Vec<Path>,
    /// Paths that routes allow.
    known: Vec<PathIx>,
    /// Number of times that flows have moved to one of these paths.
    turns: u64,
    /// Version of the routes; `None` at first.
    epoch: Option<u32>,
}

/// Path to another edge.
#[derive(Debug, GetSize)]
pub(in super::super) struct Path {
    #[get_size(ignore)]
    ports: Ports,
    /// Route of packets on the path, if a packet can carry it.
    route: Option<Route>,
    pub(in super::super) ascent: Ascent,
    /// True if routes allow the path.
    is_known: bool,
    pub(in super::super) delay: Delay,
    /// Value of `turns` when a flow last moved to the path.
    pub(in super::super) turn: u64,
}

impl Path {
    /// Returns the egress port of this edge.
    pub(in super::super) fn first(&self) -> PortIx {
        self.ports[0]
    }
}

impl EdgePaths {
    pub(in super::super) fn new(node: NodeId) -> EdgePaths {
        EdgePaths { node, sets: IndexVec::default(), ascents: Vec::new() }
    }

    /// Returns the paths to `edge`, the edge of `host`, by the current routes.
    #[inline]
    pub(in super::super) fn to(&mut self, edge: NodeId, host: NodeId, view: &View<'_>) -> &mut PathSet {
        let epoch = Some(view.paths.epoch());
        if self.known(edge).is_none_or(|set| set.epoch != epoch) {
            self.renew(edge, host, view);
        }
        self.known_mut(edge).expect("they have just been looked for")
    }

    /// Updates the paths to an edge.
    #[inline(never)]
    fn renew(&mut self, edge: NodeId, host: NodeId, view: &View<'_>) {
        let set = self.sets.get_or_default(edge);
        let set = set.get_or_insert_with(|| Box::new(PathSet { edge, ..PathSet::default() }));
        set.epoch = Some(view.paths.epoch());
        set.renew(self.node, host, &mut self.ascents, view);
    }

    /// Returns the first port of an ascent.
    pub(in super::super) fn first_of(&self, ascent: Ascent) -> PortIx {
        self.ascents[usize::from(ascent)][0]
    }

    /// Returns the paths to `edge` if they have been computed.
    pub(in super::super) fn known(&self, edge: NodeId) -> Option<&PathSet> {
        self.sets.get(edge.index())?.as_deref()
    }

    /// Returns the paths to `edge` for modification.
    pub(in super::super) fn known_mut(&mut self, edge: NodeId) -> Option<&mut PathSet> {
        self.sets.get_mut(edge.index())?.as_deref_mut()
    }

    /// Returns the paths to all edges computed so far, in order of edges.
    pub(in super::super) fn sets(&self) -> impl Iterator<Item = &PathSet> {
        self.sets.iter().flatten().map(|set| &**set)
    }
}

impl PathSet {
    /// Updates the paths from `node`. Paths that routes no longer allow keep their indices.
    fn renew(&mut self, node: NodeId, host: NodeId, ascents: &mut Vec<Ports>, view: &View<'_>) {
        let mut found = Vec::new();
        find(node, self.edge, host, view, &mut Ports::new(), &mut found);
        self.paths.iter_mut().for_each(|path| path.is_known = false);
        self.known = found.into_iter().filter_map(|ports| self.index_of(ports, ascents)).collect();
        self.known.iter().for_each(|ix| self.paths[*ix as usize].is_known = true);
    }

    /// Returns the index of the path with these ports, and adds it if it is new; `None` from an
    /// edge to itself, where there is no choice.
    fn index_of(&mut self, ports: Ports, ascents: &mut Vec<Ports>) -> Option<PathIx> {
        let place = self.paths.iter().position(|path| path.ports == ports).or_else(|| {
            if ports.is_empty() {
                return None;
            }
            let up: Ports = ports[..ports.len().div_ceil(2)].iter().copied().collect();
            let ascent = ascents.iter().position(|known| *known == up).unwrap_or_else(|| {
                ascents.push(up);
                ascents.len() - 1
            });
            self.paths.push(Path {
                route: Route::fixed(&ports).filter(|_| !ports.is_full()),
                ports,
                ascent: ascent as Ascent,
                is_known: true,
                delay: Delay::default(),
                turn: 0,
            });
            Some(self.paths.len() - 1)
        })?;
        Some(place as PathIx)
    }

    /// Returns the path `ix`.
    pub(in super::super) fn path(&self, ix: PathIx) -> &Path {
        &self.paths[ix as usize]
    }

    /// Records that a flow moves to a path.
    pub(in super::super) fn takes_turn(&mut self, ix: PathIx) {
        self.turns += 1;
        self.paths[ix as usize].turn = self.turns;
    }

    /// Returns the paths that routes allow, whatever the state of their first links.
    pub(in super::super) fn known(&self) -> impl Iterator<Item = (PathIx, &Path)> + Clone {
        self.known.iter().map(|ix| (*ix, self.path(*ix)))
    }

    /// Returns the allowed paths whose first links are up.
    pub(in super::super) fn usable<'a>(
        &'a self,
        view: &'a View<'_>,
    ) -> impl Iterator<Item = (PathIx, &'a Path)> + Clone + 'a {
        self.known().filter(|(_, path)| view.port(path.first()).is_up())
    }

    /// Returns true if `ix` is a usable path.
    pub(in super::super) fn is_usable(&self, ix: PathIx, view: &View<'_>) -> bool {
        self.path(ix).is_known && view.port(self.path(ix).first()).is_up()
    }

    /// Returns the route to the other edge, if a packet can carry it.
    pub(in super::super) fn route_to_edge(&self, ix: PathIx) -> Option<Route> {
        self.path(ix).route
    }

    /// Returns the route to `host` along a path, if a packet can carry it.
    pub(in super::super) fn route(&self, ix: PathIx, host: NodeId, view: &View<'_>) -> Option<Route> {
        let last = view.paths.candidates(self.edge, host).first()?;
        self.path(ix).route?.then(*last)
    }

    /// Returns the candidate that is the first port of a path, for a packet that cannot carry the
    /// route. After that port, any path is allowed.
    pub(in super::super) fn candidate(&self, ix: PathIx, candidates: &[PortIx]) -> Option<Choice> {
        candidates.iter().position(|port| *port == self.path(ix).first()).map(Choice::Candidate)
    }
}

/// Adds to `found` all paths from `node` to `edge` that packets for `host` may take after `way`, in
/// the order of their ports.
fn find(node: NodeId, edge: NodeId, host: NodeId, view: &View<'_>, way: &mut Ports, found: &mut Vec<Ports>) {
    if node == edge || way.is_full() {
        found.push(way.clone());
        return;
    }
    for port in view.paths.candidates(node, host) {
        if found.len() == MOST_PATHS {
            return;
        }
        way.push(*port);
        find(view.paths.neighbour(node, *port), edge, host, view, way, found);
        way.pop();
    }
}
