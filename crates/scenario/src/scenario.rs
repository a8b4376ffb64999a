//! The scenario: all options of a file, with their defaults.
//!
//! These types are the only description of the file. The JSON Schema, the checks and the option
//! reference are generated from them.

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
use backwater_fabric::network::spec::{FlowKeys, HostConfig, SwitchConfig};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema, schema_for};
use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// One experiment: a fabric, its traffic and its mechanisms.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the scenario in reports. Default: the name of its file.
    pub name: Option<String>,
    /// Duration and seed of the run.
    #[serde(default)]
    pub run: RunConfig,
    /// Hosts, switches and links.
    pub topology: TopologyConfig,
    /// Names of ports in results. A port without a name is shown by its number.
    #[serde(default)]
    pub interfaces: Vec<InterfacesConfig>,
    /// Forwarding-table entries that replace computed routes; they may be wrong on purpose.
    #[serde(default)]
    pub routes: Vec<RouteConfig>,
    /// Links that fail during the run.
    #[serde(default)]
    pub faults: Vec<FaultConfig>,
    /// Format of frames, and routing.
    #[serde(default)]
    pub network: NetworkConfig,
    /// Options of every switch.
    #[serde(default)]
    pub switch: SwitchConfig,
    /// Groups of switches with other mechanisms than the rest. A host uses the flow control of the
    /// switch at its first link.
    #[serde(default)]
    pub groups: Vec<GroupConfig>,
    /// Options of every host.
    #[serde(default)]
    pub host: HostConfig,
    /// Congestion control of every flow. Default `dcqcn`.
    #[serde(default = "default_congestion_control")]
    pub congestion_control: CongestionConfig,
    /// Load balancing. Default `ecmp`.
    #[serde(default = "default_load_balance")]
    pub load_balance: LoadBalanceConfig,
    /// Loss recovery of every flow. Default `go-back-n`.
    #[serde(default = "default_recovery")]
    pub recovery: RecoveryConfig,
    /// Parts of the traffic. All parts run together.
    #[schemars(length(min = 1))]
    pub traffic: Vec<TrafficConfig>,
    /// Measurements in addition to flow completion times.
    #[serde(default)]
    pub probes: ProbesConfig,
}

/// Duration and seed of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunConfig {
    /// Seed of every random stream. Default 1.
    pub seed: u64,
    /// End of the traffic: no flow starts at or after this time. With `"jobs"`, the run ends with
    /// the jobs (`collective`, `schedule`), at the first multiple of 10 us after all of them
    /// have ended, and with it all other traffic. Default 1 ms.
    pub until: RunEnd,
    /// Longest run with `until = "jobs"`. Default 1 s.
    pub limit: Option<Time>,
    /// Start of measurement: flows that start before this time are simulated but not measured.
    /// Default 0 s.
    pub warmup: Duration,
    /// Longest time after `until` that the run waits for unfinished flows. Default 100 ms.
    pub drain: Duration,
    /// Maximum number of shards of the network. Each thread simulates one or more shards. Results
    /// do not depend on the number. Default: the value of `--threads`.
    #[schemars(range(min = 1, max = 1024))]
    pub shards: Option<u32>,
}

impl Default for RunConfig {
    fn default() -> Self {
        RunConfig {
            seed: 1,
            until: RunEnd::At(Time::ZERO + Duration::from_ms(1)),
            limit: None,
            warmup: Duration::ZERO,
            drain: Duration::from_ms(100),
            shards: None,
        }
    }
}

/// End of a run's traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// No flow starts at or after this time.
    At(Time),
    /// The run ends when all jobs have ended.
    Jobs,
}

impl RunEnd {
    const JOBS: &str = "jobs";
}

impl Serialize for RunEnd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            RunEnd::At(time) => time.serialize(serializer),
            RunEnd::Jobs => serializer.serialize_str(RunEnd::JOBS),
        }
    }
}

impl<'de> Deserialize<'de> for RunEnd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RunEnd, D::Error> {
        match &*Cow::<str>::deserialize(deserializer)? {
            RunEnd::JOBS => Ok(RunEnd::Jobs),
            text => text.parse().map(RunEnd::At).map_err(de::Error::custom),
        }
    }
}

impl JsonSchema for RunEnd {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RunEnd".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [Time::json_schema(generator), { "const": RunEnd::JOBS }] })
    }
}

impl RunConfig {
    /// Default of `limit`.
    const LIMIT: Time = Time::from_ps(Duration::from_ms(1000).ps());

    /// Returns the time from which on no flow starts.
    pub fn end_of_traffic(&self) -> Time {
        match self.until {
            RunEnd::At(time) => time,
            RunEnd::Jobs => self.limit.unwrap_or(RunConfig::LIMIT),
        }
    }

