//! Congestion signals that reached the two ends of a flow, by kind and port.

use crate::contract::CongestionSignal;
use crate::frame::journey::{Journey, Term};
use crate::ids::PortId;
use backwater_engine::{Duration, Time};
use std::collections::BTreeMap;

/// Kind of a congestion signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignalKind {
    /// ECN mark that reached the receiver.
    Mark,
    /// ACK whose telemetry made the sender slow down, charged to the port with the highest load.
    Load,
    /// ACK whose delay made the sender slow down, charged to every port where the packet or the
    /// ACK waited.
    Delay,
    /// Notice of a switch that reached the sender.
    Notice,
}

impl SignalKind {
    /// All kinds.
    pub const ALL: [SignalKind; 4] = [SignalKind::Mark, SignalKind::Load, SignalKind::Delay, SignalKind::Notice];

    /// Returns the name in results.
    pub fn name(self) -> &'static str {
        match self {
            SignalKind::Mark => "mark",
            SignalKind::Load => "load",
            SignalKind::Delay => "delay",
            SignalKind::Notice => "notice",
        }
    }
}

/// Signals of one kind and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signals {
    /// Number of signals.
    pub count: u64,
    /// First signal: the packet's departure from the port; for a notice, its creation.
    pub first: Time,
    /// Last signal, by the same times.
    pub last: Time,
    /// Time that packets and ACKs waited at the port ([`SignalKind::Delay`]).
    pub waited: Duration,
}

/// Signals by kind and port.
pub type SignalSums = BTreeMap<(SignalKind, PortId), Signals>;

/// Counts a signal of `port`.
pub(super) fn count(sums: &mut SignalSums, kind: SignalKind, port: PortId, at: Time, waited: Duration) {
    let fresh = Signals { count: 0, first: at, last: at, waited: Duration::ZERO };
    let signals = sums.entry((kind, port)).or_insert(fresh);
    signals.count += 1;
    (signals.first, signals.last) = (signals.first.min(at), signals.last.max(at));
    signals.waited += waited;
}

/// Counts the signal in an ACK. `journey` covers the acknowledged packet and the ACK.
pub(super) fn count_answer(sums: &mut SignalSums, signal: CongestionSignal, journey: &Journey) {
    match signal {
        CongestionSignal::Load(hop) => {
            if let Some((port, at)) = journey.stamped().get(hop) {
                count(sums, SignalKind::Load, *port, *at, Duration::ZERO);
            }
        }
        CongestionSignal::Delay => {
            let total: Duration = journey.spans().map(|span| span.length).sum();
            let mut at = Time::from_ps(journey.until.ps() - total.ps());
            let on_wire = journey.spans().position(|span| span.term == Term::Serialisation);
            let mut waited = Duration::ZERO;
            for (index, span) in journey.spans().enumerate() {
                let is_behind = on_wire.is_some_and(|first| index > first);
                match span.term {
                    Term::Serialisation if waited > Duration::ZERO => {
                        count(sums, SignalKind::Delay, span.port, at, std::mem::take(&mut waited));
                    }
                    Term::Serialisation | Term::Propagation => {}
                    _ if is_behind => waited += span.length,
                    _ => {}
                }
                at += span.length;
            }
        }
    }
}
