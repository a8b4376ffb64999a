use super::*;

fn switch() -> SwitchSpec {
    SwitchSpec {
        rate: Rate::from_gbps(100),
        delay: Duration::from_us(2),
        mtu: 1500,
        response: Duration::ZERO,
        ports: 32,
        classes: 7,
        buffer: Bytes(16 << 20),
        private: Bytes(3000),
        alpha: 0.0625,
        ratio: 0.8,
    }
}

/// Checks the values of DSH section V-A with the exact headroom of 56,840 B, which the paper rounds
/// to 60,000 B.
#[test]
fn the_evaluation_of_dsh() {
    let found = plan(&switch()).unwrap();
    assert_eq!(found.need.equation_1, 56_840);
    assert!(found.need.exact < 56_840);
    let of = |name| found.schemes.iter().find(|scheme| scheme.name == name).unwrap();
    assert_eq!(of("sih").headroom, 32 * 7 * 56_840);
    assert_eq!(of("dsh").headroom, 32 * 56_840);
    assert_eq!(of("oversubscribed").headroom, 32 * 7 * 56_840 * 8 / 10);
    assert_eq!(of("adaptive").headroom, 32 * 7 * found.need.exact);
    assert!(found.schemes.iter().all(|scheme| scheme.private == 672_000));
    assert_eq!(of("dsh").threshold, Some(((16 << 20) - 672_000 - 32 * 56_840) / 16));
    let risky: Vec<_> = found.schemes.iter().filter(|scheme| scheme.may_drop).map(|scheme| scheme.name).collect();
    assert_eq!(risky, ["oversubscribed"]);
}

/// DSH section III-A: a Trident2 needs 5.33 of its 12 MiB, which is 44.4 %.
#[test]
fn the_trident_of_dsh() {
    let trident = SwitchSpec {
        rate: Rate::from_gbps(40),
        delay: Duration::from_ns(1500),
        classes: 8,
        private: Bytes(0),
        buffer: Bytes(12 << 20),
        ..switch()
    };
    let found = plan(&trident).unwrap();
    assert_eq!(found.need.equation_1, 21_840);
    assert_eq!(found.schemes[0].headroom, 5_591_040);
}

/// With one class, DSH and SIH reserve the same number of bytes. If reserved bytes do not fit into
/// the buffer, no shared buffer is left.
#[test]
fn edges() {
    let single = plan(&SwitchSpec { classes: 1, ..switch() }).unwrap();
    assert_eq!(single.schemes[0].headroom, single.schemes[1].headroom);
    let small = plan(&SwitchSpec { buffer: Bytes(10_000_000), ..switch() }).unwrap();
    assert_eq!(small.schemes[0].shared, None);
    assert!(small.schemes[1].shared.is_some());
    // Equation 1 allows 3840 B for the response time, which is 307.2 ns at 100 Gb/s. Headroom for a
    // longer response time is added.
    let slow = plan(&SwitchSpec { response: Duration::from_ns(1000), ..switch() }).unwrap();
    assert_eq!(slow.need.equation_1, 56_840 + 12_500 - 3840);
}

#[test]
fn wrong_fields_are_rejected_by_name() {
    let error = |switch: SwitchSpec| {
        let error = plan(&switch).unwrap_err();
        format!("{} {}", error.path, error.message)
    };
    assert_eq!(error(SwitchSpec { mtu: 100, ..switch() }), "mtu must be from 256 B to 9234 B");
    assert_eq!(error(SwitchSpec { classes: 9, ..switch() }), "classes must be from 1 to 8");
    assert_eq!(error(SwitchSpec { ports: 0, ..switch() }), "ports must be from 1 to 1024");
    assert_eq!(
        error(SwitchSpec { delay: Duration::ZERO, ..switch() }),
        "delay must be longer than 0 s and at most 10 ms"
    );
}

/// SONiC's table for the SN5610N (Spectrum-4, `pg_profile_lookup.ini`), with 10 % small packets.
#[test]
fn sonic_profiles_of_a_spectrum_4() {
    let port = |speed, cable| SpectrumPort {
        speed,
        cable,
        mtu: 9100,
        lossless_mtu: 1024,
        small_packets: 10.0,
        generation: 4,
        eight_lanes: false,
        shared_pool: false,
    };
    let published = [
        (100_000, 5.0, 44_032),
        (100_000, 40.0, 49_152),
        (200_000, 5.0, 50_176),
        (200_000, 40.0, 60_416),
        (400_000, 5.0, 86_016),
    ];
    for (speed, cable, xoff) in published {
        let profile = spectrum(&port(speed, cable)).unwrap();
        assert_eq!((profile.xoff, profile.xon, profile.size), (xoff, 19_456, xoff + 19_456), "{speed} {cable} m");
    }
    // SONiC's table has 104,448 B for this port, 2 KiB less than the formula.
    assert_eq!(spectrum(&port(400_000, 40.0)).unwrap().xoff, 106_496);
    assert_eq!(spectrum(&SpectrumPort { shared_pool: true, ..port(100_000, 5.0) }).unwrap().size, 19_456);
    let error = spectrum(&port(2500, 5.0)).unwrap_err().message;
    let known = "100, 1000, 10000, 25000, 40000, 50000, 100000, 200000, 400000, 800000";
    assert_eq!(error, format!("must be one of {known} (Mb/s)"));
}
