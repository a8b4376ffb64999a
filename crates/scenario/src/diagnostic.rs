//! Wording of diagnostics.

pub use backwater_fabric::contract::diagnostic::{Diagnostic, Severity, closest};

use backwater_fabric::contract::diagnostic::closest_within;
use std::fmt;

/// Lists the `known` names, and proposes the name of which `word` is probably a misspelling.
pub(crate) fn allowed_names(word: &str, known: &[&str]) -> String {
    advice(closest(word, known.iter().copied()), known)
}

/// Like [`allowed_names`], for units. Units are short, so up to half of the letters may be wrong.
pub(crate) fn unit_meant(word: &str, known: &[&str]) -> String {
    advice(closest_within(2, word, known.iter().copied()), known)
}

/// Returns a number with its noun: "1 spine", "4 spines", "2 leaves".
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
    fn a_diagnostic_is_one_line() {
        let diagnostic = Diagnostic::error("traffic[0].lod", "unknown key").hint("did you mean \"load\"?");
        assert_eq!(diagnostic.to_string(), "error: traffic[0].lod: unknown key; did you mean \"load\"?");
        let diagnostic = Diagnostic {
            file: Some("a.toml".into()),
            line: Some(3),
            column: Some(7),
            ..Diagnostic::warning("run.seed", "odd").value(7)
        };
        assert_eq!(diagnostic.to_string(), "a.toml:3:7: warning: run.seed = 7: odd");
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
