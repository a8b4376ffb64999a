//! One part of the traffic being made: where its flows, notes and errors go.

use super::schedule::{InClasses, Listed, Schedule, draw};
use super::sizes::{Distribution, Sizes};
use super::{Common, MAX_FLOWS, NodeList, Role, SizesConfig, Traffic, TrafficConfig};
use crate::diagnostic::counted;
use crate::topology::{BuildError, Graph};
use backwater_engine::random::{Seed, Stream};
use backwater_engine::{Duration, Time};
use backwater_fabric::frame::framing::Framing;
use backwater_fabric::ids::{Class, NodeId};
use backwater_fabric::network::spec::FlowSpec;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// What all parts see.
pub(super) struct Scene<'a> {
    pub(super) graph: &'a Graph,
    pub(super) framing: Framing,
    pub(super) mtu: u64,
    pub(super) seed: Seed,
    pub(super) base_dir: &'a Path,
    pub(super) traffic: &'a [TrafficConfig],
}

impl Scene<'_> {
    /// What names the rack of `host`.
    pub(super) fn rack(&self, host: NodeId) -> NodeId {
        self.graph.rack(host)
    }

    /// `host` and its rack.
    pub(super) fn racked(&self, host: NodeId) -> (NodeId, NodeId) {
        (host, self.rack(host))
    }
}

/// What the flows of one part have in common.
#[derive(Clone, Debug)]
pub(super) struct Template {
    class: Class,
    tag: u16,
    /// When flows may start.
    pub(super) window: Range<Time>,
}

impl Template {
    /// A flow that the load balancer routes.
    pub(super) fn flow(&self, src: NodeId, dst: NodeId, bytes: u64, start: Time) -> FlowSpec {
        let (data_via, ack_via) = (Vec::new(), Vec::new());
        FlowSpec { src, dst, bytes, class: self.class, start, tag: self.tag, data_via, ack_via }
    }
}

/// One part of the traffic being made.
pub(super) struct Part<'a> {
    pub(super) scene: &'a Scene<'a>,
    /// When flows of this part may start.
    pub(super) window: Range<Time>,
    /// The classes of which flows have one that do not say otherwise.
    classes: Vec<Class>,
    /// Draws the classes of flows that are listed.
    class_draws: Stream,
    field: String,
    role: Role,
    /// Whether its flows are an incast and are taken one by one.
    is_traced: bool,
    tag: (String, u16),
    streams: String,
    made: &'a mut Traffic,
    /// Flows that are listed one by one.
    listed: Vec<FlowSpec>,
    late: u64,
    errors: Vec<BuildError>,
}

impl<'a> Part<'a> {
    /// The part number `index`, before which there are `namesakes` of the same tag: the second one's random streams are those of `tag#1`.
    pub(super) fn new(
        scene: &'a Scene<'a>,
        index: usize,
        namesakes: usize,
        common: &Common<'_>,
        window: Range<Time>,
        made: &'a mut Traffic,
    ) -> Part<'a> {
        let &Common { tag, classes, role, is_fan, .. } = common;
        let is_traced = role == Role::Incast && !is_fan;
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

    /// The index of the tag `name`.
    pub(super) fn tag(&mut self, name: &str) -> u16 {
        let tags = &mut self.made.tags;
        let index = tags.iter().position(|tag| tag == name).unwrap_or_else(|| {
            tags.push(name.into());
            self.made.roles.push(self.role);
            tags.len() - 1
        });
        if self.made.roles[index] != self.role {
            let message = format!("differs from that of an earlier part with the tag \"{name}\"");
            self.refuse(".role", message);
        }
        let Ok(index) = u16::try_from(index) else {
            self.refuse(".tag", "there are more than 65536 tags".into());
            return 0;
        };
        if self.is_traced {
            self.made.traced.insert(index);
        }
        index
    }

    /// The path of a field of this part.
    pub(super) fn field(&self, key: &str) -> String {
        format!("{}{key}", self.field)
    }

    /// Keeps an error of this part; `key` is a path that begins with a dot.
    pub(super) fn refuse(&mut self, key: &str, message: String) {
        self.error(BuildError::new(self.field(key), message));
    }

    /// Keeps an error.
    pub(super) fn error(&mut self, error: BuildError) {
        self.errors.push(error);
    }

    fn keep<T>(&mut self, result: Result<T, Vec<BuildError>>) -> Option<T> {
        result.map_err(|errors| self.errors.extend(errors)).ok()
    }

    /// Keeps a note for the reader.
    pub(super) fn note(&mut self, text: String) {
        self.made.notes.push(format!("{}: {text}", self.tag.0));
    }

    /// The hosts of a list; all without one.
    pub(super) fn hosts(&mut self, key: &str, list: Option<&NodeList>) -> Option<Vec<NodeId>> {
        match list {
            Some(list) => self.keep(list.hosts(&self.field(key), self.scene.graph)),
            None => Some(self.scene.graph.hosts().collect()),
        }
    }

