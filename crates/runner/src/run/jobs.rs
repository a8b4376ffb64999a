//! Jobs of a run: their applications, and their rows.

use super::Run;
use crate::summary::JobSummary;
use crate::tables::{JobRow, OperationRow};
use backwater_engine::fingerprint::Fingerprint;
use backwater_engine::{Duration, Time};
use backwater_fabric::Simulation;
use backwater_fabric::contract::Application;
use backwater_fabric::driver::outcome::FlowOutcome;
use backwater_fabric::ids::FlowId;
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::flows::Connections;
use backwater_jobs::host::{HostProgram, Job, programs};
use backwater_jobs::operation::{Operation, OperationIx, Rank};
use backwater_jobs::rank::{Executed, Iteration, Report};
use backwater_scenario::Plan;
use backwater_scenario::workload::jobs::PlannedJob;
use std::any::Any;
use std::collections::BTreeMap;

/// Number of entries of [`JobSummary::waiting`].
const MOST_WAITING: usize = 10;

/// Returns the words of the tables of jobs.
pub(super) fn words(plan: &Plan) -> impl Iterator<Item = &'static str> {
    let collectives = plan.traffic.jobs.iter().filter_map(|job| job.collective);
    Operation::KINDS.into_iter().chain(collectives.flat_map(|it| [it.operation, it.algorithm]))
}

/// Jobs of a run.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    jobs: Vec<Job>,
    /// Iterations that some ranks have not ended, by job and number.
    open: BTreeMap<(usize, u32), OpenIteration>,
    /// Number of iterations that all ranks have ended, by job.
    finished: Vec<u32>,
    /// Hash of the ends of the ranks' iterations.
    fingerprint: Fingerprint,
    /// Some messages that are not acknowledged at the end, by job.
    unacknowledged: Vec<Vec<String>>,
}

/// Iteration that some ranks have not ended.
#[derive(Clone, Copy, Debug)]
struct OpenIteration {
    start: Time,
    end: Time,
    /// Sum of the times of the ranks that have ended, in ps.
    total: u128,
    ranks: u32,
}

impl Jobs {
    /// Declares the connections of the plan's jobs.
    pub(super) fn declare(plan: &Plan, fabric: &mut Fabric) -> Jobs {
        let declared = plan.traffic.jobs.iter().map(|job| Job {
            operations: job.operations.clone(),
            connections: job.connections.clone(),
            first: fabric.flows.declare(job.connections.clone()),
            start: job.start,
            records: plan.probes.operations,
        });
        let jobs: Vec<Job> = declared.collect();
        let (finished, unacknowledged) = (vec![0; jobs.len()], vec![Vec::new(); jobs.len()]);
        Jobs { finished, unacknowledged, jobs, ..Jobs::default() }
    }

    /// Returns the first connection of each job.
    pub(super) fn firsts(&self) -> Vec<FlowId> {
        self.jobs.iter().map(|job| job.first).collect()
    }

    /// Installs the applications of all hosts with ranks.
    pub(super) fn install(&self, simulation: &mut Simulation) {
        for (host, program) in programs(&self.jobs) {
            simulation.install(host, Box::new(program));
        }
    }

    /// Notes a message that is not acknowledged at the end of the run. Other flows are ignored.
    pub(super) fn note_unacknowledged(&mut self, outcome: &FlowOutcome) {
        let place = self.jobs.partition_point(|job| job.first <= outcome.flow);
        let Some(place) = place.checked_sub(1) else { return };
        let (job, noted) = (&self.jobs[place], &mut self.unacknowledged[place]);
        let index = outcome.flow.0 - job.first.0;
        if index < job.connections.count() && noted.len() < MOST_WAITING {
            let (from, to, _) = job.connections.ends(index);
            let (arrived, bytes) = (outcome.reception.delivered, outcome.spec.bytes);
            let (message, flow) = (outcome.message, outcome.flow.0);
            let name = format!("message {message} of flow {flow}, from rank {} to rank {},", from.0, to.0);
            noted.push(if arrived < bytes {
                format!("{arrived} of {bytes} B of {name} have arrived")
            } else {
                format!("{name} has arrived and is not acknowledged")
            });
        }
    }
}

