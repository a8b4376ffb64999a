//! All names in the signatures of the slot traits. The generated code that dispatches calls to
//! mechanisms needs these names.

pub(crate) use crate::contract::accounts::*;
pub(crate) use crate::contract::congestion::*;
pub(crate) use crate::contract::facts::*;
pub(crate) use crate::contract::flow_control::*;
pub(crate) use crate::contract::hash::*;
pub(crate) use crate::contract::headroom::*;
pub(crate) use crate::contract::hooks::*;
pub(crate) use crate::contract::load_balance::*;
pub(crate) use crate::contract::packet::*;
pub(crate) use crate::contract::recovery::*;
pub(crate) use crate::contract::view::*;
pub(crate) use crate::frame::cause::Causes;
pub(crate) use crate::frame::{Cnp, Control, Notice, Psn};
pub(crate) use crate::ids::{CLASSES, Class, FlowId, PortIx, QueueIx};
pub(crate) use backwater_engine::{Duration, Rate, Time};
