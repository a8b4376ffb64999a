//! Runs a single scenario in a process and prints its cost as JSON.
//!
//! ```text
//! backwater-bench SCENARIO.toml OUTPUT THREADS [KEY=VALUE...]
//! ```
//!
//! The run itself, [`drive`], is separate from set-up, so that profilers and counters can select
//! this function by name.

#![forbid(unsafe_code)]

use backwater_identity::BUILD;
use backwater_runner::usage::{cpu_seconds, peak_rss_bytes};
use backwater_runner::{Run, RunError, Summary};
use backwater_scenario::{Diagnostic, Document, Plan};
use serde_json::{Value, json};
use std::num::NonZero;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Runs the measured part, from the first event to the last row of the tables.
#[inline(never)]
fn drive(mut run: Run) -> Result<Summary, RunError> {
    run.advance(Duration::MAX);
    run.finish()
}

fn plan(scenario: &Path, overrides: &[String]) -> Result<Plan, Vec<Diagnostic>> {
    let mut document = Document::read(scenario)?;
    for assignment in overrides {
        document.set(assignment)?;
    }
    Plan::from_document(&document, scenario.parent().unwrap_or(Path::new(".")))
}

fn measure(plan: Plan, output: &Path, threads: usize) -> Result<Value, RunError> {
    let hosts = plan.spec().nodes.iter().filter(|node| node.kind.has_endpoint()).count();
    let run = Run::start(plan, BUILD, output, threads)?;
    let (setup, begun) = (cpu_seconds(), Instant::now());
    let summary = drive(run)?;
    Ok(json!({
        "hosts": hosts,
        "flows": summary.flows.total,
        "packet_hops": summary.totals.packet_hops,
        "events": summary.totals.events,
        "setup_seconds": setup,
        "cpu_seconds": cpu_seconds() - setup,
        "wall_seconds": begun.elapsed().as_secs_f64(),
        "memory_bytes": peak_rss_bytes(),
        "outcome": summary.outcome,
        "audit": summary.audit.verdict,
        "fingerprint": summary.fingerprint,
        "commit": summary.commit,
    }))
}

#[allow(clippy::print_stdout, reason = "the program's output")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scenario, output, threads, overrides @ ..] = arguments.as_slice() else {
        eprintln!("usage: backwater-bench SCENARIO.toml OUTPUT THREADS [KEY=VALUE...]");
        return ExitCode::from(2);
    };
    let Ok(threads) = threads.parse::<NonZero<usize>>() else {
        eprintln!("THREADS = \"{threads}\" must be a whole number from 1");
        return ExitCode::from(2);
    };
    let plan = match plan(Path::new(scenario), overrides) {
        Ok(plan) => plan,
        Err(diagnostics) => {
            for diagnostic in diagnostics {
                eprintln!("{diagnostic}");
            }
            return ExitCode::from(2);
        }
    };
    match measure(plan, Path::new(output), threads.get()) {
        Ok(figures) => {
            println!("{figures}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