fn program(application: &dyn Application) -> Option<&HostProgram> {
    (application as &dyn Any).downcast_ref()
}

impl Run {
    /// Returns a hash of all arrivals of all frames, and of the ends of jobs' iterations.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        let mut fingerprint = self.simulation.fingerprint();
        fingerprint.merge(self.jobs.fingerprint);
        fingerprint
    }

    /// Returns true if all jobs have ended.
    pub(super) fn jobs_are_done(&self) -> bool {
        self.simulation.applications().all(|(_, application)| application.is_done())
    }

    /// Writes the operations and iterations that have ended.
    pub(super) fn write_jobs(&mut self) {
        if self.jobs.jobs.is_empty() {
            return;
        }
        let mut reports: Vec<(usize, Rank, Report)> = Vec::new();
        self.simulation.visit_applications(|_, application| {
            if let Some(program) = (application as &mut dyn Any).downcast_mut::<HostProgram>() {
                reports.extend(program.take_reports());
            }
        });
        let mut executed: Vec<(Time, usize, Rank, Executed)> = Vec::new();
        let mut iterations: Vec<(Time, usize, Rank, Iteration)> = Vec::new();
        for (job, rank, report) in reports {
            executed.extend(report.executed.into_iter().map(|it| (it.end, job, rank, it)));
            iterations.extend(report.iterations.into_iter().map(|it| (it.end, job, rank, it)));
        }
        executed.sort_by_key(|(end, job, rank, it)| (*end, *job, *rank, it.operation));
        iterations.sort_by_key(|(end, job, rank, it)| (*end, *job, *rank, it.number));
        for (_, job, rank, it) in executed {
            let row = self.operation_row(job, rank, it);
            self.tables.operations.push(row);
        }
        for (end, job, rank, it) in iterations {
            self.jobs.fingerprint.add((job as u64) << 32 | u64::from(rank.0), it.number.into(), end.ps());
            self.count_iteration(job, it);
        }
    }

    /// Counts an iteration that one rank has ended, and writes it after the last rank.
    fn count_iteration(&mut self, job: usize, iteration: Iteration) {
        let Iteration { number, start, end } = iteration;
        let ranks = self.plan.traffic.jobs[job].operations.ranks();
        let key = (job, number);
        let fresh = OpenIteration { start, end, total: 0, ranks: 0 };
        let open = self.jobs.open.entry(key).or_insert(fresh);
        (open.start, open.end) = (open.start.min(start), open.end.max(end));
        open.total += u128::from((end - start).ps());
        open.ranks += 1;
        if open.ranks == ranks {
            let ended = *open;
            self.jobs.open.remove(&key);
            self.jobs.finished[job] += 1;
            let row = self.job_row(key, ended);
            self.tables.jobs.push(row);
        }
    }

    /// Writes the iterations that some ranks have begun and not ended.
    pub(super) fn write_open_iterations(&mut self) {
        let begun: Vec<(usize, u32, Time)> = {
            let programs = self.simulation.applications().filter_map(|(_, application)| program(application));
            let begun = programs.flat_map(|program| {
                program.states().filter_map(|(job, state)| {
                    let (number, start) = state.iteration()?;
                    Some((job, number, start))
                })
            });
            begun.collect()
        };
        for (job, number, start) in begun {
            let fresh = OpenIteration { start, end: start, total: 0, ranks: 0 };
            let open = self.jobs.open.entry((job, number)).or_insert(fresh);
            open.start = open.start.min(start);
        }
        for (key, open) in std::mem::take(&mut self.jobs.open) {
            let row = self.job_row(key, open);
            self.tables.jobs.push(row);
        }
    }

    fn job_row(&self, (job, number): (usize, u32), open: OpenIteration) -> JobRow {
        let planned = &self.plan.traffic.jobs[job];
        let ranks = planned.operations.ranks();
        let is_ended = open.ranks == ranks;
        let time = is_ended.then(|| open.end - open.start);
        let mean = is_ended.then(|| Duration::from_ps((open.total / u128::from(ranks)) as u64));
        let bound = planned.bound;
        let algorithm = planned.collective.zip(mean).map(|(collective, mean)| {
            let bits = u128::from(collective.bytes) * 8 * 1_000_000_000_000;
            (bits / u128::from(mean.ps().max(1))) as u64
        });
        let bus = |bps: u64| planned.collective.map(|it| (bps as f64 * it.bus_factor).round() as u64);
        JobRow {
            job: self.name_of_tag(planned.tag),
            collective: planned.collective.map(|it| self.terms[it.operation]),
            algorithm: planned.collective.map(|it| self.terms[it.algorithm]),
            iteration: number,
            measured: number >= planned.warmup,
            ranks,
            finished_ranks: open.ranks,
            bytes: planned.collective.map(|it| it.bytes),
            start_ps: open.start,
            end_ps: is_ended.then_some(open.end),
            time_ps: time,
            mean_rank_time_ps: mean,
            bound_ps: bound,
            bound_share: time.map(|time| bound.ps() as f64 / time.ps().max(1) as f64),
            algbw_bps: algorithm,
            busbw_bps: algorithm.and_then(bus),
        }
    }

    fn operation_row(&self, job: usize, rank: Rank, executed: Executed) -> OperationRow {
        let PlannedJob { operations, connections, tag, .. } = &self.plan.traffic.jobs[job];
        let Executed { operation, start, end } = executed;
        let what = operations.get(rank, operation);
        let (peer, bytes) = match what {
            Operation::Send { to, bytes, .. } => (Some(to), Some(bytes)),
            Operation::Receive { from, .. } => (from, None),
            Operation::Compute { .. } => (None, None),
        };
        OperationRow {
            job: self.name_of_tag(*tag),
            rank: rank.0,
            node: connections.host(rank).into(),
            operation: operation.0,
            kind: self.terms[what.kind()],
            peer: peer.map(|peer| peer.0),
            bytes,
            start_ps: start,
            end_ps: end,
        }
    }

    /// Returns the state of each job at the end of the run.
    pub(super) fn job_summaries(&mut self) -> Vec<JobSummary> {
        let mut left = vec![0; self.jobs.jobs.len()];
        let mut waiting = std::mem::take(&mut self.jobs.unacknowledged);
        let programs = self.simulation.applications().filter_map(|(_, application)| program(application));
        for (job, state) in programs.flat_map(HostProgram::states) {
            left[job] += state.left();
            let room = MOST_WAITING - waiting[job].len();
            let operations = &self.jobs.jobs[job].operations;
            let text = |(operation, does): (OperationIx, &str)| {
                let what = operations.get(state.rank(), operation);
                format!("rank {} {does} operation {}, a {what}", state.rank().0, operation.0)
            };
            let awaited = state.waiting().into_iter().map(|operation| (operation, "waits for"));
            let computing = state.computing().into_iter().map(|operation| (operation, "runs"));
            waiting[job].extend(awaited.chain(computing).take(room).map(text));
        }
        let mut summary = |(job, planned): (usize, &PlannedJob)| JobSummary {
            job: self.plan.traffic.tags[usize::from(planned.tag)].clone(),
            ranks: planned.operations.ranks(),
            iterations: planned.operations.iterations().unwrap_or(1),
            finished: self.jobs.finished[job],
            operations_left: left[job],
            waiting: std::mem::take(&mut waiting[job]),
        };
        self.plan.traffic.jobs.iter().enumerate().map(&mut summary).collect()
    }
}
