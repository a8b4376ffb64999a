use super::*;
use crate::topology::TopologyConfig;
use backwater_engine::Duration;
use backwater_fabric::ids::NodeId;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const MS: u64 = 1_000_000_000;

fn graph(topology: &str) -> Graph {
    toml::from_str::<TopologyConfig>(topology).unwrap().build(Path::new(".")).unwrap()
}

/// 4 leaves of 4 hosts at 100 Gb/s, 2 spines: uplinks carry half of what hosts can send.
fn fabric() -> Graph {
    graph("kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 4")
}

fn parse(traffic: &str) -> Result<Vec<TrafficConfig>, String> {
    #[derive(serde::Deserialize)]
    struct Holder {
        traffic: Vec<TrafficConfig>,
    }
    toml::from_str::<Holder>(&format!("traffic = [{traffic}]"))
        .map(|holder| holder.traffic)
        .map_err(|error| error.message().into())
}

fn try_on(graph: &Graph, traffic: &str, ms: u64) -> Result<Traffic, Vec<BuildError>> {
    let until = Time::from_ps(ms * MS);
    generate(&parse(traffic).unwrap(), graph, Framing::Rocev2, Bytes(1000), 1, until, Path::new("."))
}

fn flows(traffic: &str, ms: u64) -> Vec<FlowSpec> {
    try_on(&fabric(), traffic, ms).unwrap().flows().collect()
}

fn rack(host: NodeId) -> u32 {
    host.0 / 4
}

/// Payload offered per host, as a share of 100 Gb/s.
fn offered<'a>(flows: impl IntoIterator<Item = &'a FlowSpec>, hosts: u32, ms: u64) -> f64 {
    let bytes: u64 = flows.into_iter().map(|flow| flow.bytes).sum();
    bytes as f64 * 8.0 / (f64::from(hosts) * 100e9 * ms as f64 * 1e-3)
}

#[test]
fn first_flows_never_change() {
    let made = flows("{ kind = \"poisson\", sizes = \"websearch-dctcp\", load = 0.5 }", 1);
    let first: Vec<_> = made.iter().take(3).map(|flow| (flow.start.ps(), flow.src.0, flow.dst.0, flow.bytes)).collect();
    assert_eq!(first, GOLDEN);
}
const GOLDEN: [(u64, u32, u32, u64); 3] =
    [(31348504, 2, 4, 2314942), (114829134, 12, 7, 13745), (148841797, 6, 8, 61440)];

#[test]
fn poisson_offers_the_load_it_is_asked_for() {
    for (load, sizes) in [(0.3, "hadoop-hpcc"), (0.8, "alistorage"), (0.5, "{ uniform = [\"10 KB\", \"90 KB\"] }")] {
        let name = if sizes.starts_with('{') { sizes.into() } else { format!("\"{sizes}\"") };
        let made = flows(&format!("{{ kind = \"poisson\", sizes = {name}, load = {load} }}"), 500);
        let measured = offered(&made, 16, 500);
        assert!((measured / load - 1.0).abs() < 0.02, "{sizes}: {measured}");
        assert!(made.iter().all(|flow| flow.src != flow.dst));
        for host in 0..16 {
            let own: Vec<_> = made.iter().filter(|flow| flow.src == NodeId(host)).collect();
            let share = own.len() as f64 / made.len() as f64 * 16.0;
            assert!((share - 1.0).abs() < 0.1, "{share}");
            // Uniform over the 15 others, of which 3 are in the rack.
            let local = own.iter().filter(|flow| rack(flow.dst) == rack(flow.src)).count() as f64 / own.len() as f64;
            assert!((local - 0.2).abs() < 0.05, "{local}");
        }
    }
}

#[test]
fn wire_loads_count_headers() {
    let made = flows("{ kind = \"poisson\", sizes = \"memcached-etc\", load = 0.8, load_counts = \"wire\" }", 2);
    let wire = |flow: &FlowSpec| {
        let full = flow.bytes / 1000 * u64::from(Framing::Rocev2.data(1000, false, 0).wire);
        let rest = (flow.bytes % 1000) as u32;
        let rest = if rest > 0 { u64::from(Framing::Rocev2.data(rest, false, 0).wire) } else { 0 };
        full + rest + 16
    };
    let bytes: u64 = made.iter().map(wire).sum();
    let measured = bytes as f64 * 8.0 / (16.0 * 100e9 * 2e-3);
    assert!((measured / 0.8 - 1.0).abs() < 0.02, "{measured}");
    assert!(offered(&made, 16, 2) < 0.6);
}

#[test]
fn uplink_loads_are_shares_of_the_uplinks() {
    for extra in ["", ", intra_rack = 0.5", ", intra_rack = 0.0"] {
        let made = flows(
            &format!("{{ kind = \"poisson\", sizes = \"alistorage\", load = 0.6, load_of = \"uplinks\"{extra} }}"),
            500,
        );
        for leaf in 0..4 {
            // Two uplinks of 100 Gb/s.
            let leaving = made.iter().filter(|flow| rack(flow.src) == leaf && rack(flow.dst) != leaf);
            let measured = offered(leaving, 2, 500);
            assert!((measured / 0.6 - 1.0).abs() < 0.02, "{extra} leaf {leaf}: {measured}");
        }
    }
}

