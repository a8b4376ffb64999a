//! The contract between the model and the mechanisms: what a mechanism may see and do. Read this first.
//!
//! A scheme is a choice of one mechanism per slot. The model owns the pipeline and calls the hooks of the traits below; it never asks which
//! mechanism it is talking to. Hooks that a mechanism does not need have empty defaults.
//!
//! | slot | trait | instance |
//! |---|---|---|
//! | flow control | [`FlowControl`] | one per node |
//! | headroom | [`BufferPolicy`] | one per switch |
//! | congestion control | [`CongestionPoint`], [`NotificationPoint`], [`ReactionPoint`] | per switch, per flow at its receiver, per flow at its sender |
//! | load balancing | [`LoadBalance`], [`PathChoice`] | one per switch, per flow at its sender where hosts choose paths |
//! | loss recovery | [`RecoverySender`], [`RecoveryReceiver`] | per flow |
//!
//! The options of a mechanism, which a scenario writes, build its instances: [`FlowControlOptions`] and its kin. What is known where it is
//! set up is a [`Site`]; what it sees and asks for while it runs, a [`View`].

pub mod accounts;
pub mod congestion;
pub mod facts;
pub mod flow_control;
pub mod headroom;
pub mod hooks;
pub mod load_balance;
pub mod need;
pub mod note;
pub mod options;
pub mod packet;
pub mod paths;
pub mod recovery;
pub(crate) mod signatures;
pub mod view;

pub use accounts::{BufferAccounts, FlowControlAccounts, Occupancy};
pub use congestion::{
    AckView, AnswerPath, CongestionOptions, CongestionPoint, CongestionSignal, LossSignal, Notification,
    NotificationPoint, ReactionPoint,
};
pub use facts::{FlowControlFacts, HeadroomFacts, Links, Neighbour, PfcTerms, PortFacts, SenderFacts, Site, Sizes};
pub use flow_control::{
    AddedQueues, FlowControl, FlowControlContext, FlowControlOptions, QueueChoice, RunningFlowControl, Stage,
    StartingFlow,
};
pub use headroom::{Admission, BufferPolicy, Gauge, HeadroomOptions, PortPressure, Pressure};
pub use hooks::{HookSet, NoticeAction, PipelineHooks};
pub use load_balance::{
    Choice, Entropy, FlowHash, FlowKey, LbStat, LoadBalance, LoadBalanceOptions, PathChoice, PathState, RouteRequest,
};
pub use options::{EffectiveValues, Findings, Key, Options, SchemeContext, Shape, effective_values};
pub use packet::{PacketContext, PauseScope};
pub use paths::{Paths, RemainingHops};
pub use recovery::{Answer, Progress, RecoveryOptions, RecoveryReceiver, RecoverySender, Verdict};
pub use view::{NodeAccess, OutgoingNotice, PortView, View};
