//! Totals of a run.

use crate::contract::FlowControlAccounts as _;
use crate::contract::report::DropCause;
use crate::model::node::Node;
use crate::model::port::Port;
use backwater_engine::{Duration, Time};
use serde::Serialize;
use std::array;
use std::cmp::max;
use std::ops::{Add, AddAssign};

/// Defines [`Totals`]: field, type, and the function that merges the values of two parts of the
/// network.
macro_rules! totals {
    ($($(#[$meta:meta])+ $total:ident: $type:ty = $merge:expr,)+) => {
        /// Totals of a run.
        ///
        /// To add a total, add a field here. Count it in `driver::observations::Observations`
        /// or derive it from a node in `Totals::of_node`. The field is a key of `run.json`, unless
        /// serialisation skips it.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
        pub struct Totals {
            $($(#[$meta])+ pub $total: $type,)+
        }

        impl AddAssign for Totals {
            fn add_assign(&mut self, other: Totals) {
                $(self.$total = $merge(self.$total, other.$total);)+
            }
        }
    };
}

totals! {
    /// Events handled.
    events: u64 = Add::add,
    /// Frames transmitted on links: data, ACK and control.
    packet_hops: u64 = Add::add,
    /// PAUSE frames sent.
    pause_frames: u64 = Add::add,
    /// PAUSE frames for a whole port.
    port_pause_frames: u64 = Add::add,
    /// RESUME frames sent.
    resume_frames: u64 = Add::add,
    /// Total time that queues were paused, up to now.
    #[serde(skip)]
    paused: Duration = Add::add,
    /// Ports that have a paused queue at present.
    #[serde(skip)]
    paused_ports: u64 = Add::add,
    /// Drops that break the lossless guarantee:
    /// [`Simulation::violations`](crate::Simulation::violations).
    #[serde(skip)]
    violations: u64 = Add::add,
    /// Drops that flow control should prevent, but does not guarantee to prevent with this buffer
    /// policy.
    unpromised_drops: u64 = Add::add,
    /// Frames lost, by cause ([`DropCause::ALL`]).
    #[serde(skip)]
    drops: [u64; DropCause::ALL.len()] = |one: [u64; _], other: [u64; _]| array::from_fn(|i| one[i] + other[i]),
    /// Flows that have started.
    #[serde(skip)]
    started_flows: u64 = Add::add,
    /// Endless flows that have started.
    #[serde(skip)]
    endless_flows: u64 = Add::add,
    /// Flows whose bytes have all arrived.
    #[serde(skip)]
    received_flows: u64 = Add::add,
    /// Flows whose sender received the last acknowledgement.
    #[serde(skip)]
    acknowledged_flows: u64 = Add::add,
    /// Peak buffer occupancy of a switch, in bytes.
    peak_buffer_bytes: u64 = max,
    /// Largest number of queues beyond the class queues that one port used at once, such as
    /// isolation queues or queues of flows.
    peak_queues: u16 = max,
    /// Largest number of queues beyond the class queues that held packets at once, at any port.
    peak_filled_queues: u16 = max,
}

impl Totals {
    /// Returns the number of flows that have started and are not fully acknowledged.
    pub fn live_flows(&self) -> u64 {
        self.started_flows - self.acknowledged_flows
    }

    /// Returns the totals that follow from the state of a node at `now`.
    pub(super) fn of_node(node: &Node, now: Time) -> Totals {
        let mut totals = Totals { drops: node.losses().frames, ..Totals::default() };
        for port in node.ports() {
            let open = port.closed_queues().filter_map(|queue| port.gate(queue).closed());
            totals.paused += open.map(|(since, _)| now.since(since)).sum();
            totals.paused_ports += u64::from(port.closed_queues().next().is_some());
        }
        if let Some(switch) = node.switch() {
            totals.peak_buffer_bytes = switch.occupancy().peak;
            totals.peak_queues = node.flow_control().most_queues_used();
            totals.peak_filled_queues = node.ports().iter().map(Port::most_filled_queues).max().unwrap_or(0);
        }
        totals
    }
}
