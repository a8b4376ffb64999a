//! One run: lets the simulation go on from one look at it to the next, and writes what it sees.

mod open_tables;
mod rows;
mod samples;

use self::open_tables::Tables;
use crate::Build;
use crate::disk::{FileSum, Reserve};
use crate::events::EventLog;
use crate::roles::{FlowRole, Roles};
use crate::summary::{Audit, DeadFlow, DeadQueue, DeadlockReport, FlowCounts, Outcome, Summary};
use crate::tables::{HeadroomRow, Name, ReorderingRow, Row, SCHEMA_VERSION, SwitchRow, TableError, TableWriter};
use crate::topology::topology_json;
use crate::usage::{Footprint, cpu_seconds, peak_rss_bytes};
use backwater_engine::{Duration, Time};
use backwater_fabric::Simulation;
use backwater_fabric::contract::note::{Disorder, DropCause};
use backwater_fabric::contract::{FlowControlAccounts as _, LbStat};
use backwater_fabric::driver::deadlock::Deadlock;
use backwater_fabric::frame::PacketKind;
use backwater_fabric::frame::journey::Term;
use backwater_fabric::ids::{FlowId, PortId, QueueIx};
use backwater_fabric::model::ledger::SignalKind;
use backwater_fabric::model::node::Node;
use backwater_fabric::model::port::Port;
use backwater_fabric::model::probe::HeadroomPeak;
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::routes::Way;
use backwater_fabric::network::spec::{FlowSpec, SpecError};
use backwater_scenario::Plan;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Why a run could not be made, or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The network is impossible.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Spec(Vec<SpecError>),
    /// A file cannot be written.
    #[error("{path}: {cause}")]
    File {
        /// Which file.
        path: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
    /// A table cannot be written.
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
    /// Active flows.
    pub live_flows: u64,
    /// Flows whose last byte arrived.
    pub finished_flows: u64,
    /// Flows that have started.
    pub started_flows: u64,
    /// Ports with a paused queue.
    pub paused_ports: u64,
    /// Whether the run has ended.
    pub done: bool,
}

/// A run in progress.
pub struct Run {
    simulation: Simulation,
    plan: Plan,
    build: Build,
    threads: usize,
    /// Events between two looks at the clock on the wall.
    events_between_looks: u64,
    directory: PathBuf,
    tables: Tables,
    topology: FileSum,
    /// What flows are to the incasts of the scenario, if there are any.
    roles: Option<Roles>,
    /// Wire bytes that every port had sent at the last sample, and those of relayed packets.
    sent: Vec<[u64; 2]>,
    /// What flows of every kind have received.
    received: BTreeMap<FlowKind, Received>,
    /// How many packets came how far before an earlier one; whether their flows started after the warm-up.
    reordering: BTreeMap<(FlowKind, bool), Reordering>,
    /// The names of what load balancers hold.
    held: BTreeMap<&'static str, Name>,
    /// Names of terms, of parts of waits, and of kinds of signals.
    terms: BTreeMap<&'static str, Name>,
    event_log: EventLog,
    next_sample: Time,
    next_check: Time,
    next_look: Time,
    /// When it is interrupted, if it has not ended before.
    stop: Time,
    /// Given back when the disk is full.
    reserve: Reserve,
    write_error: Option<String>,
    outcome: Option<Outcome>,
    /// What looks like a deadlock, until the next check.
    suspect: Option<Deadlock>,
    deadlock: Option<Deadlock>,
    violations: Vec<String>,
    started: Instant,
    cpu_before: f64,
    footprint: Footprint,
}

/// Tag and role of a flow.
type FlowKind = (u16, Option<FlowRole>);

/// Payload bytes that flows of one kind have received.
#[derive(Clone, Copy, Default)]
struct Received {
    /// Those of the flows that are done with.
    by_finished: u64,
    /// All of them at the last sample.
    at_sample: u64,
}

/// Packets of flows of one kind.
#[derive(Default)]
struct Reordering {
    arrived: u64,
    disorder: Disorder,
}

