//! Tests of the files of pauses.

use super::*;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use std::fs::File;
use temp_dir::TempDir;

#[test]
fn bins_without_samples_are_as_small_as_their_number_permits() {
    for end in [0, 1, BINS - 1, BINS, BINS + 1, 1_000_000_000_000] {
        let width = width_of(0, end);
        assert!(end.div_ceil(width) <= BINS && (width - 1) * BINS <= end, "{width} of {end}");
    }
    assert_eq!(width_of(7, 100), 7);
}

/// Bin width in ps. There are six levels, the lowest with 300 chunks.
const WIDTH: u64 = 10;
const END: u64 = WIDTH * 64 * 300;

/// Returns pauses in order of end. Most pauses are short, and some are as long as chunks of any
/// level.
fn intervals() -> Vec<Interval> {
    let mut noise = 1_u64;
    let mut draw = |below: u64| {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (noise >> 33) % below
    };
    let mut all: Vec<_> = (0..1500)
        .map(|_| {
            let longest = [5, 200, 200, 3000, END][draw(5) as usize];
            let end = 1 + draw(END);
            let start = end - (1 + draw(longest)).min(end);
            let (port, queue, cause) = (draw(3) as u32, draw(2) as u16, draw(4) as u32);
            Interval { port, queue, start, end, is_open: false, cause, via: None, parent: None, hops: None }
        })
        .collect();
    all.sort_by_key(|pause| pause.end);
    all
}

/// Returns the rows of a file of whole numbers.
fn rows<const N: usize>(directory: &TempDir, name: &str) -> Vec<[u64; N]> {
    let reader = SerializedFileReader::new(File::open(directory.path().join(name)).unwrap()).unwrap();
    let number = |field: &Field| match field {
        Field::Int(number) => *number as u64,
        Field::Double(number) => *number as u64,
        other => panic!("{other:?}"),
    };
    let numbers = |row: Row| {
        let numbers: Vec<u64> = row.get_column_iter().map(|(_, field)| number(field)).take(N).collect();
        numbers.try_into().unwrap()
    };
    reader.get_row_iter(None).unwrap().map(|row| numbers(row.unwrap())).collect()
}

/// Writes `intervals()` and reads the files back. Returns level, port, queue, start and end of each
/// pause, and level, port, queue, bin, cause and length of each share.
fn written() -> (Vec<[u64; 5]>, Vec<[u64; 6]>) {
    let directory = TempDir::new().unwrap();
    let mut pauses = Pauses::create(directory.path(), WIDTH, END).unwrap();
    assert_eq!(pauses.levels.len(), 6);
    for pause in intervals() {
        pauses.push(pause).unwrap();
        let open = |level: &Level| level.intervals.len().max(level.bins.len());
        let open: Vec<usize> = pauses.levels.iter().map(open).collect();
        assert!(open.iter().all(|chunks| *chunks <= 3), "{open:?} chunks are open at {}", pause.end);
    }
    pauses.finish().unwrap();
    (rows(&directory, "pauses.parquet"), rows(&directory, "paused.parquet"))
}

/// Returns the bin width of a level.
fn width(level: u64) -> u64 {
    WIDTH << (2 * level)
}

/// Returns the lowest level with chunks as long as the pause, or the highest level.
fn level(pause: &Interval) -> u64 {
    (0..5).find(|level| pause.end - pause.start <= 64 * width(*level)).unwrap_or(5)
}

/// Returns true if the chunks of each level are in order.
fn is_in_order(mut of: impl Iterator<Item = (u64, u64)>) -> bool {
    let mut last = [0; 6];
    of.all(|(level, chunk)| std::mem::replace(&mut last[level as usize], chunk) <= chunk)
}

#[test]
fn each_pause_is_written_once_in_the_chunk_of_its_start() {
    let expected = intervals();
    let expected =
        expected.iter().map(|pause| [level(pause), pause.port.into(), pause.queue.into(), pause.start, pause.end]);
    let mut expected: Vec<_> = expected.collect();
    let (mut found, _) = written();
    assert!(is_in_order(found.iter().map(|row| (row[0], row[3] / (64 * width(row[0]))))));
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
    assert!((0..6).all(|level| found.iter().any(|row| row[0] == level)));
}

#[test]
fn each_bin_is_written_once_with_the_pauses_of_lower_levels() {
    let mut expected = BTreeMap::<_, BTreeMap<u32, u64>>::new();
    for pause in intervals() {
        for level in level(&pause)..6 {
            let width = width(level);
            for bin in pause.start / width..pause.end.div_ceil(width) {
                let share = pause.end.min((bin + 1) * width) - pause.start.max(bin * width);
                let causes = expected.entry([level, pause.port.into(), pause.queue.into(), bin]).or_default();
                *causes.entry(pause.cause).or_default() += share;
            }
        }
    }
    let (_, found) = written();
    assert!(is_in_order(found.iter().map(|row| (row[0], row[3] / 64))));
    assert_eq!(found.len(), expected.len());
    for [level, port, queue, bin, cause, paused] in found {
        let causes = &expected[&[level, port, queue, bin]];
        assert_eq!(paused, causes.values().sum::<u64>());
        let most = causes.values().max();
        assert_eq!(causes.get(&(cause as u32)), most, "level {level}, bin {bin}");
    }
}
