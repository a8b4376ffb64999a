//! Generated operations: each prerequisite occurs once, no operation waits for itself, and every
//! message has a receive.

use backwater_engine::Duration;
use backwater_jobs::bound::ideal_run;
use backwater_jobs::collective::Division;
use backwater_jobs::collective::all_to_all::{AllToAll, PeerOrder};
use backwater_jobs::collective::ring::{Ring, RingKind};
use backwater_jobs::operation::{After, Operation, OperationIx, Operations, Rank};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

fn generated() -> impl Strategy<Value = Arc<dyn Operations>> {
    let sizes = (2u32..9, 1u32..4, prop_oneof![64u64..500, Just(u64::MAX)], 1u32..4, 0u64..5000);
    (sizes, 0usize..6, 1u32..9).prop_map(|((ranks, channels, chunk, iterations, extra), kind, window)| {
        let gap = Duration::from_ps(extra);
        let rings = [RingKind::AllReduce, RingKind::AllGather, RingKind::ReduceScatter, RingKind::SendReceive];
        let blocks = rings.get(kind).map_or(ranks, |kind| kind.blocks(ranks));
        let bytes = u64::from(blocks * channels) + extra;
        let division = Division::new(bytes, blocks, channels, chunk).unwrap();
        match rings.get(kind) {
            Some(kind) => Arc::new(Ring::new(*kind, ranks, division, iterations, gap)) as Arc<dyn Operations>,
            None => {
                let order = if kind == 4 { PeerOrder::Rotation } else { PeerOrder::Nccl };
                Arc::new(AllToAll::new(ranks, order, window, division, iterations, gap))
            }
        }
    })
}

proptest! {
    #[test]
    fn prerequisites_occur_once_and_messages_have_receives(operations in generated()) {
        let mut received: BTreeMap<(Rank, OperationIx), u64> = BTreeMap::new();
        let mut expected: BTreeMap<(Rank, OperationIx), u64> = BTreeMap::new();
        for rank in (0..operations.ranks()).map(Rank) {
            let mut events: BTreeMap<OperationIx, u32> = BTreeMap::new();
            let count = operations.count(rank);
            for operation in (0..count).map(OperationIx) {
                for after in [After::Start, After::End] {
                    operations.visit_dependents(rank, operation, after, &mut |dependent| {
                        *events.entry(dependent).or_default() += 1;
                    });
                }
                match operations.get(rank, operation) {
                    Operation::Send { to, bytes, tag, .. } => {
                        prop_assert!(to != rank && bytes > 0);
                        *received.entry((to, OperationIx(tag))).or_default() += 1;
                        let receive = operations.get(to, OperationIx(tag));
                        prop_assert_eq!(receive, Operation::Receive { from: Some(rank), tag: Some(tag) });
                    }
                    Operation::Receive { .. } => {
                        expected.insert((rank, operation), 1);
                    }
                    Operation::Compute { .. } => {}
                }
            }
            for operation in (0..count).map(OperationIx) {
                let occurring = events.get(&operation).copied().unwrap_or(0);
                prop_assert_eq!(operations.prerequisites(rank, operation), occurring, "{:?}", operation);
            }
        }
        prop_assert_eq!(received, expected);
        let run = ideal_run(&operations, &|_, _, bytes| (Duration::from_ps(bytes), Duration::from_ps(1)));
        prop_assert_eq!(run.stuck.len(), 0);
        prop_assert_eq!(Some(run.iterations.len() as u32), operations.iterations());
    }
}
