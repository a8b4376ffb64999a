//! Converts the inputs of an HPCC-family simulator to a scenario.
//!
//! The scenario refers to the original files. It contains the options of `config.txt` and the
//! constants of the simulator. These are frame sizes, buffer rules, and Go-Back-N with at most one
//! NACK per 500 us and without timeout. The buffer rules are a headroom of 3 C D per port, 4096 B
//! of private buffer, an alpha of 1/8 that grows with the rate of a port, and 3 KiB between PAUSE
//! and RESUME.

use super::config::{Config, SHARE, share};
use super::text::decimal;
use super::{HpccFlows, TopologyDialect, in_file, read_flows, read_text, read_topology};
use crate::diagnostic::{Diagnostic, counted};
use crate::topology::Graph;
use crate::workload::FlowDialect;
use backwater_engine::{Bytes, Duration, Rate, Time};
use backwater_fabric::ids::{Class, NodeId};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// A scenario converted from files of another simulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    /// Scenario file, with the notes as comments at the top.
    pub toml: String,
    /// Notes for the user: ignored or reinterpreted options.
    pub notes: Vec<String>,
}

/// Start of traffic in files of the family's generators, which is time zero of the scenario.
const BASE: Time = Time::from_ps(2_000_000_000_000);
const MICROSECOND: u64 = 1_000_000;

/// One file of the simulator.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Name in errors.
    pub name: &'a str,
    /// Path in the scenario.
    pub path: &'a str,
    /// Contents.
    pub text: &'a str,
}

/// Reads and converts the three files. Paths in the scenario are relative to `directory`, in which
/// the scenario will be stored.
///
/// # Errors
/// All errors, each with file, line and column.
pub fn convert(
    topology: &Path,
    flows: &Path,
    config: Option<&Path>,
    directory: &Path,
) -> Result<Converted, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let mut file = |path: &Path| {
        let text = read_text(path).map_err(|error| errors.push(error)).unwrap_or_default();
        (path.display().to_string(), relative(path, directory), text)
    };
    let (topology, flows, config) = (file(topology), file(flows), config.map(&mut file));
    fn source((name, path, text): &(String, String, String)) -> Source<'_> {
        Source { name, path, text }
    }
    if errors.is_empty() {
        convert_texts(source(&topology), source(&flows), config.as_ref().map(source))
    } else {
        Err(errors)
    }
}

/// Converts the three files.
///
/// # Errors
/// All errors, each with file, line and column.
pub fn convert_texts(
    topology: Source<'_>,
    flows: Source<'_>,
    config: Option<Source<'_>>,
) -> Result<Converted, Vec<Diagnostic>> {
    let file = read_topology(topology.text, topology.name);
    let dialect = match &file {
        Ok(file) if file.dialect == TopologyDialect::Pyrrha => Some(FlowDialect::Pyrrha),
        _ => None,
    };
    let graph = file.and_then(|file| {
        let whole_file = |message: String| in_file(topology.name, 1, 1, message);
        Graph::new(file.nodes, file.links, file.notes)
            .map_err(|errors| errors.into_iter().map(|error| whole_file(error.message)).collect())
    });
    let traffic = read_flows(flows.text, flows.name, dialect);
    let (graph, traffic) = match (graph, traffic) {
        (Ok(graph), Ok(traffic)) => (graph, traffic),
        (graph, traffic) => return Err(graph.err().into_iter().chain(traffic.err()).flatten().collect()),
    };
    let mut errors = traffic.check(&graph);

    let notes = graph.notes.iter().chain(&traffic.notes).cloned().collect();
    let (name, text) = config.map_or(("", ""), |config| (config.name, config.text));
    let mut translation = Translation {
        graph: &graph,
        traffic: &traffic,
        config: Config::read(text, name),
        toml: Toml::default(),
        notes,
    };
    translation.write(topology.path, flows.path);
    let Translation { config: rest, toml, mut notes, .. } = translation;
    let (unused, wrong) = rest.finish();
    errors.extend(wrong);
    if !unused.is_empty() {
        notes.push(format!("ignored keys, which have no effect in Backwater: {}", unused.join(", ")));
    }
    if config.is_none() {
        notes.push(
            "no config.txt: DCQCN has the default parameters of the HPCC simulators, and switches have Backwater's \
                default buffer"
                .into(),
        );
    }
    if errors.is_empty() { Ok(Converted { toml: toml.finish(&notes), notes }) } else { Err(errors) }
}

