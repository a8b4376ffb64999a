//! What a scenario says about its traffic.

use super::nodes::NodeList;
use super::sizes::SizesConfig;
use backwater_engine::{Bytes, Duration, Time};
use backwater_fabric::ids::Class;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One part of the traffic; a scenario adds up any number of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TrafficConfig {
    /// Flows with sizes of a distribution that arrive at random, at a given load.
    Poisson(PoissonConfig),
    /// Bursts of flows from many senders to one receiver.
    Incast(IncastConfig),
    /// Every host sends one flow to one other host, every host receives one.
    Permutation(PermutationConfig),
    /// Every host sends one flow to every other host.
    AllToAll(AllToAllConfig),
    /// All-to-all with hot experts: groups of hosts send themselves bursts, most of them to a few.
    Moe(MoeConfig),
    /// The hosts of most racks send to those of the others, all at once.
    RackShuffle(RackShuffleConfig),
    /// Flows that send from `start` until the run ends.
    LongLived(LongLivedConfig),
    /// An explicit list of flows.
    Flows(FlowsConfig),
    /// A flow file of the HPCC family of ns-3 simulators.
    HpccFlows(HpccFlowsConfig),
}

/// What every kind of traffic has.
#[derive(Clone, Copy, Debug)]
pub struct Common<'a> {
    /// Name of this part of the traffic; its kind where the scenario gives none.
    pub tag: &'a str,
    /// Traffic classes of the data.
    pub classes: &'a [Class],
    /// When this part begins.
    pub start: Time,
    /// No flow of this part starts at or after this time.
    pub stop: Option<Time>,
    /// Whether the flows are an incast.
    pub role: Role,
    /// Whether the senders of an incast are drawn alike from a set, so that they stand for each other.
    pub is_fan: bool,
}

/// What the flows of a part are to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// An incast, or another culprit: where it is, flows of others may be its victims.
    Incast,
    /// Any other flow.
    Other,
}

impl TrafficConfig {
    /// The fields that all kinds share.
    pub fn common(&self) -> Common<'_> {
        macro_rules! shared {
            ($($kind:ident),+) => {
                match self {
                    $(TrafficConfig::$kind(part) => Common {
                        tag: part.tag.as_deref().unwrap_or(self.kind()),
                        classes: part.class.as_slice(),
                        start: part.start,
                        stop: part.stop,
                        role: part.role.unwrap_or(match self {
                            TrafficConfig::Incast(_) => Role::Incast,
                            _ => Role::Other,
                        }),
                        is_fan: matches!(self, TrafficConfig::Incast(_)),
                    },)+
                }
            };
        }
        shared!(Poisson, Incast, Permutation, AllToAll, Moe, RackShuffle, LongLived, Flows, HpccFlows)
    }

    /// The name that a scenario gives this kind of traffic; also its default tag.
    pub fn kind(&self) -> &'static str {
        match self {
            TrafficConfig::Poisson(_) => "poisson",
            TrafficConfig::Incast(_) => "incast",
            TrafficConfig::Permutation(_) => "permutation",
            TrafficConfig::AllToAll(_) => "all-to-all",
            TrafficConfig::Moe(_) => "moe",
            TrafficConfig::RackShuffle(_) => "rack-shuffle",
            TrafficConfig::LongLived(_) => "long-lived",
            TrafficConfig::Flows(_) => "flows",
            TrafficConfig::HpccFlows(_) => "hpcc-flows",
        }
    }
}

/// The traffic class of the data of a part of the traffic: one for all flows, or several of which each flow draws one, all alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "must be a class, or a list of classes")]
#[schemars(inline)]
pub enum Classes {
    /// All flows have this one.
    One(Class),
    /// Every flow draws one of these.
    Drawn(#[schemars(length(min = 1))] Vec<Class>),
}

impl Classes {
    /// The classes that flows may have.
    pub fn as_slice(&self) -> &[Class] {
        match self {
            Classes::One(class) => std::slice::from_ref(class),
            Classes::Drawn(classes) => classes,
        }
    }
}

/// Flows per burst of an incast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "must be a number of flows, or the fewest and the most: [1, 15]")]
#[schemars(inline)]
pub enum Degree {
    /// As many in every burst.
    Fixed(#[schemars(range(min = 1))] u32),
    /// Any number from the first to the second, all alike.
    Between([u32; 2]),
}

impl Degree {
    /// The fewest and the most.
    pub fn bounds(self) -> [u32; 2] {
        match self {
            Degree::Fixed(degree) => [degree, degree],
            Degree::Between(bounds) => bounds,
        }
    }

