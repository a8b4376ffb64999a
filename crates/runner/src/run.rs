//! Run loop: advances the simulation from tick to tick and writes its tables.

mod jobs;
mod rows;
mod samples;

use self::jobs::Jobs;
use crate::Build;
use crate::disk::{FileSum, Reserve};
use crate::events::EventLog;
use crate::roles::{FlowRole, Roles};
use crate::summary::{Audit, DeadFlow, DeadQueue, DeadlockReport, FlowCounts, Outcome, Summary};
use crate::tables::{HeadroomRow, Name, ReorderingRow, SCHEMA_VERSION, SwitchRow, TableWriteError, Tables};
use crate::topology::topology_json;
use crate::usage::{ResidentSet, cpu_seconds, peak_rss_bytes};
use backwater_columns::Text;
use backwater_engine::{Duration, Time};
use backwater_fabric::Simulation;
use backwater_fabric::contract::LbStat;
use backwater_fabric::contract::report::{Disorder, DropCause};
use backwater_fabric::driver::deadlock::Deadlock;
use backwater_fabric::driver::partition::SAMPLE;
use backwater_fabric::frame::PacketKind;
use backwater_fabric::frame::journey::Term;
use backwater_fabric::ids::{FlowId, PortId, QueueIx};
use backwater_fabric::model::ledger::SignalKind;
use backwater_fabric::model::node::Node;
use backwater_fabric::model::probe::HeadroomPeak;
use backwater_fabric::network::routes::PortPath;
use backwater_fabric::network::spec::FlowSpec;
use backwater_scenario::Plan;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Failure to start or complete a run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A file cannot be written.
    #[error("{path}: {cause}")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        cause: std::io::Error,
    },
    /// A table cannot be written.
    #[error(transparent)]
    Table(#[from] TableWriteError),
    /// A table could not be written during the run.
    #[error("{0}")]
    Rejected(String),
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunProgress {
    /// Simulated time, ps.
    pub time_ps: u64,
    /// End of the traffic, ps. Later times drain the network. Zero if the run ends with its jobs.
    pub end_ps: u64,
    /// Events handled.
    pub events: u64,
    /// Frames transmitted on links.
    pub packet_hops: u64,
    /// Flows that have started and are not fully acknowledged.
    pub live_flows: u64,
    /// Flows whose last byte arrived.
    pub finished_flows: u64,
    /// Flows that have started.
    pub started_flows: u64,
    /// Ports with a paused queue.
    pub paused_ports: u64,
    /// True if the run has ended.
    pub done: bool,
}

/// Run in progress.
pub struct Run {
    simulation: Simulation,
    plan: Plan,
    build: Build,
    threads: usize,
    /// Events between two checks of the wall clock.
    events_between_checks: u64,
    /// Checks of the wall clock after which the trace is written.
    checks_per_trace: u32,
    directory: PathBuf,
    tables: Tables,
    topology: FileSum,
    /// Roles of flows, if the scenario has an incast.
    roles: Option<Roles>,
    /// Wire bytes that each port had sent at the last sample, and the part of these bytes in
    /// relayed packets.
    sent: Vec<[u64; 2]>,
    /// Payload received, by kind of flow.
    received: BTreeMap<FlowKind, Received>,
    /// Packets by degree of disorder, by kind of flow. The key is true for flows that started after
    /// the warm-up.
    reordering: BTreeMap<(FlowKind, bool), Reordering>,
    /// Names of the counts that load balancers hold.
    lb_stats: BTreeMap<&'static str, Name>,
    /// Names of terms, of words of jobs, of the groups of packets in
    /// [`WaitRow`](crate::tables::WaitRow), and of signals.
    terms: BTreeMap<&'static str, Name>,
    event_log: EventLog,
    jobs: Jobs,
    next_sample: Time,
    next_check: Time,
    next_tick: Time,
    /// Time at which the run is interrupted, unless the run ends before.
    stop: Time,
    /// Disk space that is released when the disk is full.
    reserve: Reserve,
    pub(crate) write_error: Option<String>,
    outcome: Option<Outcome>,
    /// Cycle of waits that the last check found. The next check confirms or drops the cycle.
    deadlock_candidate: Option<Deadlock>,
    deadlock: Option<Deadlock>,
    /// Payload bytes of finite flows that were not delivered.
    undelivered: u64,
    violations: Vec<String>,
    started: Instant,
    cpu_before: f64,
    resident_set: ResidentSet,
}

/// Tag and role of a flow.
type FlowKind = (u16, Option<FlowRole>);

/// Payload that flows of one kind received.
#[derive(Clone, Copy, Default)]
struct Received {
    /// Bytes of finished flows.
    by_finished: u64,
    /// Bytes of all flows at the last sample.
    at_sample: u64,
}

/// Data packets of flows of one kind.
#[derive(Default)]
struct Reordering {
    arrived: u64,
    disorder: Disorder,
}

/// Returns the names of the counts that load balancers hold.
fn lb_stat_names(simulation: &Simulation) -> BTreeSet<&'static str> {
    let mut names = BTreeSet::new();
    for switch in simulation.nodes().filter_map(Node::switch) {
        switch.observe_balancing(Time::ZERO, &mut |stat| {
            if let LbStat::Count(what, _) = stat {
                names.insert(what);
            }
        });
    }
    names
}

