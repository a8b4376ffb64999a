//! Identity of a build: commit, profile and source hash.
//!
//! Libraries do not depend on it; programs and modules pass [`BUILD`] to [`backwater_results::Run::start`]. A commit therefore
//! rebuilds only what is linked last.

#![forbid(unsafe_code)]

use backwater_results::Build;

/// Sources that this program was built from.
pub const BUILD: Build = Build {
    version: env!("CARGO_PKG_VERSION"),
    commit: env!("BACKWATER_COMMIT"),
    profile: env!("BACKWATER_PROFILE"),
    source: env!("BACKWATER_SOURCE"),
};
