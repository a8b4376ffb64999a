//! Packet scripts of one switch or host with Pyrrha, to the picosecond.
//!
//! Frames are those of the HPCC simulator with 952 B of payload: data frames are 1000 B, control
//! frames 43 B. At 100 Gb/s they take 80,000 ps and 3,000 ps. Links have a delay of 600 ns, so a
//! one-hop BDP is 15,000 B at 100 Gb/s and 60,000 B at 400 Gb/s.

use crate::prelude::*;
use backwater_fabric::contract::PauseScope;
use backwater_fabric::mechanisms::flow_control::AnyFlowControl;
use backwater_fabric::mechanisms::flow_control::bfc::Acks;
use backwater_fabric::mechanisms::flow_control::pyrrha::{
    Feed, Isolated, MergePolicy, PyrrhaFrame, RelayMetric, State,
};

pub(crate) const DELAY_NS: u64 = 600;

/// Returns `spec` with Pyrrha and a fully shared buffer.
pub(crate) fn pyrrha(mut spec: NetworkSpec, config: PyrrhaConfig) -> NetworkSpec {
    (spec.framing, spec.mtu) = (Framing::HpccNs3, Bytes(952));
    spec.switch.lossless = Vec::new();
    spec.switch.flow_control = FlowControlConfig::Pyrrha(config);
    spec
}

pub(crate) fn packets(src: u32, dst: u32, packets: u64) -> FlowSpec {
    flow(src, dst, 952 * packets, 0)
}

pub(crate) fn isolated(node: &Node) -> Vec<Isolated> {
    let AnyFlowControl::Pyrrha(pyrrha) = node.flow_control() else { panic!("the network runs Pyrrha") };
    pyrrha.isolated()
}

pub(crate) fn own_roots(node: &Node) -> Vec<PortId> {
    let AnyFlowControl::Pyrrha(pyrrha) = node.flow_control() else { panic!("the network runs Pyrrha") };
    pyrrha.own_roots()
}

/// Returns root and state of the isolation queues of `port`.
pub(crate) fn at_port(node: &Node, port: u16) -> Vec<(PortId, State)> {
    isolated(node).iter().filter(|queue| queue.port == PortIx(port)).map(|queue| (queue.root, queue.state)).collect()
}

pub(crate) fn pause(root: PortId, distance: u8) -> PyrrhaFrame {
    PyrrhaFrame::Pause { root, distance }
}

pub(crate) fn resume(root: PortId) -> PyrrhaFrame {
    PyrrhaFrame::Resume { root }
}

// -------------------------------------------------------------------------------------- thresholds

/// Returns a switch with three hosts. Two hosts send to the third, whose link has `gbps` Gb/s.
fn two_to_one(gbps: u64, config: PyrrhaConfig) -> Script {
    let mut spec = star_of(3, 100, DELAY_NS);
    spec.links[2] = link(2, 3, gbps, DELAY_NS);
    Script::new(&pyrrha(spec, config), vec![packets(0, 2, 100_000), packets(1, 2, 100_000)], 3)
}

/// Returns all frames except data that the node sends until `limit`.
pub(crate) fn signals(s: &mut Script, limit: u64) -> Vec<(u64, u16, Content)> {
    let sent = std::iter::from_fn(|| s.next_sent(limit));
    sent.filter(|sent| !matches!(sent.content, Content::Data(..)))
        .map(|sent| (sent.at, sent.port, sent.content))
        .collect()
}