/// A conversion in progress.
struct Translation<'a> {
    graph: &'a Graph,
    traffic: &'a HpccFlows,
    config: Config<'a>,
    toml: Toml,
    notes: Vec<String>,
}

impl Translation<'_> {
    fn write(&mut self, topology: &str, flows: &str) {
        let offset = self.run();
        self.topology(topology, offset);
        self.toml.section("network");
        self.toml.quoted("framing", "hpcc-ns3");
        let payload = self.config.integer("PACKET_PAYLOAD_SIZE", 1, 9000).unwrap_or(1000);
        self.toml.quoted("mtu", Bytes(payload.into()));
        let classes = self.classes();
        self.switch(&classes);
        self.host(&classes);
        self.congestion_control();
        self.load_balance();
        self.toml.section("recovery");
        self.toml.quoted("kind", "go-back-n");
        self.toml.quoted("nack_interval", Duration::from_us(500));
        self.toml.quoted("timeout", "0 s");
        self.neutral("L2_BACK_TO_ZERO", 0, "retransmission starts at the lost packet, not at the start of its chunk");
        self.traffic(flows, offset);
    }

    /// Writes `run.until` and `run.drain`. Returns the time in the files that is time zero of the
    /// scenario.
    fn run(&mut self) -> Time {
        let starts = || self.traffic.flows.iter().map(|flow| flow.start);
        let (first, last) = (starts().min().unwrap_or(BASE), starts().max().unwrap_or(BASE));
        let offset = if first < BASE { Time::ZERO } else { BASE };
        let until = (last.since(offset).ps() / MICROSECOND + 1) * MICROSECOND;
        let stop = self.config.seconds("SIMULATOR_STOP_TIME").map(|stop| stop.ps().saturating_sub(offset.ps()));
        if let Some(stop) = stop.filter(|stop| *stop <= last.since(offset).ps()) {
            let late = starts().filter(|start| start.since(offset).ps() >= stop).count();
            let late = counted(late, "flow");
            self.notes.push(format!("left out {late} with a start at or after SIMULATOR_STOP_TIME"));
        }
        let until = stop.map_or(until, |stop| until.min(stop));
        self.toml.section("run");
        self.toml.quoted("until", Duration::from_ps(until));
        if let Some(stop) = stop {
            self.toml.quoted("drain", Duration::from_ps(stop - until));
        }
        offset
    }

    fn topology(&mut self, path: &str, offset: Time) {
        self.toml.section("topology");
        self.toml.quoted("kind", "file");
        self.toml.quoted("format", "hpcc");
        self.toml.quoted("path", path);
        if let Some(error_rate) = self.config.share("ERROR_RATE_PER_LINK").filter(|share| *share > 0.0) {
            self.toml.set("error_rate", format!("{error_rate:?}"));
        }
        let Some((after, a, b)) = self.config.link_down() else { return };
        let joined = |node: &u32| *node < self.graph.nodes.len() as u32;
        let found = [a, b].iter().all(joined) && self.graph.ports(NodeId(a)).iter().any(|(peer, _)| peer.0 == b);
        if !found {
            self.config.refuse("LINK_DOWN", format!("there is no link between the nodes {a} and {b}"));
            return;
        }
        let down = BASE.since(offset) + after;
        let [a, b] = [a, b].map(|node| self.graph.name(NodeId(node)));
        self.toml.array("faults");
        self.toml.set("link", format!("[\"{a}\", \"{b}\"]"));
        self.toml.quoted("down", down);
    }

    /// Returns the traffic classes of the flows.
    fn classes(&mut self) -> BTreeSet<Class> {
        let mut classes: BTreeSet<_> = self.traffic.flows.iter().map(|flow| flow.pg.unwrap_or(DATA)).collect();
        if classes.remove(&Class::CONTROL) {
            self.notes.push(
                "priority group 0 is the control class in Backwater: its packets are never paused and take no \
                    buffer space"
                    .into(),
            );
        }
        if classes.is_empty() {
            classes.insert(DATA);
        }
        if classes.len() > 1 {
            self.notes.push(
                "several priority groups: every port reserves headroom and private buffer for each of them".into(),
            );
        }
        classes
    }

    fn switch(&mut self, classes: &BTreeSet<Class>) {
        self.toml.section("switch");
        if let Some(mebibytes) = self.config.integer("BUFFER_SIZE", 1, 1 << 20) {
            self.toml.quoted("buffer", Bytes(u64::from(mebibytes) << 20));
        }
        let classes: Vec<_> = classes.iter().map(|class| class.0).collect();
        self.toml.set("lossless", format!("{classes:?}"));
        self.toml.set("scheduler", "{ kind = \"round-robin\" }");
        let kind = if self.config.flag("ENABLE_PFC").unwrap_or(true) { "pfc" } else { "none" };
        self.toml.set("flow_control", format!("{{ kind = \"{kind}\" }}"));
        self.neutral("USE_DYNAMIC_PFC_THRESHOLD", 1, "the PFC threshold is always dynamic");

        self.toml.section("switch.headroom");
        self.toml.quoted("kind", "sih");
        self.toml.set("alpha", 0.125);
        let nic = self.graph.hosts().next().map(|host| self.graph.links[self.graph.ports(host)[0].1].rate);
        nic.into_iter().for_each(|rate| self.toml.quoted("alpha_rate", rate));
        self.toml.quoted("private", Bytes(4096));
        let headrooms: BTreeSet<_> = self.switch_links().map(|link| Bytes(headroom(link.rate, link.delay))).collect();
        if let Some(&most) = headrooms.last() {
            self.toml.quoted("headroom", most);
            if headrooms.len() > 1 {
                self.notes
                    .push(format!("links differ: every port has the largest headroom that any port needs, {most}"));
            }
        }
        self.toml.quoted("resume_offset", Bytes(3072));
    }

    fn host(&mut self, classes: &BTreeSet<Class>) {
        self.toml.section("host");
        if let Some(every) = self.config.integer("L2_ACK_INTERVAL", 1, u32::MAX) {
            self.toml.set("ack_every", every);
        }
        let ahead = self.config.flag("ACK_HIGH_PRIO").unwrap_or(false);
        let class = if ahead { Class::CONTROL } else { classes.first().copied().unwrap_or(DATA) };
        self.toml.set("ack_class", class.0);
        self.neutral("RATE_BOUND", 1, "hosts always pace each flow at its rate");
    }

    fn congestion_control(&mut self) {
        let marking = self.config.flag("ENABLE_QCN").unwrap_or(true);
        let mode = self.config.integer("CC_MODE", 0, u32::MAX).unwrap_or(1);
        self.toml.section("congestion_control");
        match mode {
            1 if marking => self.dcqcn(),
            1 => {
                self.toml.quoted("kind", "none");
                if self.has_window() {
                    self.toml.quoted("window", "bdp");
                }
            }
            3 => self.hpcc(),
            7 => self.timely(),
            _ => {
                let name = match mode {
                    8 => " (DCTCP)",
                    10 => " (HPCC-PINT)",
                    _ => "",
                };
                let known = "expected 1 (DCQCN), 3 (HPCC) or 7 (TIMELY)";
                self.config.refuse("CC_MODE", format!("CC_MODE {mode}{name} is not supported; {known}"));
            }
        }
    }

    /// True if bytes in flight are limited. The window follows the rate and the longest base RTT.
    fn has_window(&mut self) -> bool {
        let window = self.config.flag("HAS_WIN").unwrap_or(false);
        if window {
            self.neutral("VAR_WIN", 1, "the window is always proportional to the rate");
            self.neutral("GLOBAL_T", 1, "the window always follows from the longest base RTT");
        }
        self.config.pass_over(&["VAR_WIN", "GLOBAL_T"]);
        window
    }

    fn timely(&mut self) {
        self.toml.quoted("kind", "timely");
        for (key, field) in [("RATE_AI", "additive_increase"), ("RATE_HAI", "hyper_increase"), ("MIN_RATE", "min_rate")]
        {
            let value = self.config.rate(key);
            self.toml.maybe_quoted(field, value);
        }
        let window = self.has_window();
        self.toml.set("window", window);
    }

    fn dcqcn(&mut self) {
        self.toml.quoted("kind", "dcqcn");
        self.toml.quoted("profile", "config-txt");
        for (key, field) in [
            ("ALPHA_RESUME_INTERVAL", "alpha_interval"),
            ("RATE_DECREASE_INTERVAL", "decrease_interval"),
            ("RP_TIMER", "increase_interval"),
        ] {
            let value = self.config.microseconds(key);
            self.toml.maybe_quoted(field, value);
        }
        for (key, field) in [("RATE_AI", "additive_increase"), ("RATE_HAI", "hyper_increase"), ("MIN_RATE", "min_rate")]
        {
            let value = self.config.rate(key);
            self.toml.maybe_quoted(field, value);
        }
        if let Some(gain) = self.config.share("EWMA_GAIN") {
            self.toml.set("gain", format!("{gain:?}"));
        }
        if let Some(steps) = self.config.integer("FAST_RECOVERY_TIMES", 0, u32::MAX) {
            self.toml.set("fast_recovery_steps", steps);
        }
        if let Some(clamp) = self.config.flag("CLAMP_TARGET_RATE") {
            self.toml.set("clamp_target", clamp);
        }
        let window = self.has_window();
        self.toml.set("window", window);
        self.ecn();
    }

    fn hpcc(&mut self) {
        self.toml.quoted("kind", "hpcc");
        self.toml.quoted("rate_code", "hpcc-ns3");
        if let Some(eta) = self.config.share("U_TARGET") {
            self.toml.set("eta", format!("{eta:?}"));
        }
        if let Some(stage) = self.config.integer("MI_THRESH", 0, u32::MAX) {
            self.toml.set("max_stage", stage);
        }
        for (key, field) in [("RATE_AI", "additive_increase"), ("MIN_RATE", "min_rate")] {
            let value = self.config.rate(key);
            self.toml.maybe_quoted(field, value);
        }
        self.neutral("HAS_WIN", 1, "an HPCC sender always limits its bytes in flight by a window");
        self.neutral("VAR_WIN", 1, "the window is always proportional to the rate");
        self.neutral("GLOBAL_T", 1, "HPCC's T is always the longest base RTT of any pair of hosts");
        self.neutral("FAST_REACT", 1, "an HPCC sender reacts to every ACK");
        self.neutral("MULTI_RATE", 0, "an HPCC sender computes one rate, not one per hop");
        self.neutral("SAMPLE_FEEDBACK", 0, "every ACK carries telemetry");
        self.config.pass_over(&["INT_MULTI"]);
    }

    /// Converts the ECN thresholds, which the file gives in KB of 1000 B per link rate. A scenario
    /// has one pair of thresholds, fixed or in proportion to the rate of a port.
    fn ecn(&mut self) {
        let expected = "a number of KB";
        let read = |text: &str| decimal(text, 3);
        let kmin = self.config.by_rate("KMIN_MAP", expected, read);
        let kmax = self.config.by_rate("KMAX_MAP", expected, read);
        let pmax = self.config.by_rate("PMAX_MAP", SHARE, share);
        let (Some(kmin), Some(kmax), Some(pmax)) = (kmin, kmax, pmax) else { return };
        let rates: BTreeSet<_> = self.switch_links().map(|link| link.rate).collect();
        let mut found = Vec::new();
        for &rate in &rates {
            let missing = |key: &str, has: bool| (!has).then(|| key.to_owned());
            let missing = [
                missing("KMIN_MAP", kmin.contains_key(&rate)),
                missing("KMAX_MAP", kmax.contains_key(&rate)),
                missing("PMAX_MAP", pmax.contains_key(&rate)),
            ];
            for key in missing.iter().flatten() {
                self.config.refuse(key, format!("{key} has no entry for the link rate {rate}"));
            }
            if missing.iter().all(Option::is_none) {
                found.push((rate, kmin[&rate], kmax[&rate], pmax[&rate]));
            }
        }
        let Some(&(rate, kmin, kmax, pmax)) = found.first() else { return };
        if kmin > kmax {
            self.config.refuse("KMIN_MAP", format!("Kmin {} is above Kmax {}", kilobytes(kmin), kilobytes(kmax)));
        }
        let scaled = |k: u64, other: Rate| u128::from(k) * u128::from(other.bps()) / u128::from(rate.bps());
        let fixed = found.iter().all(|entry| (entry.1, entry.2) == (kmin, kmax));
        let in_proportion = found.iter().all(|&(other, min, max, _)| {
            (u128::from(min), u128::from(max)) == (scaled(kmin, other), scaled(kmax, other))
        });
        if !fixed && !in_proportion || found.iter().any(|entry| entry.3 != pmax) {
            let adapted = if fixed { "" } else { ", with Kmin and Kmax in proportion to the rate" };
            self.notes.push(format!(
                "a scenario cannot express how KMIN_MAP, KMAX_MAP and PMAX_MAP depend on the link rate: all rates use \
                    the entries of {rate}{adapted}"
            ));
        }
        self.toml.section("congestion_control.ecn");
        self.toml.quoted("kmin", kilobytes(kmin));
        self.toml.quoted("kmax", kilobytes(kmax));
        self.toml.set("pmax", format!("{pmax:?}"));
        if !fixed {
            self.toml.quoted("rate", rate);
        }
    }

    fn load_balance(&mut self) {
        self.toml.section("load_balance");
        self.toml.quoted("kind", "ecmp");
        if let Some(mode @ 1..) = self.config.integer("LB_MODE", 0, u32::MAX) {
            self.config.refuse("LB_MODE", format!("LB_MODE {mode} is not supported; expected 0 (ECMP)"));
        }
        if self.config.flag("ENABLE_IRN") == Some(true) {
            self.config.refuse("ENABLE_IRN", "IRN is not supported; expected 0".into());
        }
    }

    fn traffic(&mut self, path: &str, offset: Time) {
        self.toml.array("traffic");
        self.toml.quoted("kind", "hpcc-flows");
        self.toml.quoted("path", path);
        if self.traffic.dialect == FlowDialect::Pyrrha {
            self.toml.quoted("dialect", "pyrrha");
        }
        self.toml.quoted("offset", if offset == BASE { "2 s" } else { "0 s" });
        if self.traffic.flows.iter().any(|flow| flow.dport == Some(200)) {
            self.toml.set("port_tags", "{ 200 = \"incast\" }");
        }
    }

    /// Adds a note if `key` does not have the value `value`. `here` describes the behaviour of the
    /// model.
    fn neutral(&mut self, key: &str, value: u32, here: &str) {
        if let Some(other) = self.config.integer(key, 0, u32::MAX).filter(|other| *other != value) {
            self.notes.push(format!("{key} {other} is not supported: in Backwater, {here}"));
        }
    }

    fn switch_links(&self) -> impl Iterator<Item = &backwater_fabric::network::spec::LinkSpec> {
        self.graph.links.iter().filter(|link| !(self.graph.is_host(link.a) && self.graph.is_host(link.b)))
    }
}

