//! Effective values that differ from the scenario: derived from a profile, from links, or from
//! other values.

use crate::document::join;
use crate::scenario::Scenario;
use crate::topology::Graph;
use backwater_engine::{Duration, Rate};
use backwater_fabric::ids::NodeId;
use backwater_fabric::mechanisms::congestion::CongestionConfig;
use backwater_fabric::mechanisms::flow_control::FlowControlConfig;
use backwater_fabric::mechanisms::headroom::HeadroomConfig;
use backwater_fabric::mechanisms::recovery::RecoveryConfig;
use backwater_fabric::network::fabric::Fabric;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// An effective value of an option that is unset, or set to another value.
#[derive(Clone, Debug, PartialEq)]
pub struct Effective {
    /// Dotted path of the option, `switch.headroom.headroom`.
    pub path: String,
    /// Effective value as a scenario would write it. If the value differs by place, a table from
    /// place (`100 Gbps, 1 us`) to value. A string such as `all` describes a setting that no value
    /// expresses.
    pub value: Value,
    /// Origin of the value: `profile paper`, `default`, or how it was derived from the written
    /// value.
    pub origin: String,
}

/// The effective value of an option, set or not.
struct Derived {
    /// Null for an option without effect.
    value: Value,
    /// Origin if the option is unset.
    origin: String,
    /// Derivation from a written value.
    made: &'static str,
}

/// Returns the effective values of all options in `fabric`, built from `graph`, that differ from
/// `fields`, the values of `scenario`.
pub(crate) fn effective(scenario: &Scenario, fields: &Value, graph: &Graph, fabric: &Fabric) -> Vec<Effective> {
    let mut derived = Derivation { fabric, values: BTreeMap::new() };
    for (key, value) in scenario.topology.effective_values() {
        derived.put(format!("topology.{key}"), value, DEFAULT, "");
    }
    derived.switches(scenario);
    derived.congestion(&scenario.congestion_control);
    derived.recovery(&scenario.recovery);
    derived.traffic(scenario, graph);
    let schema = Scenario::schema();
    let mut walk = Walk { root: &schema, derived: derived.values, found: Vec::new() };
    walk.node(&schema, fields, "");
    walk.found
}

/// Collector of derived values, by path.
struct Derivation<'f> {
    fabric: &'f Fabric,
    values: BTreeMap<String, Derived>,
}

/// Values by place.
type Places<K> = BTreeMap<K, Vec<Value>>;

