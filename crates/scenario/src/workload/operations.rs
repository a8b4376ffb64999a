//! Schedules of operations, listed in the scenario or in a file.

use super::NodeList;
use super::config::{CommonConfig, TrafficOptions};
use super::jobs::{Lane, PlannedJob, Steps};
use super::part::Part;
use crate::diagnostic::{Diagnostic, counted};
use crate::hpcc::{at_option, in_file, read_text};
use crate::scenario::one;
use backwater_engine::{Bytes, Duration};
use backwater_jobs::connections::{Pairs, Spread};
use backwater_jobs::goal;
use backwater_jobs::graph::{Graph, RankBuilder};
use backwater_jobs::operation::{After, Operation, OperationIx, Operations, Rank, StreamIx};
use backwater_jobs::soundness::{Unsound, check, has_unique_tags};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A schedule: operations of ranks, each of which waits for other operations of its rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ScheduleConfig {
    /// Options that all kinds share.
    #[serde(flatten)]
    pub common: CommonConfig,
    /// Hosts in the order of their ranks. Default: all.
    pub hosts: Option<NodeList>,
    /// Path of a file in GOAL, the text format of LogGOPSim and ATLAHS, relative to the scenario's
    /// directory.
    pub path: Option<PathBuf>,
    /// Operations, as an alternative to `path`.
    #[serde(default)]
    pub operations: Vec<OperationConfig>,
    /// Number of queue pairs per pair of ranks. Default 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 128))]
    pub queue_pairs: u32,
    /// Use of several queue pairs. Default `round-robin`.
    pub spread: Option<Spread>,
}

/// One operation of a schedule: exactly one of `send`, `receive` and `compute`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperationConfig {
    /// Rank that executes the operation, from 0.
    pub rank: u32,
    /// Name of the operation among those of its rank.
    pub label: Option<String>,
    /// Rank to which a message is sent. The operation ends when the message is acknowledged.
    pub send: Option<u32>,
    /// Rank from which a message is received; -1 for any. The operation ends when the message has
    /// arrived.
    #[schemars(range(min = -1))]
    pub receive: Option<i64>,
    /// Duration of a computation.
    pub compute: Option<Duration>,
    /// Bytes of the message. A receive needs none.
    pub bytes: Option<Bytes>,
    /// Tag of the message; -1 for any, in a receive. Default 0.
    #[schemars(range(min = -1))]
    pub tag: Option<i64>,
    /// Stream of the computation. A stream runs one computation at a time. Default 0.
    pub stream: Option<u8>,
    /// Labels of operations that must have ended before this operation starts.
    #[serde(default)]
    pub after: Vec<String>,
    /// Labels of operations that must have started before this operation starts.
    #[serde(default)]
    pub after_start: Vec<String>,
}

impl TrafficOptions for ScheduleConfig {
    fn generate(&self, part: &mut Part) -> Option<()> {
        let hosts = part.ranks(self.hosts.as_ref());
        part.check_job(self.queue_pairs, self.spread, self.common.stop.is_some());
        let hosts = hosts?;
        let (graph, text) = match (&self.path, self.operations.is_empty()) {
            (Some(path), true) => {
                let text = read_text(&part.scene.base_dir.join(path)).map_err(|error| vec![error]);
                let name = path.display().to_string();
                let read = text.and_then(|text| match goal::read(&text) {
                    Ok(graph) => Ok((graph, text)),
                    Err(error) => Err(vec![in_file(&name, error.line, 1, format!("the line {}", error.message))]),
                });
                let field = part.field(".path");
                let placed = |errors: Vec<_>| errors.into_iter().map(|error| at_option(error, &field)).collect();
                let (graph, text) = part.collect_errors(read.map_err(placed))?;
                (graph, Some((name, text)))
            }
            (None, false) => (self.listed(part, hosts.len())?, None),
            _ => {
                part.error("", "must have either `path` or `operations`");
                return None;
            }
        };
        if graph.ranks() as usize != hosts.len() {
            let message = format!("must list {}, one per rank; found {}", counted(graph.ranks(), "host"), hosts.len());
            part.error(".hosts", message);
        }
        part.sound()?;
        let graph = Arc::new(graph);
        for error in check(&graph) {
            self.reject(part, &error, text.as_ref());
        }
        part.sound()?;
        let total: u64 = (0..graph.ranks()).map(|rank| graph.count(Rank(rank))).sum();
        part.note(format!("{} of {}", counted(total, "operation"), counted(graph.ranks(), "rank")));
        let lane = Lane::Listed { packets: most_packets(&graph, part.scene.mtu) };
        let pairs = Pairs::Listed(graph.pairs());
        let connections = part.connections(hosts, pairs, self.queue_pairs, self.spread, lane)?;
        let (start, has_unique_tags) = (self.common.start, has_unique_tags(&graph));
        part.job(|tag, part| PlannedJob {
            tag,
            part,
            operations: graph,
            connections,
            start,
            warmup: 0,
            collective: None,
            steps: Steps::Listed { has_unique_tags },
            gap: Duration::ZERO,
            bound: Duration::ZERO,
        });
        Some(())
    }
}

