//! Explicit lists of flows.

use super::config::{CommonConfig, TrafficOptions};
use super::part::Part;
use crate::diagnostic::counted;
use backwater_engine::{Bytes, Duration, Time};
use backwater_fabric::ids::{CLASSES, Class, NodeId};
use backwater_fabric::network::spec::FlowSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An explicit list of flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct FlowsConfig {
    /// Options that all kinds share.
    #[serde(flatten)]
    pub common: CommonConfig,
    /// Flows, in any order.
    pub flows: Vec<FlowConfig>,
}

/// One flow of an explicit list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowConfig {
    /// Sending host.
    pub src: String,
    /// Receiving host.
    pub dst: String,
    /// Payload bytes. Default: endless.
    pub bytes: Option<Bytes>,
    /// Time after the `start` of the list at which the flow becomes ready to send. Default 0 s.
    #[serde(default)]
    pub start: Time,
    /// Traffic class of the data. Default: class of the list.
    pub class: Option<Class>,
    /// Switches and relaying hosts that the data must pass, in order. Default: the load balancer
    /// decides.
    #[serde(default)]
    pub data_via: Vec<String>,
    /// Switches and relaying hosts that the ACKs must pass, in order. Default: the load balancer
    /// decides.
    #[serde(default)]
    pub ack_via: Vec<String>,
}

impl TrafficOptions for FlowsConfig {
    fn generate(&self, part: &mut Part) -> Option<()> {
        for (i, config) in self.flows.iter().enumerate() {
            match config.flow(part, &format!(".flows[{i}]")) {
                Some(flow) if config.class.is_some() => part.push_as_is(flow),
                Some(flow) => part.push(flow),
                None => {}
            }
        }
        if self.flows.is_empty() {
            part.error(".flows", "must not be empty");
        }
        part.note(format!("{} listed", counted(self.flows.len(), "flow")));
        Some(())
    }
}

impl FlowConfig {
    fn flow(&self, part: &mut Part, key: &str) -> Option<FlowSpec> {
        let endpoints = part.endpoints((&format!("{key}.src"), &self.src), (&format!("{key}.dst"), &self.dst));
        let data_via = waypoints(part, &format!("{key}.data_via"), &self.data_via);
        let ack_via = waypoints(part, &format!("{key}.ack_via"), &self.ack_via);
        let bytes = self.bytes.map_or(FlowSpec::ENDLESS, Bytes::get);
        part.check_bytes(&format!("{key}.bytes"), Bytes(bytes));
        let class = self.class.unwrap_or(part.class());
        if usize::from(class.0) >= CLASSES {
            part.error(&format!("{key}.class"), "must be from 0 to 7");
        }
        let start = part.window.start + Duration::from_ps(self.start.ps());
        let (src, dst) = endpoints?;
        let flow = part.flow(src, dst, bytes, start).via(data_via?, ack_via?);
        Some(FlowSpec { class, ..flow })
    }
}

/// Returns the nodes that a flow must pass.
fn waypoints(part: &mut Part, key: &str, names: &[String]) -> Option<Vec<NodeId>> {
    let graph = part.scene.graph;
    let waypoint = |(i, name): (usize, &String)| {
        let found = graph.waypoint(&part.field(&format!("{key}[{i}]")), name);
        part.collect_errors(found.map_err(|error| vec![error]))
    };
    let found: Vec<_> = names.iter().enumerate().map(waypoint).collect();
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;
    use super::*;

    #[test]
    fn listed_flows_keep_all_options() {
        let traffic = "{ kind = \"flows\", start = \"1 us\", tag = \"f\", flows = [\
            { src = \"h0\", dst = \"h4\", bytes = \"250 MB\", start = \"3 us\", class = 2, data_via = [\"leaf0\", \
            \"spine1\"], ack_via = [\"spine0\"] },\
            { src = \"h1\", dst = \"h4\" }, { src = \"h1\", dst = \"h2\", start = \"5 ms\" }] },\
            { kind = \"long-lived\", pairs = [[\"h8\", \"h9\"]], tag = \"f\" }";
        let made = try_on(&fabric(), traffic, 1).unwrap();
        assert_eq!(made.tags, ["f"]);
        assert!(
            made.notes.iter().any(|note| note == "f: left out 1 flow with a start at or after 1 ms"),
            "{:?}",
            made.notes
        );
        let brief: Vec<_> =
            made.flows().map(|flow| (flow.start.ps(), flow.src.0, flow.dst.0, flow.bytes, flow.class.0)).collect();
        let endless = FlowSpec::ENDLESS;
        assert_eq!(brief, [(0, 8, 9, endless, 3), (1_000_000, 1, 4, endless, 3), (4_000_000, 0, 4, 250_000_000, 2)]);
        let name = |node: &NodeId| fabric().name(*node).to_owned();
        assert_eq!(made.flows().nth(2).unwrap().data_via().iter().map(name).collect::<Vec<_>>(), ["leaf0", "spine1"]);
        assert_eq!(made.flows().nth(2).unwrap().ack_via().iter().map(name).collect::<Vec<_>>(), ["spine0"]);
    }

    #[test]
    fn wrong_options_are_rejected() {
        check_rejected(&[
            ("{ kind = \"flows\", flows = [] }", "traffic[0].flows: must not be empty"),
            (
                "{ kind = \"flows\", flows = [{ src = \"h0\", dst = \"h1\", bytes = \"0 B\", class = 9, data_via = \
                 [\"lef0\"], ack_via = [\"h3\"] }] }",
                "traffic[0].flows[0].data_via[0]: there is no switch or relay \"lef0\"; did you mean \"leaf0\"?\n\
                 traffic[0].flows[0].ack_via[0]: \
             \"h3\" is a host, not a switch or relay\ntraffic[0].flows[0].bytes: must be at least 1 \
             B\ntraffic[0].flows[0].class: must be from 0 to 7",
            ),
        ]);
    }
}
