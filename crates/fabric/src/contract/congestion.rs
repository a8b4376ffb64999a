//! Slot *congestion control*: congestion point (switch), notification point (receiver), reaction point (sender).

use crate::contract::facts::Site;
use crate::contract::station::Station;
use crate::frame::Notice;
use crate::frame::record::Telemetry;
use ambassador::delegatable_trait;
use auto_impl::auto_impl;
use backwater_engine::{Duration, Rate, Time};
use std::fmt::Debug;

/// The options of a congestion control, from which its three parts are built.
pub trait CongestionOptions: Debug + Send + Sync {
    /// What runs at a switch.
    type Point: CongestionPoint + 'static;
    /// What runs at a flow's receiver.
    type Notification: NotificationPoint + 'static;
    /// What runs at a flow's sender.
    type Reaction: ReactionPoint + 'static;

    /// What the switch at `site` does.
    fn point(&self, site: &Site<'_>) -> Self::Point;

    /// What a flow's receiver does, whose port has rate `line_rate`.
    fn notification(&self, line_rate: Rate) -> Self::Notification;

    /// What a flow's sender does.
    fn reaction(&self, sender: &Sender) -> Self::Reaction;

    /// Bytes of in-band headers on data packets, echoed on their ACKs.
    fn telemetry_bytes(&self) -> u32 {
        0
    }

    /// Whether switches send notices back along the way that packets have come, which these must then keep.
    fn needs_trails(&self) -> bool {
        false
    }

    /// Whether ACKs tell how many links the packet has passed that they answer.
    fn needs_hops(&self) -> bool {
        false
    }
}

/// The same for what another crate plugs in, whatever its instances are.
pub trait CongestionFactory: Debug + Send + Sync {
    /// See [`CongestionOptions::point`].
    fn boxed_point(&self, site: &Site<'_>) -> Box<dyn CongestionPoint>;

    /// See [`CongestionOptions::notification`].
    fn boxed_notification(&self, line_rate: Rate) -> Box<dyn NotificationPoint>;

    /// See [`CongestionOptions::reaction`].
    fn boxed_reaction(&self, sender: &Sender) -> Box<dyn ReactionPoint>;

    /// See [`CongestionOptions::telemetry_bytes`].
    fn telemetry_bytes(&self) -> u32;

    /// See [`CongestionOptions::needs_trails`].
    fn needs_trails(&self) -> bool;

    /// See [`CongestionOptions::needs_hops`].
    fn needs_hops(&self) -> bool;
}

impl<T: CongestionOptions> CongestionFactory for T {
    fn boxed_point(&self, site: &Site<'_>) -> Box<dyn CongestionPoint> {
        Box::new(self.point(site))
    }

    fn boxed_notification(&self, line_rate: Rate) -> Box<dyn NotificationPoint> {
        Box::new(self.notification(line_rate))
    }

    fn boxed_reaction(&self, sender: &Sender) -> Box<dyn ReactionPoint> {
        Box::new(self.reaction(sender))
    }

    fn telemetry_bytes(&self) -> u32 {
        CongestionOptions::telemetry_bytes(self)
    }

    fn needs_trails(&self) -> bool {
        CongestionOptions::needs_trails(self)
    }

    fn needs_hops(&self) -> bool {
        CongestionOptions::needs_hops(self)
    }
}

/// What a reaction point may know about its flow.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    /// Rate of the port that the flow leaves its host through.
    pub line_rate: Rate,
    /// Longest base round-trip time of any pair of hosts.
    pub base_rtt: Duration,
}

impl Sender {
    /// Bytes that the sender's line carries in the longest base round-trip time.
    pub fn bdp(&self) -> u64 {
        self.line_rate.bytes_in(self.base_rtt)
    }
}

/// Congestion point: what a switch does to packets as they pass.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait CongestionPoint: Station {}

/// What the receiver reports about a data packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notification {
    /// Echo congestion in the packet's ACK (which is then sent at once).
    pub echo: bool,
    /// Send a CNP frame.
    pub cnp: bool,
    /// The rate that the CNP tells the sender, if it tells one.
    pub rate: Option<Rate>,
}

/// Notification point: what a receiver reports about one flow.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait NotificationPoint: Send {
    /// A data packet of the flow has arrived, of `wire_bytes`; `marked` is its ECN mark.
    fn on_data(&mut self, _now: Time, _marked: bool, _wire_bytes: u64) -> Notification {
        Notification::default()
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

    /// A CNP has arrived, as a frame or as the echo in an ACK; the rate that it tells, if it tells one.
    fn on_cnp(&mut self, _now: Time, _rate: Option<Rate>) {}

    /// A notice of a switch about the flow has arrived.
    fn on_notice(&mut self, _now: Time, _notice: &Notice) {}

    /// Loss recovery takes a packet for lost: the receiver has asked for it, or the retransmission timer has run out.
    fn on_loss(&mut self, _now: Time) {}

    /// Another control, in which this one is, sets the rate: all that this one reckons with follows, so that it goes on from there.
    fn set_rate(&mut self, _now: Time, _rate: Rate) {}

    /// Whether a new rate also moves the departure of the packet already being paced.
    fn repaces(&self) -> bool {
        false
    }
}

/// What an ACK tells the reaction point.
#[derive(Debug)]
pub struct AckView<'a> {
    /// The present.
    pub now: Time,
    /// Payload bytes acknowledged so far.
    pub acked_bytes: u64,
    /// Payload bytes sent so far.
    pub sent_bytes: u64,
    /// Time since the packet answered began its transmission, as its time stamp tells: in whole nanoseconds, below 4.29 s.
    pub rtt: Duration,
    /// Links that the packet answered has passed; 0 if the control has not asked for it ([`CongestionOptions::needs_hops`]).
    pub hops: u8,
    /// What the switches stamped into the packet answered.
    pub telemetry: Option<&'a Telemetry>,
}
