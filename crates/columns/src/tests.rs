use super::*;
use parquet::basic::{CompressionCodec, Encoding};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use std::fs::File;
use temp_dir::TempDir;

/// Writes `column` alone, and reads column `name`.
fn round_trip(field: TypePtr, rows: usize, column: &mut dyn Chunk, name: &str) -> Result<Option<Cells>, ParquetError> {
    let directory = TempDir::new()?;
    let path = directory.path().join("table.parquet");
    let properties = WriterProperties::builder().set_dictionary_enabled(is_text(&field)).build();
    let mut writer = FileWriter::new(File::create(&path)?, vec![field], properties)?;
    writer.write(rows, [column])?;
    writer.finish()?;
    let file = SerializedFileReader::new(File::open(path)?)?;
    read(&*file.get_row_group(0)?, name)
}

fn optional<V: Encode + Clone + 'static>(cells: &[Option<V>]) -> Result<Option<Cells>, ParquetError> {
    let mut column = Column::optional(cells.iter().cloned());
    round_trip(field::<V>("cells", true), cells.len(), column.chunk(), "cells")
}

fn required<V: Encode + Clone + 'static>(cells: &[V]) -> Result<Option<Cells>, ParquetError> {
    let mut column = Column::required(cells.iter().cloned());
    round_trip(field::<V>("cells", false), cells.len(), column.chunk(), "cells")
}

#[test]
fn numbers_of_the_whole_range_are_read_back() -> Result<(), ParquetError> {
    let read = [
        optional(&[Some(0), None, Some(u8::MAX)])?,
        optional(&[Some(0), None, Some(u16::MAX)])?,
        optional(&[Some(0), None, Some(u32::MAX)])?,
        optional(&[Some(0), None, Some(u64::MAX)])?,
        optional(&[Some(0), None, Some(i64::MAX)])?,
        optional(&[Some(false), None, Some(true)])?,
    ];
    let most = [u64::from(u8::MAX), u16::MAX.into(), u32::MAX.into(), u64::MAX, i64::MAX as u64, 1];
    for (read, most) in read.into_iter().zip(most) {
        assert!(matches!(read, Some(Cells::Numbers(cells)) if cells == [Some(0), None, Some(most)]), "{most}");
    }
    assert!(matches!(required(&[7_u16, 8])?, Some(Cells::Numbers(cells)) if cells == [Some(7), Some(8)]));
    Ok(())
}

#[test]
fn text_and_bytes_are_distinct() -> Result<(), ParquetError> {
    let [text, bytes] = [
        optional(&[None, Some(Text::from("h1")), Some(Text::from("")), Some(Text::from("h1"))])?,
        optional(&[None, Some(b"h1".to_vec()), Some(Vec::new()), Some(b"h1".to_vec())])?,
    ];
    let expected = [None, Some("h1"), Some(""), Some("h1")].map(|cell| cell.map(ByteArray::from));
    assert!(matches!(text, Some(Cells::Text(cells)) if cells == expected));
    assert!(matches!(bytes, Some(Cells::Bytes(cells)) if cells == expected));
    Ok(())
}

#[test]
fn empty_and_null_lists_are_read_back() -> Result<(), ParquetError> {
    let lists: [Option<Vec<u64>>; 5] = [Some(vec![3, 1, 2]), None, Some(vec![]), Some(vec![9]), None];
    let short = lists.iter().map(|list| list.as_ref().map(|list| list.iter().map(|number| *number as u16)));
    let read = round_trip(list_field::<u16>("path"), lists.len(), Column::lists(short).chunk(), "path")?;
    assert!(matches!(read, Some(Cells::Lists(read)) if read == lists));
    Ok(())
}

/// Reads the first column of each row group.
fn written(
    field: TypePtr,
    encoding: Encoding,
    write: impl FnOnce(&mut FileWriter<File>) -> Result<(), ParquetError>,
) -> Result<Vec<(Cells, ColumnChunkMetaData)>, ParquetError> {
    let directory = TempDir::new()?;
    let path = directory.path().join("table.parquet");
    let properties = WriterProperties::builder().set_dictionary_enabled(false).set_encoding(encoding).build();
    let mut writer = FileWriter::new(File::create(&path)?, vec![field], properties)?;
    write(&mut writer)?;
    writer.finish()?;
    let file = SerializedFileReader::new(File::open(path)?)?;
    let groups = 0..file.metadata().num_row_groups();
    let column = |group| {
        let group = file.get_row_group(group)?;
        let cells = read(&*group, "cells")?.expect("a readable column");
        Ok((cells, group.metadata().column(0).clone()))
    };
    groups.map(column).collect()
}

