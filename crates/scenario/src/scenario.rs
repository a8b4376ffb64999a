//! The scenario: everything a user can say, with the default of what is not said.
//!
//! These types are the only description of the file. The JSON Schema, the checks and the option reference are made from them.

use crate::diagnostic::Diagnostic;
use crate::document::check::check;
use crate::document::{Document, keys};
use crate::topology::TopologyConfig;
use crate::workload::{NodeList, TrafficConfig};
use backwater_engine::{Bytes, Duration, Time};
use backwater_fabric::frame::framing::Framing;
use backwater_fabric::mechanisms::congestion::CongestionConfig;
use backwater_fabric::mechanisms::flow_control::FlowControlConfig;
use backwater_fabric::mechanisms::headroom::HeadroomConfig;
use backwater_fabric::mechanisms::load_balance::LoadBalanceConfig;
use backwater_fabric::mechanisms::recovery::RecoveryConfig;
use backwater_fabric::network::spec::{HostConfig, SwitchConfig};
use schemars::{JsonSchema, schema_for};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A fabric, its traffic and its mechanisms: one experiment.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the scenario, for reports. Default: the name of its file.
    pub name: Option<String>,
    /// How long, and with which seed.
    #[serde(default)]
    pub run: RunConfig,
    /// The fabric.
    pub topology: TopologyConfig,
    /// Names of ports, for whoever reads results; without one, a port goes by its number.
    #[serde(default)]
    pub interfaces: Vec<InterfacesConfig>,
    /// Entries of forwarding tables that are set by hand, right or wrong.
    #[serde(default)]
    pub routes: Vec<RouteConfig>,
    /// Links that fail during the run.
    #[serde(default)]
    pub faults: Vec<FaultConfig>,
    /// Frames.
    #[serde(default)]
    pub network: NetworkConfig,
    /// Every switch.
    #[serde(default)]
    pub switch: SwitchConfig,
    /// Switches that differ from the others, group by group; their hosts go with them.
    #[serde(default)]
    pub groups: Vec<GroupConfig>,
    /// Every host.
    #[serde(default)]
    pub host: HostConfig,
    /// Congestion control of every flow. Default `dcqcn`.
    #[serde(default = "default_congestion_control")]
    pub congestion_control: CongestionConfig,
    /// Path choice. Default `ecmp`.
    #[serde(default = "default_load_balance")]
    pub load_balance: LoadBalanceConfig,
    /// Loss recovery of every flow. Default `go-back-n`.
    #[serde(default = "default_recovery")]
    pub recovery: RecoveryConfig,
    /// The traffic: all parts together.
    #[schemars(length(min = 1))]
    pub traffic: Vec<TrafficConfig>,
    /// What is measured in addition to flow completion times.
    #[serde(default)]
    pub probes: ProbesConfig,
}

/// How long, and with which seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunConfig {
    /// Seed of every random stream. Default 1.
    pub seed: u64,
    /// When traffic stops: no flow starts at or after this time. Default 1 ms.
    pub until: Time,
    /// Flows that start before this time are simulated but not measured. Default 0 s.
    pub warmup: Duration,
    /// How long after `until` the run waits for unfinished flows. Default 100 ms.
    pub drain: Duration,
    /// Largest number of parts that the network is cut into; a thread runs one or more of them. Results do not depend on it. Default: as many
    /// as the command line's `--threads`.
    #[schemars(range(min = 1, max = 1024))]
    pub shards: Option<u32>,
}

impl Default for RunConfig {
    fn default() -> Self {
        RunConfig {
            seed: 1,
            until: Time::ZERO + Duration::from_ms(1),
            warmup: Duration::ZERO,
            drain: Duration::from_ms(100),
            shards: None,
        }
    }
}

/// Names of the ports of some nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfacesConfig {
    /// Hosts and switches by name or pattern.
    pub nodes: NodeList,
    /// The names of their ports in the order of their numbers. The last one goes on counting by `step` if it ends with a number: `["Ethernet0"]` is
    /// Ethernet0, Ethernet1 and so on.
    #[schemars(length(min = 1))]
    pub names: Vec<String>,
    /// By how much. Default 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub step: u32,
}

