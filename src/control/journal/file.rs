//! A file of lines that is begun anew when it is full.
use super::Trouble;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Lines are written together up to this many bytes.
const BUFFER: usize = 256 << 10;
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
            dropped: 0,
            trouble: Trouble::default(),
        }
    }

    pub fn is_at(&self, path: &Path) -> bool {
        self.path == path
    }

    pub fn with_limits(mut self, rotate_bytes: u64, keep: u32) -> RotatingFile {
        (self.rotate_bytes, self.keep) = (rotate_bytes, keep);
        self
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
