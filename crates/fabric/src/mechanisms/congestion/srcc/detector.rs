//! Congestion point: finds congested flows that share an ingress port with other flows (sections
//! III-B to III-D).

use super::flows::{Place, RecentFlows};
use super::notice::words_of;
use super::{ArrivalCount, EgressPorts, SRCC, SrccConfig, SrccThreshold, Target, Uncongested, WindowTest};
use crate::contract::{PacketContext, Site, View};
use crate::ids::{CLASSES, PortIx, QueueIx};
use crate::mechanisms::growth::Lengths;
use backwater_engine::index::{Id, IndexVec};
use backwater_engine::{Bytes, Duration, Rate, Time};
use get_size2::GetSize;

/// Congestion detector of one switch.
#[derive(Debug, GetSize)]
pub(super) struct Detector {
    #[get_size(ignore)]
    config: SrccConfig,
    /// T: time for which the last packet of an uncongested flow counts as recent.
    window: Duration,
    count_window: Duration,
    rate_interval: Duration,
    /// Lowest threshold: the floor, or the static threshold.
    least: u64,
    ports: usize,
    /// Index of each class among the classes that PFC can pause. Packets of other classes neither
    /// cause nor suffer PAUSEs.
    lanes: [Option<u8>; CLASSES],
    /// By lane and ingress port.
    ingress: Vec<Ingress>,
    /// By egress port.
    egress: IndexVec<PortIx, Egress>,
    /// Arrival of the last packet, by lane, ingress and egress port; [`Time::NEVER`] if none has
    /// arrived. Empty if no option needs it.
    last: Vec<Time>,
    /// Number of flows in all tables: at present, and the peak so far.
    flows: usize,
    most_flows: usize,
}

/// State of a class at an ingress port: egress port and arrival time of two packets of uncongested
/// flows. The first is the last packet, the second is the last packet to another egress port.
#[derive(Clone, Copy, Debug, Default, GetSize)]
struct Ingress([Option<(PortIx, Time)>; 2]);

impl Ingress {
    /// Records a packet of an uncongested flow to `egress`.
    fn record(&mut self, egress: PortIx, now: Time) {
        if self.0[0].is_some_and(|(last, _)| last != egress) {
            self.0[1] = self.0[0];
        }
        self.0[0] = Some((egress, now));
    }

    /// Returns t_uf for a congested flow to `egress`: the last arrival of a packet that counts as
    /// uncongested.
    fn last_uncongested(&self, egress: PortIx, which: Uncongested) -> Option<Time> {
        let counts = |port: PortIx| which == Uncongested::AnyPort || port != egress;
        self.0.into_iter().flatten().find(|(port, _)| counts(*port)).map(|(_, time)| time)
    }
}

/// State of an egress port.
#[derive(Debug, Default, GetSize)]
struct Egress {
    flows: RecentFlows,
    /// By queue.
    lengths: IndexVec<QueueIx, Lengths>,
}

/// Congestion that a packet finds in its queue.
#[derive(Clone, Copy, Debug)]
struct Congestion {
    /// True if Equation 5 or 6 gives less than the floor.
    is_floored: bool,
}

impl Detector {
    pub(super) fn new(config: &SrccConfig, site: &Site<'_>) -> Detector {
        let ports = site.ports.len();
        let longest = site.ports.iter().map(|port| port.delay).max().unwrap_or(Duration::ZERO);
        let mut lanes = [None; CLASSES];
        site.lossless.iter().zip(0..).for_each(|(class, lane)| lanes[class.index()] = Some(lane));
        let count = site.lossless.iter().count() * ports;
        let window = config.window(site.base_rtt);
        let is_static = config.threshold == SrccThreshold::Static;
        Detector {
            window,
            count_window: config.count_window(window),
            rate_interval: config.rate_interval.unwrap_or(longest),
            least: if is_static {
                config.static_threshold.map_or(u64::MAX, Bytes::get)
            } else {
                config.floor(&site.sizes)
            },
            ports,
            lanes,
            ingress: vec![Ingress::default(); count],
            egress: (0..ports).map(|_| Egress::default()).collect(),
            last: vec![Time::NEVER; if config.keeps_pairs() { count * ports } else { 0 }],
            flows: 0,
            most_flows: 0,
            config: config.clone(),
        }
    }

