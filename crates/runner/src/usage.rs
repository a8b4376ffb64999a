//! What this process has cost so far.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::fs;

/// CPU time, user and system, in seconds; 0 where the system does not tell.
pub fn cpu_seconds() -> f64 {
    getrusage(UsageWho::RUSAGE_SELF)
        .map_or(0.0, |usage| (usage.user_time() + usage.system_time()).num_microseconds() as f64 * 1e-6)
}

/// Largest resident set, in bytes; 0 where the system does not tell.
pub fn peak_rss_bytes() -> u64 {
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    // Linux hands the maximum of `getrusage` on to a program from the one that started it.
    status("VmHWM:")
        .unwrap_or_else(|| getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| usage.max_rss() as u64 * unit))
}

/// A size in the status of this process, in bytes; `None` where the system keeps none.
fn status(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let size = status.lines().find_map(|line| line.strip_prefix(name))?;
    size.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// The resident set of this process at some instant, against which it grows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Footprint {
    before: u64,
}

impl Footprint {
    /// From now on.
    pub(crate) fn start() -> Footprint {
        // Forgets the maximum so far, where the system allows it; otherwise memory that was given back before counts as ours.
        let _ = fs::write("/proc/self/clear_refs", "5");
        Footprint { before: status("VmRSS:").unwrap_or(0) }
    }

    /// By how much the resident set has grown, at most.
    pub(crate) fn growth(&self) -> u64 {
        peak_rss_bytes().saturating_sub(self.before)
    }
}
