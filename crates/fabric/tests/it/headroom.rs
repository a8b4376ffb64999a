//! The exact headroom, tested with the worst case constructed in `docs/mechanisms/headroom.md`, and
//! with random traffic.

use crate::prelude::*;
use backwater_fabric::contract::need::{equation_1, exact_need, worst_case};
use backwater_fabric::mechanisms::headroom::oversubscribed::OversubscribedConfig;
use proptest::prelude::*;

const REVERSE: u32 = 0;
const SENDER: u32 = 1;
const RECEIVER: u32 = 2;
const SWITCH: NodeId = NodeId(3);

/// The link between the sender and the switch whose ingress queue fills.
#[derive(Clone, Copy, Debug)]
struct Setting {
    mtu: u64,
    gbps: u64,
    delay_ps: u64,
    response_ps: u64,
}

impl Setting {
    fn wire(&self) -> u64 {
        Framing::Rocev2.largest(self.mtu as u32, 0).wire.into()
    }

    fn charge(&self) -> u64 {
        Framing::Rocev2.largest(self.mtu as u32, 0).charge.into()
    }

    /// Returns three hosts on a switch. The receiver's link is down, so that the sender's packets
    /// remain in the switch. The first of them crosses the threshold.
    fn spec(&self) -> NetworkSpec {
        let mut spec = star_of(3, self.gbps, 1);
        for link in &mut spec.links {
            link.delay = Duration::from_ps(self.delay_ps);
        }
        spec.mtu = Bytes(self.mtu);
        spec.faults = vec![LinkFault { link: RECEIVER as usize, down: Time::ZERO, up: Time::ZERO + MILLISECOND }];
        spec.host.ack_every = u32::MAX;
        let response = Duration::from_ps(self.response_ps);
        spec.switch.flow_control = FlowControlConfig::Pfc(PfcConfig { response, ..Default::default() });
        spec.switch.headroom = fixed(1, None);
        spec
    }

    /// Returns `exact_need` of the sender's port.
    fn need(&self) -> u64 {
        let fabric = Fabric::new(self.spec()).unwrap();
        let site = fabric.site(SWITCH);
        exact_need(&site, &site.ports[SENDER as usize])
    }

    /// Returns the number of whole bytes that the sender transmits before its gate closes, counted
    /// from the first frame behind the frame that crosses the threshold.
    fn window_bytes(&self) -> u64 {
        let byte_ps = 8000 / self.gbps;
        let pause = u64::from(Framing::Rocev2.control().wire);
        (2 * self.delay_ps + self.response_ps) / byte_ps + self.wire() + pause
    }

    /// Returns the wire sizes of the frames that fill the window, with as few frames as possible,
    /// none of which is below the smallest size.
    fn filling(&self) -> Vec<u64> {
        self.filling_of(self.window_bytes())
    }

    fn filling_of(&self, bytes: u64) -> Vec<u64> {
        let wire = self.wire();
        let gap = wire - self.charge();
        let frames = bytes.div_ceil(wire);
        // A last frame with fewer bytes than the gap between frames is left out.
        if bytes - gap * frames <= bytes / wire * self.charge() {
            return vec![wire; (bytes / wire) as usize];
        }
        let mut sizes = vec![wire; frames as usize];
        let mut excess = wire * frames - bytes;
        for size in &mut sizes {
            let cut = excess.min(*size - self.smallest());
            *size -= cut;
            excess -= cut;
        }
        sizes
    }

    /// Returns the wire size of a packet of one byte.
    fn smallest(&self) -> u64 {
        self.wire() - self.mtu + 1
    }

    /// Returns one flow per packet of the sender, so that packets can have any sizes. The packets
    /// are, in order: one that crosses the threshold, those that fill the window, one that starts
    /// just before the gate closes, and some that wait behind the gate. A reverse flow delays the
    /// PAUSE.
    fn flows(&self) -> Vec<FlowSpec> {
        let payload = |wire: u64| wire - (self.wire() - self.mtu);
        let mut sizes = vec![self.wire()];
        sizes.extend(self.filling());
        sizes.extend([self.wire(); 8]);
        let forth = sizes.iter().map(|wire| flow(SENDER, RECEIVER, payload(*wire), 0));
        let back = flow(REVERSE, SENDER, self.mtu * 2000, 0);
        std::iter::once(back).chain(forth).collect()
    }
}

