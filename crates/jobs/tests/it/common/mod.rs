//! Simulations of jobs.

use backwater_engine::{Duration, Time};
use backwater_fabric::Simulation;
use backwater_fabric::driver::partition::Partition;
use backwater_fabric::ids::{FlowId, NodeId};
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::spec::{FlowSpec, NetworkSpec};
use backwater_jobs::connections::{JobConnections, Pairs, Spread};
use backwater_jobs::host::{HostProgram, Job, programs};
use backwater_jobs::operation::{Operations, Rank};
use backwater_jobs::rank::{Executed, Iteration};
use std::any::Any;
use std::sync::Arc;

/// Returns a job whose rank `r` runs on host `r`.
pub(crate) fn job(operations: Arc<dyn Operations>, pairs: Pairs) -> Job {
    spread_job(operations, pairs, 1, Spread::RoundRobin)
}

/// Returns a job like [`job`], with several queue pairs per channel.
pub(crate) fn spread_job(operations: Arc<dyn Operations>, pairs: Pairs, queue_pairs: u32, spread: Spread) -> Job {
    let hosts = (0..operations.ranks()).map(NodeId).collect();
    let template = FlowSpec::new(NodeId(0), NodeId(0), 1);
    let connections = Arc::new(JobConnections::new(hosts, pairs, queue_pairs, spread, template));
    Job { operations, connections, first: FlowId(0), start: Time::ZERO, records: true }
}

/// Results of jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Results {
    /// Operations by job, rank and number.
    pub(crate) executed: Vec<(usize, Rank, Executed)>,
    /// Iterations by job, number and rank.
    pub(crate) iterations: Vec<(usize, Iteration, Rank)>,
    pub(crate) is_done: bool,
}

impl Results {
    /// Returns the time from the first start to the last end of an iteration.
    pub(crate) fn time(&self, job: usize, number: u32) -> Duration {
        let of = || self.iterations.iter().filter(|it| (it.0, it.1.number) == (job, number)).map(|it| it.1);
        let (start, end) = (of().map(|it| it.start).min().unwrap(), of().map(|it| it.end).max().unwrap());
        end - start
    }
}

/// Creates the simulation of jobs beside `flows`, in one shard.
pub(crate) fn simulation(spec: &NetworkSpec, jobs: &mut [Job], flows: Vec<FlowSpec>) -> Simulation {
    partitioned(spec, jobs, flows, |fabric| Partition(vec![fabric.spec.nodes.ids().collect()]))
}

pub(crate) fn partitioned(
    spec: &NetworkSpec,
    jobs: &mut [Job],
    flows: Vec<FlowSpec>,
    partition: impl FnOnce(&Fabric) -> Partition,
) -> Simulation {
    let mut fabric = Fabric::new(spec.clone()).unwrap();
    for job in &mut *jobs {
        job.first = fabric.flows.declare(job.connections.clone());
    }
    let partition = partition(&fabric);
    let mut simulation = Simulation::with_partition(fabric, Box::new(flows.into_iter()), &partition);
    for (host, program) in programs(jobs) {
        simulation.install(host, Box::new(program));
    }
    simulation
}

/// Runs until nothing is left to do, and returns the results.
pub(crate) fn results(simulation: &mut Simulation) -> Results {
    let mut limit = Duration::from_us(100);
    while simulation.next_event() < Time::NEVER && limit < Duration::from_ms(100_000) {
        simulation.run_until(Time::ZERO + limit, 1);
        limit = limit * 2;
    }
    collect(simulation)
}

pub(crate) fn collect(simulation: &mut Simulation) -> Results {
    let mut results = Results { is_done: true, ..Results::default() };
    simulation.visit_applications(|_, application| {
        let program = (application as &mut dyn Any).downcast_mut::<HostProgram>().unwrap();
        for (job, rank, report) in program.take_reports() {
            results.executed.extend(report.executed.into_iter().map(|it| (job, rank, it)));
            results.iterations.extend(report.iterations.into_iter().map(|it| (job, it, rank)));
        }
        results.is_done &= program.states().all(|(_, state)| state.is_done());
    });
    results.executed.sort_by_key(|(job, rank, it)| (*job, *rank, it.operation));
    results.iterations.sort_by_key(|(job, it, rank)| (*job, it.number, *rank));
    results
}
