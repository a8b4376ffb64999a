//! A scenario as written: a tree of values, each with its origin.
//!
//! TOML text and plain data (a Python dict) become the same tree, which `--set` changes. The tree
//! does not depend on the options of a scenario: [`check`](check::check) compares it with the
//! schema.

pub(crate) mod check;
mod json;
mod layers;
mod set;

pub use json::{JsonKey, json_keys};

use crate::diagnostic::Diagnostic;
use serde_json::Value;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// Place where a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In the document's file.
    File {
        /// Line, counted from 1.
        line: u32,
        /// Column in characters, counted from 1.
        column: u32,
    },
    /// On the command line, by `--set`.
    Set,
    /// In plain data without a file, such as a Python dict.
    Data,
}

/// A value and its origin.
#[derive(Clone, Debug)]
pub(crate) struct ValueNode {
    pub(crate) content: Content,
    pub(crate) origin: Origin,
}

/// A scalar, a list, or a table in the order of its text.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Scalar(Value),
    List(Vec<ValueNode>),
    Table(Vec<Entry>),
}

/// One entry of a table.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_origin: Origin,
    pub(crate) node: ValueNode,
}

impl ValueNode {
    /// Returns the entry of a table, or of a list if `key` is an index.
    fn child(&self, key: &str) -> Option<&ValueNode> {
        match &self.content {
            Content::Scalar(_) => None,
            Content::List(items) => items.get(key.parse::<usize>().ok()?),
            Content::Table(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node),
        }
    }

    /// Returns a scalar as a scenario writes it; `None` for lists and tables.
    pub(crate) fn text(&self) -> Option<String> {
        const LONGEST: usize = 60;
        let Content::Scalar(value) = &self.content else { return None };
        let text = value.to_string();
        Some(match text.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text,
        })
    }

    fn to_json(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(items) => items.iter().map(ValueNode::to_json).collect(),
            Content::Table(entries) => entries
                .iter()
                .map(|entry| (entry.key.clone(), entry.node.to_json()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }

    fn from_json(value: &Value) -> ValueNode {
        let content = match value {
            Value::Array(items) => Content::List(items.iter().map(ValueNode::from_json).collect()),
            Value::Object(fields) => {
                let entry = |(key, value): (&String, &Value)| Entry {
                    key: key.clone(),
                    key_origin: Origin::Data,
                    node: ValueNode::from_json(value),
                };
                Content::Table(fields.iter().map(entry).collect())
            }
            scalar => Content::Scalar(scalar.clone()),
        };
        ValueNode { content, origin: Origin::Data }
    }
}

/// A scenario as written.
#[derive(Clone, Debug)]
pub struct Document {
    /// Name of the file in messages.
    file: Option<String>,
    root: ValueNode,
}

impl Document {
    /// Returns the name of the file without folder and extension; `scenario` if the document has no
    /// file.
    pub fn name(&self) -> &str {
        let stem = self.file.as_deref().and_then(|file| Path::new(file).file_stem()?.to_str());
        stem.unwrap_or("scenario")
    }

    /// Reads a TOML file.
    ///
    /// # Errors
    /// One error if the file cannot be read; otherwise all syntax errors.
    pub fn read(path: &Path) -> Result<Document, Vec<Diagnostic>> {
        let name = path.display().to_string();
        let in_file = |diagnostic| vec![Diagnostic { file: Some(name.clone()), ..diagnostic }];
        let bytes =
            std::fs::read(path).map_err(|error| in_file(Diagnostic::error("", format!("cannot be read: {error}"))))?;
        match std::str::from_utf8(&bytes) {
            Ok(text) => Document::from_toml(&name, text),
            Err(error) => {
                let (line, column) = Lines::of(&String::from_utf8_lossy(&bytes[..error.valid_up_to()])).end();
                let diagnostic = Diagnostic::error("", "is not UTF-8 text");
                Err(in_file(Diagnostic { line: Some(line), column: Some(column), ..diagnostic }))
            }
        }
    }

    /// Reads TOML text; `file` is its name in messages.
    ///
    /// # Errors
    /// All syntax errors, and values that no scenario can contain (dates, `nan`, `inf`).
    pub fn from_toml(file: &str, text: &str) -> Result<Document, Vec<Diagnostic>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut reader = Reader { lines: Lines::of(text), errors: Vec::new() };
        for error in errors {
            let span = error.span().unwrap_or(text.len()..text.len());
            let culprit = text.get(span.clone()).filter(|culprit| !culprit.trim().is_empty() && culprit.len() <= 60);
            let culprit = culprit.map_or(String::new(), |culprit| format!(" ({culprit})"));
            let error = Diagnostic::error("", format!("invalid TOML: {}{culprit}", error.message()));
            reader.errors.push((reader.lines.origin(span.start), error));
        }
        let root = if reader.errors.is_empty() {
            ValueNode { content: reader.table("", table.get_ref()), origin: Origin::File { line: 1, column: 1 } }
        } else {
            ValueNode::from_json(&Value::Null)
        };
        let document = Document { file: Some(file.into()), root };
        if reader.errors.is_empty() {
            return Ok(document);
        }
        Err(reader.errors.into_iter().map(|(origin, error)| document.at(&origin, error)).collect())
    }

    /// Reads plain data, such as a Python dict.
    pub fn from_json(data: &Value) -> Document {
        Document { file: None, root: ValueNode::from_json(data) }
    }

    /// Returns the values as plain data.
    pub(crate) fn to_json(&self) -> Value {
        self.root.to_json()
    }

    /// Returns the origin of the value at `path`, or of a scalar that abbreviates the table around
    /// the value; `None` if the document has neither.
    pub fn origin(&self, path: &str) -> Option<&Origin> {
        let mut node = &self.root;
        for key in keys(path) {
            match (node.child(key), &node.content) {
                (Some(child), _) => node = child,
                (None, Content::Scalar(_)) => break,
                (None, _) => return None,
            }
        }
        Some(&node.origin)
    }

    /// Adds a place to a diagnostic: that of the value at the diagnostic's path, or of the
    /// innermost table around the value.
    pub fn place(&self, diagnostic: Diagnostic) -> Diagnostic {
        let mut node = &self.root;
        let mut found = true;
        for key in keys(&diagnostic.path) {
            match node.child(key) {
                Some(child) => node = child,
                None => {
                    found = false;
                    break;
                }
            }
        }
        let value = diagnostic.value.clone().or_else(|| if found { node.text() } else { None });
        Diagnostic { value, ..self.at(&node.origin, diagnostic) }
    }

    /// Adds `origin` to a diagnostic.
    fn at(&self, origin: &Origin, diagnostic: Diagnostic) -> Diagnostic {
        match *origin {
            Origin::File { line, column } => {
                Diagnostic { file: self.file.clone(), line: Some(line), column: Some(column), ..diagnostic }
            }
            Origin::Set => Diagnostic { file: Some("--set".into()), ..diagnostic },
            Origin::Data => diagnostic,
        }
    }

    /// Returns an origin as [`crate::explain`] shows it: `scenario.toml:12`, `--set`.
    pub(crate) fn describe(&self, origin: &Origin) -> String {
        match origin {
            Origin::File { line, .. } => format!("{}:{line}", self.file.as_deref().unwrap_or_default()),
            Origin::Set => "--set".into(),
            Origin::Data => "given".into(),
        }
    }
}

