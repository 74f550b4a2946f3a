//! The files of the store. Each is written anew beside the old one, flushed to the disk and put in its place, so that at
//! every moment one whole version is there.
//!
//! `ids.toml`: for each table the least id that was never given out. `rules.toml`: the rules that came with CREATE TABLE.
//! `job-N.toml`: one job that is not done.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the store has a thread of its own, which may block"
)]
use super::job::Job;
use super::rule::{Rule, RuleChange};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

/// Why something could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{file}: {cause}")]
    File { file: String, cause: io::Error },
    #[error("{file} cannot be read: {why}; it is never changed by hand")]
    Content { file: String, why: String },
    #[error("{0} is in use by another process: one folder belongs to one Umpire")]
    InUse(String),
    /// Ids are counted in 63 bits.
    #[error("the ids of {0} are used up")]
    UsedUp(String),
    #[error("there is another rule for {0} already, which came with its CREATE TABLE")]
    OtherRule(String),
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Ids {
    /// By table: the least id that was never given out.
    next: BTreeMap<String, u64>,
    /// The number of the next job.
    next_job: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Rules {
    #[serde(default, rename = "rule")]
    list: Vec<Rule>,
}

/// One folder, open.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    ids: Ids,
    jobs: BTreeMap<u64, Job>,
    rules: Vec<Rule>,
    /// Jobs that somebody of this process runs now.
    claimed: BTreeSet<u64>,
    _lock: UnixListener,
}

impl Store {
    /// Makes the folder if it is not there.
    ///
    /// # Errors
    /// It cannot be made or read, is another process's, or has a file that is not the store's.
    pub fn open(folder: &Path) -> Result<Store, StoreError> {
        fs::create_dir_all(folder).map_err(at(folder))?;
        let lock = lock(folder)?;
        let ids: Ids = match read(&folder.join("ids.toml"))? {
            Some(text) => parse(&folder.join("ids.toml"), &text)?,
            None => Ids {
                next_job: 1,
                ..Ids::default()
            },
        };
        let rules: Rules = match read(&folder.join("rules.toml"))? {
            Some(text) => parse(&folder.join("rules.toml"), &text)?,
            None => Rules::default(),
        };
        let mut jobs = BTreeMap::new();
        for entry in fs::read_dir(folder).map_err(at(folder))? {
            let path = entry.map_err(at(folder))?.path();
            let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
            let is_job = name.is_some_and(|n| n.starts_with("job-") && n.ends_with(".toml"));
            if let Some(text) = is_job.then(|| read(&path)).transpose()?.flatten() {
                let job: Job = parse(&path, &text)?;
                jobs.insert(job.id, job);
            }
        }
        Ok(Store {
            folder: folder.to_owned(),
            ids,
            jobs,
            rules: rules.list,
            claimed: BTreeSet::new(),
            _lock: lock,
        })
    }

    /// `count` ids that nobody has had, none below `floor`; the first of them. None: no id of the table was ever given
    /// out, and without a floor it is not known where to begin.
    ///
    /// # Errors
    /// They could not be kept, or there are no more.
    pub fn take_ids(
        &mut self,
        table: &str,
        count: u64,
        floor: Option<u64>,
    ) -> Result<Option<u64>, StoreError> {
        let known = self.ids.next.get(table).copied();
        let Some(first) = known.max(floor) else {
            return Ok(None);
        };
        let first = first.max(1);
        let next = first
            .checked_add(count)
            .filter(|n| i64::try_from(*n).is_ok());
        let next = next.ok_or_else(|| StoreError::UsedUp(table.to_owned()))?;
        let before = self.ids.next.insert(table.to_owned(), next);
        if let Err(error) = self.write_ids() {
            match before {
                Some(before) => self.ids.next.insert(table.to_owned(), before),
                None => self.ids.next.remove(table),
            };
            return Err(error);
        }
        Ok(Some(first))
    }

    /// Keeps a new job, which is claimed, with the rule that it adds; its number. A rule that is there already is not
    /// the job's.
    ///
    /// # Errors
    /// It could not be kept, or there is another rule.
    pub fn begin(&mut self, mut job: Job) -> Result<u64, StoreError> {
        if let Some(new) = job.added().cloned() {
            match self.rules.iter().find(|rule| rule.is_of(&new.table)) {
                Some(rule) if *rule == new => job.rules.clear(),
                Some(rule) => return Err(StoreError::OtherRule(rule.table.clone())),
                None => {}
            }
        }
        job.id = self.ids.next_job;
        self.ids.next_job += 1;
        self.write_ids()?;
        if let Some(new) = job.added() {
            let rules = self.rules.iter().chain([new]).cloned().collect();
            self.set_rules(rules)?;
        }
        if let Err(error) = self.write_job(&job) {
            if let Some(new) = job.added() {
                self.drop_rule(&new.table)?;
            }
            return Err(error);
        }
        let id = job.id;
        self.jobs.insert(id, job);
        self.claimed.insert(id);
        Ok(id)
    }

    /// What is known of a job has changed. One that is done goes, and what becomes of its rule with it happens first.
    ///
    /// # Errors
    /// It could not be kept.
    pub fn note(&mut self, mut job: Job) -> Result<(), StoreError> {
        if let Some(known) = self.jobs.get(&job.id) {
            job.rules.clone_from(&known.rules);
        }
        if job.is_done() {
            for change in &job.rules {
                match change {
                    RuleChange::Adds(_) => {}
                    RuleChange::Drops(table) => self.drop_rule(table)?,
                    RuleChange::Renames { from, to } => self.rename_rule(from, to)?,
                }
            }
            let file = self.job_file(job.id);
            fs::remove_file(&file).map_err(at(&file))?;
            self.jobs.remove(&job.id);
            return self.flush_folder();
        }
        self.write_job(&job)?;
        self.jobs.insert(job.id, job);
        Ok(())
    }