const MILLISECOND: Duration = Duration::from_ms(1);

fn fixed(xoff: u64, headroom: Option<u64>) -> HeadroomConfig {
    HeadroomConfig::Static(StaticConfig { xoff: Bytes(xoff), xon: None, headroom: headroom.map(Bytes) })
}

fn settings() -> Vec<Setting> {
    [
        (1024, 100, 1000, 0),
        (1500, 100, 2000, 0),
        (1024, 25, 600, 0),
        (4096, 40, 1500, 0),
        (1024, 400, 5000, 0),
        (9000, 800, 300, 0),
        (256, 100, 10, 0),
        (1000, 200, 3333, 0),
        (1500, 100, 2000, 307),
        (1024, 25, 1, 1229),
        (4096, 400, 777, 76),
        (2048, 10, 100, 5000),
        // Whole frames leave 11 B of the window unused, less than the gap between two frames.
        (1500, 100, 1659, 0),
    ]
    .map(|(mtu, gbps, delay_ns, response_ns)| Setting {
        mtu,
        gbps,
        // An additional picosecond ensures that no frame starts at the instant at which the gate
        // closes.
        delay_ps: delay_ns * 1000 + 1,
        response_ps: response_ns * 1000,
    })
    .into()
}

fn peak(simulation: &Simulation, node: NodeId, ingress: u32) -> u64 {
    let pipeline = simulation.node(node).switch().unwrap();
    (0..CLASSES as u8).map(|class| pipeline.peak_headroom(PortIx(ingress as u16), Class(class))).max().unwrap()
}

/// With the exact need no packet is lost. With one byte less, the guarantee is only best-effort and
/// one packet is lost.
#[test]
fn the_worst_case_takes_every_byte_of_the_exact_need() {
    for setting in settings() {
        let need = setting.need();
        let mut spec = setting.spec();

        spec.switch.headroom = fixed(1, Some(need));
        let (simulation, outcomes) = run(&spec, setting.flows());
        assert_eq!(simulation.totals().drops, [0; 5], "{setting:?}");
        assert_eq!(peak(&simulation, SWITCH, SENDER), need, "{setting:?}");
        assert!(all_delivered(&outcomes), "{setting:?}");
        assert!(outcomes.iter().all(|outcome| outcome.retransmitted == 0), "{setting:?}");
        assert_eq!(simulation.audit(), []);

        spec.switch.headroom = fixed(1, Some(need - 1));
        let (simulation, _) = run(&spec, setting.flows());
        assert_eq!(drops(&simulation, DropCause::Headroom), 1, "{setting:?}");
        assert_eq!((simulation.totals().unpromised_drops, simulation.violations()), (1, vec![]));
    }
}

/// With several lossless classes, the RESUMEs of all other classes are due when class 1 crosses its
/// threshold, and are sent before the PAUSE of class 1.
#[test]
fn the_need_is_exact_behind_a_resume_of_every_other_class() {
    for others in 1..7u32 {
        for gbps in [25, 100, 400] {
            // The delay exceeds 2 us by more than the 2 ps by which reverse traffic starts earlier.
            let setting = Setting { mtu: 1500, gbps, delay_ps: 2_000_003, response_ps: 0 };
            let (hosts, begin) = (3 + others, 100_000_000);
            let arrival = begin + setting.wire() * 8000 / gbps + setting.delay_ps;
            let mut spec = NetworkSpec { links: star_of(hosts, gbps, 1).links, ..setting.spec() };
            spec.nodes = star_of(hosts, gbps, 1).nodes;
            for link in &mut spec.links {
                link.delay = Duration::from_ps(setting.delay_ps);
            }
            spec.switch.lossless = (1..=others as u8 + 1).map(Class).collect();
            // After a link's recovery, a port waits for the peer's PFC frame before the port sends
            // data.
            let pfc = u64::from(Framing::Rocev2.control().wire);
            let let_go = arrival - 1 - pfc * 8000 / gbps - setting.delay_ps;
            let at_ps = |ps| Time::ZERO + Duration::from_ps(ps);
            let down = |host: u32, up| LinkFault { link: host as usize, down: Time::ZERO, up };
            let others_up = (3..hosts).map(|host| down(host, at_ps(let_go)));
            spec.faults = others_up.chain([down(RECEIVER, Time::ZERO + MILLISECOND)]).collect();
            // One packet of every other class is queued, and its class is paused, before the other
            // flows start.
            let at = |start, class, flow| FlowSpec { start: at_ps(start), class: Class(class), ..flow };
            let held = (3..hosts).map(|host| at(0, host as u8 - 1, flow(SENDER, host, 1, 0)));
            let window = setting.filling_of(setting.window_bytes() + u64::from(others) * pfc);
            let sizes = [setting.wire()].into_iter().chain(window).chain([setting.wire(); 8]);
            let payload = |wire: u64| wire - (setting.wire() - setting.mtu);
            let forth = sizes.map(|wire| at(begin, 1, flow(SENDER, RECEIVER, payload(wire), 0)));
            let back = at(begin - 2, 1, flow(REVERSE, SENDER, setting.mtu * 2000, 0));
            let flows: Vec<_> = held.chain([back]).chain(forth).collect();

            let fabric = Fabric::new(spec.clone()).unwrap();
            let site = fabric.site(NodeId(hosts));
            let need = exact_need(&site, &site.ports[SENDER as usize]);
            for (headroom, lost) in [(need, 0), (need - 1, 1)] {
                spec.switch.headroom = fixed(1, Some(headroom));
                let (simulation, _) = run(&spec, flows.clone());
                let drops = drops(&simulation, DropCause::Headroom);
                assert_eq!(drops, lost, "{others} others, {gbps} Gb/s");
                assert_eq!(peak(&simulation, NodeId(hosts), SENDER) == need, lost == 0);
            }
        }
    }
}

