//! Answers all questions about a network and its traffic in one call, with names instead of
//! numbers.

use crate::blocking::{Blocking, BlockingCause, Counterexample};
use crate::case::Case;
use crate::dependency::Dependencies;
use crate::graph::{QueueGraph, QueueNumber};
use crate::network;
use crate::overflow::{Overflow, overflows};
use crate::protocol::{self, Protocol};
use backwater_fabric::contract::Diagnostic;
use backwater_fabric::ids::PortId;
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::names::ports_called;
use backwater_fabric::network::spec::{FlowSpec, NetworkSpec};
use serde::Serialize;
use std::collections::BTreeSet;

/// Word in a list of congested ports that selects the ports of [`network::congested`].
pub const AUTO: &str = "auto";

/// A question about a network.
#[derive(Clone, Debug)]
pub struct Question {
    /// Congested ports, as [`ports_called`] reads them. [`AUTO`], or an empty list, selects the
    /// ports that the flows congest.
    pub congested: Vec<String>,
    /// Protocols by name. An empty list selects all of [`protocol::NAMES`] that suit the network.
    pub protocols: Vec<String>,
    /// Maximum number of flows, in order of start.
    pub flows: usize,
    /// True if switches under Pyrrha ignore a PAUSE with one of their own ports as root.
    pub own_root_rule: bool,
    /// True if the answer names all ports, queues and flows that each congested port can pause.
    pub names: bool,
}

