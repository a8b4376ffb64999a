//! Options of mechanisms: checks beyond their schema, effective values, and constraints on the
//! network.

use crate::contract::facts::FlowControlFacts;
use crate::ids::{Class, ClassMask};
use backwater_engine::{Bytes, Duration};
use serde::Serialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt::Debug;

/// Options of a mechanism of any slot.
pub trait Options: Debug + Send + Sync {
    /// Checks relations that a schema cannot express: between options, and to the other mechanisms
    /// of the scheme.
    fn check(&self, _beside: &SchemeContext<'_>, _findings: &mut Findings) {}

    /// Checks that the mechanism supports a network of this shape.
    ///
    /// # Errors
    /// Returns the reason if it does not.
    fn applies(&self, _shape: &Shape) -> Result<(), String> {
        Ok(())
    }

    /// Returns the profile, as a scenario names it, that provides the parameter `option` if the
    /// scenario does not set the parameter.
    fn profile(&self, _option: &str) -> Option<Value> {
        None
    }
}

/// Scheme in which a mechanism runs.
#[derive(Debug)]
pub struct SchemeContext<'a> {
    /// Payload bytes of a full data packet.
    pub mtu: Bytes,
    /// Data packets per ACK.
    pub ack_every: u32,
    /// Class of ACKs.
    pub ack_class: Class,
    /// Lossless classes.
    pub lossless: ClassMask,
    /// Name and properties of the switches' flow control.
    pub flow_control: (&'a str, FlowControlFacts),
    /// Name of the congestion control.
    pub congestion: &'a str,
    /// Name of the load balancer.
    pub load_balance: &'a str,
    /// Name of the loss recovery.
    pub recovery: &'a str,
}

/// Shape of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Layers of switches: 1 for a star, 2 for leaf and spine.
    pub layers: u32,
    /// True if some hosts have several links.
    pub multihomed: bool,
    /// True if some hosts relay packets of other hosts.
    pub relays: bool,
    /// Maximum number of links of a relaying host.
    pub relay_ports: usize,
    /// Time that a relaying host takes to forward a packet.
    pub relay_delay: Duration,
    /// Maximum number of links of a node.
    pub ports: usize,
    /// Number of switches.
    pub switches: usize,
    /// True if there are links between switches.
    pub trunks: bool,
    /// True if there are links between hosts.
    pub direct: bool,
    /// True if all switches run the same flow control.
    pub uniform: bool,
    /// Maximum number of stages of a path, over shortest paths and pinned flows. A stage begins at
    /// the source, at each relaying server, and at each switch that a packet reaches from another
    /// switch. If switches are linked to servers only, stages are the switches of a path.
    pub stages: usize,
    /// Maximum number of equal-cost ports among which a node chooses on shortest paths between
    /// hosts; 1 if no node has a choice.
    pub choices: usize,
    /// Lossless classes.
    pub lossless: ClassMask,
    /// True if the class of ACKs is lossless.
    pub lossless_acks: bool,
    /// True if the scenario sets routes by hand.
    pub routes_by_hand: bool,
    /// True if the path of a packet depends on its flow alone.
    pub fixed_paths: bool,
    /// True if links fail during the run.
    pub faults: bool,
}

impl Shape {
    /// Maximum number of ports of a node whose mechanisms keep state per pair of ports. At 64 B per
    /// pair the state takes 4 GiB.
    const MOST_PAIRED_PORTS: usize = 8192;

    /// Rejects nodes with too many ports for `mechanism`, which keeps state per pair of ports.
    ///
    /// # Errors
    /// If a node has more than 8192 ports.
    pub fn few_ports(&self, mechanism: &str) -> Result<(), String> {
        let (ports, most) = (self.ports, Shape::MOST_PAIRED_PORTS);
        if ports > most {
            return Err(format!(
                "{mechanism} keeps state per pair of ports: a node may have at most {most} ports, but one has {ports}"
            ));
        }
        Ok(())
    }

    /// Rejects networks with relaying hosts, for a mechanism that its paper defines without them.
    ///
    /// # Errors
    /// If any host relays.
    pub fn without_relays(&self, mechanism: &str) -> Result<(), String> {
        if self.relays {
            return Err(format!("{mechanism} does not support hosts that relay packets, and this network has some"));
        }
        Ok(())
    }
}