/// Numbers of the worked example in `docs/mechanisms/headroom.md`.
#[test]
fn the_worked_example_of_the_headroom_page() {
    let example = Setting { mtu: 1500, gbps: 100, delay_ps: 2_000_000, response_ps: 0 };
    assert_eq!((example.wire(), example.charge()), (1598, 1578));
    assert_eq!(example.window_bytes(), 50_000 + 1598 + 84);
    assert_eq!(example.need(), 2 * 1578 + 51_682 - 33 * 20);
    let fabric = Fabric::new(example.spec()).unwrap();
    let site = fabric.site(SWITCH);
    assert_eq!(equation_1(&site.ports[1], site.sizes.largest_charge()), 2 * (25_000 + 1578) + 3840);
    assert_eq!(worst_case(&site, &site.ports[1]), 56_996);
}

/// Equation 1 allows 3840 B for the packet that crosses the threshold, the PAUSE and its response
/// time. This is too little for frames of 9000 B, and for a response time of a microsecond at 100
/// Gb/s.
#[test]
fn the_default_headroom_is_equation_1_or_the_greater_need() {
    for (mtu, response_ps, is_enough) in [(1500, 0, true), (9000, 0, false), (1500, 1_000_000, false)] {
        let setting = Setting { mtu, gbps: 100, delay_ps: 2_000_000, response_ps };
        let fabric = Fabric::new(setting.spec()).unwrap();
        let site = fabric.site(SWITCH);
        let equation = equation_1(&site.ports[1], site.sizes.largest_charge());
        assert_eq!(setting.need() <= equation, is_enough);
        assert_eq!(worst_case(&site, &site.ports[1]), if is_enough { equation } else { setting.need() });
    }
}

