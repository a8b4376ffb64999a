//! Rules that every mechanism of a slot must obey. Each slot has one test body, which runs with all
//! mechanisms of the slot's registry.

use crate::prelude::*;
use backwater_engine::index::IndexVec;
use backwater_engine::random::{Seed, Stream};
use backwater_fabric::contract::need::{exact_need, worst_case};
use backwater_fabric::contract::packet::QueuedPacket;
use backwater_fabric::contract::{
    Admission, Answer, BufferAccounts, BufferPolicy, FlowKey, Occupancy, PortPressure, Progress, RecoveryReceiver,
    RecoverySender, Verdict,
};
use backwater_fabric::frame::framing::FrameSize;
use backwater_fabric::frame::record::{Records, Stamp, Telemetry};
use backwater_fabric::frame::{Body, Frame, Psn, Route, Timestamp};
use backwater_fabric::mechanisms::headroom::AnyBufferPolicy;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

/// Checks that a registry's names are distinct, and listed in the order of its mechanisms.
fn assert_registry(names: &[&str], mechanisms: impl Iterator<Item = &'static str>) {
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    assert_eq!(mechanisms.collect::<Vec<_>>(), names);
}

#[test]
fn every_registry_lists_its_mechanisms_by_name() {
    assert_registry(FlowControlConfig::NAMES, FlowControlConfig::all().iter().map(FlowControlConfig::name));
    assert_registry(HeadroomConfig::NAMES, HeadroomConfig::all().iter().map(HeadroomConfig::name));
    assert_registry(CongestionConfig::NAMES, CongestionConfig::all().iter().map(CongestionConfig::name));
    assert_registry(LoadBalanceConfig::NAMES, LoadBalanceConfig::all().iter().map(LoadBalanceConfig::name));
    assert_registry(RecoveryConfig::NAMES, RecoveryConfig::all().iter().map(RecoveryConfig::name));
}

// ------------------------------------------------------------------- all slots, in random networks

proptest! {
    #![proptest_config(common::cases(100))]

    /// With any two mechanisms every byte is delivered, and the network comes to rest. No gate
    /// stays closed, no node counts a neighbour as paused, and a lossless guarantee holds. Refused
    /// combinations are skipped. Links have similar rates, because with very slow links
    /// retransmission timers would fire before a round trip.
    #[test]
    fn any_two_mechanisms_deliver_and_come_to_rest(Case { spec, flows } in lossless_at_common_rates()) {
        let (flow_controls, headrooms) = (FlowControlConfig::all(), HeadroomConfig::all());
        let (congestions, load_balances) = (CongestionConfig::all(), LoadBalanceConfig::all());
        let recoveries = RecoveryConfig::all();
        let sizes =
            [flow_controls.len(), headrooms.len(), congestions.len(), load_balances.len(), recoveries.len()];
        for row in common::covering(&sizes) {
            let mut spec = spec.clone();
            spec.switch.flow_control = flow_controls[row[0]].clone();
            spec.switch.headroom = headrooms[row[1]].clone();
            (spec.congestion, spec.load_balance) = (congestions[row[2]].clone(), load_balances[row[3]].clone());
            (spec.recovery, spec.host.ack_every) = (recoveries[row[4]].clone(), 1);
            if !common::applies(&spec) {
                continue;
            }
            // Without a lossless guarantee, Go-Back-N might lose the same packet at a full buffer
            // for ever. The buffer is therefore large.
            let flow_control = spec.switch.flow_control.facts(false);
            let counts = flow_control.is_lossless && !flow_control.bounds_queues;
            let is_lossless = counts && spec.switch.headroom.facts().is_lossless;
            let room = if is_lossless { 50_000 } else { 100_000_000 };
            spec.switch.buffer = Bytes(reserved(&spec) + room);
            check_run(&spec, &flows)?;
        }
    }
}

fn check_run(spec: &NetworkSpec, flows: &[FlowSpec]) -> Result<(), TestCaseError> {
    let (simulation, outcomes) = run(spec, flows.to_vec());
    for (outcome, flow) in outcomes.iter().zip(flows) {
        prop_assert_eq!(outcome.reception.delivered, flow.bytes);
        prop_assert!(outcome.acknowledged.is_some());
    }
    prop_assert_eq!(simulation.audit(), []);
    prop_assert_eq!(simulation.violations(), []);
    for node in simulation.nodes() {
        prop_assert!(node.ports().iter().all(|port| port.closed_queues().next().is_none()));
        prop_assert_eq!(node.flow_control().upstream_pauses(), []);
    }
    Ok(())
}

