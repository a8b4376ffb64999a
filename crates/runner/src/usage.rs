//! Resource usage of the process.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::fs;

/// Returns the CPU time, user and system, in seconds. 0 if the system does not report it.
pub fn cpu_seconds() -> f64 {
    getrusage(UsageWho::RUSAGE_SELF)
        .map_or(0.0, |usage| (usage.user_time() + usage.system_time()).num_microseconds() as f64 * 1e-6)
}

/// Returns the peak resident set in bytes. 0 if the system does not report it.
pub fn peak_rss_bytes() -> u64 {
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    // On Linux, a program inherits the maximum of `getrusage` from its parent.
    status("VmHWM:")
        .unwrap_or_else(|| getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| usage.max_rss() as u64 * unit))
}

/// Returns a size from the process status, in bytes. `None` if the system does not report it.
fn status(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let size = status.lines().find_map(|line| line.strip_prefix(name))?;
    size.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Resident set of the process at the start of a measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResidentSet {
    before: u64,
}

impl ResidentSet {
    /// Starts a measurement. `included` bytes of the current resident set count as growth.
    pub(crate) fn start(included: u64) -> ResidentSet {
        // Resets the peak, if the system permits. Otherwise memory that was freed earlier also
        // counts.
        let _ = fs::write("/proc/self/clear_refs", "5");
        ResidentSet { before: status("VmRSS:").unwrap_or(0).saturating_sub(included) }
    }

    /// Returns the growth of the peak resident set.
    pub(crate) fn growth(&self) -> u64 {
        peak_rss_bytes().saturating_sub(self.before)
    }
}