/// Three classes are lossless. While a data frame is on the wire, two classes fall below XON and
/// the third becomes full. The PAUSE of the third class is therefore sent behind the data frame and
/// two RESUMEs. In the HPCC simulator, the data frame takes 80 ns and each PFC frame 3 ns. The link
/// delay is 2 us in both directions together. During all this time, the link carries 12.5 B/ns. The
/// simulator's clock cuts a frame time of almost 4 ns to 3 ns, so up to 4/3 of these bytes may
/// arrive. The need also includes two frames of 1000 B.
#[test]
fn a_pause_may_wait_behind_a_frame_and_a_pfc_frame_of_every_other_class() {
    const SWITCH: u32 = 4;
    let mut spec = star(4);
    (spec.framing, spec.mtu) = (Framing::HpccNs3, Bytes(952));
    spec.switch.lossless = vec![Class(3), Class(5), Class(6)];
    spec.switch.headroom =
        HeadroomConfig::Static(StaticConfig { xoff: Bytes(2500), xon: Some(Bytes(0)), headroom: None });
    let in_class = |class, src, dst| FlowSpec { class: Class(class), ..flow(src, dst, 95_200, 0) };
    let flows = vec![in_class(5, 0, 1), in_class(6, 0, 2), in_class(3, 0, 3), in_class(3, 1, 0)];
    let mut s = Script::new(&spec, flows, SWITCH);
    for port in 1..4 {
        s.arrive_pfc(0, port, &[3, 5, 6], u16::MAX);
    }
    for (flow, packets) in [(0, 3), (1, 3), (2, 2)] {
        s.arrive_each(0, 0, 0, flow, 0..packets);
    }
    // The last packets of classes 5 and 6 leave at 1,160,000 ps.
    for port in 1..3 {
        s.arrive_pfc(1_000_000, port, &[5, 6], 0);
    }
    s.sent_until(1_100_000, 0);
    s.arrive_data(1_159_999, 1, 3, 0);
    s.arrive_data(1_160_001, 0, 2, 2);
    let sent = s.sent_until(2_000_000, 0);
    let expected = [
        (1_159_999, Content::Data(3, 0)),
        (1_239_999, Content::Resume(vec![5])),
        (1_242_999, Content::Resume(vec![6])),
        (1_245_999, Content::Pause(vec![3])),
    ];
    assert_eq!(sent, expected);
    let site = s.fabric.site(NodeId(SWITCH));
    assert_eq!(exact_need(&site, &site.ports[0]), 2 * 1000 + (2_000_000 + 80_000 + 3 * 3_000) / 80 * 4 / 3);
}

/// On the clock of the HPCC simulator 49 B take 3 ns at 100 Gb/s, so a sender of many short flows
/// sends 131 Gb/s. The default headroom is large enough for this rate.
#[test]
fn short_frames_that_pass_faster_than_the_link_do_not_exceed_the_default() {
    let setting = Setting { mtu: 952, gbps: 100, delay_ps: 1_000_001, response_ps: 0 };
    let lost = |share: fn(u64) -> u64| {
        let mut spec = NetworkSpec { framing: Framing::HpccNs3, ..setting.spec() };
        let fabric = Fabric::new(spec.clone()).unwrap();
        let default = worst_case(&fabric.site(SWITCH), &fabric.site(SWITCH).ports[SENDER as usize]);
        spec.switch.headroom = fixed(1, Some(share(default)));
        let back = flow(REVERSE, SENDER, 952 * 2000, 0);
        let short = (0..1500).map(|_| flow(SENDER, RECEIVER, 1, 1000));
        let (simulation, _) = run(&spec, std::iter::once(back).chain(short).collect());
        drops(&simulation, DropCause::Headroom)
    };
    assert_eq!(lost(|default| default), 0);
    assert!(lost(|default| default * 9 / 10) > 0);
}

/// At 900 Gb/s a frame of 1122 B should take 9973 1/3 ps, but takes 9973 ps on the clock. In 2 ms,
/// some seven more frames pass than the rate allows.
#[test]
fn the_need_counts_frames_by_the_time_that_they_take_on_the_clock() {
    let setting = Setting { mtu: 1024, gbps: 900, delay_ps: 1_000_000_000, response_ps: 0 };
    let mut spec = setting.spec();
    spec.switch.buffer = Bytes(1 << 30);
    let fabric = Fabric::new(spec).unwrap();
    let need = exact_need(&fabric.site(SWITCH), &fabric.site(SWITCH).ports[SENDER as usize]);
    let (window, packet) = (2 * setting.delay_ps, setting.charge());
    let (frames, by_rate) = (window / 9973, window * setting.gbps / 8000 / setting.wire());
    assert!(frames > by_rate + 5);
    assert!(need >= frames * packet, "{need} for {frames} frames of {packet} B");
}

/// Under DSH, port-wide PFC frames and an earlier PFC frame of the class may also precede a PAUSE.
#[test]
fn the_need_of_dsh_allows_for_two_pfc_frames_more() {
    let need = |headroom| {
        let mut spec = star_of(2, 100, 1100);
        (spec.mtu, spec.switch.headroom) = (Bytes(4096), headroom);
        let fabric = Fabric::new(spec).unwrap();
        let site = fabric.site(NodeId(2));
        exact_need(&site, &site.ports[0])
    };
    let dsh = need(HeadroomConfig::Dsh(Default::default()));
    assert_eq!(dsh - need(HeadroomConfig::Sih(Default::default())), 2 * 84);
}

