//! Sets the commit, the profile, and a hash of everything that results follow from.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where results come from, seen from this crate. A commit that touches none of it changes no result.
const SOURCES: [&str; 6] =
    ["../engine/src", "../fabric/src", "../scenario/src", "../columns/src", "../results/src", "../../data/sizes"];
/// The libraries that they are compiled with.
const LOCK: &str = "../../Cargo.lock";

fn main() {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".into());
    let mut hasher = DefaultHasher::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        files(Path::new(source)).iter().for_each(|file| (file, fs::read(file).ok()).hash(&mut hasher));
    }
    println!("cargo::rerun-if-changed={LOCK}");
    libraries(&fs::read_to_string(LOCK).unwrap_or_default()).hash(&mut hasher);
    println!("cargo::rustc-env=BACKWATER_COMMIT={commit}");
    println!("cargo::rustc-env=BACKWATER_PROFILE={}", profile().unwrap_or_default());
    println!("cargo::rustc-env=BACKWATER_SOURCE={:016x}", hasher.finish());
    println!("cargo::rerun-if-changed=build.rs");
    if let Some(head) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={head}");
    }
}

/// Name of the profile's folder: the variable `PROFILE` knows `debug` and `release` alone.
fn profile() -> Option<String> {
    let folder = PathBuf::from(std::env::var_os("OUT_DIR")?);
    // <profile>/build/<package>/out
    Some(folder.ancestors().nth(3)?.file_name()?.to_str()?.to_owned())
}

/// The files below a path in the order of their names, or the path itself if it is one.
fn files(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path) else { return vec![path.into()] };
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries.iter().flat_map(|entry| files(entry)).collect()
}

/// The locked packages that come from elsewhere. Those of the workspace are left out: a source distribution has fewer of
/// them, and a release gives them another version, and neither changes a result.
fn libraries(lock: &str) -> Vec<&str> {
    lock.split("[[package]]").filter(|package| package.contains("\nsource = ")).map(str::trim).collect()
}
