//! Pyrrha: packet scripts of one switch or host, to the picosecond.
//!
//! Frames are those of the HPCC simulator with 952 B of payload: data are 1000 B, control frames 43 B. At 100 Gb/s they take 80,000 ps and
//! 3,000 ps. Links are 600 ns long: a one-hop BDP is 15,000 B at 100 Gb/s and 60,000 B at 400 Gb/s.

use crate::common::random::pyrrha_configs;
use crate::prelude::*;
use backwater_fabric::contract::PauseScope;
use backwater_fabric::mechanisms::flow_control::AnyFlowControl;
use backwater_fabric::mechanisms::flow_control::bfc::Acks;
use backwater_fabric::mechanisms::flow_control::pyrrha::{
    Feed, Isolated, MergePolicy, PyrrhaFrame, RelayMetric, SoftMerge, State,
};
use proptest::prelude::*;

const DELAY_NS: u64 = 600;

/// A network with Pyrrha and all of the buffer shared.
fn pyrrha(mut spec: NetworkSpec, config: PyrrhaConfig) -> NetworkSpec {
    (spec.framing, spec.mtu) = (Framing::HpccNs3, Bytes(952));
    spec.switch.lossless = Vec::new();
    spec.switch.flow_control = FlowControlConfig::Pyrrha(config);
    spec
}

fn packets(src: u32, dst: u32, packets: u64) -> FlowSpec {
    flow(src, dst, 952 * packets, 0)
}

fn at_us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

fn isolated(node: &Node) -> Vec<Isolated> {
    let AnyFlowControl::Pyrrha(pyrrha) = node.flow_control() else { panic!("the network runs Pyrrha") };
    pyrrha.isolated()
}

fn own_roots(node: &Node) -> Vec<PortId> {
    let AnyFlowControl::Pyrrha(pyrrha) = node.flow_control() else { panic!("the network runs Pyrrha") };
    pyrrha.own_roots()
}

/// Root and state of what `port` isolates.
fn at_port(node: &Node, port: PortIx) -> Vec<(PortId, State)> {
    isolated(node).iter().filter(|queue| queue.port == port).map(|queue| (queue.root, queue.state)).collect()
}

fn pause(root: PortId, distance: u8) -> PyrrhaFrame {
    PyrrhaFrame::Pause { root, distance }
}

fn resume(root: PortId) -> PyrrhaFrame {
    PyrrhaFrame::Resume { root }
}

// ------------------------------------------------------------------------------------------------------------------ thresholds

/// A switch with three hosts: two send to the third at `gbps`. Packets come in two by two, so that the queue of port 2 grows by one per 80 ns.
fn two_to_one(gbps: u64, config: PyrrhaConfig) -> Script {
    let mut spec = star(3, 100, DELAY_NS);
    spec.links[2] = link(2, 3, gbps, DELAY_NS);
    Script::new(&pyrrha(spec, config), vec![packets(0, 2, 100_000), packets(1, 2, 100_000)], 3)
}

/// What the node sends besides data, until `limit`.
fn signals(s: &mut Script, limit: u64) -> Vec<(u64, PortIx, Says)> {
    let sent = std::iter::from_fn(|| s.next_sent(limit));
    sent.filter(|sent| !matches!(sent.says, Says::Data(..))).map(|sent| (sent.at, sent.port, sent.says)).collect()
}

/// T10 and T11: a port nominates itself when a packet that joins makes the ordinary queue longer than two one-hop BDPs, not at two; each
/// ingress is told once per episode; the RESUMEs come with the first departure that leaves less than one.
#[test]
fn a_port_nominates_itself_above_two_hop_bdps_and_resumes_below_one() {
    for (gbps, pause_at, resume_below) in [(100, 30_000, 15_000), (400, 120_000, 60_000)] {
        let mut s = two_to_one(gbps, PyrrhaConfig::default());
        let root = s.node.ports()[2].id;
        // The port stands still while the queue grows, so that every packet counts.
        s.link_change(0, 2, false);
        let mut psn = 0;
        while s.node.ports()[2].queue_bytes(3) < pause_at {
            s.arrive_data(u64::from(psn) * 80_000, 0, 0, psn);
            psn += 1;
        }
        let now = u64::from(psn) * 80_000;
        assert_eq!((s.node.ports()[2].queue_bytes(3), signals(&mut s, now)), (pause_at, vec![]));
        s.arrive_data(now, 1, 1, 0);
        s.arrive_data(now, 0, 0, psn);
        for later in 1..4 {
            s.arrive_data(now + 80_000 * u64::from(later), 1, 1, later);
        }
        let told = signals(&mut s, now + 400_000);
        let says = Says::Pyrrha(pause(root, 1));
        assert_eq!(told, [(now, 1, says.clone()), (now, 0, says)]);
        assert_eq!(own_roots(&s.node), [root]);
        let (begin, packet) = (now + 1_000_000, 80_000 * 100 / gbps);
        let waiting = s.node.ports()[2].queue_bytes(3) / 1000;
        s.link_change(begin, 2, true);
        // The first leaves at once; packet n, counted from 0, leaves n packet times later, and so many fewer wait then.
        let leaves = waiting - resume_below / 1000;
        let at = begin + leaves * packet;
        let says = Says::Pyrrha(resume(root));
        assert_eq!(signals(&mut s, u64::MAX), [(at, 1, says.clone()), (at, 0, says)]);
        assert_eq!(s.node.flow_control().leftover(), None, "hosts never say that nothing is kept: they are forgotten");
    }
}

// ----------------------------------------------------------------------------------------------------- isolation, on a line of switches

