//! Headroom that a switch needs, and the shared buffer that each allocation scheme leaves.
//!
//! All ports of a switch are equal. Three formulas for the need of one lossless queue are compared.
//! These are Equation 1 of DSH, SONiC's formula for NVIDIA Spectrum switches, and the exact need of
//! this model.

use backwater_engine::{Bytes, Duration, Rate};
use backwater_fabric::contract::need::{equation_1, exact_need};
use backwater_fabric::contract::{Diagnostic, Shape};
use backwater_fabric::frame::framing::Framing;
use backwater_fabric::ids::{Class, NodeId};
use backwater_fabric::mechanisms::flow_control::FlowControlConfig;
use backwater_fabric::mechanisms::flow_control::pfc::PfcConfig;
use backwater_fabric::mechanisms::headroom::HeadroomConfig;
use backwater_fabric::mechanisms::headroom::adaptive::AdaptiveConfig;
use backwater_fabric::mechanisms::headroom::dsh::DshConfig;
use backwater_fabric::mechanisms::headroom::oversubscribed::OversubscribedConfig;
use backwater_fabric::mechanisms::headroom::sih::SihConfig;
use backwater_fabric::network::routes::Wiring;
use backwater_fabric::network::spec::{LinkSpec, NetworkSpec, NodeKind, NodeSpec, SwitchConfig};
use serde::{Deserialize, Serialize};

/// A switch and its cables.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchSpec {
    /// Rate of every port.
    pub rate: Rate,
    /// One-way propagation delay of every cable.
    pub delay: Duration,
    /// Bytes of the largest frame, including Ethernet header and check sequence.
    pub mtu: u32,
    /// Response time of the peer to a PAUSE.
    pub response: Duration,
    /// Number of ports.
    pub ports: u32,
    /// Number of lossless classes.
    pub classes: u8,
    /// Size of the packet buffer.
    pub buffer: Bytes,
    /// Private bytes of every lossless queue.
    pub private: Bytes,
    /// Alpha of the dynamic threshold.
    pub alpha: f64,
    /// Size of an oversubscribed headroom pool, as a share of the whole headroom.
    pub ratio: f64,
}

/// Headroom that one lossless ingress queue needs, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Need {
    /// DSH Equation 1, plus the part of the peer's response time beyond the 3840 B of the equation.
    pub equation_1: u64,
    /// The exact need of this model (docs/mechanisms/headroom.md).
    pub exact: u64,
}

/// Bytes that a scheme reserves, and bytes of shared buffer that it leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Scheme {
    /// Name of the scheme in scenarios.
    pub name: &'static str,
    /// Headroom of all queues or ports.
    pub headroom: u64,
    /// Private bytes of all queues.
    pub private: u64,
    /// Shared buffer; `None` if the reserved bytes do not fit.
    pub shared: Option<u64>,
    /// Threshold T(0) = alpha x shared, the limit of a queue in an empty switch.
    pub threshold: Option<u64>,
    /// True if the scheme can drop packets of a lossless class.
    pub may_drop: bool,
}

/// Headroom need of a switch, and the buffer under each scheme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeadroomPlan {
    /// Need of one lossless queue.
    pub need: Need,
    /// Schemes.
    pub schemes: Vec<Scheme>,
}

/// Bytes for the pause response in Equation 1 of DSH: 60 quanta.
const RESPONSE_BYTES: u64 = 3840;

