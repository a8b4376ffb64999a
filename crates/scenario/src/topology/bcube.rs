//! BCube: relaying servers with a port in every layer, and switches that link only servers (Guo et
//! al., SIGCOMM 2009).

use super::draft::{Draft, LinkProperties, RangeChecks as _};
use super::{Failures, TopologyOptions};
use crate::diagnostic::{Diagnostic, counted};
use backwater_engine::{Duration, Rate};
use backwater_fabric::contract::Diagnostics;
use backwater_fabric::frame::MAX_HOPS;
use backwater_fabric::network::spec::NodeKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// BCube(n, k): servers that relay, each with a link to one switch in each of k + 1 layers. A
/// server's address has k + 1 digits in base n. A server's name joins these digits by dots, layer 0
/// last: server 15 of BCube(4, 1) is `h3.3`. A switch joins the n servers that differ only in the
/// digit of the switch's layer. A switch's name is its layer, followed by the digits that its
/// servers share: `s0.3` joins `h3.0` to `h3.3`, and `s1.2` joins `h0.2`, `h1.2`, `h2.2` and
/// `h3.2`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BcubeConfig {
    /// Ports of a switch.
    #[schemars(range(min = 2))]
    pub n: u32,
    /// Level, 0 to 2: servers have k + 1 ports. Default 1.
    #[serde(default = "super::default_one")]
    pub k: u32,
    /// Rate of every link, or a list with one rate per layer, layer 0 first. Default 100 Gbps.
    #[serde(default = "default_rate")]
    pub rate: PerLayer<Rate>,
    /// Propagation delay of every link, or a list with one delay per layer, layer 0 first. Default
    /// 1 us.
    #[serde(default = "default_delay")]
    pub delay: PerLayer<Duration>,
    /// Probability that a frame is corrupted on a link. Default 0.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub error_rate: f64,
    /// Failed parts.
    #[serde(flatten)]
    pub failures: Failures,
}

/// A link property, by layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "must be one value for all layers, or a list with one value per layer")]
#[schemars(inline)]
pub enum PerLayer<T> {
    /// One value for every link.
    All(T),
    /// One value for each layer, layer 0 first.
    Each(Vec<T>),
}

impl<T: Copy> PerLayer<T> {
    /// Checks every value, and the length of a list.
    fn check(&self, checks: &mut Diagnostics, field: &str, k: u32, check: fn(&mut Diagnostics, &str, T)) {
        match self {
            PerLayer::All(value) => check(checks, field, *value),
            PerLayer::Each(values) => {
                if values.len() as u64 != u64::from(k) + 1 {
                    let (found, wanted) = (values.len(), counted(u64::from(k) + 1, "value"));
                    checks.error(true, field, format_args!("must have {wanted}, one per layer; found {found}"));
                }
                (0..)
                    .zip(values)
                    .for_each(|(layer, value): (u32, _)| check(checks, &format!("{field}[{layer}]"), *value));
            }
        }
    }

    /// Returns the value of a layer. [`PerLayer::check`] must have passed.
    fn of(&self, layer: u32) -> T {
        match self {
            PerLayer::All(value) => *value,
            PerLayer::Each(values) => values[layer as usize],
        }
    }
}

fn default_rate() -> PerLayer<Rate> {
    PerLayer::All(super::default_rate())
}

fn default_delay() -> PerLayer<Duration> {
    PerLayer::All(super::default_delay())
}

/// With this number of servers, planning takes about a second. The time grows with the square of
/// the number.
const MAX_SERVERS: u128 = 1 << 14;

/// Largest level that flow controls on BCube support.
const MAX_K: u32 = 2;

impl TopologyOptions for BcubeConfig {
    fn draft(&self, _: &Path) -> Result<Draft, Vec<Diagnostic>> {
        let mut checks = Diagnostics::at("topology");
        checks.error(self.n < 2, "n", "must be at least 2");
        let links = 2 * (u64::from(self.k) + 1);
        let reason = format_args!("a path would have up to {links} links, but a route has at most {MAX_HOPS}");
        checks.error(self.k > MAX_K, "k", format_args!("must be 0, 1 or 2: {reason}"));
        let layers = self.k.min(MAX_K) + 1;
        let servers = u128::from(self.n).pow(layers);
        if layers == 1 {
            checks.size("n", servers);
        } else {
            let message = format_args!("makes {servers} relaying servers; at most {MAX_SERVERS} are supported");
            checks.error(servers > MAX_SERVERS, "n", message);
        }
        self.rate.check(&mut checks, "rate", self.k, |checks, field, rate| checks.rate(field, rate));
        self.delay.check(&mut checks, "delay", self.k, |checks, field, delay| checks.delay(field, delay));
        checks.error_rate("error_rate", self.error_rate);
        checks.into_result()?;

        let mut draft = Draft::new(&self.failures);
        let kind = if layers > 1 { NodeKind::Relay } else { NodeKind::Host };
        let servers: Vec<_> =
            (0..self.n.pow(layers)).map(|address| draft.node(kind, name("h", self.digits(address, layers)))).collect();
        for layer in 0..layers {
            let link =
                LinkProperties { rate: self.rate.of(layer), delay: self.delay.of(layer), error_rate: self.error_rate };
            let switch_name = |shared| name("s", std::iter::once(layer).chain(self.digits(shared, self.k)));
            let switches: Vec<_> = (0..self.n.pow(self.k)).map(|shared| draft.switch(switch_name(shared))).collect();
            for (address, server) in (0..).zip(&servers) {
                // The addresses of a switch's servers are equal except for the digit of the
                // switch's layer.
                let (above, below) = (address / self.n.pow(layer + 1), address % self.n.pow(layer));
                draft.link(*server, switches[(above * self.n.pow(layer) + below) as usize], link, 1);
            }
        }
        draft.notes.push(format!(
            "bcube: {} with {}, {} with {}",
            counted(servers.len(), "server"),
            counted(layers, "port"),
            counted(draft.nodes.len() - servers.len(), "switch"),
            counted(self.n, "port")
        ));
        Ok(draft)
    }
}

impl BcubeConfig {
    /// Returns the last `count` digits of `number` in base n, the most significant digit first.
    fn digits(&self, number: u32, count: u32) -> impl Iterator<Item = u32> {
        let n = self.n;
        (0..count).rev().map(move |place| number / n.pow(place) % n)
    }
}

fn name(letter: &str, digits: impl Iterator<Item = u32>) -> String {
    letter.to_owned() + &digits.map(|digit| digit.to_string()).collect::<Vec<_>>().join(".")
}
