//! Effective values of buffer policies' options.

use crate::contract::Site;
use crate::contract::need::worst_case;
use backwater_engine::Bytes;
use serde_json::{Value, json};

/// Returns the distance below the threshold at which a paused queue resumes: `set`, or two full
/// frames.
pub(super) fn resume_offset(set: Option<Bytes>, site: &Site<'_>) -> u64 {
    set.map_or(2 * site.sizes.largest_charge(), Bytes::get)
}

/// Returns the headroom of a lossless queue at every port of `site`: `set`, or the worst case of
/// each port's link.
pub(super) fn per_port(set: Option<Bytes>, site: &Site<'_>) -> Vec<u64> {
    site.ports.iter().map(|port| set.map_or_else(|| worst_case(site, port), Bytes::get)).collect()
}

/// Returns the effective value `bytes` of an option at a switch's ports.
pub(super) fn effective_values(option: &'static str, bytes: Vec<u64>) -> (&'static str, Vec<Value>) {
    (option, bytes.into_iter().map(|bytes| json!(Bytes(bytes))).collect())
}

/// Returns the effective distance below the threshold at which a paused queue resumes, by port.
pub(super) fn offset(option: &'static str, set: Option<Bytes>, site: &Site<'_>) -> (&'static str, Vec<Value>) {
    effective_values(option, vec![resume_offset(set, site); site.ports.len()])
}
