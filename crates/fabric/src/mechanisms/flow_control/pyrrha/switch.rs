//! Pyrrha at a switch: choice of roots, notification of neighbours, and changes of isolation
//! queues.
//!
//! The ordinary queue of a port is the queue of the packet's class. A root of this switch is a port
//! with a long ordinary queue: the switch notifies the neighbours whose packets lengthen the queue.
//! A root further downstream is known from frames of downstream neighbours. Packets that will pass
//! such a root are in an isolation queue of each port on the way. When an isolation queue grows
//! long, neighbours whose packets lengthen that queue are notified as well.

use super::super::hops::PerHop;
use super::frames::PyrrhaFrame;
use super::given_up;
use super::queues::{EgressQueues, Isolation, RootsAhead, State};
use super::roots::{Root, Roots};
use super::{Isolated, MergePolicy, Organisation, Peer, PyrrhaConfig, RelayMetric, SoftMerge};
use crate::contract::{Neighbour, PacketContext, PauseScope, PortFacts, QueueChoice, RemainingHops, Site, View};
use crate::frame::cause::Cause;
use crate::ids::{PortId, PortIx, QueueIx};
use backwater_engine::index::IndexVec;
use backwater_engine::{Duration, Time};
use get_size2::GetSize;

/// Queue lengths at which a port notifies an ingress port's neighbour to stop and to continue, in
/// bytes.
#[derive(Clone, Copy, Debug, GetSize)]
struct Thresholds {
    pause: u64,
    resume: u64,
}

/// Role of a port.
#[derive(Debug, GetSize)]
struct PortRole {
    id: PortId,
    peer: Peer,
    /// True if the port leads towards hosts.
    is_down: bool,
}

#[derive(Debug, GetSize)]
pub(super) struct PyrrhaSwitch {
    #[get_size(ignore)]
    config: PyrrhaConfig,
    ports: IndexVec<PortIx, PortRole>,
    egress: IndexVec<PortIx, EgressQueues>,
    roots: Roots,
    thresholds: PerHop<Thresholds>,
    /// Time that an empty queue made by a MERGE is kept.
    merge_grace: Duration,
}

/// Returns the ports on a packet's path after `here`. In a routing loop, the path ends before the
/// first port that it has already passed.
fn ahead(here: PortId, remaining_hops: RemainingHops<'_>) -> impl Iterator<Item = PortId> {
    let (mut passed, mut count) = ([here; RemainingHops::MOST as usize], 0);
    remaining_hops.map_while(move |port| {
        if passed[..count].contains(&port) || (count > 0 && passed[count - 1] == here) {
            return None;
        }
        passed[count] = port;
        count += 1;
        Some(port)
    })
}

impl PyrrhaSwitch {
    pub(super) fn new(config: &PyrrhaConfig, site: &Site<'_>) -> PyrrhaSwitch {
        let role = |(port, neighbour): (&PortFacts, &Neighbour)| {
            let is_down = neighbour.layer < site.layer;
            PortRole { id: port.id, peer: Peer::of(neighbour, site), is_down }
        };
        let thresholds = |hop_bdp: u64| {
            let bytes =
                |hops: f64, frames: u64| ((hop_bdp as f64 * hops) as u64).max(frames * site.sizes.largest_charge());
            Thresholds { pause: bytes(config.pause, 2), resume: bytes(config.resume, 1) }
        };
        PyrrhaSwitch {
            config: config.clone(),
            ports: site.links().map(role).collect(),
            egress: site
                .ports
                .iter()
                .map(|_| EgressQueues::new(config.organisation, config.isolation_queues))
                .collect(),
            roots: Roots::default(),
            thresholds: PerHop::new(site, thresholds),
            merge_grace: config.merge_grace(site.base_rtt),
        }
    }

    // Queues of packets.

    #[inline]
    pub(super) fn place(&mut self, packet: &PacketContext<'_>, after: Option<PortId>, view: &View<'_>) -> QueueChoice {
        if self.egress[packet.egress].is_plain() { packet.by_class() } else { self.isolate(packet, after, view) }
    }

