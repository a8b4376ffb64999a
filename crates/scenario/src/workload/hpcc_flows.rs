//! Flow files of the HPCC family of ns-3 simulators.

use super::config::{CommonConfig, TrafficOptions};
use super::part::Part;
use crate::diagnostic::{Diagnostic, counted};
use crate::hpcc::{at_option, read_flows, read_text};
use backwater_engine::{Duration, Time};
use backwater_fabric::network::spec::FlowSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A `flow.txt` of the HPCC family of ns-3 simulators. Its node numbers are those of the topology
/// file that belongs to the flow file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HpccFlowsConfig {
    /// Options that all kinds share.
    #[serde(flatten)]
    pub common: CommonConfig,
    /// Path of the file, relative to the scenario's directory.
    pub path: PathBuf,
    /// Columns of the file. Default: derived from the number of columns (6: `hpcc`, 5: `conweave`,
    /// 4: `pyrrha`), and `pyrrha` if the first line has two numbers.
    pub dialect: Option<FlowDialect>,
    /// Time subtracted from every start time in the file, before `start` is added. Default 2 s
    /// (start time of the family's generators).
    #[serde(default = "default_offset")]
    pub offset: Time,
    /// Tags of flows by destination port (`{ 200 = "incast" }`, the convention of the HPCC
    /// scripts). Other flows have the tag `tag`.
    #[serde(default)]
    pub port_tags: BTreeMap<String, String>,
    /// If true, the priority group column of the file overrides `class`. Default true.
    #[serde(default = "default_true")]
    pub class_from_file: bool,
}

fn default_offset() -> Time {
    Time::ZERO + Duration::from_ms(2000)
}

fn default_true() -> bool {
    true
}

/// Columns of a flow file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowDialect {
    /// `src dst pg dport bytes start_s`.
    Hpcc,
    /// `src dst pg bytes start_s`.
    Conweave,
    /// `src dst bytes start_s`, optionally followed by queue pair and message number. The first
    /// line may have a second number.
    Pyrrha,
}

impl TrafficOptions for HpccFlowsConfig {
    fn generate(&self, part: &mut Part) -> Option<()> {
        let (field, name) = (part.field(".path"), self.path.display().to_string());
        let text = read_text(&part.scene.base_dir.join(&self.path)).map_err(|error| vec![error]);
        let read = text.and_then(|text| read_flows(&text, &name, self.dialect)).and_then(|read| {
            let errors = read.check(part.scene.graph);
            if errors.is_empty() { Ok(read) } else { Err(errors) }
        });
        let port_tags = self.port_tags(part);
        let at_path = |errors: Vec<_>| errors.into_iter().map(|error| at_option(error, &field)).collect();
        let read = part.collect_errors(read.map_err(at_path))?;
        if let Some(early) = read.flows.iter().find(|flow| flow.start < self.offset) {
            let message = format!(
                "{name}:{}: a flow starts at {}, before the offset of {}",
                early.line, early.start, self.offset
            );
            let error = Diagnostic::error(part.field(".offset"), message);
            part.add(error.hint("set offset = \"0 s\" to keep the start times of the file"));
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
}

impl HpccFlowsConfig {
    /// Returns the tags of the destination ports that have a tag of their own.
    fn port_tags(&self, part: &mut Part) -> BTreeMap<u16, u16> {
        let mut tags = BTreeMap::new();
        for (port, tag) in &self.port_tags {
            match port.parse() {
                Ok(port) => {
                    tags.insert(port, part.tag(tag));
                }
                Err(_) => part.error(".port_tags", format!("\"{port}\" is not a port number (0 to 65535)")),
            }
        }
        tags
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;
    use super::super::{Traffic, generate};
    use backwater_engine::Bytes;
    use backwater_fabric::frame::framing::Framing;

    #[test]
    fn flow_files_are_read() {
        let directory = std::env::temp_dir().join(format!("backwater-workload-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(
            directory.join("flow.txt"),
            "3\n0 5 3 100 1000 2\n1 5 2 200 2000 2.000001\n2 5 3 100 3000 2.5\n",
        )
        .unwrap();
        let make = |options: &str| {
            let config = parse(&format!("{{ kind = \"hpcc-flows\", path = \"flow.txt\"{options} }}")).unwrap();
            generate(&config, &fabric(), Framing::HpccNs3, Bytes(1000), 1, &run(1), &directory)
        };
        let made = make(", port_tags = { 200 = \"incast\" }").unwrap();
        let brief = |made: &Traffic| -> Vec<_> {
            made.flows()
                .map(|flow| (flow.start.ps(), flow.src.0, flow.dst.0, flow.bytes, flow.class.0, flow.tag))
                .collect()
        };
        assert_eq!(made.tags, ["hpcc-flows", "incast"]);
        assert_eq!(brief(&made), [(0, 0, 5, 1000, 3, 0), (1_000_000, 1, 5, 2000, 2, 1)]);
        assert_eq!(brief(&make(", class_from_file = false, class = 5").unwrap())[1], (1_000_000, 1, 5, 2000, 5, 0));
        let message = |options: &str| describe(&make(options).unwrap_err()[0]);
        assert_eq!(
            message(", offset = \"3 s\""),
            "traffic[0].offset: flow.txt:2: a flow starts at 2 s, before the offset of 3 s; set offset = \"0 s\" to \
                keep the start times of the file"
        );
        assert_eq!(
            message(", port_tags = { x = \"y\" }"),
            "traffic[0].port_tags: \"x\" is not a port number (0 to 65535)"
        );
        assert!(message(", dialect = \"conweave\"").starts_with("traffic[0].path: flow.txt:2:1: a flow has 5 columns"));
        std::fs::write(directory.join("flow.txt"), "1\n0 16 3 100 1000 2\n").unwrap();
        assert_eq!(message(""), "traffic[0].path: flow.txt:2:1: the destination 16 is a switch, not a host");
        std::fs::remove_dir_all(directory).unwrap();
    }
}
