//! Schedules in GOAL, the language of LogGOPSim and ATLAHS.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//!   a: calc 1000 cpu 0
//!   b: send 4096b to 1 tag 7
//!   b requires a
//! }
//! rank 1 {
//!   recv 4096b from 0 tag 7
//! }
//! ```
//!
//! `requires` waits for the end of an operation, `irequires` for its start. The source and the tag
//! of a receive may be -1, for any. A computation takes nanoseconds, and runs on the stream that
//! `cpu` names. Messages do not occupy a stream: `cpu` and `nic` have no effect on them.

use crate::graph::{Graph, RankBuilder};
use crate::operation::{After, OperationIx, Rank, StreamIx};
use backwater_engine::{Duration, interrupt};
use rustc_hash::FxHashMap;

/// Error in a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoalError {
    /// Line, from 1.
    pub line: usize,
    /// Reason.
    pub message: String,
}

/// Largest number of nanoseconds of a computation: 100 days.
const LONGEST: u64 = 8_640_000_000_000_000;
/// Largest message in bytes, the largest size of a scenario.
const LARGEST: u64 = 1 << 40;

/// Words of a line that remain to be read.
struct Words<'a> {
    words: std::iter::Peekable<std::str::SplitAsciiWhitespace<'a>>,
}

impl<'a> Words<'a> {
    fn next(&mut self, what: &str) -> Result<&'a str, String> {
        self.words.next().ok_or_else(|| format!("ends where {what} is expected"))
    }

    /// Reads the word `word`.
    fn word(&mut self, word: &str) -> Result<(), String> {
        match self.next(&format!("`{word}`"))? {
            found if found == word => Ok(()),
            found => Err(format!("has {} where `{word}` is expected", quoted(found))),
        }
    }

    /// Reads the value of an option, if the option is next.
    fn option(&mut self, name: &str) -> Result<Option<&'a str>, String> {
        if self.words.next_if_eq(&name).is_none() {
            return Ok(None);
        }
        self.next(&format!("the value of `{name}`")).map(Some)
    }

    fn end(mut self) -> Result<(), String> {
        match self.words.next() {
            None => Ok(()),
            Some(word) => Err(format!("has {} where its end is expected", quoted(word))),
        }
    }
}

/// Returns a word in backticks, shortened.
fn quoted(word: &str) -> String {
    const MOST: usize = 40;
    match word.char_indices().nth(MOST) {
        Some((end, _)) => format!("`{}...`", &word[..end]),
        None => format!("`{word}`"),
    }
}

/// Reads a number from `least` to `most`.
fn number(word: &str, what: &str, least: u64, most: u64) -> Result<u64, String> {
    let value = word.parse().ok().filter(|value| (least..=most).contains(value));
    value.ok_or_else(|| {
        let word = quoted(word);
        format!("has {word} as {what}, which must be a whole number from {least} to {most}")
    })
}

/// Returns the bytes of a message: `4096b`.
fn bytes(word: &str) -> Result<u64, String> {
    let digits =
        word.strip_suffix('b').ok_or_else(|| format!("has the size {}, which must end with `b`", quoted(word)))?;
    number(digits, "a size", 1, LARGEST)
}

/// Rank under construction.
struct Block {
    rank: RankBuilder,
    labels: FxHashMap<String, OperationIx>,
}

impl Block {
    /// Reads an operation or a dependency.
    fn read(&mut self, line: &str, own: Rank, ranks: u32) -> Result<(), String> {
        let mut words = Words { words: line.split_ascii_whitespace().peekable() };
        let first = words.next("an operation")?;
        if let Some(label) = first.strip_suffix(':') {
            let is_label = label.starts_with(|c: char| c.is_ascii_alphabetic())
                && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if !is_label {
                return Err(format!("has the label {}, which must consist of letters, digits and `_`", quoted(label)));
            }
            let kind = words.next("an operation")?;
            let operation = self.operation(kind, words, own, ranks)?;
            return match self.labels.insert(label.to_owned(), operation) {
                None => Ok(()),
                Some(_) => Err(format!("defines the label {} again", quoted(label))),
            };
        }
        if ["send", "recv", "calc"].contains(&first) {
            return self.operation(first, words, own, ranks).map(|_| ());
        }
        let after = match words.next("`requires` or `irequires`")? {
            "requires" => After::End,
            "irequires" => After::Start,
            other => return Err(format!("has {}; expected an operation, `requires` or `irequires`", quoted(other))),
        };
        let on = words.next("a label")?;
        words.end()?;
        let labelled = |label: &str| {
            let found = self.labels.get(label).copied();
            found.ok_or_else(|| format!("names the label {}, which no earlier line of the rank defines", quoted(label)))
        };
        let (operation, on) = (labelled(first)?, labelled(on)?);
        self.rank.wait(operation, on, after);
        Ok(())
    }

