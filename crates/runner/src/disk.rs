//! Files that stay whole when the disk is full, and tell when they are damaged.
//!
//! A run reserves some disk space. When a file cannot be written any more, what belongs in it stays in memory, the run stops,
//! the reserve is given back, and the files are completed with it. Checksums are of what was to be written, not of what the disk made of it.

#[cfg(target_os = "linux")]
use nix::fcntl::{FallocateFlags, fallocate};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Bytes held in reserve: what all tables may have in memory when the disk is full, their footers, and the summary.
const RESERVE: u64 = 16 << 20;

/// What was written to a file: enough to notice later that it is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FileSum {
    /// Length in bytes.
    pub bytes: u64,
    /// CRC-32 of the content, that of zip and zlib.
    pub crc32: u32,
}

impl FileSum {
    pub(crate) fn of(content: &[u8]) -> FileSum {
        FileSum { bytes: content.len() as u64, crc32: crc32fast::hash(content) }
    }
}

/// Reserved disk space.
#[derive(Debug)]
pub(crate) struct Reserve(PathBuf);

impl Reserve {
    /// Takes the reserve in `directory`.
    ///
    /// # Errors
    /// There is not that much room.
    pub(crate) fn take(directory: &Path) -> io::Result<Reserve> {
        let reserve = Reserve(directory.join(".reserve"));
        occupy(&mut File::create(&reserve.0)?)?;
        Ok(reserve)
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        // Where it cannot be removed, the space is missing, and the write that needs it fails.
        let _ = fs::remove_file(&self.0);
    }
}

/// Gives `file` the reserve's space. Where the file system cannot do that at once, zeros are written, and it is an error if there is no space.
fn occupy(file: &mut File) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if fallocate(&*file, FallocateFlags::empty(), 0, RESERVE as i64).is_ok() {
        return Ok(());
    }
    io::copy(&mut io::Read::take(io::repeat(0), RESERVE), file).map(drop)
}

/// A file, or its substitute, that keeps in memory what it cannot take.
#[derive(Debug)]
pub(crate) struct Keeper<W> {
    file: W,
    kept: Vec<u8>,
    failure: Option<io::Error>,
    bytes: u64,
    hasher: crc32fast::Hasher,
}

impl<W: Write> Keeper<W> {
    pub(crate) fn new(file: W) -> Keeper<W> {
        Keeper { file, kept: Vec::new(), failure: None, bytes: 0, hasher: crc32fast::Hasher::new() }
    }

    /// Why the file could not take everything, if it could not.
    pub(crate) fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// Writes what was kept, and says what has been written in all.
    ///
    /// # Errors
    /// There is still no room.
    pub(crate) fn settle(mut self) -> io::Result<(W, FileSum)> {
        self.file.write_all(&self.kept)?;
        self.file.flush()?;
        Ok((self.file, FileSum { bytes: self.bytes, crc32: self.hasher.finalize() }))
    }
}

impl<W: Write> Write for Keeper<W> {
    /// Never fails: [`Keeper::failure`] tells.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut taken = 0;
        if self.failure.is_none() {
            match self.file.write(bytes) {
                Ok(0) if !bytes.is_empty() => self.failure = Some(ErrorKind::WriteZero.into()),
                Err(error) if error.kind() != ErrorKind::Interrupted => self.failure = Some(error),
                other => taken = other?,
            }
        }
        if self.failure.is_some() {
            self.kept.extend_from_slice(bytes);
            taken = bytes.len();
        }
        self.bytes += taken as u64;
        self.hasher.update(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;
    use temp_dir::TempDir;

    /// A disk with so much room left.
    #[derive(Clone, Default)]
    struct Disk {
        room: Rc<Cell<usize>>,
        written: Vec<u8>,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.room.get());
            if taken == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            self.room.set(self.room.get() - taken);
            self.written.extend_from_slice(&bytes[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_does_not_fit_is_kept_and_written_once_there_is_room() {
        let room = Rc::new(Cell::new(10));
        let mut keeper = Keeper::new(Disk { room: room.clone(), written: Vec::new() });
        keeper.write_all(b"eight by").unwrap();
        assert!(keeper.failure().is_none());
        keeper.write_all(b"tes and more").unwrap();
        assert_eq!(keeper.failure().map(io::Error::kind), Some(ErrorKind::StorageFull));
        // Room that comes back too early changes nothing about the order.
        room.set(3);
        keeper.write_all(b" still").unwrap();
        room.set(100);
        let (disk, sum) = keeper.settle().unwrap();
        assert_eq!(disk.written, b"eight bytes and more still");
        assert_eq!(sum, FileSum::of(&disk.written));
    }

    #[test]
    fn without_room_for_what_is_kept_the_file_is_not_complete() {
        let mut keeper = Keeper::new(Disk::default());
        keeper.write_all(b"anything").unwrap();
        assert_eq!(keeper.settle().err().map(|error| error.kind()), Some(ErrorKind::StorageFull));
    }

    #[test]
    fn the_reserve_takes_room_while_it_lives() {
        let directory = TempDir::new().unwrap();
        let reserve = Reserve::take(directory.path()).unwrap();
        let held: u64 =
            fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
        assert_eq!(held, RESERVE);
        drop(reserve);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
