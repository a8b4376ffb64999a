//! Slot *congestion control*: congestion point (switch), notification point (receiver), reaction point (sender).

use crate::contract::facts::{SenderFacts, Site};
use crate::contract::hooks::PipelineHooks;
use crate::contract::load_balance::Entropy;
use crate::contract::options::{EffectiveValues, Findings, Options};
use crate::frame::record::Telemetry;
use crate::frame::{Cnp, Notice, Protocol, Psn};
use ambassador::delegatable_trait;
use auto_impl::auto_impl;
use backwater_engine::{Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Path of the answer to a packet whose sender has chosen its path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerPath {
    /// Echo of the packet's path number, by which switches hash the answer as they hash data.
    #[default]
    Echoed,
    /// Reverse of the packet's route. Where the route is not known, as `echoed`.
    Reverse,
}

/// The options of a congestion control, from which its three parts are built.
pub trait CongestionOptions: Options {
    /// What runs at a switch.
    type Point: CongestionPoint + 'static
    where
        Self: Sized;
    /// What runs at a flow's receiver.
    type Notification: NotificationPoint + 'static
    where
        Self: Sized;
    /// What runs at a flow's sender.
    type Reaction: ReactionPoint + 'static
    where
        Self: Sized;

    /// What the switch at `site` does.
    fn point(&self, site: &Site<'_>) -> Self::Point
    where
        Self: Sized;

    /// What a flow's receiver does, whose port has rate `line_rate`.
    fn notification(&self, line_rate: Rate) -> Self::Notification
    where
        Self: Sized;

    /// What a flow's sender does.
    fn reaction(&self, sender: &SenderFacts) -> Self::Reaction
    where
        Self: Sized;

    /// Bytes of in-band headers on data packets, echoed on their ACKs.
    fn telemetry_bytes(&self) -> u32 {
        0
    }

    /// Whether switches send notices back along the way that packets have come, which these must then keep.
    fn needs_trails(&self) -> bool {
        false
    }

    /// Whose notices senders hear, if any: a switch that could keep one from them passes it on.
    fn hears(&self) -> Option<Protocol> {
        None
    }

    /// Whether ACKs tell how many links the packet has passed that they answer.
    fn needs_hops(&self) -> bool {
        false
    }

    /// Whether senders choose the path of each packet ([`ReactionPoint::path`]).
    fn chooses_paths(&self) -> bool {
        false
    }

    /// Returns the path of the answers to packets whose senders have chosen their paths. `None`:
    /// all answers of a flow take the path that the hash of the flow gives.
    fn answer_path(&self) -> Option<AnswerPath> {
        None
    }

    /// Whether reaction points ask to be called by the clock ([`ReactionPoint::wake_at`]).
    fn needs_wakes(&self) -> bool {
        false
    }

    /// Returns true if notification points use timers ([`NotificationPoint::wake_at`]).
    fn needs_receiver_timers(&self) -> bool {
        false
    }

    /// Whether receivers at links of `line_rate` send CNPs as frames of their own.
    fn sends_cnps(&self, _line_rate: Rate) -> bool {
        false
    }

    /// The least window of a flow that does not depend on what happens: an ACK must come before it is full.
    fn window(&self, _sender: &SenderFacts) -> u64 {
        u64::MAX
    }

    /// Checks what only the network can tell: the options against what is known at a sender. What it says of several senders alike is said once.
    fn check_at(&self, _sender: &SenderFacts, _findings: &mut Findings) {}

    /// The same against what is known at a switch, or at a host that relays and has a congestion point.
    fn check_at_switch(&self, _site: &Site<'_>, _findings: &mut Findings) {}

    /// What the options come to at a sender.
    fn effective_values(&self, _sender: &SenderFacts) -> EffectiveValues {
        EffectiveValues::new()
    }

    /// What the options come to at a switch's port of `rate`.
    fn in_force_at_switch(&self, _rate: Rate) -> EffectiveValues {
        EffectiveValues::new()
    }
}

/// The same for what another crate plugs in, whatever its instances are.
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

/// Congestion point: what a switch does to packets as they pass.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait CongestionPoint: PipelineHooks {}

/// What the receiver reports about a data packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notification {
    /// Echo congestion in the packet's ACK (which is then sent at once).
    pub echo: bool,
    /// CNP frame to send.
    pub cnp: Option<Cnp>,
}

/// Notification point: what a receiver reports about one flow.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait NotificationPoint: Send {
    /// A data packet of the flow has arrived, of `wire_bytes`; `marked` is its ECN mark.
    fn on_data(&mut self, _now: Time, _marked: bool, _wire_bytes: u64) -> Notification {
        Notification::default()
    }

    /// Time of the next timer ([`CongestionOptions::needs_receiver_timers`]); [`Time::NEVER`] if
    /// none is set. Only [`on_data`](Self::on_data) and [`on_wake`](Self::on_wake) change it, and
    /// no timer fires once the flow is complete.
    fn wake_at(&self) -> Time {
        Time::NEVER
    }

    /// The timer has fired. Returns the CNP to send, if any.
    fn on_wake(&mut self, _now: Time) -> Option<Cnp> {
        None
    }
}

/// Reaction point: rate and window of one flow at its sender.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait ReactionPoint: Send {
    /// Rate at which the next packet is paced.
    fn rate(&mut self, now: Time) -> Rate;

    /// Most payload bytes in flight; a packet may go while fewer are.
    fn window(&self) -> u64 {
        u64::MAX
    }

    /// `wire_bytes` of the flow start on the wire.
    fn on_sent(&mut self, _now: Time, _wire_bytes: u64) {}

    /// An ACK (or NACK) has arrived.
    fn on_ack(&mut self, _ack: &AckView<'_>) {}

    /// A CNP has arrived, as a frame or as the echo in an ACK.
    fn on_cnp(&mut self, _now: Time, _cnp: Cnp) {}

    /// A notice of a switch about the flow has arrived.
    fn on_notice(&mut self, _now: Time, _notice: &Notice) {}

    /// True if a notice says that its flow is congested, false if a congestion is over.
    fn tells_of_congestion(&self, _notice: &Notice) -> bool {
        true
    }

    /// Loss recovery takes a packet for lost.
    fn on_loss(&mut self, _now: Time, _loss: LossSignal) {}

    /// Another control, in which this one is, sets the rate: all that this one reckons with follows, so that it goes on from there. The rate is no lower
    /// than its lowest then, and no higher than line rate.
    fn set_rate(&mut self, _now: Time, _rate: Rate) {}

    /// As `set_rate`, if the flow is faster than that.
    fn lower_rate(&mut self, now: Time, rate: Rate) {
        if rate < self.rate(now) {
            self.set_rate(now, rate);
        }
    }

    /// As `lower_rate`, but this control recovers from it as from congestion that it finds itself.
    fn cut_rate(&mut self, now: Time, rate: Rate) {
        self.lower_rate(now, rate);
    }

    /// The path of packet `psn`, which is sent now, where this control chooses paths as well ([`CongestionOptions::chooses_paths`]): it goes before what
    /// load balancing says.
    fn path(&mut self, _psn: Psn, _now: Time) -> Option<Entropy> {
        None
    }

    /// When it is to be called, whatever happens ([`CongestionOptions::needs_wakes`]); [`Time::NEVER`] if it is not.
    fn wake_at(&self) -> Time {
        Time::NEVER
    }

    /// That time has come.
    fn on_wake(&mut self, _now: Time) {}

    /// Returns the congestion signal in `ack` if it tells this control to slow down. For observers:
    /// called before [`on_ack`](Self::on_ack), and only in runs with `probes.flows`.
    fn signal(&self, _ack: &AckView<'_>) -> Option<CongestionSignal> {
        None
    }

    /// Whether a new rate also moves the departure of the packet already being paced.
    fn repaces(&self) -> bool {
        false
    }
}

/// Congestion signal in an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionSignal {
    /// Load of one port on the packet's path: index of its stamp in the telemetry.
    Load(usize),
    /// Round-trip time.
    Delay,
}

/// How loss recovery has found out that a packet is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossSignal {
    /// By an answer of the receiver.
    Nack,
    /// The retransmission timer has run out.
    TimedOut,
}

/// What an ACK tells the reaction point.
#[derive(Debug)]
pub struct AckView<'a> {
    /// The present.
    pub now: Time,
    /// The packet answered; `None` if nobody has asked for it ([`CongestionOptions::chooses_paths`], selective recovery).
    pub arrived: Option<Psn>,
    /// Payload bytes acknowledged so far.
    pub acked_bytes: u64,
    /// Payload bytes sent so far.
    pub sent_bytes: u64,
    /// Time since the packet answered began its transmission, as its time stamp tells: in whole nanoseconds, below 4.29 s.
    pub rtt: Duration,
    /// Links that the packet answered has passed; 0 if the control has not asked for it ([`CongestionOptions::needs_hops`]).
    pub hops: u8,
    /// The path that the packet answered has taken, where hosts choose paths.
    pub path: Option<Entropy>,
    /// What the switches stamped into the packet answered.
    pub telemetry: Option<&'a Telemetry>,
}
