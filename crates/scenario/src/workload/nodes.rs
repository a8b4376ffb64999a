//! Lists of hosts and switches by name or pattern.

use crate::diagnostic::Diagnostic;
use crate::topology::{Graph, word};
use backwater_fabric::ids::NodeId;
use backwater_fabric::network::spec::NodeKind;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

/// Hosts or switches: one string or a list of strings, each a name or a pattern (`"h3"`,
/// `"h[0-15]"`, `"h*"`). In a pattern, `[0-15]` matches every whole number in the range, and `*`
/// matches any text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct NodeList(pub Vec<String>);

impl<'de> Deserialize<'de> for NodeList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = NodeList;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name or pattern, or a list of them")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<NodeList, E> {
                Ok(NodeList(vec![text.into()]))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, sequence: A) -> Result<NodeList, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(sequence)).map(NodeList)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for NodeList {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "NodeList".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
            "examples": ["h3", "h[0-15]", ["h0", "h4"]]
        })
    }
}

impl NodeList {
    /// Returns the selected hosts without duplicates, in the order written; hosts of one pattern
    /// are in order of id.
    ///
    /// # Errors
    /// Every name of a non-host and every pattern without a match, with paths below `field`.
    pub fn hosts(&self, field: &str, graph: &Graph) -> Result<Vec<NodeId>, Vec<Diagnostic>> {
        self.resolve(field, graph, Some(NodeKind::Host))
    }

    /// Returns the selected switches, ordered like [`NodeList::hosts`].
    ///
    /// # Errors
    /// Every name of a non-switch and every pattern without a match, with paths below `field`.
    pub fn switches(&self, field: &str, graph: &Graph) -> Result<Vec<NodeId>, Vec<Diagnostic>> {
        self.resolve(field, graph, Some(NodeKind::Switch))
    }

    /// Returns the selected hosts and switches, ordered like [`NodeList::hosts`].
    ///
    /// # Errors
    /// Every unknown name and every pattern without a match, with paths below `field`.
    pub fn nodes(&self, field: &str, graph: &Graph) -> Result<Vec<NodeId>, Vec<Diagnostic>> {
        self.resolve(field, graph, None)
    }

    fn resolve(&self, field: &str, graph: &Graph, kind: Option<NodeKind>) -> Result<Vec<NodeId>, Vec<Diagnostic>> {
        let (mut found, mut seen, mut errors) = (Vec::new(), BTreeSet::new(), Vec::new());
        for (i, text) in self.0.iter().enumerate() {
            let field = if self.0.len() == 1 { field.to_owned() } else { format!("{field}[{i}]") };
            match one(text, &field, graph, kind) {
                Ok(hosts) => found.extend(hosts.into_iter().filter(|host| seen.insert(*host))),
                Err(error) => errors.push(error),
            }
        }
        if self.0.is_empty() {
            let error = Diagnostic::error(field, "must not be empty");
            errors.push(if kind == Some(NodeKind::Host) {
                error.hint("omit this option to select all hosts")
            } else {
                error
            });
        }
        if errors.is_empty() { Ok(found) } else { Err(errors) }
    }

    /// Returns the first host that the list names twice. Every name and pattern matches hosts.
    pub(super) fn first_repeated(&self, graph: &Graph) -> Option<NodeId> {
        let named = self.0.iter().flat_map(|text| one(text, "", graph, Some(NodeKind::Host)).unwrap_or_default());
        let mut seen = BTreeSet::new();
        named.into_iter().find(|host| !seen.insert(*host))
    }

    /// True if the list is the single word `word`.
    pub fn is(&self, word: &str) -> bool {
        self.0.len() == 1 && self.0[0] == word
    }
}

fn one(text: &str, field: &str, graph: &Graph, kind: Option<NodeKind>) -> Result<Vec<NodeId>, Diagnostic> {
    if graph.node(text).is_some() || !text.contains(['*', '[']) {
        return graph.of_name(field, text, kind).map(|node| vec![node]);
    }
    let word = word(kind);
    let pattern = pattern(text)
        .ok_or_else(|| Diagnostic::error(field, format!("\"{text}\" is not a valid pattern")).hint(PATTERNS))?;
    let found: Vec<NodeId> = graph.of_kind(kind).filter(|node| fits(&pattern, graph.name(*node))).collect();
    if found.is_empty() {
        let example = graph.of_kind(kind).next().map_or("", |node| graph.name(node));
        let hint = format!("the first {word} is called \"{example}\"");
        return Err(Diagnostic::error(field, format!("no {word} matches \"{text}\"")).hint(hint));
    }
    Ok(found)
}

/// Returns, for each of `names`, whether a list of names and patterns selects it, by the rules of
/// [`NodeList`].
///
/// # Errors
/// If a text is neither one of the names nor a pattern. The message is about the first such text.
pub fn chosen<T: AsRef<str>>(texts: &[String], names: &[T]) -> Result<Vec<bool>, String> {
    let mut chosen = vec![false; names.len()];
    for text in texts {
        let named = names.iter().position(|name| name.as_ref() == text);
        match (named, pattern(text)) {
            (Some(at), _) => chosen[at] = true,
            (None, Some(pattern)) => {
                chosen.iter_mut().zip(names).for_each(|(chosen, name)| *chosen |= fits(&pattern, name.as_ref()));
            }
            (None, None) => return Err(format!("\"{text}\" is not a valid pattern; {PATTERNS}")),
        }
    }
    Ok(chosen)
}

/// Syntax of patterns, for messages.
const PATTERNS: &str = "write a range of numbers as `[0-15]`; `*` matches any text";

/// A piece of a pattern.
enum Piece<'a> {
    Literal(&'a str),
    Any,
    Range(u64, u64),
}

fn pattern(text: &str) -> Option<Vec<Piece<'_>>> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let literal = rest.find(['*', '[']).unwrap_or(rest.len());
        if literal > 0 {
            pieces.push(Piece::Literal(&rest[..literal]));
            rest = &rest[literal..];
        } else if let Some(tail) = rest.strip_prefix('*') {
            if !matches!(pieces.last(), Some(Piece::Any)) {
                pieces.push(Piece::Any);
            }
            rest = tail;
        } else {
            let (range, tail) = rest[1..].split_once(']')?;
            let (low, high) = range.split_once('-')?;
            let (low, high) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
            pieces.push((low <= high).then_some(Piece::Range(low, high))?);
            rest = tail;
        }
    }
    Some(pieces)
}

fn fits(pattern: &[Piece], name: &str) -> bool {
    let Some((first, rest)) = pattern.split_first() else { return name.is_empty() };
    match *first {
        Piece::Literal(literal) => name.strip_prefix(literal).is_some_and(|tail| fits(rest, tail)),
        Piece::Any => (0..=name.len()).any(|at| name.is_char_boundary(at) && fits(rest, &name[at..])),
        Piece::Range(low, high) => {
            let digits = name.find(|c: char| !c.is_ascii_digit()).unwrap_or(name.len());
            let number = name[..digits].parse::<u64>().is_ok_and(|number| (low..=high).contains(&number));
            number && fits(rest, &name[digits..])
        }
    }
}
