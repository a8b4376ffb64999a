//! All scenarios of the repository are valid.

use backwater_scenario::{Document, Plan, Scenario};
use std::path::{Path, PathBuf};

fn scenarios() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let of = |folder: &str| std::fs::read_dir(root.join(folder)).expect("a folder of the repository");
    let files = ["scenarios", "benches", "benches/jobs"]
        .into_iter()
        .flat_map(of)
        .map(|entry| entry.expect("a readable folder").path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect();
    files.sort();
    files
}

#[test]
fn every_scenario_has_a_plan_with_traffic_and_no_idle_options() {
    let files = scenarios();
    assert!(files.len() > 5, "{files:?}");
    for path in files {
        let document = Document::read(&path).expect("a readable file");
        let plan = Plan::from_document(&document, path.parent().expect("the file's folder"));
        let plan = plan.unwrap_or_else(|diagnostics| panic!("{diagnostics:#?}"));
        assert!(plan.traffic.flows().next().is_some() || !plan.traffic.jobs.is_empty());
        let warnings: Vec<_> = plan.warnings.iter().map(ToString::to_string).collect();
        assert!(warnings.iter().all(|warning| !warning.contains("has no effect")), "{warnings:#?}");
    }
}

/// The resolved scenario that a run stores can be read again, unchanged.
#[test]
fn every_resolved_scenario_is_read_back_unchanged() {
    for path in scenarios() {
        let document = Document::read(&path).expect("a readable file");
        let resolved = Scenario::from_document(&document).expect("a valid scenario").resolved().expect("plain data");
        let again = Scenario::from_document(&Document::from_json(&resolved)).expect("a valid scenario");
        assert_eq!(again.resolved().expect("plain data"), resolved, "{}", path.display());
    }
}