/// What load balancers count of what they hold, by name.
fn things_held(simulation: &Simulation) -> BTreeSet<&'static str> {
    let mut names = BTreeSet::new();
    for pipeline in simulation.nodes().filter_map(Node::pipeline) {
        pipeline.observe_balancing(Time::ZERO, &mut |held| {
            if let LbStat::Count(what, _) = held {
                names.insert(what);
            }
        });
    }
    names
}

/// Of what packets of a flow [`WaitRow`] tells.
const PARTS: [&str; 3] = ["completion", "packets", "window"];
const TOPOLOGY: &str = "topology.json";
const TOPOLOGY_PARTIAL: &str = "topology.json.partial";
const SUMMARY: &str = "run.json";
const SUMMARY_PARTIAL: &str = "run.json.partial";
/// Longest time between two looks, when nothing is sampled.
const LOOK: Duration = Duration::from_us(100);

/// The most shards that `plan` runs in.
fn shards(plan: &Plan, threads: usize) -> usize {
    plan.run.shards.map_or(threads, |shards| shards as usize)
}

/// Events of a shard between two looks at the clock on the wall. Several shards have to meet for it, so that they look less often.
fn events_between_looks(shards: usize, threads: usize) -> u64 {
    match shards {
        1 => 1 << 8,
        _ => (1 << 18) / shards.div_ceil(threads.max(1)) as u64,
    }
}

impl Run {
    /// Sets up a run that writes into `directory`, which is made if it does not exist. Files of an earlier run there are replaced when this one
    /// finishes, not before.
    ///
    /// # Errors
    /// The network is impossible, or the directory cannot be written.
    pub fn start(plan: Plan, build: Build, directory: &Path, threads: usize) -> Result<Run, RunError> {
        Run::start_until(plan, build, directory, threads, Time::NEVER)
    }

    /// The same for a run that is interrupted when everything before `stop` has happened.
    ///
    /// # Errors
    /// As for [`Run::start`].
    pub fn start_until(
        plan: Plan,
        build: Build,
        directory: &Path,
        threads: usize,
        stop: Time,
    ) -> Result<Run, RunError> {
        let cpu_before = cpu_seconds();
        let (started, footprint) = (Instant::now(), Footprint::start());
        let shards = shards(&plan, threads);
        let mut fabric = Fabric::new(plan.spec.clone()).map_err(RunError::Spec)?;
        let roles = Roles::new(&plan.traffic, &mut fabric, plan.probes.vulnerable_share);
        let mut simulation = Simulation::streaming(fabric, Box::new(plan.traffic.flows()), shards);
        if plan.probes.ingress {
            simulation.watch_ingress();
        }
        if plan.probes.pauses {
            simulation.watch_full();
        }
        if plan.probes.flows {
            simulation.watch_flows();
        }
        plan.trace.iter().for_each(|trace| simulation.watch_trace(trace));
        let in_directory = |cause| RunError::File { path: directory.into(), cause };
        fs::create_dir_all(directory).map_err(in_directory)?;
        let reserve = Reserve::take(directory).map_err(in_directory)?;
        let topology = to_text(&topology_json(&plan.spec)) + "\n";
        write(directory, TOPOLOGY_PARTIAL, &topology)?;
        let mut names = every_name(&plan);
        let held: BTreeMap<_, _> = things_held(&simulation).into_iter().zip((names.len() as u32..).map(Name)).collect();
        names.extend(held.keys().map(|what| (*what).to_owned()));
        let words = || Term::ALL.map(Term::name).into_iter().chain(PARTS).chain(SignalKind::ALL.map(SignalKind::name));
        let terms: BTreeMap<_, _> = words().zip((names.len() as u32..).map(Name)).collect();
        names.extend(words().map(ToOwned::to_owned));
        let event_log = EventLog::new(&mut names);
        let metadata = metadata(&plan, build);
        let nodes = plan.spec.nodes.len();
        let first = |interval: Duration| {
            if interval == Duration::ZERO { Time::NEVER } else { Time::ZERO + interval }
        };
        let mut run = Run {
            sent: vec![[0; 2]; simulation.fabric().wiring.ports.len()],
            received: BTreeMap::new(),
            reordering: BTreeMap::new(),
            held,
            terms,
            event_log,
            next_sample: first(plan.probes.sample_interval),
            next_check: first(plan.probes.deadlock_check),
            next_look: Time::ZERO,
            stop,
            simulation,
            plan,
            build,
            threads,
            events_between_looks: events_between_looks(shards, threads),
            directory: directory.into(),
            tables: Tables::create(directory, &names[..nodes], &names, &metadata)?,
            topology: FileSum::of(topology.as_bytes()),
            roles,
            reserve,
            write_error: None,
            outcome: None,
            suspect: None,
            deadlock: None,
            violations: Vec::new(),
            started,
            cpu_before,
            footprint,
        };
        run.plan_look();
        Ok(run)
    }

