//! The congestion point: which flows are congested, and which of them share an ingress port with others (section III-B to III-D).

use super::flows::{Place, RecentFlows};
use super::notice::words_of;
use super::{Arrivals, EgressPorts, SRCC, SrccConfig, Target, Threshold, Uncongested, WindowTest};
use crate::contract::{PacketContext, Site, View};
use crate::ids::{CLASSES, PortIx};
use crate::mechanisms::growth::Lengths;
use backwater_engine::{Bytes, Duration, Rate, Time};
use get_size2::GetSize;

/// The detector of one switch.
#[derive(Debug, GetSize)]
pub(super) struct Detector {
    #[get_size(ignore)]
    config: SrccConfig,
    /// T.
    window: Duration,
    count_window: Duration,
    rate_interval: Duration,
    /// The least threshold: the floor, or the static one.
    least: u64,
    ports: usize,
    /// Of classes that can be paused, which of them it is: packets of others neither harm nor are harmed.
    lanes: [Option<u8>; CLASSES],
    /// By lane and ingress port.
    ingress: Vec<Ingress>,
    /// By egress port.
    egress: Vec<Egress>,
    /// When the last packet came, by lane, ingress and egress port; [`Time::NEVER`] if none has. Empty where nobody asks.
    last: Vec<Time>,
    /// Flows in all tables, and the most that there have been.
    flows: usize,
    most_flows: usize,
}

/// What is known of a class at an ingress port: the last packet of an uncongested flow, and the last that went to another egress port than that.
#[derive(Clone, Copy, Debug, Default, GetSize)]
struct Ingress([Option<(PortIx, Time)>; 2]);

impl Ingress {
    /// A packet of an uncongested flow has come that goes to `egress`.
    fn saw(&mut self, egress: PortIx, now: Time) {
        if self.0[0].is_some_and(|(last, _)| last != egress) {
            self.0[1] = self.0[0];
        }
        self.0[0] = Some((egress, now));
    }

    /// t_uf, for a congested flow that goes to `egress`.
    fn last_uncongested(&self, egress: PortIx, which: Uncongested) -> Option<Time> {
        let counts = |port: PortIx| which == Uncongested::AnyPort || port != egress;
        self.0.into_iter().flatten().find(|(port, _)| counts(*port)).map(|(_, time)| time)
    }
}

/// What is known of an egress port.
#[derive(Debug, Default, GetSize)]
struct Egress {
    flows: RecentFlows,
    /// By queue.
    lengths: Vec<Lengths>,
}

/// A queue that is too long for a packet.
#[derive(Clone, Copy, Debug)]
struct Congestion {
    /// Whether the equation gives less than the floor.
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
        let is_static = config.threshold == Threshold::Static;
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

    /// A packet has come to its egress queue, which holds `length` bytes with it.
    pub(super) fn on_enqueue(&mut self, packet: &PacketContext<'_>, length: u64, view: &mut View<'_>) {
        let headers = *packet.packet();
        let Some(lane) = self.lanes[packet.ingress_class.index()] else { return };
        let (now, first_ingress) = (view.now, usize::from(lane) * self.ports);
        let (ingress, egress) = (first_ingress + usize::from(packet.ingress), usize::from(packet.egress));
        if let Some(last) = self.last.get_mut(ingress * self.ports + egress) {
            *last = now;
        }
        let port = &mut self.egress[egress];
        if self.config.threshold == Threshold::Eq5 {
            let queue = usize::from(packet.queue);
            if queue >= port.lengths.len() {
                port.lengths.resize(queue + 1, Lengths::default());
            }
            port.lengths[queue].measure(length - u64::from(packet.bytes), now, self.rate_interval);
        }
        let before = port.flows.count();
        let flow = port.flows.saw(headers.flow, now, self.count_window);
        if self.config.target == Target::Share {
            port.flows.brings(flow, packet.bytes.into(), now, self.count_window);
        }
        let after = port.flows.count();
        self.flows = self.flows + after - before;
        if self.flows > self.most_flows {
            self.most_flows = self.flows;
            view.count("flow_entries", 1);
        }

        // Most queues are short: then nothing else needs to be known.
        let congestion = if length > self.least { self.congestion(packet, first_ingress, length, view) } else { None };
        let Some(Congestion { is_floored }) = congestion else {
            return self.ingress[ingress].saw(packet.egress, now);
        };
        if !self.is_shared(ingress, packet.egress, now) {
            return;
        }
        let interval = self.config.notice_interval.unwrap_or_else(|| self.feedback_delay(packet, view));
        if self.egress[egress].flows.is_due(flow, now, interval) {
            let port = view.port(packet.egress);
            let (from, target) = (port.id(), self.target(egress, flow, port.rate()));
            let trail = packet.trail().copied();
            view.notify_source(&headers, trail.as_ref(), packet.ingress, SRCC, from, words_of(target));
            view.count("notices", 1);
            if is_floored {
                view.count("floored_notices", 1);
            }
        }
    }

