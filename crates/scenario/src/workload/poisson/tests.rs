//! Unit tests of `poisson` traffic.

use super::super::tests::*;
use super::*;
use backwater_fabric::frame::framing::Framing;
use backwater_fabric::network::spec::FlowSpec;
use std::collections::BTreeSet;

const GOLDEN: [(u64, u32, u32, u64); 3] =
    [(31348504, 2, 4, 2314942), (114829134, 12, 7, 13745), (148841797, 6, 8, 61440)];

#[test]
fn the_first_flows_equal_the_golden_ones() {
    let made = flows("{ kind = \"poisson\", sizes = \"websearch-dctcp\", load = 0.5 }", 1);
    let first: Vec<_> = made.iter().take(3).map(|flow| (flow.start.ps(), flow.src.0, flow.dst.0, flow.bytes)).collect();
    assert_eq!(first, GOLDEN);
}

#[test]
fn offered_load_is_the_requested_load() {
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
            // Destinations are uniform over 15 hosts, 3 of which are in the source's rack.
            let local = own.iter().filter(|flow| rack(flow.dst) == rack(flow.src)).count() as f64 / own.len() as f64;
            assert!((local - 0.2).abs() < 0.05, "{local}");
        }
    }
}

#[test]
fn load_on_the_wire_includes_headers() {
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
fn load_of_uplinks_is_a_share_of_the_uplink_capacity() {
    for extra in ["", ", intra_rack = 0.5", ", intra_rack = 0.0"] {
        let made = flows(
            &format!("{{ kind = \"poisson\", sizes = \"alistorage\", load = 0.6, load_of = \"uplinks\"{extra} }}"),
            500,
        );
        for leaf in 0..4 {
            // Each leaf has two uplinks at 100 Gb/s.
            let leaving = made.iter().filter(|flow| rack(flow.src) == leaf && rack(flow.dst) != leaf);
            let measured = offered(leaving, 2, 500);
            assert!((measured / 0.6 - 1.0).abs() < 0.02, "{extra} leaf {leaf}: {measured}");
        }
    }
}

#[test]
fn intra_rack_share_is_respected() {
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
fn sources_destinations_and_exclusions_are_respected() {
    let made = flows(
        "{ kind = \"poisson\", sizes = \"4 KB\", load = 0.3, hosts = \"h[0-7]\", destinations = [\"h1*\", \"h2\"], \
         exclude_receivers = \"incast\" }, { kind = \"incast\", degree = 1, size = \"1 KB\", receivers = [\"h2\", \
             \"h12\"] }",
        1,
    );
    let poisson = || made.iter().filter(|flow| flow.tag == 0);
    let sources: BTreeSet<_> = poisson().map(|flow| flow.src.0).collect();
    let destinations: BTreeSet<_> = poisson().map(|flow| flow.dst.0).collect();
    assert_eq!(sources, BTreeSet::from([0, 1, 3, 4, 5, 6, 7]));
    assert_eq!(destinations, BTreeSet::from([1, 10, 11, 13, 14, 15]));
}

#[test]
fn flows_of_a_burst_start_together_at_the_same_load() {
    let made = flows("{ kind = \"poisson\", sizes = \"alistorage\", load = 0.6, burst = 8 }", 500);
    assert!((offered(&made, 16, 500) / 0.6 - 1.0).abs() < 0.03);
    for arrival in bursts(&made).values() {
        assert_eq!(arrival.len(), 8);
        assert!(arrival.iter().all(|flow| flow.src == arrival[0].src));
    }
    let destinations: BTreeSet<NodeId> = made[..8].iter().map(|flow| flow.dst).collect();
    assert!(destinations.len() > 1);
}

#[test]
fn invalid_options_are_rejected() {
    check_rejected(&[
        ("{ kind = \"poisson\", load = 0.5 }", "missing field `sizes`"),
        (
            "{ kind = \"poisson\", sizes = \"1 KB\", load = 1.7 }",
            "traffic[0].load: must be greater than 0 and at most 1; the load is a share of the capacity; above 1, the \
                backlog grows without limit",
        ),
        (
            "{ kind = \"poisson\", sizes = \"1 KB\", load = -0.1 }",
            "traffic[0].load: must be greater than 0 and at most 1",
        ),
        (
            "{ kind = \"poisson\", sizes = \"1 KB\", load = nan }",
            "traffic[0].load: must be greater than 0 and at most 1",
        ),
        (
            "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.9, load_of = \"uplinks\", intra_rack = 0.9 }",
            "traffic[0].load: exceeds the link of host \"h0\": 0.9 of the uplinks' capacity is 4.5 times the \
                capacity of that link; lower `load` or `intra_rack`",
        ),
        (
            "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.9, load_of = \"uplinks\", intra_rack = 1.0 }",
            "traffic[0].load_of: no flow of host \"h0\" uses an uplink; use \"host-links\" in this fabric",
        ),
        (
            "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, intra_rack = 1.5 }",
            "traffic[0].intra_rack: must be from 0 to 1",
        ),
        (
            "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, hosts = \"h16\" }",
            "traffic[0].hosts: there is no host \"h16\"; did you mean \"h10\"?",
        ),
        (
            "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, hosts = [\"h0\", \"leaf0\", \"x*\", \"h[3\", \
                \"h[5-3]\"] }",
            "traffic[0].hosts[1]: \"leaf0\" is a switch, not a host\ntraffic[0].hosts[2]: no host matches \"x*\"; the \
             first host is called \"h0\"\ntraffic[0].hosts[3]: \"h[3\" is not a valid pattern; write a range of \
             numbers as `[0-15]`; `*` matches any text\ntraffic[0].hosts[4]: \"h[5-3]\" is not a valid pattern; write \
             a range of numbers as `[0-15]`; `*` matches any text",
        ),
        (
            "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, hosts = [] }",
            "traffic[0].hosts: must not be empty; omit this option to select all hosts",
        ),
        (
            "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, hosts = \"h0\", destinations = \"h0\" }",
            "traffic[0].destinations: host \"h0\" has no other host to send to",
        ),
        (
            "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, destinations = \"h[4-7]\", intra_rack = 0.5, hosts = \
                \"h0\" }",
            "traffic[0].intra_rack: host \"h0\" has no other host in its rack to send to",
        ),
        (
            "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, exclude_receivers = \"h*\" }",
            "traffic[0].hosts: no sending host is left: `exclude_receivers` excludes all of them",
        ),
        (
            "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, exclude_receivers = \"incast\" }",
            "traffic[0].exclude_receivers: there is no incast in this scenario; list hosts, or omit this option",
        ),
        (
            "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, exclude_receivers = \"incast\" }, { kind = \
             \"incast\", degree = 1, size = \"1 KB\" }",
            "traffic[0].exclude_receivers: \"incast\" requires `receivers` in every incast of the scenario; \
             without `receivers`, any host can be the receiver of an incast",
        ),
        (
            "{ kind = \"poisson\", sizes = \"1 B\", load = 1.0, stop = \"2 s\", class = 8, start = \"1 ms\" }",
            "traffic[0].class: must be from 0 to 7\ntraffic[0].start: must be before the end of the traffic (1 ms)",
        ),
        (
            "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, start = \"300 us\", stop = \"200 us\" }",
            "traffic[0].stop: must be after `start` (300 us)",
        ),
    ]);
}
