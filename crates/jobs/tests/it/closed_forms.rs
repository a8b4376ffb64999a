//! Checks times of collectives and schedules on one switch against closed forms, to the picosecond.
//!
//! Every host has a link of 100 Gb/s with a delay of 1 us: a byte takes 80 ps. There is no
//! congestion control. `host.ack_every` exceeds the packets of any message, so each message has one
//! ACK, which shares the host's uplink with data.

use crate::common::{job, results, simulation};
use backwater_engine::{Bytes, Duration};
use backwater_fabric::fixtures::star;
use backwater_fabric::frame::framing::Framing;
use backwater_fabric::network::spec::NetworkSpec;
use backwater_jobs::collective::Division;
use backwater_jobs::collective::all_to_all::{AllToAll, PeerOrder};
use backwater_jobs::collective::ring::{Ring, RingKind};
use backwater_jobs::connections::Pairs;
use backwater_jobs::graph::{Graph, RankBuilder};
use backwater_jobs::operation::{After, OperationIx, Rank, StreamIx};
use std::sync::Arc;

const MTU: u64 = 1024;
const DELAY: u64 = 1_000_000;

fn network(hosts: u32) -> NetworkSpec {
    let mut spec = star(hosts);
    spec.mtu = Bytes(MTU);
    spec.host.ack_every = u32::MAX;
    spec
}

/// Returns the serialisation time of a message's packets, and that of its first packet, in ps. The
/// first packet is the longest: it has an RDMA header of 16 B.
fn serialisation(bytes: u64) -> (u64, u64) {
    let packets = bytes.div_ceil(MTU);
    let wire = |packet: u64| {
        let payload = (bytes - packet * MTU).min(MTU) as u32;
        u64::from(Framing::Rocev2.data(payload, packet == 0, 0).wire) * 80
    };
    ((0..packets).map(wire).sum(), wire(0))
}

/// Returns the serialisation time of an ACK, in ps.
fn ack() -> u64 {
    u64::from(Framing::Rocev2.ack(0).wire) * 80
}

/// A message of full packets reaches a neighbour after `sent + first + 2 DELAY`: the switch stores
/// and forwards each packet. In every step but the first, the ACK of the message that has just
/// arrived goes first, and takes `ack`: K steps take `K (sent + first + 2 DELAY) + (K - 1) ack`.
#[test]
fn rings_take_their_steps_one_after_another() {
    for ranks in [2, 3, 8] {
        for kind in [RingKind::AllReduce, RingKind::AllGather, RingKind::ReduceScatter, RingKind::SendReceive] {
            // 50 full packets per block: all packets but the first have equal sizes.
            let blocks = kind.blocks(ranks);
            let division = Division::new(u64::from(blocks) * 50 * MTU, blocks, 1, u64::MAX).unwrap();
            let ring = Arc::new(Ring::new(kind, ranks, division, 1, Duration::ZERO));
            let jobs = &mut [job(ring, Pairs::Ring { ranks, channels: 1 })];
            let results = results(&mut simulation(&network(ranks), jobs, vec![]));
            let (sent, first) = serialisation(50 * MTU);
            let steps = u64::from(kind.steps(ranks));
            let expected = steps * (sent + first + 2 * DELAY) + (steps - 1) * ack();
            assert_eq!(results.time(0, 0).ps(), expected, "{kind:?} of {ranks}");
            assert!(results.is_done);
        }
    }
}

