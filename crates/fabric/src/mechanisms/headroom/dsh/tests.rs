use super::*;
use crate::contract::need::{equation_1, worst_case};
use crate::ids::NodeId;
use crate::mechanisms::headroom::HeadroomConfig;
use crate::mechanisms::headroom::sih::SihConfig;
use crate::network::fabric::Fabric;
use crate::testing::{admit, fabric, packet, star};
use backwater_engine::Rate;

/// Returns the switch of DSH's evaluation: a buffer of 16 MiB, 32 ports of 100 Gb/s, seven lossless
/// classes, 60,000 B of headroom per port, 3,000 B private per queue.
fn evaluation() -> (Fabric, DshConfig) {
    let mut spec = star(32);
    spec.switch.lossless = (1..8).map(Class).collect();
    let none = Some(Bytes(0));
    let config = DshConfig {
        headroom: Some(Bytes(60_000)),
        queue_resume_offset: none,
        port_resume_offset: none,
        ..Default::default()
    };
    (fabric(spec), config)
}

/// Returns a switch of two ports, with 5,000 B of headroom each, no private bytes, and `pool` bytes
/// to share.
fn two_ports(config: DshConfig, pool: u64) -> Dsh {
    let config = DshConfig { private: Bytes(0), headroom: Some(Bytes(5000)), ..config };
    let mut spec = star(2);
    spec.switch.lossless = vec![CLASS];
    spec.switch.headroom = HeadroomConfig::Dsh(config.clone());
    spec.switch.buffer = Bytes(pool + 2 * 5000);
    Dsh::new(&config, &fabric(spec).site(NodeId(2)))
}

const SWITCH: NodeId = NodeId(32);
const CLASS: Class = Class(3);
const PORT: PortIx = PortIx(0);

/// Admits a packet of 1000 B every 80 ns, at the rate of the link.
fn arrive(dsh: &mut Dsh, now: &mut Time, ingress: u16, class: Class) -> Result<(), DropCause> {
    *now += Duration::from_ns(80);
    admit(dsh, ingress, class, 1000, *now)
}

/// Fills the queue of [`CLASS`] at port 0 until `is_done`.
fn fill_until(dsh: &mut Dsh, now: &mut Time, is_done: impl Fn(Pressure) -> bool) {
    while !is_done(dsh.pressure(PORT, CLASS)) {
        assert_eq!(arrive(dsh, now, 0, CLASS), Ok(()));
    }
}

#[test]
fn the_first_threshold_of_the_evaluation_is_887_kb() {
    let (fabric, config) = evaluation();
    let site = fabric.site(SWITCH);
    // The reserve of 1.92 MB of insurance and 672 KB of private bytes leaves 14.19 MB to share; SIH
    // leaves 2.67 MB.
    assert_eq!(config.reserved(&site), 1_920_000 + 672_000);
    let dsh = Dsh::new(&config, &site);
    assert_eq!(dsh.shared_size, 14_185_216);
    assert_eq!(dsh.shared_threshold(PORT), 886_576);
}

/// In DSH section III-A, a Trident2 has 12 MiB, eight classes and 32 ports of 40 Gb/s with a delay
/// of 1.5 us. SIH's headroom takes 5.33 MiB, 44.4 % of the buffer. For the link of the evaluation,
/// Equation 1 gives 56,840 B, which the paper rounds to 60,000 B.
#[test]
fn equation_1_gives_the_figures_of_the_paper() {
    let mut spec = star(2);
    (spec.links[0].rate, spec.links[0].delay) = (Rate::from_gbps(40), Duration::from_ns(1500));
    spec.links[1].delay = Duration::from_us(2);
    let fabric = fabric(spec);
    let ports = fabric.site(NodeId(2)).ports;
    assert_eq!(equation_1(&ports[0], 1500), 21_840);
    let total = (32 * 8 * 21_840) as f64 / f64::from(1 << 20);
    assert_eq!(((total * 100.0).round(), (total / 12.0 * 1000.0).round()), (533.0, 444.0));
    assert_eq!(equation_1(&ports[1], 1500), 56_840);
}

