//! BCube: servers with a port in every layer, which relay; switches that have servers only (Guo et al., SIGCOMM 2009).

use super::draft::{Checks, Draft, Wire};
use super::{BuildError, Graph};
use crate::diagnostic::counted;
use backwater_engine::{Duration, Rate};
use backwater_fabric::network::spec::NodeKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of a BCube(n, k). The address of server `h<i>` is i in base n, of k + 1 digits; its port l leads to the switch of layer l that joins the n
/// servers which differ in digit l alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BcubeConfig {
    /// Ports of a switch.
    #[schemars(range(min = 2))]
    pub n: u32,
    /// Level, 0 or 1: servers have k + 1 ports. Default 1.
    #[serde(default = "super::default_one")]
    #[schemars(range(max = 1))]
    pub k: u32,
    /// Rate of the links of layer 0. Default 100 Gbps.
    #[serde(default = "super::default_rate")]
    pub rate: Rate,
    /// Propagation delay of the links of layer 0. Default 1 us.
    #[serde(default = "super::default_delay")]
    pub delay: Duration,
    /// Rate of the links of layer 1. Default: that of layer 0.
    pub upper_rate: Option<Rate>,
    /// Propagation delay of the links of layer 1. Default: that of layer 0.
    pub upper_delay: Option<Duration>,
    /// Probability that a frame is corrupted on a link. Default 0.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub error_rate: f64,
    /// Links that are absent from the start, each as the names of its two ends.
    #[serde(default)]
    pub failed_links: Vec<[String; 2]>,
}

impl BcubeConfig {
    /// The links of layers 0 and 1.
    pub(super) fn wires(&self) -> [Wire; 2] {
        let lower = Wire { rate: self.rate, delay: self.delay, error_rate: self.error_rate };
        let (rate, delay) = (self.upper_rate.unwrap_or(self.rate), self.upper_delay.unwrap_or(self.delay));
        [lower, Wire { rate, delay, ..lower }]
    }

    pub(super) fn build(&self) -> Result<Graph, Vec<BuildError>> {
        let wires = self.wires();
        let mut checks = Checks::default();
        if self.n < 2 {
            checks.error("n", format!("is {}, must be at least 2", self.n));
        }
        if self.k > 1 {
            checks.error(
                "k",
                format!("is {}, must be 0 or 1: no more is known of flow control that is free of deadlock", self.k),
            );
        }
        for (option, is_set) in [("upper_rate", self.upper_rate.is_some()), ("upper_delay", self.upper_delay.is_some())]
        {
            if self.k == 0 && is_set {
                checks.error(option, "has no effect with k = 0: there is one layer".into());
            }
        }
        let layers = self.k.min(1) + 1;
        checks.size("n", u128::from(self.n).pow(layers) * u128::from(layers));
        checks.wire("rate", "delay", wires[0]);
        if self.k > 0 {
            checks.wire("upper_rate", "upper_delay", wires[1]);
        }
        checks.error_rate("error_rate", self.error_rate);
        checks.done()?;

        let mut draft = Draft::default();
        let kind = if layers > 1 { NodeKind::Relay } else { NodeKind::Host };
        let servers = draft.nodes(kind, "h", self.n.pow(layers));
        for (layer, wire) in (0..layers).zip(wires) {
            let switches = draft.nodes(NodeKind::Switch, &format!("layer{layer}s"), self.n.pow(self.k));
            for (address, server) in (0..).zip(&servers) {
                // The switch is named by the address without the digit of its layer.
                let (above, below) = (address / self.n.pow(layer + 1), address % self.n.pow(layer));
                draft.link(*server, switches[(above * self.n.pow(layer) + below) as usize], wire, 1);
            }
        }
        draft.notes.push(format!(
            "bcube: {} of {}, {} of {}",
            counted(servers.len(), "server"),
            counted(layers, "port"),
            counted(draft.nodes.len() - servers.len(), "switch"),
            counted(self.n, "port")
        ));
        draft.finish(&self.failed_links)
    }
}
