//! What an export needs to know of a run besides its events: the network, the flows, the sizes.

use crate::ExportError;
use crate::tables;
use backwater_engine::units::Quantity;
use backwater_scenario::read_quantity;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A node, by its place in the list of nodes, and the number of a port there.
pub(crate) type Port = (u32, u16);

/// A flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    /// `None` without an end.
    pub(crate) bytes: Option<u64>,
    pub(crate) start_ps: u64,
    pub(crate) finish_ps: Option<u64>,
}

/// A link in one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) to: Port,
    pub(crate) rate_bps: u64,
}

/// A run.
pub(crate) struct Run {
    pub(crate) names: Vec<String>,
    numbers: BTreeMap<String, u32>,
    /// Time between two samples, ps; 0 without any.
    pub(crate) sample_ps: u64,
    pub(crate) links: BTreeMap<Port, Link>,
    /// Names of ports, of those that have one.
    interfaces: BTreeMap<Port, String>,
    pub(crate) flows: BTreeMap<u32, Flow>,
    pub(crate) mtu: u64,
    pub(crate) framing: String,
    pub(crate) has_trace: bool,
    pub(crate) end_ps: u64,
    pub(crate) version: String,
}

fn json(path: &Path) -> Result<Value, ExportError> {
    let fail = |cause: String| ExportError::Read { path: path.into(), cause };
    let text = fs::read_to_string(path).map_err(|cause| fail(cause.to_string()))?;
    serde_json::from_str(&text).map_err(|cause| fail(cause.to_string()))
}

impl Run {
    /// Reads the run that wrote `directory`.
    pub(crate) fn read(directory: &Path) -> Result<Run, ExportError> {
        let (run, topology) = (json(&directory.join("run.json"))?, json(&directory.join("topology.json"))?);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let nodes = topology["nodes"].as_array().into_iter().flatten();
        let names: Vec<String> = nodes.map(|node| text(&node["name"])).collect();
        let numbers: BTreeMap<String, u32> = names.iter().cloned().zip(0..).collect();
        let (mut links, mut interfaces) = (BTreeMap::new(), BTreeMap::new());
        for link in topology["links"].as_array().into_iter().flatten() {
            let end = |side: &str| {
                let node = link[side].as_str().and_then(|name| numbers.get(name)).copied().unwrap_or_default();
                (node, link[format!("{side}_port")].as_u64().unwrap_or_default() as u16)
            };
            let rate_bps = link["rate_bps"].as_u64().unwrap_or_default();
            for side in ["a", "b"] {
                if let Some(name) = link[format!("{side}_interface")].as_str() {
                    interfaces.insert(end(side), name.to_owned());
                }
            }
            links.insert(end("a"), Link { to: end("b"), rate_bps });
            links.insert(end("b"), Link { to: end("a"), rate_bps });
        }
        let network = &run["scenario"]["network"];
        let mtu = read_quantity(Quantity::Size, &text(&network["mtu"]));
        let mtu = mtu.map_err(|_| ExportError::Missing(format!("{} has no network.mtu", directory.display())))?;
        let sample_ps = text(&run["scenario"]["probes"]["sample_interval"]);
        let sample_ps = read_quantity(Quantity::Time, &sample_ps).unwrap_or_default();
        let mut found = Run {
            names,
            numbers,
            sample_ps,
            links,
            interfaces,
            flows: BTreeMap::new(),
            mtu,
            framing: text(&network["framing"]),
            has_trace: !run["scenario"]["probes"]["trace"].is_null(),
            end_ps: run["simulated_ps"].as_u64().unwrap_or_default(),
            version: text(&run["version"]),
        };
        let columns = ["id", "src", "dst", "bytes", "start_ps", "receiver_finish_ps"];
        tables::read(&directory.join("flows.parquet"), &columns, |rows| {
            let (id, bytes, start) = (rows.numbers("id")?, rows.numbers("bytes")?, rows.numbers("start_ps")?);
            let (src, dst, finish) = (rows.names("src")?, rows.names("dst")?, rows.numbers("receiver_finish_ps")?);
            for row in 0..rows.len() {
                let flow = Flow {
                    src: found.number(src.at(row)),
                    dst: found.number(dst.at(row)),
                    bytes: bytes.get(row),
                    start_ps: start.at(row),
                    finish_ps: finish.get(row),
                };
                found.flows.insert(id.at(row) as u32, flow);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// The place of a node in the list of nodes.
    pub(crate) fn number(&self, node: &str) -> u32 {
        self.numbers.get(node).copied().unwrap_or_default()
    }

    /// A port as people name it.
    pub(crate) fn port_name(&self, (node, port): Port) -> String {
        let number = port.to_string();
        let port = self.interfaces.get(&(node, port)).unwrap_or(&number);
        format!("{}:{port}", self.names[node as usize])
    }

    /// Fails for a run that has not traced its events.
    pub(crate) fn need_trace(&self, directory: &Path) -> Result<(), ExportError> {
        let missing = format!(
            "{} has no events: run the scenario with --set probes.trace={{}}, or with a window as \
             --set 'probes.trace={{ from = \"0 s\", until = \"100 us\" }}'",
            directory.display()
        );
        if self.has_trace { Ok(()) } else { Err(ExportError::Missing(missing)) }
    }
}

#[cfg(test)]
impl Run {
    /// A run of which no more is known.
    pub(crate) fn of_parts(links: BTreeMap<Port, Link>, flows: BTreeMap<u32, Flow>, mtu: u64) -> Run {
        Run {
            names: Vec::new(),
            numbers: BTreeMap::new(),
            sample_ps: 0,
            links,
            interfaces: BTreeMap::new(),
            flows,
            mtu,
            framing: String::new(),
            has_trace: true,
            end_ps: 0,
            version: String::new(),
        }
    }
}