/// DSH section IV-F: with a single class, DSH reserves as much as SIH.
#[test]
fn with_one_class_the_reserve_is_that_of_sih() {
    let spec = star(32);
    assert_eq!(spec.switch.lossless.len(), 1);
    let fabric = fabric(spec);
    let site = fabric.site(SWITCH);
    assert_eq!(DshConfig::default().reserved(&site), SihConfig::default().reserved(&site));
    let insurance = DshConfig::default().insurance(&site);
    assert_eq!(insurance[0], worst_case(&site, &site.ports[0]));
}

/// A queue that grows at line rate needs all of the headroom: it is paused at T - 60,000 B. No
/// other queue is paused.
#[test]
fn a_queue_is_paused_below_its_threshold_by_what_it_will_need() {
    let (fabric, config) = evaluation();
    let (mut dsh, mut now) = (Dsh::new(&config, &fabric.site(SWITCH)), Time::ZERO);
    fill_until(&mut dsh, &mut now, |pressure| !pressure.full.is_empty());
    // The queue is full when it has x bytes beyond its private bytes, with x > (14,185,216 - x) /
    // 16 - 60,000.
    assert_eq!(dsh.beyond_private(PORT, CLASS), 778_000);
    assert_eq!(dsh.pressure(PORT, CLASS).full, ClassMask::of(CLASS));
    assert_eq!(dsh.pressure(PORT, CLASS).port, PortPressure::BelowXon);
    assert_eq!(dsh.pressure(PortIx(1), CLASS).full, ClassMask::NONE);
    // Packets of the paused queue are still admitted: only the port's queues together are limited,
    // to 7 T.
    for _ in 0..200 {
        assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Ok(()));
    }
    assert_eq!((dsh.occupancy().headroom, dsh.occupancy().shared), (0, 978_000));
    // With an offset of 0, the queue is below XON as soon as it is shorter than 778,000 B.
    while dsh.pressure(PORT, CLASS).below_xon.minus(ClassMask::of(CLASS)) == dsh.pressure(PORT, CLASS).below_xon {
        dsh.release(&packet(0, CLASS, 1000), now);
    }
    assert_eq!(dsh.beyond_private(PORT, CLASS), 777_000);
}

/// Repeats the arrivals of `three_arrivals_by_hand` in `gradient`. Two of them are at one instant;
/// the second of these does not change the estimate.
#[test]
fn what_a_queue_needs_follows_from_how_it_grows() {
    let (fabric, config) = evaluation();
    let config = DshConfig { deviation_factor: 1.0, ..config };
    let (mut dsh, mut now) = (Dsh::new(&config, &fabric.site(SWITCH)), Time::ZERO);
    let need = |dsh: &Dsh| dsh.queues[PORT][CLASS.index()].need;
    assert_eq!((arrive(&mut dsh, &mut now, 0, CLASS), need(&dsh)), (Ok(()), 30_000));
    assert_eq!((admit(&mut dsh, 0, CLASS, 1000, now), need(&dsh)), (Ok(()), 30_000));
    dsh.release(&packet(0, CLASS, 2000), now);
    assert_eq!((arrive(&mut dsh, &mut now, 0, CLASS), need(&dsh)), (Ok(()), 26_250));
}

/// With offsets of 2000 B, a queue and a port resume 2000 B below their thresholds.
#[test]
fn queues_and_ports_resume_below_thresholds_by_the_offset() {
    let (fabric, config) = evaluation();
    let offset = Some(Bytes(2000));
    let config = DshConfig { queue_resume_offset: offset, port_resume_offset: offset, ..config };
    let (mut dsh, mut now) = (Dsh::new(&config, &fabric.site(SWITCH)), Time::ZERO);
    fill_until(&mut dsh, &mut now, |pressure| !pressure.full.is_empty());
    let mut steps = Vec::new();
    while !dsh.pressure(PORT, CLASS).below_xon.has(CLASS) {
        dsh.release(&packet(0, CLASS, 1000), now);
        steps.push(dsh.pressure(PORT, CLASS).full.has(CLASS));
    }
    // At 778,000 B, the queue is full. At 777,000 B, it is less than 2000 B below its threshold,
    // 778,013 B. At 776,000 B, it is more than 2000 B below 778,076 B.
    assert_eq!((steps, dsh.beyond_private(PORT, CLASS)), (vec![false, false], 776_000));
}