/// A port nominates itself as a root when a packet makes its ordinary queue longer than two one-hop
/// BDPs; exactly two are not enough. Each ingress port gets one PAUSE per episode. The RESUMEs
/// follow the first departure that leaves less than one BDP.
#[test]
fn a_port_nominates_itself_above_two_hop_bdps_and_resumes_below_one() {
    for (gbps, pause_at, resume_below) in [(100, 30_000, 15_000), (400, 120_000, 60_000)] {
        let mut s = two_to_one(gbps, PyrrhaConfig::default());
        let root = s.port(2).id;
        // The port's link is down while the queue grows, so that no packet leaves.
        s.link_change(0, 2, false);
        let psn = (pause_at / 1000) as u32;
        s.arrive_each(0, 80_000, 0, 0, 0..psn);
        let now = u64::from(psn) * 80_000;
        assert_eq!((s.port(2).queue_bytes(QueueIx(3)), signals(&mut s, now)), (pause_at, vec![]));
        s.arrive_data(now, 1, 1, 0);
        s.arrive_data(now, 0, 0, psn);
        s.arrive_each(now + 80_000, 80_000, 1, 1, 1..4);
        let content = Content::Pyrrha(pause(root, 1));
        assert_eq!(signals(&mut s, now + 400_000), [(now, 1, content.clone()), (now, 0, content)]);
        assert_eq!(own_roots(&s.node), [root]);
        let (begin, packet) = (now + 1_000_000, 80_000 * 100 / gbps);
        let waiting = s.port(2).queue_bytes(QueueIx(3)) / 1000;
        s.link_change(begin, 2, true);
        // Packet n, counted from 0, leaves n packet times after the first one.
        let leaves = waiting - resume_below / 1000;
        let at = begin + leaves * packet;
        let content = Content::Pyrrha(resume(root));
        assert_eq!(signals(&mut s, u64::MAX), [(at, 1, content.clone()), (at, 0, content)]);
        assert_eq!(
            s.node.flow_control().leftover(),
            None,
            "hosts do not announce that they are unassigned: their state is released"
        );
    }
}

// ---------------------------------------------------------------- isolation, on a line of switches

/// Returns three switches in a line, with hosts 0 to 2 on switch 7, hosts 5 and 6 on switch 8, and
/// hosts 3 and 4 on switch 9. Switch 7 reaches the other switches through its port 3 (P7 of Figure
/// 5). Roots are ports 2 and 3 of switch 8 (to switch 9 and to host 5) and ports of switch 9.
pub(crate) fn line(config: PyrrhaConfig) -> NetworkSpec {
    let ends = [(0, 7), (1, 7), (2, 7), (7, 8), (5, 8), (6, 8), (8, 9), (3, 9), (4, 9)];
    pyrrha(with_delay(linked(7, 3, ends)), config)
}

/// Sets the delay of all links to 600 ns.
pub(crate) fn with_delay(mut spec: NetworkSpec) -> NetworkSpec {
    for link in &mut spec.links {
        link.delay = Duration::from_ns(DELAY_NS);
    }
    spec
}

/// Port of switch 7 to switch 8.
pub(crate) const P7: u16 = 3;

/// Switch 7 with the flows X, Y and W, numbered 0 to 2, which arrive on port 0. X passes both P6
/// (switch 8 to 9) and P5 (switch 9 to host 3), Y passes only P6, and W passes neither.
pub(crate) struct Line {
    pub(crate) s: Script,
    pub(crate) p6: PortId,
    pub(crate) p5: PortId,
    /// Port of switch 9 to host 4, which Y passes.
    pub(crate) p4: PortId,
    pub(crate) psn: [u32; 4],
}

pub(crate) const X: u32 = 0;
pub(crate) const Y: u32 = 1;
pub(crate) const W: u32 = 2;

impl Line {
    pub(crate) fn new(config: PyrrhaConfig) -> Line {
        let flows = vec![packets(0, 3, 10_000), packets(0, 4, 10_000), packets(0, 5, 10_000)];
        let s = Script::new(&line(config), flows, 7);
        let port = |node: u32, peer: u32| {
            let mut ports = s.fabric.wiring.ports_of(NodeId(node)).iter();
            ports.find(|port| s.fabric.wiring.peer(port) == NodeId(peer)).expect("they are linked").id
        };
        let (p6, p5, p4) = (port(8, 9), port(9, 3), port(9, 4));
        Line { s, p6, p5, p4, psn: [0; 4] }
    }

    /// Returns the line after a PAUSE of P6 at time 0, and the identifiers of P6 and P5.
    pub(crate) fn paused(config: PyrrhaConfig) -> (Line, PortId, PortId) {
        let mut line = Line::new(config);
        let (p6, p5) = (line.p6, line.p5);
        line.frame(0, pause(p6, 1));
        (line, p6, p5)
    }