/// Returns the keys and indices of a dotted path: `traffic[0].load`, `traffic.0.load`.
pub(crate) fn keys(path: &str) -> impl Iterator<Item = &str> {
    path.split(['.', '[']).map(|key| key.trim_end_matches(']')).filter(|key| !key.is_empty())
}

/// Offsets of the lines of a text.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl Lines<'_> {
    fn of(text: &str) -> Lines<'_> {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Lines { text, starts }
    }

    /// Returns line and column, counted from 1, of the byte `offset`.
    fn position(&self, offset: usize) -> (u32, u32) {
        let offset = (0..=offset.min(self.text.len())).rev().find(|&at| self.text.is_char_boundary(at)).unwrap_or(0);
        let line = self.line(offset);
        let column = self.text[self.starts[line as usize - 1]..offset].chars().count();
        (line, column as u32 + 1)
    }

    /// Returns the line of the byte `offset`.
    fn line(&self, offset: usize) -> u32 {
        self.starts.partition_point(|&start| start <= offset) as u32
    }

    fn end(&self) -> (u32, u32) {
        self.position(self.text.len())
    }

    fn origin(&self, offset: usize) -> Origin {
        let (line, column) = self.position(offset);
        Origin::File { line, column }
    }
}

/// Turns parsed TOML into nodes.
struct Reader<'t> {
    lines: Lines<'t>,
    errors: Vec<(Origin, Diagnostic)>,
}