/// With one class, alpha 1, 10,000 B to share and no shared headroom, T = 10,000 - x for the queue
/// and for its port. At T, neither is full and neither is below XON: each resumes only below T by
/// its own offset.
#[test]
fn queue_and_port_are_full_above_t_and_resume_by_their_own_offsets() {
    let config = DshConfig {
        alpha: 1.0,
        queue_resume_offset: Some(Bytes(0)),
        port_resume_offset: Some(Bytes(2000)),
        shared_headroom: false,
        ..Default::default()
    };
    let (mut dsh, mut now) = (two_ports(config, 10_000), Time::ZERO);
    let (none, class) = (ClassMask::NONE, ClassMask::of(CLASS));
    let told = |dsh: &Dsh| {
        let Pressure { full, below_xon, port } = dsh.pressure(PORT, CLASS);
        (full, below_xon, port)
    };
    for _ in 0..5 {
        assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Ok(()));
    }
    // The queue has 5,000 B, and T is 5,000 B.
    assert_eq!(told(&dsh), (none, none, PortPressure::Between));
    assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Ok(()));
    assert_eq!(dsh.occupancy().headroom, 1000);
    assert_eq!(told(&dsh), (class, none, PortPressure::Full));
    let mut after_one_less = || {
        dsh.release(&packet(0, CLASS, 1000), now);
        told(&dsh)
    };
    assert_eq!(after_one_less(), (none, none, PortPressure::Between));
    // The queue has 4,000 B. This is below T, 6,000 B, but not by more than 2,000 B.
    assert_eq!(after_one_less(), (none, class, PortPressure::Between));
    assert_eq!(after_one_less(), (none, class, PortPressure::BelowXon));
}

/// With 7000 B to share and alpha 1, T is 6000 B after the first packet. The packet's queue needs
/// all of the port's 5000 B of headroom. So its threshold is 1000 B, exactly its length.
#[test]
fn a_queue_is_not_below_xon_at_its_threshold() {
    let none = Some(Bytes(0));
    let config = DshConfig { alpha: 1.0, queue_resume_offset: none, port_resume_offset: none, ..Default::default() };
    let (mut dsh, mut now) = (two_ports(config, 7000), Time::ZERO);
    assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Ok(()));
    assert_eq!((dsh.queues[PORT][CLASS.index()].need, dsh.shared_threshold(PORT)), (5000, 6000));
    assert_eq!(dsh.pressure(PORT, CLASS), Pressure { port: PortPressure::BelowXon, ..Default::default() });
}

/// With alpha 64, the pool of 10,500 B is full before the threshold is reached. A packet that is
/// too large for the rest of the pool uses the insurance.
#[test]
fn a_packet_too_large_for_the_pool_uses_the_insurance() {
    let config = DshConfig { alpha: 64.0, ..Default::default() };
    let (mut dsh, mut now) = (two_ports(config, 10_500), Time::ZERO);
    for _ in 0..11 {
        assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Ok(()));
    }
    assert_eq!((dsh.occupancy().shared, dsh.occupancy().headroom), (10_000, 1000));
}

/// One port uses up the pool of 10,000 B, so that the other uses its insurance. The other port is
/// full until its insurance is free again, even if the pool is free earlier.
#[test]
fn port_full_while_insurance_in_use() {
    let config = DshConfig { alpha: 64.0, ..Default::default() };
    let (mut dsh, mut now) = (two_ports(config, 10_000), Time::ZERO);
    for ingress in [0; 10].into_iter().chain([1]) {
        assert_eq!(arrive(&mut dsh, &mut now, ingress, CLASS), Ok(()));
    }
    assert_eq!((dsh.occupancy().shared, dsh.headroom(PortIx(1), CLASS)), (10_000, 1000));
    (0..10).for_each(|_| dsh.release(&packet(0, CLASS, 1000), now));
    assert_eq!((dsh.occupancy().shared, dsh.pressure(PortIx(1), CLASS).port), (0, PortPressure::Full));
    dsh.release(&packet(1, CLASS, 1000), now);
    assert_eq!(dsh.pressure(PortIx(1), CLASS).port, PortPressure::BelowXon);
}

