//! Flows that are listed one by one.

use super::part::Part;
use super::{FlowConfig, FlowsConfig, HpccFlowsConfig, LongLivedConfig};
use crate::diagnostic::counted;
use crate::hpcc::{read_flows, read_text};
use crate::topology::BuildError;
use backwater_engine::Duration;
use backwater_fabric::ids::{CLASSES, NodeId};
use backwater_fabric::network::spec::FlowSpec;
use std::collections::BTreeMap;

impl LongLivedConfig {
    pub(super) fn generate(&self, part: &mut Part) -> Option<()> {
        for (i, (src, dst)) in self.pairs.iter().enumerate() {
            if let Some((src, dst)) = ends(part, (&format!(".pairs[{i}][0]"), src), (&format!(".pairs[{i}][1]"), dst)) {
                part.push(part.flow(src, dst, FlowSpec::ENDLESS, part.window.start));
            }
        }
        if self.pairs.is_empty() {
            part.refuse(".pairs", "is empty".into());
        }
        part.note(format!("{} long-lived flows", self.pairs.len()));
        Some(())
    }
}

impl FlowsConfig {
    pub(super) fn generate(&self, part: &mut Part) -> Option<()> {
        for (i, config) in self.flows.iter().enumerate() {
            match config.flow(part, &format!(".flows[{i}]")) {
                Some(flow) if config.class.is_some() => part.push_as_is(flow),
                Some(flow) => part.push(flow),
                None => {}
            }
        }
        if self.flows.is_empty() {
            part.refuse(".flows", "is empty".into());
        }
        part.note(format!("{} listed", counted(self.flows.len(), "flow")));
        Some(())
    }
}

impl FlowConfig {
    fn flow(&self, part: &mut Part, key: &str) -> Option<FlowSpec> {
        let ends = ends(part, (&format!("{key}.src"), &self.src), (&format!("{key}.dst"), &self.dst));
        let data_via = via(part, &format!("{key}.data_via"), &self.data_via);
        let ack_via = via(part, &format!("{key}.ack_via"), &self.ack_via);
        let bytes = self.bytes.map_or(FlowSpec::ENDLESS, |bytes| bytes.get());
        if bytes == 0 {
            part.refuse(&format!("{key}.bytes"), "is 0 B, must be at least 1 B".into());
        }
        let class = self.class.unwrap_or(part.class());
        if usize::from(class.0) >= CLASSES {
            part.refuse(&format!("{key}.class"), format!("is {}, must be between 0 and 7", class.0));
        }
        let start = part.window.start + Duration::from_ps(self.start.ps());
        let (src, dst) = ends?;
        Some(FlowSpec { class, data_via: data_via?, ack_via: ack_via?, ..part.flow(src, dst, bytes, start) })
    }
}

impl HpccFlowsConfig {
    pub(super) fn generate(&self, part: &mut Part) -> Option<()> {
        let (field, name) = (part.field(".path"), self.path.display().to_string());
        let text = read_text(&part.scene.base_dir.join(&self.path)).map_err(|error| vec![error]);
        let read = text.and_then(|text| read_flows(&text, &name, self.dialect)).and_then(|read| {
            let errors = read.check(part.scene.graph);
            if errors.is_empty() { Ok(read) } else { Err(errors) }
        });
        let port_tags = self.port_tags(part);
        let read = read.map_err(|errors| errors.into_iter().for_each(|error| part.error(error.at(&field)))).ok()?;
        if let Some(early) = read.flows.iter().find(|flow| flow.start < self.offset) {
            let message = format!(
                "{name}:{}: a flow starts at {}, before the offset of {}",
                early.line, early.start, self.offset
            );
            part.error(
                BuildError::new(part.field(".offset"), message).hint("set it to \"0 s\" for starts as they are"),
            );
        }
        part.check_count(read.flows.len() as f64);
        part.sound()?;
        for flow in &read.flows {
            let start = part.window.start + flow.start.since(self.offset);
            let mut spec = part.flow(flow.src, flow.dst, flow.bytes, start);
            spec.tag = flow.dport.and_then(|port| port_tags.get(&port)).copied().unwrap_or(spec.tag);
            match flow.pg.filter(|_| self.class_from_file) {
                Some(class) => part.push_as_is(FlowSpec { class, ..spec }),
                None => part.push(spec),
            }
        }
        read.notes.into_iter().for_each(|note| part.note(note));
        part.note(format!("{} of {name}", counted(read.flows.len(), "flow")));
        Some(())
    }

    /// The tag of every port that has one of its own.
    fn port_tags(&self, part: &mut Part) -> BTreeMap<u16, u16> {
        let mut tags = BTreeMap::new();
        for (port, tag) in &self.port_tags {
            match port.parse() {
                Ok(port) => {
                    tags.insert(port, part.tag(tag));
                }
                Err(_) => part.refuse(".port_tags", format!("\"{port}\" is not a port number, 0 to 65535")),
            }
        }
        tags
    }
}

/// Two different hosts.
fn ends(part: &mut Part, src: (&str, &str), dst: (&str, &str)) -> Option<(NodeId, NodeId)> {
    let (from, to) = (part.host(src.0, src.1), part.host(dst.0, dst.1));
    let (from, to) = (from?, to?);
    if from == to {
        part.refuse(dst.0, format!("\"{}\" would send to itself", src.1));
        return None;
    }
    Some((from, to))
}

/// Nodes by name that a flow passes.
fn via(part: &mut Part, key: &str, names: &[String]) -> Option<Vec<NodeId>> {
    let graph = part.scene.graph;
    let waypoint = |(i, name): (usize, &String)| {
        let found = graph.waypoint(&part.field(&format!("{key}[{i}]")), name);
        found.map_err(|error| part.error(error)).ok()
    };
    let found: Vec<_> = names.iter().enumerate().map(waypoint).collect();
    found.into_iter().collect()
}