// ---------------------------------------------------------------------------------------- headroom

const PORTS: u32 = 3;

/// Egress port of all packets.
const EGRESS: PortIx = PortIx(0);

/// Returns a data packet from `ingress`.
fn packet(ingress: PortIx, class: Class, bytes: u64) -> QueuedPacket {
    let mut frame = data_frame(false);
    frame.size = FrameSize { wire: bytes as u16, charge: bytes as u16 };
    QueuedPacket { ingress_class: class, ..QueuedPacket::new(frame, ingress, Time::ZERO) }
}

/// Admits a packet, and checks that the pressure reported on admission equals the pressure returned
/// on request.
fn admit(policy: &mut AnyBufferPolicy, ingress: PortIx, class: Class, bytes: u64, now: Time) -> Result<(), DropCause> {
    match policy.admit(&packet(ingress, class, bytes).context(EGRESS, &mut Records::default()), now) {
        Admission::Charged(pressure) => {
            assert_eq!(pressure, policy.pressure(ingress, class));
            // A queue is full if it has reached its threshold or uses headroom.
            let (held, is_full) = (policy.ingress_occupancy(ingress, class), pressure.full.has(class));
            let is_beyond = policy.threshold(ingress, class).is_some_and(|threshold| held >= threshold);
            assert!(!is_beyond || is_full, "{pressure:?} with {held} B");
            assert!(!is_full || is_beyond || policy.headroom(ingress, class) > 0, "{pressure:?} with {held} B");
            Ok(())
        }
        Admission::Refused(cause) => Err(cause),
    }
}

fn switch_spec(headroom: &HeadroomConfig, room: u64) -> NetworkSpec {
    let mut spec = star(PORTS);
    spec.switch.lossless = vec![Class(2), Class(3)];
    spec.switch.headroom = headroom.clone();
    spec.switch.buffer = Bytes(reserved(&spec) + room);
    spec
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    /// A packet of this port, class and size arrives.
    Admit(PortIx, u8, u16),
    /// One of the admitted packets leaves.
    Release(usize),
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let admit = (0..PORTS as u16, 1u8..4, 64u16..1100)
        .prop_map(|(port, class, size)| Operation::Admit(PortIx(port), class, size));
    let release = any::<usize>().prop_map(Operation::Release);
    prop::collection::vec(prop_oneof![3 => admit, 2 => release], 1..600)
}