/// Groups of packets in [`WaitRow`](crate::tables::WaitRow).
const PARTS: [&str; 3] = ["completion", "packets", "window"];
const TOPOLOGY: &str = "topology.json";
const TOPOLOGY_PARTIAL: &str = "topology.json.partial";
const SUMMARY: &str = "run.json";
const SUMMARY_PARTIAL: &str = "run.json.partial";
/// Longest simulated time between two ticks.
const MAX_TICK: Duration = Duration::from_us(100);
/// Interval between two checks whether all jobs have ended, in runs that end with their jobs. Other
/// ticks depend on probes.
const JOBS_CHECK: Duration = Duration::from_us(10);

/// Returns the number of checks of the wall clock after which the trace of `hosts` hosts is
/// written. A short trace stays in the cache, but every stop of several shards, after a window,
/// ends their threads. So large networks, which record many events per window, stop more often.
fn checks_per_trace(shards: usize, hosts: usize) -> u32 {
    if shards == 1 { 4 } else { (4096 / hosts.max(1)).clamp(1, 32) as u32 }
}

/// Returns the maximum number of shards.
fn shards(plan: &Plan, threads: usize) -> usize {
    plan.run.shards.map_or(threads, |shards| shards as usize)
}

/// Returns the events of a shard between two checks of the wall clock. A check synchronises the
/// shards, so several shards check less often.
fn events_between_checks(shards: usize, threads: usize) -> u64 {
    match shards {
        1 => 1 << 8,
        _ => (1 << 18) / shards.div_ceil(threads.max(1)) as u64,
    }
}

impl Run {
    /// Starts a run that writes into `directory`, and creates the directory if needed. The files of
    /// an earlier run are replaced when this run finishes.
    ///
    /// # Errors
    ///
    /// If the directory cannot be written.
    pub fn start(plan: Plan, build: Build, directory: &Path, threads: usize) -> Result<Run, RunError> {
        Run::start_until(plan, build, directory, threads, Time::NEVER)
    }

    /// Starts a run that is interrupted after all events before `stop`.
    ///
    /// # Errors
    ///
    /// See [`Run::start`].
    pub fn start_until(
        plan: Plan,
        build: Build,
        directory: &Path,
        threads: usize,
        stop: Time,
    ) -> Result<Run, RunError> {
        Run::start_with(plan, build, directory, threads, stop, usize::MAX)
    }

