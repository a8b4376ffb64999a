use super::*;
use crate::contract::report::DropCause;
use crate::ids::{ClassMask, NodeId};
use crate::mechanisms::headroom::HeadroomConfig;
use crate::network::fabric::Fabric;
use crate::testing::{admit, fabric, packet, star};

/// Returns the switch of DSH's evaluation: a buffer of 16 MiB, 32 ports of 100 Gb/s, seven lossless
/// classes, 60,000 B of headroom and 3,000 B private per queue.
fn evaluation() -> (Fabric, SihConfig) {
    let mut spec = star(32);
    spec.switch.lossless = (1..8).map(Class).collect();
    (fabric(spec), SihConfig { headroom: Some(Bytes(60_000)), resume_offset: Some(Bytes(0)), ..Default::default() })
}

const CLASS: Class = Class(3);

#[test]
fn the_first_threshold_of_the_evaluation_is_167_kb() {
    let (fabric, config) = evaluation();
    let site = fabric.site(NodeId(32));
    // The reserve of 13.44 MB of headroom and 672 KB of private bytes leaves 2.67 MB to share.
    assert_eq!(config.reserved(&site), 13_440_000 + 672_000);
    let sih = config.build(&site);
    assert_eq!(sih.pools.free_shared(), 2_665_216);
    assert_eq!(sih.shared_threshold(PortIx(0)), 166_576);
}

/// A single queue is full once it holds alpha B_s / (1 + alpha) = 156,777 B of the shared pool.
/// Below this length, the queue is also below XON.
#[test]
fn one_queue_fills_up_to_the_fixed_point_of_its_threshold() {
    let (fabric, config) = evaluation();
    let mut sih = config.build(&fabric.site(NodeId(32)));
    let (full, below_xon) = (ClassMask::of(CLASS), ClassMask::NONE);
    let mut packets = 0;
    while sih.pressure(PortIx(0), CLASS).full.is_empty() {
        assert_eq!(admit(&mut sih, 0, CLASS, 1000, Time::ZERO), Ok(()));
        packets += 1;
    }
    // 3 packets are in private bytes and 156 in the shared pool. The packet that crossed the
    // threshold is wholly in headroom.
    assert_eq!(packets, 3 + 156 + 1);
    assert_eq!(sih.occupancy(), Occupancy { used: 160_000, shared: 156_000, headroom: 1000, peak: 160_000 });
    assert_eq!(sih.pressure(PortIx(0), CLASS), Pressure { full, below_xon, ..Default::default() });
    // No other queue's pressure changes.
    assert_eq!(sih.pressure(PortIx(0), Class(4)), Pressure::of_class(Class(4), false, true));
    assert_eq!(sih.pressure(PortIx(1), CLASS), Pressure::of_class(CLASS, false, true));
    sih.release(&packet(0, CLASS, 1000), Time::ZERO);
    assert_eq!(sih.occupancy().headroom, 0);
    assert_eq!(sih.pressure(PortIx(0), CLASS), Pressure::of_class(CLASS, false, true));
}

#[test]
fn a_queue_resumes_below_its_threshold_by_the_offset() {
    let (fabric, config) = evaluation();
    let config = SihConfig { resume_offset: Some(Bytes(2000)), ..config };
    let mut sih = config.build(&fabric.site(NodeId(32)));
    while sih.pressure(PortIx(0), CLASS).full.is_empty() {
        assert_eq!(admit(&mut sih, 0, CLASS, 1000, Time::ZERO), Ok(()));
    }
    // The queue's lengths are 156,000, 155,000 and 154,000 B; its thresholds are 156,826, 156,888
    // and 156,951 B. Only the last length is 2,000 B below its threshold.
    let mut below_xon = Vec::new();
    for _ in 0..3 {
        sih.release(&packet(0, CLASS, 1000), Time::ZERO);
        below_xon.push(!sih.pressure(PortIx(0), CLASS).below_xon.is_empty());
    }
    assert_eq!(below_xon, [false, false, true]);
}

