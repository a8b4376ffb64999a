//! Data of a run besides its events: network, flows, sizes.

use crate::ExportError;
use crate::tables;
use backwater_engine::units::Quantity;
use backwater_scenario::read_quantity;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Node, as an index in the list of nodes, and number of a port there.
pub(crate) type Port = (u32, u16);

/// Flow or connection.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    /// Messages in order of their numbers; one for a flow.
    pub(crate) messages: Vec<Message>,
}

/// Message of a connection, or all of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub(crate) number: u32,
    /// Number of the first packet.
    pub(crate) first: u32,
    /// Payload; `None` for an endless flow.
    pub(crate) bytes: Option<u64>,
    pub(crate) start_ps: u64,
    pub(crate) finish_ps: Option<u64>,
}

impl Flow {
    /// Returns the message of packet `psn`; `None` without messages.
    pub(crate) fn message_of(&self, psn: u32) -> Option<&Message> {
        let after = self.messages.partition_point(|message| message.first <= psn);
        self.messages[..after].last()
    }

    /// Returns the name of a message as shown to users; `id` is the number of the flow.
    pub(crate) fn name(&self, id: u32, message: &Message) -> String {
        message_name(id.into(), message.number.into(), self.messages.len() > 1)
    }
}

/// Returns the name of a message as shown to users: number of the flow, and number of the message
/// if the flow is a connection with several.
pub(crate) fn message_name(flow: u64, message: u64, is_one_of_many: bool) -> String {
    if is_one_of_many { format!("{flow}.{message}") } else { flow.to_string() }
}

/// Link in one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) to: Port,
    pub(crate) rate_bps: u64,
}

/// Run.
pub(crate) struct Run {
    pub(crate) names: Vec<String>,
    numbers: BTreeMap<String, u32>,
    /// Number of ports of all preceding nodes, by node.
    ports_before: Vec<u32>,
    /// Sample interval, ps; 0 without samples.
    pub(crate) sample_ps: u64,
    pub(crate) links: BTreeMap<Port, Link>,
    /// Names of the ports that have a name.
    interfaces: BTreeMap<Port, String>,
    pub(crate) flows: BTreeMap<u32, Flow>,
    pub(crate) mtu: u64,
    pub(crate) framing: String,
    pub(crate) has_trace: bool,
    pub(crate) end_ps: u64,
    pub(crate) version: String,
    /// Sizes and checksums of the files.
    files: Value,
}

fn json(path: &Path) -> Result<Value, ExportError> {
    let fail = |cause: String| ExportError::Read { path: path.into(), cause };
    let text = fs::read_to_string(path).map_err(|cause| fail(cause.to_string()))?;
    serde_json::from_str(&text).map_err(|cause| fail(cause.to_string()))
}

impl Run {
    /// Reads the run in `directory` and all its flows.
    pub(crate) fn with_flows(directory: &Path) -> Result<Run, ExportError> {
        let mut run = Run::read(directory)?;
        run.flows = run.read_flows(directory)?;
        Ok(run)
    }

    /// Reads the run in `directory` without its flows.
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
        let mut ports_before = vec![0; names.len() + 1];
        for (node, _) in links.keys() {
            ports_before[*node as usize + 1] += 1;
        }
        for node in 0..names.len() {
            ports_before[node + 1] += ports_before[node];
        }
        Ok(Run {
            names,
            numbers,
            ports_before,
            sample_ps,
            links,
            interfaces,
            flows: BTreeMap::new(),
            mtu,
            framing: text(&network["framing"]),
            has_trace: !run["scenario"]["probes"]["trace"].is_null(),
            end_ps: run["simulated_ps"].as_u64().unwrap_or_default(),
            version: text(&run["version"]),
            files: run["files"].clone(),
        })
    }

    fn read_flows(&self, directory: &Path) -> Result<BTreeMap<u32, Flow>, ExportError> {
        let mut flows: BTreeMap<u32, Flow> = BTreeMap::new();
        tables::read(&directory.join("flows.parquet"), None, |rows| {
            let (id, bytes, start) = (rows.numbers("id")?, rows.numbers("bytes")?, rows.numbers("start_ps")?);
            let message = rows.newer_numbers("message")?;
            let (src, dst) = (rows.names("src")?.numbers(self), rows.names("dst")?.numbers(self));
            let finish = rows.numbers("receiver_finish_ps")?;
            for row in 0..rows.len() {
                let (bytes, start_ps, finish_ps) = (bytes.get(row), start.at(row), finish.get(row));
                let number = message.as_ref().map_or(0, |message| message.at(row) as u32);
                let message = Message { number, first: 0, bytes, start_ps, finish_ps };
                let flow = || Flow { src: src(row), dst: dst(row), messages: Vec::new() };
                flows.entry(id.at(row) as u32).or_insert_with(flow).messages.push(message);
            }
            Ok(())
        })?;
        for flow in flows.values_mut() {
            flow.messages.sort_unstable_by_key(|message| message.number);
            let mut next = 0;
            for message in &mut flow.messages {
                message.first = next;
                next += message.bytes.map_or(0, |bytes| bytes.div_ceil(self.mtu) as u32);
            }
        }
        Ok(flows)
    }

    /// Returns the number of a port, counted over all nodes.
    pub(crate) fn port_number(&self, (node, port): Port) -> u32 {
        self.ports_before[node as usize] + u32::from(port)
    }

    /// Returns the number of samples.
    pub(crate) fn samples(&self) -> u32 {
        self.end_ps.checked_div(self.sample_ps).unwrap_or_default() as u32
    }

    /// Returns the index of the sample at a time.
    pub(crate) fn bin(&self, time_ps: u64) -> u32 {
        (time_ps / self.sample_ps).clamp(1, self.samples().max(1).into()) as u32 - 1
    }

    /// Returns the checksums of tables.
    pub(crate) fn sums(&self, tables: &[&str]) -> BTreeMap<String, u64> {
        let sum = |table: &&str| {
            let file = format!("{table}.parquet");
            Some(((*table).to_owned(), self.files[file]["crc32"].as_u64()?))
        };
        tables.iter().filter_map(sum).collect()
    }

    /// Returns the index of a node in the list of nodes.
    pub(crate) fn number(&self, node: &str) -> u32 {
        self.numbers.get(node).copied().unwrap_or_default()
    }

    /// Returns the name of a port as shown to users.
    pub(crate) fn port_name(&self, (node, port): Port) -> String {
        let number = port.to_string();
        let port = self.interfaces.get(&(node, port)).unwrap_or(&number);
        format!("{}:{port}", self.names[node as usize])
    }

    /// Returns an error if the run has no trace.
    pub(crate) fn need_trace(&self, directory: &Path) -> Result<(), ExportError> {
        let missing = format!(
            "{} has no events: run the scenario with --set probes.trace={{}}, or for a time window with \
             --set 'probes.trace={{ from = \"0 s\", until = \"100 us\" }}'",
            directory.display()
        );
        if self.has_trace { Ok(()) } else { Err(ExportError::Missing(missing)) }
    }
}

#[cfg(test)]
impl Run {
    /// Builds a run from its parts, for tests.
    pub(crate) fn of_parts(links: BTreeMap<Port, Link>, flows: BTreeMap<u32, Flow>, mtu: u64) -> Run {
        Run {
            names: Vec::new(),
            numbers: BTreeMap::new(),
            ports_before: Vec::new(),
            sample_ps: 0,
            links,
            interfaces: BTreeMap::new(),
            flows,
            mtu,
            framing: String::new(),
            has_trace: true,
            end_ps: 0,
            version: String::new(),
            files: Value::Null,
        }
    }
}