/// What has been found about the options of a mechanism.
#[derive(Debug, Default)]
pub struct Findings(Vec<Finding>);

/// Something that is wrong or odd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether it is wrong, not merely odd.
    pub is_error: bool,
    /// The option: as a path from the mechanism's own options, or from those of the scenario.
    pub option: Key,
    /// What is wrong, and what is allowed.
    pub message: String,
}

/// Names an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// Of the mechanism: `ecn.kmin`; empty for all of them.
    Own(Cow<'static, str>),
    /// Of the scenario: `host.ack_every`.
    Scenario(&'static str),
}

impl From<&'static str> for Key {
    fn from(own: &'static str) -> Key {
        Key::Own(own.into())
    }
}

impl Findings {
    /// Shortest period of a clock. A run pays for every tick: of a probe as for a sample of the network, of congestion control in every flow.
    pub const FINEST_CLOCK: Duration = Duration::from_ns(100);

    /// The option is wrong if `wrong`.
    pub fn error(&mut self, wrong: bool, option: impl Into<Key>, message: impl Into<String>) {
        self.add(wrong, true, option.into(), message.into());
    }

    /// The option is odd if `odd`.
    pub fn warning(&mut self, odd: bool, option: impl Into<Key>, message: impl Into<String>) {
        self.add(odd, false, option.into(), message.into());
    }

    fn add(&mut self, is_so: bool, is_error: bool, option: Key, message: String) {
        if is_so {
            self.0.push(Finding { is_error, option, message });
        }
    }

    /// Takes over what another mechanism has found about its options, which stand in `option` of this one.
    pub fn within(&mut self, option: &'static str, of_other: Findings) {
        self.0.extend(of_other.0.into_iter().map(|finding| match finding.option {
            Key::Own(own) if own.is_empty() => Finding { option: option.into(), ..finding },
            Key::Own(own) => Finding { option: Key::Own(format!("{option}.{own}").into()), ..finding },
            Key::Scenario(_) => finding,
        }));
    }

    /// The option must not be zero, if it is set.
    pub fn positive<T: Default + PartialEq>(&mut self, value: Option<T>, option: &'static str) {
        self.error(value == Some(T::default()), option, "must be greater than zero");
    }

    /// One option must be no more than the other, which stands beside it.
    pub fn ordered<T: PartialOrd + ToString>(&mut self, [low, high]: [(&'static str, T); 2]) {
        let name = high.0.rsplit('.').next().unwrap_or(high.0);
        let message = format!("must be at most {name}, {}", high.1.to_string());
        self.error(low.1 > high.1, low.0, message);
    }

    /// An interval, if it is set, must not be so short that clocks take all the time of a run; `or_zero` says what 0 means, if it is allowed.
    pub fn clock(&mut self, interval: Option<Duration>, option: &'static str, or_zero: Option<&str>) {
        let is_off = or_zero.is_some() && interval == Some(Duration::ZERO);
        let or_zero = or_zero.map_or(String::new(), |zero| format!(", or \"0 s\" {zero}"));
        let least = Findings::FINEST_CLOCK;
        let message = format!("must be at least {least}{or_zero}: every flow pays for every tick");
        self.error(!is_off && interval.is_some_and(|interval| interval < least), option, message);
    }

    /// Where a window can shrink to a packet, every packet must be acknowledged.
    pub fn one_ack_per_packet(&mut self, beside: &SchemeContext<'_>) {
        let message = format!(
            "must be 1: the window of {} can shrink to a packet, which would never be answered",
            beside.congestion
        );
        self.error(beside.ack_every > 1, Key::Scenario("host.ack_every"), message);
    }

    /// What has been found.
    pub fn into_vec(self) -> Vec<Finding> {
        self.0
    }
}

/// Effective values of options: names with values as a scenario writes them.
pub type EffectiveValues = Map<String, Value>;

/// Returns the fields of `parameters` by name.
pub fn effective_values(parameters: impl Serialize) -> EffectiveValues {
    match serde_json::to_value(parameters) {
        Ok(Value::Object(fields)) => fields,
        _ => EffectiveValues::new(),
    }
}
