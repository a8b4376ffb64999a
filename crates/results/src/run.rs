//! One run: lets the simulation go on from one look at it to the next, and writes what it sees.

use crate::BUILD;
use crate::summary::{Audit, DeadlockReport, FlowCounts, Outcome, QueueName, Summary};
use crate::tables::{self, TableError, TableWriter, Value};
use crate::topology::topology_json;
use crate::usage::{cpu_seconds, peak_rss_bytes};
use backwater_engine::{Duration, Time};
use backwater_fabric::deadlock::Deadlock;
use backwater_fabric::ids::{ClassMask, FlowId, NodeId, PortId};
use backwater_fabric::note::DropCause;
use backwater_fabric::port::Port;
use backwater_fabric::spec::{FlowSpec, SpecError};
use backwater_fabric::{PauseInterval, Simulation};
use backwater_scenario::Plan;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Why a run could not be made, or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The network can not be.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Spec(Vec<SpecError>),
    /// A file can not be written.
    #[error("{path}: {cause}")]
    File {
        /// Which file.
        path: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
    /// A table can not be written.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time, ps.
    pub time_ps: u64,
    /// When the traffic stops, ps: later times drain what is left.
    pub end_ps: u64,
    /// Events handled.
    pub events: u64,
    /// Frames put onto links.
    pub packet_hops: u64,
    /// Flows under way.
    pub live_flows: u64,
    /// Flows whose last byte arrived.
    pub finished_flows: u64,
    /// All flows.
    pub total_flows: u64,
    /// Ports with a paused queue.
    pub paused_ports: u64,
    /// Whether the run has ended.
    pub done: bool,
}

/// A run under way.
pub struct Run {
    simulation: Simulation,
    plan: Plan,
    threads: usize,
    directory: PathBuf,
    tables: Tables,
    /// Wire bytes that every port had sent at the last sample.
    sent: Vec<u64>,
    next_sample: Time,
    next_check: Time,
    outcome: Option<Outcome>,
    deadlock: Option<Deadlock>,
    violations: Vec<String>,
    /// Flows without end: nobody waits for them.
    endless: u64,
    started: Instant,
    cpu_before: f64,
}

struct Tables {
    flows: TableWriter,
    pauses: TableWriter,
    queues: TableWriter,
    ports: TableWriter,
    buffers: TableWriter,
}

/// Longest time between two looks, when nothing is sampled.
const LOOK: Duration = Duration::from_us(100);

impl Run {
    /// Sets up a run that writes into `directory`, which is made if it does not exist. Files of an earlier run there are replaced when this one
    /// finishes, not before.
    ///
    /// # Errors
    /// The network is impossible, or the directory can not be written.
    pub fn start(plan: Plan, directory: &Path, threads: usize) -> Result<Run, RunError> {
        let cpu_before = cpu_seconds();
        let started = Instant::now();
        let shards = plan.run.shards.map_or(threads, |shards| shards as usize);
        let simulation =
            Simulation::new(plan.spec.clone(), plan.flows.clone(), shards.max(1)).map_err(RunError::Spec)?;
        fs::create_dir_all(directory).map_err(|cause| RunError::File { path: directory.into(), cause })?;
        let names: Vec<String> = plan.spec.nodes.iter().map(|node| node.name.clone()).collect();
        let every_name: Vec<String> = names.iter().chain(&plan.tags).cloned().collect();
        let metadata = [
            ("backwater.version".to_owned(), BUILD.version.to_owned()),
            ("backwater.commit".to_owned(), BUILD.commit.to_owned()),
            ("backwater.seed".to_owned(), plan.run.seed.to_string()),
        ];
        let table = |name, columns, names: &[String]| TableWriter::create(directory, name, columns, names, &metadata);
        let tables = Tables {
            flows: table("flows", tables::FLOWS, &every_name)?,
            pauses: table("pauses", tables::PAUSES, &names)?,
            queues: table("queues", tables::QUEUES, &names)?,
            ports: table("ports", tables::PORTS, &names)?,
            buffers: table("buffers", tables::BUFFERS, &names)?,
        };
        let first = |interval: Duration| {
            if interval == Duration::ZERO { Time::NEVER } else { Time::ZERO + interval }
        };
        let endless = plan.flows.iter().filter(|flow| flow.bytes == FlowSpec::ENDLESS).count() as u64;
        Ok(Run {
            sent: vec![0; simulation.fabric().wiring.ports.len()],
            next_sample: first(plan.probes.sample_interval),
            next_check: first(plan.probes.deadlock_check),
            simulation,
            plan,
            threads,
            directory: directory.into(),
            tables,
            outcome: None,
            deadlock: None,
            violations: Vec::new(),
            endless,
            started,
            cpu_before,
        })
    }

    /// Goes on for about `wall` of real time, or to the end.
    ///
    /// # Errors
    /// A table can not be written.
    pub fn advance(&mut self, wall: std::time::Duration) -> Result<Progress, RunError> {
        let begun = Instant::now();
        while self.outcome.is_none() && begun.elapsed() < wall {
            self.step()?;
        }
        Ok(self.progress())
    }

