//! How much headroom exactly: the construction of `docs/mechanisms/headroom.md`, and what random traffic makes of it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use backwater_engine::{Bytes, Duration, Rate, Time};
use backwater_fabric::fabric::Fabric;
use backwater_fabric::flow_control::FlowControlConfig;
use backwater_fabric::flow_control::pfc::PfcConfig;
use backwater_fabric::framing::Framing;
use backwater_fabric::headroom::static_threshold::StaticConfig;
use backwater_fabric::headroom::{HeadroomConfig, equation_1, exact_need, worst_case};
use backwater_fabric::ids::{CLASSES, Class, NodeId};
use backwater_fabric::note::DropCause;
use backwater_fabric::simulation::Simulation;
use backwater_fabric::spec::{FlowSpec, LinkFault, NetworkSpec};
use common::random::{Case, lossless, reserved};
use common::{flow, star};
use proptest::prelude::*;

const REVERSE: u32 = 0;
const SENDER: u32 = 1;
const RECEIVER: u32 = 2;
const SWITCH: NodeId = NodeId(3);

/// The link between the sender and the switch whose ingress queue is under pressure.
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

    /// Three hosts on a switch. The receiver's link is down, so that the sender's packets stay in the switch, whose threshold the very first
    /// of them crosses.
    fn spec(&self) -> NetworkSpec {
        let mut spec = star(3, self.gbps, 1);
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

    /// What `exact_need` says about the sender's port.
    fn need(&self) -> u64 {
        let fabric = Fabric::new(self.spec()).unwrap();
        let site = fabric.site(SWITCH);
        exact_need(&site, &site.ports[SENDER as usize])
    }

    /// Whole bytes that pass between the start of the frame behind the one that crosses the threshold and the moment the gate closes.
    fn window_bytes(&self) -> u64 {
        let byte_ps = 8000 / self.gbps;
        let pause = u64::from(Framing::Rocev2.control().wire);
        (2 * self.delay_ps + self.response_ps) / byte_ps + self.wire() + pause
    }

    /// Wire sizes of the frames that fill the window: as few as possible, none of them too small.
    fn filling(&self) -> Vec<u64> {
        let (bytes, wire) = (self.window_bytes(), self.wire());
        let gap = wire - self.charge();
        let frames = bytes.div_ceil(wire);
        // A last frame that would bring less than its gap is better left out.
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

    /// Wire size of a packet of one byte.
    fn smallest(&self) -> u64 {
        self.wire() - self.mtu + 1
    }

    /// Every packet from the sender is a flow of its own, so that sizes are free: the one that crosses the threshold, those that fill the
    /// window, one that starts just before the gate closes, and more that it holds back. One flow the other way keeps the PAUSE waiting.
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
    ]
    .map(|(mtu, gbps, delay_ns, response_ns)| Setting {
        mtu,
        gbps,
        // One odd picosecond, so that no frame starts in the very instant in which the gate closes.
        delay_ps: delay_ns * 1000 + 1,
        response_ps: response_ns * 1000,
    })
    .into()
}

fn peak(simulation: &Simulation, node: NodeId, ingress: u32) -> u64 {
    let pipeline = simulation.node(node).pipeline().unwrap();
    (0..CLASSES as u8).map(|class| pipeline.peak_headroom(ingress as u16, Class(class))).max().unwrap()
}

