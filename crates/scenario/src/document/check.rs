//! Compares a document with a JSON Schema and collects all violations.
//!
//! Supports the schemas that `schemars` derives from serde types: objects, lists, quantities
//! (strings with a `format`), unions distinguished by a `kind`, enumerations of names, and options.

use super::{Content, Document, Entry, Origin, ValueNode, join};
use crate::diagnostic::{Diagnostic, allowed_names, closest, unit_meant};
use backwater_engine::units::{Quantity, UnitError};
use backwater_engine::{Bytes, Duration, Rate};
use serde_json::Value;

/// Returns all violations of `schema` in `document`, in the order of the document.
pub(crate) fn check(schema: &Value, document: &Document) -> Vec<Diagnostic> {
    let mut checker = Checker { root: schema, document, errors: Vec::new() };
    checker.node(schema, &document.root, "");
    checker.errors
}

struct Checker<'s> {
    root: &'s Value,
    document: &'s Document,
    errors: Vec<Diagnostic>,
}

/// Values that a schema allows, after references, options and unions are resolved.
enum SchemaShape<'s> {
    /// Tables of several variants, which the value of their key `tag` distinguishes.
    Tagged { tag: &'s str, variants: Vec<(&'s str, &'s Value)> },
    /// One of these names.
    Names(Vec<&'s str>),
    /// A value of any of these schemas.
    Union(Vec<&'s Value>),
    /// Values that the schema's own keywords describe.
    Plain(&'s Value),
}

impl<'s> Checker<'s> {
    fn report(&mut self, node: &ValueNode, error: Diagnostic) {
        let value = error.value.clone().or_else(|| node.text());
        let error = self.document.at(&node.origin, error);
        self.errors.push(Diagnostic { value, ..error });
    }

    fn resolve(&self, schema: &'s Value) -> &'s Value {
        let target = schema["$ref"].as_str().and_then(|reference| self.root.pointer(reference.trim_start_matches('#')));
        target.map_or(schema, |target| self.resolve(target))
    }

    fn shape(&self, schema: &'s Value) -> SchemaShape<'s> {
        let schema = self.resolve(schema);
        if let Some(names) = names(schema) {
            return SchemaShape::Names(names);
        }
        let Some(alternatives) = ["oneOf", "anyOf"].iter().find_map(|keyword| schema[*keyword].as_array()) else {
            return SchemaShape::Plain(schema);
        };
        let alternatives: Vec<_> =
            alternatives.iter().map(|schema| self.resolve(schema)).filter(|schema| schema["type"] != "null").collect();
        if let [only] = alternatives[..] {
            return self.shape(only);
        }
        if let Some(names) = alternatives.iter().map(|schema| names(schema)).collect::<Option<Vec<_>>>() {
            return SchemaShape::Names(names.concat());
        }
        let tagged = |tag| {
            alternatives.iter().map(|schema| Some((schema["properties"][tag]["const"].as_str()?, *schema))).collect()
        };
        match tagged("kind") {
            Some(variants) => SchemaShape::Tagged { tag: "kind", variants },
            None => SchemaShape::Union(alternatives),
        }
    }

    /// True if null is allowed.
    fn nullable(&self, schema: &Value) -> bool {
        let is_null = |schema: &Value| schema["type"] == "null" || listed(&schema["type"]).any(|name| name == "null");
        is_null(schema) || schema["anyOf"].as_array().is_some_and(|any| any.iter().any(is_null))
    }

    fn node(&mut self, schema: &'s Value, node: &ValueNode, path: &str) {
        if matches!(node.content, Content::Scalar(Value::Null)) && self.nullable(schema) {
            return;
        }
        match self.shape(schema) {
            SchemaShape::Tagged { tag, variants } => self.tagged(tag, &variants, node, path),
            SchemaShape::Names(names) => match &node.content {
                Content::Scalar(Value::String(name)) if names.contains(&name.as_str()) => {}
                Content::Scalar(Value::String(name)) => {
                    self.report(node, Diagnostic::error(path, "unknown name").hint(allowed_names(name, &names)));
                }
                _ => self.report(
                    node,
                    Diagnostic::error(path, "must be a name").hint(format!("allowed: {}", names.join(", "))),
                ),
            },
            SchemaShape::Union(alternatives) => self.union(&alternatives, node, path),
            SchemaShape::Plain(plain) => {
                match (&node.content, plain["type"].as_str().or_else(|| listed(&plain["type"]).next())) {
                    (Content::Table(entries), Some("object")) => self.table(plain, entries, &[], node, path),
                    (Content::List(items), Some("array")) => self.list(plain, items, node, path),
                    (Content::Scalar(value), Some(kind)) if !matches!(kind, "object" | "array") => {
                        self.scalar(kind, plain, value, node, path);
                    }
                    (_, Some(kind)) => self.wrong_type(kind, plain, node, path),
                    (_, None) => {}
                }
            }
        }
        // A range beside a reference further restricts the value.
        if let (true, Content::Scalar(value)) = (schema.get("$ref").is_some(), &node.content) {
            self.range(schema, value, node, path);
        }
    }

    fn tagged(&mut self, tag: &'s str, variants: &[(&'s str, &'s Value)], node: &ValueNode, path: &str) {
        let names: Vec<_> = variants.iter().map(|(name, _)| *name).collect();
        let allowed = names.join(", ");
        let Content::Table(entries) = &node.content else {
            let error = Diagnostic::error(path, "must be a table");
            return match &node.content {
                Content::Scalar(Value::String(name)) => {
                    let name = closest(name, names.iter().copied()).unwrap_or(names[0]);
                    let key = path.rsplit('.').next().unwrap_or(path);
                    self.report(
                        node,
                        error.hint(format!("write {key} = {{ {tag} = \"{name}\" }} (allowed: {allowed})")),
                    );
                }
                Content::List(_) => self.report(node, error.hint(format!("write [{path}], with one pair of brackets"))),
                _ => self.report(node, error),
            };
        };
        let Some(Entry { node: name_node, .. }) = entries.iter().find(|entry| entry.key == tag) else {
            let error = Diagnostic::error(join(path, tag), "is missing").hint(format!("allowed: {allowed}"));
            return self.report(node, error);
        };
        let path_of_tag = join(path, tag);
        match &name_node.content {
            Content::Scalar(Value::String(name)) => match variants.iter().find(|(variant, _)| variant == name) {
                Some((_, schema)) => self.table(schema, entries, variants, node, path),
                None => {
                    self.report(
                        name_node,
                        Diagnostic::error(path_of_tag, "unknown name").hint(allowed_names(name, &names)),
                    );
                }
            },
            _ => self.report(
                name_node,
                Diagnostic::error(path_of_tag, "must be a name").hint(format!("allowed: {allowed}")),
            ),
        }
    }

    /// Checks a table. A misplaced key may belong to one of the other kinds in `variants`.
    fn table(
        &mut self,
        schema: &'s Value,
        entries: &[Entry],
        variants: &[(&str, &Value)],
        node: &ValueNode,
        path: &str,
    ) {
        let known = schema["properties"].as_object();
        let known_names: Vec<_> = known.into_iter().flat_map(|fields| fields.keys().map(String::as_str)).collect();
        for entry in entries {
            let path = join(path, &entry.key);
            let others = &schema["additionalProperties"];
            match known.and_then(|fields| fields.get(&entry.key)) {
                Some(field) => self.node(field, &entry.node, &path),
                None if others.is_object() => self.node(others, &entry.node, &path),
                None if others == false => {
                    let owners = variants.iter().filter(|(_, variant)| variant["properties"].get(&entry.key).is_some());
                    let owners: Vec<_> = owners.map(|(name, _)| format!("\"{name}\"")).collect();
                    let hint = match (owners.is_empty(), known_names.is_empty()) {
                        (false, _) => {
                            format!(
                                "this key belongs to kind {}; allowed: {}",
                                owners.join(", "),
                                known_names.join(", ")
                            )
                        }
                        (true, false) => allowed_names(&entry.key, &known_names),
                        (true, true) => "this table has no keys".into(),
                    };
                    let error = Diagnostic::error(path, "unknown key").hint(hint);
                    self.errors.push(self.document.at(&entry.key_origin, error));
                }
                None => {}
            }
        }
        for name in listed(&schema["required"]).filter(|name| entries.iter().all(|entry| entry.key != *name)) {
            let field = &schema["properties"][name];
            let error = Diagnostic::error(join(path, name), "is missing");
            let error = match self.example(field, name) {
                Some(example) => error.hint(format!("write for example {example}")),
                None => error,
            };
            let error = self.document.at(&node.origin, error);
            self.errors.push(error);
        }
    }

    fn list(&mut self, schema: &'s Value, items: &[ValueNode], node: &ValueNode, path: &str) {
        for (i, item) in items.iter().enumerate() {
            let of_item = schema["prefixItems"].get(i).unwrap_or(&schema["items"]);
            self.node(of_item, item, &format!("{path}[{i}]"));
        }
        let length = items.len() as u64;
        let (least, most) = (schema["minItems"].as_u64().unwrap_or(0), schema["maxItems"].as_u64().unwrap_or(u64::MAX));
        if length < least || length > most {
            let wanted = match (least, most) {
                (least, most) if least == most => format!("exactly {least}"),
                (least, u64::MAX) => format!("at least {least}"),
                (least, most) => format!("{least} to {most}"),
            };
            let entries = if wanted.ends_with(" 1") { "entry" } else { "entries" };
            self.report(node, Diagnostic::error(path, format!("must have {wanted} {entries}; found {length}")));
        }
    }

    fn union(&mut self, alternatives: &[&'s Value], node: &ValueNode, path: &str) {
        let before = self.errors.len();
        let mut fewest: Option<Vec<Diagnostic>> = None;
        for alternative in alternatives {
            self.node(alternative, node, path);
            let errors = self.errors.split_off(before);
            if errors.is_empty() {
                return;
            }
            // Prefer the errors of the alternative that has the right type. A single word is named
            // in the hint below.
            let type_fits = errors.iter().all(|it| it.path != path || !it.message.starts_with("must be a"));
            if fewest.is_none() || type_fits && !alternative["const"].is_string() {
                fewest = Some(errors);
            }
        }
        let words: String = alternatives
            .iter()
            .filter_map(|schema| names(schema))
            .flatten()
            .fold(String::new(), |words, word| format!("{words}, or \"{word}\""));
        let or_word = |error: Diagnostic| match &error.hint {
            Some(hint) => Diagnostic { hint: Some(format!("{hint}{words}")), ..error },
            None if !words.is_empty() => error.hint(words.trim_start_matches(", ")),
            None => error,
        };
        self.errors.extend(fewest.into_iter().flatten().map(or_word));
    }

    fn scalar(&mut self, kind: &str, schema: &'s Value, value: &Value, node: &ValueNode, path: &str) {
        match (kind, value) {
            ("string", Value::String(text)) => {
                let format = schema["format"].as_str();
                let is_name = format == Some("bytes-or-name") && !text.starts_with(|c: char| c.is_ascii_digit());
                if let Some(kind) = format.filter(|_| !is_name).and_then(quantity_of)
                    && let Err(error) = read_quantity(kind, text)
                {
                    self.report(node, Diagnostic { path: path.into(), value: None, ..*error });
                }
            }
            ("integer", Value::Number(number)) if number.is_i64() || number.is_u64() => {
                self.range(schema, value, node, path)
            }
            // `--set` reads a number beyond 64 bits as a string.
            ("integer", Value::String(digits)) if digits.parse::<u128>().is_ok_and(|value| value > u64::MAX.into()) => {
                self.report(node, Diagnostic::error(path, limits(schema, greatest(schema))));
            }
            ("number", Value::Number(_)) => self.range(schema, value, node, path),
            ("boolean", Value::Bool(_)) => {}
            _ => self.wrong_type(kind, schema, node, path),
        }
    }

    fn wrong_type(&mut self, kind: &str, schema: &'s Value, node: &ValueNode, path: &str) {
        let unit = schema["format"].as_str().and_then(quantity_of).map(usual_unit);
        let quoted = if node.origin == Origin::Set { "" } else { ", in quotes" };
        let wanted = match (kind, unit) {
            ("string", Some(_)) => format!("must be a number with a unit{quoted}"),
            ("string", None) => "must be a string in quotes".into(),
            ("integer" | "number", _) => {
                let whole = if kind == "integer" { "whole " } else { "" };
                let limits = limits(schema, None).replace("must be at", ", at").replace("must be from", " from");
                format!("must be a {whole}number{limits}")
            }
            ("boolean", _) => "must be true or false".into(),
            ("array", _) => "must be a list".into(),
            _ => "must be a table".into(),
        };
        let key = path.rsplit('.').next().unwrap_or(path);
        let hint = match (&node.content, kind, unit) {
            (Content::Scalar(number @ Value::Number(_)), "string", Some(unit)) => {
                Some(format!("write \"{number} {unit}\""))
            }
            (Content::Scalar(value @ (Value::Number(_) | Value::Bool(_))), "string", None) => {
                Some(format!("write \"{value}\""))
            }
            (Content::Scalar(Value::String(text)), "integer" | "number" | "boolean", _)
                if matches!(serde_json::from_str(text), Ok(Value::Number(_) | Value::Bool(_))) =>
            {
                Some(format!("write {text} without quotes"))
            }
            (Content::Table(_), "array", _) => Some(format!("write [[{path}]], with two pairs of brackets")),
            (Content::List(_), "object", _) => Some(format!("write [{path}], with one pair of brackets")),
            (Content::Scalar(value), "array", _) => Some(format!("write {key} = [{value}]")),
            _ => None,
        };
        let error = Diagnostic::error(path, wanted);
        self.report(node, Diagnostic { hint, ..error });
    }

    fn range(&mut self, schema: &Value, value: &Value, node: &ValueNode, path: &str) {
        let Some(number) = value.as_f64() else { return };
        let bound = |keyword: &str| schema[keyword].as_f64();
        let of_type = greatest(schema).filter(|most| number > *most as f64);
        let is_below = bound("minimum").is_some_and(|least| number < least);
        let is_above = bound("maximum").is_some_and(|most| number > most);
        if is_below || is_above || of_type.is_some() {
            self.report(node, Diagnostic::error(path, limits(schema, of_type)));
        }
    }

    /// Returns a line that would add a missing option.
    fn example(&self, field: &'s Value, name: &str) -> Option<String> {
        Some(match self.shape(field) {
            SchemaShape::Tagged { tag, variants } => format!("{name} = {{ {tag} = \"{}\" }}", variants.first()?.0),
            SchemaShape::Names(names) => format!("{name} = \"{}\"", names.first()?),
            SchemaShape::Union(_) => return None,
            SchemaShape::Plain(plain) => match plain["type"].as_str()? {
                "string" => format!("{name} = {}", plain["examples"].get(0)?),
                "array" => match self.shape(&plain["items"]) {
                    SchemaShape::Tagged { tag, variants } => {
                        format!("[[{name}]] with {tag} = \"{}\"", variants.first()?.0)
                    }
                    _ => return None,
                },
                _ => return None,
            },
        })
    }
}

/// Returns the strings of a list.
fn listed(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Returns the names that an enumeration allows.
fn names(schema: &Value) -> Option<Vec<&str>> {
    match (schema["const"].as_str(), schema["enum"].as_array()) {
        (Some(name), _) => Some(vec![name]),
        (None, Some(names)) => names.iter().filter(|name| !name.is_null()).map(Value::as_str).collect(),
        (None, None) => None,
    }
}

/// Returns the greatest number of an integer type.
fn greatest(schema: &Value) -> Option<u64> {
    match schema["format"].as_str()? {
        "uint8" => Some(u8::MAX.into()),
        "uint16" => Some(u16::MAX.into()),
        "uint32" => Some(u32::MAX.into()),
        "uint64" => Some(u64::MAX),
        _ => None,
    }
}

/// Returns the range of a number in words, such as "must be from 0 to 1"; empty without a range.
/// `of_type` is the greatest number of the type, if this number limits the range.
fn limits(schema: &Value, of_type: Option<u64>) -> String {
    let bound = |keyword: &str| schema[keyword].as_f64().map(|bound| bound.to_string());
    let most = bound("maximum").or(of_type.map(|most| most.to_string()));
    match (bound("minimum"), most) {
        (Some(least), Some(most)) => format!("must be from {least} to {most}"),
        (Some(least), None) => format!("must be at least {least}"),
        (None, Some(most)) => format!("must be at most {most}"),
        (None, None) => String::new(),
    }
}

/// Returns the kind of quantity that `format` denotes.
fn quantity_of(format: &str) -> Option<Quantity> {
    match format {
        "bytes" | "bytes-or-name" => Some(Quantity::Size),
        "rate" => Some(Quantity::Rate),
        "duration" | "time" => Some(Quantity::Time),
        _ => None,
    }
}

/// Returns the most likely unit of a number without a unit.
fn usual_unit(kind: Quantity) -> &'static str {
    match kind {
        Quantity::Size => "B",
        Quantity::Rate => "Gbps",
        Quantity::Time => "us",
    }
}

/// Largest quantities that a scenario may contain. No network needs larger ones, and sums and
/// products of a few of them do not overflow.
const MOST_BYTES: Bytes = Bytes(1 << 40);
const MOST_RATE: Rate = Rate::from_gbps(1_000_000);
const MOST_TIME: Duration = Duration::from_ms(1_000_000_000);

/// Reads a quantity in base units: ps, bytes or bits per second.
///
/// # Errors
/// If `text` is not a quantity. The error has no path.
pub fn read_quantity(kind: Quantity, text: &str) -> Result<u64, Box<Diagnostic>> {
    let (most, written) = match kind {
        Quantity::Size => (MOST_BYTES.get(), MOST_BYTES.to_string()),
        Quantity::Rate => (MOST_RATE.bps(), MOST_RATE.to_string()),
        Quantity::Time => (MOST_TIME.ps(), MOST_TIME.to_string()),
    };
    let (message, hint) = match kind.read(text) {
        Ok(value) if value <= most => return Ok(value),
        Ok(_) | Err(UnitError::TooLarge(_)) => (format!("must be at most {written}"), None),
        Err(UnitError::NoNumber(_, example)) => {
            ("does not start with a number".into(), Some(format!("write for example \"{example}\"")))
        }
        Err(UnitError::NoUnit(_, _, units)) => {
            let example = format!("\"{} {}\"", text.trim(), usual_unit(kind));
            ("has no unit".into(), Some(format!("write for example {example} (units: {})", units.join(", "))))
        }
        Err(UnitError::UnknownUnit(unknown, units)) => {
            (format!("\"{unknown}\" is not a unit"), Some(unit_meant(&unknown, &units)))
        }
        Err(UnitError::NotRepresentable(_, why)) => (format!("is {why}"), None),
    };
    Err(Box::new(Diagnostic { hint, ..Diagnostic::error("", message).value(format!("\"{text}\"")) }))
}

#[cfg(test)]
mod tests;