impl Derivation<'_> {
    fn put(&mut self, path: String, value: impl Serialize, origin: &str, made: &'static str) {
        self.values.insert(path, Derived { value: json!(value), origin: origin.into(), made });
    }

    fn switches(&mut self, scenario: &Scenario) {
        let spec = &self.fabric.spec;
        let groups = spec.groups.iter().enumerate();
        let with_own = groups.filter_map(|(i, group)| Some((i, &group.switches, group.headroom.as_ref()?)));
        let mut others: BTreeSet<NodeId> = self.switch_ids().collect();
        for (i, switches, config) in with_own {
            switches.iter().for_each(|switch| {
                others.remove(switch);
            });
            self.headroom(&format!("groups[{i}].headroom"), config, switches.iter().copied());
        }
        self.headroom("switch.headroom", &scenario.switch.headroom, others);
        self.flow_control("switch.flow_control", &scenario.switch.flow_control);
        for (i, config) in
            spec.groups.iter().enumerate().filter_map(|(i, group)| Some((i, group.flow_control.as_ref()?)))
        {
            self.flow_control(&format!("groups[{i}].flow_control"), config);
        }
        let mut sizes: Places<usize> = Places::new();
        for switch in self.switch_ids() {
            let site = self.fabric.site(switch);
            let names = sizes.entry(site.ports.len() + site.unused_ports).or_default();
            names.push(json!(self.fabric.name(switch)));
        }
        let place = |names: &[Value]| match names {
            [Value::String(first)] => first.clone(),
            [Value::String(first), more @ ..] => format!("{first} and {} more", more.len()),
            _ => String::new(),
        };
        let ports = if sizes.len() == 1 {
            json!(sizes.keys().next())
        } else {
            sizes.iter().map(|(ports, names)| (place(names), json!(ports))).collect::<Map<_, _>>().into()
        };
        self.put("switch.ports".into(), ports, DEFAULT, "");
    }

    fn switch_ids(&self) -> impl Iterator<Item = NodeId> {
        self.fabric.spec.nodes.ids().filter(|node| self.fabric.is_switch(*node))
    }

    fn flow_control(&mut self, path: &str, config: &FlowControlConfig) {
        for (key, value) in config.effective_values(self.fabric.base_rtt) {
            self.put(format!("{path}.{key}"), value, DEFAULT, "");
        }
    }

    /// Derives the options of a buffer policy at the ports of `switches`.
    fn headroom(&mut self, path: &str, config: &HeadroomConfig, switches: impl IntoIterator<Item = NodeId>) {
        let mut options: BTreeMap<&str, Places<(Rate, Duration)>> = BTreeMap::new();
        for switch in switches {
            let site = self.fabric.site(switch);
            for (key, values) in config.effective_values(&site) {
                let places = options.entry(key).or_default();
                for (port, value) in site.ports.iter().zip(values) {
                    add(places, (port.rate, port.delay), json!(value));
                }
            }
        }
        for (key, places) in options {
            let value = by_place(places, |(rate, delay)| format!("{rate}, {delay}"));
            self.put(format!("{path}.{key}"), value, DEFAULT, "scaled by port rate");
        }
    }

    fn congestion(&mut self, config: &CongestionConfig) {
        let fabric = self.fabric;
        let rates_at = |hosts: bool| -> BTreeSet<Rate> {
            fabric
                .wiring
                .ports
                .iter()
                .filter(|port| fabric.is_switch(port.node) != hosts)
                .map(|port| port.rate)
                .collect()
        };
        let mut options: BTreeMap<String, Places<Rate>> = BTreeMap::new();
        for line_rate in rates_at(true) {
            for (key, value) in config.effective_values(&fabric.sender(line_rate)) {
                add(options.entry(key).or_default(), line_rate, value);
            }
        }
        let origin = |key: &str| {
            let profile = config.profile(key);
            let profile = profile.as_ref().and_then(Value::as_str).map(|name| format!("profile {name}"));
            profile.unwrap_or(DEFAULT.to_owned())
        };
        for (key, places) in options {
            let origin = origin(&key);
            let made = if matches!(key.as_str(), "window" | "base.window") {
                "link rate x longest base RTT"
            } else {
                "capped at the link rate"
            };
            let value = by_place(places, |rate| rate.to_string());
            self.put(format!("congestion_control.{key}"), value, &origin, made);
        }
        let mut at_switches: BTreeMap<String, Places<Rate>> = BTreeMap::new();
        for rate in rates_at(false) {
            for (key, value) in config.effective_values_at_switch(rate) {
                add(at_switches.entry(key).or_default(), rate, value);
            }
        }
        for (key, places) in at_switches {
            let value = by_place(places, |rate| rate.to_string());
            let (origin, made) = (origin(&key), "scaled by port rate");
            self.put(format!("congestion_control.{key}"), value, &origin, made);
        }
    }

    /// Derives the options of loss recovery at the hosts.
    fn recovery(&mut self, config: &RecoveryConfig) {
        let fabric = self.fabric;
        let mut options: BTreeMap<String, Places<Rate>> = BTreeMap::new();
        for port in fabric.wiring.ports.iter().filter(|port| !fabric.is_switch(port.node)) {
            for (key, value) in config.effective_values(&fabric.sender(port.rate)) {
                add(options.entry(key).or_default(), port.rate, value);
            }
        }
        for (key, places) in options {
            let value = by_place(places, |rate| rate.to_string());
            self.put(format!("recovery.{key}"), value, DEFAULT, "");
        }
    }

    fn traffic(&mut self, scenario: &Scenario, graph: &Graph) {
        let end = scenario.run.end_of_traffic();
        let capped = if scenario.run.ends_with_jobs() { "capped at `run.limit`" } else { "capped at `run.until`" };
        for (i, part) in scenario.traffic.iter().enumerate() {
            let common = part.common();
            self.put(format!("traffic[{i}].role"), common.role, DEFAULT, "");
            let stop = (!part.is_job()).then(|| common.stop.map_or(end, |stop| stop.min(end)));
            self.put(format!("traffic[{i}].stop"), stop, DEFAULT, capped);
            for (key, value) in part.effective_values(graph) {
                self.put(format!("traffic[{i}].{key}"), value, DEFAULT, "");
            }
        }
    }
}

