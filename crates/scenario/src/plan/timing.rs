//! Checks of times that are too short: periods of clocks that tick too often, and frame times that
//! a coarse clock truncates.

use crate::diagnostic::Diagnostic;
use crate::scenario::ProbesConfig;
use backwater_engine::{Duration, Rate};
use backwater_fabric::contract::Diagnostics;
use backwater_fabric::network::spec::{LinkSpec, NetworkSpec};
use std::collections::BTreeMap;

/// Checks the clocks of probes.
pub(super) fn clocks(probes: &ProbesConfig) -> Vec<Diagnostic> {
    let least = Diagnostics::FINEST_CLOCK;
    let clocks = [("probes.sample_interval", probes.sample_interval), ("probes.deadlock_check", probes.deadlock_check)];
    let wrong = clocks.into_iter().filter(|(_, interval)| *interval > Duration::ZERO && *interval < least);
    wrong
        .map(|(path, _)| Diagnostic::error(path, format!("must be at least {least}, or \"0 s\" to disable it")))
        .collect()
}

/// A kind of frame.
struct Kind {
    name: &'static str,
    wire: u16,
    /// Option that determines the frame's size.
    path: &'static str,
    /// Relative errors of the frame's time above which to warn, and to reject.
    limits: [f64; 2],
}

/// Checks for frames whose times the clock of the framing truncates.
///
/// Frames that a host can send without end must take time, otherwise simulated time does not
/// advance. These are full data frames, whose times must also be accurate, and frames that
/// acknowledge data. Single frames are never rejected, such as the last frame of a flow, or frames
/// of flow control.
pub(super) fn frames(spec: &NetworkSpec) -> Vec<Diagnostic> {
    const NOTICEABLE: f64 = 0.01;
    const TOO_SHORT: f64 = 0.1;
    const NOTHING_LEFT: f64 = 0.999;
    const NEVER: f64 = 1.0;
    let (framing, telemetry, mtu) = (spec.framing, spec.congestion.telemetry_bytes(), spec.mtu.get() as u32);
    let kind = |name, wire, path, limits| Kind { name, wire, path, limits };
    let mut kinds = vec![
        kind("a full data frame", framing.data(mtu, false, telemetry).wire, "network.mtu", [NOTICEABLE, TOO_SHORT]),
        kind("an ACK", framing.ack(telemetry).wire, "network.framing", [NOTICEABLE, NOTHING_LEFT]),
        kind(
            "a data frame with 1 B of payload",
            framing.data(1, false, telemetry).wire,
            "network.framing",
            [NOTICEABLE, NEVER],
        ),
        kind("a PFC frame", framing.control().wire, "network.framing", [NOTHING_LEFT, NEVER]),
    ];
    let rates: BTreeMap<Rate, &LinkSpec> = spec.links.iter().rev().map(|link| (link.rate, link)).collect();
    if rates.keys().any(|rate| spec.congestion.sends_cnps(*rate)) {
        kinds.push(kind("a CNP", framing.cnp().wire, "network.framing", [NOTICEABLE, NOTHING_LEFT]));
    }
    let judge = |Kind { name, wire, path, limits: [odd, wrong] }: Kind| {
        let cut = |rate: Rate| {
            let (time, here) = (rate.time_for(wire.into()), framing.byte_time(rate).times(wire.into()));
            (1.0 - here.ps() as f64 / time.ps().max(1) as f64, time, here)
        };
        let (link, (share, time, here)) =
            rates.iter().map(|(rate, link)| (link, cut(*rate))).max_by(|one, other| one.1.0.total_cmp(&other.1.0))?;
        if share <= odd {
            return None;
        }
        let [a, b] = [link.a, link.b].map(|node| &spec.nodes[node].name);
        let message = format!(
            "{name} ({wire} B) takes {time} at {} (\"{a}\" to \"{b}\"), but this framing rounds this time down to \
                {here}, {:.1} % less",
            link.rate,
            share * 100.0
        );
        if share > wrong {
            let allowed =
                if wrong < NOTHING_LEFT { format!("; at most {} % is allowed", wrong * 100.0) } else { String::new() };
            let remedy = if path == "network.mtu" { "larger frames or slower links" } else { "slower links" };
            let advice = format!("use framing = \"rocev2\", which is exact, or {remedy}");
            Some(Diagnostic::error(path, format!("{message}{allowed}")).hint(advice))
        } else {
            let lapsed = if here == Duration::ZERO {
                "; packet loss on such links does not count as a violation of the lossless guarantee"
            } else {
                ""
            };
            Some(Diagnostic::warning(path, format!("{message}{lapsed}")))
        }
    };
    kinds.into_iter().filter_map(judge).collect()
}
