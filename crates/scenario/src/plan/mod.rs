//! The plan: a scenario that was checked against the world, as the plain data that a network is built from.

mod checks;
mod faults;
mod nodes;
mod partial;

use crate::diagnostic::{Diagnostic, Severity};
use crate::document::Document;
use crate::scenario::{NetworkConfig, ProbesConfig, RunConfig, Scenario};
use crate::topology::BuildError;
use crate::workload::{self, Traffic};
use backwater_fabric::spec::NetworkSpec;
use serde_json::Value;
use std::path::Path;

/// Everything a run needs. Only [`Plan::new`] makes one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// The network.
    pub spec: NetworkSpec,
    /// Its flows.
    pub traffic: Traffic,
    /// How long, and with which seed.
    pub run: RunConfig,
    /// What is measured beside the flows.
    pub probes: ProbesConfig,
    /// The scenario with every default filled in: what `run.json` stores.
    pub resolved: Value,
    /// What a reader wants to know of fabric and traffic: sizes, oversubscription, offered load.
    pub notes: Vec<String>,
    /// What is allowed but probably not wanted.
    pub warnings: Vec<Diagnostic>,
}

impl Plan {
    /// Checks a scenario and builds its network and flows. Relative paths in it start at `base_dir`, its directory.
    ///
    /// # Errors
    /// Everything that is wrong, each with the path of its field.
    pub fn new(scenario: &Scenario, base_dir: &Path) -> Result<Plan, Vec<Diagnostic>> {
        let mut findings = checks::options(scenario);
        let graph = keep(scenario.topology.build(base_dir), &mut findings);
        let resolved = keep(scenario.resolved(), &mut findings);
        let (Some(graph), Some(resolved)) = (graph, resolved) else { return Err(findings) };
        let NetworkConfig { framing, mtu } = scenario.network;
        let RunConfig { seed, until, .. } = scenario.run;
        let spec = NetworkSpec {
            seed,
            framing,
            mtu,
            nodes: graph.nodes.clone(),
            links: graph.links.clone(),
            routes: nodes::routes(&scenario.routes, &graph, &mut findings),
            faults: faults::resolve(&scenario.faults, &graph, &mut findings),
            switch: scenario.switch.clone(),
            groups: nodes::groups(&scenario.groups, &graph, &mut findings),
            host: scenario.host.clone(),
            congestion: scenario.congestion_control.clone(),
            load_balance: scenario.load_balance.clone(),
            recovery: scenario.recovery.clone(),
        };
        findings.extend(checks::buffers(&spec));
        findings.extend(checks::borders(&spec));
        let traffic = workload::generate(&scenario.traffic, &graph, framing, mtu, seed, until, base_dir);
        let traffic = keep(traffic, &mut findings).unwrap_or_default();
        findings.extend(checks::classes(scenario, &traffic));
        if !has_errors(&findings) {
            findings.extend(checks::network(scenario, &spec, &traffic));
        }
        if has_errors(&findings) {
            return Err(partial::without_consequences(findings));
        }
        Ok(Plan {
            spec,
            run: scenario.run.clone(),
            probes: scenario.probes.clone(),
            resolved,
            notes: graph.notes.iter().chain(&traffic.notes).cloned().collect(),
            traffic,
            warnings: findings,
        })
    }

    /// Reads and checks a document: [`Scenario::from_document`], then [`Plan::new`].
    ///
    /// # Errors
    /// Everything that is wrong, each with its place in the document and in that order.
    pub fn from_document(document: &Document, base_dir: &Path) -> Result<Plan, Vec<Diagnostic>> {
        let placed = |findings: Vec<Diagnostic>| -> Vec<_> {
            findings.into_iter().map(|finding| document.place(finding)).collect()
        };
        let plan = match Scenario::from_document(document) {
            Ok(scenario) => Plan::new(&scenario, base_dir).map_err(placed),
            Err(mut findings) => {
                findings.extend(placed(partial::findings(document, &findings, base_dir)));
                Err(findings)
            }
        };
        plan.map(|plan| Plan { warnings: placed(plan.warnings), ..plan }).map_err(|mut findings| {
            findings.sort_by_key(|finding| (finding.line, finding.column));
            findings
        })
    }
}

fn has_errors(findings: &[Diagnostic]) -> bool {
    findings.iter().any(|finding| finding.severity == Severity::Error)
}

/// The value of `result`, or none and its errors among `findings`.
fn keep<T, E: Into<Diagnostic>>(result: Result<T, Vec<E>>, findings: &mut Vec<Diagnostic>) -> Option<T> {
    result.map_err(|errors| findings.extend(errors.into_iter().map(Into::into))).ok()
}

impl From<BuildError> for Diagnostic {
    fn from(error: BuildError) -> Diagnostic {
        Diagnostic { hint: error.hint, ..Diagnostic::error(error.path, error.message) }
    }
}