/// Hosts 0 to 2 on switch 7, then switches 8 and 9 with one link between two; hosts 3 and 4 on switch 9, hosts 5 and 6 on switch 8.
/// Switch 7 reaches all of them through its port 3 (P7 of Figure 5); the roots are ports 2 and 3 of switch 8 (to switch 9 and to host 5) and
/// ports of switch 9.
fn line(config: PyrrhaConfig) -> NetworkSpec {
    let mut spec = network(7, 3);
    let ends = [(0, 7), (1, 7), (2, 7), (7, 8), (5, 8), (6, 8), (8, 9), (3, 9), (4, 9)];
    spec.links = ends.iter().map(|(a, b)| link(*a, *b, 100, DELAY_NS)).collect();
    pyrrha(spec, config)
}

/// The port that leads from switch 7 to switch 8.
const P7: PortIx = 3;

/// Flows 0 to 3: X crosses both P6 (switch 8 to 9) and P5 (switch 9 to host 3), Y crosses P6 only, Z crosses a port of switch 8 to host 5, W
/// none of them. All come in on port 0.
struct Line {
    s: Script,
    p6: PortId,
    p5: PortId,
    /// The port of switch 9 to host 4, which Y passes.
    p4: PortId,
    psn: [u32; 4],
}

const X: u32 = 0;
const Y: u32 = 1;
const W: u32 = 2;

impl Line {
    fn new(config: PyrrhaConfig) -> Line {
        let flows = vec![packets(0, 3, 10_000), packets(0, 4, 10_000), packets(0, 5, 10_000)];
        let s = Script::new(&line(config), flows, 7);
        let port = |node: u32, peer: u32| {
            let ports = s.fabric.wiring.of(NodeId(node));
            ports
                .iter()
                .find(|port| s.fabric.wiring.neighbour(NodeId(node), port.ix) == NodeId(peer))
                .expect("they are linked")
                .id
        };
        let (p6, p5, p4) = (port(8, 9), port(9, 3), port(9, 4));
        Line { s, p6, p5, p4, psn: [0; 4] }
    }

    /// The next packet of `flow` arrives at `at`.
    fn packet(&mut self, at: u64, flow: u32) {
        let psn = &mut self.psn[flow as usize];
        self.s.arrive_data(at, 0, flow, *psn);
        *psn += 1;
    }

    fn frame(&mut self, at: u64, frame: PyrrhaFrame) {
        self.s.arrive_pyrrha(at, P7, frame);
    }

    /// The data packets that leave P7 until `limit`, by flow and number.
    fn leave(&mut self, limit: u64) -> Vec<(u32, u32)> {
        let sent = std::iter::from_fn(|| self.s.next_data(limit));
        sent.filter(|(port, ..)| *port == P7).map(|(_, flow, psn)| (flow, psn)).collect()
    }
}

/// T4: all four states of the two gates. What waits for P5 alone has left the queue of P6.
#[test]
fn a_packet_waits_for_every_root_that_it_will_pass_and_for_no_other() {
    let states = [(false, false), (true, false), (false, true), (true, true)];
    for (p6_paused, p5_paused) in states {
        let mut line = Line::new(PyrrhaConfig::default());
        for (root, distance, paused) in [(line.p6, 1, p6_paused), (line.p5, 2, p5_paused)] {
            line.frame(0, pause(root, distance));
            if !paused {
                // Something stands in the queue, or it would be unassigned.
                line.frame(0, resume(root));
            }
        }
        for round in 0..3 {
            [X, Y, W].into_iter().for_each(|flow| line.packet(100_000 + round * 240_000, flow));
        }
        let left = line.leave(10_000_000);
        let ran = |flow| left.iter().filter(|(other, _)| *other == flow).count();
        let runs = |runs| if runs { 3 } else { 0 };
        assert_eq!([ran(X), ran(Y), ran(W)], [runs(!p6_paused && !p5_paused), runs(!p6_paused), 3]);
        // Opening P6 moves X on to the queue of P5, where it still waits; opening both lets all go.
        if p6_paused && p5_paused {
            let bytes =
                |line: &Line, root| isolated(&line.s.node).iter().find(|queue| queue.root == root).unwrap().bytes;
            assert_eq!((bytes(&line, line.p6), bytes(&line, line.p5)), (6000, 0));
            let (p6, p5) = (line.p6, line.p5);
            line.frame(11_000_000, resume(p6));
            assert_eq!(line.leave(20_000_000), [(Y, 0), (Y, 1), (Y, 2)]);
            assert_eq!(bytes(&line, p5), 3000);
            line.frame(21_000_000, resume(p5));
            assert_eq!(line.leave(30_000_000), [(X, 0), (X, 1), (X, 2)]);
        }
    }
}

/// 31 packets from one neighbour and 20 from another come by turns. Two one-hop BDPs are 30
/// packets, one is 15. By the queue, the 31st packet of all pauses, and the 37th to leave resumes.
/// By ingress it is the first neighbour's 31st, and its 17th to leave, with 16 of the other gone.
#[test]
fn neighbours_are_paused_for_the_queue_or_for_their_own_packets() {
    for (relay_metric, paused, longest, resumed, keepers) in [
        (RelayMetric::Queue, vec![0, 1], 15, 37, [51; 3]),
        (RelayMetric::PerIngress, vec![0], 30, 17 + 16, [31, 20, 0]),
    ] {
        let config = PyrrhaConfig { relay_metric, ..Default::default() };
        let mut s = Script::new(&line(config), vec![packets(0, 4, 100), packets(1, 4, 100)], 7);
        let p6 = s.fabric.wiring.of(NodeId(8)).last().expect("it has four ports").id;
        s.arrive_pyrrha(0, P7, pause(p6, 1));
        for psn in 0..31 {
            let now = 100_000 + 80_000 * u64::from(psn);
            s.arrive_data(now, 0, 0, psn);
            if psn < 20 {
                s.arrive_data(now, 1, 1, psn);
            }
        }
        let to_all = |at, frame| paused.iter().map(|port| (at, *port, Says::Pyrrha(frame))).collect::<Vec<_>>();
        assert_eq!(signals(&mut s, 9_000_000), to_all(100_000 + 80_000 * longest, pause(p6, 2)));
        let keep = |scope| [0, 1, 2].map(|ingress| s.keep_stopped(ingress, scope));
        assert_eq!((keep(PauseScope::Root(p6)), keep(PauseScope::Queue(3))), (keepers, [31, 20, 0]));
        assert_eq!((keep(PauseScope::Root(PortId(0))), keep(PauseScope::Queue(4))), ([0; 3], [0; 3]));
        assert_eq!(s.node.flow_control().obeyed_pauses(P7, &s.node.ports()[P7]), [PauseScope::Root(p6)]);
        s.arrive_pyrrha(10_000_000, P7, resume(p6));
        let resumes = signals(&mut s, 10_000_000 + 80_000 * 50);
        assert_eq!(resumes, to_all(10_000_000 + 80_000 * (resumed - 1), resume(p6)));
    }
}

