//! Slot *headroom* (the buffer policy): which pool pays for a packet, and when an ingress queue is full.

pub mod adaptive;
pub mod dsh;
pub mod oversubscribed;
mod pools;
pub mod sih;
pub mod static_threshold;
mod threshold;

#[allow(unused_imports, reason = "for the methods that enum_dispatch generates")]
use crate::contract::signatures::*;
use crate::contract::{BufferPolicy, PortFacts, Site};
use crate::mechanisms::registry::registry;
use backwater_engine::{Bytes, Duration};
use enum_dispatch::enum_dispatch;
use serde::Serialize;
use std::fmt::Debug;

registry! {
    /// How a switch shares its buffer.
    pub enum HeadroomConfig, factory BufferPolicyFactory;
    /// Static and independent headroom: worst-case headroom for every lossless ingress queue, the rest shared by a dynamic threshold.
    Sih = "sih": sih::SihConfig;
    /// Dynamic and shared headroom: worst-case headroom per port, everything else shared, flow control of queues and of ports.
    Dsh = "dsh": dsh::DshConfig;
    /// As `sih`, with headroom for the delays that the ports have measured (IEEE P802.1Qdt).
    Adaptive = "adaptive": adaptive::AdaptiveConfig;
    /// As `sih`, but all queues draw their headroom from a pool smaller than the sum: may drop.
    Oversubscribed = "oversubscribed": oversubscribed::OversubscribedConfig;
    /// A fixed threshold for every lossless ingress queue, with worst-case headroom above it.
    Static = "static": static_threshold::StaticConfig;
}

/// Any [`BufferPolicy`]: built-ins inline, others boxed.
#[enum_dispatch(BufferPolicy)]
#[allow(missing_docs, clippy::large_enum_variant, reason = "state is kept inline, not boxed")]
pub enum AnyBufferPolicy {
    Sih(sih::Sih),
    Dsh(dsh::Dsh),
    Static(static_threshold::StaticThreshold),
    Custom(Box<dyn BufferPolicy>),
}

