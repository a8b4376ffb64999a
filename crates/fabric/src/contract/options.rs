//! Options of mechanisms: checks beyond their schema, effective values, and constraints on the
//! network.

use crate::contract::diagnostic::Diagnostics;
use crate::contract::facts::FlowControlFacts;
use crate::ids::{Class, ClassMask};
use backwater_engine::{Bytes, Duration};
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt::Debug;

/// Options of a mechanism of any slot.
pub trait Options: Debug + Send + Sync {
    /// Checks relations that a schema cannot express: between options, and with the other
    /// mechanisms of the scheme.
    fn check(&self, _scheme: &SchemeContext<'_>, _diagnostics: &mut Diagnostics) {}

    /// Checks that the mechanism supports a network of this shape.
    ///
    /// # Errors
    /// Returns the reason if the mechanism does not support such a network.
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
    /// Maximum number of ports of a node whose mechanisms keep state per pair of ports. At 8 B per
    /// pair the state takes 0.5 GiB.
    const MOST_PAIRED_PORTS: usize = 8192;

    /// Rejects nodes with too many ports for `mechanism`, which keeps state per pair of ports.
    ///
    /// # Errors
    /// If a node has more than 8192 ports.
    pub fn few_ports(&self, mechanism: &str) -> Result<(), String> {
        let (ports, most) = (self.ports, Shape::MOST_PAIRED_PORTS);
        if ports > most {
            return Err(format!(
                "{mechanism} supports at most {most} ports per node (it keeps state per pair of ports), but a node has \
                    {ports}"
            ));
        }
        Ok(())
    }

    /// Rejects hosts with several links, for `mechanism`, whose paths lead from edge to edge.
    ///
    /// # Errors
    /// If a host has several links.
    pub fn single_homed(&self, mechanism: &str) -> Result<(), String> {
        if self.multihomed {
            return Err(format!(
                "{mechanism} supports hosts with one link only, and this network has hosts with several links"
            ));
        }
        Ok(())
    }

    /// Rejects networks with relaying hosts, for a mechanism whose paper defines it only for
    /// networks without such hosts.
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

/// Effective values of options: names with values as a scenario writes them.
pub type EffectiveValues = Map<String, Value>;

/// Returns the fields of `parameters` by name.
pub fn effective_values(parameters: impl Serialize) -> EffectiveValues {
    match serde_json::to_value(parameters) {
        Ok(Value::Object(fields)) => fields,
        _ => EffectiveValues::new(),
    }
}