    /// Goes on for about `wall` of real time, or to the end. A run whose tables cannot be written any more ends.
    pub fn advance(&mut self, wall: std::time::Duration) -> Progress {
        let begun = Instant::now();
        let mut is_over = || begun.elapsed() >= wall;
        while self.outcome.is_none() {
            let is_there =
                self.simulation.advance(self.next_look, self.threads, self.events_between_looks, &mut is_over);
            self.write_finished();
            if is_there {
                self.look();
            } else {
                self.write_error = self.tables.failure();
                self.outcome = self.write_error.as_ref().map(|_| Outcome::WriteError);
            }
            if is_over() {
                break;
            }
        }
        self.progress()
    }

    /// Says when to look next.
    fn plan_look(&mut self) {
        let (now, until) = (self.simulation.now(), self.plan.run.until);
        let end = if now < until { until } else { self.last() };
        self.next_look = self.next_sample.min(self.next_check).min(now + LOOK).min(end).min(self.stop);
    }

    /// When the run ends, whatever is left to do.
    fn last(&self) -> Time {
        self.plan.run.until + self.plan.run.drain
    }

    /// Looks at what there is now, which is when it was to.
    fn look(&mut self) {
        let now = self.next_look;
        if now == self.next_sample {
            self.sample(now);
            if self.plan.probes.goodput {
                self.sample_goodput(now);
            }
            if self.plan.probes.paths {
                self.sample_paths(now);
            }
            self.next_sample += self.plan.probes.sample_interval;
        }
        self.write_probes();
        if now == self.next_check {
            self.next_check += self.plan.probes.deadlock_check;
            self.look_for_deadlock();
        }
        self.outcome = self.verdict(now);
        self.plan_look();
    }

    /// Writes the flows that nothing is left of.
    fn write_finished(&mut self) {
        for outcome in self.simulation.take_finished() {
            if self.plan.probes.goodput {
                let kind = self.kind_of(&outcome.spec, || outcome.path.clone());
                self.received.entry(kind).or_default().by_finished += outcome.reception.delivered;
            }
            self.write_flow(&outcome);
        }
        self.write_events();
    }

    /// Writes what has been traced since the last time.
    fn write_events(&mut self) {
        let trace = self.simulation.take_trace();
        let rows = self.event_log.rows(trace, self.simulation.fabric());
        rows.into_iter().for_each(|row| self.tables.events.push(row));
    }

    /// Writes what pauses and ingress queues have come to since the last time.
    fn write_probes(&mut self) {
        for pause in self.simulation.take_pauses() {
            if self.plan.probes.pauses {
                self.write_pause(&pause, Some(pause.closure.to));
            }
        }
        self.simulation.take_full().iter().for_each(|full| self.write_full(full));
        if self.plan.probes.ingress {
            let (stops, peaks) = self.simulation.take_ingress();
            stops.iter().for_each(|stop| self.write_stop(stop, Some(stop.to)));
            for HeadroomPeak { node, at, headroom, stopped } in peaks {
                let row = HeadroomRow { time_ps: at, node: node.into(), headroom_bytes: headroom, stopped };
                self.tables.headroom.push(row);
            }
        }
    }