    /// From one look to the next.
    fn step(&mut self) -> Result<(), RunError> {
        let last = self.plan.run.until + self.plan.run.drain;
        let until = if self.simulation.now() < self.plan.run.until { self.plan.run.until } else { last };
        let look = self.next_sample.min(self.next_check).min(self.simulation.now() + LOOK).min(until);
        self.simulation.run_until(look, self.threads);
        if look == self.next_sample {
            self.sample(look)?;
            self.next_sample += self.plan.probes.sample_interval;
        }
        if self.plan.probes.pauses {
            for pause in self.simulation.take_pauses() {
                self.write_pause(
                    pause.port,
                    pause.queue,
                    pause.closure.from,
                    Some(pause.closure.to),
                    pause.closure.cause,
                )?;
            }
        }
        if look == self.next_check {
            self.next_check += self.plan.probes.deadlock_check;
            self.deadlock = self.simulation.find_deadlock();
        }
        self.outcome = self.verdict(look, last);
        Ok(())
    }

    /// Whether the run is over at `now`, and how.
    fn verdict(&mut self, now: Time, last: Time) -> Option<Outcome> {
        let totals = self.simulation.totals();
        if self.plan.spec.is_lossless() && totals.drops[DropCause::Headroom as usize] > 0 {
            return Some(Outcome::Violation);
        }
        if self.deadlock.is_some() {
            return Some(Outcome::Deadlock);
        }
        let all_done = totals.acknowledged_flows == self.plan.flows.len() as u64 - self.endless;
        if all_done && self.endless == 0 && self.simulation.is_quiet() {
            return Some(Outcome::Completed);
        }
        if all_done && self.endless > 0 && now >= self.plan.run.until {
            return Some(Outcome::Completed);
        }
        if now >= last {
            return Some(Outcome::TimeLimit);
        }
        (self.simulation.next_event() == Time::NEVER).then_some(Outcome::Stalled)
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        let totals = self.simulation.totals();
        Progress {
            time_ps: self.simulation.now().ps(),
            end_ps: self.plan.run.until.ps(),
            events: totals.events,
            packet_hops: totals.packet_hops,
            live_flows: totals.live_flows,
            finished_flows: totals.received_flows,
            total_flows: self.plan.flows.len() as u64,
            paused_ports: totals.paused_ports,
            done: self.outcome.is_some(),
        }
    }

    /// Writes the tables and `run.json`; its contents.
    ///
    /// # Errors
    /// A file can not be written.
    pub fn finish(mut self) -> Result<Summary, RunError> {
        let outcome = self.outcome.unwrap_or(Outcome::Interrupted);
        self.write_open_pauses()?;
        self.write_flows()?;
        let summary = self.summarise(outcome);
        let Tables { flows, pauses, queues, ports, buffers } = self.tables;
        for table in [flows, pauses, queues, ports, buffers] {
            table.finish()?;
        }
        let topology = topology_json(&self.plan.spec);
        let summary_json = serde_json::to_value(&summary).expect("a summary has string keys only");
        for (name, value) in [("topology.json", &topology), ("run.json", &summary_json)] {
            let path = self.directory.join(name);
            let text = serde_json::to_string_pretty(value).expect("JSON values can be written");
            fs::write(&path, text + "\n").map_err(|cause| RunError::File { path, cause })?;
        }
        Ok(summary)
    }

    fn summarise(&mut self, outcome: Outcome) -> Summary {
        let totals = self.simulation.totals();
        let fabric = self.simulation.fabric().clone();
        self.violations.extend(self.simulation.violations().iter().map(|drop| {
            let (node, class) = (fabric.name(drop.node), drop.class.0);
            let ingress = fabric.port_name(drop.ingress);
            format!("{} at {node}: no headroom for a packet of lossless class {class} from port {ingress}", drop.at)
        }));
        self.violations.extend(self.simulation.audit().iter().map(ToString::to_string));
        let endless = self.endless;
        let total = self.plan.flows.len() as u64;
        let deadlock = self.deadlock.as_ref().map(|deadlock| DeadlockReport {
            onset_ps: deadlock.onset.ps(),
            cycle: deadlock
                .cycle
                .iter()
                .map(|(port, queue)| {
                    let facts = &fabric.wiring.ports[port.0 as usize];
                    QueueName { node: fabric.name(facts.node).to_owned(), port: facts.ix, class: *queue }
                })
                .collect(),
        });
        Summary {
            outcome,
            simulated_ps: self.simulation.now().ps(),
            flows: FlowCounts {
                total,
                finished: totals.received_flows,
                unfinished: total - endless - totals.received_flows,
                endless,
            },
            drops: DropCause::ALL.iter().map(|cause| cause.name()).zip(totals.drops).collect(),
            pause_frames: totals.pause_frames,
            resume_frames: totals.resume_frames,
            audit: Audit {
                verdict: if self.violations.is_empty() { "ok" } else { "violated" },
                violations: std::mem::take(&mut self.violations),
            },
            deadlock,
            events: totals.events,
            packet_hops: totals.packet_hops,
            cpu_seconds: cpu_seconds() - self.cpu_before,
            wall_seconds: self.started.elapsed().as_secs_f64(),
            peak_rss_bytes: peak_rss_bytes(),
            fingerprint: self.simulation.fingerprint().to_string(),
            seed: self.plan.run.seed,
            version: BUILD.version,
            commit: BUILD.commit,
            build_profile: BUILD.profile,
            scenario: self.plan.resolved.clone(),
        }
    }

