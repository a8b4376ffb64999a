//! Sizes of flows: what a scenario says, and the sampler that it means.

use backwater_engine::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};
use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

/// Sizes of flows. Exactly one of `name`, `path`, `fixed` and `uniform` is given.
///
/// A text is short for a table with one key: `"websearch-dctcp"` for `name`, `"64 KB"` for `fixed`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct SizesConfig(pub SizesTable);

/// The long form of [`SizesConfig`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SizesTable {
    /// A distribution of the library, such as `websearch-dctcp`; `data/README.md` lists them.
    pub name: Option<String>,
    /// A file, relative to the scenario's: lines `<bytes> <cumulative percent>` (HPCC family; Pyrrha's have the mean in line 1), or a
    /// table in the library's own format (`.toml`).
    pub path: Option<PathBuf>,
    /// All flows have this size.
    pub fixed: Option<Bytes>,
    /// Uniform between two sizes, both included.
    pub uniform: Option<(Bytes, Bytes)>,
    /// How sizes lie between the points of a table. Default: the table's own rule, `linear` for a file of lines.
    pub interpolation: Option<Interpolation>,
    /// Flows above this size never occur; the probabilities of the others grow in proportion. Default: no limit.
    pub truncate: Option<Bytes>,
    /// Sizes in the file are counts of this many bytes, for files that count packets. Default 1 B.
    pub unit: Option<Bytes>,
}

/// How sizes lie between two points of a table of cumulative probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// Evenly (the traffic generators of HPCC and ConWeave, ns-3's empirical variable).
    #[default]
    Linear,
    /// Evenly in the logarithm of the size, as such curves are usually drawn.
    LogLinear,
    /// Not at all: every size is one of the points.
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
        json_schema!({ "anyOf": [{ "type": "string", "examples": ["websearch-dctcp", "64 KB"] }, table] })
    }
}
