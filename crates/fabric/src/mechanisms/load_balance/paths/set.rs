//! The paths of an edge, and how they are found.

use super::delay::Delay;
use super::echo::PathIx;
use crate::contract::{Choice, Findings, SchemeContext, Shape, View};
use crate::frame::{MAX_HOPS, Route};
use crate::ids::{NodeId, PortIx};
use arrayvec::ArrayVec;
use get_size2::GetSize;

/// The most paths to an edge that are looked at.
const MOST_PATHS: usize = 1024;

/// Index of the way up of a path: its links from the edge on as far as the highest layer. Paths with the same one differ on their way down at most.
pub(in super::super) type Ascent = u16;

/// The egress ports of a path, from one edge to the other: behind them is the link to a host, and before them that from one. Of a path that is longer than a route has room
/// for, the first ones, one more than that.
type Ports = ArrayVec<PortIx, { MAX_HOPS - 1 }>;

/// Whether a mechanism that chooses whole paths can run in a network of this shape.
pub(in super::super) fn applies(mechanism: &str, shape: &Shape) -> Result<(), String> {
    shape.without_relays(mechanism)?;
    if shape.multihomed {
        return Err(format!(
            "{mechanism}'s paths are from edge to edge: a host must have one link, and there are hosts with several"
        ));
    }
    if shape.layers > 3 {
        return Err(format!(
            "{mechanism}'s packets carry their route, which has room for 3 layers of switches, and there are {}",
            shape.layers
        ));
    }
    if shape.routes_by_hand {
        return Err(format!("{mechanism}'s edges choose whole paths: no route can be set by hand"));
    }
    Ok(())
}

/// Warns of a flow control under which packets wait elsewhere than in the queues of classes, at which edges look.
pub(in super::super) fn check_queues(beside: &SchemeContext<'_>, findings: &mut Findings) {
    let (flow_control, facts) = &beside.flow_control;
    let message = format_args!(
        "sees neither what waits at an edge's own uplinks nor what is stopped there: under {flow_control} packets are in \
         queues of its own"
    );
    findings.warning(facts.bypasses_class_queues, "", message);
}

/// The paths from an edge to the others.
#[derive(Debug, GetSize)]
pub(in super::super) struct Paths {
    pub(super) node: NodeId,
    /// By the edge to which they lead.
    sets: Vec<Option<Box<PathSet>>>,
    #[get_size(size_fn = vec_bytes)]
    ascents: Vec<Ports>,
}

fn vec_bytes(ports: &Vec<Ports>) -> usize {
    ports.capacity() * size_of::<Ports>()
}

/// The paths to another edge.
#[derive(Debug, Default, GetSize)]
pub(in super::super) struct PathSet {
    pub(in super::super) edge: NodeId,
    pub(in super::super) paths: Vec<Path>,
    /// Those that routes know.
    known: Vec<PathIx>,
    /// How many times flows have changed to one of them.
    turns: u64,
    /// The state of the routes that they are from; `None` at first.
    epoch: Option<u32>,
}

/// A path to another edge.
#[derive(Debug, GetSize)]
pub(in super::super) struct Path {
    #[get_size(ignore)]
    ports: Ports,
    /// These as the route of a packet, if it can carry them.
    route: Option<Route>,
    pub(in super::super) ascent: Ascent,
    /// Whether routes know it.
    is_known: bool,
    pub(in super::super) delay: Delay,
    /// When a flow changed to it last: how many had changed to any until then.
    pub(in super::super) turn: u64,
}

impl Path {
    /// The port through which it leaves this edge.
    pub(in super::super) fn first(&self) -> PortIx {
        self.ports[0]
    }
}

impl Paths {
    pub(in super::super) fn new(node: NodeId) -> Paths {
        Paths { node, sets: Vec::new(), ascents: Vec::new() }
    }

    /// The paths to `edge`, that of `host`, as routes know them now.
    #[inline]
    pub(in super::super) fn to(&mut self, edge: NodeId, host: NodeId, view: &View<'_>) -> &mut PathSet {
        let epoch = Some(view.paths.epoch());
        if self.known(edge).is_none_or(|set| set.epoch != epoch) {
            self.renew(edge, host, view);
        }
        self.known_mut(edge).expect("they have just been looked for")
    }