    /// The host called `name`.
    pub(super) fn host(&mut self, key: &str, name: &str) -> Option<NodeId> {
        let host = self.scene.graph.host(&self.field(key), name);
        self.keep(host.map_err(|error| vec![error]))
    }

    /// The sampler of sizes and its label.
    pub(super) fn sizes(&mut self, key: &str, config: &SizesConfig) -> Option<(String, Distribution)> {
        let Sizes { label, distribution, notes } = self.keep(config.resolve(&self.field(key), self.scene.base_dir))?;
        notes.into_iter().for_each(|note| self.note(note));
        Some((label, distribution))
    }

    /// Refuses a load that is not in (0, 1].
    pub(super) fn check_load(&mut self, load: f64, hint: &str) {
        if !(load > 0.0 && load <= 1.0) {
            let error = BuildError::new(self.field(".load"), format!("is {load}, must be above 0 and at most 1"));
            self.error(if load > 1.0 { error.hint(hint) } else { error });
        }
    }

    /// Refuses to make more flows than a run may have; `expected` is how many there will be, about.
    pub(super) fn check_count(&mut self, expected: f64) {
        if self.made.expected + expected > MAX_FLOWS as f64 {
            let message = format!("asks for about {expected:.0} flows; a scenario has at most {MAX_FLOWS}");
            let hint = "shorten it with `stop`, lower its load, or choose larger flows";
            self.error(BuildError::new(self.field(""), message).hint(hint));
        }
    }

    /// Whether nothing is wrong so far: what comes next may be expensive.
    pub(super) fn sound(&self) -> Option<()> {
        self.errors.is_empty().then_some(())
    }

    /// The random stream for one purpose.
    pub(super) fn stream(&self, purpose: &str) -> Stream {
        self.scene.seed.stream(&format!("{}/{purpose}", self.streams), 0)
    }

    /// The random stream for one purpose of one host.
    pub(super) fn host_stream(&self, purpose: &str, host: NodeId) -> Stream {
        self.stream(&format!("{purpose}/{}", self.scene.graph.name(host)))
    }

    /// The length of the window.
    pub(super) fn length(&self) -> Duration {
        self.window.end.since(self.window.start)
    }

    /// What the flows of the part have in common: but for the class, where they draw one.
    pub(super) fn template(&self) -> Template {
        Template { class: self.class(), tag: self.tag.1, window: self.window.clone() }
    }

    /// The class of flows that do not say otherwise; the first, where they draw one.
    pub(super) fn class(&self) -> Class {
        self.classes.first().copied().unwrap_or_default()
    }

    /// The same for flows whose tag is the part's followed by `suffix`.
    pub(super) fn template_called(&mut self, suffix: &str) -> Template {
        let tag = self.tag(&format!("{}{suffix}", self.tag.0));
        Template { tag, ..self.template() }
    }

    /// A flow with the part's class and tag that the load balancer routes.
    pub(super) fn flow(&self, src: NodeId, dst: NodeId, bytes: u64, start: Time) -> FlowSpec {
        self.template().flow(src, dst, bytes, start)
    }

    /// Leaves the flows to `schedule`, which will make about `expected` of them.
    pub(super) fn schedule(&mut self, schedule: impl Schedule + 'static, expected: f64) {
        self.made.classes.extend(self.classes.iter().map(|class| (self.tag.1, *class)));
        self.made.expected += expected;
        let mut schedule: Arc<dyn Schedule> = Arc::new(schedule);
        if self.classes.len() > 1 {
            schedule = Arc::new(InClasses { schedule, classes: self.classes.clone(), draws: self.stream("classes") });
        }
        self.made.parts.push(schedule);
    }

    /// Lists a flow, which draws its class where there are several, unless it starts after the window.
    pub(super) fn push(&mut self, flow: FlowSpec) {
        let class = draw(&self.classes, &mut self.class_draws).unwrap_or(flow.class);
        self.push_as_is(FlowSpec { class, ..flow });
    }

    /// Lists a flow with the class that it has, unless it starts after the window.
    pub(super) fn push_as_is(&mut self, flow: FlowSpec) {
        if flow.start < self.window.end {
            self.made.classes.insert((flow.tag, flow.class));
            self.listed.push(flow);
        } else {
            self.late += 1;
        }
    }

    /// What was wrong.
    pub(super) fn finish(mut self) -> Vec<BuildError> {
        if self.late > 0 {
            let (late, end) = (counted(self.late, "flow"), self.window.end);
            self.note(format!("{late} left out that would start at {end} or later"));
        }
        if !self.listed.is_empty() {
            self.made.expected += self.listed.len() as f64;
            self.listed.sort_by_key(|flow| flow.start);
            self.made.parts.push(Arc::new(Listed(self.listed)));
        }
        self.errors
    }
}
