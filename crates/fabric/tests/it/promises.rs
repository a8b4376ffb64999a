//! Claims of the papers of baseline mechanisms that no other file tests. `docs/testing.md` lists
//! these claims.

use crate::prelude::*;
use backwater_fabric::mechanisms::congestion::hpcc::HpccConfig;
use backwater_fabric::mechanisms::congestion::pcn::PcnConfig;
use backwater_fabric::network::spec::SwitchConfig;

/// Returns each flow's payload in Gb/s between two instants, in microseconds.
fn goodput(simulation: &mut Simulation, from: u64, to: u64) -> Vec<f64> {
    simulation.run_until(at_us(from), 1);
    let before = delivered(simulation);
    simulation.run_until(at_us(to), 1);
    let gained = delivered(simulation).into_iter().zip(before).map(|(after, before)| after - before);
    gained.map(|bytes| bytes as f64 * 8.0 / ((to - from) as f64 * 1e3)).collect()
}

/// DCQCN, section 6: flows that join one after the other converge to equal shares, the link stays
/// full, and no PAUSE is needed. Four flows share 40 Gb/s and start 1 ms apart. Rates are measured
/// from 20 to 40 ms.
#[test]
fn dcqcn_flows_converge_to_equal_shares_without_pauses() {
    let mut spec = star_of(5, 40, 1000);
    let profile = DcqcnProfile::Paper;
    spec.congestion = CongestionConfig::Dcqcn(DcqcnConfig { profile, ..Default::default() });
    for seed in 1..=3 {
        spec.seed = seed;
        let flows = (0..4).map(|host| flow(host, 4, FlowSpec::ENDLESS, u64::from(host) * 1_000_000)).collect();
        let mut simulation = Simulation::new(spec.clone(), flows, 1).unwrap();
        let rates = goodput(&mut simulation, 20_000, 40_000);
        let (sum, squares) = rates.iter().fold((0.0, 0.0), |(sum, squares), rate| (sum + rate, squares + rate * rate));
        let jain = sum * sum / (4.0 * squares);
        // The link carries at most 37.0 Gb/s of payload.
        assert!(sum > 0.9 * 37.0 && jain > 0.95, "seed {seed}: {rates:?}, Jain's index {jain}");
        assert_eq!(simulation.totals().pause_frames, 0);
    }
}

/// HPCC, section 5: the utilisation of the link is eta = 95 %, and the queue stays near zero. Eight
/// flows share 100 Gb/s. From 10 ms on, the queue is below an eighth of the BDP at 4,000 instants.
#[test]
fn hpcc_fills_the_link_to_eta_with_next_to_no_queue() {
    let mut spec = star(9);
    spec.congestion = CongestionConfig::Hpcc(HpccConfig::default());
    let flows = (0..8).map(|host| flow(host, 8, FlowSpec::ENDLESS, u64::from(host) * 700)).collect();
    let mut simulation = Simulation::new(spec, flows, 1).unwrap();
    simulation.run_until(at_us(10_000), 1);
    let (before, mut longest) = (delivered(&simulation), 0);
    for us in (10_000..14_000).step_by(1) {
        simulation.run_until(at_us(us), 1);
        longest = longest.max(simulation.node(NodeId(9)).ports()[PortIx(8)].queued_bytes());
    }
    let gained: u64 = delivered(&simulation).iter().sum::<u64>() - before.iter().sum::<u64>();
    // Of 1,148 B on the wire, 1,024 are payload.
    let used = gained as f64 * 1148.0 / 1024.0 / 50e6;
    let bdp = Rate::from_gbps(100).bytes_in(simulation.fabric().base_rtt);
    assert!((0.92..0.98).contains(&used) && longest < bdp / 8, "{used} {longest} {bdp}");
}

/// Returns two long flows from one rack to another over one link of 40 Gb/s, and a burst. Flow 0
/// goes from h0 to h2, flow 1 from h1 to h3. At 5 ms, each of hosts 4 to 17 in the rack of h3 sends
/// 16 flows of 64 KB to h3, 14.3 MB in all.
fn two_flows_and_a_burst(congestion: CongestionConfig, seed: u64) -> Simulation {
    let mut spec = NetworkSpec::with_nodes(18, 2);
    spec.links = (0..18).map(|host| link(host, 18 + u32::from(host > 1), 40, 5000)).collect();
    spec.links.push(link(18, 19, 40, 5000));
    spec.seed = seed;
    spec.switch.buffer = Bytes(9_000_000);
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig::default());
    spec.congestion = congestion;
    let mut flows = vec![flow(0, 2, FlowSpec::ENDLESS, 0), flow(1, 3, FlowSpec::ENDLESS, 0)];
    flows.extend((4..18).flat_map(|host| (0..16).map(move |_| flow(host, 3, 64_000, 5_000_000))));
    Simulation::new(spec, flows, 1).unwrap()
}