    fn sample(&mut self, now: Time) -> Result<(), RunError> {
        let fabric = self.simulation.fabric().clone();
        for node in self.simulation.nodes() {
            let name = u64::from(node.id.0);
            for port in node.ports() {
                let (bytes, paused) = (port.queued_bytes(), port.closed_classes());
                if bytes > 0 || paused != ClassMask::NONE {
                    let number = u64::from(port.ix);
                    let row = [now.into(), name.into(), number.into(), bytes.into(), u64::from(paused.0).into()];
                    self.tables.queues.push(row)?;
                }
                let sent = port.sent_wire_bytes();
                let before = std::mem::replace(&mut self.sent[port.id.0 as usize], sent);
                if sent > before {
                    let peer = u64::from(fabric.wiring.neighbour(node.id, port.ix).0);
                    let number = u64::from(port.ix);
                    let row = [now.into(), name.into(), number.into(), peer.into(), (sent - before).into()];
                    self.tables.ports.push(row)?;
                }
            }
            let occupancy = node.pipeline().map(|pipeline| pipeline.occupancy()).unwrap_or_default();
            if occupancy.used > 0 {
                let row = [
                    now.into(),
                    name.into(),
                    occupancy.used.into(),
                    occupancy.shared.into(),
                    occupancy.headroom.into(),
                ];
                self.tables.buffers.push(row)?;
            }
        }
        Ok(())
    }

    fn write_pause(
        &mut self,
        port: PortId,
        queue: u16,
        start: Time,
        end: Option<Time>,
        cause: PortId,
    ) -> Result<(), RunError> {
        let wiring = &self.simulation.fabric().wiring;
        let (facts, cause) = (&wiring.ports[port.0 as usize], &wiring.ports[cause.0 as usize]);
        let node = |id: NodeId| Value::from(u64::from(id.0));
        let number = |ix: u16| Value::from(u64::from(ix));
        let row = [
            node(facts.node),
            number(facts.ix),
            node(wiring.neighbour(facts.node, facts.ix)),
            number(queue),
            start.into(),
            end.into(),
            node(cause.node),
            number(cause.ix),
        ];
        Ok(self.tables.pauses.push(row)?)
    }

    /// Pauses that have not ended.
    fn write_open_pauses(&mut self) -> Result<(), RunError> {
        if !self.plan.probes.pauses {
            return Ok(());
        }
        let open = |port: &Port| -> Vec<PauseInterval> {
            let closed = |queue| {
                let (from, cause) = port.gate(queue).closed()?;
                let closure = backwater_fabric::port::Closure { from, to: Time::NEVER, cause };
                Some(PauseInterval { port: port.id, queue, closure })
            };
            port.closed_queues().filter_map(closed).collect()
        };
        let pauses: Vec<_> = self.simulation.nodes().flat_map(|node| node.ports().iter().flat_map(open)).collect();
        for pause in pauses {
            self.write_pause(pause.port, pause.queue, pause.closure.from, None, pause.closure.cause)?;
        }
        Ok(())
    }

    fn write_flows(&mut self) -> Result<(), RunError> {
        let fabric = self.simulation.fabric().clone();
        let first_tag = fabric.spec.nodes.len() as u64;
        let warmup = Time::ZERO + self.plan.run.warmup;
        for ((id, flow), outcome) in (0u32..).zip(&fabric.flows).zip(self.simulation.outcomes()) {
            let ideal = fabric.ideal_fct(FlowId(id));
            let finish = outcome.reception.finish;
            let fct = finish.map(|finish| finish - flow.start);
            let slowdown = fct.zip(ideal).map(|(fct, ideal)| fct.ps() as f64 / ideal.ps() as f64);
            self.tables.flows.push([
                u64::from(id).into(),
                (first_tag + u64::from(flow.tag)).into(),
                u64::from(flow.src.0).into(),
                u64::from(flow.dst.0).into(),
                u64::from(flow.class.0).into(),
                Some(flow.bytes).filter(|bytes| *bytes != FlowSpec::ENDLESS).into(),
                flow.start.into(),
                finish.into(),
                outcome.acknowledged.into(),
                fct.into(),
                ideal.into(),
                slowdown.into(),
                outcome.retransmitted.into(),
                outcome.reception.paused.into(),
                outcome.reception.blocked.into(),
                outcome.reception.delivered.into(),
                Value::Bool(flow.start >= warmup),
            ])?;
        }
        Ok(())
    }
}
