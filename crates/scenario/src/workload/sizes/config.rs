//! Options of flow sizes, turned into a sampler.

use super::{Distribution, LIBRARY, MAX_BYTES, SizeTable, library};
use crate::diagnostic::Diagnostic;
use backwater_engine::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};
use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

/// Sizes of flows. Exactly one of `name`, `path`, `fixed` and `uniform` must be set.
///
/// A string is short for a table with one key: `"websearch-dctcp"` for `name`, `"64 KB"` for
/// `fixed`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct SizesConfig(pub SizesTable);

/// Sizes of flows, as a table with exactly one of `name`, `path`, `fixed` and `uniform`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SizesTable {
    /// Name of a distribution in the library, such as `websearch-dctcp`; `data/README.md` lists all
    /// of these distributions.
    pub name: Option<String>,
    /// Path of a file, relative to the scenario's directory: lines `<bytes> <cumulative percent>`
    /// (HPCC family; Pyrrha's files have the mean in line 1), or a table in the library's format
    /// (`.toml`).
    pub path: Option<PathBuf>,
    /// Size of all flows.
    pub fixed: Option<Bytes>,
    /// Bounds of a uniform distribution, both included.
    pub uniform: Option<(Bytes, Bytes)>,
    /// Interpolation between the points of a table. Default: the table's own rule; `linear` for a
    /// file of lines.
    pub interpolation: Option<Interpolation>,
    /// Largest size. Larger flows never occur; the other probabilities are scaled up in proportion.
    /// Default: no limit.
    pub truncate: Option<Bytes>,
    /// With `path`: bytes per unit of size in the file, for files that count packets. With
    /// `uniform`: all sizes are multiples of the unit, with equal probability, and both bounds must
    /// be multiples. Default 1 B.
    pub unit: Option<Bytes>,
}

/// Maximum number of sizes of a uniform distribution with a unit. Each size is a point of a table.
const MAX_MULTIPLES: u64 = 100_000;

/// Interpolation between two points of a table of cumulative probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// Uniform (the traffic generators of HPCC and ConWeave, ns-3's empirical variable).
    #[default]
    Linear,
    /// Uniform in the logarithm of the size, as such curves are usually drawn.
    LogLinear,
    /// No interpolation: every size is one of the points.
    Step,
}

