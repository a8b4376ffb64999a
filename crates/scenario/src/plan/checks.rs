//! Checks beyond the schema: relations between options, and between options and the fabric.

use super::timing;
use crate::diagnostic::{Diagnostic, counted};
use crate::scenario::{FaultConfig, RunConfig, Scenario};
use crate::topology::{LinkLimits, wrong_in_name};
use crate::workload::{FlowConfig, Traffic, TrafficConfig};
use backwater_engine::{Bytes, Duration, Rate, Time};
use backwater_fabric::contract::need::unmet;
use backwater_fabric::contract::{
    Diagnostics, FlowControlContext, FlowControlFacts, HookSet, Options, PipelineHooks, PortFacts, RunningFlowControl,
    SchemeContext, Shape,
};
use backwater_fabric::frame::Protocol;
use backwater_fabric::ids::{Class, NodeId};
use backwater_fabric::mechanisms::flow_control::FlowControlConfig;
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::routes::Wiring;
use backwater_fabric::network::spec::{
    FlowSpec, HostScheduler, NetworkSpec, NodeKind, RelayConfig, SchedulerConfig, SwitchGroup,
};
use std::collections::BTreeSet;
use std::fmt;

/// Largest payload of a packet: jumbo frames.
pub(super) const LARGEST_MTU: Bytes = Bytes(9000);
/// Smallest DWRR quantum, one minimum frame. With smaller quanta a scheduler loops too long.
const SMALLEST_QUANTUM: Bytes = Bytes(64);

/// Checks the options that do not depend on the fabric.
pub(super) fn options(scenario: &Scenario) -> Vec<Diagnostic> {
    let mut diagnostics = Diagnostics::default();
    let Scenario { run, network, probes, .. } = scenario;
    diagnostics.extend(timing::clocks(probes));
    names(scenario, &mut diagnostics);
    let (end, until) = (run.end_of_traffic(), run.option_of_end());
    diagnostics.positive(Some(end), until);
    let warmed_up = Time::ZERO + run.warmup;
    diagnostics.error(
        end > Time::ZERO && warmed_up >= end,
        "run.warmup",
        format_args!("must be less than {until} ({end})"),
    );
    diagnostics.error(
        !run.ends_with_jobs() && run.limit.is_some(),
        "run.limit",
        "has no effect unless run.until is \"jobs\": omit this option",
    );
    diagnostics.error(
        run.ends_with_jobs() && !scenario.traffic.iter().any(TrafficConfig::is_job),
        "run.until",
        "must be a time: no part of the traffic is a job (\"collective\" or \"schedule\")",
    );
    diagnostics.error(
        run.ends_with_jobs() && run.drain != RunConfig::default().drain,
        "run.drain",
        "has no effect if run.until is \"jobs\": set run.limit, or omit this option",
    );
    diagnostics.warning(
        probes.operations && !scenario.traffic.iter().any(TrafficConfig::is_job),
        "probes.operations",
        "has no effect: no part of the traffic is a job (\"collective\" or \"schedule\")",
    );
    diagnostics.error(
        network.mtu < Bytes(1) || network.mtu > LARGEST_MTU,
        "network.mtu",
        format_args!("must be from 1 B to {} B", LARGEST_MTU.get()),
    );
    diagnostics.positive(Some(probes.vulnerable_share), "probes.vulnerable_share");
    switch(scenario, &mut diagnostics);
    mechanisms(scenario, &mut diagnostics);
    diagnostics.warning(
        scenario.load_balance.reorders() && !scenario.recovery.tolerates_reordering(),
        "load_balance.kind",
        format_args!(
            "{} reorders packets, but {} treats every reordering as a loss; use in-any-order recovery",
            scenario.load_balance.name(),
            scenario.recovery.name()
        ),
    );
    diagnostics.warning(
        scenario.load_balance.chooses_per_packet() && scenario.congestion_control.telemetry_bytes() > 0,
        "load_balance.kind",
        format_args!(
            "{} sends consecutive packets along different paths, but {} compares the telemetry of consecutive ACKs hop \
                by hop: it takes differences between ports for load, and flows take up to ten times as long; use \
                another congestion control, such as \"swift\" or \"none\"",
            scenario.load_balance.name(),
            scenario.congestion_control.name()
        ),
    );
    diagnostics.into_vec()
}

