//! The plan: a checked scenario as plain data from which a network is built.

mod bounds;
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
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::routes::Wiring;
use backwater_fabric::network::spec::NetworkSpec;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Everything that a run needs. Only [`Plan::new`] creates plans.
///
/// A plan holds the fabric of its network in memory until a run takes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// The network.
    spec: NetworkSpec,
    /// Fabric that the checks have built, until a run of the plan or of a clone takes it.
    fabric: Arc<Mutex<Option<Fabric>>>,
    /// Flows of the network.
    pub traffic: Traffic,
    /// Duration and seed of the run.
    pub run: RunConfig,
    /// Measurements in addition to flow completion times.
    pub probes: ProbesConfig,
    /// Selection of events to trace.
    pub trace: Option<TraceSpec>,
    /// All options of the scenario; null if neither a value nor a default exists.
    pub(crate) fields: Value,
    /// Effective values that differ from `fields`.
    pub effective: Vec<Effective>,
    /// Notes for the user: sizes, oversubscription, offered load.
    pub notes: Vec<String>,
    /// Warnings about probable mistakes.
    pub warnings: Vec<Diagnostic>,
}

impl Plan {
    /// Checks a scenario and builds its network and flows. Relative paths start at `base_dir`, the
    /// scenario's directory.
    ///
    /// # Errors
    /// All errors, each with the path of its option.
    pub fn new(scenario: &Scenario, base_dir: &Path) -> Result<Plan, Vec<Diagnostic>> {
        let mut diagnostics = checks::options(scenario);
        let graph = collect_errors(scenario.topology.build(base_dir), &mut diagnostics);
        let fields = collect_errors(scenario.fields(), &mut diagnostics);
        let (Some(graph), Some(fields)) = (graph, fields) else { return Err(diagnostics) };
        // An MTU that is rejected already must not overflow in later checks.
        let NetworkConfig { framing, mtu, .. } = scenario.network;
        let mtu = mtu.min(checks::LARGEST_MTU);
        let seed = scenario.run.seed;
        let spec = NetworkSpec {
            seed,
            framing,
            mtu,
            nodes: graph.nodes.clone(),
            links: graph.links.clone(),
            interfaces: nodes::interfaces(&scenario.interfaces, &graph, &mut diagnostics),
            routes: nodes::routes(&scenario.routes, &graph, &mut diagnostics),
            faults: faults::resolve(&scenario.faults, &graph, &mut diagnostics),
            reconvergence: scenario.network.reconvergence,
            switch: scenario.switch.clone(),
            groups: nodes::groups(&scenario.groups, &graph, &mut diagnostics),
            host: scenario.host.clone(),
            flow_keys: scenario.network.flow_keys,
            hash_seed: scenario.network.hash_seed,
            congestion: scenario.congestion_control.clone(),
            load_balance: scenario.load_balance.clone(),
            recovery: scenario.recovery.clone(),
        };
        diagnostics.extend(timing::frames(&spec));
        let wiring = Wiring::new(&spec.nodes, &spec.links);
        diagnostics.extend(checks::buffers(&spec, &wiring));
        diagnostics.extend(checks::borders(&spec, &wiring));
        diagnostics.extend(checks::flow_controls(&spec));
        diagnostics.extend(checks::shared_buffers(&spec, &wiring));
        diagnostics.extend(checks::relays_that_drop(&spec, &wiring));
        diagnostics.extend(checks::idle(&spec, &scenario.faults, scenario.run.last()));
        let traffic = workload::generate(&scenario.traffic, &graph, framing, mtu, seed, &scenario.run, base_dir);
        let mut traffic = collect_errors(traffic, &mut diagnostics).unwrap_or_default();
        diagnostics.append(&mut traffic.warnings);
        diagnostics.extend(checks::classes(scenario, &traffic));
        let is_sound = !has_errors(&diagnostics);
        let fabric =
            is_sound.then(|| collect_errors(checks::network(scenario, &spec, &traffic), &mut diagnostics)).flatten();
        let Some(fabric) = fabric else { return Err(partial::without_consequences(diagnostics)) };
        diagnostics.extend(checks::places(&fabric));
        let trace = scenario
            .probes
            .trace
            .as_ref()
            .map(|trace| trace::resolve(trace, (&graph, &fabric), &scenario.run, &mut diagnostics));
        if has_errors(&diagnostics) {
            return Err(diagnostics);
        }
        diagnostics.extend(checks::guarantees(&fabric));
        diagnostics.extend(checks::headrooms(&fabric));
        diagnostics.extend(checks::congestion_points(&fabric));
        diagnostics.extend(checks::choices(&fabric));
        diagnostics.extend(bounds::of_jobs(&fabric, &mut traffic, &scenario.run));
        diagnostics.extend(bounds::of_flows(&fabric, &traffic, &scenario.run));
        Ok(Plan {
            spec,
            run: scenario.run.clone(),
            probes: scenario.probes.clone(),
            trace,
            effective: effective(scenario, &fields, &graph, &fabric),
            fields,
            notes: graph.notes.iter().chain(&traffic.notes).cloned().collect(),
            traffic,
            warnings: diagnostics,
            fabric: Arc::new(Mutex::new(Some(fabric))),
        })
    }