    /// Returns the queue of a packet at a port that isolates packets.
    #[inline(never)]
    fn isolate(&mut self, packet: &PacketContext<'_>, after: Option<PortId>, view: &View<'_>) -> QueueChoice {
        let here = self.ports[packet.egress].id;
        let place = self.egress[packet.egress].place(ahead(here, view.remaining_hops(packet)), after);
        place.map_or(packet.by_class(), |(queue, note)| packet.in_queue(queue, note))
    }

    pub(super) fn next_place(&mut self, packet: &PacketContext<'_>, view: &View<'_>) -> QueueChoice {
        let root = self.egress[packet.egress].roots_of(packet.note()).first().copied();
        self.place(packet, root, view)
    }

    // Growing and shrinking queues.

    /// Accounts for a packet that is about to join its queue. Returns false if
    /// [`joined`](Self::joined) has nothing to do: most packets join a short ordinary queue.
    #[inline]
    pub(super) fn count_join(&mut self, packet: &PacketContext<'_>) -> bool {
        let egress = &mut self.egress[packet.egress];
        if !egress.is_ordinary(packet.note()) {
            return true;
        }
        egress.ordinary += u64::from(packet.bytes());
        egress.ordinary > self.thresholds.get(packet.egress, packet.ingress()).pause
    }

    pub(super) fn joined(&mut self, packet: &PacketContext<'_>, view: &mut View<'_>) {
        if !self.egress[packet.egress].is_ordinary(packet.note()) {
            self.add(packet);
        }
        self.on_growth(packet, view);
        self.update_gates(packet.egress, packet.choice(), view);
    }

    /// Accounts for a packet that left its queue. Returns false if [`left`](Self::left) has nothing
    /// to do: most packets leave the ordinary queue of a port that has paused no neighbour.
    #[inline]
    pub(super) fn count_departure(&mut self, packet: &PacketContext<'_>) -> bool {
        let egress = &mut self.egress[packet.egress];
        if !egress.is_ordinary(packet.note()) {
            return true;
        }
        egress.ordinary -= u64::from(packet.bytes());
        egress.pauses
    }

    pub(super) fn left(&mut self, packet: &PacketContext<'_>, view: &mut View<'_>) {
        let roots = if self.egress[packet.egress].is_ordinary(packet.note()) {
            RootsAhead::new()
        } else {
            self.take(packet, packet.choice())
        };
        self.on_drain(packet.egress, packet.choice(), roots, view);
        self.update_gates(packet.egress, packet.choice(), view);
    }

    pub(super) fn moved(&mut self, packet: &PacketContext<'_>, from: QueueChoice, view: &mut View<'_>) {
        let to = packet.choice();
        if from != to {
            let roots = self.take(packet, from);
            self.add(packet);
            self.on_growth(packet, view);
            self.on_drain(packet.egress, from, roots, view);
            self.update_gates(packet.egress, from, view);
            self.update_gates(packet.egress, to, view);
        }
    }

    fn add(&mut self, packet: &PacketContext<'_>) {
        let egress = &mut self.egress[packet.egress];
        egress.add(packet.queue, packet.note(), packet.bytes().into());
        for root in egress.roots_of(packet.note()) {
            self.roots.get_mut(root).expect("a root with a queue is known").add_load(packet.ingress(), packet.bytes());
        }
    }

    /// Removes a packet from its queue. Returns the roots for which the packet was isolated.
    fn take(&mut self, packet: &PacketContext<'_>, from: QueueChoice) -> RootsAhead {
        let egress = &mut self.egress[packet.egress];
        let roots = egress.roots_of(from.note);
        egress.take(from.queue, from.note, packet.bytes().into());
        for root in &roots {
            self.roots
                .get_mut(*root)
                .expect("a root with a queue is known")
                .take_load(packet.ingress(), packet.bytes());
        }
        roots
    }

    /// Resumes neighbours that `port`, as a root, has paused, if its queue is short enough.
    #[inline(never)]
    fn relieve_own(&mut self, port: PortIx, view: &mut View<'_>) {
        let id = self.ports[port].id;
        self.relieve(id, port, view);
        self.egress[port].pauses = self.roots.get(id).is_some_and(Root::pauses);
    }

