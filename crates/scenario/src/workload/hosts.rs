//! Hosts as a scenario names them.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};
use std::borrow::Cow;
use std::fmt;

/// Hosts by name: one text or a list of texts, each a name or a pattern (`"h3"`, `"h[0-15]"`, `"h*"`).
///
/// In a pattern `[0-15]` stands for every whole number of the range and `*` for any text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct HostList(pub Vec<String>);

impl<'de> Deserialize<'de> for HostList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = HostList;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a host name or pattern, or a list of them")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<HostList, E> {
                Ok(HostList(vec![text.into()]))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, sequence: A) -> Result<HostList, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(sequence)).map(HostList)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for HostList {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "HostList".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
            "examples": ["h3", "h[0-15]", ["h0", "h4"]]
        })
    }
}
