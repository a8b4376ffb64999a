//! Unit tests of `incast` traffic.

use super::super::tests::*;
use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn bursts_have_degree_and_period() {
    let made = flows(
        "{ kind = \"incast\", degree = 10, size = \"64 KB\", receivers = \"h5\", period = \"100 us\", start = \"50 \
            us\" }",
        1,
    );
    let bursts = bursts(&made);
    assert_eq!(
        bursts.keys().map(|time| time.ps()).collect::<Vec<_>>(),
        (0..10).map(|i| 50_000_000 + i * 100_000_000).collect::<Vec<_>>()
    );
    for burst in bursts.values() {
        assert!(burst.iter().all(|flow| flow.dst == NodeId(5) && flow.bytes == 64_000 && rack(flow.src) != 1));
        assert_eq!(burst.iter().map(|flow| flow.src).collect::<BTreeSet<_>>().len(), 10);
    }
}

#[test]
fn large_incasts_reuse_senders_evenly() {
    let count = |pick: &str| {
        let made = flows(
            &format!(
                "{{ kind = \"incast\", degree = 40, total = \"40001 B\", receivers = \"h0\", senders = \"any\", pick \
                    = \"{pick}\" }}"
            ),
            1,
        );
        assert_eq!((made.len(), made.iter().map(|flow| flow.bytes).sum::<u64>()), (40, 40_001));
        let mut counts = BTreeMap::new();
        for flow in &made {
            *counts.entry(flow.src).or_insert(0) += 1;
        }
        counts.into_values().collect::<Vec<u32>>()
    };
    let even = count("even");
    assert!(even.len() == 15 && even.iter().all(|count| [2, 3].contains(count)));
    assert!(count("uniform").iter().any(|count| ![2, 3].contains(count)));
}

#[test]
fn degree_can_be_drawn_from_a_range() {
    let made = flows("{ kind = \"incast\", degree = [1, 15], size = \"64 KB\", load = 0.5 }", 50);
    let degrees: Vec<usize> = bursts(&made).values().map(Vec::len).collect();
    assert!(degrees.iter().all(|degree| (1..=15).contains(degree)));
    for degree in 1..=15 {
        let share = degrees.iter().filter(|other| **other == degree).count() as f64 / degrees.len() as f64;
        assert!((share * 15.0 - 1.0).abs() < 0.3, "{degree}: {share}");
    }
    assert!((offered(&made, 16, 50) / 0.5 - 1.0).abs() < 0.02);
}

#[test]
fn load_is_a_share_of_the_receivers_link_capacity() {
    for arrivals in ["periodic", "poisson"] {
        for (receivers, hosts) in [("[\"h0\"]", 1), ("\"h*\"", 16)] {
            let made = flows(
                &format!(
                    "{{ kind = \"incast\", degree = 8, size = {{ uniform = [\"2 KB\", \"6 KB\"] }}, receivers = \
                     {receivers}, load = 0.5, arrivals = \"{arrivals}\", jitter = \"100 ns\" }}"
                ),
                200,
            );
            let measured = offered(&made, hosts, 200);
            assert!((measured / 0.5 - 1.0).abs() < 0.02, "{arrivals} {receivers}: {measured}");
        }
    }
}

