//! Identity of a build: commit, profile and source hash.
//!
//! Only programs and Python modules depend on this crate, and pass [`BUILD`] to
//! [`backwater_runner::Run::start`]. Therefore no library is rebuilt after a commit.

#![forbid(unsafe_code)]

use backwater_runner::Build;

#[cfg(test)]
mod source;

/// Sources of this program.
pub const BUILD: Build = Build {
    version: env!("CARGO_PKG_VERSION"),
    commit: env!("BACKWATER_COMMIT"),
    profile: env!("BACKWATER_PROFILE"),
    source: env!("BACKWATER_SOURCE"),
};

#[cfg(test)]
mod tests {
    use super::source::hash_folders;
    use std::collections::hash_map::DefaultHasher;
    use std::fs;
    use std::hash::Hasher;
    use std::path::Path;
    use temp_dir::TempDir;

    fn hash(root: &Path) -> u64 {
        let mut hasher = DefaultHasher::new();
        hash_folders(root, &["model", "runner"], &mut hasher).expect("folders exist");
        hasher.finish()
    }

    /// Returns a tree with the files `model/port/queue.rs` and `runner/run.rs`.
    fn tree() -> TempDir {
        let tree = TempDir::new().expect("a temporary folder");
        for (file, text) in [("model/port/queue.rs", "struct Queue;"), ("runner/run.rs", "struct Run;")] {
            let path = tree.path().join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("created");
            fs::write(path, text).expect("written");
        }
        tree
    }

    #[test]
    fn equal_trees_have_equal_hashes() {
        assert_eq!(hash(tree().path()), hash(tree().path()));
    }

    #[test]
    fn moving_renaming_editing_adding_or_removing_a_file_changes_the_hash() {
        let original = hash(tree().path());
        let changed = |change: &dyn Fn(&Path)| {
            let tree = tree();
            change(tree.path());
            hash(tree.path()) != original
        };
        let rename = |from: &'static str, to: &'static str| {
            move |root: &Path| fs::rename(root.join(from), root.join(to)).expect("renamed")
        };
        assert!(changed(&rename("model/port/queue.rs", "model/port/queues.rs")));
        assert!(changed(&rename("model/port/queue.rs", "model/queue.rs")));
        assert!(changed(&rename("model/port/queue.rs", "runner/queue.rs")));
        assert!(changed(&rename("model/port", "model/ports")));
        assert!(changed(&|root| fs::write(root.join("runner/run.rs"), "struct Run;\n").expect("written")));
        assert!(changed(&|root| fs::write(root.join("runner/new.rs"), "").expect("written")));
        assert!(changed(&|root| fs::remove_file(root.join("runner/run.rs")).expect("removed")));
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        let tree = tree();
        fs::rename(tree.path().join("runner"), tree.path().join("runs")).expect("renamed");
        assert!(hash_folders(tree.path(), &["runner"], &mut DefaultHasher::new()).is_err());
    }
}
