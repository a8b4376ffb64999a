//! Columns of words from a fixed list.
//!
//! A cell is the index of its word, and the file stores a dictionary of the words in use. The
//! library's dictionary encoder would look up the text of every cell.

use crate::Text;
use crate::encode::{Physical, write_codes};
use crate::pages::{Attempts, Pages};
use crate::write::{Chunk, Encoded, Target};
use parquet::basic::Encoding;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use std::sync::Arc;

/// Code of a word that the row group does not contain.
const UNUSED: u32 = u32::MAX;

/// Column of words, with or without nulls.
pub struct Words {
    words: Arc<[Text]>,
    /// Index of the word of each cell that is not null.
    cells: Vec<u32>,
    /// Rows of these cells, if the column has nulls.
    rows: Vec<u32>,
    compression: Attempts,
}

impl Words {
    /// Creates an empty column of `words`.
    pub fn new(words: &Arc<[Text]>) -> Words {
        Words { words: words.clone(), cells: Vec::new(), rows: Vec::new(), compression: Attempts::default() }
    }

    /// Appends a cell of a column without nulls.
    #[inline]
    pub fn push(&mut self, word: u32) {
        self.cells.push(word);
    }

    /// Sets the cell of `row` in a column with nulls. `row` is after all rows set before.
    #[inline]
    pub fn set(&mut self, row: u32, word: u32) {
        self.rows.push(row);
        self.cells.push(word);
    }

    /// Replaces words by codes. Returns the words in use, in order of their codes.
    fn assign_codes(&mut self, codes: &mut Vec<u32>) -> Vec<u32> {
        codes.clear();
        codes.resize(self.words.len(), UNUSED);
        let mut used = Vec::new();
        for cell in &mut self.cells {
            let code = &mut codes[*cell as usize];
            if *code == UNUSED {
                *code = used.len() as u32;
                used.push(*cell);
            }
            *cell = *code;
        }
        used
    }
}

impl Chunk for Words {
    fn encode(&mut self, rows: usize, target: &mut Target<'_>) -> Result<Encoded, ParquetError> {
        let used = self.assign_codes(&mut target.scratch.dictionary.codes);
        let mut pages = Pages::new(target, &mut self.compression);
        for word in &used {
            ByteArray::write_plain(std::slice::from_ref(&self.words[*word as usize].0), pages.page());
        }
        pages.write_dictionary(used.len())?;
        write_codes(pages.start(rows, &self.rows), &self.cells, used.len());
        self.cells.clear();
        self.rows.clear();
        pages.finish(rows, Encoding::RLE_DICTIONARY, None)
    }
}
