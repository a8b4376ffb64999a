//! Lower bounds of the time of jobs.

use crate::tables::{AT_ONCE, cell, rows_of, written};
use backwater_engine::random::Seed;
use backwater_scenario::{Document, Plan};
use std::path::Path;

/// Returns a job on two leaves with three hosts each. Each link has a rate and a delay of its own,
/// so times depend on the paths that the hash chooses.
fn plan(seed: u64, job: &str, options: &str, limit: &str) -> Plan {
    let mut draws = Seed(seed).stream("bounds", 0);
    let hosts = (0..6).map(|host| (format!("h{host}"), format!("leaf{}", host / 3)));
    let uplinks = (0..8).map(|link| (format!("leaf{}", link / 4), format!("spine{}", link % 4)));
    let link = |(a, b): (String, String)| {
        let (rate, delay) = ([50, 100, 200][draws.below(3) as usize], 100 + draws.below(3000));
        format!("{{ a = \"{a}\", b = \"{b}\", rate = \"{rate} Gbps\", delay = \"{delay} ns\" }}")
    };
    let links: Vec<String> = hosts.chain(uplinks).map(link).collect();
    let text = format!(
        "run = {{ until = \"jobs\", limit = \"{limit}\", seed = {seed} }}\nprobes.sample_interval = \"0 s\"\ncongestion_control.kind = \
         \"none\"\nnetwork.hash_seed = {seed}\n{options}\ntopology = {{ kind = \"custom\", hosts = [\"h0\", \"h1\", \
         \"h2\", \"h3\", \"h4\", \"h5\"], switches = [\"leaf0\", \"leaf1\", \"spine0\", \"spine1\", \"spine2\", \
         \"spine3\"], links = [{}] }}\ntraffic = [{job}]\n",
        links.join(", ")
    );
    Plan::from_document(&Document::from_toml("s.toml", &text).unwrap(), Path::new(".")).unwrap()
}

/// With one queue pair, the path of each connection is known, and the bound follows it.
#[test]
fn no_job_takes_less_than_its_bound() {
    let ring = |operation: &str, rest: &str| {
        format!("{{ kind = \"collective\", operation = \"{operation}\", bytes = \"60 KB\"{rest} }}")
    };
    let exchange = |algorithm: &str, rest: &str| ring("all-to-all", &format!(", algorithm = \"{algorithm}\"{rest}"));
    let operations = ["send = 5, bytes = \"20 KB\"", "send = 4, bytes = \"9 KB\", after = [\"a\"]"];
    let jobs = [
        ring("all-reduce", ""),
        ring("all-gather", ", chunk = \"3 KB\", channels = 2"),
        ring("reduce-scatter", ", queue_pairs = 4, chunk = \"3 KB\", repeat = 3, gap = \"7 us\""),
        ring("send-receive", ", queue_pairs = 3, spread = \"split\""),
        // Iterations of different ranks overlap.
        ring("send-receive", ", repeat = 20"),
        exchange("naive", ", chunk = \"4 KB\""),
        exchange("pairwise", ", window = 2, queue_pairs = 2"),
        exchange("nccl", ""),
        format!(
            "{{ kind = \"schedule\", operations = [{{ rank = 0, label = \"a\", {} }}, {{ rank = 0, {} }}, {{ rank = 5, \
             receive = 0 }}, {{ rank = 4, receive = 0 }}] }}",
            operations[0], operations[1]
        ),
    ];
    let mut closest = vec![0.0_f64; jobs.len()];
    for seed in 0..12 {
        let options = ["", "network.flow_keys = \"number\"", "load_balance.kind = \"spray\""][seed as usize % 3];
        for (job, closest) in jobs.iter().zip(&mut closest) {
            let directory = written(&plan(seed, job, options, "1 s"), 1, None, AT_ONCE);
            for row in rows_of(&directory, "jobs") {
                let share: f64 = cell(&row, "bound_share").parse().unwrap();
                assert!(share > 0.0 && share <= 1.0, "{share} of {job} with seed {seed} and {options:?}");
                *closest = closest.max(share);
            }
            // The whole job does not seem to exceed a run in which it ends.
            let ends = rows_of(&directory, "jobs").into_iter().map(|row| cell(&row, "end_ps").parse::<u64>().unwrap());
            let plan = plan(seed, job, options, &format!("{} ps", ends.max().unwrap()));
            let warnings: Vec<_> = plan.warnings.iter().filter(|it| it.message.contains("takes at least")).collect();
            assert!(warnings.is_empty(), "{warnings:?} of {job} with seed {seed} and {options:?}");
        }
    }
    // One stream runs both computations, and the message is acknowledged.
    let text =
        "{ kind = \"schedule\", operations = [{ rank = 0, compute = \"3 us\" }, { rank = 0, compute = \"4 us\" }] }";
    let directory = written(&plan(1, text, "", "1 s"), 1, None, AT_ONCE);
    assert_eq!(cell(&rows_of(&directory, "jobs")[0], "bound_ps"), "7000000");
    // Some seed of each job comes close.
    assert!(closest.iter().all(|share| *share > 0.25), "{closest:?}");
}
