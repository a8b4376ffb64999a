//! One part of the traffic: collects its flows, notes and errors.

use super::jobs::PlannedJob;
use super::schedule::{InClasses, Listed, Numbered, Schedule, draw};
use super::sizes::{Distribution, FlowSizes};
use super::{Common, LeftOut, MAX_FLOWS, NodeList, Offered, Role, SizesConfig, Traffic, TrafficConfig};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::counted;
use crate::scenario::RunConfig;
use crate::topology::Graph;
use backwater_engine::interrupt;
use backwater_engine::random::{Seed, Stream};
use backwater_engine::{Bytes, Duration, Time};
use backwater_fabric::frame::framing::Framing;
use backwater_fabric::ids::{Class, NodeId};
use backwater_fabric::network::flows::Connections;
use backwater_fabric::network::spec::FlowSpec;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Number of listed flows between two checks for an interruption.
const FLOWS_PER_CHECK: usize = 1 << 10;

/// The environment of all parts.
pub(super) struct Scene<'a> {
    pub(super) graph: &'a Graph,
    pub(super) framing: Framing,
    pub(super) mtu: u64,
    pub(super) seed: Seed,
    pub(super) base_dir: &'a Path,
    pub(super) traffic: &'a [TrafficConfig],
    pub(super) run: &'a RunConfig,
}

impl Scene<'_> {
    /// Returns the node that identifies `host`'s rack.
    pub(super) fn rack(&self, host: NodeId) -> NodeId {
        self.graph.rack(host)
    }

    /// Returns `host` and its rack.
    pub(super) fn racked(&self, host: NodeId) -> (NodeId, NodeId) {
        (host, self.rack(host))
    }
}

/// Properties that the flows of one part share.
#[derive(Clone, Debug)]
pub(super) struct Template {
    class: Class,
    tag: u16,
    /// Hash of the part's name.
    part: u32,
    /// Interval in which flows may start.
    pub(super) window: Range<Time>,
}

impl Template {
    /// Returns a flow that the load balancer routes.
    pub(super) fn flow(&self, src: NodeId, dst: NodeId, bytes: u64, start: Time) -> FlowSpec {
        FlowSpec { class: self.class, start, tag: self.tag, part: self.part, ..FlowSpec::new(src, dst, bytes) }
    }
}

/// One part of the traffic under construction.
pub(super) struct Part<'a> {
    pub(super) scene: &'a Scene<'a>,
    /// Interval in which flows of this part may start.
    pub(super) window: Range<Time>,
    /// Classes of flows without a class of their own.
    classes: Vec<Class>,
    /// Draws the classes of listed flows.
    class_draws: Stream,
    /// Index of the part in the scenario.
    index: usize,
    field: String,
    role: Role,
    /// True if the flows are an incast whose senders are not drawn from a set.
    is_traced: bool,
    tag: (String, u16),
    streams: String,
    made: &'a mut Traffic,
    /// Flows listed one by one.
    listed: Vec<FlowSpec>,
    /// Number of flows that would start after the window.
    late: u64,
    errors: Vec<Diagnostic>,
}