const DEFAULT: &str = "default";

fn add<K: Ord>(places: &mut Places<K>, place: K, value: Value) {
    let known = places.entry(place).or_default();
    if !known.contains(&value) {
        known.push(value);
    }
}

/// Returns the common value, or a table from place to value. A place with several values has a
/// list.
fn by_place<K>(places: Places<K>, name: impl Fn(&K) -> String) -> Value {
    let mut all = places.values().flatten();
    match all.next() {
        Some(first) if all.all(|other| other == first) => first.clone(),
        _ => {
            let one_or_all = |values: &[Value]| match values {
                [only] => only.clone(),
                several => json!(several),
            };
            places.iter().map(|(place, values)| (name(place), one_or_all(values))).collect::<Map<_, _>>().into()
        }
    }
}

/// Walks the options of a scenario in the order of the schema.
struct Walk<'s> {
    root: &'s Value,
    derived: BTreeMap<String, Derived>,
    found: Vec<Effective>,
}

impl<'s> Walk<'s> {
    fn node(&mut self, schema: &'s Value, value: &Value, path: &str) {
        match (value, self.derived.remove(path)) {
            (Value::Object(fields), None) => {
                let properties = &table(self.root, schema, fields)["properties"];
                fields.iter().for_each(|(key, value)| self.node(&properties[key], value, &join(path, key)));
            }
            // Entries of nested lists, such as links and flows, have no derived values.
            (Value::Array(items), None) if !path.contains(['.', '[']) => {
                let of_items = &schema["items"];
                items.iter().enumerate().for_each(|(i, item)| self.node(of_items, item, &format!("{path}[{i}]")));
            }
            (Value::Null, Some(Derived { value: Value::Null, .. })) => {}
            (Value::Null, Some(Derived { value, origin, .. })) => {
                self.found.push(Effective { path: path.into(), value, origin });
            }
            // Unset options of flow sizes depend on the chosen alternative.
            (Value::Null, None) if path.starts_with("traffic") && path.matches('.').count() > 1 => {}
            (Value::Null, None) => {
                let words = schema["description"].as_str().and_then(default_in_words);
                self.found.extend(words.map(|words| Effective {
                    path: path.into(),
                    value: words.into(),
                    origin: DEFAULT.into(),
                }));
            }
            (written, Some(Derived { value, made, .. })) if *written != value => {
                self.found.push(Effective { path: path.into(), value, origin: made.into() });
            }
            _ => {}
        }
    }
}

/// Returns the schema of a table after resolving references, options and unions: the alternative
/// with the table's `kind`, or else the alternative that has properties.
fn table<'s>(root: &'s Value, schema: &'s Value, fields: &Map<String, Value>) -> &'s Value {
    if let Some(target) = schema["$ref"].as_str().and_then(|reference| root.pointer(reference.trim_start_matches('#')))
    {
        return table(root, target, fields);
    }
    let alternatives = ["oneOf", "anyOf"].iter().filter_map(|keyword| schema[*keyword].as_array()).flatten();
    let is_it = |schema: &&Value| {
        let properties = &schema["properties"];
        properties.is_object() && properties["kind"].get("const").is_none_or(|kind| Some(kind) == fields.get("kind"))
    };
    alternatives.map(|schema| table(root, schema, fields)).find(is_it).unwrap_or(schema)
}

/// Returns the default in a description, a name without its backticks: `all` of "Hosts that send.
/// Default: all."
fn default_in_words(description: &str) -> Option<String> {
    let words = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = words.split("Default").nth(1)?.trim_start_matches(':').trim_start();
    let end = [". ", " (", ";"].iter().filter_map(|mark| said.find(mark)).min().unwrap_or(said.len());
    let words = said[..end].trim_end_matches('.');
    let name = words.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    Some(name.filter(|name| !name.contains('`')).unwrap_or(words).into())
}
