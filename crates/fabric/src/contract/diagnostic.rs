//! Diagnostics: errors and warnings of checks.

use crate::contract::options::SchemeContext;
use backwater_engine::Duration;
use std::fmt;

/// Severity of a [`Diagnostic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The scenario cannot run.
    Error,
    /// The scenario runs, but probably not as its author intends.
    Warning,
}

/// An error or a warning of a check. [`fmt::Display`] writes it as one line:
/// `scenario.toml:12:8: error: traffic[0].load = 1.7: must be at most 1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Severity.
    pub severity: Severity,
    /// Name of the file, or `--set`; `None` for data without a file.
    pub file: Option<String>,
    /// Line in the file, counted from 1.
    pub line: Option<u32>,
    /// Column in characters, counted from 1.
    pub column: Option<u32>,
    /// Dotted path of the option, such as `traffic[0].load`; empty for a whole file.
    pub path: String,
    /// The wrong value as the file writes it, if it is a single value.
    pub value: Option<String>,
    /// The value, if not in `value`, and the rule that it breaks.
    pub message: String,
    /// The remedy.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// Returns an error about the option at `path`, without a place in a file.
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

    /// Returns a warning about the option at `path`, without a place in a file.
    pub fn warning(path: impl Into<String>, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(path, message) }
    }

    /// Sets the wrong value.
    #[must_use]
    pub fn value(self, value: impl fmt::Display) -> Diagnostic {
        Diagnostic { value: Some(value.to_string()), ..self }
    }

    /// Sets the remedy.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Diagnostic {
        Diagnostic { hint: Some(hint.into()), ..self }
    }

    /// Proposes as the remedy the entry of `names` of which `word` is probably a misspelling.
    #[must_use]
    pub fn did_you_mean<'a>(self, word: &str, names: impl IntoIterator<Item = &'a str>) -> Diagnostic {
        match closest(word, names) {
            Some(name) => self.hint(format!("did you mean \"{name}\"?")),
            None => self,
        }
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

/// Returns the entry of `known` of which `word` is probably a misspelling: at most a third of the
/// letters are wrong, missing, surplus or swapped.
pub fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    closest_within(3, word, known)
}

/// Like [`closest`], but at most one letter in `share` letters may be wrong.
pub fn closest_within<'a>(share: usize, word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
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

/// Collects the diagnostics of a check. Paths and messages are formatted only for actual errors and
/// warnings.
#[derive(Debug, Default)]
pub struct Diagnostics {
    /// Path of the options under check. Paths of options are relative to this path.
    base: String,
    found: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Shortest period of a clock. Every tick costs run time: a tick of a probe costs a sample of
    /// the network, and a congestion control has ticks for every flow.
    pub const FINEST_CLOCK: Duration = Duration::from_ns(100);

    /// Returns an empty collection for the options at the path `base`.
    pub fn at(base: impl Into<String>) -> Diagnostics {
        Diagnostics { base: base.into(), found: Vec::new() }
    }

    fn path(&self, option: impl fmt::Display) -> String {
        let option = option.to_string();
        match (self.base.as_str(), option.as_str()) {
            ("", _) => option,
            (base, "") => base.into(),
            (base, _) => format!("{base}.{option}"),
        }
    }

    /// Adds an error about `option` if `wrong`.
    pub fn error(&mut self, wrong: bool, option: impl fmt::Display, message: impl fmt::Display) {
        if wrong {
            self.found.push(Diagnostic::error(self.path(option), message.to_string()));
        }
    }

    /// Adds a warning about `option` if `odd`.
    pub fn warning(&mut self, odd: bool, option: impl fmt::Display, message: impl fmt::Display) {
        if odd {
            self.found.push(Diagnostic::warning(self.path(option), message.to_string()));
        }
    }

    /// Adds an error about an option outside the mechanism, such as `host.ack_every`, if `wrong`.
    pub fn scenario_error(&mut self, wrong: bool, path: &str, message: impl fmt::Display) {
        if wrong {
            self.found.push(Diagnostic::error(path, message.to_string()));
        }
    }

    /// Adds a warning about an option outside the mechanism if `odd`.
    pub fn scenario_warning(&mut self, odd: bool, path: &str, message: impl fmt::Display) {
        if odd {
            self.found.push(Diagnostic::warning(path, message.to_string()));
        }
    }

    /// Adds diagnostics with complete paths.
    pub fn extend(&mut self, found: impl IntoIterator<Item = Diagnostic>) {
        self.found.extend(found);
    }

    /// Runs the check of a mechanism whose options are in `option` of this mechanism.
    pub fn within(&mut self, option: &str, check: impl FnOnce(&mut Diagnostics)) {
        let mut inner = Diagnostics::at(self.path(option));
        check(&mut inner);
        self.found.extend(inner.found);
    }

    /// Adds an error if `value` is zero.
    pub fn positive<T: Default + PartialEq>(&mut self, value: Option<T>, option: &str) {
        self.error(value == Some(T::default()), option, "must be greater than zero");
    }

    /// Adds an error if the first of two options is above the second, which is in the same table.
    pub fn ordered<T: PartialOrd + fmt::Display>(&mut self, [low, high]: [(&'static str, T); 2]) {
        let name = high.0.rsplit('.').next().unwrap_or(high.0);
        self.error(low.1 > high.1, low.0, format_args!("must be at most {name}, {}", high.1));
    }

    /// Adds an error if an interval is so short that its clock would dominate the run time.
    /// `or_zero` is the meaning of 0, if 0 is allowed.
    pub fn clock(&mut self, interval: Option<Duration>, option: &str, or_zero: Option<&str>) {
        let is_off = or_zero.is_some() && interval == Some(Duration::ZERO);
        let least = Diagnostics::FINEST_CLOCK;
        if !is_off && interval.is_some_and(|interval| interval < least) {
            let or_zero = or_zero.map_or(String::new(), |zero| format!(", or \"0 s\" {zero}"));
            let message = format_args!("must be at least {least}{or_zero}: shorter intervals slow the simulation down");
            self.error(true, option, message);
        }
    }

    /// Adds an error unless every packet is acknowledged. For congestion controls whose window can
    /// shrink to one packet.
    pub fn one_ack_per_packet(&mut self, scheme: &SchemeContext<'_>) {
        let name = scheme.congestion;
        let message =
            format_args!("must be 1: the window of {name} can shrink to one packet, for which no ACK would be sent");
        self.scenario_error(scheme.ack_every > 1, "host.ack_every", message);
    }

    /// Returns all diagnostics as errors, if there are any.
    ///
    /// # Errors
    /// All diagnostics.
    pub fn into_result(self) -> Result<(), Vec<Diagnostic>> {
        if self.found.is_empty() { Ok(()) } else { Err(self.found) }
    }

    /// Returns all diagnostics.
    pub fn into_vec(self) -> Vec<Diagnostic> {
        self.found
    }
}