/// Returns the largest number of packets from one rank to another.
fn most_packets(graph: &Graph, mtu: u64) -> u64 {
    let mut most = 0;
    for rank in (0..graph.ranks()).map(Rank) {
        let mut packets: FxHashMap<Rank, u64> = FxHashMap::default();
        for operation in (0..graph.count(rank)).map(OperationIx) {
            if let Operation::Send { to, bytes, .. } = graph.get(rank, operation) {
                let sum = packets.entry(to).or_default();
                *sum = sum.saturating_add(bytes.div_ceil(mtu));
            }
        }
        most = packets.into_values().fold(most, u64::max);
    }
    most
}

impl ScheduleConfig {
    /// Returns the listed operations.
    fn listed(&self, part: &mut Part, ranks: usize) -> Option<Graph> {
        let mut builders: Vec<RankBuilder> = (0..ranks).map(|_| RankBuilder::default()).collect();
        let mut labels: BTreeMap<(u32, &str), OperationIx> = BTreeMap::new();
        let mut added = Vec::new();
        for (i, config) in self.operations.iter().enumerate() {
            let key = format!(".operations[{i}]");
            if config.rank as usize >= ranks {
                part.error(&format!("{key}.rank"), format!("must be less than {ranks}, the number of hosts"));
                continue;
            }
            let Some(operation) = config.add(part, &key, ranks as u32, &mut builders[config.rank as usize]) else {
                continue;
            };
            if let Some(label) = &config.label
                && labels.insert((config.rank, label), operation).is_some()
            {
                let message = format!("must be unique; another operation of rank {} has this label", config.rank);
                part.error(&format!("{key}.label"), message);
            }
            added.push((i, operation));
        }
        for (i, operation) in added {
            let config = &self.operations[i];
            let lists = [("after", &config.after, After::End), ("after_start", &config.after_start, After::Start)];
            for (name, list, after) in lists {
                for (j, label) in list.iter().enumerate() {
                    match labels.get(&(config.rank, label.as_str())) {
                        Some(on) => builders[config.rank as usize].wait(operation, *on, after),
                        None => {
                            let message = format!("no operation of rank {} has the label \"{label}\"", config.rank);
                            part.error(&format!(".operations[{i}].{name}[{j}]"), message);
                        }
                    }
                }
            }
        }
        part.sound()?;
        Some(Graph::new(builders))
    }

    /// Adds the error of an operation, at its place in the scenario or in the file.
    fn reject(&self, part: &mut Part, error: &Unsound, text: Option<&(String, String)>) {
        let Unsound { rank, operation, message } = error;
        match text {
            Some((name, text)) => {
                let line = goal::line_of(text, *rank, *operation).unwrap_or(1);
                let error = at_option(in_file(name, line, 1, message.clone()), &part.field(".path"));
                part.add(error);
            }
            None => {
                let of_rank = self.operations.iter().enumerate().filter(|(_, config)| config.rank == rank.0);
                let index = of_rank.map(|(i, _)| i).nth(operation.0 as usize).unwrap_or(0);
                part.error(&format!(".operations[{index}]"), message.clone());
            }
        }
    }
}

