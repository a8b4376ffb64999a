//! Python bindings, which contain no logic.
//!
//! [`extension!`] defines a Python module with these bindings. The crate in `core/` defines
//! `backwater._core`. Other crates define the same module with additional mechanisms.

#![forbid(unsafe_code)]

use backwater_analysis::{Question, headroom, tofino};
use backwater_engine::Time;
use backwater_engine::interrupt;
use backwater_engine::memory::Share;
use backwater_engine::units::Quantity;
use backwater_export::{ExportError, TimeWindow, view};
use backwater_fabric::contract::report::DropCause;
use backwater_fabric::driver::memory::Memory;
use backwater_identity::BUILD;
use backwater_runner::{RunError, SCHEMA_VERSION, tables, topology_json};
use backwater_scenario::workload::chosen;
use backwater_scenario::{
    Diagnostic, Document as Written, JsonKey, Plan as CheckedPlan, Scenario, Setting, Severity, explain, hpcc,
    read_quantity,
};
pub use pyo3;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyImportError, PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

create_exception!(_core, ScenarioError, PyException, "Invalid scenario; `diagnostics` has the reasons.");

/// Converts diagnostics to a Python exception.
fn scenario_error(py: Python<'_>, diagnostics: &[Diagnostic]) -> PyErr {
    let lines: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
    let error = ScenarioError::new_err(lines.join("\n"));
    match diagnostic_list(py, diagnostics).and_then(|list| error.value(py).setattr("diagnostics", list)) {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// Converts an error of a run to a Python exception.
fn run_error(error: &RunError) -> PyErr {
    PyOSError::new_err(error.to_string())
}

/// Runs `work` detached from Python. An exception of a signal handler ends the work.
///
/// # Errors
/// The exception of the signal handler.
fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| interrupt::interruptible(|| Python::attach(|py| py.check_signals()), work))
}

fn diagnostic_list<'py>(py: Python<'py>, diagnostics: &[Diagnostic]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for diagnostic in diagnostics {
        let entry = PyDict::new(py);
        let severity = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        entry.set_item("severity", severity)?;
        entry.set_item("file", &diagnostic.file)?;
        entry.set_item("line", diagnostic.line)?;
        entry.set_item("column", diagnostic.column)?;
        entry.set_item("path", &diagnostic.path)?;
        entry.set_item("value", &diagnostic.value)?;
        entry.set_item("message", &diagnostic.message)?;
        entry.set_item("hint", &diagnostic.hint)?;
        list.append(entry)?;
    }
    Ok(list)
}

/// TOML text with the positions of its values.
#[pyclass(frozen)]
struct Document(Written);

#[pymethods]
impl Document {
    #[new]
    fn new(py: Python<'_>, text: &str, name: &str) -> PyResult<Document> {
        Written::from_toml(name, text).map(Document).map_err(|diagnostics| scenario_error(py, &diagnostics))
    }

    /// Returns line and column of a value or its key, or of the enclosing table.
    fn position(&self, path: Vec<String>, of_key: bool) -> (u32, u32) {
        self.0.position(&path, of_key)
    }

    /// Checks the scenario in tables of the document. Later tables override earlier ones.
    fn plan(&self, py: Python<'_>, layers: Vec<Vec<String>>, base_dir: &str, overrides: Vec<String>) -> PyResult<Plan> {
        Plan::check(py, self.0.layered(&layers), &overrides, base_dir)
    }
}

/// Checked scenario. Networks are built only from checked scenarios.
#[pyclass(frozen)]
struct Plan {
    plan: CheckedPlan,
    settings: Vec<Setting>,
}

impl Plan {
    /// Applies `overrides` to the document and checks the document. Reports all errors at once.
    fn check(
        py: Python<'_>,
        document: Result<Written, Vec<Diagnostic>>,
        overrides: &[String],
        base_dir: &str,
    ) -> PyResult<Plan> {
        interruptible(py, || {
            let mut document = document?;
            let refused: Vec<Diagnostic> =
                overrides.iter().filter_map(|assignment| document.set(assignment).err()).flatten().collect();
            if !refused.is_empty() {
                return Err(refused);
            }
            let plan = CheckedPlan::from_document(&document, Path::new(base_dir))?;
            let settings = explain(&document, &plan);
            Ok(Plan { plan, settings })
        })?
        .map_err(|diagnostics: Vec<Diagnostic>| scenario_error(py, &diagnostics))
    }
}

