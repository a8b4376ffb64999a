//! No congestion control: line rate, held back by flow control alone.

use crate::slots::{CongestionPoint, NotificationPoint, ReactionPoint};
use backwater_engine::{Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoneConfig {}

/// Marks nothing, reports nothing.
#[derive(Debug)]
pub struct NoCongestionControl;

impl CongestionPoint for NoCongestionControl {}
impl NotificationPoint for NoCongestionControl {}

/// Sends at line rate.
#[derive(Debug)]
pub struct LineRate(pub Rate);

impl ReactionPoint for LineRate {
    fn rate(&mut self, _now: Time) -> Rate {
        self.0
    }
}
