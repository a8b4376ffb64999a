//! PCN at a switch (packet scripts) and in whole networks.
//!
//! Links have 100 Gb/s and a delay of 1 us unless stated otherwise. A data frame with 1024 B of
//! payload has 1,106 B on the wire, takes 88.48 ns and is charged 1,086 B. The first frame of a
//! flow has 1,122 B, takes 89.76 ns and is charged 1,102 B. An ACK has 86 B and takes 6.88 ns, a
//! CNP has 98 B and takes 7.84 ns.

use crate::prelude::*;
use backwater_fabric::contract::Notification;
use backwater_fabric::mechanisms::congestion::pcn::PcnConfig;
use backwater_fabric::mechanisms::recovery::irn::IrnConfig;

// ------------------------------------------------------------------------------------- at a switch

/// Returns a switch with PCN and four hosts. Flow 0 (class 3), flow 1 (class 4) and the ACKs of
/// flow 2 (class 3) arrive on port 0 and leave through port 1.
fn script(threshold: u64) -> Script {
    let mut spec = star(4);
    spec.congestion = CongestionConfig::Pcn(PcnConfig { threshold: Some(Bytes(threshold)), ..Default::default() });
    spec.switch.lossless = vec![Class(3), Class(4)];
    spec.host.ack_class = Class(3);
    let mut of_class_4 = flow(0, 1, 100_000, 0);
    of_class_4.class = Class(4);
    Script::new(&spec, vec![flow(0, 1, 100_000, 0), of_class_4, flow(1, 0, 100_000, 0)], 4)
}

/// Handles packets of a flow that arrive together on port 0.
fn arrive(s: &mut Script, at: u64, flow: u32, psns: std::ops::Range<u32>) {
    s.arrive_each(at, 0, 0, flow, psns);
}

/// Returns the marks of the data packets that leave before `limit`.
fn marks(s: &mut Script, limit: u64) -> Vec<bool> {
    std::iter::from_fn(|| s.next_mark(limit)).collect()
}

/// Four packets wait behind a PAUSE, and four arrive after the RESUME. A departing packet is marked
/// if three packets remain, 3,258 B. Two packets, 2,172 B, do not exceed the threshold.
#[test]
fn packets_that_waited_behind_a_pause_are_not_marked() {
    let mut s = script(2172);
    arrive!(s, 0 ps, port 1, pause [3]);
    arrive(&mut s, 1_000_000, 0, 1..5);
    arrive!(s, 2_000_000 ps, port 1, resume [3]);
    arrive(&mut s, 2_000_001, 0, 5..9);
    assert_eq!(marks(&mut s, 4_000_000), [false, false, false, false, true, false, false, false]);
    // Without a PAUSE only the queue length counts. The first of five packets leaves before the
    // others arrive.
    arrive(&mut s, 4_000_000, 0, 9..14);
    assert_eq!(marks(&mut s, 6_000_000), [false, true, false, false, false]);
}

/// Three packets wait, one leaves, and the gate closes again. Then another packet joins the
/// remaining two. Only the packets queued at the last RESUME leave unmarked.
#[test]
fn a_gate_that_closes_again_restarts_the_count() {
    let mut s = script(0);
    arrive!(s, 0 ps, port 1, pause [3]);
    arrive(&mut s, 1_000_000, 0, 1..4);
    arrive!(s, 2_000_000 ps, port 1, resume [3]);
    arrive!(s, 2_000_001 ps, port 1, pause [3]);
    assert_eq!(marks(&mut s, 3_000_000), [false]);
    arrive(&mut s, 3_000_000, 0, 4..5);
    arrive!(s, 4_000_000 ps, port 1, resume [3]);
    arrive(&mut s, 4_000_001, 0, 5..8);
    assert_eq!(marks(&mut s, 6_000_000), [false, false, false, true, true, false]);
}

/// One RESUME opens two queues. Class 4 is first, because the last packet sent before the PAUSE was
/// of class 3.
#[test]
fn packets_of_every_queue_that_a_resume_opens_stay_unmarked() {
    let mut s = script(0);
    arrive(&mut s, 0, 0, 1..2);
    arrive!(s, 1_000_000 ps, port 1, pause [3, 4]);
    arrive(&mut s, 2_000_000, 0, 2..4);
    arrive(&mut s, 2_000_000, 1, 1..3);
    arrive!(s, 3_000_000 ps, port 1, resume [3, 4]);
    arrive(&mut s, 3_000_001, 0, 4..6);
    arrive(&mut s, 3_000_001, 1, 3..5);
    assert_eq!(s.next_mark(2_000_000), Some(false));
    // Packets of classes 4 and 3 leave in turn, first the four that were paused, then the four
    // later ones. The last packet of each class leaves an empty queue behind.
    assert_eq!(marks(&mut s, 5_000_000), [false, false, false, false, true, true, false, false]);
}