    /// Checks if a queue that a packet has joined is too long.
    fn on_growth(&mut self, packet: &PacketContext<'_>, view: &mut View<'_>) {
        let egress = &self.egress[packet.egress];
        let threshold = self.thresholds.get(packet.egress, packet.ingress()).pause;
        if packet.note() == 0 {
            if egress.ordinary > threshold {
                self.pause(self.ports[packet.egress].id, 0, packet.ingress(), view);
            }
            return;
        }
        for root in egress.roots_of(packet.note()) {
            let isolation = self.egress[packet.egress].get(root);
            let Some((isolation, entry)) = isolation.zip(self.roots.get(root)) else { continue };
            let load = match self.config.relay_metric {
                RelayMetric::Queue => isolation.bytes,
                RelayMetric::PerIngress => entry.load_of(packet.ingress()),
            };
            if load > threshold && isolation.state != State::SoftMerging {
                let distance = entry.distance;
                self.pause(root, distance, packet.ingress(), view);
            }
        }
    }

    /// Checks if a queue that a packet has left, isolated for `roots`, is short enough or empty.
    fn on_drain(&mut self, port: PortIx, from: QueueChoice, roots: RootsAhead, view: &mut View<'_>) {
        if from.note == 0 && self.egress[port].pauses {
            self.relieve_own(port, view);
        }
        for root in roots {
            let Some(isolation) = self.egress[port].get(root) else { continue };
            let is_empty = isolation.bytes == 0;
            self.relieve(root, port, view);
            if is_empty {
                self.release_unused(root, view);
            }
        }
    }

    /// In a single tier, updates the gate of a queue, which can change with every packet.
    fn update_gates(&mut self, port: PortIx, of: QueueChoice, view: &mut View<'_>) {
        if self.config.organisation == Organisation::Hierarchical {
            return;
        }
        if of.note != 0 {
            self.set_gate(port, of.queue, view);
        }
        if self.egress[port].any_waits() {
            self.set_gates(port, view);
        }
    }

    /// Notifies the neighbour at `ingress` to hold back packets that pass `root`, which is
    /// `distance` ports further downstream.
    #[inline(never)]
    fn pause(&mut self, root: PortId, distance: u8, ingress: PortIx, view: &mut View<'_>) {
        let understands = matches!(self.ports[ingress].peer, Peer::Switch | Peer::Host);
        if understands && self.roots.learn(root, distance).register(ingress, true) {
            let own = self.ports.ids().find(|port| self.ports[*port].id == root);
            own.into_iter().for_each(|port| self.egress[port].pauses = true);
            view.send(ingress, PyrrhaFrame::Pause { root, distance: distance + 1 }.into());
        }
    }

    /// Resumes neighbours that `root` has paused and that need not wait any more, after a packet
    /// has left `egress`.
    fn relieve(&mut self, root: PortId, egress: PortIx, view: &mut View<'_>) {
        let PyrrhaSwitch { config, ports, egress: queues, roots, thresholds, .. } = self;
        let Some(entry) = roots.get_mut(root) else { return };
        if !entry.pauses() {
            return;
        }
        let is_own = ports[egress].id == root;
        let mut children = std::mem::take(&mut entry.children);
        let is_short = |ingress: PortIx| match config.relay_metric {
            _ if is_own => queues[egress].ordinary < thresholds.get(egress, ingress).resume,
            RelayMetric::Queue => queues.enumerate().all(|(egress, queues)| {
                let controlled = queues.get(root).filter(|queue| queue.state != State::SoftMerging);
                controlled.is_none_or(|queue| queue.bytes < thresholds.get(egress, ingress).resume)
            }),
            RelayMetric::PerIngress => entry.load_of(ingress) < thresholds.get(egress, ingress).resume,
        };
        children.retain_mut(|child| {
            let goes = child.paused && is_short(child.ingress);
            if goes {
                child.paused = false;
                view.send(child.ingress, PyrrhaFrame::Resume { root }.into());
            }
            // Hosts have no isolation queues: they never report that no state is left.
            !(goes && ports[child.ingress].peer == Peer::Host)
        });
        let is_leaf = children.is_empty();
        entry.children = children;
        if is_leaf {
            self.release_unused(root, view);
        }
    }

    // Assigning and releasing isolation queues.