/// Rejects names with control characters, which would affect a terminal.
fn names(scenario: &Scenario, diagnostics: &mut Diagnostics) {
    let wrong = scenario.name.as_deref().and_then(wrong_in_name);
    wrong.into_iter().for_each(|why| diagnostics.error(true, "name", why));
    for (i, part) in scenario.traffic.iter().enumerate() {
        let wrong = wrong_in_name(part.common().tag);
        wrong.into_iter().for_each(|why| diagnostics.error(true, format_args!("traffic[{i}].tag"), why));
    }
}

fn switch(scenario: &Scenario, diagnostics: &mut Diagnostics) {
    let switch = &scenario.switch;
    let mut seen = BTreeSet::new();
    for (i, class) in switch.lossless.iter().enumerate() {
        let path = format_args!("switch.lossless[{i}]");
        diagnostics.error(
            *class == Class::CONTROL,
            path,
            "must not be 0: the control class is never paused and has no headroom",
        );
        diagnostics.error(!seen.insert(*class), path, "is listed twice");
    }
    diagnostics.warning(
        switch.flow_control.facts(false).is_lossless && switch.lossless.is_empty(),
        "switch.lossless",
        format_args!("no class is lossless, so {} has no effect", switch.flow_control.name()),
    );
    let rate = scenario.host.relay.rate.and_then(LinkLimits::rate);
    rate.into_iter().for_each(|why| diagnostics.error(true, "host.relay.rate", why));
    let of_switch = match switch.scheduler {
        SchedulerConfig::Dwrr { quantum } => Some(("switch.scheduler.quantum", quantum)),
        _ => None,
    };
    let of_host = match scenario.host.scheduler {
        HostScheduler::Dwrr { quantum } => Some(("host.scheduler.quantum", quantum)),
        _ => None,
    };
    for (path, quantum) in of_switch.into_iter().chain(of_host) {
        diagnostics.error(quantum < SMALLEST_QUANTUM, path, format_args!("must be at least {SMALLEST_QUANTUM}"));
    }
}

/// Lets every mechanism check its options.
fn mechanisms(scenario: &Scenario, diagnostics: &mut Diagnostics) {
    let Scenario { switch, groups, congestion_control, load_balance, recovery, .. } = scenario;
    let mut check = |options: &dyn Options, path: &str, flow_control: &FlowControlConfig| {
        let scheme = SchemeContext {
            mtu: scenario.network.mtu,
            ack_every: scenario.host.ack_every,
            ack_class: scenario.host.ack_class,
            lossless: switch.lossless.iter().copied().collect(),
            flow_control: (flow_control.name(), flow_control.facts(false)),
            congestion: congestion_control.name(),
            load_balance: load_balance.name(),
            recovery: recovery.name(),
        };
        diagnostics.within(path, |diagnostics| options.check(&scheme, diagnostics));
    };
    check(switch.headroom.options(), "switch.headroom", &switch.flow_control);
    let at_relays = scenario.host.relay.headroom.iter();
    at_relays.for_each(|it| check(it.options(), "host.relay.headroom", &switch.flow_control));
    check(switch.flow_control.options(), "switch.flow_control", &switch.flow_control);
    for (i, group) in groups.iter().enumerate() {
        let flow_control = group.flow_control.as_ref().unwrap_or(&switch.flow_control);
        group.headroom.iter().for_each(|it| check(it.options(), &format!("groups[{i}].headroom"), flow_control));
        group
            .flow_control
            .iter()
            .for_each(|it| check(it.options(), &format!("groups[{i}].flow_control"), flow_control));
    }
    // The checks of the congestion control receive a flow control that pauses, if any switch of the
    // network runs one.
    let mut running = groups.iter().filter_map(|group| group.flow_control.as_ref()).chain([&switch.flow_control]);
    let pausing = running.find(|it| !it.facts(false).protocols.is_empty()).unwrap_or(&switch.flow_control);
    check(congestion_control.options(), "congestion_control", pausing);
    check(load_balance.options(), "load_balance", &switch.flow_control);
    check(recovery.options(), "recovery", &switch.flow_control);
}

