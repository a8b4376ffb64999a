//! Writer of the pages of a column chunk: an optional dictionary page, and one data page.

use crate::encode::{write_codes, write_definition};
use crate::write::{Encoded, Scratch, Target};
use bytes::Bytes;
use parquet::basic::{CompressionCodec, Encoding, EncodingMask};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};

/// Row groups that follow without an attempt after an attempt that did not help.
const PAUSE: u8 = 15;

/// Decides for each chunk of a column whether something is attempted that does not help with all
/// numbers: compression, or a dictionary. Numbers that differ at random do not become shorter.
#[derive(Default)]
pub(crate) struct Attempts {
    /// Row groups until the next attempt.
    pause: u8,
}

impl Attempts {
    pub(crate) fn is_due(&self) -> bool {
        self.pause == 0
    }

    /// A chunk is complete. `has_helped` counts if an attempt was due.
    pub(crate) fn count(&mut self, has_helped: bool) {
        self.pause = match self.pause {
            0 if has_helped => 0,
            0 => PAUSE,
            pause => pause - 1,
        };
    }
}

/// Chunk in progress.
pub(crate) struct Pages<'a, 'b> {
    target: &'a mut Target<'b>,
    compression: &'a mut Attempts,
    output: TrackedWrite<Vec<u8>>,
    uncompressed: usize,
    encodings: Vec<PageEncodingStats>,
}

impl<'a, 'b> Pages<'a, 'b> {
    pub(crate) fn new(target: &'a mut Target<'b>, compression: &'a mut Attempts) -> Pages<'a, 'b> {
        target.scratch.page.clear();
        Pages { target, compression, output: TrackedWrite::new(Vec::new()), uncompressed: 0, encodings: Vec::new() }
    }

    /// Returns the content of the next page.
    pub(crate) fn page(&mut self) -> &mut Vec<u8> {
        &mut self.target.scratch.page
    }

    /// Starts a data page of `rows` rows. The rows `defined` have values, the other rows are null.
    pub(crate) fn start(&mut self, rows: usize, defined: &[u32]) -> &mut Vec<u8> {
        if self.target.descriptor.max_def_level() > 0 {
            write_definition(&mut self.target.scratch.page, defined, rows);
        }
        &mut self.target.scratch.page
    }

    /// Fills the data page with the codes of the dictionary. See [`Pages::start`].
    pub(crate) fn write_codes(&mut self, rows: usize, defined: &[u32], words: usize) {
        self.start(rows, defined);
        let Scratch { page, dictionary } = &mut *self.target.scratch;
        write_codes(page, &dictionary.codes, words);
    }

    /// Writes the page as a dictionary of `words` values in the plain encoding.
    pub(crate) fn write_dictionary(&mut self, words: usize) -> Result<(), ParquetError> {
        self.write(|buf| Page::DictionaryPage {
            buf,
            num_values: words as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        })
    }

    /// Writes the page as the data page, and completes the chunk.
    pub(crate) fn finish(
        mut self,
        rows: usize,
        encoding: Encoding,
        limits: Option<Statistics>,
    ) -> Result<Encoded, ParquetError> {
        let data_offset = self.output.bytes_written() as i64;
        self.write(|buf| Page::DataPage {
            buf,
            num_values: rows as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        })?;
        let codec = self.codec();
        let bytes = Bytes::from(self.output.into_inner()?);
        let has_helped = bytes.len() * 10 <= self.uncompressed * 9;
        self.compression.count(has_helped);
        let encodings = self.encodings.iter().map(|page| &page.encoding).chain([&Encoding::RLE]);
        let mut metadata = ColumnChunkMetaData::builder(self.target.descriptor.clone())
            .set_compression_codec(codec)
            .set_encodings_mask(EncodingMask::new_from_encodings(encodings))
            .set_dictionary_page_offset((data_offset > 0).then_some(0))
            .set_data_page_offset(data_offset)
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(self.uncompressed as i64)
            .set_num_values(rows as i64);
        if let Some(limits) = limits {
            metadata = metadata.set_statistics(limits);
        }
        let closed = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: rows as u64,
            metadata: metadata.set_page_encoding_stats(self.encodings).build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((bytes, closed))
    }

    fn codec(&self) -> CompressionCodec {
        if self.compression.is_due() { CompressionCodec::ZSTD } else { CompressionCodec::UNCOMPRESSED }
    }

    /// Writes the content as a page, and removes it.
    fn write(&mut self, page: impl FnOnce(Bytes) -> Page) -> Result<(), ParquetError> {
        let content = match self.codec() {
            CompressionCodec::UNCOMPRESSED => self.target.scratch.page.clone(),
            _ => self.target.compressor.compress(&self.target.scratch.page)?,
        };
        let page = page(content.into());
        let (page_type, encoding) = (page.page_type(), page.encoding());
        self.encodings.push(PageEncodingStats { page_type, encoding, count: 1 });
        let page = CompressedPage::new(page, self.target.scratch.page.len());
        self.uncompressed += SerializedPageWriter::new(&mut self.output).write_page(page)?.uncompressed_size;
        self.target.scratch.page.clear();
        Ok(())
    }
}