proptest! {
    #![proptest_config(common::cases(60))]

    /// Accounts of a buffer policy: an admitted packet is charged until its release. No queue is
    /// both full and below XON, and an empty queue is below XON.
    #[test]
    fn a_buffer_policy_keeps_correct_accounts(operations in operations(), room in 1u64..200_000) {
        for config in HeadroomConfig::all() {
            let spec = switch_spec(&config, room);
            let fabric = Fabric::new(spec).unwrap();
            let mut policy = config.build(&fabric.site(NodeId(PORTS)));
            let lossless: ClassMask = fabric.spec.switch.lossless.iter().copied().collect();
            let mut held = IndexVec::<PortIx, _>::from(vec![[0u64; CLASSES]; PORTS as usize]);
            let mut packets: VecDeque<(PortIx, Class, u64)> = VecDeque::new();
            let release_all = (0..operations.len()).map(|_| Operation::Release(0));
            let (mut peak, mut now) = (0, Time::ZERO);
            for operation in operations.iter().copied().chain(release_all) {
                now += Duration::from_ns(50);
                let (port, class) = match operation {
                    Operation::Admit(port, class, size) => {
                        let (class, size) = (Class(class), u64::from(size));
                        match admit(&mut policy, port, class, size, now) {
                            Ok(()) => {
                                held[port][class.index()] += size;
                                packets.push_back((port, class, size));
                            }
                            Err(cause) if lossless.has(class) => prop_assert_eq!(cause, DropCause::Headroom),
                            Err(cause) => prop_assert_eq!(cause, DropCause::BufferFull),
                        }
                        (port, class)
                    }
                    Operation::Release(which) => {
                        if packets.is_empty() {
                            continue;
                        }
                        let (port, class, size) = packets.remove(which % packets.len()).unwrap();
                        policy.release(&packet(port, class, size).context(EGRESS, &mut Records::default()), now);
                        held[port][class.index()] -= size;
                        (port, class)
                    }
                };
                let pressure = policy.pressure(port, class);
                prop_assert!(pressure.full.and(pressure.below_xon).is_empty(), "{:?}", pressure);
                prop_assert!(pressure.full.or(pressure.below_xon).minus(lossless).is_empty(), "{:?}", pressure);
                let is_empty = held[port][class.index()] == 0;
                let port_is_empty = held[port].iter().all(|held| *held == 0);
                prop_assert!(!port_is_empty || pressure.port != PortPressure::Full, "{:?}", pressure);
                prop_assert!(!(is_empty && lossless.has(class)) || pressure.below_xon.has(class), "{:?}", pressure);
                prop_assert_eq!(policy.ingress_occupancy(port, class), held[port][class.index()]);
                let occupancy = policy.occupancy();
                peak = peak.max(occupancy.used);
                prop_assert_eq!(occupancy.used, held.iter().flatten().sum::<u64>());
                prop_assert!(occupancy.used <= fabric.spec.switch.buffer.get());
                prop_assert!(occupancy.shared + occupancy.headroom <= occupancy.used);
            }
            prop_assert_eq!(policy.occupancy(), Occupancy { peak, ..Default::default() });
        }
    }

    /// Whatever other queues use, a queue whose upstream is paused has room for all frames in
    /// flight. A queue whose upstream is not paused has room for one frame. These frames include
    /// the packet that crossed the threshold.
    #[test]
    fn a_stopped_queue_still_has_its_headroom(
        operations in operations(), room in 1u64..200_000,
        ingress in (0..PORTS as u16).prop_map(PortIx), class in 2u8..4,
    ) {
        for config in HeadroomConfig::all().into_iter().filter(|config| config.facts().is_lossless) {
            let fabric = Fabric::new(switch_spec(&config, room)).unwrap();
            let site = fabric.site(NodeId(PORTS));
            let mut policy = config.build(&site);
            let mut now = Time::ZERO;
            let may_go = |policy: &AnyBufferPolicy, ingress, class| {
                let Pressure { full, port, .. } = policy.pressure(ingress, class);
                !full.has(class) && port != PortPressure::Full
            };
            // All queues take as many packets as possible, but stop when they are full.
            for operation in operations.iter() {
                now += Duration::from_ns(100);
                if let Operation::Admit(port, class, size) = operation && may_go(&policy, *port, Class(*class)) {
                    let _ = admit(&mut policy, *port, Class(*class), u64::from(*size), now);
                }
            }
            let class = Class(class);
            while may_go(&policy, ingress, class) {
                now += Duration::from_ns(100);
                prop_assert_eq!(admit(&mut policy, ingress, class, site.sizes.largest_charge(), now), Ok(()));
            }
            let before = policy.ingress_occupancy(ingress, class);
            while admit(&mut policy, ingress, class, 64, now).is_ok() {}
            let more = policy.ingress_occupancy(ingress, class) - before + site.sizes.largest_charge() + 64;
            let port = &site.ports[usize::from(ingress.0)];
            let is_adaptive = matches!(config, HeadroomConfig::Adaptive(_));
            let need = if is_adaptive { exact_need(&site, port) } else { worst_case(&site, port) };
            prop_assert!(more >= need, "{} has {} B more, and needs {}", config.name(), more, need);
        }
    }
}

// ------------------------------------------------------------------------------ congestion control

/// Returns the properties of a sender that has a link of `line_rate` to a switch and a base
/// round-trip time of 8 us.
fn sender(line_rate: Rate) -> SenderFacts {
    let fabric = Fabric::new(star(2)).unwrap();
    SenderFacts { base_rtt: Duration::from_us(8), ..fabric.sender(line_rate) }
}

fn data_frame(marked: bool) -> Frame {
    let (kind, class, flow) = (PacketKind::Data, Class(3), FlowId(0));
    let (sent_at, route) = (Timestamp::of(Time::ZERO), Route::towards(NodeId(1)));
    let packet = Packet { kind, class, marked, queue: 3, flow, psn: 0, sent_at, route };
    Frame::new(Body::Packet(packet), FrameSize { wire: 1106, charge: 1086 })
}

