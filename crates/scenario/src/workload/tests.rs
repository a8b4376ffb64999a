//! Tests of all kinds of traffic together, and helpers for the tests of single kinds.

use super::*;
use crate::scenario::RunEnd;
use crate::topology::TopologyConfig;
use proptest::prelude::*;

pub(super) const MS: u64 = 1_000_000_000;

pub(super) fn graph(topology: &str) -> Graph {
    toml::from_str::<TopologyConfig>(topology).unwrap().build(Path::new(".")).unwrap()
}

/// Returns 4 leaves with 4 hosts at 100 Gb/s each, and 2 spines. The uplinks of a leaf have half of
/// the capacity of its host links.
pub(super) fn fabric() -> Graph {
    graph("kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 4")
}

pub(super) fn parse(traffic: &str) -> Result<Vec<TrafficConfig>, String> {
    #[derive(serde::Deserialize)]
    struct Holder {
        traffic: Vec<TrafficConfig>,
    }
    toml::from_str::<Holder>(&format!("traffic = [{traffic}]"))
        .map(|holder| holder.traffic)
        .map_err(|error| error.message().into())
}

/// Returns the options of a run with traffic for `ms` milliseconds.
pub(super) fn run(ms: u64) -> RunConfig {
    RunConfig { until: RunEnd::At(Time::from_ps(ms * MS)), ..RunConfig::default() }
}

pub(super) fn try_on(graph: &Graph, traffic: &str, ms: u64) -> Result<Traffic, Vec<Diagnostic>> {
    generate(&parse(traffic).unwrap(), graph, Framing::Rocev2, Bytes(1000), 1, &run(ms), Path::new("."))
}

pub(super) fn flows(traffic: &str, ms: u64) -> Vec<FlowSpec> {
    try_on(&fabric(), traffic, ms).unwrap().flows().collect()
}

pub(super) fn rack(host: NodeId) -> u32 {
    host.0 / 4
}

/// Checks the errors of each case: an entry of `traffic`, and its expected errors, one per line.
pub(super) fn check_rejected(cases: &[(&str, &str)]) {
    for (traffic, expected) in cases {
        let message = parse(traffic).and_then(|config| {
            let made = generate(&config, &fabric(), Framing::Rocev2, Bytes(1000), 1, &run(1), Path::new("/nowhere"));
            let errors = made.map_err(|errors| errors.iter().map(describe).collect::<Vec<_>>().join("\n"));
            errors.map(|_| ())
        });
        assert_eq!(message, Err((*expected).into()), "{traffic}");
    }
}

/// Returns path, message and hint of an error.
pub(super) fn describe(error: &Diagnostic) -> String {
    let hint = error.hint.as_ref().map_or(String::new(), |hint| format!("; {hint}"));
    format!("{}: {}{hint}", error.path, error.message)
}

/// Groups flows by start.
pub(super) fn bursts(flows: &[FlowSpec]) -> BTreeMap<Time, Vec<&FlowSpec>> {
    let mut bursts: BTreeMap<Time, Vec<&FlowSpec>> = BTreeMap::new();
    for flow in flows {
        bursts.entry(flow.start).or_default().push(flow);
    }
    bursts
}

/// Returns the payload offered per host, as a share of 100 Gb/s.
pub(super) fn offered<'a>(flows: impl IntoIterator<Item = &'a FlowSpec>, hosts: u32, ms: u64) -> f64 {
    let bytes: u64 = flows.into_iter().map(|flow| flow.bytes).sum();
    bytes as f64 * 8.0 / (f64::from(hosts) * 100e9 * ms as f64 * 1e-3)
}

/// The flows of a part do not depend on other parts, and the flows of a host do not depend on other
/// hosts.
#[test]
fn parts_and_hosts_have_independent_streams() {
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
    // Parts with equal tags have different flows.
    let both = tagged(&format!("{poisson}, {poisson}"), "poisson");
    assert!(both.len() > alone.len() * 3 / 2 && both.windows(2).all(|pair| pair[0] != pair[1]));
    let some = poisson.replace("load", "hosts = \"h3\", load");
    let own: Vec<_> = alone.into_iter().filter(|flow| flow.src == NodeId(3)).collect();
    assert_eq!(own, tagged(&some, "poisson"));
}