impl SwitchSpec {
    fn check(&self) -> Result<(), Diagnostic> {
        let reject = |wrong: bool, field, rule: &str| match wrong {
            true => Err(Diagnostic::error(field, rule)),
            false => Ok(()),
        };
        reject(self.rate.bps() < 1_000_000, "rate", "must be at least 1 Mbps")?;
        let delays = Duration::from_ps(1)..=Duration::from_us(10_000);
        reject(!delays.contains(&self.delay), "delay", "must be longer than 0 s and at most 10 ms")?;
        reject(!(256..=9234).contains(&self.mtu), "mtu", "must be from 256 B to 9234 B")?;
        reject(self.response > Duration::from_us(10_000), "response", "must be at most 10 ms")?;
        reject(!(1..=1024).contains(&self.ports), "ports", "must be from 1 to 1024")?;
        reject(!(1..=8).contains(&self.classes), "classes", "must be from 1 to 8")?;
        reject(self.private > Bytes(1 << 30), "private", "must be at most 1 GiB")?;
        reject(!(1..=1 << 40).contains(&self.buffer.get()), "buffer", "must be from 1 B to 1024 GiB")?;
        reject(!(0.0..=64.0).contains(&self.alpha), "alpha", "must be from 0 to 64")?;
        reject(!(0.0..=1.0).contains(&self.ratio), "ratio", "must be from 0 to 1")
    }

    /// Returns a network of the switch with a host at every port.
    fn network(&self) -> NetworkSpec {
        let switch = NodeId(self.ports);
        let node = |name: String, kind| NodeSpec { name, kind };
        let hosts = (0..self.ports).map(|host| node(format!("h{host}"), NodeKind::Host));
        let link = |host| LinkSpec::new(NodeId(host), switch, self.rate, self.delay);
        let framing = Framing::Rocev2;
        let headers = u32::from(framing.largest(1024, 0).charge) - 1024;
        let pfc = PfcConfig { response: self.response, ..Default::default() };
        NetworkSpec {
            framing,
            mtu: Bytes(u64::from(self.mtu - headers)),
            nodes: hosts.chain([node("switch".into(), NodeKind::Switch)]).collect(),
            links: (0..self.ports).map(link).collect(),
            switch: SwitchConfig {
                buffer: self.buffer,
                lossless: (0..self.classes).map(Class).collect(),
                flow_control: FlowControlConfig::Pfc(pfc),
                ..SwitchConfig::default()
            },
            ..NetworkSpec::default()
        }
    }
}

/// Returns the headroom need of `switch`, and the buffer under each scheme.
///
/// # Errors
/// If a field is out of range. Reports the first such field.
pub fn plan(switch: &SwitchSpec) -> Result<HeadroomPlan, Diagnostic> {
    switch.check()?;
    let spec = switch.network();
    let wiring = Wiring::new(&spec.nodes, &spec.links);
    let site = spec.site(NodeId(switch.ports), &wiring, Shape::default(), Duration::ZERO);
    let port = &site.ports[0];
    let allowed_for = switch.rate.bytes_in(switch.response).saturating_sub(RESPONSE_BYTES);
    let need = Need { equation_1: equation_1(port, switch.mtu.into()) + allowed_for, exact: exact_need(&site, port) };
    let (alpha, private, headroom) = (switch.alpha, switch.private, Some(Bytes(need.equation_1.max(need.exact))));
    let schemes = [
        HeadroomConfig::Sih(SihConfig { alpha, private, headroom, ..Default::default() }),
        HeadroomConfig::Dsh(DshConfig { alpha, private, headroom, ..Default::default() }),
        HeadroomConfig::Adaptive(AdaptiveConfig { alpha, private, ..Default::default() }),
        HeadroomConfig::Oversubscribed(OversubscribedConfig {
            ratio: switch.ratio,
            alpha,
            private,
            headroom,
            ..Default::default()
        }),
    ];
    let private = switch.private.get() * u64::from(switch.ports) * u64::from(switch.classes);
    let scheme = |config: HeadroomConfig| {
        let reserved = config.reserved(&site);
        let shared = switch.buffer.get().checked_sub(reserved);
        Scheme {
            name: config.name(),
            headroom: reserved - private,
            private,
            shared,
            threshold: shared.map(|shared| (shared as f64 * switch.alpha) as u64),
            may_drop: !config.facts().is_lossless,
        }
    };
    Ok(HeadroomPlan { need, schemes: schemes.into_iter().map(scheme).collect() })
}