/// The port counts as single more than 10 ms after the first packet, which arrived at 80 ns.
#[test]
fn port_is_single_once_the_window_has_passed() {
    let (fabric, config) = evaluation();
    let (mut dsh, mut now) = (Dsh::new(&config, &fabric.site(SWITCH)), Time::ZERO);
    fill_until(&mut dsh, &mut now, |pressure| !pressure.full.is_empty());
    let over = Time::ZERO + Duration::from_ns(80) + Duration::from_ms(10);
    for (at, is_full) in [(over, true), (over + Duration::from_ps(1), false)] {
        assert_eq!(admit(&mut dsh, 0, CLASS, 64, at), Ok(()));
        assert_eq!(dsh.pressure(PORT, CLASS).full.has(CLASS), is_full, "{at}");
    }
}

/// After more than 10 ms with a single class, the queue has the insurance to itself and is paused
/// at T.
#[test]
fn a_single_class_needs_no_shared_headroom() {
    let (fabric, config) = evaluation();
    let (mut dsh, mut now) = (Dsh::new(&config, &fabric.site(SWITCH)), Time::ZERO);
    let length_when_full = |dsh: &mut Dsh, now: &mut Time| {
        fill_until(dsh, now, |pressure| !pressure.full.is_empty());
        let length = dsh.beyond_private(PORT, CLASS);
        while dsh.ingress_occupancy(PORT, CLASS) > 0 {
            dsh.release(&packet(0, CLASS, 1000), *now);
        }
        length
    };
    assert_eq!(length_when_full(&mut dsh, &mut now), 778_000);
    now += Duration::from_ms(10);
    // The queue is full when it has x bytes beyond its private bytes, with x > (14,185,216 - x) /
    // 16.
    assert_eq!(length_when_full(&mut dsh, &mut now), 835_000);
    // A packet of another class restarts the window.
    assert_eq!(arrive(&mut dsh, &mut now, 0, Class(4)), Ok(()));
    assert_eq!(length_when_full(&mut dsh, &mut now), 778_000);
}

/// The seven queues of a port together reach 7 T: the port is paused. From there on, packets use
/// the insurance, to the last byte.
#[test]
fn a_port_is_paused_when_its_queues_together_have_used_up_their_share() {
    let (fabric, config) = evaluation();
    let (mut dsh, mut now) = (Dsh::new(&config, &fabric.site(SWITCH)), Time::ZERO);
    let mut classes = (1..8).map(Class).cycle();
    while dsh.pressure(PORT, CLASS).port != PortPressure::Full {
        assert_eq!(arrive(&mut dsh, &mut now, 0, classes.next().unwrap()), Ok(()));
    }
    // The port is full when its queues have x bytes beyond their private bytes, with x > 7
    // (14,185,216 - x) / 16.
    assert_eq!(dsh.occupancy(), Occupancy { used: 4_339_000, shared: 4_318_000, headroom: 0, peak: 4_339_000 });
    assert_eq!(dsh.pressure(PORT, CLASS).full, dsh.lossless, "all queues are full as well");
    let mut taken = 0;
    while arrive(&mut dsh, &mut now, 0, CLASS).is_ok() {
        taken += 1000;
    }
    assert_eq!((taken, dsh.occupancy().headroom, dsh.peak_headroom(PORT, CLASS)), (60_000, 60_000, 60_000));
    assert_eq!(admit(&mut dsh, 0, CLASS, 1, now), Err(DropCause::Headroom));
    // The other ports still have their insurance and their share of the pool.
    assert_eq!(arrive(&mut dsh, &mut now, 1, CLASS), Ok(()));
    assert_eq!(dsh.pressure(PortIx(1), CLASS).port, PortPressure::BelowXon);
    // A departing packet frees insurance first, whichever queue it leaves. The port stays full
    // while any insurance is in use.
    for left in (0..60).rev() {
        assert_eq!(dsh.pressure(PORT, CLASS).port, PortPressure::Full);
        dsh.release(&packet(0, Class(5), 1000), now);
        assert_eq!(dsh.occupancy().headroom, left * 1000);
    }
    // The packet that made the port full must leave as well.
    assert_eq!(dsh.pressure(PORT, CLASS).port, PortPressure::Full);
    dsh.release(&packet(0, Class(5), 1000), now);
    assert_eq!(dsh.pressure(PORT, CLASS).port, PortPressure::BelowXon);
}

