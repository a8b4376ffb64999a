//! Files that survive a full disk, with checksums.
//!
//! A run reserves disk space. When a file cannot be written, its content stays in memory and the
//! run stops. The reserve is then released, and the files are completed. Checksums cover the bytes
//! that the run wrote, not the bytes on the disk.

#[cfg(target_os = "linux")]
use nix::fcntl::{FallocateFlags, fallocate};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Size of the reserve. It must hold the contents of all tables that are in memory when the disk is
/// full, the footers of tables, and the summary.
const RESERVE: u64 = 16 << 20;

/// Checksum of a file, to detect damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FileSum {
    /// Length in bytes.
    pub bytes: u64,
    /// CRC-32 of the content, as in zip and zlib.
    pub crc32: u32,
}

impl FileSum {
    pub(crate) fn of(content: &[u8]) -> FileSum {
        FileSum { bytes: content.len() as u64, crc32: crc32fast::hash(content) }
    }
}

/// Reserved disk space, released on drop.
#[derive(Debug)]
pub(crate) struct Reserve(PathBuf);

impl Reserve {
    /// Reserves space in `directory`.
    ///
    /// # Errors
    ///
    /// If the disk lacks the space.
    pub(crate) fn take(directory: &Path) -> io::Result<Reserve> {
        let reserve = Reserve(directory.join(".reserve"));
        occupy(&mut File::create(&reserve.0)?)?;
        Ok(reserve)
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        // If the removal fails, no space is released, and the next write reports the error.
        let _ = fs::remove_file(&self.0);
    }
}

/// Allocates the reserve's space. On file systems without fast allocation, zeros are written, which
/// fails if the disk is full.
fn occupy(file: &mut File) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if fallocate(&*file, FallocateFlags::empty(), 0, RESERVE as i64).is_ok() {
        return Ok(());
    }
    io::copy(&mut io::Read::take(io::repeat(0), RESERVE), file).map(drop)
}

/// File that keeps in memory the bytes that the disk rejects.
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

    /// Returns the first write error.
    pub(crate) fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// Writes the kept bytes and returns the checksum of all bytes.
    ///
    /// # Errors
    ///
    /// If the disk still rejects these bytes.
    pub(crate) fn settle(mut self) -> io::Result<(W, FileSum)> {
        self.file.write_all(&self.kept)?;
        self.file.flush()?;
        Ok((self.file, FileSum { bytes: self.bytes, crc32: self.hasher.finalize() }))
    }
}

impl<W: Write> Write for Keeper<W> {
    /// Never returns an error; [`Keeper::failure`] does.
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

    /// Disk with limited room.
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
    fn rejected_bytes_are_written_when_there_is_room() {
        let room = Rc::new(Cell::new(10));
        let mut keeper = Keeper::new(Disk { room: room.clone(), written: Vec::new() });
        keeper.write_all(b"eight by").unwrap();
        assert!(keeper.failure().is_none());
        keeper.write_all(b"tes and more").unwrap();
        assert_eq!(keeper.failure().map(io::Error::kind), Some(ErrorKind::StorageFull));
        // Bytes must stay in order even if space becomes free later.
        room.set(3);
        keeper.write_all(b" still").unwrap();
        room.set(100);
        let (disk, sum) = keeper.settle().unwrap();
        assert_eq!(disk.written, b"eight bytes and more still");
        assert_eq!(sum, FileSum::of(&disk.written));
    }

    #[test]
    fn settling_without_room_is_an_error() {
        let mut keeper = Keeper::new(Disk::default());
        keeper.write_all(b"anything").unwrap();
        assert_eq!(keeper.settle().err().map(|error| error.kind()), Some(ErrorKind::StorageFull));
    }

    #[test]
    fn the_reserve_occupies_space_until_dropped() {
        let directory = TempDir::new().unwrap();
        let reserve = Reserve::take(directory.path()).unwrap();
        let held: u64 =
            fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
        assert_eq!(held, RESERVE);
        drop(reserve);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
