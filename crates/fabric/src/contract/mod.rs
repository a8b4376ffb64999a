//! Contract between the model and its mechanisms: everything a mechanism observes, decides and
//! does. Start reading here.
//!
//! A scheme consists of one mechanism per slot. The model owns the pipeline and calls the methods
//! of the traits below; it does not depend on concrete mechanisms. Optional methods have defaults:
//! implement only those that your mechanism needs.
//!
//! | slot | options | traits | instances |
//! |---|---|---|---|
//! | flow control | [`FlowControlOptions`] | [`FlowControl`] | one per node |
//! | headroom | [`HeadroomOptions`] | [`BufferPolicy`] | one per switch |
//! | congestion control | [`CongestionOptions`] | [`CongestionPoint`] | one per switch |
//! | | | [`NotificationPoint`] | one per flow, at its receiver |
//! | | | [`ReactionPoint`] | one per flow, at its sender |
//! | load balancing | [`LoadBalanceOptions`] | [`LoadBalance`] | one per switch |
//! | | | [`PathChoice`] | one per flow, at its sender, if hosts choose paths |
//! | loss recovery | [`RecoveryOptions`] | [`RecoverySender`] | one per flow, at its sender |
//! | | | [`RecoveryReceiver`] | one per flow, at its receiver |
//!
//! 1. A scenario sets the options of each mechanism. The options check themselves and build the
//!    instances.
//! 2. An instance is constructed from a [`Site`], the static environment of its node, or from
//!    [`SenderFacts`] if it serves a flow's sender.
//! 3. During the run, hooks receive a [`View`], the handle on the node: it reads the state of ports
//!    and requests actions. Hooks on packets also receive a [`PacketContext`].
//!
//! An [`Application`] of a host is no mechanism: it posts messages on connections.
//!
//! Mechanisms must be deterministic: they draw random numbers only from the seed in [`Site`] or
//! [`SenderFacts`].

pub mod accounts;
pub mod application;
pub mod congestion;
pub mod diagnostic;
pub mod facts;
pub mod flow_control;
pub mod hash;
pub mod headroom;
pub mod hooks;
pub mod load_balance;
pub mod need;
pub mod options;
pub mod packet;
pub mod paths;
pub mod recovery;
pub mod report;
pub(crate) mod signatures;
pub mod view;

pub use accounts::{BufferAccounts, FlowControlAccounts, Occupancy};
pub use application::{Announcement, Application, Message, Posting};
pub use congestion::{
    AckView, AnswerPath, CongestionOptions, CongestionPoint, CongestionSignal, LossSignal, Notification,
    NotificationPoint, ReactionPoint,
};
pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use facts::{FlowControlFacts, HeadroomFacts, Links, Neighbour, PfcTerms, PortFacts, SenderFacts, Site, Sizes};
pub use flow_control::{
    AddedQueues, FlowControl, FlowControlContext, FlowControlOptions, RunningFlowControl, Stage, StartingFlow,
};
pub use hash::{Entropy, FlowHash, FlowKey};
pub use headroom::{Admission, BufferPolicy, HeadroomOptions, IngressGauge, PortPressure, Pressure};
pub use hooks::{HookSet, NoticeAction, PipelineHooks};
pub use load_balance::{Choice, LbStat, LoadBalance, LoadBalanceOptions, PathChoice, PathState, RouteRequest};
pub use options::{EffectiveValues, Options, SchemeContext, Shape, effective_values};
pub use packet::{PacketContext, PauseScope, QueueChoice};
pub use paths::{Paths, RemainingHops};
pub use recovery::{Answer, Progress, RecoveryOptions, RecoveryReceiver, RecoverySender, Verdict};
pub use view::{NodeAccess, OutgoingNotice, PortView, View};