/// Lets the congestion control check its options for hosts and for congestion points. Lets the load
/// balancer check its options for switches. Equal diagnostics are reported once.
pub(super) fn places(fabric: &Fabric) -> Vec<Diagnostic> {
    let spec = &fabric.spec;
    let mut own = Diagnostics::at("congestion_control");
    let of_hosts = fabric.wiring.ports.iter().filter(|port| !fabric.is_switch(port.node));
    let rates: BTreeSet<Rate> = of_hosts.map(|port| port.rate).collect();
    rates.into_iter().for_each(|rate| spec.congestion.check_at(&fabric.sender(rate), &mut own));
    let relays = nodes(NodeKind::Relay, spec).filter(|_| spec.host.relay.congestion_point);
    for node in switches(spec).chain(relays) {
        spec.congestion.check_at_switch(&fabric.site(node), &mut own);
    }
    let mut of_paths = Diagnostics::at("load_balance");
    for node in switches(spec) {
        spec.load_balance.check_at_switch(&fabric.site(node), &mut of_paths);
    }
    let mut found: Vec<Diagnostic> = Vec::new();
    for diagnostic in own.into_vec().into_iter().chain(of_paths.into_vec()) {
        if !found.contains(&diagnostic) {
            found.push(diagnostic);
        }
    }
    found
}

/// Returns the switches of a network.
fn switches(spec: &NetworkSpec) -> impl Iterator<Item = NodeId> {
    nodes(NodeKind::Switch, spec)
}

/// Returns all nodes of one kind.
fn nodes(kind: NodeKind, spec: &NetworkSpec) -> impl Iterator<Item = NodeId> {
    spec.nodes.enumerate().filter(move |(_, node)| node.kind == kind).map(|(id, _)| id)
}

/// Returns the path of the options `key` that `node` uses: those of relaying hosts or of the node's
/// group if set, otherwise those of all switches.
fn path_of(spec: &NetworkSpec, node: NodeId, key: &str) -> String {
    if spec.nodes[node].kind == NodeKind::Relay && key == "headroom" && spec.host.relay.headroom.is_some() {
        return "host.relay.headroom".into();
    }
    let sets = |group: &SwitchGroup| match key {
        "headroom" => group.headroom.is_some(),
        _ => group.flow_control.is_some(),
    };
    let group = spec.groups.iter().position(|group| sets(group) && group.switches.contains(&node));
    group.map_or(format!("switch.{key}"), |i| format!("groups[{i}].{key}"))
}

/// Returns the two switches of each link between switches.
fn neighbours(spec: &NetworkSpec) -> impl Iterator<Item = [NodeId; 2]> {
    let is_switch = |node: &NodeId| spec.nodes[*node].kind == NodeKind::Switch;
    spec.links.iter().map(|link| [link.a, link.b]).filter(move |ends| ends.iter().all(is_switch))
}

/// Returns pairs of switches with a relaying host between them. The host runs the flow control of
/// the pair's first switch, to which its first link leads.
fn relayed(spec: &NetworkSpec, wiring: &Wiring) -> impl Iterator<Item = [NodeId; 2]> {
    let pairs = |relay: NodeId| {
        let peers = wiring.ports_of(relay).iter().map(|port| wiring.peer(port));
        let mut switches = peers.filter(|node| spec.nodes[*node].kind == NodeKind::Switch);
        let first = switches.next();
        switches.filter_map(move |other| Some([first?, other]))
    };
    nodes(NodeKind::Relay, spec).flat_map(pairs)
}

/// Warns about neighbours whose flow controls do not interoperate.
pub(super) fn borders(spec: &NetworkSpec, wiring: &Wiring) -> Vec<Diagnostic> {
    let mut diagnostics = Diagnostics::default();
    let foreign = neighbours(spec).chain(relayed(spec, wiring)).find_map(|ends| {
        let [one, other] = ends.map(|node| spec.flow_control(node));
        let is_foreign = one.name() != other.name() && !one.facts(false).interoperates_with(&other.facts(false));
        is_foreign.then(|| (ends, [one.name(), other.name()]))
    });
    if let Some((ends, [one, other])) = foreign {
        let [a, b] = ends.map(|node| &spec.nodes[node].name);
        let message = format_args!(
            "\"{a}\" runs {one}, but its neighbour \"{b}\" runs {other}: neither can pause the other, so full buffers \
                drop packets"
        );
        diagnostics.warning(true, "groups", message);
    }
    diagnostics.into_vec()
}