    /// Returns the latest end of the run.
    pub fn last(&self) -> Time {
        match self.until {
            RunEnd::At(time) => time + self.drain,
            RunEnd::Jobs => self.end_of_traffic(),
        }
    }

    /// Returns the option that sets the end of the traffic.
    pub(crate) fn option_of_end(&self) -> &'static str {
        if self.ends_with_jobs() { "run.limit" } else { "run.until" }
    }

    /// Returns the option that sets [`RunConfig::last`].
    pub(crate) fn option_of_last(&self) -> &'static str {
        if self.ends_with_jobs() { "run.limit" } else { "run.drain" }
    }

    /// Returns true if the run ends with its jobs.
    pub fn ends_with_jobs(&self) -> bool {
        self.until == RunEnd::Jobs
    }
}

/// Names of the ports of some nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfacesConfig {
    /// Hosts and switches by name or pattern.
    pub nodes: NodeList,
    /// Names of the ports in the order of their numbers. If the last name ends with a number, the
    /// remaining ports continue it by `step`: `["Ethernet0"]` names Ethernet0, Ethernet1 and so on.
    #[schemars(length(min = 1))]
    pub names: Vec<String>,
    /// Step between continued names. Default 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub step: u32,
}

/// Default of counts.
pub(crate) fn one() -> u32 {
    1
}

/// An entry in the forwarding tables of some switches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteConfig {
    /// Switches by name or pattern.
    pub at: NodeList,
    /// Destinations by name or pattern.
    pub to: NodeList,
    /// Next hop of the packets: a node that has a link to each switch in `at`.
    pub next: String,
}

/// Switches with other mechanisms than `switch` configures.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupConfig {
    /// Switches by name or pattern.
    pub switches: NodeList,
    /// Flow control of the switches, and of the hosts whose first link ends at one of them (in a
    /// BCube, the link of layer 0). Default: as in `switch`.
    pub flow_control: Option<FlowControlConfig>,
    /// Buffer policy of the switches. Default: as in `switch`.
    pub headroom: Option<HeadroomConfig>,
}

/// A link that fails during the run. Frames on the wire are lost. Queued packets wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultConfig {
    /// Names of the link's two ends: `["leaf0", "spine1"]`.
    pub link: [String; 2],
    /// Index of one of several parallel links, counted from 0. Default: all of them.
    pub parallel: Option<u32>,
    /// Time of the failure.
    pub down: Time,
    /// Time of the repair. Default: never.
    pub up: Option<Time>,
}

/// Format of frames, and routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkConfig {
    /// Headers of frames. Default `rocev2`.
    pub framing: Framing,
    /// Payload bytes of a full data packet, 1 B to 9000 B. Default 1024 B (the RoCE path MTU).
    pub mtu: Bytes,
    /// Time from the failure or repair of a link (`[[faults]]`) until all routes are recomputed.
    /// Packets queued at failed links are dropped at that time. Default: never. Routes then do not
    /// change, and packets wait for the link.
    pub reconvergence: Option<Duration>,
    /// Names of flows in hash functions: ECMP, BFC's table of flows, and random streams of senders.
    /// Default `connection`.
    pub flow_keys: FlowKeys,
    /// Seed of the hash functions of ECMP. With other seeds, the same traffic takes other paths.
    /// Default: `run.seed`.
    pub hash_seed: Option<u64>,
}

impl Default for NetworkConfig {
    fn default() -> Self {
        let flow_keys = FlowKeys::Connection;
        NetworkConfig { framing: Framing::Rocev2, mtu: Bytes(1024), reconvergence: None, flow_keys, hash_seed: None }
    }
}

/// Measurements in addition to flow completion times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProbesConfig {
    /// Time between two samples of queues and ports; "0 s" disables sampling. Default 10 us.
    pub sample_interval: Duration,
    /// Sample single queues as well as ports: bytes at egress, and charged bytes, threshold and
    /// headroom at ingress. Default true.
    pub queues: bool,
    /// Record every PAUSE. Default true.
    pub pauses: bool,
    /// Record each interval in which the upstream of a switch's ingress queue is paused: the
    /// headroom in use, and the bytes that arrive and depart in a window after the PAUSE. Record
    /// also the local maxima of the headroom in use at each switch. Default false.
    pub ingress: bool,
    /// Sample the payload delivered to receivers, by tag and role of the flows. Default false,
    /// since each sample reads every active flow.
    pub goodput: bool,
    /// Sample the path state of load balancers, and the size of this state. Default false, since
    /// each sample reads every path that edge switches choose from.
    pub paths: bool,
    /// Record a latency breakdown of every flow, to the picosecond, and its congestion signals.
    /// Default false.
    pub flows: bool,
    /// Record the start and end of every operation of every job. Default false.
    pub operations: bool,
    /// Trace of single events: frames on wires and in queues, pauses, marks, drops, actions of
    /// senders. Default: none.
    pub trace: Option<TraceConfig>,
    /// Time between two checks for deadlocks (cyclic waits); "0 s" disables the checks. Default 100
    /// us.
    pub deadlock_check: Duration,
    /// Threshold for vulnerable flows, 0 to 1. If a port, other than that to the receiver, carries
    /// at least this share of an incast's traffic, all other flows through the port are vulnerable.
    /// Default 0.1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub vulnerable_share: f64,
}