/// Iterations follow each other after a computation of 5 us. The ACK of the last message leaves
/// during the computation.
#[test]
fn iterations_follow_a_gap() {
    let (ranks, gap) = (4, Duration::from_us(5));
    let division = Division::new(4 * 20 * MTU, 4, 1, u64::MAX).unwrap();
    let ring = Arc::new(Ring::new(RingKind::AllGather, ranks, division, 3, gap));
    let jobs = &mut [job(ring, Pairs::Ring { ranks, channels: 1 })];
    let results = results(&mut simulation(&network(ranks), jobs, vec![]));
    let (sent, first) = serialisation(20 * MTU);
    let time = 3 * (sent + first + 2 * DELAY) + 2 * ack();
    for (_, iteration, _) in &results.iterations {
        let start = u64::from(iteration.number) * (time + gap.ps());
        assert_eq!((iteration.start.ps(), iteration.end.ps()), (start, start + time));
    }
    assert_eq!(results.iterations.len(), 12);
}

/// In each step, all hosts send and receive one block. A step is complete when the sender has its
/// ACK, which arrives `2 ack + 2 DELAY` after the message: it is behind nothing, since the host has
/// sent its own block. The next message leaves at once.
#[test]
fn pairwise_all_to_all_takes_a_round_trip_per_step() {
    for ranks in [2, 3, 5, 8] {
        let division = Division::new(u64::from(ranks) * 30 * MTU, ranks, 1, u64::MAX).unwrap();
        let exchange = AllToAll::new(ranks, PeerOrder::Rotation, 1, division, 1, Duration::ZERO);
        let jobs = &mut [job(Arc::new(exchange), Pairs::All { ranks, channels: 1 })];
        let results = results(&mut simulation(&network(ranks), jobs, vec![]));
        let (sent, first) = serialisation(30 * MTU);
        let (there, back) = (sent + first + 2 * DELAY, 2 * ack() + 2 * DELAY);
        let steps = u64::from(ranks) - 1;
        assert_eq!(results.time(0, 0).ps(), steps * there + (steps - 1) * back, "{ranks}");
    }
}

/// Stages process micro-batches: a stage computes for 50 us, then sends to the next stage. A
/// message takes less time than a computation, so a message arrives at the second stage every 50
/// us, when that stage ends the computation before. The ACK of the message that arrived leaves
/// first, and delays the message of the stage by `ack`, for all batches but the last. In the next
/// stage, all computations are `ack` late, because the first one is. Messages that arrive equally
/// late have the same effect again, for all batches but the last two, and so on. The first stage
/// has no ACKs, and the last one no messages: the delays add up to `min(stages - 2, batches - 1)
/// ack`.
#[test]
fn a_pipeline_with_gaps() {
    for (stages, batches) in [(2, 1), (2, 3), (3, 1), (3, 2), (4, 1), (4, 2), (4, 3), (4, 5), (6, 4)] {
        let (bytes, compute) = (40 * MTU, Duration::from_us(50));
        let mut ranks: Vec<RankBuilder> = (0..stages).map(|_| RankBuilder::default()).collect();
        for (stage, rank) in (0u32..).zip(&mut ranks) {
            let mut before: Option<OperationIx> = None;
            for batch in 0..batches {
                let computation = rank.compute(compute, StreamIx(0));
                if stage > 0 {
                    let receive = rank.receive(Some(Rank(stage - 1)), bytes, Some(batch));
                    rank.wait(computation, receive, After::End);
                }
                if let Some(before) = before.replace(computation) {
                    rank.wait(computation, before, After::End);
                }
                if stage + 1 < stages {
                    let send = rank.send(Rank(stage + 1), bytes, batch);
                    rank.wait(send, computation, After::End);
                }
            }
        }
        let graph = Arc::new(Graph::new(ranks));
        let pairs = Pairs::Listed(graph.pairs());
        let results = results(&mut simulation(&network(stages), &mut [job(graph, pairs)], vec![]));
        let (sent, first) = serialisation(bytes);
        let message = sent + first + 2 * DELAY;
        assert!(message < compute.ps());
        let acks = u64::from((stages - 2).min(batches - 1)) * ack();
        let expected = u64::from(stages + batches - 1) * compute.ps() + u64::from(stages - 1) * message + acks;
        assert_eq!(results.time(0, 0).ps(), expected, "{stages} stages, {batches} batches");
    }
}
