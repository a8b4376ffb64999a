//! Resolves the selection of events to trace, and estimates the size of the trace.

use super::collect_errors;
use crate::diagnostic::Diagnostic;
use crate::scenario::{RunConfig, TraceConfig};
use crate::topology::Graph;
use backwater_engine::{Duration, Time};
use backwater_fabric::driver::trace::{TraceScope, TraceSpec};
use backwater_fabric::ids::{FlowId, PortId};
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::names::ports_called;
use std::collections::BTreeSet;

/// Bytes of an event in the file. Full traces of the benchmarks perm-128, websearch-128 and mix-128
/// have 9.3 to 10.1 B per event.
const EVENT_BYTES: f64 = 10.0;
/// Events of a data packet per link: enqueue, dequeue and transmission, for the packet and its ACK.
/// The source has no queue events, but about as many events of the sender.
const EVENTS_PER_PACKET: f64 = 6.0;
/// Bytes of a trace that cause a warning.
const LARGE: f64 = 1e9;

/// Resolves `config` for the network of `fabric`.
pub(super) fn resolve(
    config: &TraceConfig,
    (graph, fabric): (&Graph, &Fabric),
    run: &RunConfig,
    diagnostics: &mut Vec<Diagnostic>,
) -> TraceSpec {
    let end = run.last();
    let until = config.until.unwrap_or(Time::NEVER);
    if until <= config.from {
        let message = format!("must be after probes.trace.from ({})", config.from);
        diagnostics.push(Diagnostic::error("probes.trace.until", message));
    } else if config.from >= end {
        let message = format!("must be before the latest possible end of the run ({end})");
        diagnostics.push(Diagnostic::error("probes.trace.from", message));
    }
    let given =
        [("nodes", config.nodes.is_some()), ("ports", config.ports.is_some()), ("flows", config.flows.is_some())];
    let given: Vec<&str> = given.into_iter().filter_map(|(name, is_given)| is_given.then_some(name)).collect();
    if let [first, second, ..] = given[..] {
        let message = format!("probes.trace.{first} is also set; set only one of them");
        diagnostics.push(Diagnostic::error(format!("probes.trace.{second}"), message));
    }
    let scope = scope(config, graph, fabric, diagnostics);
    let spec = TraceSpec { from: config.from, until, scope };
    // Most runs end soon after their traffic.
    let span = until.min(run.end_of_traffic().max(config.from)).since(config.from);
    let bytes = most_bytes(&spec, fabric, span);
    if bytes > LARGE && !matches!(spec.scope, TraceScope::Flows(_)) {
        let message = format!(
            "may record {:.0} million events ({:.1} GB) if all traced links carry full packets until {}",
            bytes / EVENT_BYTES / 1e6,
            bytes / 1e9,
            config.from + span
        );
        let hint = "limit the trace with from, until, nodes, ports or flows";
        diagnostics.push(Diagnostic::warning("probes.trace", message).hint(hint));
    }
    spec
}

fn scope(config: &TraceConfig, graph: &Graph, fabric: &Fabric, diagnostics: &mut Vec<Diagnostic>) -> TraceScope {
    let is_empty = |what: &str| Diagnostic::error(format!("probes.trace.{what}"), "must not be empty");
    if let Some(flows) = &config.flows {
        diagnostics.extend(flows.is_empty().then(|| is_empty("flows")));
        return TraceScope::Flows(flows.iter().copied().map(FlowId).collect());
    }
    if let Some(names) = &config.ports {
        diagnostics.extend(names.is_empty().then(|| is_empty("ports")));
        let mut ports: BTreeSet<PortId> = BTreeSet::new();
        for (i, name) in names.iter().enumerate() {
            match ports_called(fabric, &format!("probes.trace.ports[{i}]"), name) {
                Ok(found) => ports.extend(found),
                Err(error) => diagnostics.push(error),
            }
        }
        return TraceScope::Ports(ports);
    }
    let Some(nodes) = &config.nodes else { return TraceScope::All };
    let nodes = collect_errors(nodes.nodes("probes.trace.nodes", graph), diagnostics).unwrap_or_default();
    TraceScope::Nodes(nodes.into_iter().collect())
}

/// Returns the bytes of the trace if every traced link carries full packets for `span`.
fn most_bytes(spec: &TraceSpec, fabric: &Fabric, span: Duration) -> f64 {
    let frame = fabric.spec.framing.largest(fabric.spec.mtu.get() as u32, fabric.telemetry_bytes).wire;
    let ports = fabric.wiring.ports.iter().filter(|port| match &spec.scope {
        TraceScope::All | TraceScope::Flows(_) => true,
        TraceScope::Nodes(nodes) => nodes.contains(&port.node),
        TraceScope::Ports(ports) => ports.contains(&port.id),
    });
    let frames: f64 = ports.map(|port| span.ps() as f64 / port.rate.time_for(frame.into()).ps().max(1) as f64).sum();
    frames * EVENTS_PER_PACKET * EVENT_BYTES
}
