//! PFC*: a packet's lossless class rises with each further switch on its path, so that no cycle of
//! waiting queues can form.

use crate::prelude::*;
use backwater_fabric::mechanisms::flow_control::pfc_star::PfcStarConfig;
use proptest::prelude::*;

fn pfc_star(spec: NetworkSpec, classes: u8, xoff: u64) -> NetworkSpec {
    let mut spec = spec;
    spec.switch.flow_control = FlowControlConfig::PfcStar(Default::default());
    spec.switch.lossless = (3..3 + classes).map(Class).collect();
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff: Bytes(xoff), ..Default::default() });
    spec
}

fn sent(s: &mut Script, limit: u64) -> Vec<(u16, Content)> {
    std::iter::from_fn(|| s.next_sent(limit)).map(|Sent { port, content, .. }| (port, content)).collect()
}

/// A server of BCube(2, 1) relays packets of class 3 in class 4. Its PAUSE names the class of
/// arrival, 3, and the relayed packets wait for class 4 of the next link.
#[test]
fn a_server_relays_in_the_next_class_and_pauses_the_class_of_arrival() {
    let mut s = Script::new(&pfc_star(bcube(2, 1), 2, 2000), vec![flow(0, 3, 1 << 20, 0)], 1);
    s.arrive_data(0, 0, 0, 0);
    assert_eq!(sent(&mut s, 500_000), [(1, Content::Data(4, 0))]);
    // Packets wait for class 4 of the next link, not for class 3.
    s.arrive_pfc(500_000, 1, &[3], 65_535);
    s.arrive_data(1_000_000, 0, 0, 1);
    assert_eq!(sent(&mut s, 1_500_000), [(1, Content::Data(4, 1))]);
    s.arrive_pause(1_500_000, 1, 4, PortId(77).into());
    s.arrive_each(2_000_000, 0, 0, 0, 2..4);
    let parent = Some(Parent { queue: QueueIx(4), since: Time::from_ps(1_500_000) });
    let cause = Cause { via: Some(s.port(1).id), parent, ..PortId(77).into() };
    assert_eq!(s.next_pause(), (0, vec![(3, cause)]));
}

/// In a chain h0 - s0 - s1 - s2 - h1, a packet has class 3 at the first switch, 4 at the second and
/// 5 at the third. A configuration with one class fewer is refused. A packet on a detour that
/// already has the last class keeps this class.
#[test]
fn a_switch_raises_what_comes_from_another_switch() {
    let chain = || chain(&[100; 4], 1000);
    let leaves = |switch: u32, class| {
        let flow = FlowSpec { class: Class(class), ..flow(0, 1, 1 << 20, 0) };
        let mut s = Script::new(&pfc_star(chain(), 3, 100_000), vec![flow], switch);
        s.arrive_data(0, 0, 0, 0);
        sent(&mut s, 500_000)
    };
    assert_eq!(leaves(2, 3), [(1, Content::Data(3, 0))]);
    assert_eq!([3, 5].map(|class| leaves(3, class)), [4, 5].map(|class| vec![(1, Content::Data(class, 0))]));
    let refused = Fabric::new(pfc_star(chain(), 2, 100_000)).unwrap_err();
    let [error] = &refused[..] else { panic!("{refused:?}") };
    assert_eq!(error.path, "switch.flow_control");
    assert!(error.message.contains("up to 3 switches, but switch.lossless has 2"), "{error}");
}

/// A PAUSE takes effect after the response time, as with PFC.
#[test]
fn a_pause_takes_effect_after_the_response_time() {
    let mut spec = pfc_star(bcube(2, 1), 2, 100_000);
    let response = Duration::from_us(1);
    spec.switch.flow_control = FlowControlConfig::PfcStar(PfcStarConfig { response, ..Default::default() });
    let mut s = Script::new(&spec, vec![flow(0, 3, 1 << 20, 0)], 1);
    s.arrive_pfc(0, 1, &[4], 65_535);
    s.arrive_data(500_000, 0, 0, 0);
    s.arrive_data(1_000_001, 0, 0, 1);
    assert_eq!(sent(&mut s, 2_000_000), [(1, Content::Data(4, 0))]);
}

