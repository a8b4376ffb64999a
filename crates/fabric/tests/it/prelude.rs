//! Names that most tests use.

pub(crate) use crate::common;
pub(crate) use crate::common::mechanisms::{FixedRate, Log};
pub(crate) use crate::common::random::{Case, lossless, lossless_at_common_rates, reserved};
pub(crate) use crate::common::script::{Content, Script, Sent};
pub(crate) use crate::common::{
    all_delivered, chain, delivered, drain, drops, find_deadlock, flows_ahead, last_finish, run, run_traced,
    set_error_rate, sorted, via,
};
pub(crate) use backwater_engine::{Bytes, Duration, Rate, Time};
pub(crate) use backwater_fabric::contract::report::{DropCause, Report};
pub(crate) use backwater_fabric::contract::{
    AckView, Choice, CongestionOptions, CongestionPoint, FlowControl, FlowControlAccounts, FlowControlFacts,
    FlowControlOptions, HookSet, LbStat, LoadBalance, LoadBalanceOptions, NotificationPoint, Options, PacketContext,
    PipelineHooks, Pressure, ReactionPoint, RouteRequest, SenderFacts, Site, View,
};
pub(crate) use backwater_fabric::driver::deadlock::Deadlock;
pub(crate) use backwater_fabric::driver::outcome::FlowOutcome;
pub(crate) use backwater_fabric::driver::trace::{TraceSpec, Traced, TracedAction};
pub(crate) use backwater_fabric::fixtures::{self, at_ns, at_us, bcube, flow, leaf_spine, link, linked, star, star_of};
pub(crate) use backwater_fabric::frame::cause::{Cause, Parent};
pub(crate) use backwater_fabric::frame::framing::Framing;
pub(crate) use backwater_fabric::frame::{Cnp, Control, Packet, PacketKind, Protocol, Signal};
pub(crate) use backwater_fabric::ids::{CLASSES, Class, ClassMask, FlowId, NodeId, PortId, PortIx, QueueIx};
pub(crate) use backwater_fabric::mechanisms::congestion::CongestionConfig;
pub(crate) use backwater_fabric::mechanisms::congestion::dcqcn::{DcqcnConfig, DcqcnProfile};
pub(crate) use backwater_fabric::mechanisms::congestion::ecn::EcnOptions;
pub(crate) use backwater_fabric::mechanisms::congestion::srcc::SrccConfig;
pub(crate) use backwater_fabric::mechanisms::flow_control::FlowControlConfig;
pub(crate) use backwater_fabric::mechanisms::flow_control::bfc::BfcConfig;
pub(crate) use backwater_fabric::mechanisms::flow_control::per_flow::PerFlowConfig;
pub(crate) use backwater_fabric::mechanisms::flow_control::pfc::{PauseModel, PfcConfig};
pub(crate) use backwater_fabric::mechanisms::flow_control::pyrrha::{HostReaction, Organisation, PyrrhaConfig};
pub(crate) use backwater_fabric::mechanisms::headroom::HeadroomConfig;
pub(crate) use backwater_fabric::mechanisms::headroom::dsh::DshConfig;
pub(crate) use backwater_fabric::mechanisms::headroom::sih::SihConfig;
pub(crate) use backwater_fabric::mechanisms::headroom::static_threshold::StaticConfig;
pub(crate) use backwater_fabric::mechanisms::load_balance::LoadBalanceConfig;
pub(crate) use backwater_fabric::mechanisms::load_balance::flb::FlbConfig;
pub(crate) use backwater_fabric::mechanisms::load_balance::letflow::LetFlowConfig;
pub(crate) use backwater_fabric::mechanisms::load_balance::spray::SprayConfig;
pub(crate) use backwater_fabric::mechanisms::recovery::RecoveryConfig;
pub(crate) use backwater_fabric::mechanisms::recovery::go_back_n::GoBackNConfig;
pub(crate) use backwater_fabric::mechanisms::recovery::in_any_order::InAnyOrderConfig;
pub(crate) use backwater_fabric::model::node::Node;
pub(crate) use backwater_fabric::network::fabric::{Fabric, Guarantee};
pub(crate) use backwater_fabric::network::spec::{
    FlowSpec, HostScheduler, LinkFault, NetworkSpec, RouteSpec, SchedulerConfig, SwitchGroup,
};
pub(crate) use backwater_fabric::{PauseInterval, Simulation};
pub(crate) use proptest::sample::select;
pub(crate) use proptest::test_runner::TestRunner;
pub(crate) use std::collections::{BTreeMap, BTreeSet};
pub(crate) use std::sync::{Arc, Mutex};