/// A packet that comes to the queue of a closed root at 100 ns has waited for a PAUSE until it opens.
#[test]
fn time_in_a_closed_isolation_queue_is_logged() {
    let mut line = Line::new(PyrrhaConfig::default());
    line.frame(0, pause(line.p6, 1));
    line.packet(100_000, Y);
    line.frame(1_100_000, resume(line.p6));
    assert_eq!(line.s.next_held_up(2_000_000), Some(Duration::from_ns(1000)));
}

/// T13: a paused queue that is empty stays, and what comes later waits in it. Once it may be removed, it is with the last packet, and the neighbour is told.
#[test]
fn an_empty_queue_stays_while_it_is_paused() {
    let mut line = Line::new(PyrrhaConfig::default());
    let p6 = line.p6;
    line.frame(0, pause(p6, 1));
    assert_eq!(at_port(&line.s.node, P7), [(p6, State::Paused)]);
    // It is assigned, but holds nothing.
    let filled = |line: &Line| line.s.node.ports()[P7].most_filled_queues();
    assert_eq!((line.s.node.flow_control().most_queues_used(), filled(&line)), (1, 0));
    line.packet(5_000_000, Y);
    assert_eq!(filled(&line), 1);
    assert_eq!(line.leave(9_000_000), []);
    line.frame(10_000_000, resume(p6));
    let sent = line.s.sent_until(20_000_000, P7);
    let gone = Says::Pyrrha(PyrrhaFrame::Unassigned { root: p6 });
    assert_eq!(sent, [(10_000_000, Says::Data(3, 0)), (10_080_000, gone)]);
    assert_eq!((isolated(&line.s.node), line.s.node.flow_control().leftover()), (vec![], None));
    // An empty queue that is let go is gone at once.
    line.frame(30_000_000, pause(p6, 1));
    line.frame(31_000_000, resume(p6));
    assert_eq!(signals(&mut line.s, 40_000_000).len(), 1);
    assert_eq!(isolated(&line.s.node), []);
}

/// T6: what an upstream switch hears when its "unassigned" has crossed a PAUSE, or a MERGE.
#[test]
fn frames_that_cross_on_a_link_do_no_harm() {
    let mut line = Line::new(PyrrhaConfig::default());
    let (p6, p5) = (line.p6, line.p5);
    // Upstream: it has just said that it keeps nothing for P6, when it hears of P6 again.
    line.frame(0, pause(p6, 1));
    line.frame(1_000_000, resume(p6));
    line.frame(1_000_000, pause(p6, 1));
    assert_eq!(at_port(&line.s.node, P7), [(p6, State::Paused)]);
    // A MERGE of a root that it keeps nothing for: it takes the new one, open.
    line.frame(2_000_000, resume(p6));
    signals(&mut line.s, 2_900_000);
    line.frame(3_000_000, merge(p6, p5));
    assert_eq!(signals(&mut line.s, 4_000_000), []);
    assert_eq!(at_port(&line.s.node, P7), [(p5, State::Resumed)]);
    // Downstream: an "unassigned" that has crossed a PAUSE is out of date; the neighbour stays paused.
    let mut s = two_to_one(100, PyrrhaConfig::default());
    let root = s.node.ports()[2].id;
    s.link_change(0, 2, false);
    (0..31).for_each(|psn| s.arrive_data(u64::from(psn) * 80_000, 0, 0, psn));
    assert_eq!(signals(&mut s, 3_000_000).len(), 1);
    s.arrive_pyrrha(3_000_000, 0, PyrrhaFrame::Unassigned { root });
    assert_eq!(own_roots(&s.node), [root]);
}

fn merge(old: PortId, new: PortId) -> PyrrhaFrame {
    PyrrhaFrame::Merge { old, new, distance: 2 }
}