/// Selection of events to trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TraceConfig {
    /// Start of the trace. Default 0 s.
    pub from: Time,
    /// End of the trace. Default: the end of the run.
    pub until: Option<Time>,
    /// Hosts and switches whose events are traced, by name or pattern. Default: all.
    pub nodes: Option<NodeList>,
    /// Ports whose events are traced, such as "leaf3:5" or "leaf3->h7". Excludes `nodes`.
    pub ports: Option<Vec<String>>,
    /// Flows whose packets and senders are traced, by number: the column `id` of `flows.parquet`.
    /// Excludes `nodes`.
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
            operations: false,
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
    /// Returns the JSON Schema of a scenario (draft 2020-12).
    pub fn schema() -> Value {
        schema_for!(Scenario).to_value()
    }

    /// Reads a document.
    ///
    /// # Errors
    /// All violations of the schema, in the order of the document.
    pub fn from_document(document: &Document) -> Result<Scenario, Vec<Diagnostic>> {
        let diagnostics = check(&Scenario::schema(), document);
        if !diagnostics.is_empty() {
            return Err(diagnostics);
        }
        let data = document.to_json();
        serde_json::from_value(data.clone()).map_err(|error| vec![document.place(locate(&data, &error))])
    }

    /// Returns the scenario with every default filled in, as plain data that
    /// [`Document::from_json`] reads back. Derived values and absent options are left out.
    ///
    /// # Errors
    /// If a mechanism of another crate is not registered, so that no file can name it.
    pub fn resolved(&self) -> Result<Value, Vec<Diagnostic>> {
        self.fields().map(|fields| without_nulls(&fields))
    }

    /// Like [`Scenario::resolved`], with nulls for values that are left out.
    pub(crate) fn fields(&self) -> Result<Value, Vec<Diagnostic>> {
        let mut fields = serde_json::to_value(self).map_err(|error| vec![Diagnostic::error("", error.to_string())])?;
        for (fields, part) in fields["traffic"].as_array_mut().into_iter().flatten().zip(&self.traffic) {
            fields["tag"] = part.common().tag.into();
        }
        Ok(fields)
    }
}

/// Returns `value` without its null fields.
pub(crate) fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let set = fields.iter().filter(|(_, value)| !value.is_null());
            set.map(|(key, value)| (key.clone(), without_nulls(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        leaf => leaf.clone(),
    }
}

/// Finds the part of `data` that serde rejected although the schema allows it, such as a malformed
/// string.
fn locate(data: &Value, error: &serde_json::Error) -> Diagnostic {
    fn rejected<T: DeserializeOwned>(data: &Value, path: &str) -> Option<Diagnostic> {
        let part = data.pointer(&keys(path).map(|key| format!("/{key}")).collect::<String>())?;
        serde_json::from_value::<T>(part.clone()).err().map(|error| Diagnostic::error(path, error.to_string()))
    }
    let each = |list: &str| -> Vec<String> {
        (0..data[list].as_array().map_or(0, Vec::len)).map(|i| format!("{list}[{i}]")).collect()
    };
    let of_groups = || {
        each("groups").into_iter().find_map(|group| {
            rejected::<Option<FlowControlConfig>>(data, &format!("{group}.flow_control"))
                .or_else(|| rejected::<Option<HeadroomConfig>>(data, &format!("{group}.headroom")))
        })
    };
    rejected::<TopologyConfig>(data, "topology")
        .or_else(|| each("traffic").iter().find_map(|part| rejected::<TrafficConfig>(data, part)))
        .or_else(|| rejected::<FlowControlConfig>(data, "switch.flow_control"))
        .or_else(|| rejected::<HeadroomConfig>(data, "switch.headroom"))
        .or_else(of_groups)
        .or_else(|| rejected::<CongestionConfig>(data, "congestion_control"))
        .or_else(|| rejected::<LoadBalanceConfig>(data, "load_balance"))
        .or_else(|| rejected::<RecoveryConfig>(data, "recovery"))
        .unwrap_or_else(|| Diagnostic::error("", error.to_string()))
}
