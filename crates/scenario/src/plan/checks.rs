//! What a schema cannot say: relations between fields, and between fields and the fabric.

use super::timing;
use crate::diagnostic::{Diagnostic, counted};
use crate::scenario::Scenario;
use crate::workload::Traffic;
use backwater_engine::{Bytes, Duration, Rate, Time};
use backwater_fabric::ids::{Class, NodeId};
use backwater_fabric::mechanisms::congestion::CongestionConfig;
use backwater_fabric::mechanisms::congestion::hpcc::HpccConfig;
use backwater_fabric::mechanisms::congestion::none::{NoneConfig, Window};
use backwater_fabric::mechanisms::congestion::power_tcp::PowerTcpConfig;
use backwater_fabric::mechanisms::flow_control::FlowControlConfig;
use backwater_fabric::mechanisms::flow_control::pfc::PfcConfig;
use backwater_fabric::mechanisms::flow_control::pyrrha::HostReaction;
use backwater_fabric::mechanisms::headroom::HeadroomConfig;
use backwater_fabric::mechanisms::headroom::dsh::EstimatorKind;
use backwater_fabric::mechanisms::load_balance::LoadBalanceConfig;
use backwater_fabric::mechanisms::recovery::RecoveryConfig;
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::routes::Wiring;
use backwater_fabric::network::spec::{FlowSpec, NetworkSpec, NodeKind, SchedulerConfig, SpecError, SwitchGroup};
use std::collections::{BTreeMap, BTreeSet};

/// Largest payload of a packet: jumbo frames.
pub(super) const LARGEST_MTU: Bytes = Bytes(9000);
/// Smallest DWRR quantum, one minimum frame; below it a scheduler loops too long.
const SMALLEST_QUANTUM: Bytes = Bytes(64);

/// What has been found so far.
#[derive(Default)]
struct Findings(Vec<Diagnostic>);

impl Findings {
    fn error(&mut self, wrong: bool, path: &str, message: impl Into<String>) {
        if wrong {
            self.0.push(Diagnostic::error(path, message));
        }
    }

    fn warning(&mut self, odd: bool, path: &str, message: impl Into<String>) {
        if odd {
            self.0.push(Diagnostic::warning(path, message));
        }
    }

    fn positive<T: Default + PartialEq>(&mut self, value: T, path: &str) {
        self.error(value == T::default(), path, "must be greater than zero");
    }
}

/// What can be said without the fabric.
pub(super) fn options(scenario: &Scenario) -> Vec<Diagnostic> {
    let mut findings = Findings::default();
    findings.0.extend(timing::clocks(scenario));
    let Scenario { run, network, probes, .. } = scenario;
    findings.positive(run.until, "run.until");
    let warmed_up = Time::ZERO + run.warmup;
    let until = run.until;
    findings.error(
        run.until > Time::ZERO && warmed_up >= until,
        "run.warmup",
        format!("must be less than run.until, {until}"),
    );
    findings.error(
        network.mtu < Bytes(1) || network.mtu > LARGEST_MTU,
        "network.mtu",
        format!("must be from 1 B to {} B", LARGEST_MTU.get()),
    );
    findings.positive(probes.vulnerable_share, "probes.vulnerable_share");
    switch(scenario, &mut findings);
    congestion(scenario, &mut findings);
    let reorders = matches!(scenario.load_balance, LoadBalanceConfig::Spray(_) | LoadBalanceConfig::Drill(_));
    let in_order = matches!(scenario.recovery, RecoveryConfig::GoBackN(_));
    findings.warning(
        reorders && in_order,
        "load_balance.kind",
        format!(
            "{} reorders packets, and go-back-n takes each reordering for a loss; in-any-order does not",
            scenario.load_balance.name()
        ),
    );
    findings.0
}