impl Reader<'_> {
    fn table(&mut self, path: &str, table: &DeTable<'_>) -> Content {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let entry = |(key, value): (&toml::Spanned<_>, &toml::Spanned<_>)| -> Entry {
            let name: &std::borrow::Cow<'_, str> = key.get_ref();
            Entry {
                key: name.to_string(),
                key_origin: self.lines.origin(key.span().start),
                node: self.node(&join(path, name), value),
            }
        };
        Content::Table(entries.into_iter().map(entry).collect())
    }

    fn node(&mut self, path: &str, value: &toml::Spanned<DeValue<'_>>) -> ValueNode {
        let origin = self.lines.origin(value.span().start);
        let scalar = match value.get_ref() {
            DeValue::Array(items) => {
                let item = |(i, item)| self.node(&format!("{path}[{i}]"), item);
                return ValueNode { content: Content::List(items.iter().enumerate().map(item).collect()), origin };
            }
            DeValue::Table(table) => return ValueNode { content: self.table(path, table), origin },
            DeValue::String(text) => Ok(Value::from(text.as_ref())),
            DeValue::Boolean(truth) => Ok(Value::from(*truth)),
            DeValue::Integer(number) => integer(number.as_str(), number.radix()),
            DeValue::Float(number) => number
                .as_str()
                .parse::<f64>()
                .ok()
                .and_then(serde_json::Number::from_f64)
                .map(Value::Number)
                .ok_or("must be a finite number".into()),
            DeValue::Datetime(_) => Err("dates are not supported".into()),
        };
        let scalar = scalar.unwrap_or_else(|message: String| {
            self.errors.push((origin.clone(), Diagnostic::error(path, message)));
            Value::Null
        });
        ValueNode { content: Content::Scalar(scalar), origin }
    }
}

fn integer(digits: &str, radix: u32) -> Result<Value, String> {
    i64::from_str_radix(digits, radix)
        .map(Value::from)
        .or_else(|_| u64::from_str_radix(digits, radix).map(Value::from))
        .map_err(|_| match digits.strip_prefix('-') {
            Some(_) => format!("{digits} is too small; must be at least {}", i64::MIN),
            None => format!("{digits} is too large; must be at most {}", u64::MAX),
        })
}

/// Returns the message about an index that a list of `length` entries does not have.
fn no_entry(index: &str, length: usize) -> String {
    let entries = if length == 1 { "entry" } else { "entries" };
    format!("there is no entry {index}: the list has {length} {entries}, counted from 0")
}

/// Returns the path of `key` below `path`.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.into() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name = \"é\"\n\n[run]\nseed = 0x10\nuntil = \"1 ms\"\n\n[[traffic]]\nload = \
        0.5\n[[traffic]]\nsizes = [1, 2]\n";

    #[test]
    fn values_have_origins() {
        let document = Document::from_toml("a.toml", TEXT).unwrap();
        for (path, line, column) in [
            ("name", 1, 8),
            ("run", 3, 1),
            ("run.seed", 4, 8),
            ("traffic[0].load", 8, 8),
            ("traffic.1.sizes[1]", 10, 13),
        ] {
            assert_eq!(document.origin(path), Some(&Origin::File { line, column }), "{path}");
        }
        assert_eq!(document.origin("run.warmup"), None);
    }

    #[test]
    fn missing_values_are_placed_at_the_table_around_them() {
        let document = Document::from_toml("a.toml", TEXT).unwrap();
        let placed = document.place(Diagnostic::error("run.warmup", "too long"));
        assert_eq!(placed.to_string(), "a.toml:3:1: error: run.warmup: too long");
        let placed = document.place(Diagnostic::error("run.seed", "odd"));
        assert_eq!(placed.to_string(), "a.toml:4:8: error: run.seed = 16: odd");
    }

    #[test]
    fn all_syntax_errors_are_reported() {
        let errors = Document::from_toml("a.toml", "a = \nb = 1\nb = 2\nc = nan").unwrap_err();
        let places: Vec<_> = errors.iter().map(|error| error.line.unwrap()).collect();
        assert_eq!(places, [1, 3], "{errors:?}");
        let errors = Document::from_toml("a.toml", "a = nan\nb = 1979-05-27\nc = 99999999999999999999").unwrap_err();
        assert_eq!(errors.len(), 3, "{errors:?}");
    }

    #[test]
    fn data_and_text_give_equal_trees() {
        let document = Document::from_toml("a.toml", TEXT).unwrap();
        assert_eq!(Document::from_json(&document.to_json()).to_json(), document.to_json());
    }

    #[test]
    fn positions_count_characters_for_any_offset() {
        let lines = Lines::of("aé\nb");
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 99].map(|at| lines.position(at)),
            [(1, 1), (1, 2), (1, 2), (1, 3), (2, 1), (2, 2), (2, 2)]
        );
    }
}