    /// Sets the state of the isolation queue of `root` at `port`, and assigns a queue if there is
    /// none. Returns true if a queue was assigned.
    fn set_state(&mut self, port: PortIx, root: PortId, state: State, view: &mut View<'_>) -> bool {
        let egress = &mut self.egress[port];
        let is_new = egress.get(root).is_none();
        if is_new {
            egress.assign(root, state);
            self.roots.get_mut(root).expect("a root is known before it gets a queue").queues += 1;
        }
        let isolation = egress.get_mut(root).expect("it is isolated now");
        (isolation.state, isolation.kept_until) = (state, Time::ZERO);
        let heir = isolation.heir.take_if(|_| state != State::SoftMerging);
        match isolation.queue {
            Some(queue) => self.set_gate(port, queue, view),
            None => self.set_gates(port, view),
        }
        heir.into_iter().for_each(|heir| self.release_unused(heir, view));
        is_new
    }

    /// Updates a queue's gate. The gate is closed while any root that uses the queue is paused, or
    /// while the queue must wait for another queue.
    fn set_gate(&mut self, port: PortIx, queue: QueueIx, view: &mut View<'_>) {
        let egress = &mut self.egress[port];
        let held = egress.is_held(queue).then(|| Cause::order(self.ports[port].id));
        match egress.keeper(queue).map(Cause::from).or(held) {
            Some(cause) => {
                // A gate that stays closed for another root starts a new closure.
                if view.port(port).closed(queue).is_some_and(|(_, before)| before.root != cause.root) {
                    view.open(port, queue);
                }
                view.close(port, queue, cause);
            }
            None if view.port(port).is_closed(queue) => view.open(port, queue),
            None => {}
        }
    }

    fn set_gates(&mut self, port: PortIx, view: &mut View<'_>) {
        for queue in self.egress[port].queues() {
            self.set_gate(port, queue, view);
        }
    }

    /// Unassigns the empty queues of `root` that are not needed. A queue of a root that has given
    /// up is not needed. Neither is a resumed queue, if `root` controls no upstream neighbour; the
    /// downstream neighbour is then notified. A paused queue stays, since later packets would
    /// bypass the PAUSE.
    fn release_unused(&mut self, root: PortId, view: &mut View<'_>) {
        let mut heir = None;
        let Some(entry) = self.roots.get_mut(root) else { return };
        let is_leaf = entry.children.is_empty();
        for (port, egress) in self.egress.ids().zip(&mut self.egress) {
            let Some(isolation) = egress.get(root).filter(|isolation| isolation.bytes == 0) else { continue };
            match isolation.state {
                State::Resumed if is_leaf && !egress.is_heir(root) && isolation.kept_until <= view.now => {
                    view.send(port, PyrrhaFrame::Unassigned { root }.into());
                }
                State::SoftMerging => {}
                State::Resumed | State::Paused => continue,
            }
            heir = egress.unassign(root);
            entry.queues -= 1;
        }
        self.roots.tidy(root);
        // The recursion ends: the distance to the root grows from heir to heir.
        heir.into_iter().for_each(|heir| self.release_unused(heir, view));
    }

    /// Keeps the empty queue of `root` at `port` for a while after a MERGE.
    fn keep(&mut self, port: PortIx, root: PortId, view: &mut View<'_>) {
        let isolation = self.egress[port].get_mut(root).filter(|isolation| isolation.bytes == 0);
        isolation.into_iter().for_each(|isolation| isolation.kept_until = view.now + self.merge_grace);
        self.arm(port, view);
    }

    /// Sets the timer of `port` to the next time until which an empty queue is kept.
    fn arm(&self, port: PortIx, view: &mut View<'_>) {
        let ends = self.egress[port].iter().map(|isolation| isolation.kept_until);
        view.set_timer(port, ends.filter(|end| *end != Time::ZERO).min().unwrap_or(Time::NEVER));
    }

    pub(super) fn on_timer(&mut self, port: PortIx, view: &mut View<'_>) {
        while let Some(root) = self.egress[port].end_of_time(view.now) {
            self.release_unused(root, view);
        }
        self.arm(port, view);
    }