/// Each burst of the incast has 720 flows with 30 to 40 packets each, at load 0.5 of the receiver's
/// link. Poisson traffic between racks has load 0.8 and excludes the receiver.
#[test]
fn incast_mix_of_pyrrha_section_viii() {
    let graph =
        graph("kind = \"leaf-spine\"\nleaves = 10\nspines = 4\nhosts_per_leaf = 16\nuplink_rate = \"400 Gbps\"");
    let traffic = "{ kind = \"incast\", degree = 720, size = { uniform = [\"43.8 KB\", \"58.4 KB\"], unit = \"1460 B\" \
     }, receivers = \"h0\", senders = \"other-racks\", pick = \"uniform\", load = 0.5, jitter = \"100 ns\" }, { kind = \
     \"poisson\", sizes = \"webserver-64k\", load = 0.8, intra_rack = 0.0, exclude_receivers = \"incast\", start = \
     \"30 us\" }";
    let made = try_on(&graph, traffic, 60).unwrap();
    let rack = |host: NodeId| host.0 / 16;
    let (incast, poisson): (Vec<_>, Vec<_>) = made.flows().partition(|flow| flow.tag == 0);
    // The mean period is the time of 720 x 35 x 1460 B at 50 Gb/s.
    let period = 5_886_720_000;
    let mut sources = BTreeSet::new();
    for (burst, flows) in incast.chunks(720).enumerate() {
        let since = |flow: &FlowSpec| flow.start.ps() - burst as u64 * period;
        assert!(flows.len() == 720 && flows.iter().all(|flow| since(flow) < 100_000), "burst {burst}");
        assert!(flows.iter().any(|flow| since(flow) > 90_000));
        assert!(flows.iter().all(|flow| flow.dst == NodeId(0) && rack(flow.src) != 0));
        assert!(flows.iter().all(|flow| flow.bytes % 1460 == 0 && (30..=40).contains(&(flow.bytes / 1460))));
        // Senders are drawn with repetition: some of the 144 hosts send more often than others.
        let mut counts = BTreeMap::new();
        for flow in flows {
            *counts.entry(flow.src).or_insert(0) += 1;
        }
        assert!(counts.values().any(|count| *count < 3) && counts.values().any(|count| *count > 7));
        sources.extend(counts.into_keys());
    }
    assert_eq!((incast.len(), sources.len()), (11 * 720, 144));
    assert!(
        poisson.iter().all(|flow| flow.src != NodeId(0) && flow.dst != NodeId(0) && rack(flow.src) != rack(flow.dst))
    );
    assert!(poisson[0].start >= Time::from_ps(30_000_000) && poisson[0].start < Time::from_ps(31_000_000));
    let measured = offered(&poisson, 159, 60);
    assert!((measured / 0.8 - 1.0).abs() < 0.02, "{measured}");
}

#[test]
fn senders_can_be_a_rack_or_a_list() {
    let sources = |senders: &str| {
        let made = flows(
            &format!("{{ kind = \"incast\", degree = 3, size = \"1 KB\", receivers = \"h5\", senders = {senders} }}"),
            1,
        );
        made.iter().map(|flow| flow.src.0).collect::<BTreeSet<_>>()
    };
    assert_eq!(sources("\"same-rack\""), BTreeSet::from([4, 6, 7]));
    assert_eq!(sources("[\"h0\", \"h5\", \"h6\", \"h9\"]"), BTreeSet::from([0, 6, 9]));
    let star = graph("kind = \"star\"\nhosts = 4");
    let made = try_on(&star, "{ kind = \"incast\", degree = 3, size = \"1 KB\", receivers = \"h1\" }", 1).unwrap();
    assert_eq!(made.flows().map(|flow| flow.src.0).collect::<BTreeSet<_>>(), BTreeSet::from([0, 2, 3]));
}

#[test]
fn fans_list_receivers_with_their_senders() {
    let fans = |traffic: &str| -> Vec<(u32, Vec<u32>)> {
        let made = try_on(&fabric(), traffic, 1).unwrap();
        made.fans().map(|(receiver, senders)| (receiver.0, senders.into_iter().map(|host| host.0).collect())).collect()
    };
    let incast = "{ kind = \"incast\", degree = 3, size = \"1 KB\", receivers = [\"h0\", \"h5\"], senders = [\"h1\", \
        \"h5\", \"h9\"] }";
    assert_eq!(fans(incast), [(0, vec![1, 5, 9]), (5, vec![1, 9])]);
    assert_eq!(
        fans("{ kind = \"incast\", degree = 3, size = \"1 KB\", receivers = \"h0\" }"),
        [(0, (4..16).collect())]
    );
    assert_eq!(fans(&incast.replace("degree", "role = \"other\", degree")), []);
    let roles = |traffic: &str| try_on(&fabric(), traffic, 1).unwrap().roles;
    let poisson = "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.1 }";
    let list = "{ kind = \"flows\", role = \"incast\", flows = [{ src = \"h0\", dst = \"h1\" }] }";
    let all = format!("{incast}, {poisson}, {list}, {incast}");
    assert_eq!(roles(&all), [Role::Incast, Role::Other, Role::Incast]);
    assert_eq!(try_on(&fabric(), &all, 1).unwrap().traced, BTreeSet::from([2]));
}