/// With the exact need nothing is lost; with one byte less, one packet is.
#[test]
fn the_worst_case_needs_every_byte_of_the_exact_need() {
    for setting in settings() {
        let need = setting.need();
        let mut spec = setting.spec();

        spec.switch.headroom = fixed(1, Some(need));
        let (simulation, outcomes) = common::run(&spec, setting.flows());
        assert_eq!(simulation.totals().drops, [0; 5], "{setting:?}");
        assert_eq!(peak(&simulation, SWITCH, SENDER), need, "{setting:?}");
        for (outcome, flow) in outcomes.iter().zip(setting.flows()) {
            assert_eq!((outcome.reception.delivered, outcome.retransmitted), (flow.bytes, 0), "{setting:?}");
        }
        assert_eq!(simulation.audit(), []);

        spec.switch.headroom = fixed(1, Some(need - 1));
        let (simulation, _) = common::run(&spec, setting.flows());
        assert_eq!(simulation.totals().drops[DropCause::Headroom as usize], 1, "{setting:?}");
        assert_eq!(simulation.violations().len(), 1);
        assert_eq!(simulation.violations()[0].ingress, simulation.fabric().wiring.of(SWITCH)[SENDER as usize].id);
    }
}

/// The numbers of the worked example in `docs/mechanisms/headroom.md`.
#[test]
fn the_example_of_the_page() {
    let example = Setting { mtu: 1500, gbps: 100, delay_ps: 2_000_000, response_ps: 0 };
    assert_eq!((example.wire(), example.charge()), (1598, 1578));
    assert_eq!(example.window_bytes(), 50_000 + 1598 + 84);
    assert_eq!(example.need(), 2 * 1578 + 51_682 - 33 * 20);
    let fabric = Fabric::new(example.spec()).unwrap();
    let site = fabric.site(SWITCH);
    assert_eq!(equation_1(&site.ports[1], site.largest_frame), 2 * (25_000 + 1578) + 3840);
    assert_eq!(worst_case(&site, &site.ports[1]), 56_996);
}

/// Section III of DSH: a Trident2 with 32 ports of 40 Gb/s over 1.5 us, MTU 1500.
#[test]
fn equation_1_gives_the_figures_of_the_paper() {
    let spec = star(2, 40, 1500);
    let fabric = Fabric::new(spec).unwrap();
    assert_eq!(equation_1(&fabric.wiring.ports[0], 1500), 21_840);
    let mut port = fabric.wiring.ports[0];
    for (gbps, delay_ns, expected) in [(100, 2000, 56_840), (25, 600, 10_590), (400, 5000, 506_840)] {
        (port.rate, port.delay) = (Rate::from_gbps(gbps), Duration::from_ns(delay_ns));
        assert_eq!(equation_1(&port, 1500), expected);
    }
}

/// Room for twice the default of every port, so that nothing hides behind the cap.
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
        HeadroomConfig::Adaptive(_) => return spec,
        HeadroomConfig::Oversubscribed(_) | HeadroomConfig::Custom(_) => {
            unreachable!("random fabrics are of built-in parts that lose nothing")
        }
    }
    spec.switch.buffer = Bytes(reserved(&spec) + room);
    spec
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..Default::default() })]

    /// No ingress queue of a thousand random fabrics ever uses more headroom than the default: Equation 1 of DSH, for frames and response
    /// times that it was made for.
    #[test]
    fn equation_1_is_never_exceeded(Case { spec, flows } in lossless()) {
        let spec = roomy(&spec);
        let (simulation, _) = common::run(&spec, flows);
        prop_assert_eq!(simulation.totals().drops, [0; 5]);
        let fabric = simulation.fabric();
        for node in simulation.nodes().filter(|node| node.pipeline().is_some()) {
            let site = fabric.site(node.id);
            for port in site.ports {
                let peak = peak(&simulation, node.id, port.ix.into());
                let (equation_1, need) = (equation_1(port, site.largest_frame), exact_need(&site, port));
                let limit = if need <= equation_1 { equation_1 } else { worst_case(&site, port) };
                prop_assert!(peak <= limit, "{} uses {peak} B of headroom, more than {limit} B", fabric.port_name(port.id));
            }
        }
    }

    /// Whatever one sender does to one ingress queue, with one class, stays within the exact need.
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
        let mut flows: Vec<_> = there.chain(back).collect();
        flows.sort_by_key(|flow| flow.start);
        let (simulation, _) = common::run(&spec, flows);
        prop_assert!(peak(&simulation, SWITCH, SENDER) <= setting.need());
    }
}
