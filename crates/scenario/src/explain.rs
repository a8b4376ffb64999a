//! Effective values of all options, with their origins.

use crate::document::{Document, join};
use crate::effective::Effective;
use crate::plan::Plan;
use serde_json::Value;
use std::collections::HashMap;

/// The effective value of an option.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Dotted path of the option, `traffic[0].load`.
    pub path: String,
    /// Value as a scenario would write it; [`Effective::value`] describes the exceptions.
    pub value: Value,
    /// Origin of the value: `scenario.toml:12`, `--set`, `given` (in Python), `default`, or
    /// `profile paper`.
    pub origin: String,
}

/// Returns all options with an effective value, in the order of the schema. `plan` was built from
/// `document`.
pub fn explain(document: &Document, plan: &Plan) -> Vec<Setting> {
    let effective = plan.effective.iter().map(|it| (it.path.as_str(), it)).collect();
    let mut explainer = Explainer { document, effective, settings: Vec::new() };
    explainer.collect("", &plan.fields);
    explainer.settings
}

struct Explainer<'a> {
    document: &'a Document,
    effective: HashMap<&'a str, &'a Effective>,
    settings: Vec<Setting>,
}

impl Explainer<'_> {
    fn collect(&mut self, path: &str, value: &Value) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                fields.iter().for_each(|(key, value)| self.collect(&join(path, key), value));
            }
            Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
                items.iter().enumerate().for_each(|(i, item)| self.collect(&format!("{path}[{i}]"), item));
            }
            leaf => {
                let written = self.document.origin(path).map(|origin| self.document.describe(origin));
                let written = written.unwrap_or("default".into());
                let (value, origin) = match (leaf, self.effective.get(path)) {
                    (Value::Null, None) => return,
                    (Value::Null, Some(effective)) => (effective.value.clone(), effective.origin.clone()),
                    (_, Some(effective)) => (effective.value.clone(), format!("{written}, {}", effective.origin)),
                    (value, None) => (value.clone(), written),
                };
                self.settings.push(Setting { path: path.into(), value, origin });
            }
        }
    }
}
