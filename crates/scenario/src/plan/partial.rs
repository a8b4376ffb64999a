//! Checks the valid parts of a scenario with invalid parts, so that all errors are reported at
//! once.

use super::Plan;
use crate::diagnostic::{Diagnostic, Severity, closest};
use crate::document::Document;
use crate::scenario::Scenario;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Returns the other options on which diagnostics of a section depend. If such an option is wrong,
/// a diagnostic of the section may be only a consequence.
fn sources(section: &str) -> &'static [&'static str] {
    match section {
        "faults" | "routes" | "groups" => &["topology"],
        "switch" => &["topology", "network"],
        "traffic" => &["topology", "network", "run.until"],
        _ => &[],
    }
}

/// True if one of two paths is a prefix of the other.
fn related(one: &str, other: &str) -> bool {
    let leads_through = |path: &str, prefix: &str| {
        path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    leads_through(one, other) || leads_through(other, one)
}

/// Returns the diagnostics that are not consequences of other diagnostics.
pub(super) fn without_consequences(diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let errors: Vec<_> = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .map(|diagnostic| diagnostic.path.clone())
        .collect();
    let follows = |diagnostic: &Diagnostic| {
        sources(section(&diagnostic.path)).iter().any(|source| errors.iter().any(|error| related(error, source)))
    };
    diagnostics.into_iter().filter(|diagnostic| !follows(diagnostic)).collect()
}

/// Returns the part of a scenario around an option: an entry of a list such as `traffic` or
/// `faults`, or a section.
fn part(path: &str) -> &str {
    match path.find(['.', '[']) {
        Some(end) if path[end..].starts_with('[') => path.find(']').map_or(path, |end| &path[..=end]),
        Some(end) => &path[..end],
        None => path,
    }
}

fn section(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or(path)
}

/// Returns a valid replacement for a section without a default.
fn stand_in(section: &str) -> Option<Value> {
    match section {
        "topology" => Some(json!({ "kind": "star", "hosts": 2 })),
        "traffic" => Some(json!([{ "kind": "long-lived", "pairs": [] }])),
        "faults" => Some(json!([{ "link": ["", ""], "down": "0 s" }])),
        "routes" => Some(json!([{ "at": "", "to": "", "next": "" }])),
        "groups" => Some(json!([{ "switches": "" }])),
        _ => None,
    }
}

/// Returns the errors of [`Plan::new`] that cannot be consequences of the `broken` options.
pub(super) fn diagnostics(document: &Document, broken: &[Diagnostic], base_dir: &Path) -> Vec<Diagnostic> {
    let mut broken: BTreeSet<&str> = broken.iter().map(|diagnostic| part(&diagnostic.path)).collect();
    let schema = Scenario::schema();
    let sections: Vec<_> =
        schema["properties"].as_object().into_iter().flat_map(|fields| fields.keys().map(String::as_str)).collect();
    // A misspelt section counts as missing.
    let meant =
        |part: &&str| (!sections.contains(&section(part))).then(|| closest(part, sections.iter().copied())).flatten();
    broken.extend(broken.clone().iter().filter_map(meant));
    let mut data = document.to_json();
    for part in &broken {
        let section = section(part);
        let index = part
            .strip_prefix(section)
            .and_then(|index| index.strip_prefix('[')?.strip_suffix(']')?.parse::<usize>().ok());
        let stand_in = stand_in(section);
        match (index, data.as_object_mut()) {
            (Some(index), Some(fields)) => {
                let entry = fields.get_mut(section).and_then(|list| list.get_mut(index));
                if let (Some(entry), Some(stand_in)) = (entry, stand_in) {
                    *entry = stand_in[0].clone();
                }
            }
            (None, Some(fields)) => {
                fields.remove(section);
                fields.extend(stand_in.map(|stand_in| (section.into(), stand_in)));
            }
            (_, None) => return Vec::new(),
        }
    }
    let Ok(scenario) = serde_json::from_value::<Scenario>(data) else { return Vec::new() };
    let mut diagnostics = Plan::new(&scenario, base_dir).err().unwrap_or_default();
    diagnostics.retain(|diagnostic| {
        // These options have an effect only if a part of the traffic is a job.
        let for_jobs = matches!(diagnostic.path.as_str(), "run.until" | "probes.operations").then_some("traffic");
        let sources = sources(section(&diagnostic.path)).iter().copied();
        let depends_on = sources.chain(for_jobs).chain([diagnostic.path.as_str()]);
        diagnostic.severity == Severity::Error
            && !depends_on.into_iter().any(|source| broken.iter().any(|part| related(part, source)))
    });
    diagnostics
}
