//! Headroom needs of lossless ingress queues: the bytes that may still arrive after a PAUSE was
//! generated.

use crate::contract::facts::{PortFacts, Site, Sizes};
use backwater_engine::Duration;

/// Returns the default headroom of an ingress queue: Equation 1 of DSH, or [`exact_need`] if that
/// is more (for frames above about 3.6 KB, or a long response time).
pub fn worst_case(site: &Site<'_>, port: &PortFacts) -> u64 {
    equation_1(port, site.sizes.largest_charge()).max(exact_need(site, port))
}

/// Returns the need of an ingress queue of `port` ([`exact_need`]), if the scenario sets less
/// headroom and the flow control relies on headroom.
pub fn unmet(site: &Site<'_>, port: &PortFacts) -> Option<u64> {
    let ours = &site.flow_control;
    let counts = ours.is_lossless && !ours.bounds_queues && !(ours.relays_pauses && site.relays);
    let set =
        site.headroom.set_headroom.filter(|_| counts && site.headroom.is_lossless && !site.lossless.is_empty())?;
    Some(exact_need(site, port)).filter(|need| set.get() < *need)
}

/// Returns Equation 1 of DSH: 2 (C D + L) + 3840 B, with L the largest frame.
///
/// The terms cover, in order: the bytes on the wire until the PAUSE arrives (2 C D); one frame that
/// delays the PAUSE and one that the peer finishes (2 L); and 60 quanta for the peer's reaction
/// (IEEE 802.1Qbb). In this model the last term covers the PAUSE itself, the packet that crossed
/// the threshold, and the option `response`.
pub fn equation_1(port: &PortFacts, largest_frame: u64) -> u64 {
    2 * (port.rate.bytes_in(port.delay) + largest_frame) + 3840
}

/// Returns an upper bound on the bytes of an ingress queue above its threshold in this model. The
/// bound is tight with one lossless class and exact frame times. Derived in
/// `docs/mechanisms/headroom.md`.
pub fn exact_need(site: &Site<'_>, port: &PortFacts) -> u64 {
    exact_need_at(site, port, port.delay)
}

/// Returns [`exact_need`] for a link with the given `delay`.
pub fn exact_need_at(site: &Site<'_>, port: &PortFacts, delay: Duration) -> u64 {
    let Sizes { framing, telemetry, .. } = site.sizes;
    let (wire, charge) = (u64::from(site.sizes.largest().wire), site.sizes.largest_charge());
    let byte_time = framing.byte_time(port.rate);
    let (frame_time, pause_time) = (byte_time.times(wire as u32), byte_time.times(framing.control().wire.into()));
    // The PFC frame of every other class may precede this PAUSE. With port-wide PAUSEs, a PAUSE of
    // the port and an earlier frame of this class may also precede it.
    let of_port = if site.headroom.has_port_thresholds { 2 } else { 0 };
    let pauses = pause_time * (site.lossless_classes().max(1) + of_port);
    // Frames that the peer starts within the window need headroom. The window starts one link delay
    // before the packet that crosses the threshold is charged. The window ends when the peer's gate
    // is closed. A peer with another flow control uses PFC with this node's terms.
    let response = site.flow_control.response().max(site.neighbours[port.ix].flow_control.response());
    let window = delay * 2 + frame_time + pauses + response;
    // If times are rounded down to a clock, frames may be faster than the link's rate: full frames
    // by a little, short frames by a lot.
    let bytes = (u128::from(window.ps()) * u128::from(wire) / u128::from(frame_time.ps().max(1))) as u64;
    let [fast, slow] = framing.rate_excess(port.rate, telemetry).unwrap_or([1, 1]);
    let bytes = bytes.max(port.rate.bytes_in(window) * fast / slow);
    let charged = bytes - (wire - charge) * bytes.div_ceil(wire);
    2 * charge + charged.max(bytes / wire * charge)
}
