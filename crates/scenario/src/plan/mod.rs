//! The plan: a scenario that was checked against the world, as the plain data that a network is built from.

mod checks;
mod faults;
mod nodes;
mod partial;
mod timing;
mod trace;

use crate::diagnostic::{Diagnostic, Severity};
use crate::document::Document;
use crate::effective::{Effective, effective};
use crate::scenario::{NetworkConfig, ProbesConfig, RunConfig, Scenario, without_nulls};
use crate::workload::{self, Traffic};
use backwater_fabric::driver::trace::TraceSpec;
use backwater_fabric::network::spec::NetworkSpec;
use serde_json::{Map, Value};
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
    /// What is measured in addition to flow completion times.
    pub probes: ProbesConfig,
    /// Which events are written down one by one.
    pub trace: Option<TraceSpec>,
    /// Every field of the scenario, null where nothing is written and no default stands in.
    pub(crate) fields: Value,
    /// What is in force where nothing is written, or another value.
    pub effective: Vec<Effective>,
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
        let graph = collect_errors(scenario.topology.build(base_dir), &mut findings);
        let fields = collect_errors(scenario.fields(), &mut findings);
        let (Some(graph), Some(fields)) = (graph, fields) else { return Err(findings) };
        // What is refused already must not overflow on the way.
        let NetworkConfig { framing, mtu, .. } = scenario.network;
        let mtu = mtu.min(checks::LARGEST_MTU);
        let RunConfig { seed, until, .. } = scenario.run;
        let spec = NetworkSpec {
            seed,
            framing,
            mtu,
            nodes: graph.nodes.clone().into(),
            links: graph.links.clone(),
            interfaces: nodes::interfaces(&scenario.interfaces, &graph, &mut findings),
            routes: nodes::routes(&scenario.routes, &graph, &mut findings),
            faults: faults::resolve(&scenario.faults, &graph, &mut findings),
            reconvergence: scenario.network.reconvergence,
            switch: scenario.switch.clone(),
            groups: nodes::groups(&scenario.groups, &graph, &mut findings),
            host: scenario.host.clone(),
            congestion: scenario.congestion_control.clone(),
            load_balance: scenario.load_balance.clone(),
            recovery: scenario.recovery.clone(),
        };
        findings.extend(timing::frames(&spec));
        findings.extend(checks::buffers(&spec));
        findings.extend(checks::borders(&spec));
        findings.extend(checks::flow_controls(&spec));
        findings.extend(checks::shared_buffers(&spec));
        findings.extend(checks::relays_that_drop(&spec));
        findings.extend(checks::idle(&spec, &scenario.faults, until + scenario.run.drain));
        let traffic = workload::generate(&scenario.traffic, &graph, framing, mtu, seed, until, base_dir);
        let traffic = collect_errors(traffic, &mut findings).unwrap_or_default();
        findings.extend(checks::classes(scenario, &traffic));
        let is_sound = !has_errors(&findings);
        let fabric =
            is_sound.then(|| collect_errors(checks::network(scenario, &spec, &traffic), &mut findings)).flatten();
        let Some(fabric) = fabric else { return Err(partial::without_consequences(findings)) };
        findings.extend(checks::places(&fabric));
        let trace = scenario
            .probes
            .trace
            .as_ref()
            .map(|trace| trace::resolve(trace, (&graph, &fabric), &scenario.run, &mut findings));
        if has_errors(&findings) {
            return Err(findings);
        }
        findings.extend(checks::promises(&fabric));
        findings.extend(checks::headrooms(&fabric));
        findings.extend(checks::congestion_points(&fabric));
        findings.extend(checks::choices(&fabric));
        Ok(Plan {
            spec,
            run: scenario.run.clone(),
            probes: scenario.probes.clone(),
            trace,
            effective: effective(scenario, &fields, &graph, &fabric),
            fields,
            notes: graph.notes.iter().chain(&traffic.notes).cloned().collect(),
            traffic,
            warnings: findings,
        })
    }

    /// The scenario with every default filled in: what `run.json` stores, and [`Document::from_json`] reads back.
    pub fn resolved(&self) -> Value {
        without_nulls(&self.fields)
    }

    /// The values in force beside those of [`Plan::resolved`], by path.
    pub fn effective(&self) -> Value {
        let values = self.effective.iter().map(|it| (it.path.clone(), it.value.clone()));
        values.collect::<Map<_, _>>().into()
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
        let plan = plan.map_err(|mut findings| {
            findings.sort_by_key(|finding| (finding.line, finding.column));
            findings
        })?;
        let mut effective = plan.effective;
        if let Some(name) = effective.iter_mut().find(|it| it.path == "name") {
            name.value = document.name().into();
        }
        Ok(Plan { warnings: placed(plan.warnings), effective, ..plan })
    }
}

fn has_errors(findings: &[Diagnostic]) -> bool {
    findings.iter().any(|finding| finding.severity == Severity::Error)
}

/// The value of `result`, or none and its errors among `findings`.
fn collect_errors<T>(result: Result<T, Vec<Diagnostic>>, findings: &mut Vec<Diagnostic>) -> Option<T> {
    result.map_err(|errors| findings.extend(errors)).ok()
}
