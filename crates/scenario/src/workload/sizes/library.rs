//! The embedded library of published size distributions.

use super::SizeTable;

/// Embeds `data/sizes/<name>.toml` for every name.
macro_rules! library {
    ($($name:literal,)+) => {
        /// Name and text of every table, in the order of `data/README.md`.
        pub const LIBRARY: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../../../data/sizes/", $name, ".toml")))),+];
    };
}

library! {
    "websearch-dctcp",
    "websearch-abm",
    "websearch-packets",
    "websearch-homa",
    "websearch-srcc",
    "datamining-vl2",
    "datamining-abm",
    "webserver-fb",
    "webserver-64k",
    "webserver-flb",
    "cache-fb",
    "cache-701k",
    "hadoop-fb",
    "hadoop-hpcc",
    "hadoop-srcc",
    "hadoop-flb",
    "alistorage",
    "solar2022",
    "memcached-etc",
    "google-searchrpc",
    "google-allrpc",
}

/// Returns the table called `name`.
pub fn library(name: &str) -> Option<SizeTable> {
    let (_, text) = LIBRARY.iter().find(|(known, _)| *known == name)?;
    Some(SizeTable::from_toml(text).expect("a test reads every table of the library"))
}
