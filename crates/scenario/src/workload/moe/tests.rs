//! Tests of mixture-of-experts traffic.

use super::super::tests::*;

/// Two groups of 16, as in Pyrrha's generator.
const MOE: &str = "{ kind = \"moe\", groups = [\"h[0-15]\", \"h[16-31]\"], interval = \"5 ms\", iterations = 3, \
    shift = \"1 ms\" }";

/// Each of 16 hosts sends once and leaves out all other iterations, 2^72 B.
#[test]
fn counts_of_bursts_beyond_the_run_do_not_overflow() {
    let many = "{ kind = \"moe\", groups = [\"h[0-15]\"], interval = \"5 ms\", iterations = 4294967295, bytes = \
        \"1024 GiB\", burst = \"1024 GiB\" }";
    let left_out = try_on(&fabric(), many, 1).unwrap().left_out;
    assert_eq!((left_out.flows, left_out.bytes), (16 * 4_294_967_294, u64::MAX));
}

#[test]
fn hosts_send_bursts_by_popularity() {
    let graph = graph("kind = \"leaf-spine\"\nleaves = 8\nspines = 2\nhosts_per_leaf = 4");
    let made = try_on(&graph, MOE, 20).unwrap();
    assert_eq!(made.tags, ["moe", "moe.0", "moe.1"]);
    let flows: Vec<_> = made.flows().collect();
    assert_eq!((flows.len() as f64, flows.len()), (made.expected, 3 * 32 * 100));
    assert!(flows.iter().all(|flow| flow.src != flow.dst && flow.bytes == 80_000));
    for (tag, hosts) in [(1, 0..16), (2, 16..32)] {
        let of_group: Vec<_> = flows.iter().filter(|flow| flow.tag == tag).collect();
        let first = hosts.start;
        // 16 bursts start together every 5.1 us. The second group starts 1 ms later.
        let expected =
            (0..3u64).flat_map(|iteration| (0..100u64).map(move |burst| iteration * 5_000_000 + burst * 5_100));
        let starts = expected.flat_map(|ns| [ns * 1000 + u64::from(tag - 1) * MS; 16]);
        assert!(of_group.iter().map(|flow| flow.start.ps()).eq(starts));
        assert!(of_group.iter().all(|flow| hosts.contains(&flow.src.0) && hosts.contains(&flow.dst.0)));
        // A host draws again if it has drawn itself, so other hosts are drawn in proportion to
        // their popularity.
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

/// The draws of a group do not depend on other groups. The last burst has the remaining bytes.
#[test]
fn groups_draw_independently() {
    let moe = |groups: &str| {
        let made = flows(
            &format!(
                "{{ kind = \"moe\", groups = {groups}, popularity = [1, 2, 3, 4], bytes = \"100 KB\", burst = \
                    \"30 KB\" }}"
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
fn wrong_options_are_rejected() {
    check_rejected(&[
        (
            "{ kind = \"moe\", groups = [\"h[0-3]\", \"h16\"], bytes = \"0 B\", iterations = 0, popularity = [0, \
                -1, 2] }",
            "traffic[0].groups[1]: there is no host \"h16\"; did you mean \"h10\"?\ntraffic[0].bytes: must be at \
                least 1 B\ntraffic[0].iterations: must be at least 1\ntraffic[0].popularity[1]: must be from 0 to \
                1e9\ntraffic[0].popularity: must be above 0 for at least 2 experts",
        ),
        (
            "{ kind = \"moe\", groups = [\"h[0-3]\"], iterations = 2 }",
            "traffic[0].groups[0]: must have 16 hosts, one per entry of `popularity`; found 4\n\
             traffic[0].interval: is missing; required for several iterations",
        ),
        (
            "{ kind = \"moe\", groups = [\"h*\"], iterations = 2, interval = \"504.9 us\" }",
            "traffic[0].interval: must be longer than the sending time of an iteration (504.9 us)",
        ),
        (
            "{ kind = \"moe\", groups = [\"h*\"], burst = \"1 B\", gap = \"1000 s\", shift = \"10000000 s\" }",
            "traffic[0]: generates about 128000000 flows; all parts together may generate at most 100000000; \
                depending on the kind, set an earlier `stop`, a lower `load`, larger flows or fewer hosts",
        ),
    ]);
}
