//! The effective value of every field of a scenario, and where it came from.

use crate::document::{Document, join};
use crate::plan::Plan;
use backwater_fabric::congestion::CongestionConfig;
use backwater_fabric::spec::NodeKind;
use serde_json::Value;
use std::collections::BTreeSet;

/// One effective value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The field as a dotted path, `traffic[0].load`.
    pub path: String,
    /// Its value as the scenario would write it; `automatic` for one that follows from others, as its documentation says.
    pub value: String,
    /// Where it came from: `scenario.toml:12`, `--set`, `given` (in Python), `default`, or `profile paper`.
    pub origin: String,
}

/// Every field of the scenario that `plan` was made of, in the order of the schema; `document` is what it was read from.
pub fn explain(document: &Document, plan: &Plan) -> Vec<Setting> {
    let mut explainer = Explainer { document, profile: profile(plan), settings: Vec::new() };
    explainer.collect("", &plan.resolved);
    explainer.settings
}

/// A named set of parameters of congestion control: its name, and the values on the hosts' links, if those all have the same rate.
fn profile(plan: &Plan) -> Option<(String, Value)> {
    let CongestionConfig::Dcqcn(dcqcn) = &plan.spec.congestion else { return None };
    let is_host = |node: usize| plan.spec.nodes[node].kind == NodeKind::Host;
    let links = plan.spec.links.iter().filter(|link| is_host(link.a.0 as usize) || is_host(link.b.0 as usize));
    let rates: BTreeSet<_> = links.map(|link| link.rate).collect();
    let name = plan.resolved["congestion_control"]["profile"].as_str()?;
    match Vec::from_iter(rates)[..] {
        [rate] => Some((format!("profile {name}"), serde_json::to_value(dcqcn.parameters(rate)).ok()?)),
        _ => None,
    }
}

struct Explainer<'a> {
    document: &'a Document,
    profile: Option<(String, Value)>,
    settings: Vec<Setting>,
}

impl Explainer<'_> {
    fn collect(&mut self, path: &str, value: &Value) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(key, value)| self.collect(&join(path, key), value)),
            Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
                items.iter().enumerate().for_each(|(i, item)| self.collect(&format!("{path}[{i}]"), item));
            }
            leaf => {
                let written = self.document.origin(path).map(|origin| self.document.describe(origin));
                let (value, origin) = match (leaf, self.of_profile(path)) {
                    (Value::Null, Some((profile, value))) => (value.to_string(), profile.clone()),
                    (Value::Null, None) => ("automatic".into(), written.unwrap_or("default".into())),
                    (value, _) => (value.to_string(), written.unwrap_or("default".into())),
                };
                self.settings.push(Setting { path: path.into(), value, origin });
            }
        }
    }

    fn of_profile(&self, path: &str) -> Option<(&String, &Value)> {
        let (name, parameters) = self.profile.as_ref()?;
        Some((name, parameters.get(path.strip_prefix("congestion_control.")?)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_value_says_where_it_came_from() {
        let text = "run.seed = 3\ntopology = { kind = \"star\", hosts = 2 }\ncongestion_control = { kind = \"dcqcn\", profile = \"paper\" }\n\
                    [[traffic]]\nkind = \"long-lived\"\npairs = [[\"h0\", \"h1\"]]\n";
        let mut document = Document::from_toml("s.toml", text).unwrap();
        document.set("network.mtu=4096 B").unwrap();
        let plan = Plan::from_document(&document, Path::new(".")).unwrap();
        let settings = explain(&document, &plan);
        for (path, value, origin) in [
            ("run.seed", "3", "s.toml:1"),
            ("run.until", "\"1 ms\"", "default"),
            ("run.shards", "automatic", "default"),
            ("topology.hosts", "2", "s.toml:2"),
            ("network.mtu", "\"4 KiB\"", "--set"),
            ("switch.lossless", "[3]", "default"),
            ("congestion_control.profile", "\"paper\"", "s.toml:3"),
            ("congestion_control.cnp_interval", "\"50 us\"", "profile paper"),
            ("congestion_control.gain", "0.00390625", "profile paper"),
            ("traffic[0].pairs[0]", "[\"h0\",\"h1\"]", "s.toml:6"),
        ] {
            let setting = settings.iter().find(|setting| setting.path == path).unwrap_or_else(|| panic!("{path}"));
            assert_eq!((setting.value.as_str(), setting.origin.as_str()), (value, origin), "{path}");
        }
    }
}