    /// Returns the network.
    pub fn spec(&self) -> &NetworkSpec {
        &self.spec
    }

    /// Returns the fabric of the network. The first call returns the fabric that the checks have
    /// built, so the plan no longer holds it. Later calls build an equal fabric.
    pub fn take_fabric(&self) -> Fabric {
        let built = self.fabric.lock().unwrap_or_else(PoisonError::into_inner).take();
        built.unwrap_or_else(|| {
            let mut fabric = Fabric::new(self.spec.clone()).expect("the checks have built this fabric");
            for flow in self.traffic.listed() {
                // Pinned paths can weaken guarantees.
                fabric.check_flow(flow).expect("the checks have accepted this flow");
            }
            fabric
        })
    }

    /// Returns the heap memory of the fabric that the checks have built, if no run has taken it.
    pub fn fabric_bytes(&self) -> u64 {
        let fabric = self.fabric.lock().unwrap_or_else(PoisonError::into_inner);
        fabric.as_ref().map_or(0, Fabric::heap_bytes)
    }

    /// Returns the scenario with every default filled in. `run.json` stores it, and
    /// [`Document::from_json`] reads it back.
    pub fn resolved(&self) -> Value {
        without_nulls(&self.fields)
    }

    /// Returns the effective values that differ from [`Plan::resolved`], by path.
    pub fn effective(&self) -> Value {
        let values = self.effective.iter().map(|it| (it.path.clone(), it.value.clone()));
        values.collect::<Map<_, _>>().into()
    }

    /// Reads and checks a document: [`Scenario::from_document`], then [`Plan::new`].
    ///
    /// # Errors
    /// All errors with their places, in the order of the document.
    pub fn from_document(document: &Document, base_dir: &Path) -> Result<Plan, Vec<Diagnostic>> {
        let placed = |diagnostics: Vec<Diagnostic>| -> Vec<_> {
            diagnostics.into_iter().map(|diagnostic| document.place(diagnostic)).collect()
        };
        let plan = match Scenario::from_document(document) {
            Ok(scenario) => Plan::new(&scenario, base_dir).map_err(placed),
            Err(mut diagnostics) => {
                diagnostics.extend(placed(partial::diagnostics(document, &diagnostics, base_dir)));
                Err(diagnostics)
            }
        };
        let plan = plan.map_err(|mut diagnostics| {
            diagnostics.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.column));
            diagnostics
        })?;
        let mut effective = plan.effective;
        if let Some(name) = effective.iter_mut().find(|it| it.path == "name") {
            name.value = document.name().into();
        }
        Ok(Plan { warnings: placed(plan.warnings), effective, ..plan })
    }
}

fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
}

/// Returns the value of `result`, or adds its errors to `diagnostics`.
fn collect_errors<T>(result: Result<T, Vec<Diagnostic>>, diagnostics: &mut Vec<Diagnostic>) -> Option<T> {
    result.map_err(|errors| diagnostics.extend(errors)).ok()
}