#[test]
fn intra_rack_share_is_kept() {
    let share = |share: f64| {
        let made =
            flows(&format!("{{ kind = \"poisson\", sizes = \"4 KB\", load = 0.3, intra_rack = {share:.1} }}"), 5);
        made.iter().filter(|flow| rack(flow.src) == rack(flow.dst)).count() as f64 / made.len() as f64
    };
    assert_eq!(share(0.0), 0.0);
    assert_eq!(share(1.0), 1.0);
    assert!((share(0.3) - 0.3).abs() < 0.01);
}

#[test]
fn sources_destinations_and_exclusions_are_obeyed() {
    let made = flows(
        "{ kind = \"poisson\", sizes = \"4 KB\", load = 0.3, hosts = \"h[0-7]\", destinations = [\"h1*\", \"h2\"], \
         exclude_receivers = \"incast\" }, { kind = \"incast\", degree = 1, size = \"1 KB\", receivers = [\"h2\", \"h12\"] }",
        1,
    );
    let poisson = || made.iter().filter(|flow| flow.tag == 0);
    let sources: BTreeSet<_> = poisson().map(|flow| flow.src.0).collect();
    let destinations: BTreeSet<_> = poisson().map(|flow| flow.dst.0).collect();
    assert_eq!(sources, BTreeSet::from([0, 1, 3, 4, 5, 6, 7]));
    assert_eq!(destinations, BTreeSet::from([1, 10, 11, 13, 14, 15]));
}

/// A part's flows do not depend on what else there is, nor a host's on the other hosts.
#[test]
fn parts_and_hosts_draw_from_streams_of_their_own() {
    let poisson = "{ kind = \"poisson\", sizes = \"alistorage\", load = 0.4 }";
    let incast = "{ kind = \"incast\", degree = 4, size = \"64 KB\", period = \"100 us\", jitter = \"1 us\" }";
    let tagged = |traffic: &str, tag: &str| {
        let made = try_on(&fabric(), traffic, 2).unwrap();
        let index = made.tags.iter().position(|name| name == tag).unwrap() as u16;
        let of_tag = made.flows().filter(|flow| flow.tag == index);
        of_tag.map(|flow| FlowSpec { tag: 0, ..flow }).collect::<Vec<_>>()
    };
    let alone = tagged(poisson, "poisson");
    assert_eq!(alone, tagged(&format!("{poisson}, {incast}"), "poisson"));
    assert_eq!(alone, tagged(&format!("{incast}, {poisson}"), "poisson"));
    assert_eq!(tagged(incast, "incast"), tagged(&format!("{poisson}, {incast}"), "incast"));
    // Namesakes differ from each other.
    let both = tagged(&format!("{poisson}, {poisson}"), "poisson");
    assert!(both.len() > alone.len() * 3 / 2 && both.windows(2).all(|pair| pair[0] != pair[1]));
    let some = poisson.replace("load", "hosts = \"h3\", load");
    let own: Vec<_> = alone.into_iter().filter(|flow| flow.src == NodeId(3)).collect();
    assert_eq!(own, tagged(&some, "poisson"));
}

/// Classes are drawn all alike, flow by flow, and shift no other draw.
#[test]
fn flows_draw_their_class_where_there_are_several() {
    let sizes = [
        "kind = \"poisson\", sizes = \"4 KB\", load = 0.5",
        "kind = \"incast\", degree = 8, size = \"4 KB\", load = 0.5",
        "kind = \"all-to-all\", bytes = \"4 KB\"",
    ];
    for part in sizes {
        let one = flows(&format!("{{ {part}, class = 5 }}"), 2);
        assert!(one.iter().all(|flow| flow.class == Class(5)));
        let several = flows(&format!("{{ {part}, class = [1, 2, 4] }}"), 2);
        let same = |flow: &FlowSpec| FlowSpec { class: Class(5), ..flow.clone() };
        assert_eq!(several.iter().map(same).collect::<Vec<_>>(), one);
        for class in [1, 2, 4] {
            let share = several.iter().filter(|flow| flow.class == Class(class)).count() as f64 / one.len() as f64;
            assert!((share - 1.0 / 3.0).abs() < 0.12, "{part}: {share} in class {class}");
        }
        let made = try_on(&fabric(), &format!("{{ {part}, class = [1, 2, 4] }}"), 2).unwrap();
        assert_eq!(made.classes, [1, 2, 4].map(|class| (0, Class(class))).into());
    }
    // A class that a flow of a list has of its own is not drawn.
    let listed = "{ kind = \"flows\", class = [1, 2], flows = [{ src = \"h0\", dst = \"h1\", class = 7 }] }";
    assert_eq!(flows(listed, 1)[0].class, Class(7));
}

#[test]
fn flows_of_an_arrival_start_together_and_the_load_stays() {
    let made = flows("{ kind = \"poisson\", sizes = \"alistorage\", load = 0.6, burst = 8 }", 500);
    assert!((offered(&made, 16, 500) / 0.6 - 1.0).abs() < 0.03);
    for arrival in bursts(&made).values() {
        assert_eq!(arrival.len(), 8);
        assert!(arrival.iter().all(|flow| flow.src == arrival[0].src));
    }
    let destinations: BTreeSet<NodeId> = made[..8].iter().map(|flow| flow.dst).collect();
    assert!(destinations.len() > 1);
}