    /// Those that came with CREATE TABLE.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    fn drop_rule(&mut self, table: &str) -> Result<(), StoreError> {
        let left: Vec<Rule> = self
            .rules
            .iter()
            .filter(|rule| !rule.is_of(table))
            .cloned()
            .collect();
        match left.len() == self.rules.len() {
            true => Ok(()),
            false => self.set_rules(left),
        }
    }

    /// Ids first: were it to end in between, the new name would begin where the old one is.
    fn rename_rule(&mut self, from: &str, to: &Rule) -> Result<(), StoreError> {
        if let Some(next) = self.ids.next.get(from).copied() {
            let known = self.ids.next.get(&to.table).copied();
            self.ids
                .next
                .insert(to.table.clone(), next.max(known.unwrap_or(0)));
            self.write_ids()?;
        }
        let others = self
            .rules
            .iter()
            .filter(|rule| !rule.is_of(from) && !rule.is_of(&to.table));
        let rules = others.chain([to]).cloned().collect();
        self.set_rules(rules)
    }

    fn set_rules(&mut self, list: Vec<Rule>) -> Result<(), StoreError> {
        let rules = Rules { list };
        let text = toml::to_string(&rules).map_err(|e| content("rules.toml", &e))?;
        self.write("rules.toml", &text)?;
        self.rules = rules.list;
        Ok(())
    }

    /// Those that are not done.
    pub fn jobs(&self) -> Vec<Job> {
        self.jobs.values().cloned().collect()
    }

    /// A job for one who will run what it lacks; nobody else gets it until it is released.
    ///
    /// # Errors
    /// There is none, or it is running; in words.
    pub fn claim(&mut self, id: u64) -> Result<Job, String> {
        let job = self
            .jobs
            .get(&id)
            .ok_or_else(|| format!("there is no job {id}"))?;
        if !self.claimed.insert(id) {
            return Err(format!("job {id} is running"));
        }
        Ok(job.clone())
    }

    pub fn release(&mut self, id: u64) {
        self.claimed.remove(&id);
    }

    pub fn is_claimed(&self, id: u64) -> bool {
        self.claimed.contains(&id)
    }

    /// A job is given up: nothing of it is undone. Where nothing has happened, the rule that it added goes.
    ///
    /// # Errors
    /// Its file could not be removed.
    pub fn forget(&mut self, id: u64) -> Result<bool, StoreError> {
        let Some(job) = self.jobs.get(&id) else {
            return Ok(false);
        };
        if let (Some(rule), true) = (job.added().cloned(), job.is_untouched()) {
            self.drop_rule(&rule.table)?;
        }
        self.jobs.remove(&id);
        let file = self.job_file(id);
        fs::remove_file(&file).map_err(at(&file))?;
        self.flush_folder()?;
        Ok(true)
    }

    fn job_file(&self, id: u64) -> PathBuf {
        self.folder.join(format!("job-{id}.toml"))
    }

    fn write_ids(&self) -> Result<(), StoreError> {
        let text = toml::to_string(&self.ids);
        let text = text.map_err(|e| content("ids.toml", &e))?;
        self.write("ids.toml", &text)
    }

    fn write_job(&self, job: &Job) -> Result<(), StoreError> {
        let name = format!("job-{}.toml", job.id);
        let text = toml::to_string(job).map_err(|e| content(&name, &e))?;
        self.write(&name, &text)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), StoreError> {
        let (new, file) = (
            self.folder.join(format!("{name}.new")),
            self.folder.join(name),
        );
        let written = File::create(&new).and_then(|mut out| {
            out.write_all(text.as_bytes())?;
            out.sync_all()
        });
        written.map_err(at(&new))?;
        fs::rename(&new, &file).map_err(at(&file))?;
        self.flush_folder()
    }

    fn flush_folder(&self) -> Result<(), StoreError> {
        let folder = File::open(&self.folder).and_then(|f| f.sync_all());
        folder.map_err(at(&self.folder))
    }
}

/// The folder is this process's for as long as the socket lives. Its name is an abstract one, which goes with the process
/// however that ends.
fn lock(folder: &Path) -> Result<UnixListener, StoreError> {
    let of = fs::metadata(folder).map_err(at(folder))?;
    let name = format!("umpire-store-{}-{}", of.dev(), of.ino());
    let bound = SocketAddr::from_abstract_name(name.as_bytes())
        .and_then(|address| UnixListener::bind_addr(&address));
    bound.map_err(|cause| match cause.kind() {
        io::ErrorKind::AddrInUse => StoreError::InUse(folder.display().to_string()),
        _ => at(folder)(cause),
    })
}

fn at(file: &Path) -> impl Fn(io::Error) -> StoreError + '_ {
    move |cause| StoreError::File {
        file: file.display().to_string(),
        cause,
    }
}

fn content(file: &str, why: &dyn std::fmt::Display) -> StoreError {
    StoreError::Content {
        file: file.to_owned(),
        why: why.to_string(),
    }
}

fn read(file: &Path) -> Result<Option<String>, StoreError> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(at(file)(cause)),
    }
}

fn parse<T: for<'d> Deserialize<'d>>(file: &Path, text: &str) -> Result<T, StoreError> {
    toml::from_str(text).map_err(|e| content(&file.display().to_string(), &e))
}