fn switch(scenario: &Scenario, findings: &mut Findings) {
    let switch = &scenario.switch;
    let mut seen = BTreeSet::new();
    for (i, class) in switch.lossless.iter().enumerate() {
        let path = format!("switch.lossless[{i}]");
        findings.error(
            *class == Class::CONTROL,
            &path,
            "class 0 is the control class: it is never paused and has no headroom",
        );
        findings.error(!seen.insert(*class), &path, "is listed twice");
    }
    findings.warning(
        switch.flow_control.facts(false).is_lossless && switch.lossless.is_empty(),
        "switch.lossless",
        format!("no class is lossless, so {} has nothing to do", switch.flow_control.name()),
    );
    if let SchedulerConfig::Dwrr { quantum } = switch.scheduler {
        findings.error(
            quantum < SMALLEST_QUANTUM,
            "switch.scheduler.quantum",
            format!("must be at least {SMALLEST_QUANTUM}"),
        );
    }
    headroom(&switch.headroom, "switch.headroom", &switch.flow_control, scenario, findings);
    for (i, group) in scenario.groups.iter().enumerate() {
        let flow_control = group.flow_control.as_ref().unwrap_or(&switch.flow_control);
        let path = format!("groups[{i}].headroom");
        group.headroom.iter().for_each(|config| headroom(config, &path, flow_control, scenario, findings));
    }
    flow_control(&switch.flow_control, "switch.flow_control", scenario, findings);
    for (i, group) in scenario.groups.iter().enumerate() {
        let path = format!("groups[{i}].flow_control");
        group.flow_control.iter().for_each(|config| flow_control(config, &path, scenario, findings));
    }
}

fn flow_control(config: &FlowControlConfig, path: &str, scenario: &Scenario, findings: &mut Findings) {
    let FlowControlConfig::Pyrrha(pyrrha) = config else { return };
    let message = format!("must be at most pause, {}", pyrrha.pause);
    findings.error(pyrrha.resume > pyrrha.pause, &format!("{path}.resume"), message);
    findings.warning(
        pyrrha.hosts == HostReaction::Pfc && scenario.switch.lossless.is_empty(),
        &format!("{path}.hosts"),
        "PFC stops lossless classes only, and switch.lossless is empty: hosts are never stopped",
    );
}

/// The switches of a network.
fn switches(spec: &NetworkSpec) -> impl Iterator<Item = NodeId> {
    (0..).map(NodeId).zip(&spec.nodes).filter(|(_, node)| node.kind == NodeKind::Switch).map(|(id, _)| id)
}

/// Where the scenario says what runs at `switch`: in its group, if that has such a thing, or for all switches.
fn path_of(spec: &NetworkSpec, switch: NodeId, key: &str) -> String {
    let says = |group: &SwitchGroup| match key {
        "headroom" => group.headroom.is_some(),
        _ => group.flow_control.is_some(),
    };
    let group = spec.groups.iter().position(|group| says(group) && group.switches.contains(&switch));
    group.map_or(format!("switch.{key}"), |i| format!("groups[{i}].{key}"))
}

fn runs_pfc(spec: &NetworkSpec, switch: NodeId) -> bool {
    matches!(spec.flow_control(switch), FlowControlConfig::Pfc(_))
}

/// The two switches of each link between switches.
fn neighbours(spec: &NetworkSpec) -> impl Iterator<Item = [NodeId; 2]> {
    let is_switch = |node: &NodeId| spec.nodes[node.0 as usize].kind == NodeKind::Switch;
    spec.links.iter().map(|link| [link.a, link.b]).filter(move |ends| ends.iter().all(is_switch))
}

/// Neighbours whose flow controls do not interoperate.
pub(super) fn borders(spec: &NetworkSpec) -> Vec<Diagnostic> {
    let mut findings = Findings::default();
    let foreign = neighbours(spec).find_map(|ends| {
        let [one, other] = ends.map(|node| spec.flow_control(node));
        let is_foreign = one.name() != other.name() && !one.facts(false).interoperates_with(&other.facts(false));
        is_foreign.then(|| (ends, [one.name(), other.name()]))
    });
    if let Some((ends, [one, other])) = foreign {
        let [a, b] = ends.map(|node| &spec.nodes[node.0 as usize].name);
        let message = format!("\"{a}\" runs {one} and \"{b}\" {other}: neither stops the other, and full buffers drop");
        findings.warning(true, "groups", message);
    }
    findings.0
}