/// A queue that a MERGE has made is empty and its root is a leaf, but it is not given back until it has been of use: until its first packet has
/// left, a RESUME of its root finds it empty, or some time is over.
#[test]
fn a_queue_made_by_a_merge_is_kept_for_a_while() {
    let unassigned = |at, root| (at, P7, Says::Pyrrha(PyrrhaFrame::Unassigned { root }));
    let grace = Duration::from_us(20);
    let made = || {
        let mut line = Line::new(PyrrhaConfig { merge_grace: Some(grace), ..Default::default() });
        let (p6, p5) = (line.p6, line.p5);
        line.frame(0, pause(p6, 1));
        line.frame(1_000_000, merge(p6, p5));
        assert_eq!(at_port(&line.s.node, P7), [(p5, State::Resumed)]);
        (line, p6, p5)
    };
    // Nothing comes: it goes when the time is over, to the picosecond.
    let (mut line, _, p5) = made();
    assert_eq!(signals(&mut line.s, 100_000_000), [unassigned(21_000_000, p5)]);
    assert_eq!((isolated(&line.s.node), line.s.node.flow_control().leftover()), (vec![], None));
    // A packet that passes the root: it is removed with that packet, after which the neighbour is told, and nothing is left at the end of the time.
    let (mut line, _, p5) = made();
    line.packet(5_000_000, X);
    assert_eq!(signals(&mut line.s, 100_000_000), [unassigned(5_080_000, p5)]);
    // A PAUSE ends the time, too: what is paused stays.
    let (mut line, _, p5) = made();
    line.frame(5_000_000, pause(p5, 2));
    assert_eq!(signals(&mut line.s, 100_000_000), []);
    assert_eq!(at_port(&line.s.node, P7), [(p5, State::Paused)]);
    line.frame(100_000_000, resume(p5));
    assert_eq!(signals(&mut line.s, 200_000_000), [unassigned(100_000_000, p5)]);
    // Another MERGE for the same root begins the time anew; one that names it as the old root ends it.
    let (mut line, p6, p5) = made();
    line.frame(15_000_000, merge(p6, p5));
    assert_eq!(signals(&mut line.s, 34_999_999), []);
    line.frame(35_000_000, merge(p5, p6));
    assert_eq!(at_port(&line.s.node, P7), [(p6, State::Resumed)]);
    assert_eq!(signals(&mut line.s, 100_000_000), [unassigned(55_000_000, p6)]);
    // One for another root that comes at the very end of the time does not put it off.
    let (mut line, p6, p5) = made();
    let other = PortId(0);
    line.frame(21_000_000, merge(p6, other));
    assert_eq!(signals(&mut line.s, 100_000_000), [unassigned(21_000_000, p5), unassigned(41_000_000, other)]);
    // Without such a time it is given back at once; by default it is 200 base round-trip times.
    let mut line = Line::new(PyrrhaConfig { merge_grace: Some(Duration::ZERO), ..Default::default() });
    let (p6, p5) = (line.p6, line.p5);
    line.frame(1_000_000, merge(p6, p5));
    assert_eq!(signals(&mut line.s, 100_000_000), [unassigned(1_000_000, p5)]);
    let mut line = Line::new(PyrrhaConfig::default());
    line.frame(1_000_000, merge(p6, p5));
    let end = 1_000_000 + 200 * line.s.fabric.base_rtt.ps();
    assert_eq!(signals(&mut line.s, end + 100_000_000), [unassigned(end, p5)]);
}

/// The port is a root itself when it hears of a MERGE and then of a PAUSE of the new root: while the queue is kept that PAUSE is no news, and
/// the port does not give up. Without the time, it does.
#[test]
fn a_pause_for_a_queue_that_is_kept_makes_no_root_give_up() {
    for (merge_grace, gives_up) in [(None, false), (Some(Duration::ZERO), true)] {
        let mut line = Line::new(PyrrhaConfig { merge: MergePolicy::Any, merge_grace, ..Default::default() });
        let (p6, p5) = (line.p6, line.p5);
        line.s.link_change(0, P7, false);
        (0..31).for_each(|packet| line.packet(80_000 * packet, W));
        let p7 = line.s.node.ports()[P7].id;
        assert_eq!(own_roots(&line.s.node), [p7]);
        line.frame(3_000_000, merge(p6, p5));
        signals(&mut line.s, 3_100_000);
        line.frame(3_200_000, pause(p5, 2));
        let told = signals(&mut line.s, 3_300_000);
        let is_merge = |(_, port, says): &(u64, PortIx, Says)| {
            *port == 0 && matches!(says, Says::Pyrrha(PyrrhaFrame::Merge { old, .. }) if *old == p7)
        };
        assert_eq!(told.iter().any(is_merge), gives_up);
        assert_eq!(own_roots(&line.s.node).is_empty(), gives_up);
    }
}

/// T12: two queues, three roots. The third shares a queue: pausing either of the two stops both, and the one that does not share goes on.
#[test]
fn roots_share_queues_when_there_are_not_enough() {
    let flows = vec![packets(0, 4, 10_000), packets(0, 5, 10_000), packets(0, 6, 10_000)];
    let config = PyrrhaConfig { isolation_queues: 2, ..Default::default() };
    let mut s = Script::new(&line(config), flows, 7);
    let ports = s.fabric.wiring.of(NodeId(8));
    let roots = [3, 1, 2].map(|ix: usize| ports[ix].id);
    roots.iter().for_each(|root| s.arrive_pyrrha(0, P7, pause(*root, 1)));
    let queues: Vec<_> = isolated(&s.node).iter().map(|queue| (queue.root, queue.queue)).collect();
    assert_eq!(queues.iter().map(|(_, queue)| queue).collect::<BTreeSet<_>>().len(), 2);
    let (_, shared) = queues[2];
    let flow_of = |root: PortId| roots.iter().position(|other| *other == root).unwrap() as u32;
    let (sharing, alone): (Vec<_>, Vec<_>) = queues.iter().copied().partition(|(_, queue)| *queue == shared);
    assert_eq!((sharing.len(), alone.len()), (2, 1));
    for psn in 0..2 {
        (0..3).for_each(|flow| s.arrive_data(100_000 + u64::from(psn) * 240_000, 0, flow, psn));
    }
    let leave = |s: &mut Script, limit| -> Vec<u32> {
        let mut flows: Vec<u32> = std::iter::from_fn(|| s.next_data(limit)).map(|(_, flow, _)| flow).collect();
        flows.sort_unstable();
        flows
    };
    s.arrive_pyrrha(1_000_000, P7, resume(alone[0].0));
    let lone = flow_of(alone[0].0);
    assert_eq!(leave(&mut s, 2_000_000), [lone, lone]);
    s.arrive_pyrrha(2_000_000, P7, resume(sharing[0].0));
    assert_eq!(leave(&mut s, 3_000_000), [] as [u32; 0]);
    s.arrive_pyrrha(3_000_000, P7, resume(sharing[1].0));
    let mut both = [flow_of(sharing[0].0), flow_of(sharing[1].0)].repeat(2);
    both.sort_unstable();
    assert_eq!(leave(&mut s, 4_000_000), both);
    assert_eq!(s.node.flow_control().leftover(), None);
    assert_eq!((s.node.flow_control().most_queues_used(), s.node.ports()[P7].most_filled_queues()), (2, 2));
}