/// Lets every flow control check its options against other switches' flow controls and the links.
pub(super) fn flow_controls(spec: &NetworkSpec) -> Vec<Diagnostic> {
    let Some(fastest) = spec.links.iter().map(|link| link.rate).max() else { return Vec::new() };
    let (mut running, mut options): (Vec<RunningFlowControl>, Vec<&FlowControlConfig>) = Default::default();
    for switch in switches(spec) {
        let (path, flow_control) = (path_of(spec, switch, "flow_control"), spec.flow_control(switch));
        if running.iter().all(|other| other.path != path) {
            running.push(RunningFlowControl { path, name: flow_control.name(), facts: flow_control.facts(false) });
            options.push(flow_control);
        }
    }
    let lossless = spec.switch.lossless.iter().copied().collect();
    let found = running.iter().zip(options).flat_map(|(here, flow_control)| {
        let mut own = Diagnostics::at(&here.path);
        let among =
            FlowControlContext { running: &running, fastest, lossless, relays: relays(spec), sizes: spec.sizes() };
        flow_control.check_among(&among, &mut own);
        own.into_vec()
    });
    found.collect()
}

/// Warns if a switch runs a flow control that bounds queues, but its buffer policy divides the
/// buffer among ports by thresholds. Does not warn if all neighbours of the switch use PFC.
pub(super) fn shared_buffers(spec: &NetworkSpec, wiring: &Wiring) -> Vec<Diagnostic> {
    let mut diagnostics = Diagnostics::default();
    let (lossless, buffer) = (spec.switch.lossless.iter().copied().collect(), spec.switch.buffer);
    let is_divided = |switch: &NodeId| !spec.headroom(*switch, wiring).shares_buffer(buffer, lossless);
    let bounds_queues = |switch: &NodeId| spec.flow_control(*switch).facts(false).bounds_queues;
    let uses_pfc = |switch: NodeId, port: &PortFacts| {
        let (ours, peer) = (spec.flow_control(switch).facts(false), wiring.peer(port));
        let theirs = spec.flow_control_of(peer, wiring).facts(spec.is_host(peer));
        ours.protocols.iter().find(|protocol| theirs.supports(**protocol)) == Some(&Protocol::PFC)
    };
    let drops = |switch: &NodeId| wiring.ports_of(*switch).iter().any(|port| !uses_pfc(*switch, port));
    let found = switches(spec).find(|switch| is_divided(switch) && bounds_queues(switch) && drops(switch));
    let Some(switch) = found else { return diagnostics.into_vec() };
    let remedy = if wiring.ports_of(switch).iter().any(|port| uses_pfc(switch, port)) {
        let node = &spec.nodes[switch].name;
        format!("\"{node}\" sends PAUSE frames at this threshold only to neighbours with PFC; raise alpha or xoff")
    } else {
        format!(
            "set headroom = {{ kind = \"static\", xoff = \"{buffer}\", headroom = \"0 B\" }} to share the whole buffer"
        )
    };
    let name = spec.flow_control(switch).name();
    diagnostics.warning(
        true,
        format_args!("{}.kind", path_of(spec, switch, "flow_control")),
        format_args!(
            "{name} limits every queue, but not the bytes of an ingress port, so an ingress port above its buffer \
                threshold drops packets; {remedy}"
        ),
    );
    diagnostics.into_vec()
}

/// True if any host relays.
fn relays(spec: &NetworkSpec) -> bool {
    spec.nodes.iter().any(|node| node.kind == NodeKind::Relay)
}

/// Warns about bounded buffers of relaying hosts that forward PAUSEs. Such hosts have no thresholds
/// of their own, so packets in flight must fit into the buffer.
pub(super) fn relays_that_drop(spec: &NetworkSpec, wiring: &Wiring) -> Vec<Diagnostic> {
    let mut diagnostics = Diagnostics::default();
    let relays_pauses = |relay: &NodeId| spec.flow_control_of(*relay, wiring).facts(true).relays_pauses;
    if let Some(relay) = nodes(NodeKind::Relay, spec).find(relays_pauses) {
        let message = "limits the buffers of relaying hosts; these hosts forward PAUSE frames but send none of their \
            own, so they may drop lossless packets";
        diagnostics.warning(spec.host.relay.buffer.is_some(), "host.relay.buffer", message);
        let is_bounded = spec.site(relay, wiring, Shape::default(), Duration::ZERO).headroom.bounds_ingress;
        if is_bounded {
            diagnostics.warning(true, path_of(spec, relay, "headroom"), message);
        }
    }
    diagnostics.into_vec()
}

