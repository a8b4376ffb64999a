//! Swift in networks. A full packet has 1,106 B on the wire, takes 88.48 ns at 100 Gb/s, and is
//! charged 1,086 B. An ACK has 86 B.

use crate::prelude::*;
use backwater_fabric::mechanisms::congestion::swift::SwiftConfig;

fn with(spec: &NetworkSpec, congestion: CongestionConfig) -> NetworkSpec {
    NetworkSpec { congestion, ..spec.clone() }
}

/// Returns the time from a flow's start to its full acknowledgement.
fn completion(spec: &NetworkSpec, flow: FlowSpec) -> Duration {
    let start = flow.start;
    run(spec, vec![flow]).1[0].acknowledged.unwrap() - start
}

/// Returns h0 and h1 on s0, and h2 behind s1 and s2. Links of hosts and links between switches have
/// different delays.
fn near_and_far(host_ns: u64, switch_ns: u64) -> NetworkSpec {
    let mut spec = NetworkSpec::with_nodes(3, 3);
    let at_hosts = [(0, 3), (1, 3), (2, 5)].map(|(a, b)| link(a, b, 100, host_ns));
    let between = [(3, 4), (4, 5)].map(|(a, b)| link(a, b, 100, switch_ns));
    spec.links = at_hosts.into_iter().chain(between).collect();
    spec
}

/// Without queues, no packet exceeds the target delay, on the longest path or on a short one, and
/// the window covers a round trip. The flow is as fast as without congestion control, to the
/// picosecond.
#[test]
fn a_flow_alone_is_as_fast_as_without_congestion_control() {
    for spec in [near_and_far(1000, 1000), near_and_far(300, 5000), near_and_far(5000, 300), star_of(3, 100, 500)] {
        let swift = with(&spec, CongestionConfig::Swift(SwiftConfig::default()));
        for (src, dst) in [(0, 2), (0, 1), (2, 1)] {
            let flow = flow(src, dst, 1_000_000, 0);
            assert_eq!(completion(&swift, flow.clone()), completion(&spec, flow), "{src} to {dst}");
        }
    }
}

/// The target is 15 us, but a round trip takes 16 us over the longest path and 8 us over a short
/// path.
#[test]
fn a_target_below_the_base_round_trip_time_starves_a_flow() {
    let spec = near_and_far(2000, 2000);
    let none = Some(Duration::ZERO);
    let config =
        SwiftConfig { base_target: Some(Duration::from_us(15)), per_hop: none, fs_range: none, ..Default::default() };
    let swift = with(&spec, CongestionConfig::Swift(config));
    let [far, near] = [2, 1].map(|dst| flow(0, dst, 3_000_000, 0));
    assert!(completion(&swift, far.clone()) > completion(&spec, far) * 100);
    assert_eq!(completion(&swift, near.clone()), completion(&spec, near));
}

/// Measures from 3 ms to 6 ms. Many senders at 100 Gb/s send to one receiver over links with a
/// delay of 1 us.
#[derive(Debug)]
struct Measures {
    /// Shortest, longest and mean queue at the receiver's port, in packets.
    queue: [f64; 3],
    /// Smallest and largest share of a flow, in multiples of the fair share.
    shares: [f64; 2],
    /// Utilisation of the receiver's link.
    load: f64,
    pauses: u64,
}

fn watch(senders: u32, receiver_gbps: u64, config: SwiftConfig) -> Measures {
    let mut spec = star(senders + 1);
    spec.links[senders as usize].rate = Rate::from_gbps(receiver_gbps);
    spec.congestion = CongestionConfig::Swift(config);
    let flows = (0..senders).map(|sender| flow(sender, senders, FlowSpec::ENDLESS, u64::from(sender) * 700));
    let mut simulation = Simulation::new(spec, flows.collect(), 1).unwrap();
    simulation.run_until(at_us(3000), 1);
    let (before, pauses) = (delivered(&simulation), simulation.totals().pause_frames);
    let mut queue = Vec::new();
    for us in (3000..6000).step_by(2) {
        simulation.run_until(at_us(us), 1);
        let switch = simulation.node(NodeId(senders + 1));
        queue.push(switch.ports()[PortIx(senders as u16)].queued_bytes() as f64 / 1086.0);
    }
    simulation.run_until(at_us(6000), 1);
    let gained: Vec<u64> = delivered(&simulation).iter().zip(before).map(|(after, before)| after - before).collect();
    let total: u64 = gained.iter().sum();
    let share = |bytes: &u64| *bytes as f64 / total as f64 * f64::from(senders);
    let [least, most] = [gained.iter().min(), gained.iter().max()].map(|bytes| share(bytes.unwrap()));
    let mean = queue.iter().sum::<f64>() / queue.len() as f64;
    let extreme = |choose: fn(f64, f64) -> f64| queue.iter().copied().reduce(choose).unwrap();
    Measures {
        queue: [extreme(f64::min), extreme(f64::max), mean],
        shares: [least, most],
        load: total as f64 / 1024.0 * 1106.0 * 8.0 / (receiver_gbps as f64 * 3e6),
        pauses: simulation.totals().pause_frames - pauses,
    }
}