/// One queue for two roots: when the first lets go, it stays shut for the other one, which is to blame from then on.
#[test]
fn a_shared_queue_is_shut_for_one_root_after_the_other() {
    let mut line = Line::new(PyrrhaConfig { isolation_queues: 1, ..Default::default() });
    let (p6, p5) = (line.p6, line.p5);
    line.frame(0, pause(p6, 1));
    line.packet(100_000, X);
    line.frame(1_000_000, pause(p5, 2));
    line.frame(2_000_000, resume(p6));
    let queue = isolated(&line.s.node)[0].queue.expect("it is hierarchical");
    let gate = line.s.node.ports()[P7].gate(queue);
    assert_eq!(gate.closed(), Some((at_us(2), p5.into())));
    let waits: Vec<_> = gate.waits(Time::from_ps(100_000)).map(|wait| (wait.cause, wait.length)).collect();
    assert_eq!(waits, [(p6, Duration::from_ns(1_900))]);
    line.frame(3_000_000, resume(p5));
    assert_eq!(line.leave(4_000_000), [(X, 0)]);
}

/// T14: an ACK in a data class waits for the roots on its way like data; one in the control class waits for nothing.
#[test]
fn acks_are_isolated_in_a_data_class_only() {
    for (ack_class, waits) in [(Class(3), true), (Class::CONTROL, false)] {
        let mut spec = line(PyrrhaConfig::default());
        spec.host.ack_class = ack_class;
        let mut s = Script::new(&spec, vec![packets(3, 0, 100)], 7);
        let p6 = s.fabric.wiring.of(NodeId(8))[3].id;
        s.arrive_pyrrha(0, P7, pause(p6, 1));
        arrive!(s, 1_000_000 ps, port 0, ack of flow 0, expected 1);
        assert_eq!(s.next_sent(2_000_000).is_none(), waits);
        s.arrive_pyrrha(2_000_000, P7, resume(p6));
        let sent = s.sent_until(3_000_000, P7);
        assert_eq!(sent.iter().any(|(_, says)| *says == Says::Ack(1)), waits);
    }
}

/// What an ACK in a data class is to BFC: it waits in the queue of its flow, it makes that queue's upstream pause as well, or it does neither. One
/// that comes from a host, where ACKs have no queue of their own, pauses no flow.
#[test]
fn acks_wait_in_the_queues_of_bfc_count_or_stand_apart() {
    for (acks, waits, counts) in [(Acks::Wait, true, false), (Acks::Count, true, true), (Acks::Apart, false, false)] {
        let mut spec = line(PyrrhaConfig::default());
        spec.switch.flow_control = FlowControlConfig::Bfc(BfcConfig { acks, ..Default::default() });
        spec.host.ack_class = Class(3);
        // 1000 ACKs of 60 B are more than a one-hop BDP of 15,000 B.
        let mut s = Script::new(&spec, vec![packets(0, 3, 10_000)], 8);
        let (from_switch, from_host): (PortIx, PortIx) = (3, 1);
        s.link_change(0, 0, false);
        for (port, queue) in [(from_switch, 9), (from_host, 3)] {
            (0..500).for_each(|ack| s.arrive_ack_of_queue(1000 * (ack + 1), port, 0, queue));
        }
        let added: u64 = (8..40).map(|queue| s.node.ports()[0].queue_bytes(queue)).sum();
        assert_eq!(added > 0, waits, "{acks:?}");
        let stopping = s.node.flow_control().upstream_pauses();
        assert_eq!(stopping, if counts { vec![(from_switch, PauseScope::Queue(9))] } else { vec![] }, "{acks:?}");
    }
}

/// Frames of the control class go first, and nothing is fed to the ordinary queue for them.
#[test]
fn isolation_queues_feed_the_ordinary_one_at_the_rate_of_data() {
    for feed in [Feed::LineRate, Feed::EveryQueue] {
        let config = PyrrhaConfig { feed, ..Default::default() };
        let mut s = Script::new(&line(config), vec![packets(0, 3, 100), packets(3, 0, 100)], 7);
        let p6 = s.fabric.wiring.of(NodeId(8))[3].id;
        s.arrive_pyrrha(0, P7, pause(p6, 1));
        (0..10).for_each(|psn| s.arrive_data(100_000 * u64::from(psn), 0, 0, psn));
        for _ in 0..5 {
            arrive!(s, 2_000_000 ps, port 0, ack of flow 1, expected 1);
        }
        s.arrive_pyrrha(2_001_000, P7, resume(p6));
        // All ACKs have left, and the first packet is on the wire.
        let sent = s.sent_until(2_060_000, P7);
        assert_eq!(sent.iter().filter(|(_, says)| matches!(says, Says::Ack(_))).count(), 5);
        assert_eq!((sent.len(), s.node.ports()[P7].queue_bytes(3)), (6, 0), "{feed:?}");
        assert_eq!(std::iter::from_fn(|| s.next_data(3_000_000)).count(), 9);
    }
}

/// The flows of which packets leave until `limit`.
fn sent(s: &mut Script, limit: u64) -> BTreeSet<u32> {
    std::iter::from_fn(|| s.next_data(limit)).map(|(_, flow, _)| flow).collect()
}