/// Input of SONiC's formula for a port of an NVIDIA Spectrum switch (swss,
/// `buffer_headroom_mellanox.lua`).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpectrumPort {
    /// Rate in Mb/s.
    pub speed: u32,
    /// Length of the cable in m.
    pub cable: f64,
    /// Largest frame of the port.
    pub mtu: u32,
    /// Largest frame of lossless traffic. Default of SONiC: 1024.
    pub lossless_mtu: u32,
    /// Share of small packets in lossless traffic, in percent.
    pub small_packets: f64,
    /// Generation of the chip: 1 to 6 for Spectrum-1 to Spectrum-6.
    pub generation: u8,
    /// True if the port has eight lanes.
    pub eight_lanes: bool,
    /// True if ports share a pool of headroom.
    pub shared_pool: bool,
}

/// A buffer profile of SONiC, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SpectrumProfile {
    /// Headroom above the threshold.
    pub xoff: u64,
    /// Occupancy below which the upstream is resumed.
    pub xon: u64,
    /// Bytes reserved for the queue.
    pub size: u64,
}

/// Response time of the peer, in quanta of 64 B, by speed in Mb/s.
const PEER_QUANTA: [(u32, u32); 10] = [
    (100, 1),
    (1000, 2),
    (10_000, 67),
    (25_000, 80),
    (40_000, 118),
    (50_000, 147),
    (100_000, 394),
    (200_000, 453),
    (400_000, 905),
    (800_000, 905),
];

/// Returns SONiC's headroom for a port of a Spectrum switch.
///
/// # Errors
/// If the formula does not support the speed or the chip, or a value is out of range.
pub fn spectrum(port: &SpectrumPort) -> Result<SpectrumProfile, Diagnostic> {
    let known: Vec<String> = PEER_QUANTA.iter().map(|(speed, _)| speed.to_string()).collect();
    let quanta = PEER_QUANTA.iter().find(|(speed, _)| *speed == port.speed).map(|(_, quanta)| *quanta);
    let quanta =
        quanta.ok_or_else(|| Diagnostic::error("speed", format!("must be one of {} (Mb/s)", known.join(", "))))?;
    let (cell, pipeline) = match port.generation {
        1 => (96.0, 19),
        2 | 3 => (144.0, 19),
        4 | 5 => (192.0, 19),
        6 => (256.0, 42),
        _ => return Err(Diagnostic::error("generation", "must be from 1 to 6")),
    };
    if !(0.0..=100_000.0).contains(&port.cable) {
        return Err(Diagnostic::error("cable", "must be from 0 to 100000 m"));
    }
    if !(0.0..=100.0).contains(&port.small_packets) {
        return Err(Diagnostic::error("small_packets", "must be from 0 to 100 %"));
    }
    // Factor by which small packets increase the use of buffer cells.
    let worst = if cell > 128.0 { cell / 64.0 } else { 2.0 * cell / (1.0 + cell) };
    let occupancy = (100.0 - port.small_packets + port.small_packets * worst) / 100.0;
    // The formula uses a propagation speed of 198,000 km/s, and mixes factors of 1000 and 1024.
    let on_cable = 2.0 * port.cable * f64::from(port.speed) * 1e9 / 198e6 / 8192.0;
    let mac_and_phy = 0.8 * 1024.0;
    let delays = f64::from(port.mtu) + on_cable + mac_and_phy + f64::from(quanta * 64);
    let whole_kib = |bytes: f64| (bytes / 1024.0).ceil() as u64 * 1024;
    let xoff = whole_kib(f64::from(port.lossless_mtu) + occupancy * delays);
    // For ports with eight lanes, the formula counts two pipelines and an additional frame.
    let (xon, extra) = if port.eight_lanes { (2 * pipeline - 1, port.mtu) } else { (pipeline, 0) };
    let xon = xon * 1024;
    let size = if port.shared_pool { xon } else { whole_kib((xoff + xon) as f64 + f64::from(extra)) };
    Ok(SpectrumProfile { xoff, xon, size })
}

#[cfg(test)]
mod tests;