    /// What a notice takes to the sender of a packet: N d.
    fn feedback_delay(&self, packet: &PacketContext<'_>, view: &View<'_>) -> Duration {
        let delay = self.config.link_delay.unwrap_or_else(|| view.port(packet.ingress).delay());
        // Its route counts the link that it is about to take already.
        let links = u64::from(packet.packet().route.links_passed()).saturating_sub(1);
        Duration::from_ps(delay.ps().saturating_mul(links))
    }

    /// What a packet intersects that finds its queue longer than the least threshold, with `length` bytes in it; `None` if it is not congested.
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
        if self.config.threshold == Threshold::Static {
            return Some(Congestion { is_floored: false });
        }
        // Without a bound PFC does not act.
        let bound =
            self.config.q_pfc.map(Bytes::get).or_else(|| view.threshold(packet.ingress, packet.ingress_class))?;
        let delay = self.feedback_delay(packet, view);
        let span = if self.config.two_way { Duration::from_ps(delay.ps().saturating_mul(2)) } else { delay };
        let growth = if self.config.threshold == Threshold::Eq6 {
            let others = self.arrivals(packet, view.now).saturating_sub(1);
            i128::from(view.port(packet.egress).rate().bytes_in(span)) * i128::from(others)
        } else {
            let lengths = self.egress[usize::from(packet.egress)].lengths[usize::from(packet.queue)];
            lengths.growth(length, view.now, self.rate_interval, span)
        };
        let threshold = i128::from(bound / self.egress_ports(packet, first_ingress, view.now).max(1)) - growth;
        (i128::from(length) > threshold).then(|| Congestion { is_floored: threshold < i128::from(self.least) })
    }

    /// M.
    fn egress_ports(&self, packet: &PacketContext<'_>, first_ingress: usize, now: Time) -> u64 {
        match self.config.egress_ports {
            EgressPorts::All => self.ports as u64 - 1,
            EgressPorts::Active => {
                let of_ingress = (first_ingress + usize::from(packet.ingress)) * self.ports;
                let last = &self.last[of_ingress..of_ingress + self.ports];
                last.iter().filter(|last| is_within(**last, self.window, now)).count() as u64
            }
        }
    }

    /// m.
    fn arrivals(&self, packet: &PacketContext<'_>, now: Time) -> u64 {
        match self.config.arrivals {
            Arrivals::Flows => self.egress[usize::from(packet.egress)].flows.count() as u64,
            Arrivals::IngressPorts => {
                let sends = |lane: &[Time], ingress: usize| {
                    is_within(lane[ingress * self.ports + usize::from(packet.egress)], self.window, now)
                };
                let lanes = || self.last.chunks(self.ports * self.ports);
                (0..self.ports).filter(|ingress| lanes().any(|lane| sends(lane, *ingress))).count() as u64
            }
        }
    }

    /// Whether a congested flow to `egress` shares its ingress port with uncongested traffic.
    fn is_shared(&self, ingress: usize, egress: PortIx, now: Time) -> bool {
        let last = self.ingress[ingress].last_uncongested(egress, self.config.uncongested);
        let is_within = last.is_some_and(|last| is_within(last, self.window, now));
        is_within == (self.config.window_test == WindowTest::Within)
    }

    /// The rate at which `flow` should go on, so that all that come to the queue have the `rate` of its port together.
    fn target(&self, egress: usize, flow: Place, rate: Rate) -> Rate {
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

/// Whether what was last seen at `last` was seen less than `window` ago.
fn is_within(last: Time, window: Duration, now: Time) -> bool {
    last != Time::NEVER && now.since(last) < window
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    #[test]
    fn the_last_packets_to_two_ports_are_remembered() {
        let mut ingress = Ingress::default();
        assert_eq!(ingress.last_uncongested(0, Uncongested::AnyPort), None);
        for (us, egress) in [(1, 7), (2, 8), (3, 8), (4, 9), (5, 9)] {
            ingress.saw(egress, at(us));
        }
        let last = |egress| ingress.last_uncongested(egress, Uncongested::OtherPorts);
        assert_eq!([7, 8, 9].map(last), [Some(at(5)), Some(at(5)), Some(at(3))]);
        assert_eq!(ingress.last_uncongested(9, Uncongested::AnyPort), Some(at(5)));
    }
}