/// An ACK in the queue counts for the marks of data, but is not marked itself, because a marked ACK
/// would be a CNP.
#[test]
fn answers_count_but_are_not_marked() {
    let mut s = script(0);
    arrive!(s, 0 ps, port 1, pause [3]);
    arrive(&mut s, 1_000_000, 0, 1..2);
    arrive!(s, 1_000_000 ps, port 0, ack of flow 2, expected 1);
    arrive(&mut s, 1_000_000, 0, 2..3);
    arrive!(s, 2_000_000 ps, port 1, resume [3]);
    arrive(&mut s, 2_000_001, 0, 3..6);
    assert_eq!(marks(&mut s, 4_000_000), [false, false, true, true, false]);
    arrive(&mut s, 4_000_000, 0, 6..7);
    arrive!(s, 4_000_000 ps, port 0, ack of flow 2, expected 2);
    arrive(&mut s, 4_000_000, 0, 7..9);
    assert_eq!(s.next_mark_of(PacketKind::Ack, 6_000_000), Some(false));
}

// ------------------------------------------------------------------------------- in whole networks

/// CNPs with their arrival times, in picoseconds.
type Cnps = common::mechanisms::Log<(u64, Cnp)>;

/// Packets and CNPs that receivers and senders have received.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// Numbers of data packets received and of marked data packets, by the rate of the receiver's
    /// link.
    marks: Arc<Mutex<BTreeMap<Rate, (u64, u64)>>>,
    /// CNPs that have arrived.
    cnps: Cnps,
}

/// Congestion control that records received packets and CNPs. Its senders react to CNPs, or always
/// send at line rate.
#[derive(Clone, Debug)]
struct Watched {
    control: CongestionConfig,
    reacts: bool,
    log: Seen,
}

struct Receiver(Box<dyn NotificationPoint>, Rate, Seen);
struct Sender(Box<dyn ReactionPoint>, Seen);

impl Options for Watched {}

impl CongestionOptions for Watched {
    type Point = Box<dyn CongestionPoint>;
    type Notification = Receiver;
    type Reaction = Sender;

    fn point(&self, site: &Site<'_>) -> Box<dyn CongestionPoint> {
        self.control.boxed_point(site)
    }

    fn notification(&self, line_rate: Rate) -> Receiver {
        Receiver(self.control.boxed_notification(line_rate), line_rate, self.log.clone())
    }

    fn reaction(&self, sender: &SenderFacts) -> Sender {
        let none = CongestionConfig::None(Default::default());
        let control = if self.reacts { &self.control } else { &none };
        Sender(control.boxed_reaction(sender), self.log.clone())
    }

    fn needs_receiver_timers(&self) -> bool {
        self.control.needs_receiver_timers()
    }
}

impl NotificationPoint for Receiver {
    fn on_data(&mut self, now: Time, marked: bool, wire_bytes: u64) -> Notification {
        let mut marks = self.2.marks.lock().unwrap();
        let (packets, of_them) = marks.entry(self.1).or_default();
        *packets += 1;
        *of_them += u64::from(marked);
        self.0.on_data(now, marked, wire_bytes)
    }

    fn wake_at(&self) -> Time {
        self.0.wake_at()
    }

    fn on_wake(&mut self, now: Time) -> Option<Cnp> {
        self.0.on_wake(now)
    }
}

impl ReactionPoint for Sender {
    fn rate(&mut self, now: Time) -> Rate {
        self.0.rate(now)
    }

    fn on_cnp(&mut self, now: Time, cnp: Cnp) {
        self.1.cnps.push((now.ps(), cnp));
        self.0.on_cnp(now, cnp);
    }
}

/// Runs flows between three hosts under PCN for `us`.
fn watched_star(flows: Vec<FlowSpec>, us: u64) -> (Simulation, Seen) {
    let log = Seen::default();
    let mut spec = star(3);
    let control = CongestionConfig::Pcn(PcnConfig::default());
    spec.congestion = CongestionConfig::custom(Watched { control, reacts: true, log: log.clone() });
    let mut simulation = Simulation::new(spec, flows, 1).unwrap();
    simulation.run_until(at_us(us), 1);
    (simulation, log)
}