/// PFC with different options at different switches.
pub(super) fn pfc_options(spec: &NetworkSpec) -> Vec<Diagnostic> {
    let mut findings = Findings::default();
    let mut all = switches(spec).filter_map(|switch| match spec.flow_control(switch) {
        FlowControlConfig::Pfc(config) => Some((path_of(spec, switch, "flow_control"), config)),
        _ => None,
    });
    let Some((first_path, first)) = all.next() else { return findings.0 };
    let others: BTreeMap<String, &PfcConfig> = all.filter(|(path, _)| *path != first_path).collect();
    let has_pyrrha = switches(spec).any(|switch| matches!(spec.flow_control(switch), FlowControlConfig::Pyrrha(_)));
    for (path, config) in others {
        findings.error(
            config.pause != first.pause,
            &format!("{path}.pause"),
            format!("must be that of {first_path}: neighbours must agree on how long a PAUSE lasts"),
        );
        findings.error(
            has_pyrrha && config.pause == first.pause && config != first,
            &path,
            format!("must have the options of {first_path}: a switch with Pyrrha uses the same at all its borders"),
        );
    }
    findings.0
}

/// Flow control that bounds queues, with a buffer that ends at thresholds of ports: of use at a border with PFC only.
pub(super) fn shared_buffers(spec: &NetworkSpec) -> Vec<Diagnostic> {
    let mut findings = Findings::default();
    let at_border: BTreeSet<NodeId> = neighbours(spec)
        .flat_map(|[a, b]| [(a, b), (b, a)])
        .filter_map(|(switch, peer)| runs_pfc(spec, peer).then_some(switch))
        .collect();
    let (lossless, buffer) = (&spec.switch.lossless, spec.switch.buffer);
    let is_divided = |switch: &NodeId| match spec.headroom(*switch) {
        HeadroomConfig::Static(thresholds) => {
            !lossless.is_empty() && (thresholds.xoff < buffer || thresholds.headroom != Some(Bytes(0)))
        }
        _ => true,
    };
    let uses_ports = |switch: &NodeId| match spec.flow_control(*switch) {
        FlowControlConfig::Pyrrha(pyrrha) => pyrrha.hosts == HostReaction::Pfc || at_border.contains(switch),
        config => !config.facts(false).bounds_queues,
    };
    let Some(switch) = switches(spec).find(|switch| is_divided(switch) && !uses_ports(switch)) else {
        return findings.0;
    };
    let remedy = if switches(spec).any(|switch| runs_pfc(spec, switch)) {
        format!("headroom = {{ kind = \"static\", xoff = \"{buffer}\", headroom = \"0 B\" }} shares")
    } else {
        "lossless = [] and headroom = { kind = \"static\" } share".into()
    };
    let name = spec.flow_control(switch).name();
    findings.warning(
        true,
        &format!("{}.kind", path_of(spec, switch, "flow_control")),
        format!("{name} bounds queues, not what comes in by a port, where it would drop: {remedy} all of the buffer"),
    );
    findings.0
}

/// What is wrong with a buffer policy beside which `flow_control` runs.
fn headroom(
    config: &HeadroomConfig,
    path: &str,
    flow_control: &FlowControlConfig,
    scenario: &Scenario,
    findings: &mut Findings,
) {
    match config {
        HeadroomConfig::Dsh(dsh) => {
            findings.warning(
                !matches!(flow_control, FlowControlConfig::Pfc(_)) && !scenario.switch.lossless.is_empty(),
                path,
                format!("dsh needs a flow control that pauses queues and ports of the neighbour, as PFC does; \"{}\" does not", flow_control.name()),
            );
            let is_power = |value: f64| value.log2().fract() == 0.0;
            let weights = [
                ("gradient_weight", dsh.gradient_weight, dsh.gradient_weight <= 1.0),
                ("deviation_weight", dsh.deviation_weight, dsh.deviation_weight <= 1.0),
                ("deviation_factor", dsh.deviation_factor, dsh.deviation_factor >= 1.0),
            ];
            for (key, weight, in_range) in weights {
                let wrong = dsh.estimator == EstimatorKind::Hardware && !(in_range && is_power(weight));
                let bound = if key == "deviation_factor" { "1 or more" } else { "1 or less" };
                let message =
                    format!("must be a power of two, {bound}: the hardware estimator has shifts, not products");
                findings.error(wrong, &format!("{path}.{key}"), message);
            }
        }
        HeadroomConfig::Adaptive(adaptive) => {
            findings.positive(adaptive.resolution, &format!("{path}.resolution"));
        }
        HeadroomConfig::Oversubscribed(_) => {}
        HeadroomConfig::Sih(sih) => {
            if let Some(rate) = sih.alpha_rate {
                findings.positive(rate, &format!("{path}.alpha_rate"));
            }
        }
        HeadroomConfig::Static(thresholds) => {
            let wrong = thresholds.xon.is_some_and(|xon| xon > thresholds.xoff);
            findings.error(wrong, &format!("{path}.xon"), format!("must be at most xoff, {}", thresholds.xoff));
        }
        HeadroomConfig::Custom(_) => {}
    }
}

