//! The save files of MySQLDA, `date time object library` and, one file a class, `date time related-object object`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "read at start, before anybody waits"
)]
use super::{shown, Libraries, MAX_OBJECT};
use std::fs;
use std::path::{Path, PathBuf};

impl Libraries {
    /// Takes over what such files say and is not known yet: `NAME.save` for objects, `NAME.CLASS.save` beside it for each
    /// class. `known`: the configured libraries. On the disk when it returns.
    ///
    /// # Errors
    /// A file cannot be read, has a wrong line, or contradicts what is known; with file and line.
    pub fn take_over(&mut self, file: &Path, known: &[String]) -> Result<(), String> {
        for (at, words) in lines(file)? {
            let [object, library] = &words[..] else {
                continue;
            };
            let library = String::from_utf8_lossy(library).into_owned();
            let wrong = |why: String| format!("{}:{at}: {why}", file.display());
            if !known.contains(&library) {
                return Err(wrong(format!("library '{library}' is not configured")));
            }
            match self.library_of(object) {
                Some(same) if same == library => continue,
                Some(other) => {
                    return Err(wrong(format!(
                        "object '{}' belongs to library '{other}' already",
                        shown(object)
                    )))
                }
                None => {}
            }
            let fact = super::Fact::Object {
                object: object.as_slice().into(),
                library,
            };
            self.note(fact).map_err(wrong)?;
        }
        for (class, file) in classes(file)? {
            for (at, words) in lines(&file)? {
                if let [object, core] = &words[..] {
                    self.relate(class.as_bytes(), object, core)
                        .map_err(|why| format!("{}:{at}: {why}", file.display()))?;
                }
            }
        }
        self.flush()
    }
}

/// The third and fourth word of each line, with its number.
type Lines = Vec<(usize, Vec<Vec<u8>>)>;

fn lines(file: &Path) -> Result<Lines, String> {
    let text = fs::read(file).map_err(|cause| format!("{}: {cause}", file.display()))?;
    let mut lines = Lines::new();
    for (at, line) in text.split(|b| *b == b'\n').enumerate() {
        let words: Vec<&[u8]> = line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
            .collect();
        match words[..] {
            [] => {}
            [_, _, a, b] if a.len() <= MAX_OBJECT && b.len() <= MAX_OBJECT => {
                lines.push((at + 1, vec![a.to_vec(), b.to_vec()]));
            }
            _ => {
                return Err(format!(
                    "{}:{}: expected date, time and two names of up to {MAX_OBJECT} bytes",
                    file.display(),
                    at + 1
                ))
            }
        }
    }
    Ok(lines)
}

/// Class and file of each `NAME.CLASS.save` beside `NAME.save`.
fn classes(file: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let wrong = |cause: std::io::Error| format!("{}: {cause}", folder.display());
    let Some(stem) = file.file_stem().and_then(|stem| stem.to_str()) else {
        return Ok(Vec::new());
    };
    let mut classes = Vec::new();
    for entry in fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let class = name
            .and_then(|name| {
                name.strip_prefix(stem)?
                    .strip_prefix('.')?
                    .strip_suffix(".save")
            })
            .filter(|class| !class.is_empty());
        if let Some(class) = class {
            classes.push((class.to_owned(), path.clone()));
        }
    }
    classes.sort();
    Ok(classes)
}