/// With alpha 1 and 10,000 B to share, T = 10,000 B - x for a queue of x bytes.
#[test]
fn queue_is_full_at_threshold_and_below_xon_at_the_offset() {
    let (headroom, resume_offset) = (Some(Bytes(5000)), Some(Bytes(2000)));
    let config = SihConfig { alpha: 1.0, private: Bytes(0), headroom, resume_offset, ..Default::default() };
    let mut spec = star(2);
    spec.switch.headroom = HeadroomConfig::Sih(config.clone());
    spec.switch.buffer = Bytes(10_000 + 2 * 5000);
    let fabric = fabric(spec);
    let mut sih = config.build(&fabric.site(NodeId(2)));
    // At 4,000 B, the queue is 2,000 B below T. At 5,000 B, it has reached T.
    for (bytes, full, below_xon) in
        [(1000, false, true), (2000, false, true), (3000, false, true), (4000, false, true), (5000, true, false)]
    {
        assert_eq!(admit(&mut sih, 0, CLASS, 1000, Time::ZERO), Ok(()));
        assert_eq!(sih.pressure(PortIx(0), CLASS), Pressure::of_class(CLASS, full, below_xon), "{bytes} B");
    }
    assert_eq!(admit(&mut sih, 0, CLASS, 1, Time::ZERO), Ok(()));
    assert_eq!(sih.occupancy().headroom, 1, "T has no room for another byte");
    sih.release(&packet(0, CLASS, 1000), Time::ZERO);
    // The queue has 4,001 B, which is less than 2,000 B below T, 5,999 B.
    assert_eq!(sih.pressure(PortIx(0), CLASS), Pressure::default());
}

/// The threshold is 0 once other queues have filled the pool: private bytes alone do not make a
/// queue full.
#[test]
fn queue_within_private_bytes_is_below_xon_at_any_threshold() {
    let (fabric, config) = evaluation();
    let mut sih = SihConfig { alpha: 0.0, ..config }.build(&fabric.site(NodeId(32)));
    assert_eq!(admit(&mut sih, 0, CLASS, 3000, Time::ZERO), Ok(()));
    assert_eq!(sih.pressure(PortIx(0), CLASS).below_xon, ClassMask::of(CLASS));
    assert_eq!(admit(&mut sih, 0, CLASS, 64, Time::ZERO), Ok(()));
    assert_eq!(sih.pressure(PortIx(0), CLASS).full, ClassMask::of(CLASS));
    assert_eq!(sih.occupancy(), Occupancy { used: 3064, shared: 0, headroom: 64, peak: 3064 });
    // Headroom is drained first.
    sih.release(&packet(0, CLASS, 1000), Time::ZERO);
    assert_eq!(sih.occupancy(), Occupancy { used: 2064, shared: 0, headroom: 0, peak: 3064 });
    assert_eq!(sih.pressure(PortIx(0), CLASS).below_xon, ClassMask::of(CLASS));
}

#[test]
fn headroom_ends_at_its_size() {
    let (fabric, config) = evaluation();
    let mut sih = SihConfig { alpha: 0.0, ..config }.build(&fabric.site(NodeId(32)));
    assert_eq!(admit(&mut sih, 0, CLASS, 3000, Time::ZERO), Ok(()));
    for _ in 0..60 {
        assert_eq!(admit(&mut sih, 0, CLASS, 1000, Time::ZERO), Ok(()));
    }
    assert_eq!(admit(&mut sih, 0, CLASS, 1, Time::ZERO), Err(DropCause::Headroom));
    assert_eq!(sih.peak_headroom(PortIx(0), CLASS), 60_000);
}

/// As in HPCC's simulator, an alpha of 1/8 at 100 Gb/s is 1/2 at 400 Gb/s.
#[test]
fn alpha_scales_with_the_port_rate_if_set() {
    let mut spec = star(2);
    spec.links[1].rate = Rate::from_gbps(400);
    let fabric = fabric(spec);
    let config = SihConfig { alpha: 0.125, alpha_rate: Some(Rate::from_gbps(100)), ..Default::default() };
    let sih = config.build(&fabric.site(NodeId(2)));
    let shared = sih.pools.free_shared();
    assert_eq!((sih.shared_threshold(PortIx(0)), sih.shared_threshold(PortIx(1))), (shared / 8, shared / 2));
}