    fn operation(&mut self, kind: &str, mut words: Words<'_>, own: Rank, ranks: u32) -> Result<OperationIx, String> {
        let peer = |word: &str| {
            let peer = Rank(number(word, "a rank", 0, u64::from(ranks) - 1)? as u32);
            if peer == own { Err("sends to its own rank, or receives from it".to_owned()) } else { Ok(peer) }
        };
        let tag = |word: &str| number(word, "a tag", 0, u64::from(u32::MAX) - 1).map(|tag| tag as u32);
        let stream = |words: &mut Words<'_>| -> Result<StreamIx, String> {
            let cpu = words.option("cpu")?.map(|word| number(word, "`cpu`", 0, 255)).transpose()?;
            words.option("nic")?.map(|word| number(word, "`nic`", 0, 255)).transpose()?;
            Ok(StreamIx(cpu.unwrap_or(0) as u8))
        };
        if self.rank.len() == RankBuilder::MOST {
            return Err("is one operation too many: a rank has fewer than 2^31 operations".to_owned());
        }
        let operation = match kind {
            "send" => {
                let bytes = bytes(words.next("a size")?)?;
                words.word("to")?;
                let to = peer(words.next("a rank")?)?;
                let tag = words.option("tag")?.map(tag).transpose()?;
                stream(&mut words)?;
                self.rank.send(to, bytes, tag.unwrap_or(0))
            }
            "recv" => {
                let bytes = bytes(words.next("a size")?)?;
                words.word("from")?;
                let from = match words.next("a rank")? {
                    "-1" => None,
                    word => Some(peer(word)?),
                };
                let tag = match words.option("tag")? {
                    Some("-1") => None,
                    Some(word) => Some(tag(word)?),
                    None => Some(0),
                };
                stream(&mut words)?;
                self.rank.receive(from, bytes, tag)
            }
            "calc" => {
                let length = number(words.next("a time")?, "a time in nanoseconds", 0, LONGEST)?;
                let stream = stream(&mut words)?;
                self.rank.compute(Duration::from_ns(length), stream)
            }
            other => {
                return Err(format!("has the operation {}; operations are `send`, `recv` and `calc`", quoted(other)));
            }
        };
        words.end().map_err(|error| format!("{error}; options are `tag`, `cpu` and `nic`, in this order"))?;
        Ok(operation)
    }
}

/// Returns the lines of a schedule with their numbers, from 1, without blank lines and comments.
fn statements(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_comment = false;
    // Windows may begin a file with a mark of the byte order.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1_usize..).zip(text.lines()).filter_map(move |(number, line)| {
        if number.is_multiple_of(1 << 12) {
            interrupt::check();
        }
        let mut line = line.trim();
        in_comment |= line.starts_with("/*");
        if in_comment {
            let (_, rest) = line.split_once("*/")?;
            (in_comment, line) = (false, rest.trim());
        }
        (!line.is_empty() && !line.starts_with("//")).then_some((number, line))
    })
}

/// Reads a schedule.
///
/// # Errors
/// The first error.
pub fn read(text: &str) -> Result<Graph, GoalError> {
    let mut ranks: Vec<RankBuilder> = Vec::new();
    let mut number_of_ranks = None;
    let mut block: Option<Block> = None;
    for (number_of_line, line) in statements(text) {
        let error = |message: String| GoalError { line: number_of_line, message };
        let Some(most) = number_of_ranks else {
            let mut words = Words { words: line.split_ascii_whitespace().peekable() };
            let read = |words: &mut Words<'_>| {
                words.word("num_ranks")?;
                number(words.next("a number")?, "the number of ranks", 1, u64::from(u32::MAX) - 1)
            };
            number_of_ranks = Some(read(&mut words).map_err(error)? as u32);
            words.end().map_err(error)?;
            continue;
        };
        let own = Rank(ranks.len() as u32);
        match (&mut block, line) {
            (Some(_), "}") => ranks.extend(block.take().map(|block| block.rank)),
            (Some(block), _) => block.read(line, own, most).map_err(error)?,
            (None, _) => {
                let header = format!("rank {} {{", own.0);
                let is_header = line.split_ascii_whitespace().eq(header.split_ascii_whitespace());
                if own.0 == most || !is_header {
                    let expected = if own.0 == most { "the end of the file".to_owned() } else { format!("`{header}`") };
                    return Err(error(format!("has {} where {expected} is expected", quoted(line))));
                }
                block = Some(Block { rank: RankBuilder::default(), labels: FxHashMap::default() });
            }
        }
    }
    let missing = if number_of_ranks.is_none() {
        Some("`num_ranks`".to_owned())
    } else if block.is_some() {
        Some("`}`".to_owned())
    } else {
        (number_of_ranks != Some(ranks.len() as u32)).then(|| format!("`rank {} {{`", ranks.len()))
    };
    match missing {
        Some(what) => Err(GoalError {
            line: text.lines().count().max(1),
            message: format!("ends the file, but {what} is missing"),
        }),
        None => Ok(Graph::new(ranks)),
    }
}

