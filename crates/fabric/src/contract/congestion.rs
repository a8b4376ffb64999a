//! Slot *congestion control*: congestion point (CP, at a switch), notification point (NP, at a
//! receiver) and reaction point (RP, at a sender).

use crate::contract::diagnostic::Diagnostics;
use crate::contract::facts::{SenderFacts, Site};
use crate::contract::hash::Entropy;
use crate::contract::hooks::PipelineHooks;
use crate::contract::options::{EffectiveValues, Options};
use crate::frame::record::Telemetry;
use crate::frame::{Cnp, Notice, Protocol, Psn};
use ambassador::delegatable_trait;
use auto_impl::auto_impl;
use backwater_engine::{Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Path of the answer to a packet, if the packet's sender chose the packet's path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerPath {
    /// Echo of the packet's path number: switches hash the answer as they hash data.
    #[default]
    Echoed,
    /// Reverse of the packet's route; `echoed` if the route is not known.
    Reverse,
}

/// Options of a congestion control. The options build the control's three parts.
pub trait CongestionOptions: Options {
    /// Congestion point of a switch.
    type Point: CongestionPoint + 'static
    where
        Self: Sized;
    /// Notification point of a flow.
    type Notification: NotificationPoint + 'static
    where
        Self: Sized;
    /// Reaction point of a flow.
    type Reaction: ReactionPoint + 'static
    where
        Self: Sized;

    /// Builds the congestion point of the switch, or of the relaying host, at `site`.
    fn point(&self, site: &Site<'_>) -> Self::Point
    where
        Self: Sized;

    /// Builds the notification point of a flow whose receiver has a link of `line_rate`.
    fn notification(&self, line_rate: Rate) -> Self::Notification
    where
        Self: Sized;

    /// Builds the reaction point of a flow.
    fn reaction(&self, sender: &SenderFacts) -> Self::Reaction
    where
        Self: Sized;

    /// Returns the bytes of in-band telemetry headers on data packets; their ACKs echo the
    /// telemetry.
    fn telemetry_bytes(&self) -> u32 {
        0
    }

    /// Returns true if switches send notices back along the packets' path. Packets then record
    /// their path.
    fn needs_trails(&self) -> bool {
        false
    }

    /// Returns the protocol of the notices that reaction points need. A mechanism at a switch
    /// forwards notices of this protocol instead of consuming them.
    fn notice_protocol(&self) -> Option<Protocol> {
        None
    }

    /// Returns true if reaction points need [`AckView::hops`].
    fn needs_hops(&self) -> bool {
        false
    }

    /// Returns true if reaction points limit the bytes in flight ([`ReactionPoint::window`]) or
    /// read signals in ACKs ([`ReactionPoint::signal`]). Runs with `probes.flows` then record the
    /// time of ACKs, too.
    fn needs_ack_times(&self) -> bool {
        true
    }

    /// Returns true if senders choose the path of each packet ([`ReactionPoint::path`]).
    fn chooses_paths(&self) -> bool {
        false
    }

    /// Returns the path of answers to packets whose senders chose the path. `None`: all answers of
    /// a flow take the path that the flow's hash gives.
    fn answer_path(&self) -> Option<AnswerPath> {
        None
    }

    /// Returns true if reaction points use timers ([`ReactionPoint::wake_at`]).
    fn needs_sender_timers(&self) -> bool {
        false
    }

    /// Returns true if notification points use timers ([`NotificationPoint::wake_at`]).
    fn needs_receiver_timers(&self) -> bool {
        false
    }

    /// Returns true if receivers with links of `line_rate` send CNPs as separate frames.
    fn sends_cnps(&self, _line_rate: Rate) -> bool {
        false
    }

    /// Returns the smallest window of a flow, as far as this window is known before the run. The
    /// scenario check compares this window with the data packets per ACK: a full window must
    /// trigger an ACK.
    fn window(&self, _sender: &SenderFacts) -> u64 {
        u64::MAX
    }

    /// Checks the options against the facts of one sender. The model calls this method for every
    /// kind of sender and reports identical diagnostics once.
    fn check_at(&self, _sender: &SenderFacts, _diagnostics: &mut Diagnostics) {}

    /// Checks the options against the facts of one switch, or of one relaying host with a
    /// congestion point.
    fn check_at_switch(&self, _site: &Site<'_>, _diagnostics: &mut Diagnostics) {}

    /// Returns the effective values of the options at a sender.
    fn effective_values(&self, _sender: &SenderFacts) -> EffectiveValues {
        EffectiveValues::new()
    }

    /// Returns the effective values of the options at a switch port of `rate`.
    fn effective_values_at_switch(&self, _rate: Rate) -> EffectiveValues {
        EffectiveValues::new()
    }
}

/// Object-safe version of [`CongestionOptions`], for mechanisms of other crates.
pub trait CongestionFactory: CongestionOptions {
    /// See [`CongestionOptions::point`].
    fn boxed_point(&self, site: &Site<'_>) -> Box<dyn CongestionPoint>;

    /// See [`CongestionOptions::notification`].
    fn boxed_notification(&self, line_rate: Rate) -> Box<dyn NotificationPoint>;

    /// See [`CongestionOptions::reaction`].
    fn boxed_reaction(&self, sender: &SenderFacts) -> Box<dyn ReactionPoint>;
}

impl<T: CongestionOptions> CongestionFactory for T {
    fn boxed_point(&self, site: &Site<'_>) -> Box<dyn CongestionPoint> {
        Box::new(self.point(site))
    }

    fn boxed_notification(&self, line_rate: Rate) -> Box<dyn NotificationPoint> {
        Box::new(self.notification(line_rate))
    }

    fn boxed_reaction(&self, sender: &SenderFacts) -> Box<dyn ReactionPoint> {
        Box::new(self.reaction(sender))
    }
}

/// Congestion point: acts on packets that pass a switch, by its hooks.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait CongestionPoint: PipelineHooks {}

/// Report of a notification point on a data packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notification {
    /// Echo congestion in the packet's ACK, and send that ACK at once.
    pub echo: bool,
    /// CNP frame to send.
    pub cnp: Option<Cnp>,
}

/// Notification point of one flow at its receiver: generates congestion notifications.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait NotificationPoint: Send {
    /// A data packet of `wire_bytes` arrived; `marked` is its ECN mark. Called before loss recovery
    /// processes the packet.
    fn on_data(&mut self, _now: Time, _marked: bool, _wire_bytes: u64) -> Notification {
        Notification::default()
    }

    /// Returns the time of the next timer; [`Time::NEVER`] if none is set. The model calls this
    /// method only if [`CongestionOptions::needs_receiver_timers`] returns true. Only
    /// [`on_data`](Self::on_data) and [`on_wake`](Self::on_wake) may change the time. No timer
    /// fires after a flow is complete. Timers of a connection fire between messages, too.
    fn wake_at(&self) -> Time {
        Time::NEVER
    }

    /// The timer fired. Returns the CNP to send, if any.
    fn on_wake(&mut self, _now: Time) -> Option<Cnp> {
        None
    }
}

/// Reaction point of one flow at its sender: its rate and its window.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait ReactionPoint: Send {
    /// Returns the rate that paces the next packet.
    fn rate(&mut self, now: Time) -> Rate;

    /// Returns the largest number of payload bytes in flight. The sender may transmit a packet
    /// while fewer are in flight.
    fn window(&self) -> u64 {
        u64::MAX
    }

    /// A packet of the flow with `wire_bytes` starts on the wire.
    fn on_sent(&mut self, _now: Time, _wire_bytes: u64) {}

    /// An ACK or NACK arrived. Called after loss recovery processed the answer, and after
    /// [`on_loss`](Self::on_loss) and [`on_cnp`](Self::on_cnp) if the answer signals these.
    fn on_ack(&mut self, _ack: &AckView<'_>) {}

    /// A CNP arrived, as a frame or as the congestion echo in an ACK.
    fn on_cnp(&mut self, _now: Time, _cnp: Cnp) {}

    /// A notice from a switch arrived. The notice concerns this flow.
    fn on_notice(&mut self, _now: Time, _notice: &Notice) {}

    /// Returns true if `notice` signals that the flow is congested, false if it signals the end of
    /// congestion. For observers.
    fn signals_congestion(&self, _notice: &Notice) -> bool {
        true
    }

    /// Loss recovery deemed a packet lost.
    fn on_loss(&mut self, _now: Time, _loss: LossSignal) {}

    /// Sets the rate on behalf of a wrapping congestion control, such as SRCC around DCQCN. `rate`
    /// is at most the line rate. The implementation raises `rate` to its own minimum and resets
    /// derived state, so that the control continues from this rate.
    fn set_rate(&mut self, _now: Time, _rate: Rate) {}

    /// Lowers the rate to `rate` as [`set_rate`](Self::set_rate) does; keeps a rate that is lower
    /// already.
    fn lower_rate(&mut self, now: Time, rate: Rate) {
        if rate < self.rate(now) {
            self.set_rate(now, rate);
        }
    }

    /// Lowers the rate as [`lower_rate`](Self::lower_rate) does, but the control then recovers as
    /// from congestion that it detected itself.
    fn cut_rate(&mut self, now: Time, rate: Rate) {
        self.lower_rate(now, rate);
    }

    /// The connection falls idle: all packets of all its messages are acknowledged. Called after
    /// [`on_ack`](Self::on_ack), but not when a flow ends.
    fn on_idle(&mut self, _now: Time) {}

    /// A message is posted on a connection that has been idle since `since`.
    fn on_resume(&mut self, _now: Time, _since: Time) {}

    /// Returns the path of packet `psn`, which is sent now. The model calls this method if
    /// [`CongestionOptions::chooses_paths`] returns true. A returned path overrides the path that
    /// the load balancer chooses.
    fn path(&mut self, _psn: Psn, _now: Time) -> Option<Entropy> {
        None
    }

    /// Returns the time at which [`on_wake`](Self::on_wake) must run; [`Time::NEVER`] if no timer
    /// is set. The model calls this method only if [`CongestionOptions::needs_sender_timers`]
    /// returns true.
    fn wake_at(&self) -> Time {
        Time::NEVER
    }

    /// The timer fired. The next timer must be later than `now`.
    fn on_wake(&mut self, _now: Time) {}

    /// Returns the congestion signal in `ack` if the signal makes this control slow down. For
    /// observers: called before [`on_ack`](Self::on_ack), and only in runs with `probes.flows`.
    fn signal(&self, _ack: &AckView<'_>) -> Option<CongestionSignal> {
        None
    }

    /// Returns true if a new rate also reschedules the packet that is being paced.
    fn repaces(&self) -> bool {
        false
    }
}

/// Congestion signal in an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionSignal {
    /// Load of one port on the packet's path. The value is the index of the port's stamp in the
    /// telemetry.
    Load(usize),
    /// Round-trip time.
    Delay,
}

/// Evidence on which loss recovery deemed a packet lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossSignal {
    /// An answer of the receiver: a NACK or a selective ACK.
    Nack,
    /// Expiry of the retransmission timer.
    TimedOut,
}

/// Content of an ACK, as a reaction point receives it.
#[derive(Debug)]
pub struct AckView<'a> {
    /// Present time.
    pub now: Time,
    /// Acknowledged packet; `None` unless paths are chosen per packet
    /// ([`CongestionOptions::chooses_paths`]), hops are needed, or recovery is selective.
    pub arrived: Option<Psn>,
    /// Payload bytes acknowledged so far, since the reaction point was created.
    pub acked_bytes: u64,
    /// Payload bytes sent so far, since the reaction point was created.
    pub sent_bytes: u64,
    /// Time since the transmission of the acknowledged packet started, by the packet's timestamp.
    /// In whole nanoseconds, below 4.29 s.
    pub rtt: Duration,
    /// Links that the acknowledged packet passed; 0 unless [`CongestionOptions::needs_hops`]
    /// returns true.
    pub hops: u8,
    /// Path of the acknowledged packet, if hosts choose paths.
    pub path: Option<Entropy>,
    /// Telemetry that switches stamped into the acknowledged packet.
    pub telemetry: Option<&'a Telemetry>,
}