/// The peer's response time may be longer than that of the switch itself.
#[test]
fn the_need_allows_for_the_response_of_the_peer() {
    let with_response = |of_one_ns, of_the_other_ns| {
        let pfc = |ns| FlowControlConfig::Pfc(PfcConfig { response: Duration::from_ns(ns), ..Default::default() });
        let mut spec = chain(&[100, 100, 100], 1000);
        spec.switch.flow_control = pfc(of_one_ns);
        let flow_control = Some(pfc(of_the_other_ns));
        spec.groups = vec![SwitchGroup { switches: vec![NodeId(3)], flow_control, headroom: None }];
        let fabric = Fabric::new(spec).unwrap();
        let site = fabric.site(NodeId(2));
        exact_need(&site, &site.ports[1])
    };
    assert_eq!(with_response(0, 5000), with_response(5000, 5000));
    // In 5 us at 100 Gb/s, 62,500 B arrive, including gaps between frames.
    assert!(with_response(0, 5000) > with_response(0, 0) + 60_000);
}

/// A switch chip reserves headroom for all its ports. A port without a link counts like the port
/// with the greatest need.
#[test]
fn ports_without_a_link_count_as_the_one_that_needs_most() {
    for headroom in HeadroomConfig::all() {
        let reserved = |gbps: &[u64], ports| {
            let hosts = gbps.len() as u32;
            let mut spec = NetworkSpec::with_nodes(hosts, 1);
            spec.links = (0..).zip(gbps).map(|(host, gbps)| link(host, hosts, *gbps, 1000)).collect();
            (spec.switch.ports, spec.switch.headroom) = (ports, headroom.clone());
            reserved(&spec)
        };
        assert_eq!(reserved(&[25, 100], Some(5)), reserved(&[25, 100, 100, 100, 100], None), "{}", headroom.name());
    }
}

#[test]
fn effective_values_are_options_with_a_value_per_port() {
    let fabric = Fabric::new(star(3)).unwrap();
    let named: BTreeMap<_, Vec<_>> = HeadroomConfig::all()
        .iter()
        .map(|headroom| {
            let (options, effective_values) =
                (serde_json::to_value(headroom).unwrap(), headroom.effective_values(&fabric.site(SWITCH)));
            for (name, values) in &effective_values {
                assert!(options.get(name).is_some(), "{}: {name}", headroom.name());
                assert_eq!(values.len(), 3, "{}: {name}", headroom.name());
            }
            (headroom.name(), effective_values.into_iter().map(|(name, _)| name).collect())
        })
        .collect();
    assert_eq!(named["static"], ["headroom", "xon"]);
    assert_eq!(named["dsh"], ["headroom", "queue_resume_offset", "port_resume_offset"]);
}

#[test]
fn the_error_of_a_small_buffer_names_the_missing_bytes() {
    let mut spec = star(3);
    let reserved = reserved(&spec);
    let refusal = |buffer| {
        spec.switch.buffer = Bytes(buffer);
        Fabric::new(spec.clone()).err().map(|errors| errors[0].to_string())
    };
    let [fits, short] = [reserved + 1, reserved - 99_999].map(refusal);
    assert_eq!(fits, None);
    assert!(short.as_ref().is_some_and(|short| short.ends_with("by at least 100 KB")), "{short:?}");
}

#[test]
fn a_switch_reports_the_threshold_of_its_policy() {
    let mut spec = star(3);
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff: Bytes(12_345), ..Default::default() });
    let node = Node::new(&Fabric::new(spec).unwrap(), SWITCH);
    assert_eq!(node.switch().unwrap().threshold(PortIx(0), Class(3)), Some(12_345));
}

/// Section III of the DSH paper considers a Trident2 with 32 ports of 40 Gb/s, a delay of 1.5 us
/// and an MTU of 1500 B.
#[test]
fn equation_1_gives_the_figures_of_the_paper() {
    let spec = star_of(2, 40, 1500);
    let fabric = Fabric::new(spec).unwrap();
    assert_eq!(equation_1(&fabric.wiring.ports[PortId(0)], 1500), 21_840);
    let mut port = fabric.wiring.ports[PortId(0)];
    for (gbps, delay_ns, expected) in [(100, 2000, 56_840), (25, 600, 10_590), (400, 5000, 506_840)] {
        (port.rate, port.delay) = (Rate::from_gbps(gbps), Duration::from_ns(delay_ns));
        assert_eq!(equation_1(&port, 1500), expected);
    }
}

