//! No flow control: no queue is ever paused, and a full buffer drops packets.

use crate::contract::{
    FlowControl, FlowControlAccounts, FlowControlFacts, FlowControlOptions, Options, PacketContext, Pressure, Site,
};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No flow control: a full buffer drops packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoneConfig {}

/// Flow control without actions.
#[derive(Debug, GetSize)]
pub struct NoFlowControl;

impl Options for NoneConfig {}

impl FlowControlOptions for NoneConfig {
    type Instance = NoFlowControl;

    fn facts(&self, _is_host: bool) -> FlowControlFacts {
        FlowControlFacts::default()
    }

    fn build(&self, _site: &Site<'_>) -> NoFlowControl {
        NoFlowControl
    }
}

impl FlowControl for NoFlowControl {
    fn follows_flows(&self) -> bool {
        false
    }

    fn count_enqueue(&mut self, _packet: &PacketContext<'_>, _pressure: Pressure) -> bool {
        false
    }

    fn count_dequeue(&mut self, _packet: &PacketContext<'_>) -> bool {
        false
    }
}

impl FlowControlAccounts for NoFlowControl {}