fn one() -> u32 {
    1
}

/// An entry of the forwarding table of some switches: packets for these hosts go to that neighbour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteConfig {
    /// Switches by name or pattern.
    pub at: NodeList,
    /// Destinations by name or pattern.
    pub to: NodeList,
    /// The neighbour that the packets go to: the name of a node with a link to all of these switches.
    pub next: String,
}

/// Switches that run other mechanisms than `switch` says.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupConfig {
    /// Switches by name or pattern.
    pub switches: NodeList,
    /// Their flow control, and that of hosts whose first link leads to them: in a BCube, those of layer 0. Default: as in `switch`.
    pub flow_control: Option<FlowControlConfig>,
    /// Their buffer policy. Default: as in `switch`.
    pub headroom: Option<HeadroomConfig>,
}

/// A link that fails during the run: what is on the wire is lost, what is queued waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultConfig {
    /// Names of the link's two ends: `["leaf0", "spine1"]`.
    pub link: [String; 2],
    /// Which of several parallel links, counted from 0. Default: all of them.
    pub parallel: Option<u32>,
    /// When it fails.
    pub down: Time,
    /// When it comes back. Default: never.
    pub up: Option<Time>,
}

/// Frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkConfig {
    /// Which headers frames carry. Default `rocev2`.
    pub framing: Framing,
    /// Payload bytes of a full data packet, 1 B to 9000 B. Default 1024 B (the RoCE path MTU).
    pub mtu: Bytes,
    /// Time from the failure or return of a link (`[[faults]]`) until all routes are computed anew. What waits at the ports of failed links is lost then.
    /// Default: never, routes stay, and packets wait for the link.
    pub reconvergence: Option<Duration>,
}

impl Default for NetworkConfig {
    fn default() -> Self {
        NetworkConfig { framing: Framing::Rocev2, mtu: Bytes(1024), reconvergence: None }
    }
}

/// What is measured in addition to flow completion times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProbesConfig {
    /// Time between two samples of queues and ports; "0 s" switches them off. Default 10 us.
    pub sample_interval: Duration,
    /// Whether single queues are sampled besides ports: their bytes at egress, and at ingress those that are charged, with threshold and headroom. Default
    /// true.
    pub queues: bool,
    /// Whether every PAUSE is recorded. Default true.
    pub pauses: bool,
    /// Whether to record, for every ingress queue of a switch whose upstream is told to stop, how much arrives and departs meanwhile and how much
    /// headroom it uses; and for every switch the local maxima of the headroom in use. Default false.
    pub ingress: bool,
    /// Whether the payload delivered to flows is sampled, by tag and role. Default false: every sample then looks at every flow that has begun and not ended.
    pub goodput: bool,
    /// Whether what load balancers know of paths, and how much they hold, is sampled. Default false: every sample then looks at every path that edge switches have
    /// chosen among.
    pub paths: bool,
    /// Record a latency breakdown of every flow, to the picosecond, and its congestion signals.
    /// Default false.
    pub flows: bool,
    /// Which events are written down one by one: what is on wires and in queues, pauses, marks, drops, what senders do. Default: none.
    pub trace: Option<TraceConfig>,
    /// Time between two searches for cyclic waits; "0 s" switches them off. Default 100 us.
    pub deadlock_check: Duration,
    /// Smallest share of an incast's traffic, 0 to 1, that a port carries for the flows of others through it to count as vulnerable. Default
    /// 0.1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub vulnerable_share: f64,
}

/// Which events are written down one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TraceConfig {
    /// From when on. Default 0 s.
    pub from: Time,
    /// Until when. Default: the end of the run.
    pub until: Option<Time>,
    /// Hosts and switches by name or pattern: what they do. Default: all of them.
    pub nodes: Option<NodeList>,
    /// Ports, as "leaf3:5" or "leaf3->h7", instead of nodes: what happens there.
    pub ports: Option<Vec<String>>,
    /// Flows by their numbers in order of start, from 0, instead of nodes: what happens to their packets, and what their senders do.
    pub flows: Option<Vec<u32>>,
}