/// Returns `spec` with twice the default headroom at every port, so that a use above the default is
/// visible.
fn roomy(spec: &NetworkSpec) -> NetworkSpec {
    let fabric = Fabric::new(spec.clone()).unwrap();
    let switches = (0..spec.nodes.len() as u32).map(NodeId).filter(|node| fabric.is_switch(*node));
    let defaults = switches.flat_map(|node| {
        let site = fabric.site(node);
        site.ports.iter().map(|port| worst_case(&site, port)).collect::<Vec<_>>()
    });
    let headroom = Some(Bytes(2 * defaults.max().unwrap()));
    let room = spec.switch.buffer.get() - reserved(spec);
    let mut spec = spec.clone();
    match &mut spec.switch.headroom {
        HeadroomConfig::Sih(config) => config.headroom = headroom,
        HeadroomConfig::Static(config) => config.headroom = headroom,
        HeadroomConfig::Dsh(config) => config.headroom = headroom,
        HeadroomConfig::Oversubscribed(config) => config.headroom = headroom,
        HeadroomConfig::Adaptive(_) | HeadroomConfig::Egress(_) => return spec,
        HeadroomConfig::Custom(_) => unreachable!("random fabrics have built-in policies"),
    }
    spec.switch.buffer = Bytes(reserved(&spec) + room);
    spec
}

proptest! {
    #![proptest_config(common::cases(400))]

    /// No ingress queue of random fabrics uses more headroom than the default: Equation 1 of the
    /// DSH paper, or the need if the need is greater.
    #[test]
    fn equation_1_is_never_exceeded(Case { spec, flows } in lossless()) {
        let spec = roomy(&spec);
        let (simulation, _) = run(&spec, flows);
        prop_assert_eq!(simulation.totals().drops, [0; 5]);
        let fabric = simulation.fabric();
        for node in simulation.nodes().filter(|node| node.switch().is_some()) {
            let site = fabric.site(node.id);
            for port in site.ports {
                let peak = peak(&simulation, node.id, port.ix.0.into());
                let (equation_1, need) = (equation_1(port, site.sizes.largest_charge()), exact_need(&site, port));
                let limit = if need <= equation_1 { equation_1 } else { worst_case(&site, port) };
                let name = fabric.port_name(port.id);
                prop_assert!(peak <= limit, "{name} uses {peak} B of headroom, more than {limit} B");
            }
        }
    }

    /// One sender with one class stays within the exact need of its ingress queue.
    #[test]
    fn the_exact_need_is_never_exceeded(
        setting in prop::sample::select(settings()),
        xoff in 1u64..20_000,
        sizes in prop::collection::vec((1u64..20_000, 0u64..3000), 1..40),
        reverse in prop::collection::vec((1u64..20_000, 0u64..6000), 1..20),
    ) {
        let mut spec = setting.spec();
        spec.host.ack_every = 1;
        spec.switch.headroom = fixed(xoff, Some(4 * setting.need()));
        let there = sizes.into_iter().map(|(bytes, start)| flow(SENDER, RECEIVER, bytes, start));
        let back = reverse.into_iter().map(|(bytes, start)| flow(REVERSE, SENDER, bytes, start));
        let (simulation, _) = run(&spec, sorted(there.chain(back)));
        prop_assert!(peak(&simulation, SWITCH, SENDER) <= setting.need());
    }
}

// -------------------------------------------------------------------------------------- guarantees

/// Returns the guarantees of a chain h0 - s0 - s1 - h1 for packets from h0, from s1, from s0 and
/// from h1.
fn guarantees(spec: &NetworkSpec) -> [Guarantee; 4] {
    let fabric = Fabric::new(spec.clone()).unwrap();
    let of = |switch, port: usize| fabric.guarantee(fabric.wiring.ports_of(NodeId(switch))[port].id);
    [of(2, 0), of(2, 1), of(3, 0), of(3, 1)]
}

const BEST_EFFORT: Guarantee = Guarantee::BestEffort { any_class: false };
const BOUNDS_QUEUES: Guarantee = Guarantee::BestEffort { any_class: true };