#[pymethods]
impl Plan {
    #[staticmethod]
    fn from_toml(py: Python<'_>, text: &str, name: &str, base_dir: &str, overrides: Vec<String>) -> PyResult<Plan> {
        Plan::check(py, Written::from_toml(name, text), &overrides, base_dir)
    }

    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str, base_dir: &str, overrides: Vec<String>) -> PyResult<Plan> {
        let value = from_json(text)?;
        Plan::check(py, Ok(Written::from_json(&value)), &overrides, base_dir)
    }

    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        diagnostic_list(py, &self.plan.warnings)
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.plan.notes.clone()
    }

    fn explain(&self) -> Vec<(String, String, String)> {
        let row = |setting: &Setting| (setting.path.clone(), setting.value.to_string(), setting.origin.clone());
        self.settings.iter().map(row).collect()
    }

    fn resolved(&self) -> String {
        self.plan.resolved().to_string()
    }

    /// Versions of the mechanisms of other crates in use, by slot and name.
    #[getter]
    fn plug_ins(&self) -> BTreeMap<String, &'static str> {
        self.plan.spec().plug_ins()
    }

    fn topology(&self) -> String {
        topology_json(self.plan.spec()).to_string()
    }

    /// Estimates the memory of a run from a simulation of `seconds` of wall time.
    fn estimate_memory(&self, py: Python<'_>, seconds: f64, scratch: &str) -> PyResult<Estimate> {
        let wall = seconds_of(seconds)?;
        let plan = self.plan.clone();
        let estimate = interruptible(py, || backwater_runner::estimate(plan, BUILD, wall, Path::new(scratch)))?;
        estimate.map(Estimate::from).map_err(|error| run_error(&error))
    }

    /// Returns a static analysis of the network and its flows as JSON.
    fn analyze(
        &self,
        py: Python<'_>,
        congested: Vec<String>,
        protocols: Vec<String>,
        flows: usize,
        own_root_rule: bool,
        names: bool,
    ) -> PyResult<String> {
        let question = Question { congested, protocols, flows, own_root_rule, names };
        let plan = &self.plan;
        let answer =
            interruptible(py, || backwater_analysis::analyze(plan.spec().clone(), plan.traffic.flows(), &question))?;
        let answer = answer.map_err(|errors| scenario_error(py, &errors))?;
        to_json(&answer)
    }

    #[pyo3(signature = (output, threads, stop_ps = None))]
    fn start(&self, py: Python<'_>, output: &str, threads: usize, stop_ps: Option<u64>) -> PyResult<Run> {
        let (plan, stop) = (self.plan.clone(), stop_ps.map_or(Time::NEVER, Time::from_ps));
        let start = || backwater_runner::Run::start_until(plan, BUILD, Path::new(output), threads, stop);
        let run = interruptible(py, start)?;
        Ok(Run(Mutex::new(Some(run.map_err(|error| run_error(&error))?))))
    }
}

fn to_json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

fn value_error(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn from_json<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(value_error)
}

fn seconds_of(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(value_error)
}

/// Memory estimate of a run.
#[pyclass(frozen, get_all)]
struct Estimate {
    parts: Vec<(&'static str, Option<u64>, u64)>,
    total: u64,
    simulated_ps: u64,
}

impl From<backwater_runner::Estimate> for Estimate {
    fn from(estimate: backwater_runner::Estimate) -> Estimate {
        let Memory { nodes, ports, flows, frames, events, .. } = estimate.simulation;
        let counted = |name, share: Share| (name, Some(share.count), share.bytes);
        let parts = vec![
            counted("hosts and switches", nodes),
            counted("ports", ports),
            counted("concurrent flows, connections", flows),
            counted("frames in the network", frames),
            ("pending events", None, events),
            ("tables being written, allocator", None, estimate.rest),
        ];
        Estimate { parts, total: estimate.total(), simulated_ps: estimate.simulated_ps }
    }
}

/// Run in progress.
#[pyclass(frozen)]
struct Run(Mutex<Option<backwater_runner::Run>>);

#[pymethods]
impl Run {
    fn advance(&self, py: Python<'_>, milliseconds: f64) -> PyResult<RunProgress> {
        let wall = seconds_of(milliseconds / 1000.0)?;
        py.detach(|| {
            let mut run = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            run.as_mut().map(|run| RunProgress::from(run.advance(wall)))
        })
        .ok_or_else(|| PyRuntimeError::new_err("the run is already finished"))
    }