/// Warns about options without effect in this network and in a run that ends at `end`.
pub(super) fn idle(spec: &NetworkSpec, faults: &[FaultConfig], end: Time) -> Vec<Diagnostic> {
    let mut diagnostics = Diagnostics::default();
    for (i, fault) in faults.iter().enumerate() {
        let message = format_args!("has no effect: the run ends at {end}");
        diagnostics.warning(fault.down >= end, format_args!("faults[{i}].down"), message);
    }
    let RelayConfig { buffer, headroom, delay, rate, congestion_point } = &spec.host.relay;
    let is_slow = *delay > Duration::ZERO || rate.is_some();
    let is_set = buffer.is_some() || headroom.is_some() || is_slow || *congestion_point;
    diagnostics.warning(
        is_set && !relays(spec),
        "host.relay",
        "has no effect: no host of this topology relays packets",
    );
    let is_idle = spec.reconvergence.is_some() && spec.faults.iter().all(|fault| fault.down >= end);
    diagnostics.warning(is_idle, "network.reconvergence", "has no effect: no link fails during the run");
    // A flow control of another crate may send its own frames from a host, in any class.
    let is_known = spec.plug_ins().keys().all(|name| !name.starts_with("flow_control."));
    let takes_turns = spec.host.scheduler != (HostScheduler::RelayFirst {});
    diagnostics.warning(
        takes_turns && is_known && !relays(spec) && spec.host.ack_class == Class::CONTROL,
        "host.scheduler",
        "has no effect: no host of this topology relays packets, and ACKs are in the control class, which has strict \
            priority",
    );
    diagnostics.into_vec()
}

/// Warns about nodes whose flow control cannot keep its lossless guarantee. Reports one node for
/// each reason.
pub(super) fn guarantees(fabric: &Fabric) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    for node in fabric.spec.nodes.ids() {
        let Err(reason) = fabric.check_guarantee(node) else { continue };
        let path = format!("{}.kind", path_of(&fabric.spec, node, "flow_control"));
        let warning = Diagnostic::warning(path, format!("may lose packets: {reason}"));
        if !found.contains(&warning) {
            found.push(warning);
        }
    }
    found
}

/// Warns about configured headroom below the need of ports. For each option, reports the first node
/// with the largest need.
pub(super) fn headrooms(fabric: &Fabric) -> Vec<Diagnostic> {
    let spec = &fabric.spec;
    let mut needs: Vec<(String, NodeId, u64)> = Vec::new();
    let is_set = |node: &NodeId| spec.headroom(*node, &fabric.wiring).facts().set_headroom.is_some();
    for node in switches(spec).chain(nodes(NodeKind::Relay, spec)).filter(is_set) {
        let site = fabric.site(node);
        let Some(need) = site.ports.iter().filter_map(|port| unmet(&site, port)).max() else { continue };
        let path = format!("{}.headroom", path_of(spec, node, "headroom"));
        match needs.iter_mut().find(|(other, ..)| *other == path) {
            Some((_, _, most)) if *most >= need => {}
            Some(found) => *found = (path, node, need),
            None => needs.push((path, node, need)),
        }
    }
    let warning = |(path, node, need): (String, NodeId, u64)| {
        let (name, need) = (&spec.nodes[node].name, Bytes(need));
        let message = format!(
            "is too small and may cause packet loss; a port of \"{name}\" needs up to {need} per lossless class"
        );
        Diagnostic::warning(path, message).hint("omit this option to give every port the headroom that it needs")
    };
    needs.into_iter().map(warning).collect()
}

/// Warns about a congestion point at relaying hosts that has no hooks.
pub(super) fn congestion_points(fabric: &Fabric) -> Vec<Diagnostic> {
    let mut diagnostics = Diagnostics::default();
    let Fabric { spec, .. } = fabric;
    let is_idle = |relay| spec.congestion.point(&fabric.site(relay)).hooks() == HookSet::empty();
    diagnostics.warning(
        spec.host.relay.congestion_point && relays(spec) && nodes(NodeKind::Relay, spec).all(is_idle),
        "host.relay.congestion_point",
        format_args!("has no effect: {} does not process packets at switches", spec.congestion.name()),
    );
    diagnostics.into_vec()
}