#[test]
fn lossless_needs_pfc_and_a_policy_that_covers_every_queue() {
    let mut spec = chain(&[100, 100, 100], 1000);
    for flow_control in FlowControlConfig::all() {
        for headroom in HeadroomConfig::all() {
            (spec.switch.flow_control, spec.switch.headroom) = (flow_control.clone(), headroom.clone());
            if !common::applies(&spec) {
                continue;
            }
            let expected = match (flow_control.name(), headroom.name()) {
                ("pfc", "sih" | "dsh" | "adaptive" | "static") => Guarantee::Lossless,
                ("pfc" | "none", _) => BEST_EFFORT,
                _ => BOUNDS_QUEUES,
            };
            assert_eq!(guarantees(&spec), [expected; 4], "{} {}", flow_control.name(), headroom.name());
        }
    }
    spec.switch.flow_control = FlowControlConfig::Pfc(PfcConfig::default());
    spec.switch.headroom = HeadroomConfig::Dsh(DshConfig { insurance: false, ..Default::default() });
    assert_eq!(guarantees(&spec), [BEST_EFFORT; 4]);
    spec.switch.headroom = HeadroomConfig::Oversubscribed(OversubscribedConfig { ratio: 1.0, ..Default::default() });
    assert_eq!(guarantees(&spec), [Guarantee::Lossless; 4]);
}

/// A best-effort guarantee of one switch does not weaken that of another.
#[test]
fn guarantees_are_per_switch_and_port() {
    let group = |flow_control: Option<FlowControlConfig>, headroom: Option<HeadroomConfig>| {
        let mut spec = chain(&[100, 100, 100], 1000);
        spec.groups = vec![SwitchGroup { switches: vec![NodeId(3)], flow_control, headroom }];
        guarantees(&spec)
    };
    let all = FlowControlConfig::all();
    let named = |name| all.iter().find(|config| config.name() == name).cloned();
    let kept = Guarantee::Lossless;
    assert_eq!(group(None, None), [kept; 4]);
    // Neither BFC nor `none` obeys PFC; Pyrrha uses PFC with neighbours that run PFC.
    assert_eq!(group(named("bfc"), None), [kept, BEST_EFFORT, BOUNDS_QUEUES, BOUNDS_QUEUES]);
    assert_eq!(group(named("none"), None), [kept, BEST_EFFORT, BEST_EFFORT, BEST_EFFORT]);
    assert_eq!(group(named("pyrrha"), None), [kept, kept, BOUNDS_QUEUES, BOUNDS_QUEUES]);
    let policy = HeadroomConfig::Oversubscribed(OversubscribedConfig::default());
    assert_eq!(group(None, Some(policy)), [kept, kept, BEST_EFFORT, BEST_EFFORT]);
    // A link that corrupts frames spares PFC frames that are sent once, but not PFC frames that are
    // refreshed.
    let mut spec = chain(&[100, 100, 100], 1000);
    spec.links[2].error_rate = 0.01;
    assert_eq!(guarantees(&spec), [kept; 4]);
    spec.switch.flow_control = FlowControlConfig::Pfc(PfcConfig { pause: PauseModel::Quanta, ..PfcConfig::default() });
    assert_eq!(guarantees(&spec), [kept, kept, kept, BEST_EFFORT]);
    // No headroom is enough for frames without transmission time, such as 49 B at 400 Gb/s on a
    // clock of whole nanoseconds.
    let mut spec = chain(&[100, 200, 400], 1000);
    (spec.framing, spec.mtu) = (Framing::HpccNs3, Bytes(952));
    assert_eq!(guarantees(&spec), [kept, kept, kept, BEST_EFFORT]);
}