/// T15: a host holds back the flows that pass a paused root, those that start later included, and no others; a MERGE reopens them.
#[test]
fn a_host_holds_back_the_flows_that_pass_a_paused_root() {
    for (hosts, obeys) in [(HostReaction::PerFlow, true), (HostReaction::None, false)] {
        let flows = vec![packets(0, 3, 1000), packets(0, 5, 1000), FlowSpec { start: at_us(3), ..packets(0, 4, 1000) }];
        let mut s = Script::new(&line(PyrrhaConfig { hosts, ..Default::default() }), flows, 0);
        let ports = s.fabric.wiring.of(NodeId(8));
        let (p6, other, third) = (ports[3].id, ports[2].id, ports[1].id);
        assert_eq!(sent(&mut s, 1_000_000), BTreeSet::from([0, 1]));
        s.arrive_pyrrha(1_000_000, 0, pause(p6, 2));
        s.arrive_pyrrha(1_000_000, 0, pause(other, 2));
        let all = BTreeSet::from([0, 1, 2]);
        // Flow 1 goes to host 5, whose port is not among the paused.
        assert_eq!(sent(&mut s, 5_000_000), if obeys { BTreeSet::from([1]) } else { all.clone() });
        s.arrive_pyrrha(5_000_000, 0, PyrrhaFrame::Merge { old: p6, new: third, distance: 2 });
        assert_eq!(sent(&mut s, 8_000_000), all);
        // Flows 0 and 2 have waited for P6 longer than a MERGE takes.
        assert_eq!(s.given_up(), Duration::from_ns(if obeys { 2 * DELAY_NS } else { 0 }));
        s.arrive_pyrrha(8_000_000, 0, resume(other));
        assert_eq!(s.node.flow_control().leftover(), None);
    }
}

/// Hosts 0 and 1 on leaf 4, 2 and 3 on leaf 5, spines 6 and 7. Which spine is chosen packet by packet: a host only knows the last port.
#[test]
fn where_packets_are_sprayed_a_host_holds_back_for_the_last_port_alone() {
    let mut spec = network(4, 4);
    let ends = [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (4, 7), (5, 6), (5, 7)];
    spec.links = ends.iter().map(|(a, b)| link(*a, *b, 100, DELAY_NS)).collect();
    spec.load_balance = LoadBalanceConfig::Spray(SprayConfig {});
    let mut s = Script::new(&pyrrha(spec, PyrrhaConfig::default()), vec![packets(0, 2, 1000), packets(0, 3, 1000)], 0);
    let [last, middle] = [s.fabric.wiring.of(NodeId(5))[0].id, s.fabric.wiring.of(NodeId(6))[1].id];
    s.arrive_pyrrha(1_000_000, 0, pause(middle, 2));
    sent(&mut s, 1_000_000);
    assert_eq!(sent(&mut s, 3_000_000), BTreeSet::from([0, 1]));
    s.arrive_pyrrha(3_000_000, 0, pause(last, 3));
    assert_eq!(sent(&mut s, 5_000_000), BTreeSet::from([1]));
    s.arrive_pyrrha(5_000_000, 0, resume(last));
    assert_eq!(sent(&mut s, 7_000_000), BTreeSet::from([0, 1]));
}

// ---------------------------------------------------------------------------------------------------------------------- merging

/// T3, at the switch that gives up: switch 8's port to switch 9 has nominated itself, and hears of a root behind it.
fn false_positive(config: PyrrhaConfig) -> (Script, PortId, PortId) {
    let flows = vec![packets(0, 3, 10_000), packets(5, 4, 10_000), packets(6, 3, 10_000)];
    let mut s = Script::new(&line(config), flows, 8);
    let (p1, p5) = (s.node.ports()[3].id, s.fabric.wiring.of(NodeId(9))[1].id);
    s.link_change(0, 3, false);
    for psn in 0..12 {
        s.arrive_data(u64::from(psn) * 80_000, 0, 0, psn);
        s.arrive_data(u64::from(psn) * 80_000, 1, 1, psn);
        s.arrive_data(u64::from(psn) * 80_000, 2, 2, psn);
    }
    assert_eq!(signals(&mut s, 1_000_000).len(), 3, "a PAUSE to each of the three");
    assert_eq!(own_roots(&s.node), [p1]);
    (s, p1, p5)
}

#[test]
fn a_root_gives_up_for_one_further_down_once() {
    let (mut s, p1, p5) = false_positive(PyrrhaConfig { merge: MergePolicy::Any, ..Default::default() });
    s.arrive_pyrrha(1_000_000, 3, pause(p5, 1));
    assert_eq!(at_port(&s.node, 3), [(p5, State::Paused)]);
    assert_eq!(own_roots(&s.node), []);
    let merge = Says::Pyrrha(PyrrhaFrame::Merge { old: p1, new: p5, distance: 2 });
    let told: Vec<_> = signals(&mut s, 1_500_000).into_iter().map(|(_, port, says)| (port, says)).collect();
    assert_eq!(told.len(), 3);
    for port in 0..3 {
        assert!(told.contains(&(port, merge.clone())), "{told:?}");
    }
    assert_eq!(s.counted("merge_frames"), 3);
    // Once told, it does not tell again: the root is known.
    s.arrive_pyrrha(2_000_000, 3, resume(p5));
    s.arrive_pyrrha(2_100_000, 3, pause(p5, 1));
    assert!(signals(&mut s, 2_500_000).iter().all(|(.., says)| *says != merge));
    // An uplink keeps to itself where only ports towards hosts give up; switch 9 is no nearer to hosts than switch 8.
    let (mut s, p1, p5) = false_positive(PyrrhaConfig::default());
    s.arrive_pyrrha(1_000_000, 3, pause(p5, 1));
    assert_eq!((signals(&mut s, 1_500_000), own_roots(&s.node)), (vec![], vec![p1]));
}

