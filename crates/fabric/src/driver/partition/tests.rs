use super::*;
use crate::fixtures::{leaf_spine, linked, star};
use crate::network::spec::NetworkSpec;
use crate::testing::hpcc_frames;

/// Returns the shards if every node's load is its number of ports.
fn idle(spec: NetworkSpec, shards: usize) -> Vec<Vec<u32>> {
    let fabric = Fabric::new(spec).unwrap();
    numbers(Partition::automatic(&fabric, &expected_load(&fabric, &[]), shards))
}

fn numbers(partition: Partition) -> Vec<Vec<u32>> {
    let part = |part: Vec<NodeId>| {
        let mut part: Vec<u32> = part.into_iter().map(|node| node.0).collect();
        part.sort_unstable();
        part
    };
    partition.0.into_iter().map(part).collect()
}

/// Returns a fat-tree of hosts 0 to 15, edge switches 16 to 23, aggregation switches 24 to 31 and
/// core switches 32 to 35. Pod `p` has the hosts `4p..4p+4` and the switches `2p` and `2p+1` of a
/// tier.
fn fat_tree() -> NetworkSpec {
    let access = (0..16).map(|host| (host, 16 + host / 2));
    let middle = (0..8).flat_map(|edge| (0..2).map(move |up| (16 + edge, 24 + edge / 2 * 2 + up)));
    let core = (0..8).flat_map(|middle| (0..2).map(move |up| (24 + middle, 32 + middle % 2 * 2 + up)));
    linked(16, 20, access.chain(middle).chain(core))
}

fn pod_of_fat_tree(node: u32) -> Option<u32> {
    match node {
        0..16 => Some(node / 4),
        16..24 => Some((node - 16) / 2),
        24..32 => Some((node - 24) / 2),
        _ => None,
    }
}

fn flow(src: u32, dst: u32, bytes: u64) -> FlowSpec {
    FlowSpec::new(NodeId(src), NodeId(dst), bytes)
}

#[test]
fn a_fat_tree_is_cut_at_its_core() {
    for shards in [2, 4] {
        let parts = idle(fat_tree(), shards);
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), vec![36 / shards; shards]);
        for pod in 0..4 {
            let has_some = |part: &&Vec<u32>| part.iter().any(|node| pod_of_fat_tree(*node) == Some(pod));
            assert_eq!(parts.iter().filter(has_some).count(), 1, "pod {pod} in {shards} shards: {parts:?}");
        }
        for part in &parts {
            assert_eq!(part.iter().filter(|node| pod_of_fat_tree(**node).is_none()).count(), 4 / shards);
        }
    }
}

#[test]
fn a_pod_is_split_if_whole_pods_cannot_be_balanced() {
    let parts = idle(fat_tree(), 3);
    let whole = |pod: u32| {
        parts.iter().any(|part| (0..32).filter(|n| pod_of_fat_tree(*n) == Some(pod)).all(|n| part.contains(&n)))
    };
    assert_eq!((0..4).filter(|pod| whole(*pod)).count(), 3, "{parts:?}");
    // Racks are not split: hosts are in the shard of their edge.
    for host in 0..16 {
        assert!(parts.iter().any(|part| part.contains(&host) && part.contains(&(16 + host / 2))), "{parts:?}");
    }
}

#[test]
fn a_leaf_spine_is_cut_at_its_spines() {
    let parts = idle(leaf_spine(4, 3, 2), 2);
    assert_eq!(parts, [vec![0, 1, 2, 6, 7, 8, 12, 14, 16], vec![3, 4, 5, 9, 10, 11, 13, 15, 17]]);
}

#[test]
fn a_star_is_cut_between_its_hosts() {
    assert_eq!(idle(star(6), 2), [vec![6], vec![0, 1, 2, 3, 4, 5]]);
}

#[test]
fn one_shard_holds_everything_rack_by_rack() {
    let fabric = Fabric::new(leaf_spine(2, 2, 1)).unwrap();
    let partition = Partition::automatic(&fabric, &expected_load(&fabric, &[]), 1);
    assert_eq!(partition, Partition(vec![[0, 1, 4, 2, 3, 5, 6].map(NodeId).to_vec()]));
}

#[test]
fn no_shard_is_empty() {
    assert_eq!(idle(star(2), 1024), [[2], [0], [1]]);
    assert_eq!(idle(star(2), 0), [[0, 1, 2]]);
    // No node has a load.
    let fabric = Fabric::new(star(2)).unwrap();
    assert_eq!(numbers(Partition::automatic(&fabric, &vec![0; 3].into(), 2)), [[0, 1, 2]]);
}

#[test]
fn connected_components_are_not_split() {
    // The first network has two stars. The second has two hosts back to back and two switches
    // without a host.
    assert_eq!(idle(linked(4, 2, [(0, 4), (1, 4), (2, 5), (3, 5)]), 2), [[0, 1, 4], [2, 3, 5]]);
    assert_eq!(idle(linked(2, 2, [(0, 1), (2, 3)]), 2), [[0, 1], [2, 3]]);
}

/// Hosts are only at the ends of a row of six switches.
#[test]
fn a_row_is_cut_in_the_middle() {
    let ends = (2..7).map(|switch| (switch, switch + 1)).chain([(0, 2), (1, 7)]);
    let parts = idle(linked(2, 6, ends), 2);
    assert_eq!(parts.concat().len(), 8);
    assert!(parts.iter().all(|part| part.len() == 4), "{parts:?}");
}

#[test]
fn a_flow_loads_every_node_on_its_path() {
    let flows = vec![flow(0, 1, 10 * 952), flow(0, 3, 100 * 952), flow(2, 3, FlowSpec::ENDLESS)];
    let fabric = Fabric::new(hpcc_frames(leaf_spine(2, 2, 1))).unwrap();
    let endless = u64::from(LONG_FLOW);
    let idle = [1, 1, 1, 1, 3, 3, 2];
    let passing = [110, 10, endless, endless + 100, 110, endless + 100, 100];
    let sum: Vec<u64> = idle.iter().zip(passing).map(|(a, b)| a + b).collect();
    assert_eq!(**expected_load(&fabric, &flows), sum);
}

/// All hosts send to one host. The receiver's rack has half of the load and is split.
#[test]
fn uneven_load_is_balanced() {
    let flows: Vec<_> = (4..32).map(|host| flow(host, 0, 952_000)).collect();
    let fabric = Fabric::new(hpcc_frames(leaf_spine(8, 4, 4))).unwrap();
    let loads = expected_load(&fabric, &flows);
    for shards in [2, 3, 4] {
        let partition = Partition::automatic(&fabric, &loads, shards);
        let load = |part: &Vec<NodeId>| part.iter().map(|node| loads[*node]).sum::<u64>();
        let fair = loads.iter().sum::<u64>() as f64 / shards as f64;
        let most = partition.0.iter().map(load).max().unwrap() as f64;
        assert!(most < 1.1 * fair, "{shards} shards: {most} of {fair}");
    }
    // No shard can have less load than its heaviest node.
    let partition = Partition::automatic(&fabric, &loads, 16);
    assert!(partition.0.contains(&vec![NodeId(0)]), "{partition:?}");
}
