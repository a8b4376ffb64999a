//! What takes so little time that a run would never advance, or be wrong: clocks that tick too often, frames that a coarse clock cuts short.

use crate::diagnostic::Diagnostic;
use crate::scenario::Scenario;
use backwater_engine::{Bytes, Duration, Rate};
use backwater_fabric::mechanisms::congestion::CongestionConfig;
use backwater_fabric::mechanisms::congestion::dcqcn::CnpMode;
use backwater_fabric::mechanisms::flow_control::FlowControlConfig;
use backwater_fabric::mechanisms::flow_control::pfc::PauseModel;
use backwater_fabric::network::spec::{LinkSpec, NetworkSpec};
use std::collections::BTreeMap;

/// Shortest period of a clock. A run pays for every tick: of a probe as for a sample of the network, of congestion control in every flow.
const FINEST_CLOCK: Duration = Duration::from_ns(100);
/// Fewest bytes per step of a byte counter, which costs as much as a tick: some steps per packet.
const SMALLEST_STEP: Bytes = Bytes(100);

/// What a link carries in a quantum of PFC (IEEE 802.1Qbb).
const QUANTUM_BYTES: u64 = 512 / 8;

/// The clocks of probes and of congestion control.
pub(super) fn clocks(scenario: &Scenario) -> Vec<Diagnostic> {
    const OFF: &str = ", or \"0 s\" for off";
    const EVERY_FLOW: &str = ": every flow pays for every tick";
    const AT_ONCE: &str = ", or \"0 s\" to act on every CNP at once: every flow pays for every tick";
    let probes = &scenario.probes;
    let mut clocks = vec![
        ("probes.sample_interval", Some(probes.sample_interval), true, OFF),
        ("probes.deadlock_check", Some(probes.deadlock_check), true, OFF),
    ];
    let mut findings = Vec::new();
    if let CongestionConfig::Dcqcn(dcqcn) = &scenario.congestion_control {
        clocks.extend([
            ("congestion_control.alpha_interval", dcqcn.alpha_interval, false, EVERY_FLOW),
            ("congestion_control.decrease_interval", dcqcn.decrease_interval, true, AT_ONCE),
            ("congestion_control.increase_interval", dcqcn.increase_interval, false, EVERY_FLOW),
        ]);
        if dcqcn.byte_counter.is_some_and(|step| step > Bytes(0) && step < SMALLEST_STEP) {
            let message =
                format!("must be at least {SMALLEST_STEP}, or \"0 B\" for off: every flow pays for every step");
            findings.push(Diagnostic::error("congestion_control.byte_counter", message));
        }
    }
    let is_wrong =
        |interval: Duration, or_zero: bool| interval < FINEST_CLOCK && !(or_zero && interval == Duration::ZERO);
    let wrong =
        clocks.into_iter().filter(|(_, interval, or_zero, _)| interval.is_some_and(|it| is_wrong(it, *or_zero)));
    findings.extend(
        wrong.map(|(path, _, _, why)| Diagnostic::error(path, format!("must be at least {FINEST_CLOCK}{why}"))),
    );
    findings
}

/// PAUSE frames that run out are repeated after half their time. That is a clock, of which the fastest link's has the shortest period; and the
/// repetition must arrive in the other half, though it may have to wait for a data frame and a PFC frame of every class.
pub(super) fn pauses(spec: &NetworkSpec) -> Vec<Diagnostic> {
    let Some(rate) = spec.links.iter().map(|link| link.rate).max() else { return Vec::new() };
    let largest = spec.framing.largest(spec.mtu.get() as u32, spec.congestion.telemetry_bytes());
    let in_groups = spec.groups.iter().enumerate();
    let in_groups = in_groups.filter_map(|(i, group)| Some((format!("groups[{i}]"), group.flow_control.as_ref()?)));
    let all = in_groups.chain([("switch".into(), &spec.switch.flow_control)]);
    let too_short = all.filter_map(|(path, flow_control)| match flow_control {
        FlowControlConfig::Pfc(pfc) if pfc.pause == PauseModel::Quanta => {
            let classes = spec.switch.lossless.len().max(1) as u64;
            let wait = u64::from(largest.wire) + u64::from(spec.framing.control().wire) * classes;
            let [of_wait, of_clock] =
                [2 * wait, 2 * rate.bytes_in(FINEST_CLOCK)].map(|bytes| bytes.div_ceil(QUANTUM_BYTES));
            let least = of_wait.max(of_clock);
            let why = if of_wait < of_clock {
                format!("every {FINEST_CLOCK} at most, and links have {rate}")
            } else {
                format!("and may wait for {wait} B, a data frame and a PFC frame of every lossless class")
            };
            let message = format!("must be at least {least}: a PAUSE is repeated after half its time, {why}");
            let is_too_short = u64::from(pfc.quanta) < least;
            is_too_short.then(|| Diagnostic::error(format!("{path}.flow_control.quanta"), message))
        }
        _ => None,
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
    if let CongestionConfig::Dcqcn(dcqcn) = &spec.congestion
        && rates.keys().any(|rate| dcqcn.parameters(*rate).cnp == CnpMode::Frame)
    {
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