/// PCN, sections 2 and 6: flow 0 shares a paused link with flow 1, but does not pass flow 1's
/// congested port. DCQCN takes marks caused by a PAUSE for congestion and slows flow 0 down long
/// after the burst; PCN does not. With seeds 1 to 3, flow 0 gets more than 1.3 times the payload
/// that it gets under DCQCN in the 5 ms from the burst on. Flow 1 gets less than half of flow 0's
/// payload.
#[test]
fn pcn_slows_the_culprit_of_a_burst_and_not_its_victim() {
    for seed in 1..=3 {
        let of = |congestion| goodput(&mut two_flows_and_a_burst(congestion, seed), 5_000, 10_000);
        let pcn = of(CongestionConfig::Pcn(PcnConfig::default()));
        let profile = DcqcnProfile::Paper;
        let dcqcn = of(CongestionConfig::Dcqcn(DcqcnConfig { profile, ..Default::default() }));
        assert!(pcn[0] > 1.3 * dcqcn[0] && pcn[1] < pcn[0] / 2.0, "{:?} {:?}", &pcn[..2], &dcqcn[..2]);
    }
}

/// LetFlow, section 3: flowlets are elastic, so that more bytes take the path with more bandwidth,
/// though every choice is random. Twelve windowed flows of 5 MB take paths of 100 and 25 Gb/s, with
/// seeds 1 to 5. LetFlow sends 75 to 85 % of the bytes over the faster path, which has 80 % of the
/// capacity. ECMP sends 25 to 75 %, the share of the flows that it hashes to this path.
#[test]
fn letflow_sends_more_over_the_path_with_more_bandwidth() {
    let flowlets = LetFlowConfig { flowlet_timeout: Duration::from_us(5), ..Default::default() };
    let shares = |load_balance: LoadBalanceConfig| {
        (1..=5).map(move |seed| {
            let mut spec = NetworkSpec::with_nodes(24, 4);
            spec.links = (0..24).map(|host| link(host, 24 + host / 12, 25, 1000)).collect();
            let paths = [(26, 100), (27, 25)].map(|(spine, gbps)| [24, 25].map(|leaf| link(leaf, spine, gbps, 1000)));
            spec.links.extend(paths.into_iter().flatten());
            spec.seed = seed;
            spec.load_balance = load_balance.clone();
            spec.congestion = CongestionConfig::Swift(Default::default());
            spec.recovery = RecoveryConfig::InAnyOrder(Default::default());
            let flows = (0..12).map(|host| flow(host, host + 12, 5_000_000, u64::from(host) * 1000)).collect();
            let (simulation, _) = run(&spec, flows);
            let sent = [12, 13].map(|port| simulation.node(NodeId(24)).ports()[PortIx(port)].sent_bytes() as f64);
            sent[0] / (sent[0] + sent[1])
        })
    };
    let letflow: Vec<f64> = shares(LoadBalanceConfig::LetFlow(flowlets)).collect();
    assert!(letflow.iter().all(|share| (0.75..0.85).contains(share)), "{letflow:?}");
    assert!(shares(LoadBalanceConfig::Ecmp(Default::default())).any(|share| share < 0.5));
}

/// BFC, sections 2 and 3: as long as queues are available, an incast does not slow flows that share
/// links with the incast, but not its congested port. Eight hosts send to one receiver behind a
/// link of 400 Gb/s, and a ninth host sends to the receiver's neighbour. The ninth host's flow gets
/// over 90 of 92.6 Gb/s under BFC, and less than half of 92.6 Gb/s under PFC.
#[test]
fn bfc_leaves_the_victim_of_an_incast_its_rate() {
    let victim = |switch: SwitchConfig| {
        let mut spec = NetworkSpec { switch, ..NetworkSpec::with_nodes(11, 2) };
        spec.links = (0..11).map(|host| link(host, 11 + u32::from(host > 8), 100, 1000)).collect();
        spec.links.push(link(11, 12, 400, 1000));
        spec.switch.buffer = Bytes(4_000_000);
        let mut flows: Vec<FlowSpec> = (0..8).map(|host| flow(host, 9, FlowSpec::ENDLESS, 0)).collect();
        flows.push(flow(8, 10, FlowSpec::ENDLESS, 0));
        goodput(&mut Simulation::new(spec, flows, 1).unwrap(), 1000, 2000)[8]
    };
    let (flow_control, headroom) = (FlowControlConfig::Bfc(Default::default()), HeadroomConfig::Static(whole_buffer()));
    let bfc = victim(SwitchConfig { lossless: Vec::new(), flow_control, headroom, ..Default::default() });
    let pfc = victim(SwitchConfig::default());
    assert!(bfc > 90.0 && pfc < 46.3, "{bfc} {pfc}");
}

/// A threshold that no queue reaches.
fn whole_buffer() -> StaticConfig {
    StaticConfig { xoff: Bytes(4_000_000), headroom: Some(Bytes(0)), ..Default::default() }
}