impl<'a> Part<'a> {
    /// Creates part number `index`. `namesakes` earlier parts have the same tag; the second part
    /// with a tag uses the random streams of `tag#1`.
    pub(super) fn new(
        scene: &'a Scene<'a>,
        index: usize,
        namesakes: usize,
        common: &Common<'_>,
        window: Range<Time>,
        made: &'a mut Traffic,
    ) -> Part<'a> {
        let &Common { tag, classes, role, draws_senders, .. } = common;
        let is_traced = role == Role::Incast && !draws_senders;
        let streams = if namesakes == 0 { format!("traffic/{tag}") } else { format!("traffic/{tag}#{namesakes}") };
        let field = format!("traffic[{index}]");
        let tag = (tag.to_owned(), 0);
        let (listed, late, errors) = (Vec::new(), 0, Vec::new());
        let class_draws = scene.seed.stream(&format!("{streams}/classes"), 0);
        let classes = classes.to_vec();
        let mut part = Part {
            scene,
            window,
            classes,
            class_draws,
            index,
            field,
            role,
            is_traced,
            tag,
            streams,
            made,
            listed,
            late,
            errors,
        };
        part.tag.1 = part.tag(&part.tag.0.clone());
        part
    }

    /// Returns the index of the tag `name`.
    pub(super) fn tag(&mut self, name: &str) -> u16 {
        let tags = &mut self.made.tags;
        let index = tags.iter().position(|tag| tag == name).unwrap_or_else(|| {
            tags.push(name.into());
            self.made.roles.push(self.role);
            tags.len() - 1
        });
        if self.made.roles[index] != self.role {
            let message = format!("must equal the role of the earlier part with the tag \"{name}\"");
            self.error(".role", message);
        }
        let Ok(index) = u16::try_from(index) else {
            self.error(".tag", "exceeds the limit of 65536 tags");
            return 0;
        };
        if self.is_traced {
            self.made.traced.insert(index);
        }
        index
    }

    /// Returns the path of an option of this part.
    pub(super) fn field(&self, key: &str) -> String {
        format!("{}{key}", self.field)
    }

    /// Adds an error about an option of this part. `key` begins with a dot.
    pub(super) fn error(&mut self, key: &str, message: impl Into<String>) {
        self.add(Diagnostic::error(self.field(key), message));
    }

    /// Adds an error.
    pub(super) fn add(&mut self, error: Diagnostic) {
        self.errors.push(error);
    }

    /// Returns the value of `result`, or adds its errors.
    pub(super) fn collect_errors<T>(&mut self, result: Result<T, Vec<Diagnostic>>) -> Option<T> {
        result.map_err(|errors| self.errors.extend(errors)).ok()
    }

    /// Adds a warning about the part.
    pub(super) fn warn(&mut self, message: String, hint: &str) {
        self.made.warnings.push(Diagnostic::warning(self.field.clone(), message).hint(hint));
    }

    /// Returns the wire bytes of a flow of `bytes`.
    pub(super) fn wire(&self, bytes: u64) -> u128 {
        self.scene.framing.message(bytes, self.scene.mtu).into()
    }

    /// Records that each of `hosts` sends `wire` bytes on the wire, all of them from `start` on.
    pub(super) fn offer(&mut self, hosts: &[NodeId], wire: u128, start: Time) {
        let part = self.index;
        self.made.offered.extend(hosts.iter().map(|&host| Offered { part, host, start, wire }));
    }

    /// Returns true if the part ends with the traffic, and not before.
    pub(super) fn ends_with_traffic(&self) -> bool {
        self.window.end == self.scene.run.end_of_traffic()
    }

    /// Counts flows that would start after the window, if the window ends with the traffic.
    pub(super) fn leave_out(&mut self, flows: u128, bytes: u128) {
        if self.ends_with_traffic() {
            let LeftOut { flows: all, bytes: sum } = &mut self.made.left_out;
            let most = |count: u128| count.try_into().unwrap_or(u64::MAX);
            (*all, *sum) = (all.saturating_add(most(flows)), sum.saturating_add(most(bytes)));
        }
    }

    /// Adds a note for the user.
    pub(super) fn note(&mut self, text: String) {
        self.made.notes.push(format!("{}: {text}", self.tag.0));
    }

    /// Returns the hosts of a list, or all hosts without a list.
    pub(super) fn hosts(&mut self, key: &str, list: Option<&NodeList>) -> Option<Vec<NodeId>> {
        match list {
            Some(list) => self.collect_errors(list.hosts(&self.field(key), self.scene.graph)),
            None => Some(self.scene.graph.hosts().collect()),
        }
    }

    /// Returns the name of the first host that a list without errors names twice.
    pub(super) fn first_repeated(&self, list: &NodeList) -> Option<&str> {
        list.first_repeated(self.scene.graph).map(|host| self.scene.graph.name(host))
    }

    /// Returns the host called `name`.
    pub(super) fn host(&mut self, key: &str, name: &str) -> Option<NodeId> {
        let host = self.scene.graph.host(&self.field(key), name);
        self.collect_errors(host.map_err(|error| vec![error]))
    }

    /// Returns source and destination of a flow, each given by key and name.
    pub(super) fn endpoints(&mut self, src: (&str, &str), dst: (&str, &str)) -> Option<(NodeId, NodeId)> {
        let (from, to) = (self.host(src.0, src.1), self.host(dst.0, dst.1));
        let (from, to) = (from?, to?);
        if from == to {
            self.error(dst.0, format!("\"{}\" cannot send to itself", src.1));
            return None;
        }
        Some((from, to))
    }

    /// Returns the sampler of sizes and its label.
    pub(super) fn sizes(&mut self, key: &str, config: &SizesConfig) -> Option<(String, Distribution)> {
        let FlowSizes { label, distribution, notes } =
            self.collect_errors(config.resolve(&self.field(key), self.scene.base_dir))?;
        notes.into_iter().for_each(|note| self.note(note));
        Some((label, distribution))
    }

    /// Rejects an empty flow.
    pub(super) fn check_bytes(&mut self, key: &str, bytes: Bytes) {
        if bytes.get() == 0 {
            self.error(key, "must be at least 1 B");
        }
    }

    /// Rejects a load outside (0, 1].
    pub(super) fn check_load(&mut self, load: f64, hint: &str) {
        if !(load > 0.0 && load <= 1.0) {
            let error = Diagnostic::error(self.field(".load"), "must be greater than 0 and at most 1");
            self.add(if load > 1.0 { error.hint(hint) } else { error });
        }
    }

    /// Rejects more flows than a scenario may have. `expected` is the approximate number.
    pub(super) fn check_count(&mut self, expected: f64) {
        if self.made.expected + expected > MAX_FLOWS as f64 {
            let message =
                format!("generates about {expected:.0} flows; all parts together may generate at most {MAX_FLOWS}");
            let hint = "depending on the kind, set an earlier `stop`, a lower `load`, larger flows or fewer hosts";
            self.add(Diagnostic::error(self.field(""), message).hint(hint));
        }
    }

    /// Returns `None` if there is an error, so that expensive steps can be skipped.
    pub(super) fn sound(&self) -> Option<()> {
        self.errors.is_empty().then_some(())
    }

    /// Returns the random stream for one purpose.
    pub(super) fn stream(&self, purpose: &str) -> Stream {
        self.scene.seed.stream(&format!("{}/{purpose}", self.streams), 0)
    }

    /// Returns the random stream for one purpose of one host.
    pub(super) fn host_stream(&self, purpose: &str, host: NodeId) -> Stream {
        self.stream(&format!("{purpose}/{}", self.scene.graph.name(host)))
    }

    /// Returns the length of the window.
    pub(super) fn length(&self) -> Duration {
        self.window.end.since(self.window.start)
    }

    /// Returns the properties that the flows of the part share. If flows draw their classes, the
    /// template has the first of these classes.
    pub(super) fn template(&self) -> Template {
        let part = Seed(0).hash(&self.streams, 0) as u32;
        Template { class: self.class(), tag: self.tag.1, part, window: self.window.clone() }
    }

    /// Returns the class of flows without a class of their own; the first class of the part if
    /// flows draw their classes.
    pub(super) fn class(&self) -> Class {
        self.classes.first().copied().unwrap_or_default()
    }

    /// Returns the template of flows whose tag is the part's, followed by `suffix`.
    pub(super) fn template_called(&mut self, suffix: &str) -> Template {
        let tag = self.tag(&format!("{}{suffix}", self.tag.0));
        Template { tag, ..self.template() }
    }

    /// Returns a flow with the part's class and tag that the load balancer routes.
    pub(super) fn flow(&self, src: NodeId, dst: NodeId, bytes: u64, start: Time) -> FlowSpec {
        self.template().flow(src, dst, bytes, start)
    }

    /// Returns true if each flow draws one of several classes.
    pub(super) fn draws_classes(&self) -> bool {
        self.classes.len() > 1
    }

    /// Returns the number of connections of the jobs so far.
    pub(super) fn declared(&self) -> u64 {
        self.made.jobs.iter().map(|job| u64::from(job.connections.count())).sum()
    }

    /// Returns true if the part's tag is the tag of an earlier job.
    pub(super) fn names_another_job(&self) -> bool {
        self.made.jobs.iter().any(|job| job.tag == self.tag.1)
    }

    /// Adds a job, given its tag and the index of this part.
    pub(super) fn job(&mut self, job: impl FnOnce(u16, usize) -> PlannedJob) {
        self.made.classes.extend(self.classes.iter().map(|class| (self.tag.1, *class)));
        self.made.jobs.push(job(self.tag.1, self.index));
    }

    /// Adds a schedule that generates about `expected` flows.
    pub(super) fn schedule(&mut self, schedule: impl Schedule + 'static, expected: f64) {
        self.made.classes.extend(self.classes.iter().map(|class| (self.tag.1, *class)));
        self.made.expected += expected;
        let is_numbered = schedule.is_numbered();
        let mut schedule: Arc<dyn Schedule> = Arc::new(schedule);
        if !is_numbered {
            schedule = Arc::new(Numbered(schedule));
        }
        if self.classes.len() > 1 {
            schedule = Arc::new(InClasses { schedule, classes: self.classes.clone(), draws: self.stream("classes") });
        }
        self.made.parts.push(schedule);
    }

    /// Lists a flow unless it starts after the window. The flow draws its class if the part has
    /// several classes.
    pub(super) fn push(&mut self, flow: FlowSpec) {
        let class = draw(&self.classes, &mut self.class_draws).unwrap_or(flow.class);
        self.push_as_is(FlowSpec { class, ..flow });
    }

    /// Lists a flow with its own class, unless it starts after the window.
    pub(super) fn push_as_is(&mut self, flow: FlowSpec) {
        if self.listed.len().is_multiple_of(FLOWS_PER_CHECK) {
            interrupt::check();
        }
        if flow.start < self.window.end {
            self.made.classes.insert((flow.tag, flow.class));
            self.listed.push(flow);
        } else {
            self.late += 1;
            self.leave_out(1, if flow.is_endless() { 0 } else { flow.bytes.into() });
        }
    }

    /// Adds the listed flows to the traffic and returns all errors.
    pub(super) fn finish(mut self) -> Vec<Diagnostic> {
        if self.late > 0 {
            let (late, end) = (counted(self.late, "flow"), self.window.end);
            self.note(format!("left out {late} with a start at or after {end}"));
        }
        if !self.listed.is_empty() {
            self.made.expected += self.listed.len() as f64;
            self.made.parts.push(Arc::new(Listed::new(self.listed)));
        }
        self.errors
    }
}