    /// Handles the next packet of `flow`, which arrives at `at`.
    pub(crate) fn packet(&mut self, at: u64, flow: u32) {
        self.packets(at, 0, flow, 1);
    }

    /// Handles the next `count` packets of `flow`, which arrive `gap` apart, the first at `at`.
    pub(crate) fn packets(&mut self, at: u64, gap: u64, flow: u32, count: u32) {
        let psn = &mut self.psn[flow as usize];
        self.s.arrive_each(at, gap, 0, flow, *psn..*psn + count);
        *psn += count;
    }

    /// Handles a frame of Pyrrha that arrives on P7 at `at`.
    pub(crate) fn frame(&mut self, at: u64, frame: PyrrhaFrame) {
        self.s.arrive_pyrrha(at, P7, frame);
    }

    /// Returns roots and states of the isolation queues of P7.
    pub(crate) fn queues(&self) -> Vec<(PortId, State)> {
        at_port(&self.s.node, P7)
    }

    /// Checks that no isolation queue and no other state is left.
    pub(crate) fn assert_released(&self) {
        assert_eq!((isolated(&self.s.node), self.s.node.flow_control().leftover()), (vec![], None));
    }

    /// Returns flow and number of the data packets that leave P7 until `limit`.
    pub(crate) fn leave(&mut self, limit: u64) -> Vec<(u32, u32)> {
        let sent = std::iter::from_fn(|| self.s.next_data(limit));
        sent.filter(|(port, ..)| *port == P7).map(|(_, flow, psn)| (flow, psn)).collect()
    }
}

