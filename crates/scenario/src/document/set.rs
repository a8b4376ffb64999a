//! `--set KEY=VALUE`: overrides one value of the document.

use super::{Content, Document, Entry, Lines, Origin, Reader, ValueNode, keys};
use crate::diagnostic::Diagnostic;
use serde_json::Value;
use toml::de::DeValue;

/// Maximum number of keys of a path; no option has that many.
const DEEPEST: usize = 16;

impl Document {
    /// Overrides one value, as `--set` does: `traffic.0.load=0.6`, `congestion_control.kind=hpcc`.
    /// Keys are dotted; list entries are named by index. The value is read as TOML, or as a string
    /// if it is not TOML. A different `kind` clears its table, since kinds have different options.
    ///
    /// # Errors
    /// If the assignment has no `=`, an index does not exist, or a key is below a scalar.
    pub fn set(&mut self, assignment: &str) -> Result<(), Vec<Diagnostic>> {
        const EXAMPLE: &str = "write KEY=VALUE, for example traffic.0.load=0.6";
        let fail =
            |path: &str, message| vec![Diagnostic { file: Some("--set".into()), ..Diagnostic::error(path, message) }];
        let (path, text) =
            assignment.split_once('=').ok_or_else(|| fail("", format!("\"{assignment}\" has no \"=\"; {EXAMPLE}")))?;
        let path = path.trim();
        let keys: Vec<_> = keys(path).collect();
        if !is_well_formed(path) || keys.len() > DEEPEST {
            return Err(fail(path, format!("\"{path}\" is not a key; {EXAMPLE}")));
        }
        let value = value_of(text.trim());
        let (last, parents) = keys.split_last().expect("keys is not empty, as just checked");
        let mut node = &mut self.root;
        for (depth, key) in parents.iter().enumerate() {
            node = node.open(key).map_err(|message| fail(&keys[..=depth].join("."), message))?;
        }
        if *last == "kind" && node.child(last).is_some_and(|kind| kind.to_json() != value.to_json()) {
            node.content = Content::Table(Vec::new());
        }
        *node.open(last).map_err(|message| fail(path, message))? = value;
        Ok(())
    }
}

/// True if a path consists of keys joined by dots, and of indices in brackets.
fn is_well_formed(path: &str) -> bool {
    path.split('.').all(|part| {
        let mut pieces = part.split('[');
        let is_index = |piece: &str| piece.strip_suffix(']').is_some_and(|index| index.parse::<usize>().is_ok());
        pieces.next().is_some_and(|key| !key.is_empty() && !key.contains(']')) && pieces.all(is_index)
    })
}

impl ValueNode {
    /// Returns the value called `key` below this value. If a table has no such key, inserts it.
    fn open(&mut self, key: &str) -> Result<&mut ValueNode, String> {
        match &mut self.content {
            Content::Scalar(_) => Err(format!("cannot set \"{key}\": the value above it is not a table")),
            Content::List(items) => {
                let length = items.len();
                let item = key.parse().ok().and_then(|index: usize| items.get_mut(index));
                item.ok_or_else(|| super::no_entry(key, length))
            }
            Content::Table(entries) => {
                let index = entries.iter().position(|entry| entry.key == key).unwrap_or_else(|| {
                    let node = ValueNode { content: Content::Table(Vec::new()), origin: Origin::Set };
                    entries.push(Entry { key: key.into(), key_origin: Origin::Set, node });
                    entries.len() - 1
                });
                Ok(&mut entries[index].node)
            }
        }
    }

    fn mark_as_set(&mut self) {
        self.origin = Origin::Set;
        match &mut self.content {
            Content::Scalar(_) => {}
            Content::List(items) => items.iter_mut().for_each(ValueNode::mark_as_set),
            Content::Table(entries) => entries.iter_mut().for_each(|entry| {
                entry.key_origin = Origin::Set;
                entry.node.mark_as_set();
            }),
        }
    }
}

/// Reads `text` as a TOML value, or else as a string.
fn value_of(text: &str) -> ValueNode {
    let mut reader = Reader { lines: Lines::of(text), errors: Vec::new() };
    let parsed = DeValue::parse(text).ok().map(|value| reader.node("", &value));
    let mut node = match parsed {
        Some(node) if reader.errors.is_empty() => node,
        _ => ValueNode { content: Content::Scalar(Value::from(text)), origin: Origin::Set },
    };
    node.mark_as_set();
    node
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn after(assignments: &[&str]) -> Result<Value, String> {
        let text = "[cc]\nkind = \"dcqcn\"\ngain = 0.5\n[[traffic]]\nload = 0.5\n";
        let mut document = Document::from_toml("a.toml", text).unwrap();
        for assignment in assignments {
            document.set(assignment).map_err(|errors| errors[0].to_string())?;
        }
        Ok(document.to_json())
    }

    #[test]
    fn values_are_toml_or_strings() {
        let value =
            after(&["traffic.0.load=0.6", "traffic[0].until = 2 us", "run.seed=7", "switch.lossless=[1, 2]"]).unwrap();
        assert_eq!(value["traffic"][0], json!({ "load": 0.6, "until": "2 us" }));
        assert_eq!(value["run"], json!({ "seed": 7 }));
        assert_eq!(value["switch"]["lossless"], json!([1, 2]));
        assert_eq!(after(&["name=1979-05-27"]).unwrap()["name"], "1979-05-27");
    }

    #[test]
    fn a_different_kind_clears_its_table() {
        assert_eq!(after(&["cc.kind=hpcc"]).unwrap()["cc"], json!({ "kind": "hpcc" }));
        assert_eq!(after(&["cc.kind=dcqcn"]).unwrap()["cc"], json!({ "kind": "dcqcn", "gain": 0.5 }));
    }

    #[test]
    fn wrong_assignments_are_rejected() {
        for (assignment, message) in [
            ("seed", "--set: error: \"seed\" has no \"=\"; write KEY=VALUE, for example traffic.0.load=0.6"),
            ("=3", "--set: error: \"\" is not a key; write KEY=VALUE, for example traffic.0.load=0.6"),
            (
                "run..seed=1",
                "--set: error: run..seed: \"run..seed\" is not a key; write KEY=VALUE, for example traffic.0.load=0.6",
            ),
            (
                "traffic[x].load=1",
                "--set: error: traffic[x].load: \"traffic[x].load\" is not a key; write KEY=VALUE, for example \
                    traffic.0.load=0.6",
            ),
            ("traffic.1.load=1", "--set: error: traffic.1: there is no entry 1: the list has 1 entry, counted from 0"),
            ("cc.gain.x=1", "--set: error: cc.gain.x: cannot set \"x\": the value above it is not a table"),
        ] {
            assert_eq!(after(&[assignment]), Err(message.into()));
        }
        assert!(after(&[&format!("{}=1", "a.".repeat(100_000))]).is_err());
    }
}
