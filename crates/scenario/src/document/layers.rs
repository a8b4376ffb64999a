//! Layers of a scenario: tables of one document that override each other. Values keep their
//! origins.

use super::{Content, Document, Entry, Origin, ValueNode};
use crate::diagnostic::Diagnostic;

impl Document {
    /// Returns line and column, counted from 1, of the value at `path`, or of the value's key if
    /// `of_key`. If there is no such value, returns line and column of the innermost table around
    /// `path`.
    pub fn position(&self, path: &[String], of_key: bool) -> (u32, u32) {
        let (mut node, mut origin) = (&self.root, &self.root.origin);
        for key in path {
            let Some(child) = node.child(key) else { break };
            origin = match &node.content {
                Content::Table(entries) if of_key => {
                    entries.iter().find(|entry| entry.key == *key).map_or(&child.origin, |entry| &entry.key_origin)
                }
                _ => &child.origin,
            };
            node = child;
        }
        match *origin {
            Origin::File { line, column } => (line, column),
            Origin::Set | Origin::Data => (1, 1),
        }
    }

    /// Merges the tables at the paths `layers`; later tables override earlier ones. Tables are
    /// merged key by key. Other values, and tables with a different `kind`, are replaced. A table
    /// merges into a list with its keys as indices. Missing paths are skipped.
    ///
    /// # Errors
    /// If an index does not exist.
    pub fn layered(&self, layers: &[Vec<String>]) -> Result<Document, Vec<Diagnostic>> {
        let mut root = ValueNode { content: Content::Table(Vec::new()), origin: Origin::File { line: 1, column: 1 } };
        let mut diagnostics = Vec::new();
        for layer in layers {
            if let Some(node) = layer.iter().try_fold(&self.root, |node, key| node.child(key)) {
                root.overlay(node, "", &mut diagnostics);
            }
        }
        if diagnostics.is_empty() {
            return Ok(Document { file: self.file.clone(), root });
        }
        Err(diagnostics.into_iter().map(|(origin, diagnostic)| self.at(&origin, diagnostic)).collect())
    }
}

impl ValueNode {
    /// Merges `over` into this value, which is at `path`.
    fn overlay(&mut self, over: &ValueNode, path: &str, diagnostics: &mut Vec<(Origin, Diagnostic)>) {
        let of_another_kind = match (self.child("kind"), over.child("kind")) {
            (Some(old), Some(new)) => old.to_json() != new.to_json(),
            _ => false,
        };
        match (&mut self.content, &over.content) {
            (Content::Table(entries), Content::Table(new)) if !of_another_kind => {
                for entry in new {
                    match entries.iter_mut().find(|old| old.key == entry.key) {
                        Some(old) => old.node.overlay(&entry.node, &super::join(path, &entry.key), diagnostics),
                        None => entries.push(entry.clone()),
                    }
                }
            }
            (Content::List(items), Content::Table(new)) => {
                let length = items.len();
                for Entry { key, key_origin, node } in new {
                    let of_entry = super::join(path, key);
                    match key.parse().ok().and_then(|index: usize| items.get_mut(index)) {
                        Some(item) => item.overlay(node, &of_entry, diagnostics),
                        None => {
                            let hint = format!("write all entries to replace the list: {path} = [...]");
                            let error = Diagnostic::error(of_entry, super::no_entry(key, length)).hint(&hint);
                            diagnostics.push((key_origin.clone(), error));
                        }
                    }
                }
            }
            _ => *self = over.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const TEXT: &str = "\
[base]
run.seed = 1
cc = { kind = \"dcqcn\", gain = 0.5 }
traffic = [{ load = 0.5 }, { load = 0.6, tag = \"b\" }]
[axes.cc.hpcc]
cc = { kind = \"hpcc\" }
[axes.cc.gain]
cc.gain = 0.25
[axes.\"load.of\".\"0.7\"]
traffic.1.load = 0.7
[axes.other.beyond]
traffic.2.load = 0.7
";

    fn path(keys: &[&str]) -> Vec<String> {
        keys.iter().map(|&key| key.into()).collect()
    }

    fn layered(layers: &[&[&str]]) -> Result<Value, String> {
        let document = Document::from_toml("a.toml", TEXT).unwrap();
        let layers: Vec<_> = layers.iter().map(|keys| path(keys)).collect();
        document.layered(&layers).map(|document| document.to_json()).map_err(|errors| errors[0].to_string())
    }

    #[test]
    fn tables_are_merged_unless_their_kinds_differ() {
        let value = layered(&[&["base"], &["axes", "cc", "gain"], &["axes", "load.of", "0.7"]]).unwrap();
        assert_eq!(value["cc"], json!({ "kind": "dcqcn", "gain": 0.25 }));
        assert_eq!(value["traffic"], json!([{ "load": 0.5 }, { "load": 0.7, "tag": "b" }]));
        let value = layered(&[&["base"], &["axes", "cc", "hpcc"], &["no", "such", "path"]]).unwrap();
        assert_eq!(value["cc"], json!({ "kind": "hpcc" }));
        assert_eq!(value["run"], json!({ "seed": 1 }));
    }

    #[test]
    fn indices_beyond_a_list_are_rejected() {
        let result = layered(&[&["base"], &["axes", "other", "beyond"]]);
        let message = "a.toml:12:9: error: traffic.2: there is no entry 2: the list has 2 entries, counted from 0; \
            write all entries to replace the list: traffic = [...]";
        assert_eq!(result, Err(message.into()));
    }

    #[test]
    fn values_keep_their_origins() {
        let document = Document::from_toml("a.toml", TEXT).unwrap();
        let merged = document.layered(&[path(&["base"]), path(&["axes", "load.of", "0.7"])]).unwrap();
        assert_eq!(merged.origin("traffic[1].load"), Some(&Origin::File { line: 10, column: 18 }));
        assert_eq!(document.position(&path(&["base", "cc", "gain"]), false), (3, 31));
        assert_eq!(document.position(&path(&["base", "cc", "gain"]), true), (3, 24));
        assert_eq!(document.position(&path(&["base", "nothing"]), true), (1, 2));
    }
}