/// Class of the data if the flow file gives none.
const DATA: Class = Class(3);

/// Returns HPCC's headroom of a port: three times C D, where C D is first rounded down to whole
/// bytes.
fn headroom(rate: Rate, delay: Duration) -> u64 {
    3 * rate.bytes_in(delay)
}

/// Returns an ECN threshold in the unit of `config.txt`.
fn kilobytes(bytes: u64) -> String {
    if bytes.is_multiple_of(1000) { format!("{} KB", bytes / 1000) } else { Bytes(bytes).to_string() }
}

/// Returns `path` relative to `directory`, with `/` between its parts; unchanged if the two have no
/// common ancestor.
fn relative(path: &Path, directory: &Path) -> String {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let seen = || {
        let (path, directory) = (path.canonicalize().ok()?, directory.canonicalize().ok()?);
        let shared = path.components().zip(directory.components()).take_while(|(a, b)| a == b).count();
        let up = directory.components().skip(shared).map(|_| Path::new(".."));
        let down = path.components().skip(shared).map(|part| Path::new(part.as_os_str()).to_owned());
        (shared > 1).then(|| up.map(Path::to_owned).chain(down).collect::<PathBuf>())
    };
    let path = seen().unwrap_or_else(|| path.to_owned());
    path.display().to_string().replace('\\', "/")
}

/// A TOML file under construction.
#[derive(Default)]
struct Toml(String);

impl Toml {
    fn section(&mut self, name: &str) {
        self.0 += &format!("\n[{name}]\n");
    }

    fn array(&mut self, name: &str) {
        self.0 += &format!("\n[[{name}]]\n");
    }

    fn set(&mut self, key: &str, value: impl Display) {
        self.0 += &format!("{key} = {value}\n");
    }

    fn quoted(&mut self, key: &str, value: impl Display) {
        self.set(key, toml::Value::String(value.to_string()));
    }

    fn maybe_quoted(&mut self, key: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.quoted(key, value);
        }
    }

    fn finish(self, notes: &[String]) -> String {
        let mut head = "# Converted from files of an HPCC-family simulator.\n".to_owned();
        for note in notes {
            head += &format!("# - {}\n", note.replace(char::is_control, " "));
        }
        head + &self.0
    }
}
