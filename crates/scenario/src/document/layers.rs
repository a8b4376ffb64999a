//! A scenario in layers: tables of one document, each written over those before. Every value keeps its place in the file.

use super::{Content, Document, Entry, Node, Origin};
use crate::diagnostic::Diagnostic;

impl Document {
    /// Line and column, counted from 1, of the value at `path` or of its key; of what should contain it, if there is none.
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

    /// The tables at the paths `layers`, each written over those before: tables are joined key by key, anything else is replaced, and so is a
    /// table by one with another `kind`. Over a list, keys are indices. A path that does not exist adds nothing.
    ///
    /// # Errors
    /// An index that a list does not have.
    pub fn layered(&self, layers: &[Vec<String>]) -> Result<Document, Vec<Diagnostic>> {
        let mut root = Node { content: Content::Table(Vec::new()), origin: Origin::File { line: 1, column: 1 } };
        let mut findings = Vec::new();
        for layer in layers {
            if let Some(node) = layer.iter().try_fold(&self.root, |node, key| node.child(key)) {
                root.overlay(node, "", &mut findings);
            }
        }
        if findings.is_empty() {
            return Ok(Document { file: self.file.clone(), root });
        }
        Err(findings.into_iter().map(|(origin, finding)| self.at(&origin, finding)).collect())
    }
}

impl Node {
    /// Writes `over` over this node, which is at `path`.
    fn overlay(&mut self, over: &Node, path: &str, findings: &mut Vec<(Origin, Diagnostic)>) {
        let of_another_kind = match (self.child("kind"), over.child("kind")) {
            (Some(old), Some(new)) => old.to_json() != new.to_json(),
            _ => false,
        };
        match (&mut self.content, &over.content) {
            (Content::Table(entries), Content::Table(new)) if !of_another_kind => {
                for entry in new {
                    match entries.iter_mut().find(|old| old.key == entry.key) {
                        Some(old) => old.node.overlay(&entry.node, &super::join(path, &entry.key), findings),
                        None => entries.push(entry.clone()),
                    }
                }
            }
            (Content::List(items), Content::Table(new)) => {
                let length = items.len();
                for Entry { key, key_origin, node } in new {
                    let path = super::join(path, key);
                    match key.parse().ok().and_then(|index: usize| items.get_mut(index)) {
                        Some(item) => item.overlay(node, &path, findings),
                        None => {
                            let message = format!("a list of {length} has no entry \"{key}\" (entries count from 0)");
                            findings.push((key_origin.clone(), Diagnostic::error(path, message)));
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
    fn tables_are_joined_and_another_kind_replaces() {
        let value = layered(&[&["base"], &["axes", "cc", "gain"], &["axes", "load.of", "0.7"]]).unwrap();
        assert_eq!(value["cc"], json!({ "kind": "dcqcn", "gain": 0.25 }));
        assert_eq!(value["traffic"], json!([{ "load": 0.5 }, { "load": 0.7, "tag": "b" }]));
        let value = layered(&[&["base"], &["axes", "cc", "hpcc"], &["no", "such", "path"]]).unwrap();
        assert_eq!(value["cc"], json!({ "kind": "hpcc" }));
        assert_eq!(value["run"], json!({ "seed": 1 }));
    }

    #[test]
    fn an_index_beyond_a_list_is_refused_where_it_stands() {
        let refused = layered(&[&["base"], &["axes", "other", "beyond"]]);
        let message = "a.toml:12:9: error: traffic.2: a list of 2 has no entry \"2\" (entries count from 0)";
        assert_eq!(refused, Err(message.into()));
    }

    #[test]
    fn values_keep_their_place() {
        let document = Document::from_toml("a.toml", TEXT).unwrap();
        let merged = document.layered(&[path(&["base"]), path(&["axes", "load.of", "0.7"])]).unwrap();
        assert_eq!(merged.origin("traffic[1].load"), Some(&Origin::File { line: 10, column: 18 }));
        assert_eq!(document.position(&path(&["base", "cc", "gain"]), false), (3, 31));
        assert_eq!(document.position(&path(&["base", "cc", "gain"]), true), (3, 24));
        assert_eq!(document.position(&path(&["base", "nothing"]), true), (1, 2));
    }
}
