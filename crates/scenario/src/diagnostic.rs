//! What is wrong with a scenario, and how to correct it: where, what, and what is allowed.

use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The scenario cannot run.
    Error,
    /// The scenario runs, and probably does not do what its author wants.
    Warning,
}

/// One finding about a scenario. [`fmt::Display`] writes it as one line:
/// `scenario.toml:12:8: error: traffic[0].load = 1.7: must be at most 1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The file it is in, or `--set`; none for a scenario that was made in Python.
    pub file: Option<String>,
    /// Line in the file, counted from 1.
    pub line: Option<u32>,
    /// Column in characters, counted from 1.
    pub column: Option<u32>,
    /// The field as a dotted path, `traffic[0].load`; empty for the file as a whole.
    pub path: String,
    /// The offending value as the file writes it, if it is a single one.
    pub value: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// An error at `path`, not yet placed in a file.
    pub fn error(path: impl Into<String>, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            file: None,
            line: None,
            column: None,
            path: path.into(),
            value: None,
            message: message.into(),
            hint: None,
        }
    }

    /// A warning at `path`, not yet placed in a file.
    pub fn warning(path: impl Into<String>, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(path, message) }
    }

    /// The same with the offending value.
    #[must_use]
    pub fn value(self, value: impl fmt::Display) -> Diagnostic {
        Diagnostic { value: Some(value.to_string()), ..self }
    }

    /// The same with advice.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Diagnostic {
        Diagnostic { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}:")?;
            if let (Some(line), Some(column)) = (self.line, self.column) {
                write!(f, "{line}:{column}:")?;
            }
            f.write_str(" ")?;
        }
        f.write_str(match self.severity {
            Severity::Error => "error: ",
            Severity::Warning => "warning: ",
        })?;
        match (self.path.as_str(), &self.value) {
            ("", _) => {}
            (path, None) => write!(f, "{path}: ")?,
            (path, Some(value)) => write!(f, "{path} = {value}: ")?,
        }
        f.write_str(&self.message)?;
        self.hint.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

impl std::error::Error for Diagnostic {}

/// The one of `known` that `word` is probably a misspelling of: at most a third of its letters wrong, missing, surplus or swapped.
pub fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    closest_within(3, word, known)
}

/// The same with at most one letter in `share` wrong.
fn closest_within<'a>(share: usize, word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 64;
    if word.len() > LONGEST {
        return None;
    }
    let word = word.to_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&word, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= name.chars().count() / share)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Proposes the one of `names` that `word` is probably a misspelling of.
pub fn did_you_mean<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    closest(word, names).map(|name| format!("did you mean \"{name}\"?"))
}

/// Lists the `known` names, and proposes the one that `word` is probably a misspelling of.
pub(crate) fn allowed_names(word: &str, known: &[&str]) -> String {
    advice(closest(word, known.iter().copied()), known)
}

/// The same for a unit: units are so short that half of the letters may be wrong.
pub(crate) fn unit_meant(word: &str, known: &[&str]) -> String {
    advice(closest_within(2, word, known.iter().copied()), known)
}

/// A number of things: "1 spine", "4 spines", "2 leaves".
pub(crate) fn counted<N: Copy + fmt::Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    match noun {
        _ if number == N::from(1u8) => format!("{number} {noun}"),
        "leaf" => format!("{number} leaves"),
        _ if noun.ends_with("ch") || noun.ends_with("ss") => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}

fn advice(meant: Option<&str>, known: &[&str]) -> String {
    let list = known.join(", ");
    match meant {
        Some(name) => format!("did you mean \"{name}\"? (allowed: {list})"),
        None => format!("allowed: {list}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_singular() {
        assert_eq!(counted(1u32, "spine"), "1 spine");
        assert_eq!(counted(0usize, "spine"), "0 spines");
        assert_eq!(counted(2u64, "leaf"), "2 leaves");
        assert_eq!(counted(1u32, "leaf"), "1 leaf");
        assert_eq!(counted(3u32, "core switch"), "3 core switches");
        assert_eq!(counted(7u32, "lossless class"), "7 lossless classes");
    }

    #[test]
    fn a_finding_reads_as_one_line() {
        let finding = Diagnostic::error("traffic[0].lod", "unknown key").hint("did you mean \"load\"?");
        assert_eq!(finding.to_string(), "error: traffic[0].lod: unknown key; did you mean \"load\"?");
        let finding = Diagnostic {
            file: Some("a.toml".into()),
            line: Some(3),
            column: Some(7),
            ..Diagnostic::warning("run.seed", "odd").value(7)
        };
        assert_eq!(finding.to_string(), "a.toml:3:7: warning: run.seed = 7: odd");
    }

    #[test]
    fn misspellings_find_their_word() {
        let known = ["pfc", "none", "go-back-n", "dcqcn", "leaf-spine"];
        for (word, meant) in [("pcf", "pfc"), ("DCQCN", "dcqcn"), ("gobackn", "go-back-n"), ("leaf_spin", "leaf-spine")]
        {
            assert_eq!(closest(word, known), Some(meant), "{word}");
        }
        assert_eq!(closest("warp-drive", known), None);
        assert_eq!(closest(&"x".repeat(10_000), known), None);
    }
}
