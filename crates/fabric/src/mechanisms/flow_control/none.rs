//! No flow control: no queue is ever paused, a full buffer drops.

use crate::contract::FlowControl;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No options.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoneConfig {}

/// Nothing to do.
#[derive(Debug)]
pub struct NoFlowControl;

impl FlowControl for NoFlowControl {}
