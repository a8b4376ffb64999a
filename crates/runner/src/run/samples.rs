//! Samples of a run.

use super::{FlowKind, Run};
use crate::tables::{BalancingRow, BufferRow, EgressRow, GoodputRow, IngressRow, PathRow, PortRow, QueueRow};
use backwater_engine::{Duration, Time};
use backwater_fabric::contract::{LbStat, PathState};
use backwater_fabric::ids::{Class, NodeId, PortIx};
use backwater_fabric::model::switch::Switch;
use std::collections::BTreeMap;

/// Returns the sample of an ingress queue that holds `bytes`.
fn ingress_row(switch: &Switch, node: NodeId, port: PortIx, class: Class, bytes: u64, now: Time) -> IngressRow {
    let threshold_bytes = switch.threshold(port, class);
    // A queue without a threshold uses no headroom, even if its port does.
    let headroom_bytes = threshold_bytes.map_or(0, |_| switch.headroom(port, class));
    IngressRow { time_ps: now, node: node.into(), port: port.0, class: class.0, bytes, threshold_bytes, headroom_bytes }
}

impl Run {
    /// Samples queues, ports and buffers.
    pub(super) fn sample(&mut self, now: Time) {
        let fabric = self.simulation.fabric();
        // Ports are numbered node by node. Ports come first in `zip`, because `zip` would otherwise
        // consume a counter after the last port.
        let mut sent_before = self.sent.iter_mut();
        for node in self.simulation.nodes() {
            let held = node.switch().map(Switch::occupancy).unwrap_or_default();
            let mut left = held.used;
            for (port, before) in node.ports().iter().zip(&mut sent_before) {
                let (bytes, paused_queues) = (port.queued_bytes(), port.closed_queues().count() as u16);
                if bytes > 0 || paused_queues > 0 {
                    self.tables.queues.push(QueueRow {
                        time_ps: now,
                        node: node.id.into(),
                        port: port.ix.0,
                        bytes,
                        queues: port.occupied_queues() as u16,
                        paused: port.closed_classes().0,
                        paused_queues,
                    });
                }
                if self.plan.probes.queues {
                    for (queue, bytes) in port.queue_occupancies() {
                        let row =
                            EgressRow { time_ps: now, node: node.id.into(), port: port.ix.0, queue: queue.0, bytes };
                        self.tables.egress.push(row);
                    }
                    // After all bytes of the node are counted, the remaining ports are empty.
                    if let Some(switch) = node.switch().filter(|_| left > 0) {
                        let charged = switch.ingress_occupancies(port.ix);
                        for (class, bytes) in (0..).map(Class).zip(&charged).filter(|(_, bytes)| **bytes > 0) {
                            left = left.saturating_sub(*bytes);
                            self.tables.ingress.push(ingress_row(switch, node.id, port.ix, class, *bytes, now));
                        }
                    }
                }
                let now_sent = [port.sent_wire_bytes(), port.relayed_wire_bytes()];
                let [sent, relayed] = std::array::from_fn(|i| now_sent[i] - before[i]);
                *before = now_sent;
                if sent > 0 {
                    self.tables.ports.push(PortRow {
                        time_ps: now,
                        node: node.id.into(),
                        port: port.ix.0,
                        peer: fabric.wiring.neighbour(node.id, port.ix).into(),
                        tx_bytes: sent,
                        relayed_bytes: relayed,
                    });
                }
            }
            if held.used > 0 {
                self.tables.buffers.push(BufferRow {
                    time_ps: now,
                    node: node.id.into(),
                    used_bytes: held.used,
                    shared_bytes: held.shared,
                    headroom_bytes: held.headroom,
                });
            }
        }
    }

    /// Samples the state of load balancers.
    pub(super) fn sample_paths(&mut self, now: Time) {
        let Run { simulation, tables, lb_stats, .. } = self;
        for node in simulation.nodes() {
            let Some(switch) = node.switch() else { continue };
            switch.observe_balancing(now, &mut |what| match what {
                LbStat::Path(PathState { to, path, egress, delay, is_isolated }) => {
                    if delay > Duration::ZERO || is_isolated {
                        tables.paths.push(PathRow {
                            time_ps: now,
                            node: node.id.into(),
                            to: to.into(),
                            path,
                            port: egress.0,
                            delay_ps: delay,
                            isolated: is_isolated,
                        });
                    }
                }
                LbStat::Count(what, count) => {
                    if let Some(what) = lb_stats.get(what).copied().filter(|_| count > 0) {
                        tables.balancing.push(BalancingRow { time_ps: now, node: node.id.into(), what, count });
                    }
                }
            });
        }
    }

    /// Samples the delivered payload.
    pub(super) fn sample_goodput(&mut self, now: Time) {
        let mut delivered: BTreeMap<FlowKind, u64> =
            self.received.iter().map(|(kind, received)| (*kind, received.by_finished)).collect();
        for (flow, spec, bytes) in self.simulation.delivered() {
            let kind = self.kind_of(&spec, || self.simulation.path_at_start(flow, &spec));
            *delivered.entry(kind).or_default() += bytes;
        }
        for (kind @ (tag, role), delivered) in delivered {
            let before = &mut self.received.entry(kind).or_default().at_sample;
            let delivered_bytes = delivered - std::mem::replace(before, delivered);
            if delivered_bytes > 0 {
                let (tag, role) = (self.name_of_tag(tag), role.map(|role| self.name_of_role(role)));
                self.tables.goodput.push(GoodputRow { time_ps: now, tag, role, delivered_bytes });
            }
        }
    }
}