/// Generates numbers of different sizes, some of them close to each other.
fn noise() -> impl Iterator<Item = u64> {
    let mut state = 1_u64;
    (0_u32..).map(move |step| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> (step / 50 * 7 % 64)
    })
}

/// Writes the numbers of each row group without the nulls, and compares what is read.
fn check_values<V: Encode + Copy + Into<u64>>(
    encoding: Encoding,
    convert: fn(u64) -> V,
    is_null: fn(usize) -> bool,
) -> Result<(), ParquetError> {
    let counts = [1, 2, 7, 8, 9, 32, 33, 128, 129, 130, 257, 1000];
    let cells = |rows: usize| -> Vec<Option<u64>> {
        let numbers = noise().map(|number| convert(number).into());
        numbers.take(rows).enumerate().map(|(row, number)| (!is_null(row)).then_some(number)).collect()
    };
    let numbers: Vec<u64> = noise().take(1000).collect();
    let is_optional = cells(1000).contains(&None);
    let groups = written(field::<V>("cells", is_optional), encoding, |writer| {
        let mut column = Values::default();
        for rows in counts {
            for row in (0..rows).filter(|row| !is_null(*row)) {
                match is_optional {
                    true => column.set(row as u32, convert(numbers[row])),
                    false => column.push(convert(numbers[row])),
                }
            }
            writer.write(rows, [&mut column as &mut dyn Chunk])?;
        }
        Ok(())
    })?;
    for (rows, (read, metadata)) in counts.into_iter().zip(groups) {
        let expected = cells(rows);
        assert!(matches!(&read, Cells::Numbers(read) if *read == expected), "{rows} rows: {read:?}");
        let limits = metadata.statistics().unwrap();
        assert_eq!(limits.null_count_opt(), Some(expected.iter().filter(|cell| cell.is_none()).count() as u64));
        let (least, most) = match limits {
            Statistics::Int32(limits) => {
                (limits.min_opt().map(|it| *it as u32 as u64), limits.max_opt().map(|it| *it as u32 as u64))
            }
            Statistics::Int64(limits) => (limits.min_opt().map(|it| *it as u64), limits.max_opt().map(|it| *it as u64)),
            _ => (None, None),
        };
        let known = || expected.iter().copied().flatten();
        assert_eq!((least, most), (known().min(), known().max()), "{rows} rows");
    }
    Ok(())
}

#[test]
fn values_are_read_back_with_their_limits() -> Result<(), ParquetError> {
    for encoding in [Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED] {
        for is_null in [|_| false, |row| row % 3 == 1, |row| row > 40, |_| true] {
            check_values(encoding, |number| number as u8, is_null)?;
            check_values(encoding, |number| number as u16, is_null)?;
            check_values(encoding, |number| number as u32, is_null)?;
            check_values(encoding, std::convert::identity, is_null)?;
        }
    }
    Ok(())
}

/// Numbers have a dictionary if it has at most 2048 entries, and at most a fourth as many as there
/// are numbers. After a failure, fifteen row groups have none.
#[test]
fn numbers_that_repeat_have_a_dictionary() -> Result<(), ParquetError> {
    let spread = |number: usize| (number as u64).wrapping_mul(0x1234_5678_9ABC_DEF1).rotate_left(40);
    let encoded = |cases: &[(usize, usize)]| -> Result<Vec<bool>, ParquetError> {
        let groups = written(field::<u64>("cells", true), Encoding::PLAIN, |writer| {
            let mut column = Values::default();
            for (different, count) in cases {
                (0..*count).for_each(|number| column.set(2 * number as u32, spread(number % different)));
                writer.write(2 * count, [&mut column as &mut dyn Chunk])?;
            }
            Ok(())
        })?;
        for ((different, count), (read, _)) in cases.iter().zip(&groups) {
            let cells: Vec<_> = (0..2 * count).map(|row| (row % 2 == 0).then(|| spread(row / 2 % different))).collect();
            assert!(matches!(read, Cells::Numbers(read) if *read == cells), "{different} numbers of {count}");
        }
        let has_dictionary = |column: &ColumnChunkMetaData| column.dictionary_page_offset().is_some();
        Ok(groups.iter().map(|(_, column)| has_dictionary(column)).collect())
    };
    let cases = [(1, 4), (1, 3), (250, 1000), (251, 1000), (2048, 9000), (2049, 9000)];
    let found: Result<Vec<_>, _> = cases.iter().map(|case| encoded(std::slice::from_ref(case))).collect();
    assert_eq!(found?, [[true], [false], [true], [false], [true], [false]]);
    let mut cases = vec![(1, 4); 20];
    cases[2] = (4, 4);
    let expected: Vec<bool> = (0..20).map(|group| !(2..=17).contains(&group)).collect();
    assert_eq!(encoded(&cases)?, expected);
    Ok(())
}

