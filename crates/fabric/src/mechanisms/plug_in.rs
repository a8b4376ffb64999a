//! Mechanisms of other crates, and their registration under names for scenarios.
//!
//! A program registers mechanisms before it reads a scenario, slot by slot:
//! `FlowControlConfig::register::<OnOffConfig>("on-off", "1.0.0")`.

use crate::contract::Diagnostic;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// Mechanism of another crate, with its factory.
pub struct Custom<F: ?Sized> {
    factory: Arc<F>,
    named: Option<Named>,
}

/// Name and options in a scenario.
#[derive(Clone, Debug)]
struct Named {
    name: &'static str,
    version: &'static str,
    /// Options with every default filled in.
    options: Value,
}

impl<F: ?Sized> Custom<F> {
    /// Returns a mechanism that no scenario can name.
    pub(crate) fn unnamed(factory: Arc<F>) -> Custom<F> {
        Custom { factory, named: None }
    }

    pub(crate) fn factory(&self) -> &F {
        &self.factory
    }

    pub(crate) fn plug_in(&self) -> Option<(&'static str, &'static str)> {
        self.named.as_ref().map(|named| (named.name, named.version))
    }

    /// Returns kind and options as in a scenario, if the mechanism is registered.
    pub(crate) fn written(&self) -> Result<Value, &'static str> {
        let named = self.named.as_ref().ok_or("the mechanism is not registered, so it has no name in scenarios")?;
        let kind = (KIND.to_owned(), named.name.into());
        let options = named.options.as_object().into_iter().flatten();
        Ok([kind].into_iter().chain(options.map(|(key, value)| (key.clone(), value.clone()))).collect())
    }
}

impl<F: ?Sized> Clone for Custom<F> {
    fn clone(&self) -> Custom<F> {
        Custom { factory: self.factory.clone(), named: self.named.clone() }
    }
}

impl<F: ?Sized + fmt::Debug> fmt::Debug for Custom<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Custom").field(&self.plug_in()).field(&&*self.factory).finish()
    }
}

/// Key of a mechanism's name among its options.
const KIND: &str = "kind";

/// Registered mechanisms of other crates in a slot, by name.
pub(crate) struct PlugIns<F: ?Sized + 'static>(RwLock<BTreeMap<&'static str, PlugIn<F>>>);

struct PlugIn<F: ?Sized> {
    version: &'static str,
    /// Schema of the options, including `kind`.
    schema: Map<String, Value>,
    read: Read<F>,
}

/// Reads options. Returns the factory, and the options with every default filled in.
type Read<F> = fn(Value) -> Result<(Arc<F>, Value), serde_json::Error>;

impl<F: ?Sized> PlugIns<F> {
    pub(crate) const fn none() -> PlugIns<F> {
        PlugIns(RwLock::new(BTreeMap::new()))
    }

    /// Registers a mechanism with options `T` in addition to the `built_in` ones.
    pub(crate) fn add<T: JsonSchema>(
        &self,
        built_in: &[&str],
        name: &'static str,
        version: &'static str,
        read: Read<F>,
    ) -> Result<(), Diagnostic> {
        let error = |reason: &str| Diagnostic::error("", format!("mechanism \"{name}\": {reason}"));
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
            return Err(error("the name must consist of one or more lower-case letters, digits and hyphens"));
        }
        // The schema is made before the lock is taken: options that contain a mechanism of this
        // slot query the same registry.
        let schema = schema_of::<T>(name).map_err(error)?;
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut taken = built_in.iter().chain(known.keys());
        if taken.any(|other| *other == name) {
            let all: Vec<&str> = built_in.iter().chain(known.keys()).copied().collect();
            return Err(error(&format!("the name is already in use (used names: {})", all.join(", "))));
        }
        known.insert(name, PlugIn { version, schema, read });
        Ok(())
    }

    /// Reads `options` if their kind is registered.
    pub(crate) fn read(&self, options: &Map<String, Value>) -> Option<Result<Custom<F>, serde_json::Error>> {
        let (name, version, read) = self.find(options.get(KIND)?.as_str()?)?;
        let own = options.iter().filter(|(key, _)| *key != KIND).map(|(key, value)| (key.clone(), value.clone()));
        let custom = |(factory, options)| Custom { factory, named: Some(Named { name, version, options }) };
        Some(read(own.collect()).map(custom))
    }

    /// Returns name, version and reader of a mechanism. The reader is called without the lock:
    /// options may contain a mechanism of this slot.
    fn find(&self, name: &str) -> Option<(&'static str, &'static str, Read<F>)> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let (name, plug_in) = known.get_key_value(name)?;
        Some((name, plug_in.version, plug_in.read))
    }

    /// Adds the registered mechanisms to the `schema` of the slot.
    pub(crate) fn describe(&self, schema: &mut Schema) {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(kinds) = schema.get_mut("oneOf").and_then(Value::as_array_mut) {
            kinds.extend(known.values().map(|plug_in| Value::Object(plug_in.schema.clone())));
        }
    }
}

/// Returns the self-contained schema of a table with the kind `name` and the fields of `T`.
fn schema_of<T: JsonSchema>(name: &str) -> Result<Map<String, Value>, &'static str> {
    let generator = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true).into_generator();
    let Value::Object(mut schema) = generator.into_root_schema_for::<T>().to_value() else {
        return Err(NO_TABLE);
    };
    if schema.get("type").is_none_or(|kind| kind != "object") || schema.contains_key("oneOf") {
        return Err(NO_TABLE);
    }
    // After inlining, a schema contains a reference only if it contains itself.
    if json!(schema).to_string().contains("\"$ref\":") {
        return Err("its options must not be recursive");
    }
    let fields = schema.remove("properties").unwrap_or_default();
    if fields.get(KIND).is_some() {
        return Err("no option may be called kind: that key names the mechanism");
    }
    let kind = (KIND.to_owned(), json!({ "type": "string", "const": name }));
    let fields = fields.as_object().cloned().unwrap_or_default();
    schema.insert("properties".into(), [kind].into_iter().chain(fields).collect());
    let required = schema.remove("required");
    let required = required.as_ref().and_then(Value::as_array).into_iter().flatten();
    schema.insert("required".into(), [&json!(KIND)].into_iter().chain(required).cloned().collect());
    // Unknown keys are errors, even if serde ignores them.
    schema.insert("additionalProperties".into(), false.into());
    schema.retain(|key, _| key != "$schema" && key != "title");
    Ok(schema)
}

const NO_TABLE: &str = "its options must be a struct with named fields; without options, use struct Config {}";
