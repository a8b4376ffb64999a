//! Tables of reference runs.

use flate2::read::GzDecoder;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{Read, read_to_string};
use std::path::Path;

/// Reads a file of comma-separated numbers below a line of column names, compressed if its name
/// ends in `.gz`. An empty cell has no value.
pub(crate) fn table<T: DeserializeOwned>(path: &Path) -> Vec<T> {
    let file = File::open(path).unwrap();
    let is_compressed = path.extension().is_some_and(|extension| extension == "gz");
    let reader: Box<dyn Read> = if is_compressed { Box::new(GzDecoder::new(file)) } else { Box::new(file) };
    let text = read_to_string(reader).unwrap();
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let cells: Vec<Value> =
            line.split(',').map(|cell| if cell.is_empty() { Value::Null } else { cell.parse().unwrap() }).collect();
        assert_eq!(cells.len(), columns.len(), "{}: {line}", path.display());
        let fields: Map<String, Value> = columns.iter().map(|&name| name.to_owned()).zip(cells).collect();
        serde_json::from_value(fields.into()).unwrap()
    };
    lines.map(row).collect()
}