    /// Finishes the run. With `interrupted`, a run that is not done is stopped.
    fn finish(&self, py: Python<'_>, interrupted: bool) -> PyResult<String> {
        py.detach(|| {
            let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let done = slot.as_ref().is_some_and(|run| run.progress().done);
            if !done && !interrupted {
                return Err(PyRuntimeError::new_err(
                    "the run is not done: call advance(), or finish(interrupted=True)",
                ));
            }
            let run = slot.take().ok_or_else(|| PyRuntimeError::new_err("the run is already finished"))?;
            let summary = run.finish().map_err(|error| run_error(&error))?;
            to_json(&summary)
        })
    }
}

/// Progress of a run.
#[pyclass(frozen, get_all)]
struct RunProgress {
    time_ps: u64,
    end_ps: u64,
    events: u64,
    packet_hops: u64,
    live_flows: u64,
    finished_flows: u64,
    started_flows: u64,
    paused_ports: u64,
    done: bool,
}

impl From<backwater_runner::RunProgress> for RunProgress {
    fn from(run: backwater_runner::RunProgress) -> RunProgress {
        RunProgress {
            time_ps: run.time_ps,
            end_ps: run.end_ps,
            events: run.events,
            packet_hops: run.packet_hops,
            live_flows: run.live_flows,
            finished_flows: run.finished_flows,
            started_flows: run.started_flows,
            paused_ports: run.paused_ports,
            done: run.done,
        }
    }
}

/// Returns the JSON Schema of a scenario file.
#[pyfunction]
fn schema() -> String {
    Scenario::schema().to_string()
}

/// Returns the definitions of the result tables as JSON.
#[pyfunction]
fn table_definitions() -> PyResult<String> {
    to_json(&tables::definitions())
}

/// Returns the memory of Pyrrha's tables on Tofino2 as JSON.
#[pyfunction]
fn tofino_memory(k: u64) -> PyResult<String> {
    to_json(&tofino::memory(k).map_err(value_error)?)
}

/// Returns the headroom that a switch needs, and the buffer under each scheme, as JSON. `switch` is
/// JSON with the fields of [`headroom::SwitchSpec`].
#[pyfunction]
fn headroom_plan(switch: &str) -> PyResult<String> {
    answer(switch, headroom::plan)
}

/// Returns SONiC's headroom for a port of a Spectrum switch as JSON. `port` is JSON with the fields
/// of [`headroom::SpectrumPort`].
#[pyfunction]
fn spectrum_headroom(port: &str) -> PyResult<String> {
    answer(port, headroom::spectrum)
}

/// Answers a question. Question and answer are JSON.
fn answer<Q: DeserializeOwned, A: Serialize>(
    question: &str,
    ask: impl FnOnce(&Q) -> Result<A, Diagnostic>,
) -> PyResult<String> {
    let question = from_json(question)?;
    let error = |error: Diagnostic| PyValueError::new_err(format!("{} {}", error.path, error.message));
    to_json(&ask(&question).map_err(error)?)
}

/// Returns the table of switching chips as TOML.
#[pyfunction]
fn chips() -> &'static str {
    include_str!("../../../data/chips.toml")
}

/// Converts files of the HPCC family of simulators to a scenario.
#[pyfunction]
#[pyo3(signature = (topology, flows, config, output))]
fn convert_hpcc(topology: &str, flows: &str, config: Option<&str>, output: &str) -> PyResult<(String, Vec<String>)> {
    let directory = Path::new(output).parent().unwrap_or(Path::new("."));
    let converted = hpcc::convert(Path::new(topology), Path::new(flows), config.map(Path::new), directory);
    converted.map(|converted| (converted.toml, converted.notes)).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        PyValueError::new_err(lines.join("\n"))
    })
}

