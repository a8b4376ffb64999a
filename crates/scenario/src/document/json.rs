//! Keys of a JSON text, with their lines.

use super::Lines;
use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

/// A key of a JSON text: its path of keys and indices, and its line, counted from 1.
pub type JsonKey = (Vec<String>, u32);

/// Returns all keys of a JSON text in the order of the text, including duplicate keys. Comments and
/// other extensions of JSON are accepted.
///
/// # Errors
/// If the text is not JSON, or has more than 512 nested brackets.
pub fn json_keys(text: &str) -> Result<Vec<JsonKey>, String> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let (lines, mut keys) = (Lines::of(text), Vec::new());
    if let Some(value) = parsed.map_err(|error| error.to_string())?.value {
        add_keys(&value, &lines, &mut Vec::new(), &mut keys);
    }
    Ok(keys)
}

/// Adds the keys of the value at `path`.
fn add_keys(value: &Value<'_>, lines: &Lines<'_>, path: &mut Vec<String>, keys: &mut Vec<JsonKey>) {
    match value {
        Value::Object(table) => {
            for entry in &table.properties {
                path.push(entry.name.as_str().into());
                keys.push((path.clone(), lines.line(entry.name.start())));
                add_keys(&entry.value, lines, path, keys);
                path.pop();
            }
        }
        Value::Array(list) => {
            for (i, item) in list.elements.iter().enumerate() {
                path.push(i.to_string());
                add_keys(item, lines, path, keys);
                path.pop();
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Result<Vec<(String, u32)>, String> {
        json_keys(text).map(|keys| keys.into_iter().map(|(path, line)| (path.join("|"), line)).collect())
    }

    #[test]
    fn keys_have_lines() {
        let text =
            "{\"a\":\n {\"b.c\": 1,\n\"\\u0064\"\n: \"{\\\"no\\\": 1}\"}, \"é\": [{\"a\": 1}, \n{\"a\": null}]\n}";
        let expected = [("a", 1), ("a|b.c", 2), ("a|d", 3), ("é", 4), ("é|0|a", 4), ("é|1|a", 5)];
        assert_eq!(keys(text).unwrap(), expected.map(|(path, line)| (path.to_owned(), line)));
        assert_eq!(keys("[]"), Ok(vec![]));
    }

    #[test]
    fn duplicate_keys_are_returned() {
        let expected = [("a", 1), ("a|b", 2), ("a|b", 3), ("a", 4)];
        assert_eq!(
            keys("{\"a\": {\n\"b\": 1,\n\"b\": 2},\n\"a\": 1}").unwrap(),
            expected.map(|(path, line)| (path.to_owned(), line))
        );
    }

    #[test]
    fn syntax_errors_have_places() {
        assert_eq!(
            keys("{\n\"a\" 1}"),
            Err("Expected colon after the string or word in object property on line 2 column 5".into())
        );
        assert!(keys("{\"a\": \"\\ud800\"}").is_err());
        assert!(keys(&"[".repeat(100_000)).is_err());
    }
}