    /// The mean.
    pub fn mean(self) -> f64 {
        let [least, most] = self.bounds();
        f64::midpoint(f64::from(least), f64::from(most))
    }
}

fn default_class() -> Classes {
    Classes::One(Class(3))
}

/// Declares a kind of traffic: the fields that all kinds share, then its own.
macro_rules! traffic {
    ($(#[$meta:meta])* pub struct $name:ident { $($own:tt)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// Name of this part of the traffic in the results and of its random streams. Default: its kind.
            pub tag: Option<String>,
            /// Traffic class of the data, 0 to 7, or a list of which every flow draws one: `[1, 2, 3, 4, 5, 6, 7]`. Default 3 (the lossless
            /// class of the HPCC family of simulators).
            #[serde(default = "default_class")]
            pub class: Classes,
            /// When this part begins. Default 0 s.
            #[serde(default)]
            pub start: Time,
            /// No flow of this part starts at or after this time. Default: the end of the traffic.
            pub stop: Option<Time>,
            /// Whether its flows count as an incast when the flows of other parts are told apart into vulnerable ones, which share their
            /// paths, and background. Default: `incast` for the kind `incast`, `other` for all others.
            pub role: Option<Role>,
            $($own)*
        }
    };
}

traffic! {
    /// Poisson arrivals: every source draws exponential gaps, a destination and a size, each from a random stream of its own.
    ///
    /// Rates follow from the mean size of the sampler itself. With `load_of = "host-links"` a source of rate C starts
    /// load x C / (8 x mean size) flows per second (the traffic generators of HPCC and ConWeave).
    pub struct PoissonConfig {
        /// Sizes of the flows.
        pub sizes: SizesConfig,
        /// Offered load as a share of the capacity that `load_of` names, 0 to 1.
        #[schemars(range(min = 0.0, max = 1.0))]
        pub load: f64,
        /// The capacity that `load` is a share of. Default `host-links` (HPCC, Pyrrha, DSH).
        #[serde(default)]
        pub load_of: LoadOf,
        /// The bytes that `load` counts. Default `payload` (all public generators).
        #[serde(default)]
        pub load_counts: LoadCounts,
        /// Share of the flows that stay in the rack of their source, 0 to 1. Default: uniform (destinations are drawn from all other hosts alike).
        #[schemars(range(min = 0.0, max = 1.0))]
        pub intra_rack: Option<f64>,
        /// Flows that start together at each arrival, to destinations and with sizes of their own; the load stays what it is. Default 1.
        #[serde(default = "default_burst")]
        #[schemars(range(min = 1))]
        pub burst: u32,
        /// Hosts that send. Default: all.
        pub hosts: Option<NodeList>,
        /// Hosts that receive. Default: all.
        pub destinations: Option<NodeList>,
        /// Hosts that neither send nor receive here; `incast` stands for the receivers of the scenario's incasts. Default: none.
        pub exclude_receivers: Option<NodeList>,
    }
}

traffic! {
    /// Incast: bursts of `degree` flows to one receiver.
    ///
    /// Bursts come every `period`, or at the mean rate that gives `load`; with neither, there is one burst at `start`.
    pub struct IncastConfig {
        /// Flows per burst: a number, or `[1, 15]` for any from 1 to 15, drawn anew for each.
        pub degree: Degree,
        /// Size of each flow: `"64 KB"`, `{ uniform = ["40 KB", "60 KB"] }` or any distribution. Give this or `total`.
        pub size: Option<SizesConfig>,
        /// Bytes of a whole burst, split evenly over its flows. Give this or `size`.
        pub total: Option<Bytes>,
        /// Hosts of which each burst draws one as its receiver; a single name fixes it. Default: all.
        pub receivers: Option<NodeList>,
        /// Hosts that the senders of a burst are drawn from: `other-racks` than the receiver's, `same-rack`, `any`, or a list.
        /// Default `other-racks`, or `any` where the fabric has a single rack. The receiver never sends to itself.
        pub senders: Option<NodeList>,
        /// How senders are drawn. Default `even`.
        #[serde(default)]
        pub pick: Pick,
        /// Mean time between bursts. Give this, or `load`, or neither for a single burst.
        pub period: Option<Duration>,
        /// Offered load as a share of the links of all possible receivers together (payload bytes), 0 to 1.
        /// With one receiver, a share of its link (Pyrrha section VIII); with all hosts, of the whole fabric (DSH section V).
        #[schemars(range(min = 0.0, max = 1.0))]
        pub load: Option<f64>,
        /// Whether gaps between bursts are equal or exponential. Default `periodic`: the first burst is at `start`.
        #[serde(default)]
        pub arrivals: Arrivals,
        /// Most bursts. Default: as many as fit before `stop`, or one without `period` and `load`.
        #[schemars(range(min = 1))]
        pub bursts: Option<u32>,
        /// Each flow starts up to this much after its burst, uniformly. Default 0 s (Pyrrha's code: 100 ns).
        #[serde(default)]
        pub jitter: Duration,
    }
}

traffic! {
    /// A permutation of hosts: every host sends one flow and receives one, none to itself.
    pub struct PermutationConfig {
        /// Sizes of the flows. Default: endless.
        pub sizes: Option<SizesConfig>,
        /// The i-th host sends to the (i + shift)-th, modulo their number. Default: a uniformly random derangement.
        #[schemars(range(min = 1))]
        pub shift: Option<u32>,
        /// The hosts that take part. Default: all.
        pub hosts: Option<NodeList>,
    }
}

traffic! {
    /// All-to-all: every host sends one flow to every other host, all ready at `start`.
    ///
    /// A host's flows are listed by rotation (the i-th host begins with the (i+1)-th), so that no receiver is favoured.
    pub struct AllToAllConfig {
        /// Bytes of every flow.
        pub bytes: Bytes,
        /// The hosts that take part. Default: all.
        pub hosts: Option<NodeList>,
    }
}

traffic! {
    /// All-to-all among the experts of a mixture-of-experts model, few of which are popular (Pyrrha section II, Figure 3).
    ///
    /// In every iteration each host sends `bytes` to its group, cut into bursts that are `gap` apart. Each burst draws the expert that it goes
    /// to by popularity, and again if that is the host itself. The flows of several groups are tagged `moe.0`, `moe.1` and so on.
    pub struct MoeConfig {
        /// The groups: each a list of hosts, of which the i-th holds the expert of the i-th popularity.
        pub groups: Vec<NodeList>,
        /// Bytes that a host sends per iteration. Default 8 MB (Pyrrha's generator).
        #[serde(default = "default_moe_bytes")]
        pub bytes: Bytes,
        /// Bytes of a burst, which is a flow. Default 80 KB (Pyrrha's generator).
        #[serde(default = "default_moe_burst")]
        pub burst: Bytes,
        /// Time between two bursts of a host. Default 5.1 us (Pyrrha's generator: the longest base RTT of its fabric).
        #[serde(default = "default_moe_gap")]
        pub gap: Duration,
        /// Probability of each expert, or any numbers in proportion. Default: those of Pyrrha's generator for 16 experts, of whom two get 86 %.
        #[serde(default = "default_popularity")]
        pub popularity: Vec<f64>,
        /// How often the exchange takes place. Default 1.
        #[serde(default = "default_iterations")]
        #[schemars(range(min = 1))]
        pub iterations: u32,
        /// Time from the start of one iteration to that of the next. Needed where there are several. (Pyrrha's generator: 1.5 times what an
        /// isolated iteration takes.)
        pub interval: Option<Duration>,
        /// How much later than the group before it a group begins. Default 0 s: their phases collide.
        #[serde(default)]
        pub shift: Duration,
    }
}

fn default_burst() -> u32 {
    1
}

fn default_moe_bytes() -> Bytes {
    Bytes(8_000_000)
}

fn default_moe_burst() -> Bytes {
    Bytes(80_000)
}

fn default_moe_gap() -> Duration {
    Duration::from_ns(5100)
}

fn default_iterations() -> u32 {
    1
}

fn default_popularity() -> Vec<f64> {
    let ten_thousandths = [65, 4133, 4490, 522, 16, 81, 107, 58, 46, 60, 109, 109, 65, 77, 12, 49u16];
    ten_thousandths.iter().map(|share| f64::from(*share) / 10_000.0).collect()
}

traffic! {
    /// Shuffle between racks: the hosts of (m-1)/m of the racks send to those of the others, all ready at `start` (Pyrrha section V, Figure 7).
    pub struct RackShuffleConfig {
        /// One rack in so many receives, the others send: m. The first rack receives, and every m-th after it.
        #[schemars(range(min = 2))]
        pub one_in: u32,
        /// Flows of each sending host, to random hosts among those that receive. Default 40 (Pyrrha section V).
        #[serde(default = "default_shuffle_flows")]
        #[schemars(range(min = 1))]
        pub flows: u32,
        /// Whether all flows of a sender go to one and the same receiver. Default false (the generator of Pyrrha's authors: true).
        #[serde(default)]
        pub one_receiver: bool,
        /// How much later than its first flow the others of a sender begin. Default "0 s" (the generator of Pyrrha's authors: one round trip).
        #[serde(default)]
        pub later: Duration,
        /// Sizes of the flows. Pyrrha's have one BDP each.
        pub size: SizesConfig,
    }
}

fn default_shuffle_flows() -> u32 {
    40
}

traffic! {
    /// Long-lived flows: they send from `start` until the run ends.
    pub struct LongLivedConfig {
        /// Pairs of source and destination: `[["h0", "h4"], ["h1", "h4"]]`.
        pub pairs: Vec<(String, String)>,
    }
}

traffic! {
    /// An explicit list of flows.
    pub struct FlowsConfig {
        /// The flows, in any order.
        pub flows: Vec<FlowConfig>,
    }
}

traffic! {
    /// A `flow.txt` of the HPCC family of ns-3 simulators: node numbers are those of its topology file.
    pub struct HpccFlowsConfig {
        /// The file, relative to the scenario's.
        pub path: PathBuf,
        /// Which columns it has. Default: told from their number (6: `hpcc`, 5: `conweave`, 4: `pyrrha`), and `pyrrha` where the first line has
        /// two numbers.
        pub dialect: Option<FlowDialect>,
        /// Taken off every start time in the file, before `start` is added. Default 2 s (the generators of the family begin there).
        #[serde(default = "default_offset")]
        pub offset: Time,
        /// Tags of flows by destination port (`{ 200 = "incast" }`, the convention of the HPCC scripts); `tag` for the others.
        #[serde(default)]
        pub port_tags: BTreeMap<String, String>,
        /// Whether the priority group column of the file overrides `class`. Default true.
        #[serde(default = "default_true")]
        pub class_from_file: bool,
    }
}

fn default_offset() -> Time {
    Time::ZERO + Duration::from_ms(2000)
}

fn default_true() -> bool {
    true
}

/// One flow of an explicit list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowConfig {
    /// Sending host.
    pub src: String,
    /// Receiving host.
    pub dst: String,
    /// Payload bytes. Default: endless.
    pub bytes: Option<Bytes>,
    /// When it becomes ready to send, counted from the `start` of the list. Default 0 s.
    #[serde(default)]
    pub start: Time,
    /// Traffic class of its data. Default: that of the list.
    pub class: Option<Class>,
    /// Switches, and hosts that relay, that its data must pass, in order. Default: the load balancer decides.
    #[serde(default)]
    pub data_via: Vec<String>,
    /// Switches, and hosts that relay, that its ACKs must pass, in order. Default: the load balancer decides.
    #[serde(default)]
    pub ack_via: Vec<String>,
}

/// The capacity that a load is a share of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadOf {
    /// The links of the sending hosts.
    #[default]
    HostLinks,
    /// The uplinks of each rack, for the flows that leave it; the measure for oversubscribed fabrics.
    Uplinks,
}

/// The bytes that a load counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadCounts {
    /// Payload alone. Small flows then need more of the wire than `load` says.
    #[default]
    Payload,
    /// What the data frames take on the wire, headers, preamble and gap included (ACKs and in-band telemetry are not).
    Wire,
}

/// How the senders of a burst are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pick {
    /// No host sends twice before all have sent once: distinct senders up to their number.
    #[default]
    Even,
    /// Each flow draws its sender anew, with repetition (Pyrrha's code).
    Uniform,
}

/// Gaps between bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Equal gaps.
    #[default]
    Periodic,
    /// Exponential gaps.
    Poisson,
}

/// Columns of a flow file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowDialect {
    /// `src dst pg dport bytes start_s`.
    Hpcc,
    /// `src dst pg bytes start_s`.
    Conweave,
    /// `src dst bytes start_s`, optionally followed by queue pair and message number; the first line may have a second number.
    Pyrrha,
}