    /// A cycle of waits in which no gate has opened from one check to the next is a deadlock.
    fn look_for_deadlock(&mut self) {
        let found = self.simulation.find_deadlock();
        let before = self.suspect.take().filter(|suspect| self.simulation.is_still_dead(suspect));
        self.deadlock = before.filter(|_| found.is_some());
        self.suspect = found;
    }

    /// Whether the run is over at `now`, and how.
    fn verdict(&mut self, now: Time) -> Option<Outcome> {
        let totals = self.simulation.totals();
        if totals.violations > 0 {
            return Some(Outcome::Violation);
        }
        self.write_error = self.tables.failure();
        if self.write_error.is_some() {
            return Some(Outcome::WriteError);
        }
        if self.deadlock.is_none() && self.simulation.next_event() == Time::NEVER {
            // Nothing will happen any more to disprove it.
            self.deadlock = self.suspect.take();
        }
        if self.deadlock.is_some() {
            return Some(Outcome::Deadlock);
        }
        // The run does not wait for flows without an end.
        let all_done = !self.simulation.expects_flows() && totals.live_flows() == totals.endless_flows;
        let is_last = now >= self.last();
        // With no event pending, what is left waits at a link that never comes back.
        let is_over = self.simulation.next_event() == Time::NEVER;
        let rests = || is_over || is_last || self.simulation.is_quiet();
        if all_done && if totals.endless_flows == 0 { rests() } else { now >= self.plan.run.until } {
            return Some(Outcome::Completed);
        }
        if is_last {
            return Some(Outcome::TimeLimit);
        }
        if now >= self.stop {
            return Some(Outcome::Interrupted);
        }
        is_over.then_some(Outcome::Stalled)
    }