    /// Ends the isolation of packets for `roots` at `port`. From now on, packets that pass `heir`
    /// are isolated for `heir`.
    fn dissolve(&mut self, port: PortIx, roots: &[PortId], heir: Option<PortId>, view: &mut View<'_>) {
        for root in roots {
            // A queue kept for an earlier root of the list may be gone by now.
            let Some(isolation) = self.egress[port].get_mut(*root) else { continue };
            let before = std::mem::replace(&mut isolation.heir, heir);
            self.set_state(port, *root, State::SoftMerging, view);
            // A root that gave up for an earlier heir can give up for another heir.
            before.filter(|_| before != heir).into_iter().for_each(|heir| self.release_unused(heir, view));
        }
        if self.config.soft_merge == SoftMerge::Flush {
            self.egress[port].flush(roots, |queue| view.flush(port, queue));
        }
        for root in roots {
            // Neighbours paused because of these queues need not wait any more.
            self.relieve(*root, port, view);
            self.release_unused(*root, view);
        }
    }

    // Frames.

    pub(super) fn on_frame(&mut self, port: PortIx, frame: PyrrhaFrame, view: &mut View<'_>) {
        match frame {
            PyrrhaFrame::Pause { root, distance } if !self.ignores(root) => {
                self.roots.learn(root, distance);
                let is_new = self.set_state(port, root, State::Paused, view);
                if is_new && self.gives_up(port) {
                    self.abdicate(port, root, view);
                }
            }
            PyrrhaFrame::Resume { root } => match self.egress[port].get(root) {
                Some(isolation) if isolation.state == State::Paused => {
                    self.set_state(port, root, State::Resumed, view);
                    self.release_unused(root, view);
                }
                Some(_) => {}
                // The PAUSE was ignored. Without this answer, the downstream switch would wait for
                // ever for the report that no state is left.
                None => view.send(port, PyrrhaFrame::Unassigned { root }.into()),
            },
            PyrrhaFrame::Merge { old, new, distance } => {
                given_up::count(port, old, view);
                if self.ignores(new) {
                    view.send(port, PyrrhaFrame::Unassigned { root: new }.into());
                } else {
                    self.roots.learn(new, distance);
                    self.set_state(port, new, State::Resumed, view);
                    self.keep(port, new, view);
                }
                if self.egress[port].get(old).is_some() {
                    self.hand_over(old, new, view);
                    self.dissolve(port, &[old], Some(new), view);
                }
                self.release_unused(new, view);
            }
            PyrrhaFrame::Unassigned { root } => {
                // A report that crossed a PAUSE on the link is out of date.
                let child = self.roots.get_mut(root).and_then(|entry| entry.child(port));
                if child.is_some_and(|child| !child.paused) {
                    self.forget_child(root, port, view);
                }
            }
            PyrrhaFrame::Pause { .. } => {}
        }
    }

    /// Returns true if frames about `root` are ignored: the root is a port of this switch, so
    /// holding back packets on the way to it is pointless (sections IV-D and VII).
    fn ignores(&self, root: PortId) -> bool {
        self.config.own_root_rule && self.ports.iter().any(|port| port.id == root)
    }

    /// Returns true if `port`, as a root, gives up when it first learns of another root further
    /// downstream.
    fn gives_up(&self, port: PortIx) -> bool {
        match self.config.merge {
            MergePolicy::Down => self.ports[port].is_down,
            MergePolicy::Any => true,
            MergePolicy::Never => false,
        }
    }

    /// Hands the neighbours that root `port` controls over to `new` (section IV-A).
    fn abdicate(&mut self, port: PortIx, new: PortId, view: &mut View<'_>) {
        let old = self.ports[port].id;
        self.hand_over(old, new, view);
        self.roots.tidy(old);
    }

    /// Notifies all neighbours under the control of `old`: `old` has given up in favour of `new`.
    /// At first, the neighbours' queues for the new root are open.
    fn hand_over(&mut self, old: PortId, new: PortId, view: &mut View<'_>) {
        let Some(entry) = self.roots.get_mut(old) else { return };
        let mut children = std::mem::take(&mut entry.children);
        let ignored = self.ignores(new);
        for child in &children {
            let distance = self.roots.get(new).map_or(0, |entry| entry.distance);
            view.send(child.ingress, PyrrhaFrame::Merge { old, new, distance: distance + 1 }.into());
            view.count("merge_frames", 1);
            // A switch now has an open queue for the new root, unless it ignores the root; a host
            // forgets both roots.
            let entry = self.roots.get_mut(new);
            match self.ports[child.ingress].peer {
                Peer::Switch if ignored => entry.into_iter().for_each(|entry| entry.let_go(child.ingress)),
                Peer::Switch => {
                    self.roots.learn(new, distance).register(child.ingress, false);
                }
                Peer::Host | Peer::Pfc | Peer::Other => entry.into_iter().for_each(|entry| entry.forget(child.ingress)),
            }
        }
        children.clear();
        // The allocation is kept for reuse.
        self.roots.get_mut(old).into_iter().for_each(|entry| entry.children = std::mem::take(&mut children));
    }

