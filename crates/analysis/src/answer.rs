//! Everything that can be asked of a network and its traffic, in one go, with names instead of numbers.

use crate::blocking::{Blocking, Cause, Counterexample};
use crate::case::Case;
use crate::dependency::Dependencies;
use crate::graph::{Graph, QueueNumber};
use crate::network;
use crate::overflow::{self, overflows};
use crate::protocol::{self, Protocol};
use backwater_fabric::contract::Diagnostic;
use backwater_fabric::ids::PortId;
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::names::ports_called;
use backwater_fabric::network::spec::{FlowSpec, NetworkSpec};
use serde::Serialize;
use std::collections::BTreeSet;

/// The word that stands for [`network::congested`] among congested ports.
pub const AUTO: &str = "auto";

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// The congested ports, as [`ports_called`] reads them; [`AUTO`], which an empty list means as well, stands for those found.
    pub congested: Vec<String>,
    /// Protocols by name; an empty list stands for those of [`protocol::NAMES`] that make sense in the network.
    pub protocols: Vec<String>,
    /// The most flows looked at, those that start first.
    pub flows: usize,
    /// Whether switches under Pyrrha ignore a PAUSE because of one of their own ports.
    pub own_root_rule: bool,
    /// Whether all that each congested port can pause is to be named.
    pub names: bool,
}

/// What is known without a simulation.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Number of flows looked at.
    pub flows: usize,
    /// The congested ports.
    pub congested: Vec<String>,
    /// Whether switches under Pyrrha ignore a PAUSE because of one of their own ports.
    pub own_root_rule: bool,
    /// What holds under each protocol.
    pub protocols: Vec<Findings>,
    /// What a reader should know of the above.
    pub notes: Vec<String>,
}

/// What holds under one protocol.
#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    /// Its name.
    pub protocol: String,
    /// Whether no congested port can pause a flow that does not pass it (definition 7).
    pub hol_free: bool,
    /// How a flow can be blocked innocently, if one can.
    pub counterexample: Option<Example>,
    /// What each congested port does.
    pub causes: Vec<CauseFindings>,
    /// Number of ports where an innocent flow shares a queue that can be paused.
    pub blocked_at: usize,
    /// Queues that are congested or can be paused (section VI-C).
    pub queues: QueueCounts,
    /// Whether no queues can wait for each other in a cycle (section VII).
    pub deadlock_free: bool,
    /// Queues that can: each waits for the next, the last one for the first. Empty if there are none.
    pub cycle: Vec<QueueName>,
    /// Queues that can overflow.
    pub overflows: Vec<Overflow>,
    /// Number of traffic classes that the flows need, if classes tell queues apart.
    pub classes: Option<usize>,
}

/// A queue that can overflow, because what comes to it is not stopped.
#[derive(Clone, Debug, Serialize)]
pub struct Overflow {
    /// The queue.
    pub queue: QueueName,
    /// The queue that feeds it.
    pub feeder: QueueName,
    /// A flow that comes from there.
    pub flow: String,
}

/// A flow that does not pass a congested port, and is paused because of it.
#[derive(Clone, Debug, Serialize)]
pub struct Example {
    /// The innocent flow.
    pub innocent: String,
    /// Where it is paused.
    pub queue: QueueName,
    /// The congested port.
    pub cause: String,
    /// A flow in the same queue that passes the congested port.
    pub culprit: String,
}

/// A queue.
#[derive(Clone, Debug, Serialize)]
pub struct QueueName {
    /// Its port.
    pub port: String,
    /// Which of the port's queues, in words.
    pub queue: String,
}

/// What one congested port does; numbers are of the sets in definitions 3 to 6.
#[derive(Clone, Debug, Serialize)]
pub struct CauseFindings {
    /// The congested port.
    pub port: String,
    /// Flows that pass it.
    pub congested_flows: usize,
    /// Ports with a queue that it can pause.
    pub paused_ports: usize,
    /// Queues that it can pause.
    pub paused_queues: usize,
    /// Flows that pass those queues.
    pub paused_flows: usize,
    /// Flows among them that do not pass the port.
    pub innocent_flows: usize,
    /// All of these by name, if that is asked for.
    pub paused: Option<Paused>,
}

