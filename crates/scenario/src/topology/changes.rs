//! Links of a generated topology that differ from the others.

use super::draft::{Draft, LinkLimits, unknown_node};
use crate::diagnostic::Diagnostic;
use crate::workload::chosen;
use backwater_engine::index::IndexVec;
use backwater_engine::{Duration, Rate};
use backwater_fabric::ids::NodeId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Links with a rate or delay of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangedLink {
    /// The two ends, each a name or pattern: `["leaf0", "spine3"]`, `["leaf*", "spine[0-3]"]`.
    /// Selects every link between a node that the first name or pattern selects and a node that the
    /// second selects.
    pub link: [String; 2],
    /// Bit rate in each direction. Default: unchanged.
    pub rate: Option<Rate>,
    /// Propagation delay. Default: unchanged.
    pub delay: Option<Duration>,
    /// Number of parallel links to change per pair of nodes, in link order. Default: all.
    #[schemars(range(min = 1))]
    pub count: Option<u32>,
}

impl ChangedLink {
    /// Returns the errors that do not depend on the fabric. `path` is the path of this entry.
    fn errors(&self, path: &str) -> Vec<Diagnostic> {
        let below = |key: &str, why: String| Diagnostic::error(format!("{path}.{key}"), why);
        let rate = self.rate.and_then(LinkLimits::rate).map(|why| below("rate", why));
        let delay = self.delay.and_then(LinkLimits::delay).map(|why| below("delay", why));
        let count = (self.count == Some(0)).then(|| below("count", "must be at least 1".into()));
        let idle = (self.rate.is_none() && self.delay.is_none())
            .then(|| Diagnostic::error(path, "changes nothing").hint("set rate, delay or both"));
        [rate, delay, count, idle].into_iter().flatten().collect()
    }

    /// Returns the selected links as indices into `draft.links`.
    fn links(&self, path: &str, draft: &Draft) -> Result<Vec<usize>, Vec<Diagnostic>> {
        let path = format!("{path}.link");
        let [a, b] = self.link.each_ref().map(|text| nodes(text, &path, draft));
        let (a, b) = match (a, b) {
            (Ok(a), Ok(b)) => (a, b),
            (a, b) => return Err(a.err().into_iter().chain(b.err()).collect()),
        };
        let mut of_pair: BTreeMap<[NodeId; 2], u32> = BTreeMap::new();
        let mut found = Vec::new();
        for (ix, link) in draft.links.iter().enumerate() {
            let has = |ends: &IndexVec<NodeId, bool>, node: NodeId| ends[node];
            if has(&a, link.a) && has(&b, link.b) || has(&a, link.b) && has(&b, link.a) {
                let number = of_pair.entry([link.a.min(link.b), link.a.max(link.b)]).or_default();
                *number += 1;
                found.extend((*number <= self.count.unwrap_or(u32::MAX)).then_some(ix));
            }
        }
        let [a, b] = &self.link;
        let (fewest, wanted) = (of_pair.into_values().min(), self.count.unwrap_or(1));
        match fewest {
            None => {
                let message = format!("there is no link between \"{a}\" and \"{b}\" to change");
                Err(vec![Diagnostic::error(path, message)])
            }
            Some(fewest) if fewest < wanted => {
                let message =
                    format!("selects {wanted} parallel links between \"{a}\" and \"{b}\", but there are only {fewest}");
                Err(vec![Diagnostic::error(path, message)])
            }
            Some(_) => Ok(found),
        }
    }
}

/// Returns, for each node, whether a name or pattern selects it. At least one is selected.
fn nodes(text: &String, path: &str, draft: &Draft) -> Result<IndexVec<NodeId, bool>, Diagnostic> {
    let names: Vec<&str> = draft.nodes.iter().map(|node| node.name.as_str()).collect();
    let found = chosen(std::slice::from_ref(text), &names).map_err(|why| Diagnostic::error(path, why))?;
    if found.contains(&true) { Ok(found.into()) } else { Err(unknown_node(path.into(), text, &draft.nodes)) }
}

impl Draft {
    /// Applies `changes` to the links. Errors are collected in the draft.
    pub(super) fn change_links(&mut self, changes: &[ChangedLink]) {
        let mut changed_by: BTreeMap<usize, usize> = BTreeMap::new();
        for (i, change) in changes.iter().enumerate() {
            let path = format!("topology.changed_links[{i}]");
            let links = change.links(&path, self);
            self.errors.extend(change.errors(&path));
            match links {
                Ok(links) => self.change(i, change, links, &mut changed_by),
                Err(errors) => self.errors.extend(errors),
            }
        }
        self.changed = changed_by.len();
    }

    fn change(&mut self, i: usize, change: &ChangedLink, links: Vec<usize>, changed_by: &mut BTreeMap<usize, usize>) {
        if let Some((&link, &other)) = changed_by.iter().find(|(link, _)| links.binary_search(link).is_ok()) {
            let [a, b] = [self.links[link].a, self.links[link].b].map(|node| &self.nodes[node].name);
            let message = format!("the link between \"{a}\" and \"{b}\" is already changed by changed_links[{other}]");
            self.errors.push(Diagnostic::error(format!("topology.changed_links[{i}].link"), message));
            return;
        }
        for ix in links {
            let link = &mut self.links[ix];
            (link.rate, link.delay) = (change.rate.unwrap_or(link.rate), change.delay.unwrap_or(link.delay));
            changed_by.insert(ix, i);
        }
    }
}