    fn forget_child(&mut self, root: PortId, ingress: PortIx, view: &mut View<'_>) {
        self.roots.get_mut(root).into_iter().for_each(|entry| entry.forget(ingress));
        self.release_unused(root, view);
    }

    /// Resets the state that this node shares with the neighbour at `port`, after the link was
    /// restored.
    pub(super) fn on_link_up(&mut self, port: PortIx, view: &mut View<'_>) {
        let isolated: Vec<PortId> = self.egress[port].iter().map(|isolation| isolation.root).collect();
        let known: Vec<PortId> = self.roots.iter().map(|root| root.id).collect();
        self.dissolve(port, &isolated, None, view);
        known.into_iter().for_each(|root| self.forget_child(root, port, view));
    }

    // Audits and probes.

    pub(super) fn isolated(&self) -> Vec<Isolated> {
        let of_port = |(port, egress): (PortIx, &EgressQueues)| {
            let isolated = |isolation: &Isolation| {
                let Isolation { root, state, queue, bytes, .. } = *isolation;
                Isolated { port, root, state, queue, bytes }
            };
            egress.iter().map(isolated).collect::<Vec<_>>()
        };
        self.egress.enumerate().flat_map(of_port).collect()
    }

    pub(super) fn own_roots(&self) -> Vec<PortId> {
        let own = |root: &&Root| self.ports.iter().any(|port| port.id == root.id) && !root.children.is_empty();
        self.roots.iter().filter(own).map(|root| root.id).collect()
    }

    pub(super) fn upstream_pauses(&self) -> Vec<(PortIx, PauseScope)> {
        let paused = self.roots.iter().flat_map(|root| {
            let paused = root.children.iter().filter(|child| child.paused);
            paused.map(|child| (child.ingress, PauseScope::Root(root.id)))
        });
        paused.collect()
    }

    pub(super) fn obeyed_pauses(&self, port: PortIx) -> Vec<PauseScope> {
        let paused = self.egress[port].iter().filter(|isolation| isolation.state == State::Paused);
        paused.map(|isolation| PauseScope::Root(isolation.root)).collect()
    }

    pub(super) fn scope(&self, port: PortIx, queue: QueueIx) -> PauseScope {
        self.egress[port].keeper(queue).map_or(PauseScope::Queue(queue), PauseScope::Root)
    }

    /// Returns true if a packet keeps `root` paused upstream: a packet in an isolation queue of
    /// `root`, or in the ordinary queue of the port that is `root`.
    pub(super) fn sustains_pause(&self, ingress: PortIx, root: PortId, packet: &PacketContext<'_>) -> bool {
        if packet.note() == 0 {
            return self.ports[packet.egress].id == root;
        }
        let is_isolated = self.egress[packet.egress].roots_of(packet.note()).contains(&root);
        is_isolated && (self.config.relay_metric == RelayMetric::Queue || packet.ingress() == ingress)
    }

    pub(super) fn leftover(&self) -> Option<String> {
        let kept = |(port, egress): (usize, &EgressQueues)| {
            egress
                .iter()
                .next()
                .map(|isolation| format!("port {port} still isolates flows through the root {:?}", isolation.root))
        };
        let known = || {
            let root = self.roots.iter().next()?;
            Some(format!("the root table still contains {:?}, with the children {:?}", root.id, root.children))
        };
        self.egress.iter().enumerate().find_map(kept).or_else(known)
    }

    pub(super) fn most_queues_used(&self) -> u16 {
        self.egress.iter().map(|egress| egress.most_used()).max().unwrap_or(0)
    }
}