proptest! {
    #[test]
    fn any_incast_is_generated_or_rejected(
        degree in 0u32..50, load in -0.5f64..1.5, jitter in 0u64..2_000_000,
        bursts in prop::option::of(0u32..5), poisson in any::<bool>(),
    ) {
        let limit = bursts.map_or(String::new(), |bursts| format!("bursts = {bursts}, "));
        let arrivals = if poisson { "poisson" } else { "periodic" };
        let traffic = format!(
            "{{ kind = \"incast\", degree = {degree}, size = \"webserver-64k\", {limit}load = {load:?}, arrivals = \
             \"{arrivals}\", jitter = \"{jitter} ps\" }}"
        );
        match try_on(&fabric(), &traffic, 1) {
            Ok(made) => prop_assert!(made.flows().all(|flow| flow.src != flow.dst && flow.start < Time::from_ps(MS))),
            Err(errors) => prop_assert!(!errors.is_empty()),
        }
    }
}

#[test]
fn invalid_options_are_rejected() {
    check_rejected(&[
        (
            "{ kind = \"incast\", degree = 0, size = \"1 KB\", bursts = 0, period = \"0 s\", load = 0.5 }",
            "traffic[0].degree: must be at least 1\ntraffic[0].bursts: must be at least 1\n\
             traffic[0].load: must not be set together with `period`: each determines the other\ntraffic[0].period: \
             must be greater than zero",
        ),
        (
            "{ kind = \"incast\", degree = 4, size = \"1 KB\", total = \"1 KB\" }",
            "traffic[0].size: set either `size` or `total`",
        ),
        ("{ kind = \"incast\", degree = 4 }", "traffic[0].size: set either `size` or `total`"),
        (
            "{ kind = \"incast\", degree = 400, total = \"100 B\" }",
            "traffic[0].total: must be at least 400 B: 1 B for each of the 400 flows",
        ),
        (
            "{ kind = \"incast\", degree = 4, size = \"1 KB\", bursts = 3, arrivals = \"poisson\" }",
            "traffic[0].bursts: requires `period` or `load`\ntraffic[0].arrivals: \"poisson\" requires `period` or \
                `load`",
        ),
        (
            "{ kind = \"incast\", degree = 4, size = \"1 KB\", load = 2.0 }",
            "traffic[0].load: must be greater than 0 and at most 1; a load above 1 exceeds the capacity of the \
                receivers' links",
        ),
        (
            "{ kind = \"incast\", degree = 4, size = \"1 MB\", receivers = \"h0\", period = \"100 us\" }",
            "traffic[0].period: offers 3.2 times the capacity of the receivers' links; increase `period`, or limit \
                the number of `bursts`",
        ),
        (
            "{ kind = \"incast\", degree = 4, size = \"1 KB\", receivers = \"h0\", senders = \"h0\" }",
            "traffic[0].senders: no host can send to receiver \"h0\"",
        ),
        (
            "{ kind = \"incast\", degree = 400000000, size = \"1 KB\" }",
            "traffic[0]: generates about 400000000 flows; all parts together may generate at most 100000000; \
                depending on the kind, set an earlier `stop`, a lower `load`, larger flows or fewer hosts",
        ),
        (
            "{ kind = \"incast\", degree = -1, size = \"1 KB\" }",
            "must be a number of flows, or a range such as [1, 15]",
        ),
    ]);
}
