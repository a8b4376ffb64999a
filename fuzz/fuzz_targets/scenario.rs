//! Scenario parser: any text results in a scenario or in a list of errors, without a panic. A
//! resolved scenario can be read again.
#![no_main]

use backwater_scenario::{Document, Scenario};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // A comment in the first line may contain an assignment, as for `--set`.
    let assignment = text.lines().next().and_then(|line| line.strip_prefix("#!"));
    let Ok(mut document) = Document::from_toml("fuzz.toml", text) else { return };
    if let Some(assignment) = assignment {
        let _ = document.set(assignment);
    }
    match Scenario::from_document(&document) {
        Ok(scenario) => {
            let resolved = scenario.resolved().expect("a file names no custom mechanism");
            let again =
                Scenario::from_document(&Document::from_json(&resolved)).expect("a resolved scenario is a scenario");
            assert_eq!(again.resolved().expect("a file names no custom mechanism"), resolved);
        }
        Err(errors) => {
            for error in errors {
                assert!(!error.to_string().is_empty());
            }
        }
    }
});