/// Two hosts start to send to a third host at the same instant, and their packets alternate on the
/// third host's link.
///
/// The first packet of the first flow arrives at the receiver at 2 x 89.76 ns + 2 us. The flow's
/// second packet arrives 178.24 ns later, and its other packets every 176.96 ns. The first packet
/// of the second flow arrives 89.76 ns after that of the first flow, and its other packets every
/// 176.96 ns. In the first period of 50 us, the queue exceeds 100 KB for only 42 us. Fewer than 95
/// % of the packets are therefore marked, and the flows do not count as congested. In the second
/// period, all 283 packets of 1,106 B are marked. CNPs depart at once between two ACKs, and take 2
/// x 7.84 ns + 2 us.
#[test]
fn an_incast_of_two_gets_half_rates_in_the_second_period() {
    let flows = vec![flow(0, 2, FlowSpec::ENDLESS, 0), flow(1, 2, FlowSpec::ENDLESS, 0)];
    let (_, log) = watched_star(flows, 140);
    let starts = [2_179_520, 2_179_520 + 89_760];
    let (period, back) = (50_000_000, 2_015_680);
    let half = Cnp::Congested(Some(Rate::from_bps(283 * 1106 * 8 * 20_000)));
    let expected = starts.map(|start| [(start + period + back, Cnp::NotCongested), (start + 2 * period + back, half)]);
    let mut cnps = log.cnps.take();
    cnps.sort_unstable_by_key(|(at, _)| *at);
    assert_eq!(cnps, [expected[0][0], expected[1][0], expected[0][1], expected[1][1]]);
}

/// For a flow of 20 packets, which takes 3.9 us, no CNP is sent. A flow of 1,000 packets takes 88.5
/// us: a CNP is sent at the end of the first period, but not at the end of the second.
#[test]
fn a_receivers_timer_ends_with_the_flow() {
    let flows = vec![flow(0, 2, 20 * 1024, 0), flow(1, 2, 1000 * 1024, 10)];
    let (simulation, log) = watched_star(flows, 1000);
    let cnps: Vec<Cnp> = log.cnps.take().iter().map(|(_, cnp)| *cnp).collect();
    assert_eq!(cnps, [Cnp::NotCongested]);
    let counters = simulation.counters();
    let count = |name| counters.get(name).copied().unwrap_or_default();
    assert_eq!((count("cnps_received"), count("cnps_not_congested"), count("cnp_links")), (1, 1, 2));
}

/// A packet that was repeated before its ACK arrived reaches the receiver after the end of the
/// flow. No CNP is sent for this packet.
#[test]
fn a_duplicate_does_not_restart_a_receivers_timer() {
    let mut spec = star_of(2, 100, 10_000);
    let (period, rto) = (Duration::from_us(5), Duration::from_us(15));
    spec.recovery = RecoveryConfig::Irn(IrnConfig { rto_low: rto, rto_high: rto, ..Default::default() });
    spec.congestion = CongestionConfig::Pcn(PcnConfig { period, ..Default::default() });
    let mut simulation = Simulation::new(spec, vec![flow(0, 1, 1024, 0)], 1).unwrap();
    simulation.run_until(Time::ZERO + Duration::from_ms(1), 1);
    assert!(simulation.outcomes()[0].reception.arrived > 1);
    // The sender's state has been released, so the sender could not count a CNP as received.
    assert_eq!(simulation.counters().get("cnps_received"), None);
}

/// 24 hosts of one rack send to a host of another rack over 8 spines and links with a delay of 4
/// us. One of the 24 also sends to that host's neighbour. At first the flows fill the buffer and
/// are paused. Later, increases add 0.78 Gb/s per flow and period: too little to fill the buffer
/// between two CNPs.
#[test]
fn an_incast_of_24_over_long_links_pauses_nobody_after_its_first_periods() {
    let (mut spec, spines) = (NetworkSpec::with_nodes(48, 10), 50..58);
    spec.links = (0..48).map(|host| link(host, 48 + host / 24, 100, 4000)).collect();
    spec.links.extend(spines.flat_map(|spine| [48, 49].map(|leaf| link(leaf, spine, 100, 4000))));
    spec.switch.buffer = Bytes(22_000_000);
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig::default());
    spec.congestion = CongestionConfig::Pcn(PcnConfig { threshold: Some(Bytes(40_000)), ..Default::default() });
    let mut flows: Vec<FlowSpec> = (0..24).map(|host| flow(host, 47, FlowSpec::ENDLESS, 0)).collect();
    flows.push(flow(0, 46, FlowSpec::ENDLESS, 0));
    let mut simulation = Simulation::new(spec, flows, 1).unwrap();
    simulation.run_until(Time::ZERO + Duration::from_ms(3), 1);
    let early = simulation.totals().pause_frames;
    simulation.run_until(Time::ZERO + Duration::from_ms(8), 1);
    assert!(early >= 24, "{early}");
    assert_eq!(simulation.totals().pause_frames, early);
}

