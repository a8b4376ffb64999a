//! What can still be found out about the sound parts of a scenario when other parts are broken, so that all errors come at once.

use super::Plan;
use crate::diagnostic::{Diagnostic, Severity, closest};
use crate::document::Document;
use crate::scenario::Scenario;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// The fields that what is found in a section also depends on: if one of them is wrong, the finding may follow from that alone.
fn sources(section: &str) -> &'static [&'static str] {
    match section {
        "faults" | "routes" | "groups" => &["topology"],
        "switch" => &["topology", "network"],
        "traffic" => &["topology", "network", "run.until"],
        _ => &[],
    }
}

/// Whether one of two paths leads through the other.
fn related(one: &str, other: &str) -> bool {
    let leads_through = |path: &str, prefix: &str| {
        path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    leads_through(one, other) || leads_through(other, one)
}

/// The findings that do not follow from others of them.
pub(super) fn without_consequences(findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let errors: Vec<_> = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .map(|finding| finding.path.clone())
        .collect();
    let follows = |finding: &Diagnostic| {
        sources(section(&finding.path)).iter().any(|source| errors.iter().any(|error| related(error, source)))
    };
    findings.into_iter().filter(|finding| !follows(finding)).collect()
}

/// The part of a scenario that a field belongs to: an entry of a list such as `traffic` or `faults`, or a section.
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

/// Something harmless for a section that has no default.
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

/// What [`Plan::new`] finds in `document` beside the `broken` fields, apart from what may follow from them.
pub(super) fn findings(document: &Document, broken: &[Diagnostic], base_dir: &Path) -> Vec<Diagnostic> {
    let mut broken: BTreeSet<&str> = broken.iter().map(|finding| part(&finding.path)).collect();
    let schema = Scenario::schema();
    let sections: Vec<_> =
        schema["properties"].as_object().into_iter().flat_map(|fields| fields.keys().map(String::as_str)).collect();
    // A section under an unknown name counts as not given.
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
    let mut findings = Plan::new(&scenario, base_dir).err().unwrap_or_default();
    findings.retain(|finding| {
        let depends_on = sources(section(&finding.path)).iter().copied().chain([finding.path.as_str()]);
        finding.severity == Severity::Error
            && !depends_on.into_iter().any(|source| broken.iter().any(|part| related(part, source)))
    });
    findings
}