fn bursts(flows: &[FlowSpec]) -> BTreeMap<Time, Vec<&FlowSpec>> {
    let mut bursts: BTreeMap<Time, Vec<&FlowSpec>> = BTreeMap::new();
    for flow in flows {
        bursts.entry(flow.start).or_default().push(flow);
    }
    bursts
}

#[test]
fn incasts_have_their_degree_and_period() {
    let made = flows(
        "{ kind = \"incast\", degree = 10, size = \"64 KB\", receivers = \"h5\", period = \"100 us\", start = \"50 us\" }",
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
fn an_incast_larger_than_the_fabric_takes_senders_in_turn() {
    let count = |pick: &str| {
        let made = flows(
            &format!(
                "{{ kind = \"incast\", degree = 40, total = \"40001 B\", receivers = \"h0\", senders = \"any\", pick = \"{pick}\" }}"
            ),
            1,
        );
        assert_eq!((made.len(), made.iter().map(|flow| flow.bytes).sum::<u64>()), (40, 40_001));
        let mut counts = BTreeMap::new();
        made.iter().for_each(|flow| *counts.entry(flow.src).or_insert(0) += 1);
        counts.into_values().collect::<Vec<u32>>()
    };
    let even = count("even");
    assert!(even.len() == 15 && even.iter().all(|count| [2, 3].contains(count)));
    assert!(count("uniform").iter().any(|count| ![2, 3].contains(count)));
}

#[test]
fn the_degree_of_an_incast_may_be_drawn() {
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
fn incast_loads_are_shares_of_the_receivers_links() {
    for arrivals in ["periodic", "poisson"] {
        for (receivers, hosts) in [("[\"h0\"]", 1), ("\"h*\"", 16)] {
            let made = flows(
                &format!(
                    "{{ kind = \"incast\", degree = 8, size = {{ uniform = [\"2 KB\", \"6 KB\"] }}, receivers = {receivers}, load = 0.5, \
                     arrivals = \"{arrivals}\", jitter = \"100 ns\" }}"
                ),
                200,
            );
            let measured = offered(&made, hosts, 200);
            assert!((measured / 0.5 - 1.0).abs() < 0.02, "{arrivals} {receivers}: {measured}");
        }
    }
}

/// The incast mix of Pyrrha, section VIII: 720 flows of 30 to 40 packets to one host, half of its link, and Poisson at 0.8 between racks that
/// spares it.
#[test]
fn the_incast_mix_of_pyrrha_can_be_said() {
    let graph =
        graph("kind = \"leaf-spine\"\nleaves = 10\nspines = 4\nhosts_per_leaf = 16\nuplink_rate = \"400 Gbps\"");
    let traffic = "{ kind = \"incast\", degree = 720, size = { uniform = [\"43.8 KB\", \"58.4 KB\"], unit = \"1460 B\" }, receivers = \"h0\", \
                   senders = \"other-racks\", pick = \"uniform\", load = 0.5, jitter = \"100 ns\" }, \
                   { kind = \"poisson\", sizes = \"webserver-64k\", load = 0.8, intra_rack = 0.0, exclude_receivers = \"incast\", start = \"30 us\" }";
    let made = try_on(&graph, traffic, 60).unwrap();
    let rack = |host: NodeId| host.0 / 16;
    let (incast, poisson): (Vec<_>, Vec<_>) = made.flows().partition(|flow| flow.tag == 0);
    // 720 x 35 x 1460 B at 50 Gb/s.
    let period = 5_886_720_000;
    let mut sources = BTreeSet::new();
    for (burst, flows) in incast.chunks(720).enumerate() {
        let since = |flow: &FlowSpec| flow.start.ps() - burst as u64 * period;
        assert!(flows.len() == 720 && flows.iter().all(|flow| since(flow) < 100_000), "burst {burst}");
        assert!(flows.iter().any(|flow| since(flow) > 90_000));
        assert!(flows.iter().all(|flow| flow.dst == NodeId(0) && rack(flow.src) != 0));
        assert!(flows.iter().all(|flow| flow.bytes % 1460 == 0 && (30..=40).contains(&(flow.bytes / 1460))));
        // Drawn with repetition, some of 144 hosts send more often than others.
        let mut counts = BTreeMap::new();
        flows.iter().for_each(|flow| *counts.entry(flow.src).or_insert(0) += 1);
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
fn senders_of_an_incast_may_be_the_rack_or_a_list() {
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
fn incasts_tell_who_sends_to_whom() {
    let fans = |traffic: &str| -> Vec<(u32, Vec<u32>)> {
        let made = try_on(&fabric(), traffic, 1).unwrap();
        made.fans().map(|(receiver, senders)| (receiver.0, senders.into_iter().map(|host| host.0).collect())).collect()
    };
    let incast = "{ kind = \"incast\", degree = 3, size = \"1 KB\", receivers = [\"h0\", \"h5\"], senders = [\"h1\", \"h5\", \"h9\"] }";
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

#[test]
fn permutations_are_derangements() {
    let made = flows("{ kind = \"permutation\" }", 1);
    assert_eq!(made.iter().map(|flow| flow.src).collect::<BTreeSet<_>>().len(), 16);
    assert_eq!(made.iter().map(|flow| flow.dst).collect::<BTreeSet<_>>().len(), 16);
    assert!(made.iter().all(|flow| flow.src != flow.dst && flow.bytes == FlowSpec::ENDLESS));
    let shifted = flows("{ kind = \"permutation\", sizes = \"1 MB\", shift = 4 }", 1);
    assert!(shifted.iter().all(|flow| flow.dst.0 == (flow.src.0 + 4) % 16 && flow.bytes == 1_000_000));
}

#[test]
fn all_to_all_has_every_pair_once() {
    let made = flows("{ kind = \"all-to-all\", bytes = \"1 KB\", hosts = \"h[0-4]\" }", 1);
    let pairs: BTreeSet<_> = made.iter().map(|flow| (flow.src, flow.dst)).collect();
    assert!(made.len() == 20 && pairs.len() == 20 && pairs.iter().all(|(src, dst)| src != dst));
}

/// Two groups of 16, as in Pyrrha's generator.
const MOE: &str =
    "{ kind = \"moe\", groups = [\"h[0-15]\", \"h[16-31]\"], interval = \"5 ms\", iterations = 3, shift = \"1 ms\" }";

#[test]
fn hosts_of_a_group_send_bursts_by_popularity() {
    let graph = graph("kind = \"leaf-spine\"\nleaves = 8\nspines = 2\nhosts_per_leaf = 4");
    let made = try_on(&graph, MOE, 20).unwrap();
    assert_eq!(made.tags, ["moe", "moe.0", "moe.1"]);
    let flows: Vec<_> = made.flows().collect();
    assert_eq!((flows.len() as f64, flows.len()), (made.expected, 3 * 32 * 100));
    assert!(flows.iter().all(|flow| flow.src != flow.dst && flow.bytes == 80_000));
    for (tag, hosts) in [(1, 0..16), (2, 16..32)] {
        let of_group: Vec<_> = flows.iter().filter(|flow| flow.tag == tag).collect();
        let first = hosts.start;
        // 16 bursts at a time, 5.1 us apart; the second group is 1 ms late.
        let expected =
            (0..3u64).flat_map(|iteration| (0..100u64).map(move |burst| iteration * 5_000_000 + burst * 5_100));
        let starts = expected.flat_map(|ns| [ns * 1000 + u64::from(tag - 1) * MS; 16]);
        assert!(of_group.iter().map(|flow| flow.start.ps()).eq(starts));
        assert!(of_group.iter().all(|flow| hosts.contains(&flow.src.0) && hosts.contains(&flow.dst.0)));
        // Redrawn as long as it is the host itself: in proportion among the others.
        let share = |from: Option<u32>, to: u32| {
            let sent: Vec<_> =
                of_group.iter().filter(|flow| from.is_none_or(|from| flow.src.0 == first + from)).collect();
            sent.iter().filter(|flow| flow.dst.0 == first + to).count() as f64 / sent.len() as f64
        };
        assert!((share(Some(1), 2) - 0.4490 / (0.9999 - 0.4133)).abs() < 0.1);
        let ordinary: f64 = (3..16).map(|from| share(Some(from), 1)).sum::<f64>() / 13.0;
        assert!((ordinary - 0.4133).abs() < 0.03, "{ordinary}");
        assert!((share(None, 1) + share(None, 2) - 0.84).abs() < 0.03);
    }
}

/// The draws of a group do not depend on other groups; the last burst takes what is left.
#[test]
fn groups_draw_for_themselves() {
    let moe = |groups: &str| {
        let made = flows(
            &format!(
                "{{ kind = \"moe\", groups = {groups}, popularity = [1, 2, 3, 4], bytes = \"100 KB\", burst = \"30 KB\" }}"
            ),
            1,
        );
        made.into_iter()
            .filter(|flow| flow.src.0 < 4)
            .map(|flow| (flow.start, flow.src, flow.dst, flow.bytes))
            .collect::<Vec<_>>()
    };
    let alone = moe("[\"h[0-3]\"]");
    assert_eq!(alone, moe("[\"h[0-3]\", \"h[4-7]\", \"h[8-11]\"]"));
    assert!(
        alone
            .iter()
            .map(|(_, _, _, bytes)| *bytes)
            .eq([30_000, 30_000, 30_000, 10_000].into_iter().flat_map(|bytes| [bytes; 4]))
    );
}

#[test]
fn one_rack_in_so_many_receives_a_shuffle() {
    let graph = graph("kind = \"leaf-spine\"\nleaves = 8\nspines = 2\nhosts_per_leaf = 4");
    for (one_in, receiving) in [(2, vec![0, 2, 4, 6]), (3, vec![0, 3, 6]), (8, vec![0]), (9, vec![0])] {
        let made =
            try_on(&graph, &format!("{{ kind = \"rack-shuffle\", one_in = {one_in}, size = \"64 KB\" }}"), 1).unwrap();
        let flows: Vec<_> = made.flows().collect();
        let senders = 4 * (8 - receiving.len());
        assert_eq!((flows.len(), made.expected as usize), (40 * senders, 40 * senders));
        assert!(flows.iter().all(|flow| flow.bytes == 64_000 && flow.start == Time::ZERO));
        let (mut sent, mut received) = (BTreeMap::new(), BTreeMap::new());
        for flow in &flows {
            assert!(receiving.contains(&rack(flow.dst)) && !receiving.contains(&rack(flow.src)));
            *sent.entry(flow.src).or_insert(0) += 1;
            *received.entry(flow.dst).or_insert(0u32) += 1;
        }
        assert!(sent.values().all(|count| *count == 40));
        // Uniform over the receivers, within five standard deviations.
        let fair = flows.len() as f64 / (4 * receiving.len()) as f64;
        assert!(received.values().all(|count| (f64::from(*count) - fair).abs() < 5.0 * fair.sqrt()), "{received:?}");
    }
}

/// As Pyrrha's authors generate it: a sender has one receiver, and all of its flows but the first begin later.
#[test]
fn a_shuffle_can_have_one_receiver_per_sender_and_begin_with_one_flow() {
    let graph = graph("kind = \"leaf-spine\"\nleaves = 8\nspines = 2\nhosts_per_leaf = 4");
    let traffic = "{ kind = \"rack-shuffle\", one_in = 2, flows = 5, size = \"64 KB\", one_receiver = true, later = \"5 us\", start = \"1 us\" }";
    let flows: Vec<_> = try_on(&graph, traffic, 1).unwrap().flows().collect();
    let us = |us| Time::ZERO + Duration::from_us(us);
    assert!(flows[..16].iter().all(|flow| flow.start == us(1)) && flows[16..].iter().all(|flow| flow.start == us(6)));
    assert_eq!(flows.len(), 16 * 5);
    let receivers: BTreeMap<NodeId, BTreeSet<NodeId>> = flows.iter().fold(BTreeMap::new(), |mut of, flow| {
        of.entry(flow.src).or_insert_with(BTreeSet::new).insert(flow.dst);
        of
    });
    assert!(receivers.len() == 16 && receivers.values().all(|receivers| receivers.len() == 1));
    assert!(receivers.values().flatten().collect::<BTreeSet<_>>().len() > 1);
}

#[test]
fn listed_flows_are_what_is_written() {
    let traffic = "{ kind = \"flows\", start = \"1 us\", tag = \"f\", flows = [\
        { src = \"h0\", dst = \"h4\", bytes = \"250 MB\", start = \"3 us\", class = 2, data_via = [\"leaf0\", \"spine1\"], ack_via = [\"spine0\"] },\
        { src = \"h1\", dst = \"h4\" }, { src = \"h1\", dst = \"h2\", start = \"5 ms\" }] },\
        { kind = \"long-lived\", pairs = [[\"h8\", \"h9\"]], tag = \"f\" }";
    let made = try_on(&fabric(), traffic, 1).unwrap();
    assert_eq!(made.tags, ["f"]);
    assert!(
        made.notes.iter().any(|note| note == "f: 1 flow left out that would start at 1 ms or later"),
        "{:?}",
        made.notes
    );
    let brief: Vec<_> =
        made.flows().map(|flow| (flow.start.ps(), flow.src.0, flow.dst.0, flow.bytes, flow.class.0)).collect();
    let endless = FlowSpec::ENDLESS;
    assert_eq!(brief, [(0, 8, 9, endless, 3), (1_000_000, 1, 4, endless, 3), (4_000_000, 0, 4, 250_000_000, 2)]);
    let name = |node: &NodeId| fabric().name(*node).to_owned();
    assert_eq!(made.flows().nth(2).unwrap().data_via.iter().map(name).collect::<Vec<_>>(), ["leaf0", "spine1"]);
    assert_eq!(made.flows().nth(2).unwrap().ack_via.iter().map(name).collect::<Vec<_>>(), ["spine0"]);
}

#[test]
fn flow_files_of_the_hpcc_family_are_read() {
    let directory = std::env::temp_dir().join(format!("backwater-workload-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("flow.txt"), "3\n0 5 3 100 1000 2\n1 5 2 200 2000 2.000001\n2 5 3 100 3000 2.5\n")
        .unwrap();
    let make = |options: &str| {
        let config = parse(&format!("{{ kind = \"hpcc-flows\", path = \"flow.txt\"{options} }}")).unwrap();
        generate(&config, &fabric(), Framing::HpccNs3, Bytes(1000), 1, Time::from_ps(MS), &directory)
    };
    let made = make(", port_tags = { 200 = \"incast\" }").unwrap();
    let brief = |made: &Traffic| -> Vec<_> {
        made.flows().map(|flow| (flow.start.ps(), flow.src.0, flow.dst.0, flow.bytes, flow.class.0, flow.tag)).collect()
    };
    assert_eq!(made.tags, ["hpcc-flows", "incast"]);
    assert_eq!(brief(&made), [(0, 0, 5, 1000, 3, 0), (1_000_000, 1, 5, 2000, 2, 1)]);
    assert_eq!(brief(&make(", class_from_file = false, class = 5").unwrap())[1], (1_000_000, 1, 5, 2000, 5, 0));
    let message = |options: &str| make(options).unwrap_err()[0].to_string();
    assert_eq!(
        message(", offset = \"3 s\""),
        "traffic[0].offset: flow.txt:2: a flow starts at 2 s, before the offset of 3 s"
    );
    assert_eq!(message(", port_tags = { x = \"y\" }"), "traffic[0].port_tags: \"x\" is not a port number, 0 to 65535");
    assert!(message(", dialect = \"conweave\"").starts_with("traffic[0].path: flow.txt:2:1: a flow has 5 columns"));
    std::fs::write(directory.join("flow.txt"), "1\n0 16 3 100 1000 2\n").unwrap();
    assert_eq!(message(""), "traffic[0].path: flow.txt:2:1: the destination 16 is a switch, not a host");
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn flows_are_in_order_of_start_and_within_the_window() {
    let made = flows(
        "{ kind = \"incast\", degree = 5, size = \"1 KB\", period = \"10 us\", jitter = \"30 us\" }, \
         { kind = \"poisson\", sizes = \"1 KB\", load = 0.1, start = \"200 us\", stop = \"300 us\" }",
        1,
    );
    assert!(made.windows(2).all(|pair| pair[0].start <= pair[1].start));
    let (from, to) = (Time::from_ps(MS / 5), Time::from_ps(3 * MS / 10));
    assert!(made.iter().filter(|flow| flow.tag == 1).all(|flow| (from..to).contains(&flow.start)));
    assert!(made.iter().any(|flow| flow.tag == 1) && made.iter().all(|flow| flow.start < Time::from_ps(MS)));
}

#[test]
fn notes_tell_what_is_offered() {
    let notes = |traffic: &str| try_on(&fabric(), traffic, 1).unwrap().notes.join("\n");
    let note = notes("{ kind = \"poisson\", sizes = \"websearch-dctcp\", load = 0.5, tag = \"background\" }");
    assert_eq!(
        note,
        "background: sizes websearch-dctcp, mean 1.711 MB; load 0.5 of the host links (payload), at most 0.541 of a host link on the wire; \
         58437 flows/s from 16 hosts, about 58 in all"
    );
    assert!(
        notes("{ kind = \"poisson\", sizes = \"memcached-etc\", load = 0.9 }")
            .contains("more than the host links can carry")
    );
    let inbound =
        notes("{ kind = \"poisson\", sizes = \"1 MB\", load = 0.9, destinations = \"h0\", hosts = \"h[1-15]\" }");
    assert!(inbound.contains("the busiest receiver is offered 14.61 times what its link can carry"), "{inbound}");
    assert_eq!(
        notes("{ kind = \"incast\", degree = 10, size = \"64 KB\", receivers = \"h0\", load = 0.512 }"),
        "incast: bursts of 10 flows, 640 KB in all, to \"h0\" every 100 us, about 10 of them; load 0.512 of the receivers' links"
    );
}

#[test]
fn what_a_scenario_may_not_say_of_traffic() {
    for (traffic, expected) in BROKEN {
        let message = match parse(traffic) {
            Err(message) => message,
            Ok(config) => {
                let graph = fabric();
                let until = Time::from_ps(MS);
                let made = generate(&config, &graph, Framing::Rocev2, Bytes(1000), 1, until, Path::new("/nowhere"));
                let errors = made.map(|_| ()).expect_err(traffic);
                let line = |error: &BuildError| match &error.hint {
                    Some(hint) => format!("{error}; {hint}"),
                    None => error.to_string(),
                };
                errors.iter().map(line).collect::<Vec<_>>().join("\n")
            }
        };
        assert_eq!(message, *expected, "{traffic}");
    }
}

const BROKEN: &[(&str, &str)] = &[
    (
        "{ kind = \"poison\" }",
        "unknown variant `poison`, expected one of `poisson`, `incast`, `permutation`, `all-to-all`, `moe`, `rack-shuffle`, \
         `long-lived`, `flows`, `hpcc-flows`",
    ),
    (
        "{ kind = \"poisson\", sizes = \"1 KB\", lod = 0.5 }",
        "unknown field `lod`, expected one of `tag`, `class`, `start`, `stop`, `role`, `sizes`, `load`, `load_of`, `load_counts`, \
         `intra_rack`, `burst`, `hosts`, `destinations`, `exclude_receivers`",
    ),
    ("{ kind = \"poisson\", load = 0.5 }", "missing field `sizes`"),
    (
        "{ kind = \"poisson\", sizes = \"1 KB\", load = 1.7 }",
        "traffic[0].load: is 1.7, must be above 0 and at most 1; flows would pile up without end: the load is a share of the \
         capacity",
    ),
    (
        "{ kind = \"poisson\", sizes = \"1 KB\", load = -0.1 }",
        "traffic[0].load: is -0.1, must be above 0 and at most 1",
    ),
    ("{ kind = \"poisson\", sizes = \"1 KB\", load = nan }", "traffic[0].load: is NaN, must be above 0 and at most 1"),
    (
        "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.9, load_of = \"uplinks\", intra_rack = 0.9 }",
        "traffic[0].load: 0.9 of the uplinks is 4.5 of the link of host \"h0\", which is above 1; lower `load` or `intra_rack`",
    ),
    (
        "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.9, load_of = \"uplinks\", intra_rack = 1.0 }",
        "traffic[0].load_of: is \"uplinks\", but no flow of host \"h0\" can take one; use \"host-links\" in this fabric",
    ),
    (
        "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, intra_rack = 1.5 }",
        "traffic[0].intra_rack: is 1.5, must be between 0 and 1",
    ),
    (
        "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, hosts = \"h16\" }",
        "traffic[0].hosts: there is no host \"h16\"; did you mean \"h10\"?",
    ),
    (
        "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, hosts = [\"h0\", \"leaf0\", \"x*\", \"h[3\", \"h[5-3]\"] }",
        "traffic[0].hosts[1]: \"leaf0\" is a switch, not a host\ntraffic[0].hosts[2]: no host has a name like \"x*\"; the first \
         host is called \"h0\"\ntraffic[0].hosts[3]: \"h[3\" is not a pattern of host names; a `[` begins a range of whole \
         numbers such as `h[0-15]`; `*` stands for any text\ntraffic[0].hosts[4]: \"h[5-3]\" is not a pattern of host names; a \
         `[` begins a range of whole numbers such as `h[0-15]`; `*` stands for any text",
    ),
    (
        "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, hosts = [] }",
        "traffic[0].hosts: is empty; leave it out for all hosts",
    ),
    (
        "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, hosts = \"h0\", destinations = \"h0\" }",
        "traffic[0].destinations: host \"h0\" has no other host to send to",
    ),
    (
        "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, destinations = \"h[4-7]\", intra_rack = 0.5, hosts = \"h0\" }",
        "traffic[0].intra_rack: host \"h0\" has no other host in its rack to send to",
    ),
    (
        "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, exclude_receivers = \"h*\" }",
        "traffic[0].hosts: no host is left to send",
    ),
    (
        "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, exclude_receivers = \"incast\" }",
        "traffic[0].exclude_receivers: there is no incast in this scenario; name hosts, or leave it out",
    ),
    (
        "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, exclude_receivers = \"incast\" }, { kind = \"incast\", degree = 1, \
         size = \"1 KB\" }",
        "traffic[0].exclude_receivers: an incast of this scenario has no `receivers`: its victim may be any host; name the \
         receivers of every incast",
    ),
    (
        "{ kind = \"poisson\", sizes = \"1 B\", load = 1.0, stop = \"2 s\", class = 8, start = \"1 ms\" }",
        "traffic[0].class: is 8, must be between 0 and 7\ntraffic[0].start: is 1 ms, the traffic ends at 1 ms",
    ),
    (
        "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, start = \"300 us\", stop = \"200 us\" }",
        "traffic[0].stop: is 200 us, must be after the start at 300 us",
    ),
    (
        "{ kind = \"incast\", degree = 0, size = \"1 KB\", bursts = 0, period = \"0 s\", load = 0.5 }",
        "traffic[0].degree: is 0, must be at least 1\ntraffic[0].bursts: is 0, must be at least 1\ntraffic[0].load: goes without \
         `period`: either gives the other\ntraffic[0].period: is 0 s, must be longer",
    ),
    (
        "{ kind = \"incast\", degree = 4, size = \"1 KB\", total = \"1 KB\" }",
        "traffic[0].size: give either `size` or `total`",
    ),
    ("{ kind = \"incast\", degree = 4 }", "traffic[0].size: give either `size` or `total`"),
    (
        "{ kind = \"incast\", degree = 400, total = \"100 B\" }",
        "traffic[0].total: is 100 B, must give each of the 400 flows at least 1 B",
    ),
    (
        "{ kind = \"incast\", degree = 4, size = \"1 KB\", bursts = 3, arrivals = \"poisson\" }",
        "traffic[0].bursts: needs `period` or `load`\ntraffic[0].arrivals: is \"poisson\", which needs `period` or `load`",
    ),
    (
        "{ kind = \"incast\", degree = 4, size = \"1 KB\", load = 2.0 }",
        "traffic[0].load: is 2, must be above 0 and at most 1; the receivers cannot take more than their links carry",
    ),
    (
        "{ kind = \"incast\", degree = 4, size = \"1 MB\", receivers = \"h0\", period = \"100 us\" }",
        "traffic[0].period: asks for 3.2 times what the receivers' links carry; lengthen it, or limit the number of `bursts`",
    ),
    (
        "{ kind = \"incast\", degree = 4, size = \"1 KB\", receivers = \"h0\", senders = \"h0\" }",
        "traffic[0].senders: no host is left to send to \"h0\"",
    ),
    (
        "{ kind = \"incast\", degree = 400000000, size = \"1 KB\" }",
        "traffic[0]: asks for about 400000000 flows; a scenario has at most 100000000; shorten it with `stop`, lower its load, or \
         choose larger flows",
    ),
    (
        "{ kind = \"incast\", degree = -1, size = \"1 KB\" }",
        "must be a number of flows, or the fewest and the most: [1, 15]",
    ),
    (
        "{ kind = \"permutation\", shift = 32 }",
        "traffic[0].shift: is 32, which sends every one of the 16 hosts to itself",
    ),
    (
        "{ kind = \"permutation\", hosts = \"h0\" }",
        "traffic[0].hosts: a permutation needs at least 2 hosts, there is 1",
    ),
    (
        "{ kind = \"all-to-all\", bytes = \"0 B\", hosts = \"h1\" }",
        "traffic[0].bytes: is 0 B, must be at least 1 B\ntraffic[0].hosts: all-to-all needs at least 2 hosts, there is 1",
    ),
    (
        "{ kind = \"long-lived\", pairs = [[\"h0\", \"h0\"], [\"h1\", \"hh2\"]] }",
        "traffic[0].pairs[0][1]: \"h0\" would send to itself\ntraffic[0].pairs[1][1]: there is no host \"hh2\"; did you mean \
         \"h12\"?",
    ),
    (
        "{ kind = \"moe\", groups = [\"h[0-3]\", \"h16\"], bytes = \"0 B\", iterations = 0, popularity = [0, -1, 2] }",
        "traffic[0].groups[1]: there is no host \"h16\"; did you mean \"h10\"?\ntraffic[0].bytes: is 0 B, must be at least 1 \
         B\ntraffic[0].iterations: is 0, must be at least 1\ntraffic[0].popularity[1]: is -1, must be between 0 and \
         1e9\ntraffic[0].popularity: must be above 0 for at least 2 experts",
    ),
    (
        "{ kind = \"moe\", groups = [\"h[0-3]\"], iterations = 2 }",
        "traffic[0].groups[0]: has 4 hosts, there must be one for each of the 16 popularities\ntraffic[0].interval: is missing: \
         there are several iterations",
    ),
    (
        "{ kind = \"moe\", groups = [\"h*\"], iterations = 2, interval = \"504.9 us\" }",
        "traffic[0].interval: is 504.9 us, must be longer than an iteration sends: 504.9 us",
    ),
    (
        "{ kind = \"moe\", groups = [\"h*\"], burst = \"1 B\", gap = \"1000 s\", shift = \"10000000 s\" }",
        "traffic[0]: asks for about 128000000 flows; a scenario has at most 100000000; shorten it with `stop`, lower its load, or \
         choose larger flows",
    ),
    (
        "{ kind = \"rack-shuffle\", one_in = 1, flows = 0, size = \"1 KB\" }",
        "traffic[0].one_in: is 1, must be at least 2: some racks send\ntraffic[0].flows: is 0, must be at least 1",
    ),
    (
        "{ kind = \"long-lived\", pairs = [[\"h0\", \"h1\"]] }, { kind = \"long-lived\", role = \"incast\", pairs = [[\"h0\", \"h1\"]] }",
        "traffic[1].role: differs from that of an earlier part with the tag \"long-lived\"",
    ),
    ("{ kind = \"long-lived\", pairs = [] }", "traffic[0].pairs: is empty"),
    ("{ kind = \"flows\", flows = [] }", "traffic[0].flows: is empty"),
    (
        "{ kind = \"flows\", flows = [{ src = \"h0\", dst = \"h1\", bytes = \"0 B\", class = 9, data_via = [\"lef0\"], ack_via = \
         [\"h3\"] }] }",
        "traffic[0].flows[0].data_via[0]: there is no switch or relay \"lef0\"; did you mean \"leaf0\"?\ntraffic[0].flows[0].ack_via[0]: \
         \"h3\" is a host, not a switch or relay\ntraffic[0].flows[0].bytes: is 0 B, must be at least 1 \
         B\ntraffic[0].flows[0].class: is 9, must be between 0 and 7",
    ),
];

/// Parts that start flows together, and bursts whose jitter reaches beyond the next burst.
#[test]
fn flows_come_in_order_of_start_and_of_their_parts() {
    let traffic = "{ kind = \"all-to-all\", bytes = \"1 KB\", hosts = \"h[0-4]\", tag = \"a\" }, { kind = \"poisson\", sizes = \"alistorage\", load = 0.9 }, \
                   { kind = \"incast\", degree = 4, size = \"64 KB\", period = \"10 us\", jitter = \"35 us\" }, \
                   { kind = \"flows\", flows = [{ src = \"h1\", dst = \"h2\", start = \"5 us\" }, { src = \"h0\", dst = \"h2\" }] }";
    let made = try_on(&fabric(), traffic, 2).unwrap();
    let flows: Vec<_> = made.flows().collect();
    assert!(flows.windows(2).all(|pair| (pair[0].start, pair[0].tag) <= (pair[1].start, pair[1].tag)));
    assert_eq!(flows.iter().map(|flow| flow.tag).collect::<BTreeSet<_>>(), (0..4).collect());
    assert!(made.flows().eq(flows.iter().cloned()), "asked again, the same");
    // Jitter moves flows, and loses only those that it moves beyond the end.
    let bursts = flows.iter().filter(|flow| flow.tag == 2).count();
    assert!((780..800).contains(&bursts), "{bursts}");
    assert!((made.expected / flows.len() as f64 - 1.0).abs() < 0.1);
}

proptest! {
    #[test]
    fn any_pattern_fits_or_is_refused(text in "[h*0-9\\[\\]-]{0,12}|\\PC{0,8}") {
        if let Ok(hosts) = NodeList(vec![text]).hosts("f", &fabric()) {
            prop_assert!(!hosts.is_empty() && hosts.iter().all(|host| host.0 < 16));
        }
    }

    #[test]
    fn any_incast_is_made_or_refused(
        degree in 0u32..50, load in -0.5f64..1.5, jitter in 0u64..2_000_000, bursts in prop::option::of(0u32..5), poisson in any::<bool>(),
    ) {
        let limit = bursts.map_or(String::new(), |bursts| format!("bursts = {bursts}, "));
        let arrivals = if poisson { "poisson" } else { "periodic" };
        let traffic = format!(
            "{{ kind = \"incast\", degree = {degree}, size = \"webserver-64k\", {limit}load = {load:?}, arrivals = \"{arrivals}\", \
             jitter = \"{jitter} ps\" }}"
        );
        match try_on(&fabric(), &traffic, 1) {
            Ok(made) => prop_assert!(made.flows().all(|flow| flow.src != flow.dst && flow.start < Time::from_ps(MS))),
            Err(errors) => prop_assert!(!errors.is_empty()),
        }
    }
}