/// Eight windows of w packets take 8 x 88.48 ns x w on the receiver's link. This time equals the
/// target delay, which consists of 4.19 us of base round-trip time, 8 us of queueing, and flow
/// scaling. With a range of 60.95 us, flow scaling adds 19.9 us / sqrt(w) - 1.99 us. The solution
/// is w = 20.6. The target is then 14.6 us, of which a queue of 118 packets takes 10.4 us.
#[test]
fn windows_hold_the_queue_where_the_delay_is_the_target() {
    let seen = watch(8, 100, SwiftConfig::default());
    assert!((seen.queue[2] - 118.0).abs() < 4.0 && seen.queue[0] > 108.0 && seen.queue[1] < 128.0, "{seen:?}");
    assert!(seen.shares[0] > 0.97 && seen.shares[1] < 1.03, "{seen:?}");
    assert!(seen.load > 0.999 && seen.pauses == 0, "{seen:?}");
}

/// 64 senders send to a receiver at 10 Gb/s. One packet takes 884.8 ns, and one packet of each
/// sender takes 56.6 us in all. Windows are smaller than a packet, and shares are fair.
///
/// The base round-trip time is 5.05 us. With a range of 65.3 us, flow scaling adds 21.3 us /
/// sqrt(w) - 2.13 us. The windows take 56.6 us x w, and the target is 13.05 us plus flow scaling.
/// Both are 37.2 us for w = 0.66, of which a queue of 36 packets takes 32.2 us. Windows grow in
/// steps of a whole packet, which makes the queue some packets longer.
#[test]
fn many_flows_share_a_link_with_windows_below_a_packet() {
    let config = SwiftConfig { initial_cwnd: Some(1.0), ..Default::default() };
    let seen = watch(64, 10, config.clone());
    assert!(seen.queue[0] > 25.0 && seen.queue[1] < 60.0 && (seen.queue[2] - 40.0).abs() < 5.0, "{seen:?}");
    assert!(seen.shares[0] > 0.8 && seen.shares[1] < 1.2, "{seen:?}");
    assert!(seen.load > 0.999 && seen.pauses == 0, "{seen:?}");
    // Without flow scaling shares are unequal: some flows get many times the rate of others.
    let unscaled = watch(64, 10, SwiftConfig { fs_range: Some(Duration::ZERO), ..config });
    assert!(unscaled.shares[0] < 0.3 && unscaled.shares[1] > 2.0, "{unscaled:?}");
}

/// With a window of half a packet, the next packet leaves two round-trip times after the last one,
/// to the picosecond.
#[test]
fn a_window_below_a_packet_is_paced() {
    let mut spec = star(2);
    let zero = Some(0.0);
    spec.congestion = CongestionConfig::Swift(SwiftConfig {
        initial_cwnd: Some(0.5),
        ai: zero,
        rtt_weight: zero,
        base_target: Some(Duration::from_ms(1)),
        ..Default::default()
    });
    let mut s = Script::new(&spec, vec![flow(0, 1, 4096, 0)], 0);
    // The first packet has 1,122 B. Its ACK shows a round trip of 5 us; 1,106 B in 10 us are 884.8
    // Mb/s, at which 1,122 B take 10.144 665 us.
    expect!(s, 0..89_760 ps, port 0, Data(3, 0));
    arrive!(s, 5_000_000 ps, port 0, ack of flow 0, expected 1);
    expect!(s, 10_144_665..10_233_145 ps, port 0, Data(3, 1));
    // ACKs of the script are for packets sent at time 0, so this ACK shows a round trip of 16 us.
    // The third packet leaves 32 us after the second one.
    arrive!(s, 16_000_000 ps, port 0, ack of flow 0, expected 2);
    expect!(s, 42_144_665..42_233_145 ps, port 0, Data(3, 2));
    // Without an ACK no packet leaves, because less than one packet may be in flight.
    expect_nothing!(s, before 1_000_000_000 ps);
}
