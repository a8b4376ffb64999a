//! Tests of side records.

use super::*;
use crate::frame::Protocol;
use crate::frame::journey::Term;
use crate::ids::{FlowId, NodeId, PortId, QueueIx};

/// Returns a record with every field.
fn whole() -> Record {
    let spell = Spell { length: Duration::from_ns(7), end: Time::from_ps(9) };
    let mut telemetry = Telemetry::default();
    telemetry.push(Stamp { time: Time::from_ps(1), tx_bytes: 2, queue_bytes: 3, rate: Rate::from_gbps(100) });
    let mut trail = Trail::default();
    trail.push(PortIx(4));
    let words = [1, 2, 3, 4];
    let notice = Notice { protocol: Protocol::named("test"), from: PortId(5), flow: FlowId(6), to: NodeId(7), words };
    Record {
        pauses: PauseLog { paused: spell, blocked: spell },
        telemetry,
        causes: Some(Causes::default()),
        notice: Some(notice),
        trail: Some(trail),
        echo: Some(Echo { arrived: 8, hops: 3, verdict: Some(Cnp::NotCongested), path: Some(9) }),
        path_header: Some([1, 2, 3, 4, 5, 6, 7]),
        path: Some(10),
        journey: Some(Journey::new(Time::from_ps(11))),
    }
}

/// A record moves to another shard with all its fields and leaves nothing behind.
#[test]
fn taken_records_have_every_field() {
    let (mut here, mut there) = (Records::default(), Records::default());
    let record = here.insert(whole());
    let taken = here.take(record).expect("it has just been put in");
    assert_eq!(here.in_use(), 0);
    assert_eq!(format!("{taken:?}"), format!("{:?}", whole()));
    let record = there.insert(taken);
    assert_eq!(format!("{:?}", there.take(record)), format!("{:?}", Some(whole())));
    let empty = here.insert(Record::default());
    assert_eq!(format!("{:?}", here.take(empty)), format!("{:?}", Some(Record::default())));
}

#[test]
fn an_answer_echoes_the_telemetry_and_nothing_else() {
    let mut records = Records::default();
    let record = records.insert(whole());
    let record = records.reuse_for_answer(record);
    let left = Record { telemetry: whole().telemetry, ..Record::default() };
    assert_eq!(format!("{:?}", records.take(record)), format!("{:?}", Some(left)));
}

/// A field takes memory once a record has it.
#[test]
fn heap_size_counts_every_field() {
    let only: [fn(Record) -> Record; 9] = [
        |_| Record::default(),
        |record| Record { telemetry: record.telemetry, ..Record::default() },
        |record| Record { causes: record.causes, ..Record::default() },
        |record| Record { notice: record.notice, ..Record::default() },
        |record| Record { trail: record.trail, ..Record::default() },
        |record| Record { echo: record.echo, ..Record::default() },
        |record| Record { path_header: record.path_header, ..Record::default() },
        |record| Record { path: record.path, ..Record::default() },
        |record| Record { journey: record.journey, ..Record::default() },
    ];
    let bytes = only.map(|part| {
        let mut records = Records::default();
        records.insert(part(whole()));
        records.heap_bytes()
    });
    assert!(bytes[1..].iter().all(|with_part| *with_part > bytes[0]), "{bytes:?}");
}

/// Causes take memory for the PAUSEs in flight, even if many records were PAUSEs before.
#[test]
fn causes_take_memory_for_few_records() {
    let mut records = Records::default();
    let packets: Vec<_> = (0..10_000).map(|_| records.insert(Record::default())).collect();
    let before = records.heap_bytes();
    for packet in packets {
        records.free(packet);
        let pause = records.insert(Record { causes: Some(Causes::default()), ..Record::default() });
        assert!(pause == packet && records.causes(pause).is_some());
        records.free(pause);
        let packet = records.insert(Record::default());
        assert!(packet == pause && records.causes(packet).is_none());
    }
    assert!(records.heap_bytes() < before + 10_000 * 16, "{} after {before}", records.heap_bytes());
}

/// A breakdown of a packet's time that was used before is empty. No more than one breakdown per
/// record is kept.
#[test]
fn breakdowns_are_reused() {
    let (mut records, mut reference) = (Records::default(), RecordRef::NONE);
    let journey = records.start_journey(&mut reference, Time::from_ps(1));
    journey.add(PortId(1), Term::Pacing, None, Duration::from_ps(5));
    journey.marked = Some((PortId(2), Time::from_ps(3)));
    journey.pass(QueueIx(9));
    journey.stamp(PortId(2), Time::from_ps(3));
    let used = records.take_journey(reference);
    records.recycle(used);
    records.recycle(Some(Journey::new(Time::ZERO)));
    assert_eq!(records.spare_journeys.len(), 1);
    let journey = records.start_journey(&mut reference, Time::from_ps(7));
    let facts = (journey.spans().count(), journey.until, journey.marked, journey.passed(), journey.stamped());
    assert_eq!(facts, (0, Time::from_ps(7), None, &[][..], &[][..]));
    assert_eq!(records.spare_journeys.len(), 0);
    records.free(reference);
    records.insert_empty();
    assert_eq!((records.spare_journeys.len(), records.in_use()), (1, 1));
}