/// Returns the line, from 1, of an operation in a schedule that [`read`] accepts.
pub fn line_of(text: &str, rank: Rank, OperationIx(operation): OperationIx) -> Option<usize> {
    let header = format!("rank {} {{", rank.0);
    let is_header = |line: &str| line.split_ascii_whitespace().eq(header.split_ascii_whitespace());
    let is_operation = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        let kind = if first.ends_with(':') { words.next().unwrap_or_default() } else { first };
        ["send", "recv", "calc"].contains(&kind)
    };
    let lines = statements(text).skip_while(|(_, line)| !is_header(line));
    let mut operations = lines.filter(|(_, line)| is_operation(line));
    operations.nth(operation as usize).map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{Operation, Operations};

    const RING: &str = "// Two ranks.\nnum_ranks 2\n\nrank 0 {\n a: calc 1000 cpu 3\n b: send 4096b to 1 tag 7\n b \
        requires a\n recv 100b from -1 tag -1 nic 2\n}\n/* rank 1 {\n send 1b to 0 */\nrank 1 {\n recv 4096b \
        from 0 tag 7\n c: send 100b to 0\n c irequires c\n}\n";

    #[test]
    fn operations_and_dependencies_are_read() {
        let graph = read(&format!("\u{feff}{RING}")).unwrap_or_else(|error| panic!("{error:?}"));
        let get = |rank, operation| graph.get(Rank(rank), OperationIx(operation));
        let compute = Operation::Compute { length: Duration::from_us(1), stream: StreamIx(3) };
        assert_eq!(get(0, 0), compute);
        assert_eq!(get(0, 1), Operation::Send { to: Rank(1), bytes: 4096, tag: 7, channel: 0 });
        assert_eq!(get(0, 2), Operation::Receive { from: None, tag: None });
        assert_eq!(get(1, 0), Operation::Receive { from: Some(Rank(0)), tag: Some(7) });
        assert_eq!(get(1, 1), Operation::Send { to: Rank(0), bytes: 100, tag: 0, channel: 0 });
        assert_eq!([0, 1, 2].map(|operation| graph.prerequisites(Rank(0), OperationIx(operation))), [0, 1, 0]);
        assert_eq!([0, 1].map(|operation| graph.prerequisites(Rank(1), OperationIx(operation))), [0, 1]);
        assert_eq!(
            [(0, 1), (0, 2), (1, 1)].map(|(rank, operation)| { line_of(RING, Rank(rank), OperationIx(operation)) }),
            [Some(6), Some(8), Some(14)]
        );
    }

    #[test]
    fn errors_name_line_and_reason() {
        let head = "num_ranks 2\nrank 0 {\n";
        let cases = [
            ("", 1, "ends the file, but `num_ranks` is missing"),
            ("num_ranks 0", 1, "has `0` as the number of ranks, which must be a whole number from 1 to 4294967294"),
            ("num_ranks 2\nrank 1 {", 2, "has `rank 1 {` where `rank 0 {` is expected"),
            ("num_ranks 2\nrank 0 {\n}\n", 3, "ends the file, but `rank 1 {` is missing"),
            ("num_ranks 1\nrank 0 {\n}\nx", 4, "has `x` where the end of the file is expected"),
            ("send 4096 to 1", 3, "has the size `4096`, which must end with `b`"),
            ("send 0b to 1", 3, "has `0` as a size, which must be a whole number from 1 to 1099511627776"),
            ("send 1b to 2", 3, "has `2` as a rank, which must be a whole number from 0 to 1"),
            ("send 1b to 0", 3, "sends to its own rank, or receives from it"),
            ("send 1b from 1", 3, "has `from` where `to` is expected"),
            (
                "send 1b to 1 cpu 1 tag 2",
                3,
                "has `tag` where its end is expected; options are `tag`, `cpu` and `nic`, in this order",
            ),
            ("recv 1b from 1 tag", 3, "ends where the value of `tag` is expected"),
            (
                "calc 1.5",
                3,
                "has `1.5` as a time in nanoseconds, which must be a whole number from 0 to 8640000000000000",
            ),
            ("9a: calc 1", 3, "has the label `9a`, which must consist of letters, digits and `_`"),
            ("a: calc 1\na: calc 2", 4, "defines the label `a` again"),
            ("a: calc 1\na requires b", 4, "names the label `b`, which no earlier line of the rank defines"),
            ("a: calc 1\na needs a", 4, "has `needs`; expected an operation, `requires` or `irequires`"),
            ("a: calc 1\na requires a a", 4, "has `a` where its end is expected"),
            ("a: wait 1", 3, "has the operation `wait`; operations are `send`, `recv` and `calc`"),
        ];
        for (text, line, message) in cases {
            let text = if text.is_empty() || text.starts_with("num") {
                text.to_owned()
            } else {
                format!("{head}{text}\n}}\nrank 1 {{\n}}")
            };
            let expected = GoalError { line, message: message.to_owned() };
            assert_eq!(read(&text).err(), Some(expected), "{text}");
        }
    }
}
