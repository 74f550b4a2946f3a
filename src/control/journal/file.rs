//! A file of lines that is begun anew when it is full.
use super::Trouble;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Lines are written together up to this many bytes.
const BUFFER: usize = 256 << 10;
/// How often it is looked whether the file is still the one at its path.
const LOOK: Duration = Duration::from_secs(1);
/// After a failure.
const RETRY: Duration = Duration::from_millis(500);

/// `path`, `path.1` (the last full one), `path.2` …
pub(super) struct RotatingFile {
    path: PathBuf,
    rotate_bytes: u64,
    keep: u32,
    file: Option<File>,
    size: u64,
    buffer: Vec<u8>,
    retry_at: Option<Instant>,
    looked_at: Instant,
    /// Lines that were dropped since the file could last be written.
    dropped: u64,
    trouble: Trouble,
}

impl RotatingFile {
    pub fn new(path: PathBuf, rotate_bytes: u64, keep: u32) -> RotatingFile {
        RotatingFile {
            path,
            rotate_bytes,
            keep,
            file: None,
            size: 0,
            buffer: Vec::new(),
            retry_at: None,
            looked_at: Instant::now(),
            dropped: 0,
            trouble: Trouble::default(),
        }
    }

    /// The file that takes another one's place, which may be the same. What that could not write yet goes to it.
    pub fn after(old: Option<RotatingFile>, path: PathBuf, bytes: u64, keep: u32) -> RotatingFile {
        let Some(mut old) = old else {
            return RotatingFile::new(path, bytes, keep);
        };
        (old.rotate_bytes, old.keep) = (bytes, keep);
        if old.path != path {
            old.retry_at = None;
            old.flush();
            old.file = None;
            old.retry_at = None;
            old.path = path;
        }
        old
    }

    /// It is no longer configured.
    pub fn close(mut self) {
        self.retry_at = None;
        self.flush();
        if !self.is_flushed() {
            let (bytes, file) = (self.buffer.len(), self.path.display());
            tracing::error!(bytes, %file, "audit: the last lines could not be written");
        }
    }

    pub fn is_flushed(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Whether lines can be added that will not be dropped.
    pub fn is_writable(&mut self) -> bool {
        if self.buffer.len() >= BUFFER {
            self.flush();
        }
        self.buffer.len() < BUFFER
    }

    /// A line with its end. Dropped when earlier ones cannot be written.
    pub fn append(&mut self, line: &[u8]) {
        if self.is_writable() {
            self.buffer.extend_from_slice(line);
        } else {
            self.dropped += 1;
        }
    }

    /// Writes what is buffered, if that can be.
    pub fn flush(&mut self) {
        if self.buffer.is_empty() || self.retry_at.is_some_and(|at| Instant::now() < at) {
            return;
        }
        match self.write() {
            Ok(()) => {
                self.retry_at = None;
                self.trouble.over("its file is written");
                let dropped = std::mem::take(&mut self.dropped);
                if dropped > 0 {
                    tracing::warn!(dropped, file = %self.path.display(), "records were not written");
                }
            }
            Err(cause) => {
                self.file = None;
                self.retry_at = Some(Instant::now() + RETRY);
                let what = format!("{} cannot be written", self.path.display());
                self.trouble.met(&what, &cause);
            }
        }
    }

    fn write(&mut self) -> std::io::Result<()> {
        if self.looked_at.elapsed() >= LOOK {
            self.looked_at = Instant::now();
            self.notice_move();
        }
        if self.size >= self.rotate_bytes && self.file.is_some() {
            self.rotate()?;
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let file = OpenOptions::new()
                    .create(true)
                    .append(true)
                    .mode(0o600)
                    .open(&self.path)?;
                self.size = file.metadata()?.len();
                self.file.insert(file)
            }
        };
        // what a failed write has left unwritten goes out with the next one
        while !self.buffer.is_empty() {
            let written = file.write(&self.buffer)?;
            self.buffer.drain(..written);
            self.size += written as u64;
        }
        Ok(())
    }

    /// Somebody else renamed or removed the file (logrotate does): what comes now belongs to a new one.
    fn notice_move(&mut self) {
        let Some(file) = &self.file else { return };
        let mine = file.metadata().map(|of| (of.dev(), of.ino()));
        let there = std::fs::metadata(&self.path).map(|of| (of.dev(), of.ino()));
        if mine.ok() != there.ok() {
            self.file = None;
        }
    }

    fn rotate(&mut self) -> std::io::Result<()> {
        self.file = None;
        let numbered = |n: u32| {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".{n}"));
            PathBuf::from(name)
        };
        if self.keep == 0 {
            return std::fs::remove_file(&self.path);
        }
        for n in (1..self.keep).rev() {
            let from = numbered(n);
            if from.exists() {
                std::fs::rename(from, numbered(n + 1))?;
            }
        }
        std::fs::rename(&self.path, numbered(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_is_renamed_and_only_so_many_old_ones_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        let mut file = RotatingFile::new(path.clone(), 10, 2);
        for n in 0..5 {
            file.append(format!("line number {n}\n").as_bytes());
            file.flush();
        }
        let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).ok();
        assert_eq!(read("audit.log").as_deref(), Some("line number 4\n"));
        assert_eq!(read("audit.log.1").as_deref(), Some("line number 3\n"));
        assert_eq!(read("audit.log.2").as_deref(), Some("line number 2\n"));
        assert_eq!(read("audit.log.3"), None);
        // goes on where another process stopped
        let mut again = RotatingFile::new(path, 1000, 2);
        again.append(b"more\n");
        again.flush();
        assert_eq!(read("audit.log").as_deref(), Some("line number 4\nmore\n"));
    }

    #[test]
    fn a_file_that_was_moved_or_removed_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
        let mut file = RotatingFile::new(path.clone(), 1000, 2);
        let mut write = |line: &[u8]| {
            file.looked_at = Instant::now().checked_sub(LOOK).unwrap();
            file.append(line);
            file.flush();
        };
        write(b"one\n");
        std::fs::rename(&path, dir.path().join("moved")).unwrap();
        write(b"two\n");
        assert_eq!(
            (read("moved"), read("audit.log")),
            ("one\n".into(), "two\n".into())
        );
        std::fs::remove_file(&path).unwrap();
        write(b"three\n");
        write(b"four\n");
        assert_eq!(read("audit.log"), "three\nfour\n");
    }

    #[test]
    fn lines_that_could_not_be_written_go_to_the_file_that_takes_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = RotatingFile::new(dir.path().join("no such folder/audit.log"), 1000, 2);
        file.append(b"kept\n");
        file.flush();
        assert!(!file.is_flushed());
        let path = dir.path().join("audit.log");
        let mut file = RotatingFile::after(Some(file), path.clone(), 1000, 2);
        file.append(b"more\n");
        file.flush();
        assert!(file.is_flushed());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "kept\nmore\n");
        // what could be written stays where it was
        let other = dir.path().join("other.log");
        let mut file = RotatingFile::after(Some(file), other.clone(), 1000, 2);
        file.append(b"new\n");
        file.close();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "kept\nmore\n");
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "new\n");
    }

    #[test]
    fn lines_wait_for_a_file_that_cannot_be_opened() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("later");
        let mut file = RotatingFile::new(folder.join("audit.log"), 1000, 2);
        file.append(b"kept\n");
        file.flush();
        assert!(file.is_writable(), "there is room for more");
        std::fs::create_dir(&folder).unwrap();
        file.retry_at = None;
        file.flush();
        let text = std::fs::read_to_string(folder.join("audit.log")).unwrap();
        assert_eq!(text, "kept\n");
    }
}
