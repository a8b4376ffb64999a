use super::*;
use crate::testing::at_us as at;

fn congest(isolation: &mut Isolation, flow: u32, root: u32, flows: u32) {
    isolation.record(FlowId(flow), PortId(root), Cnm::Congested { flows }, at(0));
}

fn assign(isolation: &mut Isolation, flow: u32, path: Ascent) {
    isolation.assign(Congested { flow: FlowId(flow), path: path_of(isolation, flow) }, path);
}

fn path_of(isolation: &Isolation, flow: u32) -> Option<Ascent> {
    isolation.flows[&FlowId(flow)].path
}

fn paths(isolation: &Isolation) -> Vec<Ascent> {
    isolation.paths.iter().map(|path| path.ascent).collect()
}

fn clear(isolation: &mut Isolation, flow: u32, root: u32) {
    isolation.record(FlowId(flow), PortId(root), Cnm::Clear { flows: 1 }, at(0));
}

/// A root with any number n of flows needs one path, even if n times 1 / n is not 1 in floating
/// point.
#[test]
fn one_root_needs_one_path() {
    for n in 1..=200 {
        let mut isolation = Isolation::default();
        for flow in 0..n {
            congest(&mut isolation, flow, 7, flow + 1);
            assert_eq!(isolation.paths_needed(), 1, "{flow} of {n}");
        }
    }
}

#[test]
fn roots_add_up_by_the_flows_that_enter_here() {
    let mut isolation = Isolation::default();
    congest(&mut isolation, 1, 7, 3);
    congest(&mut isolation, 2, 7, 3);
    congest(&mut isolation, 3, 8, 4);
    // The flows need 2/3 + 1/4 of a path.
    assert_eq!(isolation.paths_needed(), 1);
    // The flows need 2/3 + 2/4 of a path.
    congest(&mut isolation, 4, 8, 4);
    assert_eq!(isolation.paths_needed(), 2);
    // All flows of two roots enter at this edge.
    let mut isolation = Isolation::default();
    (0..6).for_each(|flow| congest(&mut isolation, flow, flow % 2, 3));
    assert_eq!(isolation.paths_needed(), 2);
}

/// Of two ports at which a flow is congested, the one with more flows limits the flow's rate.
#[test]
fn the_larger_n_counts() {
    let mut isolation = Isolation::default();
    congest(&mut isolation, 1, 7, 1);
    congest(&mut isolation, 2, 8, 1);
    assert_eq!(isolation.paths_needed(), 2);
    congest(&mut isolation, 1, 9, 10);
    congest(&mut isolation, 2, 8, 2);
    // The flows need 1/10 + 1/2 of a path.
    assert_eq!(isolation.paths_needed(), 1);
}

/// Fewer paths are needed as soon as flows share a port. Until the next check, no path is released,
/// and as many paths as before are wanted.
#[test]
fn as_many_paths_are_wanted_until_the_check() {
    let mut isolation = Isolation::default();
    congest(&mut isolation, 1, 7, 1);
    congest(&mut isolation, 2, 8, 1);
    assign(&mut isolation, 1, 5);
    congest(&mut isolation, 1, 9, 10);
    congest(&mut isolation, 2, 9, 10);
    assert!(isolation.wants_more());
    isolation.check(at(0), Duration::from_us(10));
    assert!(!isolation.wants_more());
}

/// A path has at most `MOST_ROOTS` ports. If a flow is congested at more ports, the further ports
/// do not count.
#[test]
fn no_more_ports_count_than_there_can_be() {
    let mut isolation = Isolation::default();
    let ports = 0..MOST_ROOTS as u32 + 1;
    ports.clone().for_each(|port| congest(&mut isolation, 1, port, 1));
    assert_eq!(isolation.roots.len(), MOST_ROOTS);
    ports.for_each(|port| clear(&mut isolation, 1, port));
    assert_eq!((isolation.counts(), isolation.roots.len()), ((0, 0), 0));
}

/// A flow is released when it is clear at all its congested ports, and the last flow releases the
/// paths.
#[test]
fn clear_notices_release() {
    let mut isolation = Isolation::default();
    congest(&mut isolation, 1, 7, 2);
    congest(&mut isolation, 1, 8, 2);
    congest(&mut isolation, 2, 7, 2);
    assign(&mut isolation, 1, 5);
    clear(&mut isolation, 1, 7);
    assert_eq!(isolation.counts(), (2, 1));
    clear(&mut isolation, 1, 9);
    clear(&mut isolation, 2, 7);
    assert_eq!((isolation.counts(), isolation.roots.len()), ((1, 1), 1));
    assert!(isolation.is_isolated(5));
    clear(&mut isolation, 1, 8);
    assert_eq!((isolation.counts(), isolation.roots.len()), ((0, 0), 0));
    assert!(!isolation.is_isolated(5) && !isolation.wants_more());
}

/// Of three paths, two are needed once a flow is no longer congested: the path with the fewest
/// flows is released, the last among equals.
#[test]
fn a_check_releases_what_is_not_needed() {
    let mut isolation = Isolation::default();
    for (flow, path) in [(1, 10), (2, 11), (3, 12)] {
        congest(&mut isolation, flow, flow, 1);
        assert!(isolation.wants_more());
        assign(&mut isolation, flow, path);
    }
    assert!(!isolation.wants_more());
    clear(&mut isolation, 2, 2);
    // Paths are not released before the check.
    assert_eq!(paths(&isolation), [10, 11, 12]);
    isolation.check(at(0), Duration::from_us(10));
    assert_eq!((&paths(&isolation)[..], path_of(&isolation, 1)), (&[10, 12][..], Some(10)));
    // Both flows are now congested at one port.
    congest(&mut isolation, 1, 9, 2);
    congest(&mut isolation, 3, 9, 2);
    isolation.check(at(0), Duration::from_us(10));
    assert_eq!((&paths(&isolation)[..], path_of(&isolation, 3)), (&[10][..], None));
}

/// Flows 1 and 2 are congested at one port, and need one path, which does not lead to flow 2's
/// destination. Flow 2 has another path while it is congested, even though that path has more flows
/// than the first.
#[test]
fn a_path_that_leads_elsewhere_is_extra() {
    let (mut isolation, timeout) = (Isolation::default(), Duration::from_us(10));
    for (flow, path) in [(1, 10), (2, 11), (3, 11)] {
        congest(&mut isolation, flow, 7, 3);
        assign(&mut isolation, flow, path);
    }
    assert!(!isolation.wants_more());
    isolation.check(at(0), timeout);
    assert_eq!((&paths(&isolation)[..], path_of(&isolation, 2)), (&[10, 11][..], Some(11)));
    [2, 3].into_iter().for_each(|flow| clear(&mut isolation, flow, 7));
    isolation.check(at(0), timeout);
    assert_eq!(paths(&isolation), [10]);
}

/// If a clear notice is lost, the entry is removed after the timeout without packets or notices.
#[test]
fn idle_flows_are_forgotten() {
    let (mut isolation, timeout) = (Isolation::default(), Duration::from_us(10));
    congest(&mut isolation, 1, 7, 1);
    assign(&mut isolation, 1, 5);
    assert!(isolation.record_packet(FlowId(1), at(5)).is_some() && isolation.record_packet(FlowId(2), at(5)).is_none());
    isolation.check(at(15), timeout);
    assert_eq!(isolation.counts(), (1, 1));
    isolation.check(at(16), timeout);
    assert_eq!((isolation.counts(), isolation.roots.len()), ((0, 0), 0));
}