fn congestion(scenario: &Scenario, findings: &mut Findings) {
    match &scenario.congestion_control {
        CongestionConfig::Dcqcn(dcqcn) => {
            let ecn = &dcqcn.ecn;
            findings.error(
                ecn.kmin > ecn.kmax,
                "congestion_control.ecn.kmin",
                format!("must be at most kmax, {}", ecn.kmax),
            );
            if dcqcn.window {
                one_ack_per_packet(scenario, findings);
            }
            for (path, rate) in [("min_rate", dcqcn.min_rate), ("ecn.rate", ecn.rate)] {
                if let Some(rate) = rate {
                    findings.positive(rate, &format!("congestion_control.{path}"));
                }
            }
        }
        CongestionConfig::Hpcc(HpccConfig { min_rate, base_rtt, .. })
        | CongestionConfig::PowerTcp(PowerTcpConfig { min_rate, base_rtt, .. }) => {
            findings.positive(*min_rate, "congestion_control.min_rate");
            if let Some(base_rtt) = base_rtt {
                findings.positive(*base_rtt, "congestion_control.base_rtt");
            }
            one_ack_per_packet(scenario, findings);
        }
        CongestionConfig::Timely(timely) => {
            // Thresholds do not depend on the link.
            let parameters = timely.parameters(Rate::from_gbps(100));
            findings.error(
                parameters.low_rtt > parameters.high_rtt,
                "congestion_control.low_rtt",
                format!("must be at most high_rtt, {}", parameters.high_rtt),
            );
            if timely.window {
                one_ack_per_packet(scenario, findings);
            }
            if let Some(min_rtt) = timely.min_rtt {
                findings.positive(min_rtt, "congestion_control.min_rtt");
            }
            if let Some(min_rate) = timely.min_rate {
                findings.positive(min_rate, "congestion_control.min_rate");
            }
        }
        CongestionConfig::None(none) => {
            let Some(Window::Bytes(window)) = none.window else { return };
            let needed = u64::from(scenario.host.ack_every - 1) * scenario.network.mtu.get() + 1;
            let message = format!("must be at least {}: an ACK answers host.ack_every packets", Bytes(needed));
            findings.error(window.get() < needed, "congestion_control.window", message);
        }
        CongestionConfig::Custom(_) => {}
    }
}

/// Where a window can shrink to a packet, every packet must be acknowledged.
fn one_ack_per_packet(scenario: &Scenario, findings: &mut Findings) {
    let name = scenario.congestion_control.name();
    let message = format!("must be 1: the window of {name} can shrink to a packet, which would never be answered");
    findings.error(scenario.host.ack_every > 1, "host.ack_every", message);
}

/// What a switch needs of its buffer.
struct Need {
    switch: NodeId,
    /// Ports of the chip.
    ports: usize,
    /// What its policy sets aside.
    reserved: Bytes,
    /// The same, and all that its ports may hold below thresholds that are fixed.
    with_thresholds: Bytes,
}

/// Whether the buffer of every switch holds what its policy sets aside; of those that need too much, the first of those that need most.
pub(super) fn buffers(spec: &NetworkSpec) -> Vec<Diagnostic> {
    let mut findings = Findings::default();
    let wiring = Wiring::new(&spec.nodes, &spec.links);
    let classes = spec.switch.lossless.len();
    let needs = switches(spec).map(|switch| {
        let site = spec.site(switch, &wiring, Duration::ZERO);
        let (reserved, ports) = (spec.headroom(switch).reserved(&site), site.ports.len() + site.unused_ports);
        let thresholds = match spec.headroom(switch) {
            HeadroomConfig::Static(thresholds) if site.flow_control.is_lossless => {
                thresholds.xoff.get() * (ports * classes) as u64
            }
            _ => 0,
        };
        Need { switch, ports, reserved: Bytes(reserved), with_thresholds: Bytes(reserved + thresholds) }
    });
    let needs: Vec<Need> = needs.collect();
    let most = |by: fn(&Need) -> Bytes| needs.iter().rev().max_by_key(|need| by(need));
    let (Some(most_reserved), Some(most_held)) = (most(|need| need.reserved), most(|need| need.with_thresholds)) else {
        return findings.0;
    };
    let (buffer, name) = (spec.switch.buffer, |need: &Need| &spec.nodes[need.switch.0 as usize].name);
    findings.error(
        most_reserved.reserved >= buffer,
        "switch.buffer",
        format!(
            "must be more than the {} that \"{}\" sets aside as headroom and private buffer ({}, {})",
            most_reserved.reserved,
            name(most_reserved),
            counted(most_reserved.ports, "port"),
            counted(classes, "lossless class")
        ),
    );
    findings.warning(
        most_reserved.reserved < buffer && most_held.with_thresholds > buffer,
        &format!("{}.xoff", path_of(spec, most_held.switch, "headroom")),
        format!(
            "all {} of \"{}\" can reach it only with a buffer of {}; with {buffer} it may drop",
            counted(most_held.ports, "port"),
            name(most_held),
            most_held.with_thresholds
        ),
    );
    findings.0
}