    /// Looks for the paths to an edge.
    #[inline(never)]
    fn renew(&mut self, edge: NodeId, host: NodeId, view: &View<'_>) {
        let slot = edge.0 as usize;
        if slot >= self.sets.len() {
            self.sets.resize_with(slot + 1, || None);
        }
        let set = self.sets[slot].get_or_insert_with(|| Box::new(PathSet { edge, ..PathSet::default() }));
        set.epoch = Some(view.paths.epoch());
        set.renew(self.node, host, &mut self.ascents, view);
    }

    /// The port with which a way up begins.
    pub(in super::super) fn first_of(&self, ascent: Ascent) -> PortIx {
        self.ascents[usize::from(ascent)][0]
    }

    /// The paths to `edge`, if any has been looked for.
    pub(in super::super) fn known(&self, edge: NodeId) -> Option<&PathSet> {
        self.sets.get(edge.0 as usize)?.as_deref()
    }

    /// The same, to write on them.
    pub(in super::super) fn known_mut(&mut self, edge: NodeId) -> Option<&mut PathSet> {
        self.sets.get_mut(edge.0 as usize)?.as_deref_mut()
    }

    /// The paths to every edge that has been looked for, in order of edges.
    pub(in super::super) fn sets(&self) -> impl Iterator<Item = &PathSet> {
        self.sets.iter().flatten().map(|set| &**set)
    }
}

impl PathSet {
    /// Looks for the paths from `node` anew. Those that are no longer known keep their places.
    fn renew(&mut self, node: NodeId, host: NodeId, ascents: &mut Vec<Ports>, view: &View<'_>) {
        let mut found = Vec::new();
        find(node, self.edge, host, view, &mut Ports::new(), &mut found);
        self.paths.iter_mut().for_each(|path| path.is_known = false);
        self.known = found.into_iter().filter_map(|ports| self.index_of(ports, ascents)).collect();
        self.known.iter().for_each(|ix| self.paths[*ix as usize].is_known = true);
    }

    /// The place of the path of these ports, made if there is none; `None` from an edge to itself, where there is nothing to choose.
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

    /// The path called `ix`.
    pub(in super::super) fn path(&self, ix: PathIx) -> &Path {
        &self.paths[ix as usize]
    }

    /// A flow changes to a path.
    pub(in super::super) fn takes_turn(&mut self, ix: PathIx) {
        self.turns += 1;
        self.paths[ix as usize].turn = self.turns;
    }

    /// Those that routes know, whatever their first links.
    pub(in super::super) fn known(&self) -> impl Iterator<Item = (PathIx, &Path)> + Clone {
        self.known.iter().map(|ix| (*ix, self.path(*ix)))
    }

    /// Those whose first links are up.
    pub(in super::super) fn usable<'a>(
        &'a self,
        view: &'a View<'_>,
    ) -> impl Iterator<Item = (PathIx, &'a Path)> + Clone + 'a {
        self.known().filter(|(_, path)| view.port(path.first()).is_up())
    }

    /// Whether `ix` is one of those.
    pub(in super::super) fn is_usable(&self, ix: PathIx, view: &View<'_>) -> bool {
        self.path(ix).is_known && view.port(self.path(ix).first()).is_up()
    }

    /// The route to the other edge itself, if a packet can carry it.
    pub(in super::super) fn route_to_edge(&self, ix: PathIx) -> Option<Route> {
        self.path(ix).route
    }

    /// The route to `host` along a path, if a packet can carry it.
    pub(in super::super) fn route(&self, ix: PathIx, host: NodeId, view: &View<'_>) -> Option<Route> {
        let last = view.paths.candidates(self.edge, host).first()?;
        self.path(ix).route?.then(*last)
    }

    /// For a packet that cannot: which of `candidates` is the first port of a path. From there any way will do.
    pub(in super::super) fn candidate(&self, ix: PathIx, candidates: &[PortIx]) -> Option<Choice> {
        candidates.iter().position(|port| *port == self.path(ix).first()).map(Choice::Candidate)
    }
}

/// Adds to `found` all ways from `node` to `edge` on which packets for `host` may go behind `way`, in the order of their ports.
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
