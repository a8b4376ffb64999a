//! Rows of pauses, ingress queues and flows.

use super::{PARTS, Run};
use crate::tables::{FlowRow, FullQueueRow, PauseRow, SignalRow, StopRow, WaitRow};
use backwater_engine::Time;
use backwater_fabric::driver::outcome::FlowOutcome;
use backwater_fabric::frame::Direction;
use backwater_fabric::frame::cause::Cause;
use backwater_fabric::frame::journey::{Span, Term};
use backwater_fabric::ids::{PortId, PortIx};
use backwater_fabric::model::ledger::{FlowAccount, SignalKind, Sums};
use backwater_fabric::model::port::Port;
use backwater_fabric::model::probe::Stop;
use backwater_fabric::network::spec::FlowSpec;
use backwater_fabric::{FullQueue, PauseInterval};

impl Run {
    /// Writes a pause. `end` is `None` if the run ended first.
    pub(super) fn write_pause(&mut self, pause: &PauseInterval, end: Option<Time>) {
        let wiring = &self.simulation.fabric().wiring;
        let PauseInterval { port, queue, closure } = pause;
        let Cause { root, via, parent, hops, .. } = closure.cause;
        let facts = |port: PortId| &wiring.ports[port];
        let (facts, cause, via) = (facts(*port), facts(root), via.map(facts));
        // Hosts that forward PAUSEs originate no PAUSEs.
        let peer = wiring.neighbour(facts.node, facts.ix);
        let fabric = self.simulation.fabric();
        let relayed = fabric.spec.relays(peer) && fabric.spec.flow_control_of(peer, wiring).facts(true).relays_pauses;
        self.tables.pauses.push(PauseRow {
            node: facts.node.into(),
            port: facts.ix.0,
            peer: peer.into(),
            queue: queue.0,
            start_ps: closure.from,
            end_ps: end,
            cause_node: cause.node.into(),
            cause_port: cause.ix.0,
            via_port: via.map(|via| via.ix.0),
            parent_queue: parent.map(|parent| parent.queue.0),
            parent_start_ps: parent.map(|parent| parent.since),
            hops: (hops > 0).then_some(hops),
            relayed,
        });
    }

    /// Writes the share of an egress port in a full ingress queue.
    pub(super) fn write_full(&mut self, full: &FullQueue) {
        let facts = &self.simulation.fabric().wiring.ports[full.port];
        self.tables.full_queues.push(FullQueueRow {
            time_ps: full.at,
            node: facts.node.into(),
            port: facts.ix.0,
            class: full.class.0,
            egress_port: full.egress.0,
            bytes: full.bytes,
        });
    }

    /// Writes a stop. `end` is `None` if the run ended first.
    pub(super) fn write_stop(&mut self, stop: &Stop, end: Option<Time>) {
        let wiring = &self.simulation.fabric().wiring;
        let facts = &wiring.ports[stop.port];
        self.tables.stops.push(StopRow {
            node: facts.node.into(),
            port: facts.ix.0,
            peer: wiring.neighbour(facts.node, facts.ix).into(),
            class: stop.class.0,
            start_ps: stop.from,
            end_ps: end,
            window_ps: stop.window,
            arrived_bytes: stop.arrived,
            departed_bytes: stop.departed,
            headroom_bytes: stop.headroom,
            stopped_at_port: stop.stopped_at_port,
            stopped_at_switch: stop.stopped_at_switch,
        });
    }

    /// Writes the pauses that have not ended.
    pub(super) fn write_open_pauses(&mut self) {
        if !self.plan.probes.pauses {
            return;
        }
        let open = |port: &Port| -> Vec<PauseInterval> {
            let closed = |queue| {
                let closure = port.gate(queue).closure(Time::NEVER)?;
                Some(PauseInterval { port: port.id, queue, closure })
            };
            port.closed_queues().filter_map(closed).collect()
        };
        let pauses: Vec<_> = self.simulation.nodes().flat_map(|node| node.ports().iter().flat_map(open)).collect();
        for pause in pauses {
            self.write_pause(&pause, None);
        }
    }