/// Makes a buffer policy of another crate for a switch.
pub trait BufferPolicyFactory: Debug + Send + Sync {
    /// The instance that runs at `site`.
    fn build(&self, site: &Site<'_>) -> Box<dyn BufferPolicy>;

    /// Bytes that the policy sets aside at `site`: what must fit into the buffer.
    fn reserved(&self, site: &Site<'_>) -> u64;

    /// Whether the policy promises to drop no packet of a lossless class.
    fn is_lossless(&self) -> bool {
        true
    }

    /// Whether what the policy says of one queue of a port also depends on packets of the others.
    fn looks_at_ports(&self) -> bool {
        false
    }
}

impl HeadroomConfig {
    /// The instance that runs at `site`, whose [`HeadroomConfig::reserved`] must fit into the buffer.
    pub fn build(&self, site: &Site<'_>) -> AnyBufferPolicy {
        match self {
            HeadroomConfig::Sih(config) => config.build(site).into(),
            HeadroomConfig::Dsh(config) => dsh::Dsh::new(config, site).into(),
            HeadroomConfig::Adaptive(config) => config.build(site).into(),
            HeadroomConfig::Oversubscribed(config) => config.build(site).into(),
            HeadroomConfig::Static(config) => static_threshold::StaticThreshold::new(config, site).into(),
            HeadroomConfig::Custom(factory) => factory.build(site).into(),
        }
    }

    /// Bytes that the policy sets aside at `site`.
    pub fn reserved(&self, site: &Site<'_>) -> u64 {
        match self {
            HeadroomConfig::Sih(config) => config.reserved(site),
            HeadroomConfig::Dsh(config) => config.reserved(site),
            HeadroomConfig::Adaptive(config) => config.reserved(site),
            HeadroomConfig::Oversubscribed(config) => config.reserved(site),
            HeadroomConfig::Static(config) => config.reserved(site),
            HeadroomConfig::Custom(factory) => factory.reserved(site),
        }
    }

    /// Whether what it says of one queue of a port also depends on packets of the others.
    pub fn looks_at_ports(&self) -> bool {
        match self {
            HeadroomConfig::Dsh(_) => true,
            HeadroomConfig::Sih(_)
            | HeadroomConfig::Adaptive(_)
            | HeadroomConfig::Oversubscribed(_)
            | HeadroomConfig::Static(_) => false,
            HeadroomConfig::Custom(factory) => factory.looks_at_ports(),
        }
    }

    /// Whether it promises to drop no packet of a lossless class.
    pub fn is_lossless(&self) -> bool {
        match self {
            HeadroomConfig::Dsh(config) => config.insurance,
            HeadroomConfig::Oversubscribed(config) => config.ratio >= 1.0,
            HeadroomConfig::Sih(_) | HeadroomConfig::Adaptive(_) | HeadroomConfig::Static(_) => true,
            HeadroomConfig::Custom(factory) => factory.is_lossless(),
        }
    }
}

/// What an option of a buffer policy comes to at a port.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum InForce {
    /// A number of bytes.
    Bytes(Bytes),
    /// A share of something.
    Share(f64),
}

impl HeadroomConfig {
    /// What the options come to that follow from links and frames: their names, and a value for every port of `site`.
    pub fn in_force(&self, site: &Site<'_>) -> Vec<(&'static str, Vec<InForce>)> {
        let bytes = |values: Vec<u64>| values.into_iter().map(|value| InForce::Bytes(Bytes(value))).collect();
        let headroom = |set| ("headroom", bytes(per_port(set, site)));
        let alike = |key, value| (key, bytes(vec![value; site.ports.len()]));
        let offset = |key, set| alike(key, resume_offset(set, site));
        match self {
            HeadroomConfig::Sih(config) => {
                let alpha = |port: &PortFacts| InForce::Share(threshold::alpha(config.alpha, config.alpha_rate, port));
                let alpha = ("alpha", site.ports.iter().map(alpha).collect());
                vec![alpha, headroom(config.headroom), offset("resume_offset", config.resume_offset)]
            }
            HeadroomConfig::Dsh(config) => vec![
                headroom(config.headroom),
                offset("queue_resume_offset", config.queue_resume_offset),
                offset("port_resume_offset", config.port_resume_offset),
            ],
            HeadroomConfig::Adaptive(config) => vec![offset("resume_offset", config.resume_offset)],
            HeadroomConfig::Oversubscribed(config) => {
                vec![headroom(config.headroom), offset("resume_offset", config.resume_offset)]
            }
            HeadroomConfig::Static(config) => vec![headroom(config.headroom), alike("xon", config.xon(site))],
            HeadroomConfig::Custom(_) => Vec::new(),
        }
    }
}

/// How far below its threshold a paused queue resumes: as `set`, or by two full frames.
fn resume_offset(set: Option<Bytes>, site: &Site<'_>) -> u64 {
    set.map_or(2 * site.largest_frame, Bytes::get)
}

/// Headroom of a lossless queue at every port of `site`: as `set`, or the worst case of each port's link.
fn per_port(set: Option<Bytes>, site: &Site<'_>) -> Vec<u64> {
    site.ports.iter().map(|port| set.map_or_else(|| worst_case(site, port), Bytes::get)).collect()
}

/// Headroom of an ingress queue unless the scenario sets it: Equation 1 of DSH, or [`exact_need`] where that is more (frames above some
/// 3.6 KB, or a long response time).
pub fn worst_case(site: &Site<'_>, port: &PortFacts) -> u64 {
    equation_1(port, site.largest_frame).max(exact_need(site, port))
}

/// Equation 1 of DSH: 2 (C D + L) + 3840 B, with L the largest frame.
///
/// In order: what is on the wire when the PAUSE is sent and until it arrives (2 C D), a frame that the PAUSE waits behind and one that the
/// peer finishes (2 L), and 60 quanta for the peer to react (IEEE 802.1Qbb; here the PAUSE itself, the packet that crossed the threshold
/// and the option `response`).
pub fn equation_1(port: &PortFacts, largest_frame: u64) -> u64 {
    2 * (port.rate.bytes_in(port.delay) + largest_frame) + 3840
}

/// The most that an ingress queue can hold above its threshold in this model; with one lossless class and exact times of frames, exactly. Derived in
/// `docs/mechanisms/headroom.md`.
pub fn exact_need(site: &Site<'_>, port: &PortFacts) -> u64 {
    exact_need_at(site, port, port.delay)
}

/// The same if the delay of the link were `delay`.
fn exact_need_at(site: &Site<'_>, port: &PortFacts, delay: Duration) -> u64 {
    let spec = site.spec;
    let largest = spec.framing.largest(spec.mtu.get() as u32, spec.congestion.telemetry_bytes());
    let (wire, charge) = (u64::from(largest.wire), u64::from(largest.charge));
    let byte_time = spec.framing.byte_time(port.rate);
    let (frame_time, pause_time) =
        (byte_time.times(largest.wire.into()), byte_time.times(spec.framing.control().wire.into()));
    // Every other class may have a PFC frame of its own in front; where ports are paused as well, so may the port, and this class an earlier one.
    let of_port = if spec.headroom(site.node).looks_at_ports() { 2 } else { 0 };
    let pauses = pause_time * (spec.switch.lossless.len().max(1) as u64 + of_port);
    // From the arrival of the packet that crosses the threshold until the peer's gate is closed, and as long before as a frame travels.
    // At a border with another flow control the peer uses our PFC.
    let response = |node| site.flow_control(node).response();
    let window = delay * 2 + frame_time + pauses + response(site.node).max(response(site.peer(port)));
    // Where times are cut down to a clock, frames may pass faster than at the link's rate: full ones a little, short ones a lot.
    let bytes = (u128::from(window.ps()) * u128::from(wire) / u128::from(frame_time.ps().max(1))) as u64;
    let [fast, slow] = spec.framing.rate_excess(port.rate, spec.congestion.telemetry_bytes()).unwrap_or([1, 1]);
    let bytes = bytes.max(port.rate.bytes_in(window) * fast / slow);
    let charged = bytes - (wire - charge) * bytes.div_ceil(wire);
    2 * charge + charged.max(bytes / wire * charge)
}
