//! Sets the commit, the profile and the source hash of a build.

#[path = "src/source.rs"]
mod source;

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folder that contains all crates and their data.
const ROOT: &str = "../..";
/// Folders below [`ROOT`] that determine the results of a run. Stored results remain valid if a
/// commit changes only other files.
const SOURCES: [&str; 7] = [
    "crates/engine/src",
    "crates/fabric/src",
    "crates/jobs/src",
    "crates/scenario/src",
    "crates/columns/src",
    "crates/runner/src",
    "data/sizes",
];
/// Locked versions of the libraries of other projects.
const LOCK: &str = "../../Cargo.lock";

fn main() -> io::Result<()> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".into());
    let mut hasher = DefaultHasher::new();
    source::hash_folders(Path::new(ROOT), &SOURCES, &mut hasher)?;
    libraries(&fs::read_to_string(LOCK).unwrap_or_default()).hash(&mut hasher);
    println!("cargo::rustc-env=BACKWATER_COMMIT={commit}");
    println!("cargo::rustc-env=BACKWATER_PROFILE={}", profile().unwrap_or_default());
    println!("cargo::rustc-env=BACKWATER_SOURCE={:016x}", hasher.finish());
    for path in SOURCES.map(|folder| format!("{ROOT}/{folder}")) {
        println!("cargo::rerun-if-changed={path}");
    }
    println!("cargo::rerun-if-changed={LOCK}");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/source.rs");
    if let Some(head) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={head}");
    }
    Ok(())
}

/// Returns the name of the profile's folder. The variable `PROFILE` cannot be used, because it is
/// always `debug` or `release`.
fn profile() -> Option<String> {
    let folder = PathBuf::from(std::env::var_os("OUT_DIR")?);
    // The path ends with <profile>/build/<package>/out.
    Some(folder.ancestors().nth(3)?.file_name()?.to_str()?.to_owned())
}

/// Returns the locked packages of other projects. Packages of the workspace are excluded: a source
/// distribution omits some of them and a release changes their version, but neither changes a
/// result.
fn libraries(lock: &str) -> Vec<&str> {
    lock.split("[[package]]").filter(|package| package.contains("\nsource = ")).map(str::trim).collect()
}