/// Each flow draws its class uniformly, without changing any other draw.
#[test]
fn flows_draw_one_of_several_classes() {
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
    // A listed flow with a class of its own draws no class.
    let listed = "{ kind = \"flows\", class = [1, 2], flows = [{ src = \"h0\", dst = \"h1\", class = 7 }] }";
    assert_eq!(flows(listed, 1)[0].class, Class(7));
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
fn notes_report_the_offered_load() {
    let notes = |traffic: &str| try_on(&fabric(), traffic, 1).unwrap().notes.join("\n");
    let note = notes("{ kind = \"poisson\", sizes = \"websearch-dctcp\", load = 0.5, tag = \"background\" }");
    assert_eq!(
        note,
        "background: flow sizes websearch-dctcp, mean 1.711 MB; load 0.5 of host links (payload), with headers up to \
            0.541 of a host link's capacity; 58437 flows/s from 16 hosts, about 58 flows in all"
    );
    assert!(
        notes("{ kind = \"poisson\", sizes = \"memcached-etc\", load = 0.9 }")
            .contains("exceeds the capacity of host links")
    );
    let inbound =
        notes("{ kind = \"poisson\", sizes = \"1 MB\", load = 0.9, destinations = \"h0\", hosts = \"h[1-15]\" }");
    assert!(inbound.contains("the busiest receiver is offered 14.61 times the capacity of its link"), "{inbound}");
    assert_eq!(
        notes("{ kind = \"incast\", degree = 10, size = \"64 KB\", receivers = \"h0\", load = 0.512 }"),
        "incast: about 10 bursts of 10 flows to \"h0\", 640 KB per burst, one burst every 100 us; load 0.512 of the \
            receivers' links"
    );
    let poisson = notes(
        "{ kind = \"incast\", degree = 10, size = \"64 KB\", receivers = \"h0\", period = \"1 ms\", \
            arrivals = \"poisson\" }",
    );
    assert!(poisson.contains("about 1 burst of 10 flows") && poisson.contains("every 1000 us on average"), "{poisson}");
}

#[test]
fn unknown_kinds_are_rejected() {
    check_rejected(&[(
        "{ kind = \"poison\" }",
        "unknown variant `poison`, expected one of `poisson`, `incast`, `permutation`, `all-to-all`, `moe`, \
         `rack-shuffle`, `long-lived`, `flows`, `collective`, `schedule`, `hpcc-flows`",
    )]);
}

/// Several parts start flows at the same times, and the jitter of bursts reaches beyond the next
/// burst.
#[test]
fn flows_are_in_order_of_start_and_part() {
    let traffic = "{ kind = \"all-to-all\", bytes = \"1 KB\", hosts = \"h[0-4]\", tag = \"a\" }, { kind = \"poisson\", \
     sizes = \"alistorage\", load = 0.9 }, { kind = \"incast\", degree = 4, size = \"64 KB\", period = \"10 us\", \
     jitter = \"35 us\" }, { kind = \"flows\", flows = [{ src = \"h1\", dst = \"h2\", start = \"5 us\" }, { src = \
     \"h0\", dst = \"h2\" }] }";
    let made = try_on(&fabric(), traffic, 2).unwrap();
    let flows: Vec<_> = made.flows().collect();
    assert!(flows.windows(2).all(|pair| (pair[0].start, pair[0].tag) <= (pair[1].start, pair[1].tag)));
    assert_eq!(flows.iter().map(|flow| flow.tag).collect::<BTreeSet<_>>(), (0..4).collect());
    assert!(made.flows().eq(flows.iter().cloned()), "asked again, the same");
    // Jitter delays flows. Only flows delayed beyond the end of the window are lost.
    let bursts = flows.iter().filter(|flow| flow.tag == 2).count();
    assert!((780..800).contains(&bursts), "{bursts}");
    assert!((made.expected / flows.len() as f64 - 1.0).abs() < 0.1);
}

proptest! {
    #[test]
    fn any_pattern_matches_or_is_rejected(text in "[h*0-9\\[\\]-]{0,12}|\\PC{0,8}") {
        if let Ok(hosts) = NodeList(vec![text]).hosts("f", &fabric()) {
            prop_assert!(!hosts.is_empty() && hosts.iter().all(|host| host.0 < 16));
        }
    }

}