/// What one congested port can pause: the sets of definitions 4 to 6.
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
    /// The most of any port.
    pub most: usize,
    /// The first port with so many; none if there is no such queue at all.
    pub most_at: Option<String>,
    /// Of all ports.
    pub total: usize,
    /// Those among them that can be paused; under Pyrrha these are the isolation queues.
    pub paused: usize,
}

/// Answers `question` about the network of `spec` with `flows`, which come in order of start.
///
/// # Errors
/// Everything that is wrong with it.
pub fn analyze(
    spec: NetworkSpec,
    flows: impl IntoIterator<Item = FlowSpec>,
    question: &Question,
) -> Result<Answer, Vec<Diagnostic>> {
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
    let looked_at = network::flows(&mut fabric, flows.by_ref().take(question.flows));
    let looked_at = looked_at.map_err(|error| vec![error])?;
    let are_all = flows.next().is_none();
    if question.congested.is_empty() || question.congested.iter().any(|name| name == AUTO) {
        congested.extend(network::congested(&fabric.wiring, &looked_at));
    }
    let case = network::case(&fabric, looked_at, congested);
    Ok(Answer {
        flows: case.flows().len(),
        congested: case.congested().iter().map(|port| case.port(*port).name.clone()).collect(),
        own_root_rule: question.own_root_rule,
        protocols: protocols.iter().map(|protocol| findings(&case, protocol.as_ref(), question.names)).collect(),
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
                let message =
                    format!("must be one of {}; another number may stand for the 32", protocol::NAMES.join(", "));
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
        notes.push(match case.flows().len() {
            1 => "only the first flow was considered; there are more".into(),
            flows => format!("only the first {flows} flows were considered; there are more"),
        });
    }
    if case.congested().is_empty() {
        notes.push("no port is congested".into());
    }
    let idle = case.congested().iter().filter(|port| case.through(**port).is_empty());
    notes.extend(idle.map(|port| format!("no flow passes {}, which is to be congested", case.port(*port).name)));
    let loops = case.flows().iter().filter(|flow| flow.path.closes_at().is_some()).count();
    match loops {
        0 => {}
        1 => notes.push("1 flow returns to a port; the rest of its path is left out".into()),
        _ => notes.push(format!("{loops} flows return to a port; the rest of their paths is left out")),
    }
    if !fabric.spec.load_balance.is_static() || fabric.spec.congestion.chooses_paths() {
        notes.push("packets of a flow take several paths; each flow was given the one of ECMP".into());
    }
    notes
}

fn findings(case: &Case, protocol: &dyn Protocol, names: bool) -> Findings {
    let graph = Graph::new(case, protocol);
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
    let paused = |cause: &Cause| {
        let flows: BTreeSet<_> = cause.paused_queues.iter().flat_map(|queue| &graph.flows[*queue]).collect();
        Paused {
            ports: cause.paused_ports.iter().map(|at| port(*at)).collect(),
            queues: cause.paused_queues.iter().map(|number| queue(*number)).collect(),
            flows: flows.into_iter().map(|flow| case.flow(*flow).name.clone()).collect(),
        }
    };
    let cause = |cause: &Cause| CauseFindings {
        port: port(cause.port),
        congested_flows: cause.congested_flows,
        paused_ports: cause.paused_ports.len(),
        paused_queues: cause.paused_queues.len(),
        paused_flows: cause.paused_flows,
        innocent_flows: cause.innocent_flows,
        paused: names.then(|| paused(cause)),
    };
    let overflow = |found: &overflow::Overflow| Overflow {
        queue: queue(found.queue),
        feeder: queue(found.feeder),
        flow: case.flow(found.flow).name.clone(),
    };
    let most = blocking.most_queues();
    Findings {
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