/// Returns the keys of a JSON text, with their lines.
#[pyfunction]
fn json_keys(text: &str) -> PyResult<Vec<JsonKey>> {
    backwater_scenario::json_keys(text).map_err(PyValueError::new_err)
}

/// Returns the links of a shortest path for each pair of hosts in a `topology.json`.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "PyO3 passes owned values")]
fn shortest_paths(py: Python<'_>, topology: &str, pairs: Vec<(String, String)>) -> PyResult<Vec<Vec<usize>>> {
    py.detach(|| backwater_runner::shortest_paths(topology, &pairs)).map_err(PyValueError::new_err)
}

/// Returns the names that match a list of names and patterns, as in scenarios.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "PyO3 passes owned values")]
fn chosen_names(texts: Vec<String>, names: Vec<String>) -> PyResult<Vec<String>> {
    let chosen = chosen(&texts, &names).map_err(PyValueError::new_err)?;
    Ok(names.into_iter().zip(chosen).filter_map(|(name, chosen)| chosen.then_some(name)).collect())
}

/// Parses a quantity in ps (`time`), bytes (`size`) or bits per second (`rate`).
#[pyfunction]
fn quantity(kind: &str, text: &str) -> PyResult<u64> {
    let kind = match kind {
        "time" => Quantity::Time,
        "size" => Quantity::Size,
        "rate" => Quantity::Rate,
        _ => return Err(PyValueError::new_err(format!("unknown kind of quantity {kind}: use time, size or rate"))),
    };
    read_quantity(kind, text).map_err(|refused| {
        let Diagnostic { value, message, hint, .. } = *refused;
        let (value, hint) = (value.unwrap_or_default(), hint.map_or(String::new(), |hint| format!("; {hint}")));
        PyValueError::new_err(format!("{value} {message}{hint}"))
    })
}

/// Converts an error of an export to a Python exception.
fn export_error(error: ExportError) -> PyErr {
    match error {
        ExportError::Missing(message) => PyValueError::new_err(message),
        ExportError::Read { .. } => PyOSError::new_err(error.to_string()),
        ExportError::Write { ref path, ref cause } => match cause.raw_os_error() {
            Some(code) => {
                let reason = cause.to_string().replace(&format!(" (os error {code})"), "");
                PyOSError::new_err((code, reason, path.clone()))
            }
            None => PyOSError::new_err(error.to_string()),
        },
        ExportError::Stopped => PyKeyboardInterrupt::new_err(()),
    }
}

/// Writes a result as a file for Perfetto. Returns the number of events.
#[pyfunction]
fn export_perfetto(py: Python<'_>, directory: &str, output: &str) -> PyResult<u64> {
    py.detach(|| backwater_export::perfetto::export(Path::new(directory), Path::new(output))).map_err(export_error)
}

/// Writes the frames of a result as a capture, all of them or those in a window. Returns the number
/// of frames written.
#[pyfunction]
fn export_pcapng(py: Python<'_>, directory: &str, output: &str, window: Option<TimeWindow>) -> PyResult<u64> {
    py.detach(|| backwater_export::pcapng::export(Path::new(directory), Path::new(output), window))
        .map_err(export_error)
}

/// Writes the input files of the viewer into `output`. `tell` receives the number of rows read and
/// the total number, and may raise an exception.
#[pyfunction]
fn build_view(py: Python<'_>, directory: &str, output: &str, tell: &Bound<'_, PyAny>) -> PyResult<()> {
    let (tell, mut raised) = (tell.clone().unbind(), None);
    let mut on_rows = |done: u64, total: u64| {
        Python::attach(|py| {
            let told = py.check_signals().and_then(|()| tell.call1(py, (done, total)).map(drop));
            raised = told.err();
            raised.is_none()
        })
    };
    let built = py.detach(|| view::build(Path::new(directory), Path::new(output), &mut on_rows));
    raised.map_or_else(|| built.map_err(export_error), Err)
}

