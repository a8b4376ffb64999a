//! What this process has cost so far.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// CPU time, user and system, in seconds; 0 where the system does not tell.
pub fn cpu_seconds() -> f64 {
    getrusage(UsageWho::RUSAGE_SELF)
        .map_or(0.0, |usage| (usage.user_time() + usage.system_time()).num_microseconds() as f64 * 1e-6)
}

/// Largest resident set, in bytes; 0 where the system does not tell.
#[cfg(target_os = "linux")]
pub fn peak_rss_bytes() -> u64 {
    // Not `getrusage`, whose maximum includes that of the program which started this one.
    let peak_kib = |status: String| {
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        peak.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    std::fs::read_to_string("/proc/self/status").ok().and_then(peak_kib).unwrap_or(0) * 1024
}

/// Largest resident set, in bytes; 0 where the system does not tell.
#[cfg(not(target_os = "linux"))]
pub fn peak_rss_bytes() -> u64 {
    // macOS counts bytes, others KiB.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| usage.max_rss() as u64 * unit)
}