/// Tests all four combinations of paused and open roots. A packet that waits only for P5 is no
/// longer in the queue of P6.
#[test]
fn a_packet_waits_for_every_root_on_its_path_and_no_other() {
    let states = [(false, false), (true, false), (false, true), (true, true)];
    for (p6_paused, p5_paused) in states {
        let mut line = Line::new(PyrrhaConfig::default());
        for (root, distance, paused) in [(line.p6, 1, p6_paused), (line.p5, 2, p5_paused)] {
            line.frame(0, pause(root, distance));
            if !paused {
                // The RESUME releases the empty queue.
                line.frame(0, resume(root));
            }
        }
        for round in 0..3 {
            for flow in [X, Y, W] {
                line.packet(100_000 + round * 240_000, flow);
            }
        }
        let left = line.leave(10_000_000);
        let ran = |flow| left.iter().filter(|(other, _)| *other == flow).count();
        let runs = |runs| if runs { 3 } else { 0 };
        assert_eq!([ran(X), ran(Y), ran(W)], [runs(!p6_paused && !p5_paused), runs(!p6_paused), 3]);
        // When P6 opens, X moves to the queue of P5 and still waits. When both are open, all
        // packets leave.
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

/// 31 packets from one neighbour and 20 packets from another arrive in turn. Two one-hop BDPs are
/// 30 packets, and one is 15 packets. If the whole queue counts, its 31st packet triggers PAUSEs,
/// and the 37th departure triggers RESUMEs. If only the neighbour's own packets count, the first
/// neighbour's 31st packet triggers the PAUSE. The departure of its 17th packet, after 16 packets
/// of the other neighbour, triggers the RESUME.
#[test]
fn neighbours_are_paused_for_the_queue_or_for_their_own_packets() {
    for (relay_metric, paused, longest, resumed, keepers) in [
        (RelayMetric::Queue, vec![0, 1], 15, 37, [51; 3]),
        (RelayMetric::PerIngress, vec![0], 30, 17 + 16, [31, 20, 0]),
    ] {
        let config = PyrrhaConfig { relay_metric, ..Default::default() };
        let mut s = Script::new(&line(config), vec![packets(0, 4, 100), packets(1, 4, 100)], 7);
        let p6 = s.fabric.wiring.ports_of(NodeId(8)).last().expect("it has four ports").id;
        s.arrive_pyrrha(0, P7, pause(p6, 1));
        for psn in 0..31 {
            let now = 100_000 + 80_000 * u64::from(psn);
            s.arrive_data(now, 0, 0, psn);
            if psn < 20 {
                s.arrive_data(now, 1, 1, psn);
            }
        }
        let to_all = |at, frame| paused.iter().map(|port| (at, *port, Content::Pyrrha(frame))).collect::<Vec<_>>();
        assert_eq!(signals(&mut s, 9_000_000), to_all(100_000 + 80_000 * longest, pause(p6, 2)));
        let keep = |scope| [0, 1, 2].map(|ingress| s.packets_sustaining(ingress, scope));
        assert_eq!((keep(PauseScope::Root(p6)), keep(PauseScope::Queue(QueueIx(3)))), (keepers, [31, 20, 0]));
        assert_eq!((keep(PauseScope::Root(PortId(0))), keep(PauseScope::Queue(QueueIx(4)))), ([0; 3], [0; 3]));
        assert_eq!(s.node.flow_control().obeyed_pauses(PortIx(P7), s.port(P7)), [PauseScope::Root(p6)]);
        s.arrive_pyrrha(10_000_000, P7, resume(p6));
        let resumes = signals(&mut s, 10_000_000 + 80_000 * 50);
        assert_eq!(resumes, to_all(10_000_000 + 80_000 * (resumed - 1), resume(p6)));
    }
}

/// A packet joins the isolation queue of a paused root at 100 ns. The packet counts as delayed by a
/// PAUSE until the RESUME.
#[test]
fn time_in_a_closed_isolation_queue_is_logged() {
    let mut line = Line::new(PyrrhaConfig::default());
    line.frame(0, pause(line.p6, 1));
    line.packet(100_000, Y);
    line.frame(1_100_000, resume(line.p6));
    assert_eq!(line.s.next_held_up(2_000_000), Some(Duration::from_ns(1000)));
}

/// An empty queue remains while it is paused, and later packets wait in it. After the RESUME, the
/// queue is removed with its last packet, and the neighbour is notified.
#[test]
fn an_empty_queue_stays_while_it_is_paused() {
    let mut line = Line::new(PyrrhaConfig::default());
    let p6 = line.p6;
    line.frame(0, pause(p6, 1));
    assert_eq!(line.queues(), [(p6, State::Paused)]);
    // The queue is assigned but empty.
    let filled = |line: &Line| line.s.port(P7).most_filled_queues();
    assert_eq!((line.s.node.flow_control().most_queues_used(), filled(&line)), (1, 0));
    line.packet(5_000_000, Y);
    assert_eq!(filled(&line), 1);
    assert_eq!(line.leave(9_000_000), []);
    line.frame(10_000_000, resume(p6));
    let sent = line.s.sent_until(20_000_000, P7);
    let gone = Content::Pyrrha(PyrrhaFrame::Unassigned { root: p6 });
    assert_eq!(sent, [(10_000_000, Content::Data(3, 0)), (10_080_000, gone)]);
    line.assert_released();
    // An empty queue is released at once by a RESUME.
    line.frame(30_000_000, pause(p6, 1));
    line.frame(31_000_000, resume(p6));
    assert_eq!(signals(&mut line.s, 40_000_000).len(), 1);
    assert_eq!(isolated(&line.s.node), []);
}

/// Reactions of switches when an "unassigned" frame and a PAUSE or MERGE cross on a link.
#[test]
fn frames_that_cross_on_a_link_do_no_harm() {
    let (mut line, p6, p5) = Line::paused(PyrrhaConfig::default());
    // Upstream: a PAUSE for P6 arrives just after the switch has sent "unassigned" for P6.
    line.frame(1_000_000, resume(p6));
    line.frame(1_000_000, pause(p6, 1));
    assert_eq!(line.queues(), [(p6, State::Paused)]);
    // A MERGE arrives whose old root has no queue. The switch assigns an open queue to the new
    // root.
    line.frame(2_000_000, resume(p6));
    signals(&mut line.s, 2_900_000);
    line.frame(3_000_000, merge(p6, p5));
    assert_eq!(signals(&mut line.s, 4_000_000), []);
    assert_eq!(line.queues(), [(p5, State::Resumed)]);
    // Downstream: the switch ignores an "unassigned" that has crossed a PAUSE, so the neighbour
    // stays paused.
    let mut s = two_to_one(100, PyrrhaConfig::default());
    let root = s.port(2).id;
    s.link_change(0, 2, false);
    s.arrive_each(0, 80_000, 0, 0, 0..31);
    assert_eq!(signals(&mut s, 3_000_000).len(), 1);
    s.arrive_pyrrha(3_000_000, 0, PyrrhaFrame::Unassigned { root });
    assert_eq!(own_roots(&s.node), [root]);
}

pub(crate) fn merge(old: PortId, new: PortId) -> PyrrhaFrame {
    PyrrhaFrame::Merge { old, new, distance: 2 }
}

/// A MERGE may create an empty queue for a root. The queue is kept until its first packet has left,
/// until a RESUME of the root arrives while the queue is empty, or until a grace time is over.
#[test]
fn a_queue_made_by_a_merge_is_kept_for_a_while() {
    let unassigned = |at, root| (at, P7, Content::Pyrrha(PyrrhaFrame::Unassigned { root }));
    let grace = Duration::from_us(20);
    let made = || {
        let (mut line, p6, p5) = Line::paused(PyrrhaConfig { merge_grace: Some(grace), ..Default::default() });
        line.frame(1_000_000, merge(p6, p5));
        assert_eq!(line.queues(), [(p5, State::Resumed)]);
        (line, p6, p5)
    };
    // Without packets, the queue is released exactly at the end of the grace time.
    let (mut line, _, p5) = made();
    assert_eq!(signals(&mut line.s, 100_000_000), [unassigned(21_000_000, p5)]);
    line.assert_released();
    // A packet passes through the queue. The queue is removed with that packet, then the neighbour
    // is notified, and no state is left at the end of the grace time.
    let (mut line, _, p5) = made();
    line.packet(5_000_000, X);
    assert_eq!(signals(&mut line.s, 100_000_000), [unassigned(5_080_000, p5)]);
    // A PAUSE also ends the grace time, and the paused queue remains.
    let (mut line, _, p5) = made();
    line.frame(5_000_000, pause(p5, 2));
    assert_eq!(signals(&mut line.s, 100_000_000), []);
    assert_eq!(line.queues(), [(p5, State::Paused)]);
    line.frame(100_000_000, resume(p5));
    assert_eq!(signals(&mut line.s, 200_000_000), [unassigned(100_000_000, p5)]);
    // Another MERGE for the same new root restarts the grace time. A MERGE that names this root as
    // the old root ends the grace time.
    let (mut line, p6, p5) = made();
    line.frame(15_000_000, merge(p6, p5));
    assert_eq!(signals(&mut line.s, 34_999_999), []);
    line.frame(35_000_000, merge(p5, p6));
    assert_eq!(line.queues(), [(p6, State::Resumed)]);
    assert_eq!(signals(&mut line.s, 100_000_000), [unassigned(55_000_000, p6)]);
    // A MERGE for another root just before the end of the grace time does not extend the grace
    // time.
    let (mut line, p6, p5) = made();
    let other = PortId(0);
    line.frame(21_000_000, merge(p6, other));
    assert_eq!(signals(&mut line.s, 100_000_000), [unassigned(21_000_000, p5), unassigned(41_000_000, other)]);
    // If the grace time is 0, the queue is released at once. The default is 200 base round-trip
    // times.
    let mut line = Line::new(PyrrhaConfig { merge_grace: Some(Duration::ZERO), ..Default::default() });
    let (p6, p5) = (line.p6, line.p5);
    line.frame(1_000_000, merge(p6, p5));
    assert_eq!(signals(&mut line.s, 100_000_000), [unassigned(1_000_000, p5)]);
    let mut line = Line::new(PyrrhaConfig::default());
    line.frame(1_000_000, merge(p6, p5));
    let end = 1_000_000 + 200 * line.s.fabric.base_rtt.ps();
    assert_eq!(signals(&mut line.s, end + 100_000_000), [unassigned(end, p5)]);
}

/// A port that is a root itself receives a MERGE and then a PAUSE of the new root. While the new
/// root's queue is kept, the PAUSE announces no new root, so the port does not give up. Without the
/// grace time the port gives up.
#[test]
fn a_pause_for_a_kept_queue_makes_no_root_give_up() {
    for (merge_grace, gives_up) in [(None, false), (Some(Duration::ZERO), true)] {
        let mut line = Line::new(PyrrhaConfig { merge: MergePolicy::Any, merge_grace, ..Default::default() });
        let (p6, p5) = (line.p6, line.p5);
        line.s.link_change(0, P7, false);
        line.packets(0, 80_000, W, 31);
        let p7 = line.s.port(P7).id;
        assert_eq!(own_roots(&line.s.node), [p7]);
        line.frame(3_000_000, merge(p6, p5));
        signals(&mut line.s, 3_100_000);
        line.frame(3_200_000, pause(p5, 2));
        let frames = signals(&mut line.s, 3_300_000);
        let is_merge = |(_, port, content): &(u64, u16, Content)| {
            *port == 0 && matches!(content, Content::Pyrrha(PyrrhaFrame::Merge { old, .. }) if *old == p7)
        };
        assert_eq!(frames.iter().any(is_merge), gives_up);
        assert_eq!(own_roots(&line.s.node).is_empty(), gives_up);
    }
}

/// Three roots have two queues, so the third root shares a queue. A PAUSE for either of the two
/// roots in the shared queue stops packets of both. Packets of the root with its own queue
/// continue.
#[test]
fn roots_share_queues_when_there_are_not_enough() {
    let flows = vec![packets(0, 4, 10_000), packets(0, 5, 10_000), packets(0, 6, 10_000)];
    let config = PyrrhaConfig { isolation_queues: 2, ..Default::default() };
    let mut s = Script::new(&line(config), flows, 7);
    let ports = s.fabric.wiring.ports_of(NodeId(8));
    let roots = [3, 1, 2].map(|ix: usize| ports[ix].id);
    for root in roots {
        s.arrive_pyrrha(0, P7, pause(root, 1));
    }
    let queues: Vec<_> = isolated(&s.node).iter().map(|queue| (queue.root, queue.queue)).collect();
    assert_eq!(queues.iter().map(|(_, queue)| queue).collect::<BTreeSet<_>>().len(), 2);
    let (_, shared) = queues[2];
    let flow_of = |root: PortId| roots.iter().position(|other| *other == root).unwrap() as u32;
    let (sharing, alone): (Vec<_>, Vec<_>) = queues.iter().copied().partition(|(_, queue)| *queue == shared);
    assert_eq!((sharing.len(), alone.len()), (2, 1));
    for flow in 0..3 {
        s.arrive_each(100_000, 240_000, 0, flow, 0..2);
    }
    s.arrive_pyrrha(1_000_000, P7, resume(alone[0].0));
    let lone = flow_of(alone[0].0);
    assert_eq!(s.flows_sent(2_000_000), [lone, lone]);
    s.arrive_pyrrha(2_000_000, P7, resume(sharing[0].0));
    assert_eq!(s.flows_sent(3_000_000), [] as [u32; 0]);
    s.arrive_pyrrha(3_000_000, P7, resume(sharing[1].0));
    let mut both = [flow_of(sharing[0].0), flow_of(sharing[1].0)].repeat(2);
    both.sort_unstable();
    assert_eq!(s.flows_sent(4_000_000), both);
    assert_eq!(s.node.flow_control().leftover(), None);
    assert_eq!((s.node.flow_control().most_queues_used(), s.port(P7).most_filled_queues()), (2, 2));
}

/// Two roots share a queue. After the RESUME of the first root the queue stays closed for the
/// second root, which is then the cause of the pause.
#[test]
fn a_shared_queue_is_closed_for_one_root_after_the_other() {
    let (mut line, p6, p5) = Line::paused(PyrrhaConfig { isolation_queues: 1, ..Default::default() });
    line.packet(100_000, X);
    line.frame(1_000_000, pause(p5, 2));
    line.frame(2_000_000, resume(p6));
    let queue = isolated(&line.s.node)[0].queue.expect("it is hierarchical");
    let gate = line.s.port(P7).gate(queue);
    assert_eq!(gate.closed(), Some((at_us(2), p5.into())));
    let waits: Vec<_> = gate.waits(Time::from_ps(100_000)).map(|wait| (wait.cause, wait.length)).collect();
    assert_eq!(waits, [(p6, Duration::from_ns(1_900))]);
    line.frame(3_000_000, resume(p5));
    assert_eq!(line.leave(4_000_000), [(X, 0)]);
}

/// An ACK in a data class waits for the roots on its path like data. An ACK in the control class
/// never waits.
#[test]
fn acks_are_isolated_in_a_data_class_only() {
    for (ack_class, waits) in [(Class(3), true), (Class::CONTROL, false)] {
        let mut spec = line(PyrrhaConfig::default());
        spec.host.ack_class = ack_class;
        let mut s = Script::new(&spec, vec![packets(3, 0, 100)], 7);
        let p6 = s.fabric.wiring.ports_of(NodeId(8))[3].id;
        s.arrive_pyrrha(0, P7, pause(p6, 1));
        arrive!(s, 1_000_000 ps, port 0, ack of flow 0, expected 1);
        assert_eq!(s.next_sent(2_000_000).is_none(), waits);
        s.arrive_pyrrha(2_000_000, P7, resume(p6));
        let sent = s.sent_until(3_000_000, P7);
        assert_eq!(sent.iter().any(|(_, content)| *content == Content::Ack(1)), waits);
    }
}

/// Options for ACKs in a data class under BFC: ACKs wait in their flow's queue, or also count for
/// that queue's PAUSE, or neither. ACKs from a host never trigger a PAUSE, because a host has no
/// queues for ACKs of single flows.
#[test]
fn acks_under_bfc_wait_or_count_or_do_neither() {
    for (acks, waits, counts) in [(Acks::Wait, true, false), (Acks::Count, true, true), (Acks::Apart, false, false)] {
        let mut spec = line(PyrrhaConfig::default());
        spec.switch.flow_control = FlowControlConfig::Bfc(BfcConfig { acks, ..Default::default() });
        spec.host.ack_class = Class(3);
        // 500 ACKs of 60 B arrive on each port, more than a one-hop BDP of 15,000 B.
        let mut s = Script::new(&spec, vec![packets(0, 3, 10_000)], 8);
        let (from_switch, from_host) = (3, 1);
        s.link_change(0, 0, false);
        for (port, queue) in [(from_switch, 9), (from_host, 3)] {
            for ack in 1..=500 {
                s.arrive_ack_of_queue(1000 * ack, port, 0, queue);
            }
        }
        let added: u64 = (8..40).map(|queue| s.port(0).queue_bytes(QueueIx(queue))).sum();
        assert_eq!(added > 0, waits, "{acks:?}");
        let pauses = s.node.flow_control().upstream_pauses();
        let expected = if counts { vec![(PortIx(from_switch), PauseScope::Queue(QueueIx(9)))] } else { vec![] };
        assert_eq!(pauses, expected, "{acks:?}");
    }
}

/// Frames of the control class leave first, and do not advance packets to the ordinary queue.
#[test]
fn isolation_queues_feed_the_ordinary_one_at_the_rate_of_data() {
    for feed in [Feed::LineRate, Feed::EveryQueue] {
        let config = PyrrhaConfig { feed, ..Default::default() };
        let mut s = Script::new(&line(config), vec![packets(0, 3, 100), packets(3, 0, 100)], 7);
        let p6 = s.fabric.wiring.ports_of(NodeId(8))[3].id;
        s.arrive_pyrrha(0, P7, pause(p6, 1));
        s.arrive_each(0, 100_000, 0, 0, 0..10);
        for _ in 0..5 {
            arrive!(s, 2_000_000 ps, port 0, ack of flow 1, expected 1);
        }
        s.arrive_pyrrha(2_001_000, P7, resume(p6));
        // By 2,060,000 ps all ACKs have left, and the first packet is on the wire.
        let sent = s.sent_until(2_060_000, P7);
        assert_eq!(sent.iter().filter(|(_, content)| matches!(content, Content::Ack(_))).count(), 5);
        assert_eq!((sent.len(), s.port(P7).queue_bytes(QueueIx(3))), (6, 0), "{feed:?}");
        assert_eq!(std::iter::from_fn(|| s.next_data(3_000_000)).count(), 9);
    }
}

/// Returns the flows whose packets leave until `limit`.
fn sent(s: &mut Script, limit: u64) -> BTreeSet<u32> {
    s.flows_sent(limit).into_iter().collect()
}

/// A host stops exactly the flows that pass a paused root, including flows that start later. A
/// MERGE lets these flows continue.
#[test]
fn a_host_stops_the_flows_that_pass_a_paused_root() {
    for (hosts, obeys) in [(HostReaction::PerFlow, true), (HostReaction::None, false)] {
        let flows = vec![packets(0, 3, 1000), packets(0, 5, 1000), FlowSpec { start: at_us(3), ..packets(0, 4, 1000) }];
        let mut s = Script::new(&line(PyrrhaConfig { hosts, ..Default::default() }), flows, 0);
        let ports = s.fabric.wiring.ports_of(NodeId(8));
        let (p6, other, third) = (ports[3].id, ports[2].id, ports[1].id);
        assert_eq!(sent(&mut s, 1_000_000), BTreeSet::from([0, 1]));
        s.arrive_pyrrha(1_000_000, 0, pause(p6, 2));
        s.arrive_pyrrha(1_000_000, 0, pause(other, 2));
        let all = BTreeSet::from([0, 1, 2]);
        // Flow 1 goes to host 5, whose port is not paused.
        assert_eq!(sent(&mut s, 5_000_000), if obeys { BTreeSet::from([1]) } else { all.clone() });
        s.arrive_pyrrha(5_000_000, 0, PyrrhaFrame::Merge { old: p6, new: third, distance: 2 });
        assert_eq!(sent(&mut s, 8_000_000), all);
        // Flows 0 and 2 have waited for P6 for longer than the flight time of a MERGE.
        assert_eq!(s.given_up(), Duration::from_ns(if obeys { 2 * DELAY_NS } else { 0 }));
        s.arrive_pyrrha(8_000_000, 0, resume(other));
        assert_eq!(s.node.flow_control().leftover(), None);
    }
}

/// The network has hosts 0 and 1 on leaf 4, hosts 2 and 3 on leaf 5, and spines 6 and 7. The leaf
/// chooses a spine per packet, so a host knows only the last port of a packet's path.
#[test]
fn with_spraying_a_host_stops_for_the_last_port_only() {
    let mut spec = with_delay(leaf_spine(2, 2, 2));
    spec.load_balance = LoadBalanceConfig::Spray(SprayConfig {});
    let mut s = Script::new(&pyrrha(spec, PyrrhaConfig::default()), vec![packets(0, 2, 1000), packets(0, 3, 1000)], 0);
    let [last, middle] = [s.fabric.wiring.ports_of(NodeId(5))[0].id, s.fabric.wiring.ports_of(NodeId(6))[1].id];
    s.arrive_pyrrha(1_000_000, 0, pause(middle, 2));
    sent(&mut s, 1_000_000);
    assert_eq!(sent(&mut s, 3_000_000), BTreeSet::from([0, 1]));
    s.arrive_pyrrha(3_000_000, 0, pause(last, 3));
    assert_eq!(sent(&mut s, 5_000_000), BTreeSet::from([1]));
    s.arrive_pyrrha(5_000_000, 0, resume(last));
    assert_eq!(sent(&mut s, 7_000_000), BTreeSet::from([0, 1]));
}
