//! Hash of the sources that determine results. The build script and the tests share this file.

use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Adds the path and the content of every file below `folders` to `hasher`.
///
/// Paths start at `root`, so the hash is equal in every checkout. Editing, moving, renaming, adding
/// or removing a file changes the hash.
///
/// # Errors
///
/// If a folder does not exist or a file cannot be read.
pub(crate) fn hash_folders(root: &Path, folders: &[&str], hasher: &mut impl Hasher) -> io::Result<()> {
    for folder in folders {
        for file in files(&root.join(folder))? {
            file.strip_prefix(root).unwrap_or(&file).hash(hasher);
            fs::read(&file)?.hash(hasher);
        }
    }
    Ok(())
}

/// Returns all files below `folder`, sorted by name.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    entries.sort();
    let mut found = vec![];
    for entry in entries {
        if entry.is_dir() { found.extend(files(&entry)?) } else { found.push(entry) }
    }
    Ok(found)
}