    /// Processes a packet that joins its egress queue; `length` includes the packet.
    pub(super) fn on_enqueue(&mut self, packet: &PacketContext<'_>, length: u64, view: &mut View<'_>) {
        let Some(lane) = self.lanes[packet.ingress_class().index()] else { return };
        let (now, first_ingress) = (view.now, usize::from(lane) * self.ports);
        let (ingress, egress) = (first_ingress + packet.ingress().index(), packet.egress);
        if let Some(last) = self.last.get_mut(ingress * self.ports + egress.index()) {
            *last = now;
        }
        let port = &mut self.egress[egress];
        if self.config.threshold == SrccThreshold::Eq5 {
            let lengths = port.lengths.get_or_default(packet.queue);
            lengths.measure(length - u64::from(packet.bytes()), now, self.rate_interval);
        }
        let before = port.flows.count();
        let flow = port.flows.record(packet.headers().flow, now, self.count_window);
        if self.config.target == Target::Share {
            port.flows.add_bytes(flow, packet.bytes().into(), now, self.count_window);
        }
        let after = port.flows.count();
        self.flows = self.flows + after - before;
        if self.flows > self.most_flows {
            self.most_flows = self.flows;
            view.count("flow_entries", 1);
        }

        // Most queues are shorter than any threshold: their thresholds need not be computed.
        if length > self.least {
            self.on_long_queue(packet, flow, first_ingress, length, view);
        } else {
            self.ingress[ingress].record(egress, now);
        }
    }

    /// Processes a packet of `flow` that joins a queue of `length` bytes, which exceeds the lowest
    /// threshold.
    #[inline(never)]
    fn on_long_queue(
        &mut self,
        packet: &PacketContext<'_>,
        flow: Place,
        first_ingress: usize,
        length: u64,
        view: &mut View<'_>,
    ) {
        let (now, ingress, egress) = (view.now, first_ingress + packet.ingress().index(), packet.egress);
        let Some(Congestion { is_floored }) = self.congestion(packet, first_ingress, length, view) else {
            return self.ingress[ingress].record(egress, now);
        };
        if !self.is_shared(ingress, packet.egress, now) {
            return;
        }
        let interval = self.config.notice_interval.unwrap_or_else(|| self.feedback_delay(packet, view));
        if self.egress[egress].flows.is_due(flow, now, interval) {
            let port = view.port(packet.egress);
            let (from, target) = (port.id(), self.target(egress, flow, port.rate()));
            let trail = packet.trail().copied();
            view.notify_source(packet.headers(), trail.as_ref(), packet.ingress(), SRCC, from, words_of(target));
            view.count("notices", 1);
            if is_floored {
                view.count("floored_notices", 1);
            }
        }
    }

    /// Returns the time that a notice takes to the packet's sender: N d.
    fn feedback_delay(&self, packet: &PacketContext<'_>, view: &View<'_>) -> Duration {
        let delay = self.config.link_delay.unwrap_or_else(|| view.port(packet.ingress()).delay());
        // The packet's route already counts the link after this switch.
        let links = u64::from(packet.headers().route.links_passed()).saturating_sub(1);
        Duration::from_ps(delay.ps().saturating_mul(links))
    }