    /// What is being run.
    pub fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        let totals = self.simulation.totals();
        Progress {
            time_ps: self.simulation.now().ps(),
            end_ps: self.plan.run.until.ps(),
            events: totals.events,
            packet_hops: totals.packet_hops,
            live_flows: totals.live_flows(),
            finished_flows: totals.received_flows,
            started_flows: totals.started_flows,
            paused_ports: totals.paused_ports,
            done: self.outcome.is_some(),
        }
    }

    /// Completes the tables and writes `run.json`; its contents. Where the disk is full, the reserve makes room.
    ///
    /// # Errors
    /// A file still cannot be written.
    pub fn finish(mut self) -> Result<Summary, RunError> {
        let outcome = self.outcome.unwrap_or(Outcome::Interrupted);
        if matches!(self.outcome, None | Some(Outcome::WriteError)) {
            self.simulation.settle(self.threads);
            self.write_finished();
        }
        self.write_probes();
        self.write_events();
        self.write_open_pauses();
        for stop in self.simulation.open_stops() {
            self.write_stop(&stop, Some(stop.to).filter(|end| *end != Time::NEVER));
        }
        for outcome in self.simulation.unfinished() {
            self.write_flow(&outcome);
        }
        let (switches, reordering) = (self.switches(), self.reordering());
        let mut summary = self.summarise(outcome, &switches);
        drop(self.reserve);
        let mut files = self.tables.finish()?;
        let (names, metadata) = (every_name(&self.plan), metadata(&self.plan, self.build));
        let of_nodes = &names[..self.plan.spec.nodes.len()];
        files.extend([
            write_table(&self.directory, "switches", of_nodes, &metadata, switches)?,
            write_table(&self.directory, "reordering", &names, &metadata, reordering)?,
            (TOPOLOGY.to_owned(), self.topology),
        ]);
        rename(&self.directory, TOPOLOGY_PARTIAL, TOPOLOGY)?;
        summary.files = files;
        write(&self.directory, SUMMARY_PARTIAL, &sealed(&to_text(&summary)))?;
        rename(&self.directory, SUMMARY_PARTIAL, SUMMARY)?;
        Ok(summary)
    }

    fn summarise(&mut self, outcome: Outcome, switches: &[SwitchRow]) -> Summary {
        let totals = self.simulation.totals();
        let fabric = self.simulation.fabric();
        self.violations.extend(self.simulation.violations().iter().map(|drop| {
            let (node, class) = (fabric.name(drop.node), drop.class.0);
            let ingress = fabric.port_name(drop.ingress);
            let site = fabric.site(drop.node);
            let presumed = site.flow_control.presumes.filter(|_| site.shape.relays);
            let presumed = presumed.map(|what| format!("; it is promised as long as {what}")).unwrap_or_default();
            format!(
                "{} at {node}: no headroom for a packet of lossless class {class} from port {ingress}{presumed}",
                drop.at
            )
        }));
        self.violations.extend(self.simulation.audit().iter().map(ToString::to_string));
        let deadlock = self.deadlock.as_ref().map(|deadlock| DeadlockReport {
            onset_ps: deadlock.onset.ps(),
            cycle: deadlock.cycle.iter().map(|(port, queue)| self.dead_queue(*port, *queue)).collect(),
        });
        Summary {
            schema_version: SCHEMA_VERSION,
            outcome,
            write_error: self.write_error.take(),
            simulated_ps: self.simulation.now().ps(),
            flows: FlowCounts {
                total: totals.started_flows,
                finished: totals.received_flows,
                unfinished: totals.started_flows - totals.endless_flows - totals.received_flows,
                endless: totals.endless_flows,
            },
            drops: DropCause::ALL.iter().map(|cause| cause.name()).zip(totals.drops).collect(),
            pause_frames: totals.pause_frames,
            port_pause_frames: totals.port_pause_frames,
            paused_ps: self.simulation.paused().ps(),
            resume_frames: totals.resume_frames,
            unpromised_drops: totals.unpromised_drops,
            counters: self.simulation.counters(),
            peak_buffer_bytes: switches.iter().map(|switch| switch.peak_buffer_bytes).max().unwrap_or(0),
            peak_queues: switches.iter().map(|switch| switch.peak_queues).max().unwrap_or(0),
            peak_filled_queues: switches.iter().map(|switch| switch.peak_filled_queues).max().unwrap_or(0),
            audit: Audit {
                verdict: if self.violations.is_empty() { "ok" } else { "violated" },
                violations: std::mem::take(&mut self.violations),
            },
            deadlock,
            events: totals.events,
            packet_hops: totals.packet_hops,
            cpu_seconds: cpu_seconds() - self.cpu_before,
            wall_seconds: self.started.elapsed().as_secs_f64(),
            memory_bytes: self.footprint.growth(),
            peak_rss_bytes: peak_rss_bytes(),
            fingerprint: self.simulation.fingerprint().to_string(),
            seed: self.plan.run.seed,
            version: self.build.version,
            commit: self.build.commit,
            build_profile: self.build.profile,
            plug_ins: self.plan.spec.plug_ins(),
            scenario: self.plan.resolved(),
            effective: self.effective(),
            files: BTreeMap::new(),
        }
    }

    fn dead_queue(&self, port: PortId, queue: QueueIx) -> DeadQueue {
        let fabric = self.simulation.fabric();
        let facts = &fabric.wiring.ports[port.0 as usize];
        let name = fabric.port_name(port);
        let port = &self.simulation.node(facts.node).ports()[usize::from(facts.ix)];
        let packets = port.frames(queue, self.simulation.frames(facts.node)).filter_map(|queued| queued.frame.packet());
        let data = packets.filter(|packet| packet.kind == PacketKind::Data).map(|packet| packet.flow);
        let flow = |id: FlowId| {
            let flow = fabric.flow(id);
            DeadFlow { id: id.0, src: fabric.name(flow.src).to_owned(), dst: fabric.name(flow.dst).to_owned() }
        };
        DeadQueue {
            node: fabric.name(facts.node).to_owned(),
            port: facts.ix,
            name,
            peer: fabric.name(fabric.wiring.peer(facts)).to_owned(),
            queue,
            bytes: port.queue_bytes(queue),
            flows: data.collect::<BTreeSet<FlowId>>().into_iter().map(flow).collect(),
        }
    }

    /// The values in force, by path.
    fn effective(&self) -> serde_json::Value {
        let mut values = self.plan.effective();
        if self.plan.run.shards.is_none() {
            values["run.shards"] = shards(&self.plan, self.threads).into();
        }
        values
    }

    /// What every switch has come to.
    fn switches(&self) -> Vec<SwitchRow> {
        let fabric = self.simulation.fabric();
        let row = |node: &Node| {
            Some(SwitchRow {
                node: node.id.into(),
                layer: fabric.wiring.layer(node.id) as u8,
                peak_buffer_bytes: node.pipeline()?.occupancy().peak,
                peak_queues: node.flow_control().most_queues_used(),
                peak_filled_queues: node.ports().iter().map(Port::most_filled_queues).max().unwrap_or(0),
                dropped_frames: node.losses().frames.iter().sum(),
            })
        };
        self.simulation.nodes().filter_map(row).collect()
    }

    /// How many packets came how far before an earlier one; those that did not have a degree of 0.
    fn reordering(&self) -> Vec<ReorderingRow> {
        let rows = self.reordering.iter().flat_map(|(&((tag, role), measured), Reordering { arrived, disorder })| {
            let (tag, role) = (self.name_of_tag(tag), role.map(|role| self.name_of_role(role)));
            let others = [(0, arrived - disorder.packets())].into_iter().filter(|(_, packets)| *packets > 0);
            others.chain(disorder.degrees()).map(move |(degree, packets)| ReorderingRow {
                tag,
                role,
                measured,
                degree,
                packets,
            })
        });
        rows.collect()
    }

    /// Returns tag and role of a flow, whose data took `path` when it started.
    fn kind_of(&self, flow: &FlowSpec, path: impl FnOnce() -> Way) -> FlowKind {
        let role = self.roles.as_ref().map(|roles| roles.of(self.simulation.fabric(), flow, &path()));
        (flow.tag, role)
    }

    /// Of [`every_name`].
    fn name_of_tag(&self, tag: u16) -> Name {
        Name(self.plan.spec.nodes.len() as u32 + u32::from(tag))
    }

    fn name_of_role(&self, role: FlowRole) -> Name {
        Name((self.plan.spec.nodes.len() + self.plan.traffic.tags.len()) as u32 + role as u32)
    }
}