/// Returns the version of the package.
#[pyfunction]
fn version() -> &'static str {
    BUILD.version
}

/// Returns version, commit, profile and source hash of the core.
#[pyfunction]
fn build_info() -> BTreeMap<&'static str, String> {
    let target = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    let fields = [("version", BUILD.version), ("commit", BUILD.commit), ("profile", BUILD.profile)];
    let fields = fields.into_iter().chain([("source", BUILD.source), ("target", &target)]);
    fields.map(|(key, value)| (key, value.to_owned())).collect()
}

/// Defines a Python module with everything in `backwater._core` and the mechanisms of the calling
/// crate.
///
/// The first argument names the module; the crate's library has the same name. Each mechanism
/// follows as its slot, its name in scenarios and the type of its options. A mechanism has the
/// version of the crate.
///
/// ```ignore
/// backwater_pymodule::extension!(on_off, flow_control "on-off": OnOffConfig);
/// ```
#[macro_export]
macro_rules! extension {
    ($module:ident $(, $slot:ident $name:literal: $options:ty)* $(,)?) => {
        #[$crate::pyo3::pymodule(crate = "::backwater_pymodule::pyo3")]
        fn $module(module: &$crate::pyo3::Bound<'_, $crate::pyo3::types::PyModule>) -> $crate::pyo3::PyResult<()> {
            $($crate::registered($crate::slots::$slot::register::<$options>($name, env!("CARGO_PKG_VERSION")))?;)*
            $crate::fill(module)
        }
    };
}

/// Slots, by their names in scenarios.
#[doc(hidden)]
pub mod slots {
    #![allow(non_camel_case_types, reason = "names of scenarios")]
    pub use backwater_fabric::mechanisms::congestion::CongestionConfig as congestion_control;
    pub use backwater_fabric::mechanisms::flow_control::FlowControlConfig as flow_control;
    pub use backwater_fabric::mechanisms::headroom::HeadroomConfig as headroom;
    pub use backwater_fabric::mechanisms::load_balance::LoadBalanceConfig as load_balance;
    pub use backwater_fabric::mechanisms::recovery::RecoveryConfig as recovery;
}

/// Converts a failed registration to an import error.
#[doc(hidden)]
pub fn registered(result: Result<(), Diagnostic>) -> PyResult<()> {
    result.map_err(|error| PyImportError::new_err(error.message))
}

/// Adds all classes, functions and constants to the module.
#[doc(hidden)]
pub fn fill(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add_class::<Document>()?;
    module.add_class::<Plan>()?;
    module.add_class::<Run>()?;
    module.add_class::<RunProgress>()?;
    module.add_class::<Estimate>()?;
    module.add("SCHEMA_VERSION", SCHEMA_VERSION)?;
    module.add("DROP_CAUSES", PyTuple::new(module.py(), DropCause::ALL.map(DropCause::name))?)?;
    module.add("VIEW_VERSION", view::version())?;
    module.add("VIEW_INDEX", view::INDEX)?;
    module.add("VIEW_TABLES", PyTuple::new(module.py(), view::TABLES)?)?;
    module.add("VIEW_FILES", PyTuple::new(module.py(), view::FILES)?)?;
    for function in [
        wrap_pyfunction!(schema, module)?,
        wrap_pyfunction!(table_definitions, module)?,
        wrap_pyfunction!(convert_hpcc, module)?,
        wrap_pyfunction!(tofino_memory, module)?,
        wrap_pyfunction!(headroom_plan, module)?,
        wrap_pyfunction!(spectrum_headroom, module)?,
        wrap_pyfunction!(chips, module)?,
        wrap_pyfunction!(export_perfetto, module)?,
        wrap_pyfunction!(export_pcapng, module)?,
        wrap_pyfunction!(build_view, module)?,
        wrap_pyfunction!(json_keys, module)?,
        wrap_pyfunction!(shortest_paths, module)?,
        wrap_pyfunction!(chosen_names, module)?,
        wrap_pyfunction!(quantity, module)?,
        wrap_pyfunction!(version, module)?,
        wrap_pyfunction!(build_info, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}