    /// Returns the congestion of the packet's queue of `length` bytes, which exceeds the lowest
    /// threshold; `None` if the packet's flow is not congested.
    fn congestion(
        &self,
        packet: &PacketContext<'_>,
        first_ingress: usize,
        length: u64,
        view: &View<'_>,
    ) -> Option<Congestion> {
        if !self.config.notify_while_paused && view.port(packet.egress).is_closed(packet.queue) {
            return None;
        }
        if self.config.threshold == SrccThreshold::Static {
            return Some(Congestion { is_floored: false });
        }
        // If no threshold bounds the ingress queue, PFC never acts, and no flow counts as
        // congested.
        let bound =
            self.config.q_pfc.map(Bytes::get).or_else(|| view.threshold(packet.ingress(), packet.ingress_class()))?;
        let delay = self.feedback_delay(packet, view);
        let span = if self.config.two_way { Duration::from_ps(delay.ps().saturating_mul(2)) } else { delay };
        let growth = if self.config.threshold == SrccThreshold::Eq6 {
            let others = self.arrivals(packet, view.now).saturating_sub(1);
            i128::from(view.port(packet.egress).rate().bytes_in(span)) * i128::from(others)
        } else {
            let lengths = &self.egress[packet.egress].lengths[packet.queue];
            // Most queues are so short that they are not congested even if M counts all ports.
            let room = i128::from(bound / self.ports as u64) - i128::from(length);
            if lengths.fits(room, length, view.now, self.rate_interval, span) {
                return None;
            }
            lengths.growth(length, view.now, self.rate_interval, span)
        };
        let threshold = i128::from(bound / self.egress_ports(packet, first_ingress, view.now).max(1)) - growth;
        (i128::from(length) > threshold).then(|| Congestion { is_floored: threshold < i128::from(self.least) })
    }

    /// Returns M, the divisor of Q_PFC.
    fn egress_ports(&self, packet: &PacketContext<'_>, first_ingress: usize, now: Time) -> u64 {
        match self.config.egress_ports {
            EgressPorts::All => self.ports as u64 - 1,
            EgressPorts::Active => {
                let of_ingress = (first_ingress + packet.ingress().index()) * self.ports;
                let last = &self.last[of_ingress..of_ingress + self.ports];
                last.iter().filter(|last| is_within(**last, self.window, now)).count() as u64
            }
        }
    }

    /// Returns m of Equation 6.
    fn arrivals(&self, packet: &PacketContext<'_>, now: Time) -> u64 {
        match self.config.arrivals {
            ArrivalCount::Flows => self.egress[packet.egress].flows.count() as u64,
            ArrivalCount::IngressPorts => {
                let sends = |lane: &[Time], ingress: usize| {
                    is_within(lane[ingress * self.ports + packet.egress.index()], self.window, now)
                };
                let lanes = || self.last.chunks(self.ports * self.ports);
                (0..self.ports).filter(|ingress| lanes().any(|lane| sends(lane, *ingress))).count() as u64
            }
        }
    }

    /// Returns true if a congested flow to `egress` shares its ingress port with uncongested
    /// traffic.
    fn is_shared(&self, ingress: usize, egress: PortIx, now: Time) -> bool {
        let last = self.ingress[ingress].last_uncongested(egress, self.config.uncongested);
        let is_within = last.is_some_and(|last| is_within(last, self.window, now));
        is_within == (self.config.window_test == WindowTest::Within)
    }

    /// Returns the rate that a notice to `flow` names. At these rates, all flows to the port
    /// together send at most at the port's `rate`.
    fn target(&self, egress: PortIx, flow: Place, rate: Rate) -> Rate {
        let flows = &self.egress[egress].flows;
        let average = Rate::from_bps(rate.bps() / flows.count() as u64);
        match self.config.target {
            Target::Average => average,
            Target::Share => {
                let (own, all) = flows.share(flow);
                average.min(Rate::from_bps((u128::from(rate.bps()) * u128::from(own) / u128::from(all)) as u64))
            }
        }
    }
}

/// Returns true if `last` is less than `window` ago.
fn is_within(last: Time, window: Duration, now: Time) -> bool {
    last != Time::NEVER && now.since(last) < window
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at_us as at;

    #[test]
    fn the_last_packets_to_two_ports_are_remembered() {
        let mut ingress = Ingress::default();
        assert_eq!(ingress.last_uncongested(PortIx(0), Uncongested::AnyPort), None);
        for (us, egress) in [(1, 7), (2, 8), (3, 8), (4, 9), (5, 9)] {
            ingress.record(PortIx(egress), at(us));
        }
        let last = |egress| ingress.last_uncongested(PortIx(egress), Uncongested::OtherPorts);
        assert_eq!([7, 8, 9].map(last), [Some(at(5)), Some(at(5)), Some(at(3))]);
        assert_eq!(ingress.last_uncongested(PortIx(9), Uncongested::AnyPort), Some(at(5)));
    }
}
