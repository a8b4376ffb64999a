//! The effective value of every field of a scenario, and where it came from.

use crate::document::{Document, join};
use serde_json::Value;

/// One effective value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The field as a dotted path, `traffic[0].load`.
    pub path: String,
    /// Its value as the scenario would write it; `automatic` for one that follows from others, as its documentation says.
    pub value: String,
    /// Where it came from: `scenario.toml:12`, `--set`, `given` (in Python) or `default`.
    pub origin: String,
}

/// Every field of the scenario that was read from `document`, in the order of the schema; `resolved` is what [`Scenario::resolved`] made
/// of it.
///
/// [`Scenario::resolved`]: crate::Scenario::resolved
pub fn explain(document: &Document, resolved: &Value) -> Vec<Setting> {
    let mut settings = Vec::new();
    collect(document, "", resolved, &mut settings);
    settings
}

fn collect(document: &Document, path: &str, value: &Value, settings: &mut Vec<Setting>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| collect(document, &join(path, key), value, settings))
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            items.iter().enumerate().for_each(|(i, item)| collect(document, &format!("{path}[{i}]"), item, settings));
        }
        leaf => settings.push(Setting {
            path: path.into(),
            value: if leaf.is_null() { "automatic".into() } else { leaf.to_string() },
            origin: document.origin(path).map_or("default".into(), |origin| document.describe(origin)),
        }),
    }
}
