//! Bare packet-hop kernel: packets move along the paths of a scenario's flows, through FIFO queues
//! with an ECN threshold and an ingress counter. There are no classes, no flow control, no ACKs, no
//! congestion control, and no measurements.
//!
//! The simulator's cost per packet-hop is reported relative to the kernels' costs, measured at the
//! same time. These ratios depend much less on machine and load than the time in ns. The present
//! kernel shares the simulator's calendar of events. The former kernel has one set of all events,
//! and never changes, so that a better calendar counts.
//!
//! ```text
//! backwater-limit SCENARIO.toml [PACKET-HOPS [former]]
//! ```

#![forbid(unsafe_code)]

mod former;
mod kernel;

use backwater_fabric::frame::Direction;
use backwater_fabric::ids::FlowId;
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::spec::FlowSpec;
use backwater_runner::usage::cpu_seconds;
use backwater_scenario::{Document, Plan};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

/// Wire bytes of every packet.
const PACKET: u32 = 1106;
const ECN_THRESHOLD: u64 = 100_000;

/// Results of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    packet_hops: u64,
    events: u64,
    delivered: u64,
}

/// Returns the egress ports of every flow's path. Only the first flow of each sending host counts.
fn paths(fabric: &Fabric, flows: impl Iterator<Item = FlowSpec>) -> Vec<Vec<u32>> {
    let mut first: BTreeMap<u32, (FlowId, FlowSpec)> = BTreeMap::new();
    for (id, flow) in (0..).map(FlowId).zip(flows) {
        first.entry(flow.src.0).or_insert((id, flow));
    }
    let ports = |(id, flow): &(FlowId, FlowSpec)| {
        let mut node = flow.src;
        let ports = fabric.path(*id, flow, Direction::Data).into_iter().map(|ix| {
            let port = fabric.wiring.port_at(node, ix).id.0;
            node = fabric.wiring.neighbour(node, ix);
            port
        });
        ports.collect()
    };
    first.values().map(ports).collect()
}

#[allow(clippy::print_stdout, reason = "its output")]
fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("usage: backwater-limit SCENARIO.toml [PACKET-HOPS [former]]");
        return ExitCode::from(2);
    };
    let hops = arguments.next().and_then(|hops| hops.parse().ok()).unwrap_or(20_000_000);
    let path = Path::new(&file);
    let plan = Document::read(path)
        .and_then(|document| Plan::from_document(&document, path.parent().unwrap_or(Path::new("."))));
    let plan = match plan {
        Ok(plan) => plan,
        Err(diagnostics) => {
            for diagnostic in diagnostics {
                eprintln!("{diagnostic}");
            }
            return ExitCode::from(2);
        }
    };
    let fabric = plan.take_fabric();
    let paths = paths(&fabric, plan.traffic.flows());
    let (Figures { packet_hops, events, delivered }, cpu_seconds) = if arguments.next().is_some() {
        let mut kernel = former::Kernel::new(&fabric, paths);
        timed(|| kernel.run(hops))
    } else {
        let mut kernel = match kernel::Kernel::new(&fabric, paths) {
            Ok(kernel) => kernel,
            Err(error) => {
                eprintln!("{file}: {error}");
                return ExitCode::from(2);
            }
        };
        timed(|| kernel.run(hops))
    };
    let figures = serde_json::json!({
        "packet_hops": packet_hops,
        "events": events,
        "delivered": delivered,
        "cpu_seconds": cpu_seconds,
    });
    println!("{figures}");
    ExitCode::SUCCESS
}

/// Returns the figures of a run, and its CPU seconds.
fn timed(run: impl FnOnce() -> Figures) -> (Figures, f64) {
    let begun = cpu_seconds();
    (run(), cpu_seconds() - begun)
}