/// T3, at a child: what passes the new root waits for it, all else goes on; the queue of the old root is gone.
#[test]
fn a_merge_parts_what_passes_the_new_root_from_what_does_not() {
    for soft_merge in [SoftMerge::Flush, SoftMerge::Drain] {
        let mut line = Line::new(PyrrhaConfig { soft_merge, ..Default::default() });
        let (p6, p5) = (line.p6, line.p5);
        line.frame(0, pause(p6, 1));
        [X, Y, X, Y].into_iter().zip(1..).for_each(|(flow, round)| line.packet(round * 100_000, flow));
        assert_eq!(line.leave(1_000_000), []);
        line.frame(1_000_000, PyrrhaFrame::Merge { old: p6, new: p5, distance: 2 });
        let after = at_port(&line.s.node, P7);
        if soft_merge == SoftMerge::Drain {
            assert!(after.contains(&(p6, State::SoftMerging)), "{after:?}");
        }
        line.frame(1_000_000, pause(p5, 2));
        // X, which was in front, had just been let go before P5 was paused; the rest of X waits.
        let mut left = line.leave(5_000_000);
        left.sort_unstable();
        assert_eq!(left, [(X, 0), (Y, 0), (Y, 1)], "{soft_merge:?}");
        assert_eq!(at_port(&line.s.node, P7), [(p5, State::Paused)]);
        line.frame(6_000_000, resume(p5));
        assert_eq!(line.leave(7_000_000), [(X, 1)]);
        assert_eq!(isolated(&line.s.node), []);
    }
}

/// A root gives up again, for another one, while what passed it still leaves: the empty queue of its first heir is kept for nobody, and goes at once.
#[test]
fn when_a_root_gives_up_again_the_queue_of_its_first_heir_goes() {
    let mut line = Line::new(PyrrhaConfig {
        soft_merge: SoftMerge::Drain,
        merge_grace: Some(Duration::ZERO),
        ..Default::default()
    });
    let (p6, p5, p4) = (line.p6, line.p5, line.p4);
    line.frame(0, pause(p6, 1));
    (1..5).for_each(|round| line.packet(round * 100_000, Y));
    line.frame(1_000_000, PyrrhaFrame::Merge { old: p6, new: p5, distance: 2 });
    assert_eq!(at_port(&line.s.node, P7), [(p6, State::SoftMerging), (p5, State::Resumed)]);
    line.frame(1_010_000, PyrrhaFrame::Merge { old: p6, new: p4, distance: 2 });
    assert_eq!(at_port(&line.s.node, P7), [(p6, State::SoftMerging), (p4, State::Resumed)]);
    assert_eq!(line.leave(5_000_000), [(Y, 0), (Y, 1), (Y, 2), (Y, 3)]);
    assert_eq!((isolated(&line.s.node), line.s.node.flow_control().leftover()), (vec![], None));
}

/// What passes a root that has given up is no longer controlled: however much of it arrives, no neighbour is paused because of it.
#[test]
fn a_queue_whose_root_has_given_up_pauses_nobody() {
    for gives_up in [false, true] {
        let mut line = Line::new(PyrrhaConfig { soft_merge: SoftMerge::Drain, ..Default::default() });
        let (p6, p5) = (line.p6, line.p5);
        line.frame(0, pause(p6, 1));
        (0..20).for_each(|_| line.packet(100_000, Y));
        if gives_up {
            line.frame(1_000_000, PyrrhaFrame::Merge { old: p6, new: p5, distance: 2 });
        }
        // More than two one-hop BDPs, 30,000 B.
        (0..20).for_each(|_| line.packet(1_000_000, Y));
        let bytes = isolated(&line.s.node).iter().find(|queue| queue.root == p6).unwrap().bytes;
        assert!(bytes > 35_000, "{bytes}");
        let told = line.s.sent_until(1_010_000, 0);
        assert_eq!(told.is_empty(), gives_up, "{told:?}");
    }
}

/// The own-root rule, where a root gives up because of a port of this switch: it takes no queue for that, and answers at once.
#[test]
fn a_merge_for_the_sake_of_a_port_of_the_switch_itself_is_declined() {
    let mut line = Line::new(PyrrhaConfig { soft_merge: SoftMerge::Drain, ..Default::default() });
    let (p6, own) = (line.p6, line.s.node.ports()[0].id);
    line.frame(0, pause(p6, 1));
    (0..4).for_each(|_| line.packet(100_000, Y));
    line.frame(1_000_000, PyrrhaFrame::Merge { old: p6, new: own, distance: 1 });
    assert_eq!(at_port(&line.s.node, P7), [(p6, State::SoftMerging)]);
    let gone = Says::Pyrrha(PyrrhaFrame::Unassigned { root: own });
    assert_eq!(signals(&mut line.s, 2_000_000), [(1_000_000, P7, gone)]);
    assert_eq!((isolated(&line.s.node), line.s.node.flow_control().leftover()), (vec![], None));
}

/// A link comes back while a frame is still on it. What is isolated behind it is no longer controlled: a neighbour that was paused because of
/// that may go at once, before any of it has left.
#[test]
fn a_link_that_comes_back_frees_those_who_were_paused_because_of_it() {
    let mut line = Line::new(PyrrhaConfig { soft_merge: SoftMerge::Drain, ..Default::default() });
    let p6 = line.p6;
    line.frame(0, pause(p6, 1));
    (0..31).for_each(|_| line.packet(100_000, Y));
    assert_eq!(line.s.sent_until(500_000, 0), [(100_000, Says::Pyrrha(pause(p6, 2)))]);
    // On the wire until 1,080,000 ps.
    line.packet(1_000_000, W);
    line.s.link_change(1_010_000, P7, false);
    line.s.link_change(1_020_000, P7, true);
    assert_eq!(line.s.sent_until(2_000_000, 0), [(1_020_000, Says::Pyrrha(resume(p6)))]);
}