/// A port that receives more than its private bytes uses its insurance and is stopped, once other
/// ports have filled the pool.
#[test]
fn a_port_without_pool_share_uses_its_insurance() {
    let (fabric, config) = evaluation();
    let (mut dsh, mut now) = (Dsh::new(&DshConfig { alpha: 0.0, ..config }, &fabric.site(SWITCH)), Time::ZERO);
    for _ in 0..3 {
        assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Ok(()));
    }
    let told = dsh.pressure(PORT, CLASS);
    assert_eq!((told.port, told.full, told.below_xon), (PortPressure::BelowXon, ClassMask::NONE, dsh.lossless));
    assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Ok(()));
    assert_eq!((dsh.occupancy().headroom, dsh.occupancy().shared), (1000, 0));
    assert_eq!(dsh.pressure(PORT, CLASS).port, PortPressure::Full);
    dsh.release(&packet(0, CLASS, 1000), now);
    assert_eq!(dsh.pressure(PORT, CLASS).port, PortPressure::BelowXon);
}

/// Tests the paper's ablations. Without shared headroom, a queue takes at most T of the pool.
/// Further packets use the insurance and stop the port. Without insurance, packets beyond the
/// port's threshold are lost.
#[test]
fn effects_without_shared_headroom_or_insurance() {
    let (fabric, config) = evaluation();
    let (site, mut now) = (fabric.site(SWITCH), Time::ZERO);
    let mut dsh = Dsh::new(&DshConfig { shared_headroom: false, ..config.clone() }, &site);
    fill_until(&mut dsh, &mut now, |pressure| pressure.port == PortPressure::Full);
    // The pool takes a packet while x <= (14,185,216 - x') / 16. The queue has x' bytes in the pool
    // before the packet, and x bytes with the packet.
    assert_eq!((dsh.occupancy().shared, dsh.occupancy().headroom), (834_000, 1000));
    assert_eq!(dsh.pressure(PORT, CLASS).full, ClassMask::of(CLASS));
    let mut dsh = Dsh::new(&DshConfig { insurance: false, ..config }, &site);
    assert_eq!(dsh.shared_size, 14_185_216 + 1_920_000);
    fill_until(&mut dsh, &mut now, |pressure| pressure.port == PortPressure::Full);
    assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Err(DropCause::Headroom));
}

/// Of a pool of 10,000 B, a lossy class gets exactly its threshold, alpha times the free bytes, but
/// no more than the free bytes.
#[test]
fn a_lossy_class_gets_its_threshold_and_what_is_free_to_the_byte() {
    for (alpha, most) in [(1.0, [4000, 2000]), (64.0, [9500, 500])] {
        let config = DshConfig { alpha, ..Default::default() };
        let (mut dsh, lossy) = (two_ports(config, 10_000), Class(7));
        assert_eq!(admit(&mut dsh, 0, lossy, most[0], Time::ZERO), Ok(()));
        assert_eq!(admit(&mut dsh, 0, lossy, most[1] + 1, Time::ZERO), Err(DropCause::BufferFull));
        assert_eq!(admit(&mut dsh, 0, lossy, most[1], Time::ZERO), Ok(()));
        assert_eq!([dsh.ingress_occupancy(PORT, lossy), dsh.occupancy().shared], [most[0] + most[1]; 2]);
        assert_eq!(admit(&mut dsh, 0, lossy, 1, Time::ZERO), Err(DropCause::BufferFull));
        dsh.release(&packet(0, lossy, most[0]), Time::ZERO);
        assert_eq!((dsh.ingress_occupancy(PORT, lossy), dsh.occupancy().shared), (most[1], most[1]));
    }
}

/// Lossy classes share the pool under the same threshold. They have no private bytes and no
/// insurance.
#[test]
fn a_lossy_class_ends_at_its_threshold() {
    let (fabric, config) = evaluation();
    let mut spec = fabric.spec;
    spec.switch.lossless.retain(|class| *class != Class(7));
    let fabric = crate::testing::fabric(spec);
    let (mut dsh, mut now) = (Dsh::new(&config, &fabric.site(SWITCH)), Time::ZERO);
    while arrive(&mut dsh, &mut now, 0, Class(7)).is_ok() {}
    assert_eq!(admit(&mut dsh, 0, Class(7), 1000, now), Err(DropCause::BufferFull));
    assert!(dsh.ingress_occupancy(PORT, Class(7)).abs_diff(dsh.shared_threshold(PORT)) <= 1000);
    assert_eq!(dsh.occupancy().headroom, 0);
    assert_eq!(dsh.pressure(PORT, Class(7)).full, ClassMask::NONE);
}