#[test]
fn a_congestion_point_marks_nothing_at_an_empty_queue_and_keeps_marks() {
    for config in CongestionConfig::all() {
        let mut spec = star(PORTS);
        spec.congestion = config;
        let fabric = Fabric::new(spec).unwrap();
        let mut node = Node::new(&fabric, NodeId(PORTS));
        let mut point = fabric.spec.congestion.point(&fabric.site(NodeId(PORTS)));
        let mut records = Records::default();
        for marked in [false, true] {
            let mut queued = QueuedPacket::new(data_frame(marked), PortIx(0), Time::ZERO);
            let packet = &mut queued.context(PortIx(1), &mut records);
            point.on_departure(packet, 0, &mut node.view(Time::from_ps(1_000_000), &fabric));
            assert_eq!(queued.frame.packet().map(|packet| packet.marked), Some(marked));
            let stamps = records.telemetry(queued.frame.record).map_or(0, |telemetry| telemetry.stamps().len());
            assert_eq!(stamps > 0, fabric.telemetry_bytes > 0);
        }
    }
}

#[test]
fn a_notification_point_reports_marked_packets_only() {
    for config in CongestionConfig::all() {
        let mut point = config.notification(Rate::from_gbps(100));
        let mut draws = Seed(1).stream("marks", 0);
        for packet in 0..10_000 {
            let marked = draws.chance(0.3);
            let notification = point.on_data(Time::from_ps(packet * 80_000), marked, 1106);
            let is_congested = matches!(notification.cnp, Some(Cnp::Congested(_)));
            assert!(marked || !notification.echo && !is_congested);
            assert!(!(notification.echo && is_congested), "a mark is reported once");
        }
    }
}

/// Returns an ACK of a flow that has these numbers of acknowledged and of sent bytes.
fn ack(now: Time, bytes: [u64; 2], rtt: Duration, hops: u8, telemetry: &Telemetry) -> AckView<'_> {
    let ([acked_bytes, sent_bytes], telemetry) = (bytes, Some(telemetry));
    AckView { now, arrived: None, acked_bytes, sent_bytes, rtt, hops, path: None, telemetry }
}

/// Draws a CNP that reports congestion, or one that does not.
fn cnp(draws: &mut Stream, line_rate: Rate) -> Cnp {
    if draws.chance(0.5) { Cnp::NotCongested } else { Cnp::Congested(Some(line_rate)) }
}

/// Draws telemetry of one switch whose port has a random load.
fn telemetry(draws: &mut Stream, now: Time, tx_bytes: &mut u64, last: &mut Time) -> Telemetry {
    let rate = Rate::from_gbps(100);
    *tx_bytes += (rate.bytes_in(now - *last) as f64 * draws.unit()) as u64;
    *last = now;
    let mut telemetry = Telemetry::default();
    telemetry.push(Stamp { time: now, tx_bytes: *tx_bytes, queue_bytes: draws.below(500_000), rate });
    telemetry
}

proptest! {
    #![proptest_config(common::cases(60))]

    /// Whatever ACKs and CNPs arrive, at whatever time, the rate is above 0 and at most the line
    /// rate, and the window is never 0.
    #[test]
    fn a_reaction_point_stays_between_its_lowest_rate_and_line_rate(
        seed in any::<u64>(), gbps in select(vec![1u64, 10, 25, 100, 400]),
    ) {
        for config in CongestionConfig::all() {
            let line_rate = Rate::from_gbps(gbps);
            let mut point = config.reaction(&sender(line_rate));
            let mut draws = Seed(seed).stream("sequence", 0);
            let (mut now, mut stamped, mut sent, mut acked, mut tx_bytes) = (Time::ZERO, Time::ZERO, 0, 0, 0);
            prop_assert_eq!(point.rate(now), line_rate, "flows start at line rate");
            for _ in 0..2000 {
                // Some gaps between ACKs are long.
                let mean = if draws.chance(0.02) { 1e9 } else { 2e5 };
                now += draws.exponential(mean);
                match draws.below(4) {
                    0 => point.on_cnp(now, cnp(&mut draws, line_rate)),
                    1 => {
                        sent += 1024;
                        point.on_sent(now, 1106);
                    }
                    _ if sent > acked => {
                        acked += 1024;
                        let telemetry = telemetry(&mut draws, now, &mut tx_bytes, &mut stamped);
                        let rtt = Duration::from_ns(8000 + draws.below(50_000));
                        point.on_ack(&ack(now, [acked, sent], rtt, 4, &telemetry));
                    }
                    _ => {}
                }
                let rate = point.rate(now);
                prop_assert!(rate <= line_rate && rate >= Rate::from_bps(1_000_000), "{} at {}", rate, now);
                prop_assert!(point.window() > 0);
            }
        }
    }
}

