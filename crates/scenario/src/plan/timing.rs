//! What takes so little time that a run would never advance, or be wrong: clocks that tick too often, frames that a coarse clock cuts short.

use crate::diagnostic::Diagnostic;
use crate::scenario::ProbesConfig;
use backwater_engine::{Duration, Rate};
use backwater_fabric::contract::Findings;
use backwater_fabric::network::spec::{LinkSpec, NetworkSpec};
use std::collections::BTreeMap;

/// What a link carries in a quantum of PFC (IEEE 802.1Qbb).
const QUANTUM_BYTES: u64 = 512 / 8;

/// The clocks of probes.
pub(super) fn clocks(probes: &ProbesConfig) -> Vec<Diagnostic> {
    let least = Findings::FINEST_CLOCK;
    let clocks = [("probes.sample_interval", probes.sample_interval), ("probes.deadlock_check", probes.deadlock_check)];
    let wrong = clocks.into_iter().filter(|(_, interval)| *interval > Duration::ZERO && *interval < least);
    wrong.map(|(path, _)| Diagnostic::error(path, format!("must be at least {least}, or \"0 s\" for off"))).collect()
}

/// PAUSE frames that run out are repeated after half their time. That is a clock, of which the fastest link's has the shortest period; and the
/// repetition must arrive in the other half, though it may have to wait for a data frame and a PFC frame of every class.
pub(super) fn pauses(spec: &NetworkSpec) -> Vec<Diagnostic> {
    let Some(rate) = spec.links.iter().map(|link| link.rate).max() else { return Vec::new() };
    let largest = spec.framing.largest(spec.mtu.get() as u32, spec.congestion.telemetry_bytes());
    let in_groups = spec.groups.iter().enumerate();
    let in_groups = in_groups.filter_map(|(i, group)| Some((format!("groups[{i}]"), group.flow_control.as_ref()?)));
    let all = in_groups.chain([("switch".into(), &spec.switch.flow_control)]);
    let too_short = all.filter_map(|(path, flow_control)| {
        let pfc = flow_control.facts(false).pfc.filter(|pfc| !pfc.until_resume)?;
        let classes = spec.switch.lossless.len().max(1) as u64;
        let wait = u64::from(largest.wire) + u64::from(spec.framing.control().wire) * classes;
        let finest = Findings::FINEST_CLOCK;
        let [of_wait, of_clock] = [2 * wait, 2 * rate.bytes_in(finest)].map(|bytes| bytes.div_ceil(QUANTUM_BYTES));
        let least = of_wait.max(of_clock);
        let why = if of_wait < of_clock {
            format!("every {finest} at most, and links have {rate}")
        } else {
            format!("and may wait for {wait} B, a data frame and a PFC frame of every lossless class")
        };
        let message = format!("must be at least {least}: a PAUSE is repeated after half its time, {why}");
        let is_too_short = u64::from(pfc.quanta) < least;
        is_too_short.then(|| Diagnostic::error(format!("{path}.flow_control.quanta"), message))
    });
    too_short.collect()
}

/// A kind of frame that the network sends.
struct Kind {
    name: String,
    wire: u16,
    /// The option that its size follows from.
    path: &'static str,
    /// Shares of its time that it may be too short by until that is worth a warning, and until it is refused.
    limits: [f64; 2],
}

/// Frames that take less time than they should, as the clock of the framing cuts times down.
///
/// What a host can send without end must take time, or a run never advances in time: full data frames, which must be nearly right as well,
/// and what answers them. Frames that come one at a time are never refused: the last of a flow, and those of flow control.
pub(super) fn frames(spec: &NetworkSpec) -> Vec<Diagnostic> {
    const NOTICEABLE: f64 = 0.01;
    const TOO_SHORT: f64 = 0.1;
    const NOTHING_LEFT: f64 = 0.999;
    const NEVER: f64 = 1.0;
    let (framing, telemetry, mtu) = (spec.framing, spec.congestion.telemetry_bytes(), spec.mtu.get() as u32);
    let kind = |name: &str, wire, path, limits| Kind { name: name.into(), wire, path, limits };
    let mut kinds = vec![
        kind("a full data frame", framing.data(mtu, false, telemetry).wire, "network.mtu", [NOTICEABLE, TOO_SHORT]),
        kind("an ACK", framing.ack(telemetry).wire, "network.framing", [NOTICEABLE, NOTHING_LEFT]),
        kind("a data frame with 1 B", framing.data(1, false, telemetry).wire, "network.framing", [NOTICEABLE, NEVER]),
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
        let [a, b] = [link.a, link.b].map(|node| &spec.nodes[node.0 as usize].name);
        let message = format!(
            "{name}, {wire} B, takes {time} on a link of {} (\"{a}\" to \"{b}\"), but {here} in this framing, {:.1} % less",
            link.rate,
            share * 100.0
        );
        let allowed =
            if wrong < NOTHING_LEFT { format!("; at most {} % are allowed", wrong * 100.0) } else { String::new() };
        if share > wrong {
            let remedy = if path == "network.mtu" { "larger frames or slower links" } else { "slower links" };
            let advice = format!("framing = \"rocev2\" is exact; {remedy} are less inexact");
            Some(Diagnostic::error(path, format!("{message}{allowed}")).hint(advice))
        } else {
            let lapsed = if here == Duration::ZERO { "; packets lost over such links break no promise" } else { "" };
            (share > odd).then(|| Diagnostic::warning(path, format!("{message}{lapsed}")))
        }
    };
    kinds.into_iter().filter_map(judge).collect()
}