/// From when a root gives up until its MERGE arrives, what passes it is still held back: one delay of the link, or less if it was paused later.
#[test]
fn time_around_a_merge_is_told() {
    for organisation in [Organisation::Hierarchical, Organisation::SingleTier] {
        for (merge_at, waited_ns) in [(200_000, 200), (5_000_000, DELAY_NS)] {
            let mut line = Line::new(PyrrhaConfig { organisation, ..Default::default() });
            let (p6, p5) = (line.p6, line.p5);
            line.frame(0, pause(p6, 1));
            line.packet(0, Y);
            line.frame(merge_at, PyrrhaFrame::Merge { old: p6, new: p5, distance: 2 });
            assert_eq!(line.s.given_up(), Duration::from_ns(waited_ns), "{organisation:?}");
        }
    }
}

/// The link fails while the queue of a root that has given up still drains, and that of its heir is kept for its sake alone.
#[test]
fn a_link_that_comes_back_during_a_merge_dissolves_both_queues() {
    let mut line = Line::new(PyrrhaConfig { soft_merge: SoftMerge::Drain, ..Default::default() });
    let (p6, p5) = (line.p6, line.p5);
    line.frame(0, pause(p6, 1));
    (1..5).for_each(|round| line.packet(round * 100_000, Y));
    line.frame(1_000_000, PyrrhaFrame::Merge { old: p6, new: p5, distance: 2 });
    assert_eq!(at_port(&line.s.node, P7), [(p6, State::SoftMerging), (p5, State::Resumed)]);
    line.s.link_change(1_010_000, P7, false);
    line.s.link_change(2_000_000, P7, true);
    assert_eq!(line.leave(5_000_000), [(Y, 0), (Y, 1), (Y, 2), (Y, 3)]);
    assert_eq!((isolated(&line.s.node), line.s.node.flow_control().leftover()), (vec![], None));
}

// ------------------------------------------------------------------------------------------------------------------------ order

/// What happens to switch 7.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Packet(u32),
    Pause(usize),
    Resume(usize),
    /// The first root gives up for another one.
    Merge(usize),
}

fn happenings() -> impl Strategy<Value = Vec<(Happening, u64)>> {
    let one = prop_oneof![
        6 => (0u32..3).prop_map(Happening::Packet),
        2 => (0usize..3).prop_map(Happening::Pause),
        2 => (0usize..3).prop_map(Happening::Resume),
        1 => (1usize..3).prop_map(Happening::Merge),
    ];
    prop::collection::vec((one, 1u64..200_000), 1..300)
}

/// The first PAUSE or RESUME of its root ends the time for which a queue that a MERGE has made is kept.
#[test]
fn a_pause_and_resume_within_the_grace_give_the_queue_back_at_once() {
    let unassigned = |at, root| (at, P7, Says::Pyrrha(PyrrhaFrame::Unassigned { root }));
    let mut line = Line::new(PyrrhaConfig { merge_grace: Some(Duration::from_us(20)), ..Default::default() });
    let (p6, p5) = (line.p6, line.p5);
    line.frame(0, pause(p6, 1));
    line.frame(1_000_000, merge(p6, p5));
    line.frame(2_000_000, pause(p5, 2));
    line.frame(5_000_000, resume(p5));
    assert_eq!(signals(&mut line.s, 200_000_000), [unassigned(5_000_000, p5)]);
}

#[test]
fn the_most_queues_filled_is_a_peak() {
    let mut line = Line::new(PyrrhaConfig { organisation: Organisation::SingleTier, ..Default::default() });
    let (p6, p5) = (line.p6, line.p5);
    line.frame(0, pause(p6, 1));
    line.frame(0, pause(p5, 2));
    line.packet(80_000, Y);
    line.packet(160_000, X);
    assert_eq!(line.s.node.ports()[P7].most_filled_queues(), 2);
    line.frame(1_000_000, resume(p6));
    line.frame(1_000_000, resume(p5));
    let _ = line.s.sent_until(3_000_000, P7);
    line.frame(3_000_000, pause(p6, 1));
    line.packet(3_100_000, Y);
    assert_eq!(line.s.node.ports()[P7].most_filled_queues(), 2);
}

proptest! {
    #![proptest_config(common::cases(1000))]

    /// T4: whatever neighbours say and whenever, packets of a flow leave in the order in which they came, and all leave in the end.
    #[test]
    fn no_packet_of_a_flow_overtakes_another_in_a_switch(happenings in happenings(), config in pyrrha_configs(), queues in 1u16..4) {
        let mut line = Line::new(PyrrhaConfig { isolation_queues: queues, ..config });
        let roots = [(line.p6, 1), (line.p5, 2), (line.p4, 2)];
        let mut now = 0;
        for (happening, gap) in happenings {
            now += gap;
            match happening {
                Happening::Packet(flow) => line.packet(now, flow),
                Happening::Pause(which) => line.frame(now, pause(roots[which].0, roots[which].1)),
                Happening::Resume(which) => line.frame(now, resume(roots[which].0)),
                Happening::Merge(which) => {
                    let (old, (new, distance)) = (roots[0].0, roots[which]);
                    line.frame(now, PyrrhaFrame::Merge { old, new, distance });
                }
            }
        }
        for (root, _) in roots {
            now += 1000;
            line.frame(now, resume(root));
        }
        let came = line.psn;
        let left = line.leave(u64::MAX);
        for (flow, count) in (0..).zip(came) {
            let order: Vec<u32> = left.iter().filter(|(other, _)| *other == flow).map(|(_, psn)| *psn).collect();
            prop_assert_eq!(order, (0..count).collect::<Vec<_>>());
        }
        prop_assert_eq!(line.s.node.flow_control().leftover(), None);
    }
}