proptest! {
    #![proptest_config(common::cases(60))]

    /// After any history, pacing and window allow the rate that another control sets. If the window
    /// counts in packets, the rate may be lower by one packet per round trip.
    #[test]
    fn a_reaction_point_follows_a_rate_that_is_set(
        seed in any::<u64>(), gbps in prop::sample::select(vec![1u64, 10, 25, 100, 400]), share in 0.0f64..=1.0,
    ) {
        for config in CongestionConfig::all() {
            let facts = sender(Rate::from_gbps(gbps));
            let mut point = config.reaction(&facts);
            let mut draws = Seed(seed).stream("sequence", 0);
            let (mut now, mut stamped, mut acked, mut tx_bytes) = (Time::ZERO, Time::ZERO, 0, 0);
            for _ in 0..draws.below(300) {
                now += draws.exponential(2e6);
                if draws.chance(0.2) {
                    point.on_cnp(now, cnp(&mut draws, facts.line_rate));
                } else {
                    acked += u64::from(facts.sizes.mtu);
                    let telemetry = telemetry(&mut draws, now, &mut tx_bytes, &mut stamped);
                    let rtt = facts.base_rtt;
                    point.on_ack(&ack(now, [acked, acked], rtt, 2, &telemetry));
                }
            }
            // The lowest rate that is set is the highest minimum rate of all congestion controls.
            let (lowest, line) = (1e9, facts.line_rate.bps() as f64);
            let set = Rate::from_bps((lowest + share * (line - lowest)) as u64);
            point.set_rate(now, set);
            let wire = facts.sizes.framing.data(facts.sizes.mtu, false, 0).wire;
            let round_trip = facts.base_rtt.as_secs_f64() / 8.0;
            let windowed = point.window() as f64 * f64::from(wire) / f64::from(facts.sizes.mtu) / round_trip;
            let allowed = windowed.min(point.rate(now).bps() as f64);
            let less = set.bps() as f64 - allowed;
            let tolerated = -1.0..f64::from(wire) / round_trip;
            prop_assert!(tolerated.contains(&less), "{}: {} of {}", config.name(), allowed, set);
        }
    }
}

// ---------------------------------------------------------------------------------- load balancing

#[test]
fn a_load_balancer_uses_all_of_its_candidates_and_no_other_port() {
    let fabric = Fabric::new(star(20)).unwrap();
    let mut node = Node::new(&fabric, NodeId(20));
    for config in LoadBalanceConfig::all() {
        for count in 2..=16usize {
            // The ports towards a destination do not change, so every number of ports needs a new
            // balancer.
            let mut balancer = config.build(&fabric.site(NodeId(20)));
            let candidates: Vec<PortIx> = (0..count as u16).map(PortIx).collect();
            let mut chosen = vec![0; count];
            let mut choose = |key| {
                let (mut records, frame) = (Records::default(), data_frame(false));
                let mut queued = QueuedPacket::new(frame, PortIx(0), Time::ZERO);
                let packet = queued.context(PortIx::NONE, &mut records);
                let (key, destination) = (FlowKey(key), NodeId(1));
                let arrival = &mut RouteRequest { packet, destination, key, candidates: &candidates };
                match balancer.choose(arrival, &mut node.view(Time::ZERO, &fabric)) {
                    Choice::Candidate(index) => index,
                    Choice::Route(route) => panic!("the load balancer returned a whole route: {route:?}"),
                }
            };
            for key in 0..2000 {
                let index = choose(key);
                chosen[index] += 1;
                if config.is_static() {
                    assert_eq!(choose(key), index);
                }
            }
            let fair = 2000 / count;
            assert!(chosen.iter().all(|times| (fair / 2..fair * 2).contains(times)), "{config:?} {chosen:?}");
        }
    }
}