#[test]
fn words_are_read_back() -> Result<(), ParquetError> {
    let words: Arc<[Text]> = (0..600).map(|word| Text::from(format!("w{word}").as_str())).collect();
    // The number of words in use, of rows, and of rows per cell.
    let cases = [(1, 100, 1), (2, 9, 1), (5, 1000, 3), (256, 700, 1), (600, 2000, 2), (1, 10, 20)];
    let row_of = |cell: usize, step: usize| cell * step + step - 1;
    let groups = written(field::<Text>("cells", true), Encoding::PLAIN, |writer| {
        let mut column = Words::new(&words);
        for (used, rows, step) in cases {
            for cell in 0..rows / step {
                column.set(row_of(cell, step) as u32, (cell * 7 % used) as u32);
            }
            writer.write(rows, [&mut column as &mut dyn Chunk])?;
        }
        Ok(())
    })?;
    for ((used, rows, step), (read, _)) in cases.into_iter().zip(groups) {
        let mut expected = vec![None; rows];
        for cell in 0..rows / step {
            expected[row_of(cell, step)] = Some(words[cell * 7 % used].0.clone());
        }
        assert!(matches!(read, Cells::Text(read) if read == expected), "{used} words in {rows} rows");
    }
    Ok(())
}

#[test]
fn bytes_and_truth_values_are_read_back() -> Result<(), ParquetError> {
    let groups = written(field::<Vec<u8>>("cells", true), Encoding::PLAIN, |writer| {
        let mut column = Values::default();
        column.set(1, b"header".to_vec());
        column.set(3, Vec::new());
        writer.write(4, [&mut column as &mut dyn Chunk])
    })?;
    let expected = [None, Some("header"), None, Some("")].map(|cell| cell.map(ByteArray::from));
    assert!(matches!(&groups[0].0, Cells::Bytes(read) if *read == expected));
    let groups = written(field::<bool>("cells", false), Encoding::PLAIN, |writer| {
        let mut column = Values::default();
        (0..70).for_each(|row| column.push(row % 3 == 0));
        writer.write(70, [&mut column as &mut dyn Chunk])
    })?;
    let expected: Vec<_> = (0..70).map(|row| Some(u64::from(row % 3 == 0))).collect();
    assert!(matches!(&groups[0].0, Cells::Numbers(read) if *read == expected));
    Ok(())
}

/// Columns that compression hardly shortens are compressed again after fifteen row groups.
#[test]
fn only_columns_that_become_shorter_are_compressed() -> Result<(), ParquetError> {
    let codecs = |number: fn(u64) -> u64| -> Result<Vec<bool>, ParquetError> {
        let groups = written(field::<u64>("cells", false), Encoding::PLAIN, |writer| {
            let mut column = Values::default();
            for _ in 0..20 {
                noise().take(50).for_each(|noise| column.push(number(noise)));
                writer.write(50, [&mut column as &mut dyn Chunk])?;
            }
            Ok(())
        })?;
        Ok(groups.iter().map(|(_, column)| column.compression_codec() == CompressionCodec::ZSTD).collect())
    };
    assert_eq!(codecs(|noise| noise % 50)?, [true; 20]);
    let expected: Vec<bool> = (0..20).map(|group| group % 16 == 0).collect();
    assert_eq!(codecs(std::convert::identity)?, expected);
    Ok(())
}

#[test]
fn missing_and_unsupported_columns_are_none() -> Result<(), ParquetError> {
    assert!(required(&[0.5])?.is_none());
    assert!(round_trip(field::<u8>("cells", false), 1, Column::required([1].into_iter()).chunk(), "other")?.is_none());
    Ok(())
}