    /// Starts a run of the first `flows` flows: see [`Run::start_until`].
    pub(crate) fn start_with(
        plan: Plan,
        build: Build,
        directory: &Path,
        threads: usize,
        stop: Time,
        flows: usize,
    ) -> Result<Run, RunError> {
        let cpu_before = cpu_seconds();
        let (started, resident_set) = (Instant::now(), ResidentSet::start(plan.fabric_bytes()));
        let shards = shards(&plan, threads);
        let mut fabric = plan.take_fabric();
        let hosts = fabric.spec.nodes.iter().filter(|node| node.kind.has_endpoint()).count();
        let mut names = every_name(&plan);
        let jobs = Jobs::declare(&plan, &mut fabric);
        let roles = Roles::new(&plan.traffic, &jobs.firsts(), &mut fabric, plan.probes.vulnerable_share);
        let messages = plan.traffic.messages(SAMPLE);
        let source = Box::new(plan.traffic.flows().take(flows));
        let mut simulation = Simulation::streaming(fabric, source, &messages, shards);
        if plan.probes.ingress {
            simulation.watch_ingress();
        }
        if plan.probes.pauses {
            simulation.watch_full();
        }
        if plan.probes.flows {
            simulation.watch_flows();
        }
        if let Some(trace) = &plan.trace {
            simulation.watch_trace(trace);
        }
        let in_directory = |cause| RunError::File { path: directory.into(), cause };
        fs::create_dir_all(directory).map_err(in_directory)?;
        let reserve = Reserve::take(directory).map_err(in_directory)?;
        let topology = to_text(&topology_json(plan.spec())) + "\n";
        write(directory, TOPOLOGY_PARTIAL, &topology)?;
        let lb_stats: BTreeMap<_, _> =
            lb_stat_names(&simulation).into_iter().zip((names.len() as u32..).map(Name)).collect();
        names.extend(lb_stats.keys().map(|what| (*what).to_owned()));
        let words = Term::ALL.map(Term::name).into_iter().chain(PARTS).chain(SignalKind::ALL.map(SignalKind::name));
        let mut terms: BTreeMap<_, _> = BTreeMap::new();
        for word in words.chain(jobs::words(&plan)) {
            terms.entry(word).or_insert_with(|| {
                names.push(word.to_owned());
                Name(names.len() as u32 - 1)
            });
        }
        let event_log = EventLog::new(&mut names);
        let names = names.iter().map(|name| Text::from(name.as_str())).collect();
        let tables = Tables::create(directory, &names, &metadata(&plan, build))?;
        let first = |interval: Duration| {
            if interval == Duration::ZERO { Time::NEVER } else { Time::ZERO + interval }
        };
        let mut run = Run {
            sent: vec![[0; 2]; simulation.fabric().wiring.ports.len()],
            received: BTreeMap::new(),
            reordering: BTreeMap::new(),
            lb_stats,
            terms,
            event_log,
            jobs,
            next_sample: first(plan.probes.sample_interval),
            next_check: first(plan.probes.deadlock_check),
            next_tick: Time::ZERO,
            stop,
            simulation,
            plan,
            build,
            threads,
            events_between_checks: events_between_checks(shards, threads),
            checks_per_trace: checks_per_trace(shards, hosts),
            directory: directory.into(),
            tables,
            topology: FileSum::of(topology.as_bytes()),
            roles,
            reserve,
            write_error: None,
            outcome: None,
            deadlock_candidate: None,
            deadlock: None,
            undelivered: 0,
            violations: Vec::new(),
            started,
            cpu_before,
            resident_set,
        };
        run.jobs.install(&mut run.simulation);
        run.schedule_tick();
        Ok(run)
    }