// ----------------------------------------------------------------------------------- loss recovery

/// A channel that loses some messages and delays the others by a random number of microseconds.
struct Channel<T> {
    in_flight: BinaryHeap<Reverse<(u64, T)>>,
    delay: Range<u64>,
    loss: f64,
    draws: Stream,
}

impl<T: Ord> Channel<T> {
    fn new(delay: Range<u64>, loss: f64, draws: Stream) -> Channel<T> {
        Channel { in_flight: BinaryHeap::new(), delay, loss, draws }
    }

    fn send(&mut self, now: u64, message: T) {
        if !self.draws.chance(self.loss) {
            let delay = self.delay.start + self.draws.below(self.delay.end - self.delay.start);
            self.in_flight.push(Reverse((now + delay, message)));
        }
    }

    fn receive(&mut self, now: u64) -> Option<T> {
        let is_due = self.in_flight.peek().is_some_and(|Reverse((at, _))| *at <= now);
        if is_due { self.in_flight.pop().map(|Reverse((_, message))| message) } else { None }
    }
}

proptest! {
    #![proptest_config(common::cases(100))]

    /// Every packet is delivered once and in order over any channel that reorders packets and has a
    /// loss rate below 1.
    #[test]
    fn a_recovery_delivers_everything_over_a_lossy_channel(
        seed in any::<u64>(), loss in 0.0f64..0.5, delay in 1u64..30, spread in 1u64..20,
        packets in 1u32..200, window in 1u32..64,
    ) {
        let facts = sender(Rate::from_gbps(100));
        for config in RecoveryConfig::all() {
            let (mut sender, mut receiver) = (config.sender(&facts), config.receiver());
            let delays = delay..delay + spread;
            let mut data: Channel<Psn> = Channel::new(delays.clone(), loss, Seed(seed).stream("data", 0));
            let mut answers: Channel<(bool, Psn, Psn)> = Channel::new(delays, loss, Seed(seed).stream("answers", 0));
            let mut arrived = BTreeSet::new();
            let (mut progress, mut expected, mut deadline) = (Progress::default(), 0, u64::MAX);
            let mut now = 0;
            while progress.acked < packets {
                now += 1;
                prop_assert!(now < 100_000_000, "the flow does not finish: {:?}", progress);
                while let Some(psn) = data.receive(now) {
                    let time = at_us(now);
                    arrived.insert(psn);
                    match receiver.on_data(psn, expected, time) {
                        Verdict::Deliver { packets } => {
                            prop_assert!((expected..expected + packets).all(|psn| arrived.contains(&psn)));
                            expected += packets;
                            answers.send(now, (true, expected, psn));
                        }
                        Verdict::Keep | Verdict::Duplicate => answers.send(now, (true, expected, psn)),
                        Verdict::Nack { .. } => answers.send(now, (false, expected, psn)),
                        Verdict::Ignore => {}
                    }
                }
                let timeout = sender.timeout(&progress).map_or(u64::MAX, |timeout| timeout.ps() / 1_000_000);
                while let Some((is_ack, expects, psn)) = answers.receive(now) {
                    let (before, arrived) = (progress, Some(psn).filter(|_| config.is_selective()));
                    let answer = Answer { is_nack: !is_ack, expected: expects, arrived, path: None };
                    sender.on_answer(&answer, &mut progress);
                    prop_assert!(progress.acked >= before.acked && progress.acked <= expected);
                    deadline = now + timeout;
                }
                if deadline <= now {
                    sender.on_timeout(&mut progress);
                    deadline = now + timeout;
                }
                prop_assert!(progress.next >= progress.acked && progress.next <= packets);
                let has_room = progress.next - progress.acked - sender.not_in_flight(&progress) < window;
                if let Some(psn) = sender.next(&progress, packets).filter(|_| has_room) {
                    data.send(now, psn);
                    sender.on_sent(psn, &mut progress);
                    deadline = deadline.min(now + timeout);
                } else if data.in_flight.is_empty() && answers.in_flight.is_empty() {
                    // The next event is the timer.
                    now = now.max(deadline - 1);
                }
            }
            prop_assert_eq!(expected, packets);
        }
    }
}