impl<'de> Deserialize<'de> for SizesConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = SizesConfig;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a size distribution, a size such as \"64 KB\", or a table")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<SizesConfig, E> {
                Ok(SizesConfig(if text.starts_with(|c: char| c.is_ascii_digit()) {
                    SizesTable { fixed: Some(text.parse().map_err(de::Error::custom)?), ..Default::default() }
                } else {
                    SizesTable { name: Some(text.into()), ..Default::default() }
                }))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<SizesConfig, A::Error> {
                SizesTable::deserialize(de::value::MapAccessDeserializer::new(map)).map(SizesConfig)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for SizesConfig {
    fn schema_name() -> Cow<'static, str> {
        "SizesConfig".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = SizesTable::json_schema(generator);
        json_schema!({
            "description": "Sizes of flows: the name of a distribution, a size, or a table with exactly one of name, \
                path, fixed and uniform.",
            "anyOf": [{ "type": "string", "format": "bytes-or-name", "examples": ["websearch-dctcp", "64 KB"] }, table]
        })
    }
}

impl SizesConfig {
    /// Returns the sampler with its label and notes for the user.
    ///
    /// # Errors
    /// If options contradict each other or a file cannot be read. Paths are below `field`.
    pub fn resolve(&self, field: &str, base_dir: &Path) -> Result<FlowSizes, Vec<Diagnostic>> {
        let table = &self.0;
        let error = |key: &str, message: String| vec![Diagnostic::error(format!("{field}{key}"), message)];
        let given = [table.name.is_some(), table.path.is_some(), table.fixed.is_some(), table.uniform.is_some()];
        if given.into_iter().filter(|given| *given).count() != 1 {
            return Err(error("", "set exactly one of `name`, `path`, `fixed` and `uniform`".into()));
        }
        if table.unit.is_some() && table.path.is_none() && table.uniform.is_none() {
            return Err(error(".unit", "is allowed only with `path` or `uniform`".into()));
        }
        if table.interpolation.is_some() && (table.fixed.is_some() || table.uniform.is_some()) {
            return Err(error(".interpolation", "is allowed only with `name` or `path`".into()));
        }
        let size = |key: &str, Bytes(bytes): Bytes| match bytes {
            1..=MAX_BYTES => Ok(bytes),
            _ => Err(error(key, "must be from 1 B to 1 PB".into())),
        };
        let unit = size(".unit", table.unit.unwrap_or(Bytes(1)))?;
        let mut notes = Vec::new();
        let (label, distribution) = if let Some(name) = &table.name {
            let Some(known) = library(name) else {
                return Err(vec![unknown(field, name)]);
            };
            (name.clone(), known.distribution(table.interpolation, 1).map_err(|message| error("", message))?)
        } else if let Some(path) = &table.path {
            let label = path.display().to_string();
            let known = read(&base_dir.join(path)).map_err(|message| error(".path", format!("{label}: {message}")))?;
            let sizes = known
                .distribution(table.interpolation, unit)
                .map_err(|message| error(".unit", format!("{label}: with a unit of {unit} B, {message}")))?;
            if let Some(stated) = known.stated_mean {
                let (stated, mean) = (bytes(stated * unit as f64), bytes(sizes.mean()));
                notes.push(format!(
                    "{label} states a mean of {stated}, but its points give {mean}; loads are computed from the points"
                ));
            }
            (label, sizes)
        } else if let Some(fixed) = table.fixed {
            (fixed.to_string(), Distribution::fixed(size(".fixed", fixed)?))
        } else {
            let (low, high) = table.uniform.expect("exactly one of the four is given, and not the other three");
            let (from, to) = (size(".uniform[0]", low)?, size(".uniform[1]", high)?);
            if from > to {
                return Err(error(".uniform", "must list the smaller size first".into()));
            }
            let label = format!("uniform {low} to {high}");
            if table.unit.is_none() {
                (label, Distribution::uniform(from, to))
            } else if from % unit != 0 || to % unit != 0 {
                return Err(error(
                    ".uniform",
                    format!("{low} and {high} must be multiples of the unit, {}", Bytes(unit)),
                ));
            } else if to / unit - from / unit >= MAX_MULTIPLES {
                return Err(error(
                    ".unit",
                    format!("is too small: {low} to {high} contains over {MAX_MULTIPLES} multiples of this unit"),
                ));
            } else {
                (format!("{label} in steps of {}", Bytes(unit)), Distribution::multiples(unit, from / unit, to / unit))
            }
        };
        let Some(limit) = table.truncate else { return Ok(FlowSizes { label, distribution, notes }) };
        let Some(truncated) = distribution.truncate(limit.get()) else {
            return Err(error(".truncate", format!("is below the smallest size of {label}")));
        };
        let lost = 100.0 * (1.0 - distribution.cumulative(limit.get()));
        notes.push(format!("{label} excludes the {} % of flows above {limit}", round(lost, 3)));
        Ok(FlowSizes { label: format!("{label} up to {limit}"), distribution: truncated, notes })
    }
}

/// A sampler of sizes, ready for use.
#[derive(Clone, Debug)]
pub struct FlowSizes {
    /// Name in notes.
    pub label: String,
    /// Sampler.
    pub distribution: Distribution,
    /// Notes for the user.
    pub notes: Vec<String>,
}

fn unknown(field: &str, name: &str) -> Diagnostic {
    let names = LIBRARY.iter().map(|(name, _)| *name);
    let list = format!("the library has {}", names.clone().collect::<Vec<_>>().join(", "));
    let error = Diagnostic::error(field, format!("there is no size distribution \"{name}\"")).hint(list);
    error.did_you_mean(name, names)
}

fn read(path: &Path) -> Result<SizeTable, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let own = path.extension().is_some_and(|extension| extension == "toml");
    let table = if own { SizeTable::from_toml(&text) } else { SizeTable::from_lines(&text) };
    table.map_err(|error| error.to_string())
}

/// Returns a mean number of bytes with a decimal unit: `1.711 MB`.
pub(crate) fn bytes(mean: f64) -> String {
    let (scale, unit) =
        [(1e9, "GB"), (1e6, "MB"), (1e3, "KB")].into_iter().find(|(scale, _)| mean >= *scale).unwrap_or((1.0, "B"));
    format!("{} {unit}", round(mean / scale, 3))
}

/// Rounds `value` to `decimals` decimals.
pub(crate) fn round(value: f64, decimals: i32) -> f64 {
    let scale = libm::pow(10.0, f64::from(decimals));
    (value * scale).round() / scale
}