/// Whether the switches do with every class of the traffic what its author may expect.
pub(super) fn classes(scenario: &Scenario, traffic: &Traffic) -> Vec<Diagnostic> {
    let mut findings = Findings::default();
    for &(tag, class) in &traffic.classes {
        let tag = &traffic.tags[usize::from(tag)];
        let path = format!("{}.class", part_called(tag, scenario));
        findings.error(class == Class::CONTROL, &path, "class 0 is for control frames alone");
        findings.warning(
            class != Class::CONTROL
                && scenario.switch.flow_control.facts(false).is_lossless
                && !scenario.switch.lossless.contains(&class),
            &path,
            format!("\"{tag}\" is of class {}, which is not among switch.lossless: full buffers drop it", class.0),
        );
    }
    findings.0
}

/// The path of the part of the traffic that has this tag.
fn part_called(tag: &str, scenario: &Scenario) -> String {
    let part = scenario.traffic.iter().position(|part| part.common().tag == tag);
    part.map_or("traffic".into(), |part| format!("traffic[{part}]"))
}

/// What the model itself has against the network and the flows that are listed; of the flows of one part, only the first. Flows that are made
/// on the way run between hosts that the graph connects, with sizes and classes that were checked. If it has nothing against them, the fabric.
pub(super) fn network(scenario: &Scenario, spec: &NetworkSpec, traffic: &Traffic) -> Result<Fabric, Vec<Diagnostic>> {
    let describe = |error| match error {
        SpecError::Option { option, reason } => Diagnostic::error(option, reason),
        SpecError::Link { ends, reason, .. } => Diagnostic::error("topology", format!("link {ends}: {reason}")),
        SpecError::Node { node, reason } => Diagnostic::error("topology", format!("node \"{node}\": {reason}")),
        SpecError::Flow { reason, .. } => Diagnostic::error("traffic", reason),
    };
    let mut fabric = match Fabric::new(spec.clone()) {
        Ok(fabric) => fabric,
        Err(errors) => return Err(errors.into_iter().map(describe).collect()),
    };
    if let CongestionConfig::None(NoneConfig { window: Some(Window::Bdp) }) = &scenario.congestion_control {
        let slowest = spec.links.iter().map(|link| link.rate).min();
        let window = slowest.map_or(0, |rate| rate.bytes_in(fabric.base_rtt));
        if window < u64::from(scenario.host.ack_every - 1) * scenario.network.mtu.get() {
            let message = format!(
                "so many packets do not fit into a window of one BDP, {}: they would never be answered",
                Bytes(window)
            );
            return Err(vec![Diagnostic::error("host.ack_every", message)]);
        }
    }
    let mut seen = BTreeSet::new();
    let refused = traffic.listed().filter_map(|flow| Some((flow, fabric.check_flow(flow).err()?)));
    let first = refused.filter(|(flow, _)| seen.insert(flow.tag));
    let name = |node: NodeId| &spec.nodes[node.0 as usize].name;
    let findings = first.map(|(FlowSpec { src, dst, tag, .. }, reason)| {
        let message = format!("the flow from \"{}\" to \"{}\": {reason}", name(*src), name(*dst));
        Diagnostic::error(part_called(&traffic.tags[usize::from(*tag)], scenario), message)
    });
    let findings: Vec<_> = findings.collect();
    if findings.is_empty() { Ok(fabric) } else { Err(findings) }
}
