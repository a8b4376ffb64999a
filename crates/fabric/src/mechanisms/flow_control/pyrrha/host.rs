//! Pyrrha at a host: flows whose path leads through a paused root wait, all others continue
//! (section IV-D, "Cooperation on end-hosts").

use super::frames::PyrrhaFrame;
use super::given_up;
use crate::contract::{PauseScope, Site, StartingFlow, View};
use crate::ids::{CLASSES, FlowId, PortId, PortIx, QueueIx};
use backwater_engine::index::{Id, IndexVec};
use get_size2::GetSize;

/// Paused roots and flows of a host.
#[derive(Debug, GetSize)]
pub(super) struct PyrrhaHost {
    ports: IndexVec<PortIx, HostPort>,
}

#[derive(Debug, Default, GetSize)]
struct HostPort {
    paused: Vec<PortId>,
    /// Path of each flow; empty if the slot has no flow. Each slot has a queue, whose gate holds
    /// the slot's flow back.
    paths: Vec<Vec<PortId>>,
    free: Vec<u16>,
}

impl HostPort {
    /// Returns the first paused root on the path of the flow in slot `index`.
    fn keeper(&self, index: usize) -> Option<PortId> {
        self.paths[index].iter().copied().find(|port| self.paused.contains(port))
    }

    /// Updates the gates of all flows that pass `root`, which was just paused or resumed.
    fn update_gates(&self, port: PortIx, root: PortId, view: &mut View<'_>) {
        for index in (0..self.paths.len()).filter(|index| self.paths[*index].contains(&root)) {
            let queue = QueueIx::added(index);
            match self.keeper(index) {
                Some(root) => view.close(port, queue, root),
                None => view.open(port, queue),
            }
        }
    }
}

impl PyrrhaHost {
    /// Number of flows that a port can hold back individually. Further flows are never held back.
    pub(super) const MOST_FLOWS: u16 = u16::MAX - CLASSES as u16;

    pub(super) fn new(site: &Site<'_>) -> PyrrhaHost {
        PyrrhaHost { ports: site.ports.iter().map(|_| HostPort::default()).collect() }
    }

    pub(super) fn on_flow_start(&mut self, flow: StartingFlow<'_>, view: &mut View<'_>) -> QueueIx {
        let port = &mut self.ports[flow.port];
        let index = match port.free.pop() {
            Some(index) => index.into(),
            None if port.paths.len() < Self::MOST_FLOWS.into() => {
                port.paths.push(Vec::new());
                port.paths.len() - 1
            }
            None => return QueueIx::of(flow.class),
        };
        port.paths[index].extend(flow.remaining_hops);
        let queue = QueueIx::added(index);
        if let Some(root) = port.keeper(index) {
            view.close(flow.port, queue, root);
        }
        queue
    }

    pub(super) fn on_flow_end(&mut self, _flow: FlowId, port: PortIx, queue: QueueIx, view: &mut View<'_>) {
        if let Some(index) = queue.index().checked_sub(CLASSES) {
            let host_port = &mut self.ports[port];
            host_port.paths[index].clear();
            host_port.free.push(index as u16);
            view.open(port, queue);
        }
    }

    pub(super) fn on_frame(&mut self, port: PortIx, frame: PyrrhaFrame, view: &mut View<'_>) {
        let host_port = &mut self.ports[port];
        let mut release = |root: PortId, view: &mut View<'_>| {
            if let Some(position) = host_port.paused.iter().position(|paused| *paused == root) {
                host_port.paused.remove(position);
                host_port.update_gates(port, root, view);
            }
        };
        match frame {
            PyrrhaFrame::Resume { root } => release(root, view),
            PyrrhaFrame::Merge { old, new, .. } => {
                given_up::count(port, old, view);
                release(old, view);
                release(new, view);
            }
            PyrrhaFrame::Pause { root, .. } if !host_port.paused.contains(&root) => {
                host_port.paused.push(root);
                host_port.update_gates(port, root, view);
            }
            PyrrhaFrame::Pause { .. } | PyrrhaFrame::Unassigned { .. } => {}
        }
    }

    pub(super) fn on_link_up(&mut self, port: PortIx, view: &mut View<'_>) {
        let host_port = &mut self.ports[port];
        while let Some(root) = host_port.paused.pop() {
            host_port.update_gates(port, root, view);
        }
    }

    pub(super) fn obeyed_pauses(&self, port: PortIx) -> Vec<PauseScope> {
        self.ports[port].paused.iter().copied().map(PauseScope::Root).collect()
    }

    pub(super) fn leftover(&self) -> Option<String> {
        let held = self.ports.iter().find(|port| !port.paused.is_empty())?;
        Some(format!("the host still pauses flows through the roots {:?}", held.paused))
    }
}