impl OperationConfig {
    /// Adds the operation to its rank.
    fn add(&self, part: &mut Part, key: &str, ranks: u32, rank: &mut RankBuilder) -> Option<OperationIx> {
        let OperationConfig { send, receive, compute, bytes, tag, stream, .. } = self;
        let field = |name: &str| format!("{key}.{name}");
        let mut is_sound = true;
        let mut reject = |name: &str, message: String| {
            is_sound = false;
            part.error(&field(name), message);
        };
        if [send.is_some(), receive.is_some(), compute.is_some()].iter().filter(|is_set| **is_set).count() != 1 {
            part.add(Diagnostic::error(part.field(key), "must have exactly one of `send`, `receive` and `compute`"));
            return None;
        }
        for (name, is_idle) in [
            ("bytes", bytes.is_some() && send.is_none()),
            ("tag", tag.is_some() && compute.is_some()),
            ("stream", stream.is_some() && compute.is_none()),
        ] {
            if is_idle {
                let kind = if send.is_some() {
                    "send"
                } else if receive.is_some() {
                    "receive"
                } else {
                    "computation"
                };
                reject(name, format!("has no effect on a {kind}: omit this option"));
            }
        }
        let peer = send.map(i64::from).or(*receive);
        let name = if send.is_some() { "send" } else { "receive" };
        if let Some(peer) = peer {
            if peer >= i64::from(ranks) {
                reject(name, format!("must be less than {ranks}, the number of hosts"));
            }
            if peer == i64::from(self.rank) {
                reject(name, "must be another rank".to_owned());
            }
        }
        let least = if receive.is_some() { -1 } else { 0 };
        if let Some(tag) = tag.filter(|tag| !(least..i64::from(u32::MAX)).contains(tag)) {
            reject("tag", format!("is {tag}, must be from {least} to {}", u32::MAX - 1));
        }
        if send.is_some() && bytes.is_none_or(|bytes| bytes.get() == 0) {
            reject("bytes", "must be at least 1 B for a send".to_owned());
        }
        if !is_sound {
            return None;
        }
        let tag = u32::try_from(tag.unwrap_or(0)).ok();
        Some(match (send, receive, compute) {
            (Some(to), ..) => rank.send(Rank(*to), bytes.map_or(0, Bytes::get), tag.unwrap_or(0)),
            (_, Some(from), _) => rank.receive(u32::try_from(*from).ok().map(Rank), 0, tag),
            _ => rank.compute(compute.unwrap_or_default(), StreamIx(stream.unwrap_or(0))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;

    #[test]
    fn wrong_options_are_rejected() {
        let schedule =
            |operations: &str| format!("{{ kind = \"schedule\", hosts = \"h[0-1]\", operations = [{operations}] }}");
        let cases = [
            ("{ kind = \"schedule\" }".to_owned(), "traffic[0]: must have either `path` or `operations`"),
            (
                schedule("{ rank = 2, compute = \"1 us\" }, { rank = 0 }, { rank = 0, send = 0, tag = -1 }"),
                "traffic[0].operations[0].rank: must be less than 2, the number of hosts\ntraffic[0].operations[1]: \
                    must have exactly one of `send`, `receive` and `compute`\ntraffic[0].operations[2].send: must be \
                    another rank\ntraffic[0].operations[2].tag: is -1, must be from 0 to \
                    4294967294\ntraffic[0].operations[2].bytes: must be at least 1 B for a send",
            ),
            (
                schedule(
                    "{ rank = 0, label = \"a\", compute = \"1 us\", bytes = \"1 B\", tag = 1 }, { rank = 1, receive = \
                        0, stream = 1 }",
                ),
                "traffic[0].operations[0].bytes: has no effect on a computation: omit this \
                    option\ntraffic[0].operations[0].tag: has no effect on a computation: omit this \
                    option\ntraffic[0].operations[1].stream: has no effect on a receive: omit this option",
            ),
            (
                schedule(
                    "{ rank = 0, label = \"a\", compute = \"1 us\" }, { rank = 0, label = \"a\", compute = \"1 us\", \
                        after = [\"b\"] }",
                ),
                "traffic[0].operations[1].label: must be unique; another operation of rank 0 has this \
                    label\ntraffic[0].operations[1].after[0]: no operation of rank 0 has the label \"b\"",
            ),
            (
                schedule(
                    "{ rank = 0, label = \"a\", send = 1, bytes = \"1 B\", after = [\"b\"] }, { rank = 0, label = \
                        \"b\", receive = 1 }, { rank = 1, label = \"c\", send = 0, bytes = \"1 B\", after = [\"d\"] }, \
                        { rank = 1, label = \"d\", receive = 0 }",
                ),
                "traffic[0].operations[0]: can never start: the send of 1 B to rank 1 with tag 0 (operation 0 of \
                    rank 0) waits for the receive from rank 1 with tag 0 (operation 1 of rank 0), which waits for the \
                    send of 1 B to rank 0 with tag 0 (operation 0 of rank 1), which waits for the receive from rank 0 \
                    with tag 0 (operation 1 of rank 1), which waits for the send of 1 B to rank 1 with tag 0 \
                    (operation 0 of rank 0)",
            ),
        ];
        for (traffic, errors) in cases {
            check_rejected(&[(&traffic, errors)]);
        }
    }
}