/// Warns about a load balancer without a choice of paths.
pub(super) fn choices(fabric: &Fabric) -> Vec<Diagnostic> {
    let mut diagnostics = Diagnostics::default();
    let Fabric { spec, .. } = fabric;
    // Recomputed routes may have choices where the first routes have none.
    let may_change = spec.reconvergence.is_some() && !spec.faults.is_empty();
    diagnostics.warning(
        spec.load_balance.name() != "ecmp" && fabric.shape().choices <= 1 && !may_change,
        "load_balance.kind",
        "has no effect: no switch has more than one egress port on the shortest paths to any host",
    );
    diagnostics.into_vec()
}

/// Buffer that a node needs.
struct Need {
    node: NodeId,
    /// Number of ports, including unused ones.
    ports: usize,
    /// Bytes that the policy reserves.
    reserved: Bytes,
    /// Reserved bytes plus the bytes that ports may hold below fixed thresholds.
    with_thresholds: Bytes,
    /// Option of the policy that sets the fixed thresholds.
    option: &'static str,
}

/// Checks that the buffers of switches and relaying hosts hold the bytes that their policies
/// reserve. Reports the first node with the largest need.
pub(super) fn buffers(spec: &NetworkSpec, wiring: &Wiring) -> Vec<Diagnostic> {
    let of_switches = buffers_of(NodeKind::Switch, spec, wiring, "switch.buffer");
    of_switches.into_iter().chain(buffers_of(NodeKind::Relay, spec, wiring, "host.relay.buffer")).collect()
}

/// True if PAUSEs depend on the occupancy of ingress ports.
fn counts(flow_control: &FlowControlFacts) -> bool {
    flow_control.is_lossless && !flow_control.bounds_queues && !flow_control.relays_pauses
}

/// Checks the buffers of nodes of one kind; `option` sets the buffer.
fn buffers_of(kind: NodeKind, spec: &NetworkSpec, wiring: &Wiring, option: &str) -> Vec<Diagnostic> {
    let mut diagnostics = Diagnostics::default();
    let classes = spec.switch.lossless.len();
    let needs = nodes(kind, spec).map(|node| {
        let site = spec.site(node, wiring, Shape::default(), Duration::ZERO);
        let policy = spec.headroom(node, wiring);
        let (reserved, ports) = (policy.reserved(&site), site.ports.len() + site.unused_ports);
        let thresholds = policy.below_thresholds(&site).filter(|_| counts(&site.flow_control));
        let (option, thresholds) = thresholds.unwrap_or_default();
        Need { node, ports, reserved: Bytes(reserved), with_thresholds: Bytes(reserved + thresholds), option }
    });
    let needs: Vec<Need> = needs.collect();
    let most = |by: fn(&Need) -> Bytes| needs.iter().rev().max_by_key(|need| by(need));
    let (Some(most_reserved), Some(most_held)) = (most(|need| need.reserved), most(|need| need.with_thresholds)) else {
        return diagnostics.into_vec();
    };
    let (buffer, name) = (spec.buffer(most_held.node), |need: &Need| &spec.nodes[need.node].name);
    let frame = Bytes(spec.sizes().largest_charge());
    if most_reserved.reserved < frame && buffer < frame {
        diagnostics.error(true, option, format_args!("must be at least {frame}, one full data frame"));
        return diagnostics.into_vec();
    }
    if most_reserved.reserved >= buffer {
        let message = format_args!(
            "must exceed the {} that \"{}\" reserves as headroom and private buffer ({}, {})",
            most_reserved.reserved,
            name(most_reserved),
            counted(most_reserved.ports, "port"),
            counted(classes, "lossless class")
        );
        diagnostics.error(true, option, message);
    } else if most_held.with_thresholds > buffer {
        let message = format_args!(
            "is too large for a buffer of {buffer}: if all {} of \"{}\" reach this threshold, packets may be dropped; \
                needs a buffer of {}",
            counted(most_held.ports, "port"),
            name(most_held),
            most_held.with_thresholds
        );
        let path = path_of(spec, most_held.node, "headroom");
        diagnostics.warning(true, format_args!("{path}.{}", most_held.option), message);
    }
    diagnostics.into_vec()
}