/// Three switches with a host each form a ring. Configured routes send packets for one host back
/// and forth between the other two switches.
#[test]
fn routing_loops_are_refused() {
    let ends = (0..3).map(|host| (host, 3 + host)).chain((0..3).map(|switch| (3 + switch, 3 + (switch + 1) % 3)));
    let spec = pfc_star(linked(3, 3, ends), 3, 100_000);
    assert!(Fabric::new(spec.clone()).is_ok());
    let route = |node, next| RouteSpec { node: NodeId(node), to: NodeId(1), next: NodeId(next) };
    let looped = NetworkSpec { routes: vec![route(3, 5), route(5, 3)], ..spec };
    assert!(Fabric::new(looped).unwrap_err().iter().any(|error| error.to_string().contains("up to")));
}

/// The chain has far more switches than a packet can pass.
#[test]
fn a_chain_of_60000_switches_is_refused() {
    let mut spec = NetworkSpec::with_nodes(2, 60_000);
    let switches = (2..60_001).map(|switch| link(switch, switch + 1, 100, 1000));
    spec.links = [link(0, 2, 100, 1000), link(1, 60_001, 100, 1000)].into_iter().chain(switches).collect();
    assert!(Fabric::new(pfc_star(spec, 3, 100_000)).is_err());
}

#[test]
fn a_flow_pinned_to_more_switches_than_classes_is_refused() {
    let mut fabric = Fabric::new(pfc_star(bcube(4, 1), 2, 100_000)).unwrap();
    let detour = via(0, &[16, 1, 21, 5, 17], 4, 1000);
    assert!(fabric.check_flow(&detour).unwrap_err().message.contains("up to 3 switches"));
    assert_eq!(Fabric::new(pfc_star(bcube(4, 1), 3, 100_000)).unwrap().check_flow(&detour), Ok(()));
    assert!(Fabric::new(pfc_star(bcube(2, 2), 2, 100_000)).is_err());
}

/// Checks that `flows` finish in BCube(4, 1) without a deadlock.
fn goes_through(flows: Vec<FlowSpec>) {
    let mut spec = pfc_star(bcube(4, 1), 2, 10_000);
    spec.switch.buffer = Bytes(5_000_000);
    common::assert_flows_finish(spec, flows);
}

/// In the case of Figure 5 of the PortFC paper, PFC has a deadlock if servers forward PAUSEs, and
/// PFC* has none.
#[test]
fn two_flows_and_a_burst_finish() {
    goes_through(common::two_flows_and_a_burst());
}

/// PFC has a deadlock with these flows (`relays.rs`), and PFC* has none.
#[test]
fn four_flows_round_four_servers_finish() {
    goes_through(common::four_flows_and_bursts());
}

/// Draws a ring of switches with hosts, whose shortest paths close a cycle, or a BCube.
fn networks() -> impl Strategy<Value = NetworkSpec> {
    let ring = (3u32..8, 1u32..3).prop_map(|(switches, per_switch)| {
        let hosts = switches * per_switch;
        let access = (0..hosts).map(|host| (host, hosts + host / per_switch));
        let ring = (0..switches).map(|switch| (hosts + switch, hosts + (switch + 1) % switches));
        linked(hosts, switches, access.chain(ring))
    });
    prop_oneof![ring, (2u32..5).prop_map(|n| bcube(n, 1)), Just(bcube(2, 2))]
}

proptest! {
    #![proptest_config(common::cases(100))]

    /// With a class for every switch on a path no packet is lost, and there is no deadlock.
    #[test]
    fn no_network_deadlocks(
        spec in networks(),
        drawn in prop::collection::vec((any::<u32>(), any::<u32>(), 1u64..200_000, 0u64..20_000), 1..40),
        xoff in 2_000u64..60_000,
        pause in select(vec![PauseModel::UntilResume, PauseModel::Quanta]),
        shards in 1usize..4,
    ) {
        let mut spec = pfc_star(spec, 5, xoff);
        spec.switch.flow_control = FlowControlConfig::PfcStar(PfcStarConfig { pause, ..Default::default() });
        let hosts = spec.nodes.iter().filter(|node| node.kind.has_endpoint()).count() as u32;
        let made = drawn.into_iter().map(|(src, ahead, bytes, start)| {
            let src = src % hosts;
            flow(src, (src + 1 + ahead % (hosts - 1)) % hosts, bytes, start)
        });
        let mut simulation = Simulation::new(spec, sorted(made), shards).unwrap();
        prop_assert_eq!(find_deadlock(&mut simulation, 10, 200), None);
        drain(&mut simulation);
        prop_assert_eq!((simulation.totals().drops, simulation.violations()), ([0; 5], vec![]));
        prop_assert_eq!((simulation.unfinished(), simulation.audit()), (vec![], vec![]));
    }
}