    /// Writes a flow, its latency breakdown and its signals.
    pub(super) fn write_flow(&mut self, outcome: &FlowOutcome) {
        let (flow, reception) = (&outcome.spec, &outcome.reception);
        let kind @ (tag, role) = self.kind_of(flow, || outcome.path.clone());
        let measured = flow.start >= Time::ZERO + self.plan.run.warmup;
        let reordering = self.reordering.entry((kind, measured)).or_default();
        reordering.arrived += reception.arrived;
        for (degree, packets) in reception.disorder.degrees() {
            reordering.disorder.add_many(degree, packets);
        }
        let fabric = self.simulation.fabric();
        let ideal_with = |telemetry| fabric.ideal_fct(flow, &outcome.path, telemetry);
        let (ideal, extra) = (ideal_with(0), fabric.telemetry_bytes);
        let fct = reception.finish.map(|finish| finish - flow.start);
        let slowdown = fct.zip(ideal).map(|(fct, ideal)| fct.ps() as f64 / ideal.ps() as f64);
        self.tables.flows.push(FlowRow {
            id: outcome.flow.0,
            connection: outcome.flow.0,
            message: outcome.message,
            tag: self.name_of_tag(tag),
            role: role.map(|role| self.name_of_role(role)),
            src: flow.src.into(),
            dst: flow.dst.into(),
            class: flow.class.0,
            bytes: Some(flow.bytes).filter(|bytes| *bytes != FlowSpec::ENDLESS),
            start_ps: flow.start,
            receiver_finish_ps: reception.finish,
            sender_finish_ps: outcome.acknowledged,
            fct_ps: fct,
            ideal_fct_ps: ideal,
            ideal_fct_with_telemetry_ps: if extra == 0 { ideal } else { ideal_with(extra) },
            slowdown,
            retransmitted_bytes: outcome.retransmitted,
            paused_ps: reception.paused,
            blocked_ps: reception.blocked,
            delivered_bytes: reception.delivered,
            arrived_packets: reception.arrived,
            disordered_packets: reception.disorder.packets(),
            largest_degree: reception.disorder.largest(),
            measured,
            path: self.path_of(outcome).map(|path| path.iter().map(|port| port.0).collect()),
        });
        if let Some(account) = &outcome.account {
            self.write_waits((outcome.flow.0, outcome.message), account);
            self.write_signals((outcome.flow.0, outcome.message), account);
        }
    }

    /// Returns the egress ports on the path of the packet that completed a flow, or of the packets
    /// of an unfinished flow.
    fn path_of(&self, outcome: &FlowOutcome) -> Option<Vec<PortIx>> {
        let (fabric, flow) = (self.simulation.fabric(), &outcome.spec);
        let ix = |port: PortId| fabric.wiring.ports[port].ix;
        let taken = outcome.reception.way.map(|route| route.passed().collect());
        let now = || fabric.path(outcome.flow, flow, Direction::Data).to_vec();
        let fixed = || match outcome.reception.finish {
            _ if !fabric.has_known_path(flow) => None,
            Some(_) => (!outcome.rerouted).then(|| outcome.path.to_vec()),
            None => Some(now()),
        };
        let told = || {
            let completion = &outcome.account.as_ref()?.completion;
            let sent = completion.iter().filter(|span| span.term == Term::Serialisation);
            outcome.reception.finish.map(|_| sent.map(|span| ix(span.port)).collect())
        };
        taken.or_else(told).or_else(fixed)
    }

    /// Writes the latency breakdown of a flow.
    fn write_waits(&mut self, (flow, message): (u32, u32), account: &FlowAccount) {
        let wiring = &self.simulation.fabric().wiring;
        let facts = |port: PortId| &wiring.ports[port];
        let row = |of: &str, packets, step, Span { port, term, root, length }: Span| WaitRow {
            flow,
            message,
            of: self.terms[of],
            packets,
            step,
            node: facts(port).node.into(),
            port: facts(port).ix.0,
            term: self.terms[term.name()],
            cause_node: root.map(|root| facts(root).node.into()),
            cause_port: root.map(|root| facts(root).ix.0),
            length_ps: length,
        };
        let [completion, packets, window] = PARTS;
        let steps = (0..).zip(&account.completion).map(|(step, span)| row(completion, 1, Some(step), *span));
        let of_sums = |of: &'static str, count: u64, sums: &Sums| -> Vec<WaitRow> {
            let spans = sums.iter().map(|(&(port, term, root), &length)| Span { port, term, root, length });
            spans.map(|span| row(of, count, None, span)).collect()
        };
        let mut rows: Vec<WaitRow> = steps.collect();
        rows.extend(of_sums(packets, account.delivered, &account.packets));
        rows.extend(of_sums(window, account.openings, &account.window));
        for row in rows {
            self.tables.waits.push(row);
        }
    }

    /// Writes the congestion signals that reached a flow.
    fn write_signals(&mut self, (flow, message): (u32, u32), account: &FlowAccount) {
        let ports = &self.simulation.fabric().wiring.ports;
        for (&(kind, port), signals) in &account.signals {
            let facts = &ports[port];
            self.tables.signals.push(SignalRow {
                flow,
                message,
                signal: self.terms[kind.name()],
                node: facts.node.into(),
                port: facts.ix.0,
                count: signals.count,
                first_ps: signals.first,
                last_ps: signals.last,
                waited_ps: (kind == SignalKind::Delay).then_some(signals.waited),
            });
        }
    }
}
