//! How much headroom a lossless ingress queue needs: what may come in after a PAUSE has been made.

use crate::contract::facts::{PortFacts, Site, Sizes};
use backwater_engine::Duration;

/// Headroom of an ingress queue unless the scenario sets it: Equation 1 of DSH, or [`exact_need`] where that is more (frames above some
/// 3.6 KB, or a long response time).
pub fn worst_case(site: &Site<'_>, port: &PortFacts) -> u64 {
    equation_1(port, site.sizes.largest_charge()).max(exact_need(site, port))
}

/// Returns what an ingress queue of `port` needs ([`exact_need`]), if its headroom is set by hand
/// and less, and the flow control relies on headroom.
pub fn unmet(site: &Site<'_>, port: &PortFacts) -> Option<u64> {
    let ours = &site.flow_control;
    let counts = ours.is_lossless && !ours.bounds_queues && !(ours.passes_on && site.relays);
    let set =
        site.headroom.set_headroom.filter(|_| counts && site.headroom.is_lossless && !site.lossless.is_empty())?;
    Some(exact_need(site, port)).filter(|need| set.get() < *need)
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
pub fn exact_need_at(site: &Site<'_>, port: &PortFacts, delay: Duration) -> u64 {
    let Sizes { framing, telemetry, .. } = site.sizes;
    let (wire, charge) = (u64::from(site.sizes.largest().wire), site.sizes.largest_charge());
    let byte_time = framing.byte_time(port.rate);
    let (frame_time, pause_time) = (byte_time.times(wire as u32), byte_time.times(framing.control().wire.into()));
    // Every other class may have a PFC frame of its own in front; where ports are paused as well, so may the port, and this class an earlier one.
    let of_port = if site.headroom.looks_at_ports { 2 } else { 0 };
    let pauses = pause_time * (site.lossless_classes().max(1) + of_port);
    // From the arrival of the packet that crosses the threshold until the peer's gate is closed, and as long before as a frame travels: what has arrived
    // by the time that it is charged comes behind it. At a border with another flow control the peer uses our PFC.
    let response = site.flow_control.response().max(site.neighbours[usize::from(port.ix)].flow_control.response());
    let window = delay * 2 + frame_time + pauses + response;
    // Where times are cut down to a clock, frames may pass faster than at the link's rate: full ones a little, short ones a lot.
    let bytes = (u128::from(window.ps()) * u128::from(wire) / u128::from(frame_time.ps().max(1))) as u64;
    let [fast, slow] = framing.rate_excess(port.rate, telemetry).unwrap_or([1, 1]);
    let bytes = bytes.max(port.rate.bytes_in(window) * fast / slow);
    let charged = bytes - (wire - charge) * bytes.div_ceil(wire);
    2 * charge + charged.max(bytes / wire * charge)
}