    /// Advances for about `wall` of real time, or to the end. A write error ends the run.
    pub fn advance(&mut self, wall: std::time::Duration) -> RunProgress {
        let begun = Instant::now();
        let is_over = || begun.elapsed() >= wall;
        let every = self.plan.trace.as_ref().map(|_| self.checks_per_trace);
        let mut checks = 0_u32;
        while self.outcome.is_none() {
            let mut stop = || {
                checks += 1;
                is_over() || every.is_some_and(|every| checks.is_multiple_of(every))
            };
            let is_due = self.simulation.advance(self.next_tick, self.threads, self.events_between_checks, &mut stop);
            self.write_finished();
            if is_due {
                self.tick();
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

    /// Schedules the next tick.
    fn schedule_tick(&mut self) {
        let (now, until) = (self.simulation.now(), self.plan.run.end_of_traffic());
        let end = if now < until { until } else { self.last() };
        let most = if self.plan.run.ends_with_jobs() {
            Duration::from_ps(JOBS_CHECK.ps() - now.ps() % JOBS_CHECK.ps())
        } else {
            MAX_TICK
        };
        self.next_tick = self.next_sample.min(self.next_check).min(now + most).min(end).min(self.stop);
    }

    /// Returns the latest end of the run.
    fn last(&self) -> Time {
        self.plan.run.last()
    }

    /// Takes the samples and checks that are due now.
    fn tick(&mut self) {
        let now = self.next_tick;
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
        self.write_jobs();
        if now == self.next_check {
            self.next_check += self.plan.probes.deadlock_check;
            self.check_deadlock();
        }
        self.outcome = self.verdict(now);
        self.schedule_tick();
    }

    /// Writes the finished flows that have no packets left in the network.
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

    /// Writes the new events of the trace.
    fn write_events(&mut self) {
        let trace = self.simulation.take_trace();
        self.event_log.write(&trace, self.simulation.fabric(), &mut self.tables.events);
    }

    /// Writes the new records of pauses and ingress queues.
    fn write_probes(&mut self) {
        for pause in self.simulation.take_pauses() {
            if self.plan.probes.pauses {
                self.write_pause(&pause, Some(pause.closure.to));
            }
        }
        for full in self.simulation.take_full() {
            self.write_full(&full);
        }
        if self.plan.probes.ingress {
            let (stops, peaks) = self.simulation.take_ingress();
            for stop in stops {
                self.write_stop(&stop, Some(stop.to));
            }
            for HeadroomPeak { node, at, headroom, stopped } in peaks {
                let row = HeadroomRow { time_ps: at, node: node.into(), headroom_bytes: headroom, stopped };
                self.tables.headroom.push(row);
            }
        }
    }

    /// Searches for a deadlock: a cycle of waits in which no gate opened between two checks.
    fn check_deadlock(&mut self) {
        let found = self.simulation.find_deadlock();
        let before = self.deadlock_candidate.take().filter(|candidate| self.simulation.is_still_dead(candidate));
        self.deadlock = before.filter(|_| found.is_some());
        self.deadlock_candidate = found;
    }

    /// Returns the outcome at `now`, or `None` if the run continues.
    fn verdict(&mut self, now: Time) -> Option<Outcome> {
        let totals = self.simulation.counts();
        if totals.violations > 0 {
            return Some(Outcome::Violation);
        }
        self.write_error = self.tables.failure();
        if self.write_error.is_some() {
            return Some(Outcome::WriteError);
        }
        if self.deadlock.is_none() && self.simulation.next_event() == Time::NEVER {
            // Without pending events, no gate can open any more.
            self.deadlock = self.deadlock_candidate.take();
        }
        if self.deadlock.is_some() {
            return Some(Outcome::Deadlock);
        }
        let is_last = now >= self.last();
        // Without pending events, the remaining packets wait at a link that stays down.
        let is_over = self.simulation.next_event() == Time::NEVER;
        let ends_with_jobs = self.plan.run.ends_with_jobs();
        let may_end = !ends_with_jobs || is_last || now.ps().is_multiple_of(JOBS_CHECK.ps());
        if may_end && (ends_with_jobs || self.flows_are_done(now, is_over || is_last)) && self.jobs_are_done() {
            return Some(Outcome::Completed);
        }
        if is_last {
            return Some(Outcome::TimeLimit);
        }
        if now >= self.stop {
            return Some(Outcome::Interrupted);
        }
        (is_over && may_end).then_some(Outcome::Stalled)
    }

    /// Returns true if all flows have ended and, unless the run `is_settled`, all packets and
    /// timers. Endless flows end with the traffic.
    fn flows_are_done(&mut self, now: Time, is_settled: bool) -> bool {
        let totals = self.simulation.counts();
        let are_done = !self.simulation.expects_flows() && totals.live_flows() == totals.endless_flows;
        are_done
            && if totals.endless_flows > 0 {
                now >= self.plan.run.end_of_traffic()
            } else {
                is_settled || self.simulation.is_quiet()
            }
    }

    /// Returns the simulation.
    pub fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    /// Returns the progress.
    pub fn progress(&self) -> RunProgress {
        let (totals, run) = (self.simulation.totals(), &self.plan.run);
        RunProgress {
            time_ps: self.simulation.now().ps(),
            end_ps: if run.ends_with_jobs() { 0 } else { run.end_of_traffic().ps() },
            events: totals.events,
            packet_hops: totals.packet_hops,
            live_flows: totals.live_flows(),
            finished_flows: totals.received_flows,
            started_flows: totals.started_flows,
            paused_ports: totals.paused_ports,
            done: self.outcome.is_some(),
        }
    }

    /// Completes the tables, writes `run.json` and returns its contents. On a full disk, the
    /// reserve provides the space.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub fn finish(mut self) -> Result<Summary, RunError> {
        if matches!(self.outcome, None | Some(Outcome::WriteError)) {
            self.simulation.settle(self.threads);
            self.write_finished();
        }
        self.complete(usize::MAX)
    }

    /// Completes all files, with at most `unfinished` of the unfinished flows.
    pub(crate) fn complete(mut self, unfinished: usize) -> Result<Summary, RunError> {
        let outcome = self.outcome.unwrap_or(Outcome::Interrupted);
        self.write_probes();
        self.write_events();
        self.write_jobs();
        self.write_open_iterations();
        self.write_open_pauses();
        for stop in self.simulation.open_stops() {
            self.write_stop(&stop, Some(stop.to).filter(|end| *end != Time::NEVER));
        }
        let mut flows = self.simulation.unfinished_flows();
        for _ in 0..unfinished {
            let Some(outcome) = flows.next(&self.simulation) else { break };
            if !outcome.spec.is_endless() {
                self.undelivered += outcome.spec.bytes - outcome.reception.delivered;
            }
            self.jobs.note_unacknowledged(&outcome);
            self.write_flow(&outcome);
        }
        for row in self.reordering() {
            self.tables.reordering.push(row);
        }
        for row in self.switches() {
            self.tables.switches.push(row);
        }
        let mut summary = self.summarise(outcome);
        drop(self.reserve);
        let mut files = self.tables.finish()?;
        files.insert(TOPOLOGY.to_owned(), self.topology);
        rename(&self.directory, TOPOLOGY_PARTIAL, TOPOLOGY)?;
        summary.files = files;
        write(&self.directory, SUMMARY_PARTIAL, &sealed(&to_text(&summary)))?;
        rename(&self.directory, SUMMARY_PARTIAL, SUMMARY)?;
        Ok(summary)
    }

    /// Returns the contents of `run.json`, without the checksums of files.
    fn summarise(&mut self, outcome: Outcome) -> Summary {
        let totals = self.simulation.totals();
        let fabric = self.simulation.fabric();
        self.violations.extend(self.simulation.violations().iter().map(|drop| {
            let (node, class) = (fabric.name(drop.node), drop.class.0);
            let ingress = fabric.port_name(drop.ingress);
            let site = fabric.site(drop.node);
            let presumed = site.flow_control.lossless_assumption.filter(|_| site.shape.relays);
            let presumed =
                presumed.map(|what| format!("; the lossless guarantee assumes that {what}")).unwrap_or_default();
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
                left_out: self.plan.traffic.left_out.flows,
                undelivered_bytes: self.undelivered + self.plan.traffic.left_out.bytes,
            },
            jobs: self.job_summaries(),
            drops: DropCause::ALL.iter().map(|cause| cause.name()).zip(totals.drops).collect(),
            totals,
            paused_ps: totals.paused.ps(),
            counters: self.simulation.counters(),
            audit: Audit {
                verdict: if self.violations.is_empty() { "ok" } else { "violated" },
                violations: std::mem::take(&mut self.violations),
            },
            deadlock,
            cpu_seconds: cpu_seconds() - self.cpu_before,
            wall_seconds: self.started.elapsed().as_secs_f64(),
            memory_bytes: self.resident_set.growth(),
            peak_rss_bytes: peak_rss_bytes(),
            fingerprint: self.fingerprint().to_string(),
            seed: self.plan.run.seed,
            version: self.build.version,
            commit: self.build.commit,
            build_profile: self.build.profile,
            plug_ins: self.plan.spec().plug_ins(),
            scenario: self.plan.resolved(),
            effective: self.effective(),
            files: BTreeMap::new(),
        }
    }

    fn dead_queue(&self, port: PortId, queue: QueueIx) -> DeadQueue {
        let fabric = self.simulation.fabric();
        let facts = &fabric.wiring.ports[port];
        let name = fabric.port_name(port);
        let port = &self.simulation.node(facts.node).ports()[facts.ix];
        let packets = port.frames(queue, self.simulation.frames(facts.node)).filter_map(|queued| queued.frame.packet());
        let data = packets.filter(|packet| packet.kind == PacketKind::Data).map(|packet| packet.flow);
        let flow = |id: FlowId| {
            let flow = fabric.flow(id);
            DeadFlow { id: id.0, src: fabric.name(flow.src).to_owned(), dst: fabric.name(flow.dst).to_owned() }
        };
        DeadQueue {
            node: fabric.name(facts.node).to_owned(),
            port: facts.ix.0,
            name,
            peer: fabric.name(fabric.wiring.peer(facts)).to_owned(),
            queue: queue.0,
            bytes: port.queue_bytes(queue),
            flows: data.collect::<BTreeSet<FlowId>>().into_iter().map(flow).collect(),
        }
    }

    /// Returns the values in effect, by their path in the scenario.
    fn effective(&self) -> serde_json::Value {
        let mut values = self.plan.effective();
        if self.plan.run.shards.is_none() {
            values["run.shards"] = shards(&self.plan, self.threads).into();
        }
        values
    }

    /// Returns one row per switch.
    fn switches(&self) -> Vec<SwitchRow> {
        let switches = self.simulation.nodes().filter(|node| node.switch().is_some());
        let row = |node: &Node| {
            let totals = self.simulation.totals_of(node);
            SwitchRow {
                node: node.id.into(),
                layer: self.simulation.fabric().wiring.layer(node.id) as u8,
                peak_buffer_bytes: totals.peak_buffer_bytes,
                peak_queues: totals.peak_queues,
                peak_filled_queues: totals.peak_filled_queues,
                dropped_frames: totals.drops.iter().sum(),
            }
        };
        switches.map(row).collect()
    }

    /// Returns the packets by degree of disorder. Packets that overtook none have degree 0.
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

    /// Returns the tag and the role of a flow. `path` is the path of its data at its start.
    fn kind_of(&self, flow: &FlowSpec, path: impl FnOnce() -> PortPath) -> FlowKind {
        let role = self.roles.as_ref().map(|roles| roles.of(self.simulation.fabric(), flow, &path()));
        (flow.tag, role)
    }

    /// Returns the index of a tag in [`every_name`].
    fn name_of_tag(&self, tag: u16) -> Name {
        Name(self.plan.spec().nodes.len() as u32 + u32::from(tag))
    }

    /// Returns the index of a role in [`every_name`].
    fn name_of_role(&self, role: FlowRole) -> Name {
        Name((self.plan.spec().nodes.len() + self.plan.traffic.tags.len()) as u32 + role as u32)
    }
}

/// Returns the names of nodes, tags and roles, in this order.
fn every_name(plan: &Plan) -> Vec<String> {
    let nodes = plan.spec().nodes.iter().map(|node| &node.name).cloned();
    nodes.chain(plan.traffic.tags.iter().cloned()).chain(FlowRole::NAMES.map(String::from)).collect()
}

/// Returns the metadata of all tables.
fn metadata(plan: &Plan, build: Build) -> [(String, String); 4] {
    [
        ("backwater.schema_version".to_owned(), SCHEMA_VERSION.to_string()),
        ("backwater.version".to_owned(), build.version.to_owned()),
        ("backwater.commit".to_owned(), build.commit.to_owned()),
        ("backwater.seed".to_owned(), plan.run.seed.to_string()),
    ]
}

fn to_text(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("all keys are strings")
}

/// Appends the key `checksum` to a JSON object. Its value is the CRC-32 of the text before that
/// key.
fn sealed(object: &str) -> String {
    let content = object.strip_suffix("\n}").expect("to_text ends a non-empty object with a line break");
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