/// At every port, configured headroom gives a lossless guarantee if it is the exact need, but not
/// if it is one byte less.
#[test]
fn lossless_needs_the_exact_headroom_of_every_port() {
    let with = |config: &HeadroomConfig, headroom: u64| match config.clone() {
        HeadroomConfig::Sih(sih) => HeadroomConfig::Sih(SihConfig { headroom: Some(Bytes(headroom)), ..sih }),
        HeadroomConfig::Dsh(dsh) => HeadroomConfig::Dsh(DshConfig { headroom: Some(Bytes(headroom)), ..dsh }),
        HeadroomConfig::Static(fixed) => {
            HeadroomConfig::Static(StaticConfig { headroom: Some(Bytes(headroom)), ..fixed })
        }
        HeadroomConfig::Oversubscribed(_) => {
            let headroom = Some(Bytes(headroom));
            HeadroomConfig::Oversubscribed(OversubscribedConfig { ratio: 1.0, headroom, ..Default::default() })
        }
        other => other,
    };
    // The middle link is four times as fast, and needs more headroom.
    let mut spec = chain(&[100, 400, 100], 1000);
    for config in HeadroomConfig::all() {
        if matches!(config.name(), "adaptive" | "egress") {
            continue;
        }
        spec.switch.headroom = config.clone();
        let needs = {
            let fabric = Fabric::new(spec.clone()).unwrap();
            let site = fabric.site(NodeId(2));
            [0, 1].map(|port| exact_need(&site, &site.ports[port]))
        };
        for (headroom, [slow, fast]) in [
            (needs[1], [Guarantee::Lossless, Guarantee::Lossless]),
            (needs[1] - 1, [Guarantee::Lossless, BEST_EFFORT]),
            (needs[0], [Guarantee::Lossless, BEST_EFFORT]),
            (needs[0] - 1, [BEST_EFFORT, BEST_EFFORT]),
        ] {
            spec.switch.headroom = with(&config, headroom);
            assert_eq!(guarantees(&spec), [slow, fast, fast, slow], "{} {headroom} of {needs:?}", config.name());
        }
        // Without lossless classes no headroom is needed.
        spec.switch.headroom = with(&config, 0);
        let mut lossy = spec.clone();
        lossy.switch.lossless = vec![];
        assert_eq!(guarantees(&lossy), [Guarantee::Lossless; 4], "{}", config.name());
    }
}

/// Returns an incast of seven hosts into a switch whose buffer holds only a part of the packets.
fn incast(flow_control: FlowControlConfig, headroom: HeadroomConfig, lossless: &[Class]) -> Simulation {
    let mut spec = star(8);
    spec.switch.flow_control = flow_control;
    spec.switch.headroom = headroom;
    spec.switch.lossless = lossless.to_vec();
    spec.switch.buffer = Bytes(reserved(&spec) + 60_000);
    let mut simulation = Simulation::new(spec, (0..7).map(|host| flow(host, 7, 100_000, 0)).collect(), 1).unwrap();
    simulation.run_until(at_us(100), 1);
    simulation
}

#[test]
fn drops_are_violations_only_under_a_lossless_guarantee() {
    let sih = |headroom| HeadroomConfig::Sih(SihConfig { headroom, ..Default::default() });
    let pfc = || FlowControlConfig::Pfc(PfcConfig::default());
    let pyrrha = || FlowControlConfig::Pyrrha(PyrrhaConfig { hosts: HostReaction::None, ..Default::default() });
    let oversubscribed = OversubscribedConfig { ratio: 0.0, ..Default::default() };
    let shared = || fixed(1 << 20, Some(0));
    for (flow_control, headroom, lossless, drops_for, is_promised, is_told) in [
        (pfc(), sih(None), &[Class(3)][..], None, false, false),
        (pfc(), sih(Some(Bytes(2000))), &[Class(3)], Some(DropCause::Headroom), false, true),
        (pfc(), sih(None), &[], Some(DropCause::BufferFull), false, false),
        (pfc(), HeadroomConfig::Oversubscribed(oversubscribed), &[Class(3)], Some(DropCause::Headroom), false, true),
        (pyrrha(), sih(None), &[Class(3)], Some(DropCause::Headroom), false, true),
        (pyrrha(), shared(), &[], Some(DropCause::BufferFull), false, true),
        (common::no_flow_control(), shared(), &[], Some(DropCause::BufferFull), false, false),
    ] {
        let scheme = format!("{} {} {lossless:?}", flow_control.name(), headroom.name());
        let simulation = incast(flow_control, headroom, lossless);
        let totals = simulation.totals();
        let dropped: u64 = totals.drops.iter().sum();
        assert_eq!(dropped > 0, drops_for.is_some(), "{scheme}");
        assert_eq!(drops_for.map_or(0, |cause| totals.drops[cause as usize]), dropped, "{scheme}: {:?}", totals.drops);
        assert_eq!(totals.violations, if is_promised { dropped } else { 0 }, "{scheme}");
        assert_eq!(totals.violations, simulation.violations().len() as u64);
        assert_eq!(totals.unpromised_drops, if is_told { dropped } else { 0 }, "{scheme}");
    }
}