/// The names of the nodes, then those of the tags, then those of the roles.
fn every_name(plan: &Plan) -> Vec<String> {
    let nodes = plan.spec.nodes.iter().map(|node| &node.name).cloned();
    nodes.chain(plan.traffic.tags.iter().cloned()).chain(FlowRole::NAMES.map(String::from)).collect()
}

/// A table of what is known at the end.
fn write_table<R: Row>(
    directory: &Path,
    name: &str,
    names: &[String],
    metadata: &[(String, String)],
    rows: Vec<R>,
) -> Result<(String, FileSum), TableError> {
    let mut table = TableWriter::create(directory, name, names, metadata)?;
    rows.into_iter().for_each(|row| table.push(row));
    table.finish()
}

/// What every table tells about where it comes from.
fn metadata(plan: &Plan, build: Build) -> [(String, String); 4] {
    [
        ("backwater.schema_version".to_owned(), SCHEMA_VERSION.to_string()),
        ("backwater.version".to_owned(), build.version.to_owned()),
        ("backwater.commit".to_owned(), build.commit.to_owned()),
        ("backwater.seed".to_owned(), plan.run.seed.to_string()),
    ]
}

fn to_text(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("values with string keys only can be written")
}

/// A JSON object with one more key at its end, `checksum`: the CRC-32 of everything before it.
fn sealed(object: &str) -> String {
    let content = object.strip_suffix("\n}").expect("to_text ends an object that is not empty so");
    format!("{content},\n  \"checksum\": {}\n}}\n", crc32fast::hash(content.as_bytes()))
}

fn write(directory: &Path, name: &str, text: &str) -> Result<(), RunError> {
    let path = directory.join(name);
    fs::write(&path, text).map_err(|cause| RunError::File { path, cause })
}

fn rename(directory: &Path, from: &str, to: &str) -> Result<(), RunError> {
    let path = directory.join(to);
    fs::rename(directory.join(from), &path).map_err(|cause| RunError::File { path, cause })
}

#[cfg(test)]
pub(crate) mod tests;