/// Returns senders h0 and h1 on s0, and receivers h2 and h3 and senders h4 and h5 on s1. All
/// senders except h1 send to h2, which has 100 Gb/s. h1 sends to h3, which has 200 Gb/s. The link
/// between the switches has 400 Gb/s: only the port to h2 is congested, and its PAUSEs stop h1's
/// packets as well.
fn victim_network() -> NetworkSpec {
    let mut spec = NetworkSpec::with_nodes(6, 2);
    let at_hosts = [(0, 6, 100), (1, 6, 100), (2, 7, 100), (3, 7, 200), (4, 7, 100), (5, 7, 100)];
    spec.links = at_hosts.map(|(host, switch, gbps)| link(host, switch, gbps, 1000)).to_vec();
    spec.links.push(link(6, 7, 400, 1000));
    spec
}

/// Measures of a run of 3 ms.
#[derive(Debug)]
struct Measures {
    /// Shares of marked packets at h2 and at h3.
    marked: [f64; 2],
    /// h3's payload in Gb/s.
    victim: f64,
    /// Numbers of all PAUSE frames, and of those in the first millisecond.
    pauses: [u64; 2],
}

fn watch(control: CongestionConfig, reacts: bool, buffer: u64) -> Measures {
    let (log, mut spec) = (Seen::default(), victim_network());
    spec.switch.buffer = Bytes(buffer);
    spec.congestion = CongestionConfig::custom(Watched { control, reacts, log: log.clone() });
    let flows = [(0, 2), (4, 2), (5, 2), (1, 3)].map(|(src, dst)| flow(src, dst, FlowSpec::ENDLESS, 0));
    let mut simulation = Simulation::new(spec, flows.to_vec(), 1).unwrap();
    simulation.run_until(Time::ZERO + Duration::from_ms(1), 1);
    let at_first = simulation.totals().pause_frames;
    simulation.run_until(Time::ZERO + Duration::from_ms(3), 1);
    let marks = log.marks.lock().unwrap();
    let share = |gbps| {
        let (packets, marked) = marks[&Rate::from_gbps(gbps)];
        marked as f64 / packets as f64
    };
    Measures {
        marked: [100, 200].map(share),
        victim: simulation.outcomes()[3].reception.delivered as f64 * 8.0 / 3e6,
        pauses: [simulation.totals().pause_frames, at_first],
    }
}

/// Thresholds are equal, and senders do not react. ECN marks packets that waited behind a PAUSE
/// caused by a port that they do not pass; PCN does not. Both mark packets that pass the congested
/// port.
#[test]
fn a_victim_of_pauses_is_not_marked_where_ecn_marks_it() {
    let pcn = watch(CongestionConfig::Pcn(PcnConfig::default()), false, 16_000_000);
    let (threshold, rate) = (Some(Bytes(40_000)), Some(Rate::from_gbps(40)));
    let ecn = EcnOptions { kmin: threshold, kmax: threshold, pmax: Some(1.0), rate };
    let dcqcn = watch(CongestionConfig::Dcqcn(DcqcnConfig { ecn, ..Default::default() }), false, 16_000_000);
    assert!(pcn.pauses[0] > 500 && dcqcn.pauses[0] > 500, "{pcn:?} {dcqcn:?}");
    assert!(pcn.marked[0] > 0.99 && pcn.marked[1] == 0.0, "{pcn:?}");
    assert!(dcqcn.marked[0] > 0.99 && dcqcn.marked[1] > 0.5, "{dcqcn:?}");
}

/// Marked senders reduce their rates to their shares of the congested port. PAUSEs then end, and
/// the victim gets its full link rate, 92.6 Gb/s of payload.
#[test]
fn marked_senders_free_a_victim() {
    let none = watch(CongestionConfig::None(Default::default()), true, 4_000_000);
    let pcn = watch(CongestionConfig::Pcn(PcnConfig::default()), true, 4_000_000);
    assert!(none.pauses[0] > none.pauses[1] * 2 && none.victim < 50.0, "{none:?}");
    assert!(pcn.pauses[1] > 0 && pcn.pauses[0] == pcn.pauses[1] && pcn.victim > 85.0, "{pcn:?}");
    assert!(pcn.marked[0] > 0.8 && pcn.marked[1] == 0.0, "{pcn:?}");
}