/// Answer to a [`Question`].
#[derive(Clone, Debug, Serialize)]
pub struct AnalysisAnswer {
    /// Number of analysed flows.
    pub flows: usize,
    /// Congested ports.
    pub congested: Vec<String>,
    /// True if switches under Pyrrha ignore a PAUSE with one of their own ports as root.
    pub own_root_rule: bool,
    /// Answer for each protocol.
    pub protocols: Vec<ProtocolAnswer>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Answer for one protocol.
#[derive(Clone, Debug, Serialize)]
pub struct ProtocolAnswer {
    /// Name of the protocol.
    pub protocol: String,
    /// True if no congested port can pause a flow that does not pass the port (definition 7 of the
    /// Pyrrha paper).
    pub hol_free: bool,
    /// Innocent flow that can be blocked, if any.
    pub counterexample: Option<Example>,
    /// Effects of each congested port.
    pub causes: Vec<CauseAnswer>,
    /// Number of ports where an innocent flow shares a queue that can be paused.
    pub blocked_at: usize,
    /// Queues that are congested or can be paused (section VI-C of the Pyrrha paper).
    pub queues: QueueCounts,
    /// True if no queues can wait for each other in a cycle (section VII of the Pyrrha paper).
    pub deadlock_free: bool,
    /// Queues that can wait for each other in a cycle. Each queue waits for the next, and the last
    /// for the first. Empty without a cycle.
    pub cycle: Vec<QueueName>,
    /// Queues that can overflow.
    pub overflows: Vec<OverflowAnswer>,
    /// Number of traffic classes that the flows need, if the protocol has queues per class.
    pub classes: Option<usize>,
}

/// A queue that can overflow, since its arrivals are not paused.
#[derive(Clone, Debug, Serialize)]
pub struct OverflowAnswer {
    /// The queue.
    pub queue: QueueName,
    /// Upstream queue.
    pub feeder: QueueName,
    /// Flow that arrives from the upstream queue.
    pub flow: String,
}

/// An innocent flow, which can be paused although it does not pass the congested port.
#[derive(Clone, Debug, Serialize)]
pub struct Example {
    /// Innocent flow.
    pub innocent: String,
    /// Queue in which the flow can be paused.
    pub queue: QueueName,
    /// The congested port.
    pub cause: String,
    /// Flow in the same queue that passes the congested port.
    pub culprit: String,
}

/// Name of a queue.
#[derive(Clone, Debug, Serialize)]
pub struct QueueName {
    /// Port of the queue.
    pub port: String,
    /// Description of the queue within the port.
    pub queue: String,
}

/// Effects of one congested port: sizes of the sets in definitions 3 to 6 of the Pyrrha paper.
#[derive(Clone, Debug, Serialize)]
pub struct CauseAnswer {
    /// The congested port.
    pub port: String,
    /// Flows through the port.
    pub congested_flows: usize,
    /// Ports with a queue that the congested port can pause.
    pub paused_ports: usize,
    /// Queues that the congested port can pause.
    pub paused_queues: usize,
    /// Flows through queues that the congested port can pause.
    pub paused_flows: usize,
    /// Innocent flows: the paused flows that do not pass the congested port.
    pub innocent_flows: usize,
    /// Names of ports, queues and flows, if requested.
    pub paused: Option<Paused>,
}

/// Ports, queues and flows that one congested port can pause: the sets of definitions 4 to 6 of the
/// Pyrrha paper.
#[derive(Clone, Debug, Serialize)]
pub struct Paused {
    /// Ports.
    pub ports: Vec<String>,
    /// Queues.
    pub queues: Vec<QueueName>,
    /// Flows.
    pub flows: Vec<String>,
}

/// Numbers of queues that are congested or can be paused.
#[derive(Clone, Debug, Serialize)]
pub struct QueueCounts {
    /// Largest number of queues of one port that are congested or can be paused.
    pub most: usize,
    /// First port with this largest number; `None` if no queue is congested or can be paused.
    pub most_at: Option<String>,
    /// Number of queues of all ports that are congested or can be paused.
    pub total: usize,
    /// Number of queues that can be paused; under Pyrrha, these are the isolation queues.
    pub paused: usize,
}

/// Answers `question` about the network of `spec` with `flows`, which are in order of start.
///
/// # Errors
/// All errors of the question, the network and its flows.
pub fn analyze(
    spec: NetworkSpec,
    flows: impl IntoIterator<Item = FlowSpec>,
    question: &Question,
) -> Result<AnalysisAnswer, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let mut protocols = protocols(question, &mut errors);
    if question.flows == 0 {
        errors.push(error("flows", "must be at least 1", "0"));
    }
    let mut fabric = match Fabric::new(spec) {
        Ok(fabric) => fabric,
        Err(found) => {
            errors.extend(found);
            return Err(errors);
        }
    };
    let mut congested = named_ports(&fabric, question, &mut errors);
    if question.protocols.is_empty() {
        protocols.retain(|protocol| protocol.unfit(&fabric).is_none());
    }
    for protocol in &protocols {
        let unfit = protocol.unfit(&fabric);
        errors.extend(unfit.map(|why| error("protocol", why, &protocol.name())));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut flows = flows.into_iter();
    let analysed = network::flows(&mut fabric, flows.by_ref().take(question.flows));
    let analysed = analysed.map_err(|error| vec![error])?;
    let are_all = flows.next().is_none();
    if question.congested.is_empty() || question.congested.iter().any(|name| name == AUTO) {
        congested.extend(network::congested(&fabric.wiring, &analysed));
    }
    let case = network::case(&fabric, analysed, congested);
    Ok(AnalysisAnswer {
        flows: case.flows().len(),
        congested: case.congested().iter().map(|port| case.port(*port).name.clone()).collect(),
        own_root_rule: question.own_root_rule,
        protocols: protocols.iter().map(|protocol| protocol_answer(&case, protocol.as_ref(), question.names)).collect(),
        notes: notes(&fabric, &case, are_all),
    })
}

/// Returns an error about an argument with a value.
fn error(argument: &str, message: impl Into<String>, value: &str) -> Diagnostic {
    Diagnostic::error(argument, message).value(format_args!("\"{value}\""))
}

fn protocols(question: &Question, errors: &mut Vec<Diagnostic>) -> Vec<Box<dyn Protocol>> {
    let names: Vec<&str> = match &question.protocols[..] {
        [] => protocol::NAMES.to_vec(),
        names => names.iter().map(String::as_str).collect(),
    };
    let mut protocols = Vec::new();
    for name in names {
        match protocol::parse(name, question.own_root_rule) {
            Some(protocol) => protocols.push(protocol),
            None => {
                let message = format!(
                    "must be one of {}; bfc-32 stands for bfc-N with any number N of queues",
                    protocol::NAMES.join(", ")
                );
                errors.push(error("protocol", message, name).did_you_mean(name, protocol::NAMES));
            }
        }
    }
    protocols
}

fn named_ports(fabric: &Fabric, question: &Question, errors: &mut Vec<Diagnostic>) -> BTreeSet<PortId> {
    let mut ports = BTreeSet::new();
    for name in question.congested.iter().filter(|name| *name != AUTO) {
        match ports_called(fabric, "congested", name) {
            Ok(found) => ports.extend(found),
            Err(error) => errors.push(error.value(format_args!("\"{name}\""))),
        }
    }
    ports
}

fn notes(fabric: &Fabric, case: &Case, are_all: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if !are_all {
        let plural = if case.flows().len() == 1 { "" } else { "s" };
        notes.push(format!("analysed only {} flow{plural}; the scenario has more", case.flows().len()));
    }
    if case.congested().is_empty() {
        notes.push("no port is congested".into());
    }
    let idle = case.congested().iter().filter(|port| case.through(**port).is_empty());
    notes.extend(idle.map(|port| format!("no flow passes the congested port {}", case.port(*port).name)));
    let loops = case.flows().iter().filter(|flow| flow.path.closes_at().is_some()).count();
    match loops {
        0 => {}
        1 => notes.push("1 flow has a routing loop; its path is cut at the first repeated port".into()),
        _ => notes.push(format!("{loops} flows have routing loops; their paths are cut at the first repeated port")),
    }
    if !fabric.spec.load_balance.is_static() || fabric.spec.congestion.chooses_paths() {
        notes.push("packets of a flow may take several paths; the analysis uses the flow's ECMP path".into());
    }
    notes
}

fn protocol_answer(case: &Case, protocol: &dyn Protocol, names: bool) -> ProtocolAnswer {
    let graph = QueueGraph::new(case, protocol);
    let blocking = Blocking::new(case, protocol, &graph);
    let dependencies = Dependencies::new(case, protocol, &graph);
    let cycle = dependencies.cycle();
    let port = |port: PortId| case.port(port).name.clone();
    let queue = |number: QueueNumber| {
        let queue = &graph.queues[number];
        QueueName { port: port(queue.port), queue: queue.describe(case) }
    };
    let example = |found: Counterexample| Example {
        innocent: case.flow(found.innocent).name.clone(),
        queue: queue(found.queue),
        cause: port(found.cause),
        culprit: case.flow(found.culprit).name.clone(),
    };
    let paused = |cause: &BlockingCause| {
        let flows: BTreeSet<_> = cause.paused_queues.iter().flat_map(|queue| &graph.flows[*queue]).collect();
        Paused {
            ports: cause.paused_ports.iter().map(|at| port(*at)).collect(),
            queues: cause.paused_queues.iter().map(|number| queue(*number)).collect(),
            flows: flows.into_iter().map(|flow| case.flow(*flow).name.clone()).collect(),
        }
    };
    let cause = |cause: &BlockingCause| CauseAnswer {
        port: port(cause.port),
        congested_flows: cause.congested_flows,
        paused_ports: cause.paused_ports.len(),
        paused_queues: cause.paused_queues.len(),
        paused_flows: cause.paused_flows,
        innocent_flows: cause.innocent_flows,
        paused: names.then(|| paused(cause)),
    };
    let overflow = |found: &Overflow| OverflowAnswer {
        queue: queue(found.queue),
        feeder: queue(found.feeder),
        flow: case.flow(found.flow).name.clone(),
    };
    let most = blocking.most_queues();
    ProtocolAnswer {
        protocol: protocol.name(),
        hol_free: blocking.is_free(),
        counterexample: blocking.counterexample().map(example),
        causes: blocking.causes.iter().map(cause).collect(),
        blocked_at: blocking.blocked_at.len(),
        queues: QueueCounts {
            most: most.map_or(0, |(_, queues)| queues),
            most_at: most.map(|(at, _)| port(at)),
            total: blocking.queues.values().sum(),
            paused: blocking.paused_queues,
        },
        deadlock_free: cycle.is_none(),
        cycle: cycle.into_iter().flatten().map(queue).collect(),
        overflows: overflows(case, protocol, &graph, &dependencies).iter().map(overflow).collect(),
        classes: graph.classes(),
    }
}