impl Default for ProbesConfig {
    fn default() -> Self {
        ProbesConfig {
            sample_interval: Duration::from_us(10),
            queues: true,
            pauses: true,
            ingress: false,
            goodput: false,
            paths: false,
            flows: false,
            trace: None,
            deadlock_check: Duration::from_us(100),
            vulnerable_share: 0.1,
        }
    }
}

fn default_congestion_control() -> CongestionConfig {
    CongestionConfig::Dcqcn(Default::default())
}

fn default_load_balance() -> LoadBalanceConfig {
    LoadBalanceConfig::Ecmp(Default::default())
}

fn default_recovery() -> RecoveryConfig {
    RecoveryConfig::GoBackN(Default::default())
}

impl Scenario {
    /// The JSON Schema of a scenario (draft 2020-12).
    pub fn schema() -> Value {
        schema_for!(Scenario).to_value()
    }

    /// Reads a document.
    ///
    /// # Errors
    /// Everything that the schema does not allow, in the order of the document.
    pub fn from_document(document: &Document) -> Result<Scenario, Vec<Diagnostic>> {
        let findings = check(&Scenario::schema(), document);
        if !findings.is_empty() {
            return Err(findings);
        }
        let data = document.to_json();
        serde_json::from_value(data.clone()).map_err(|error| vec![document.place(blame(&data, &error))])
    }

    /// The scenario with every default filled in, as plain data that [`Document::from_json`] reads back. What follows from other values, and
    /// what is simply absent, is left out.
    ///
    /// # Errors
    /// A mechanism of another crate, which no file can name: it belongs into the plan's network, not into the scenario.
    pub fn resolved(&self) -> Result<Value, Vec<Diagnostic>> {
        self.fields().map(|fields| without_nulls(&fields))
    }

    /// The same with a null wherever something is left out.
    pub(crate) fn fields(&self) -> Result<Value, Vec<Diagnostic>> {
        let mut fields = serde_json::to_value(self).map_err(|error| vec![Diagnostic::error("", error.to_string())])?;
        for (fields, part) in fields["traffic"].as_array_mut().into_iter().flatten().zip(&self.traffic) {
            fields["tag"] = part.common().tag.into();
        }
        Ok(fields)
    }
}

/// `value` without the fields that are null.
pub(crate) fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let said = fields.iter().filter(|(_, value)| !value.is_null());
            said.map(|(key, value)| (key.clone(), without_nulls(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        leaf => leaf.clone(),
    }
}

/// Finds the part of `data` that serde refused: what a schema cannot say, such as a text that stands for one of several things.
fn blame(data: &Value, error: &serde_json::Error) -> Diagnostic {
    fn refusal<T: DeserializeOwned>(data: &Value, path: &str) -> Option<Diagnostic> {
        let part = data.pointer(&keys(path).map(|key| format!("/{key}")).collect::<String>())?;
        serde_json::from_value::<T>(part.clone()).err().map(|error| Diagnostic::error(path, error.to_string()))
    }
    let each = |list: &str| -> Vec<String> {
        (0..data[list].as_array().map_or(0, Vec::len)).map(|i| format!("{list}[{i}]")).collect()
    };
    let of_groups = || {
        each("groups").into_iter().find_map(|group| {
            refusal::<Option<FlowControlConfig>>(data, &format!("{group}.flow_control"))
                .or_else(|| refusal::<Option<HeadroomConfig>>(data, &format!("{group}.headroom")))
        })
    };
    refusal::<TopologyConfig>(data, "topology")
        .or_else(|| each("traffic").iter().find_map(|part| refusal::<TrafficConfig>(data, part)))
        .or_else(|| refusal::<FlowControlConfig>(data, "switch.flow_control"))
        .or_else(|| refusal::<HeadroomConfig>(data, "switch.headroom"))
        .or_else(of_groups)
        .or_else(|| refusal::<CongestionConfig>(data, "congestion_control"))
        .or_else(|| refusal::<LoadBalanceConfig>(data, "load_balance"))
        .or_else(|| refusal::<RecoveryConfig>(data, "recovery"))
        .unwrap_or_else(|| Diagnostic::error("", error.to_string()))
}