/// Checks that switches treat every class of the traffic as the scenario's author may expect.
pub(super) fn classes(scenario: &Scenario, traffic: &Traffic) -> Vec<Diagnostic> {
    let mut diagnostics = Diagnostics::default();
    let (flow_control, lossless) = (scenario.switch.flow_control.facts(false), &scenario.switch.lossless);
    let of_groups = scenario.groups.iter().filter_map(|group| group.flow_control.as_ref());
    let raising =
        [&scenario.switch.flow_control].into_iter().chain(of_groups).find(|it| it.facts(false).raises_classes);
    let raised = raising.and_then(|it| Some((it.name(), *lossless.iter().min()?)));
    for &(tag, class) in &traffic.classes {
        let tag = &traffic.tags[usize::from(tag)];
        let path = fmt::from_fn(|f| write!(f, "{}.class", part_called(tag, scenario)));
        diagnostics.error(class == Class::CONTROL, &path, "must be from 1 to 7; class 0 is the control class");
        diagnostics.warning(
            class != Class::CONTROL && flow_control.is_lossless && !lossless.contains(&class),
            &path,
            format_args!("class {} of \"{tag}\" is not in switch.lossless, so full buffers drop its packets", class.0),
        );
        if let Some((name, lowest)) = raised {
            let message = format_args!(
                "must be {}, the lowest class of switch.lossless, since {name} moves packets to higher classes",
                lowest.0
            );
            diagnostics.error(class != lowest && lossless.contains(&class), &path, message);
        }
    }
    if let Some((name, lowest)) = raised {
        let class = scenario.host.ack_class;
        let message = format_args!(
            "must be 0 or {}, the lowest class of switch.lossless, since {name} moves packets to higher classes",
            lowest.0
        );
        diagnostics.error(class != lowest && lossless.contains(&class), "host.ack_class", message);
    }
    diagnostics.into_vec()
}

/// Returns the path of the part of the traffic with this tag.
fn part_called(tag: &str, scenario: &Scenario) -> String {
    let part = scenario.traffic.iter().position(|part| part.common().tag == tag);
    part.map_or("traffic".into(), |part| format!("traffic[{part}]"))
}

/// Returns the path of the first listed flow that equals `flow`.
fn entry_of(flow: &FlowSpec, spec: &NetworkSpec, scenario: &Scenario) -> Option<String> {
    let name = |node: &NodeId| &spec.nodes[*node].name;
    let is_it = |it: &FlowConfig| {
        [&it.src, &it.dst] == [name(&flow.src), name(&flow.dst)]
            && it.data_via.iter().eq(flow.data_via().iter().map(name))
            && it.ack_via.iter().eq(flow.ack_via().iter().map(name))
    };
    scenario.traffic.iter().enumerate().find_map(|(part, config)| match config {
        TrafficConfig::Flows(config) => {
            config.flows.iter().position(is_it).map(|i| format!("traffic[{part}].flows[{i}]"))
        }
        _ => None,
    })
}

/// Builds the fabric and checks the listed flows; reports at most one invalid flow of each part.
/// Generated flows need no check: they run between connected hosts, with checked sizes and classes.
pub(super) fn network(scenario: &Scenario, spec: &NetworkSpec, traffic: &Traffic) -> Result<Fabric, Vec<Diagnostic>> {
    let mut fabric = Fabric::new(spec.clone())?;
    let rates = spec.links.iter().map(|link| link.rate);
    let window = rates.map(|rate| scenario.congestion_control.window(&fabric.sender(rate))).min().unwrap_or(u64::MAX);
    if window < u64::from(scenario.host.ack_every - 1) * scenario.network.mtu.get() {
        let message = format!("is too large for the window of {}: no ACK would ever be sent", Bytes(window));
        return Err(vec![Diagnostic::error("host.ack_every", message)]);
    }
    let mut seen = BTreeSet::new();
    let refused = traffic.listed().filter_map(|flow| Some((flow, fabric.check_flow(flow).err()?)));
    let first = refused.filter(|(flow, _)| seen.insert(flow.tag));
    let name = |node: NodeId| &spec.nodes[node].name;
    let diagnostics = first.map(|(flow, error)| {
        let message = format!("the flow from \"{}\" to \"{}\": {}", name(flow.src), name(flow.dst), error.message);
        let entry = entry_of(flow, spec, scenario).filter(|_| !error.path.is_empty());
        let path = entry.map(|entry| format!("{entry}.{}", error.path));
        let part = || part_called(&traffic.tags[usize::from(flow.tag)], scenario);
        Diagnostic::error(path.unwrap_or_else(part), message)
    });
    let diagnostics: Vec<_> = diagnostics.collect();
    if diagnostics.is_empty() { Ok(fabric) } else { Err(diagnostics) }
}
