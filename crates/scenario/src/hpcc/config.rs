//! `config.txt`: a key and its values per line.

use super::text::{Errors, Reader, Token, lines, rate, ticks};
use crate::diagnostic::{Diagnostic, counted};
use backwater_engine::{Duration, Rate};
use std::collections::BTreeMap;

/// A configuration under translation, with its errors and the keys read so far.
pub(super) struct Config<'a> {
    pub(super) errors: Errors<'a>,
    entries: Vec<Entry<'a>>,
}

struct Entry<'a> {
    key: Token<'a>,
    values: Vec<Token<'a>>,
    used: bool,
}

impl<'a> Config<'a> {
    /// Reads `text`, the contents of the file called `name`. Text after `#` or `{` is a comment, as
    /// in HPCC's documentation.
    pub(super) fn read(text: &'a str, name: &'a str) -> Config<'a> {
        let mut errors = Errors::new(name);
        let mut first_line = BTreeMap::new();
        let mut entries = Vec::new();
        for line in lines(text) {
            let mut tokens = line.before(&['#', '{']).tokens();
            let Some(key) = tokens.next() else { continue };
            if let Some(first) = first_line.insert(key.text, line.number) {
                errors.at(key, format!("{} is already set in line {first}", key.text));
            }
            entries.push(Entry { key, values: tokens.collect(), used: false });
        }
        Config { errors, entries }
    }

    fn entry(&mut self, key: &str) -> Option<(Token<'a>, Vec<Token<'a>>)> {
        let entry = self.entries.iter_mut().find(|entry| entry.key.text == key)?;
        entry.used = true;
        Some((entry.key, entry.values.clone()))
    }

    fn single(&mut self, key: &str) -> Option<Token<'a>> {
        let (token, values) = self.entry(key)?;
        if values.len() != 1 {
            self.errors.at(token, format!("{key} takes one value; found {}", values.len()));
        }
        values.first().copied()
    }

    fn one<T>(&mut self, key: &str, expected: &str, read: Reader<T>) -> Option<T> {
        let token = self.single(key)?;
        self.errors.read(token, format_args!("{key}, {expected}"), read)
    }

    pub(super) fn integer(&mut self, key: &str, low: u32, high: u32) -> Option<u32> {
        let token = self.single(key)?;
        self.errors.integer(token, key, low, high)
    }

    pub(super) fn flag(&mut self, key: &str) -> Option<bool> {
        self.integer(key, 0, 1).map(|value| value == 1)
    }

    /// Reads a probability or a share.
    pub(super) fn share(&mut self, key: &str) -> Option<f64> {
        self.one(key, SHARE, share)
    }

    pub(super) fn rate(&mut self, key: &str) -> Option<Rate> {
        self.one(key, "a bit rate such as 40Mb/s", rate)
    }

    pub(super) fn microseconds(&mut self, key: &str) -> Option<Duration> {
        self.one(key, "a number of microseconds", |text| ticks(text, 6).map(Duration::from_ps))
    }

    pub(super) fn seconds(&mut self, key: &str) -> Option<Duration> {
        self.one(key, "a number of seconds", |text| ticks(text, 12).map(Duration::from_ps))
    }

    /// Reads a map from link rates in bits per second: `n (rate value)*`.
    pub(super) fn by_rate<T>(&mut self, key: &str, expected: &str, read: Reader<T>) -> Option<BTreeMap<Rate, T>> {
        let (token, values) = self.entry(key)?;
        let (Some((&count, pairs)), errors) = (values.split_first(), &mut self.errors) else {
            self.errors
                .at(token, format!("{key} has no value; expected a count, then that many pairs of rate and value"));
            return None;
        };
        let count = errors.integer(count, "the number of pairs", 0, u32::MAX)?;
        if pairs.len() as u64 != 2 * u64::from(count) {
            let (count, values) = (counted(count, "pair"), counted(pairs.len(), "value"));
            errors.at(token, format!("{key} announces {count} of rate and value, but {values} follow"));
            return None;
        }
        let mut pair = |pair: &[Token<'_>]| {
            Some((errors.read(pair[0], "a bit rate", rate)?, errors.read(pair[1], expected, read)?))
        };
        let pairs: Vec<_> = pairs.chunks_exact(2).map(&mut pair).collect();
        pairs.into_iter().collect()
    }

    /// Reads `LINK_DOWN`: microseconds after the start, and the two ends. Zeros mean that no link
    /// fails.
    pub(super) fn link_down(&mut self) -> Option<(Duration, u32, u32)> {
        let (token, values) = self.entry("LINK_DOWN")?;
        let [after, a, b] = values[..] else {
            self.errors.at(token, format!("LINK_DOWN takes three values, <us> <node> <node>; found {}", values.len()));
            return None;
        };
        let after = self.errors.read(after, "a number of microseconds", |text| ticks(text, 6));
        let a = self.errors.integer(a, "a node number", 0, u32::MAX);
        let b = self.errors.integer(b, "a node number", 0, u32::MAX);
        after.filter(|after| *after > 0).map(Duration::from_ps).zip(a.zip(b)).map(|(after, (a, b))| (after, a, b))
    }

    /// Adds an error about the value of `key`.
    pub(super) fn refuse(&mut self, key: &str, message: String) {
        if let Some((token, values)) = self.entry(key) {
            self.errors.at(values.first().copied().unwrap_or(token), message);
        }
    }

    /// Marks keys that have no effect in this configuration.
    pub(super) fn pass_over(&mut self, keys: &[&str]) {
        for entry in self.entries.iter_mut().filter(|entry| keys.contains(&entry.key.text)) {
            entry.used = true;
        }
    }

    /// Returns the unused keys and all errors.
    pub(super) fn finish(self) -> (Vec<&'a str>, Vec<Diagnostic>) {
        let unused = self.entries.iter().filter(|entry| !entry.used).map(|entry| entry.key.text).collect();
        (unused, self.errors.into_list())
    }
}

pub(super) const SHARE: &str = "a number from 0 to 1";

pub(super) fn share(text: &str) -> Result<f64, &'static str> {
    let value = super::text::real(text)?;
    if value <= 1.0 { Ok(value) } else { Err("is out of range") }
}
