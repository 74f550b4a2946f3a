//! Random sessions: the same seed means the same script everywhere.
pub use crate::common::random::Random;
use crate::common::Login;
use crate::statements::*;
use umpire::wire::capabilities as cap;

/// Scripts that run at once, each with schemas of its own.
pub const LANES: u64 = 4;
const STEPS: u64 = 40;
/// Bytes of filler in large statements.
pub const FILLER: usize = 300_000;

#[derive(Debug, Clone)]
pub enum Step {
    Query(String),
    /// A command by its byte.
    Command(u8, Vec<u8>),
    Prepare(String),
    /// The statement prepared so many before the last one, with values made of the seed; with or without types.
    Execute {
        back: usize,
        seed: u64,
        types: bool,
        cursor: bool,
    },
    Fetch {
        back: usize,
        rows: u32,
    },
    LongData {
        back: usize,
        bytes: Vec<u8>,
    },
    CloseStatement {
        back: usize,
    },
    ResetStatement {
        back: usize,
    },
    ChangeUser,
}

impl Step {
    pub fn asks_for_counts(&self) -> bool {
        let Step::Query(sql) = self else { return false };
        sql.contains("ROW_COUNT()") || sql.contains("FOUND_ROWS()")
    }

    pub fn asks_about_the_last(&self) -> bool {
        let asks_warnings = |sql: &str| ASKS_WARNINGS.contains(&sql);
        self.asks_for_counts() || matches!(self, Step::Query(sql) if asks_warnings(sql))
    }

    pub fn shown(&self) -> String {
        let text = format!("{self:?}");
        text.replace(&"x".repeat(FILLER), "x…")
    }
}

/// How a client leaves.
#[derive(Debug, Clone, Copy)]
pub enum Leave {
    Quit,
    Vanish,
    VanishInStatement,
}

#[derive(Debug)]
pub struct Script {
    pub login: Login,
    pub steps: Vec<Step>,
    pub leave: Leave,
    /// See [`Words`].
    pub one_kind: bool,
}

/// What the servers' makers call things.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    pub isolation: &'static str,
    pub in_transaction: &'static str,
    /// The server keeps what a statement's parameters were before: each is of one kind, or NULL, for a whole session
    /// (docs/compatibility.md says what is different otherwise). Other sessions have others.
    pub one_kind: bool,
}

/// The script of this seed; the lane follows from it.
pub fn script(seed: u64, words: Words) -> Script {
    let mut writer = Writer {
        random: Random(seed),
        lane: seed % LANES,
        // these may be served by replicas: their user writes nothing, in no session
        harmless: seed / LANES % 3 == 0,
        words,
    };
    writer.script()
}

/// A client that changes session_track_* after it has prepared a statement: docs/compatibility.md says what is different then.
fn leave_out_tracking(steps: &mut [Step]) {
    let mut prepared = false;
    for step in steps {
        match step {
            Step::Prepare(_) => prepared = true,
            Step::Command(0x1f, _) | Step::ChangeUser => prepared = false,
            Step::Query(sql) if prepared && sets_tracking(sql) => *sql = "DO 1".into(),
            _ => {}
        }
    }
}

fn sets_tracking(sql: &str) -> bool {
    sql.starts_with("SET ") && sql.contains("session_track")
}

struct Writer {
    random: Random,
    lane: u64,
    harmless: bool,
    words: Words,
}

impl Writer {
    fn script(&mut self) -> Script {
        let mut login = Login::default().schema(Some(&format!("d{}", self.lane)));
        if self.harmless {
            login = login.user("app2", "app2pw");
        }
        for flag in [
            cap::MULTI_STATEMENTS,
            cap::DEPRECATE_EOF,
            cap::FOUND_ROWS,
            cap::SESSION_TRACK,
        ] {
            if self.random.below(3) == 0 {
                login = login.with(flag);
            }
        }
        let mut steps = Vec::new();
        for _ in 0..self.random.below(STEPS) + 5 {
            if self.random.below(12) == 0 {
                self.ask_about_the_last(&mut steps);
            } else {
                let step = self.step();
                steps.push(step);
            }
        }
        leave_out_tracking(&mut steps);
        let leaves = [Leave::Quit, Leave::Vanish, Leave::VanishInStatement];
        Script {
            login,
            steps,
            leave: leaves[self.random.below(3) as usize],
            one_kind: self.words.one_kind,
        }
    }

    /// A statement and a question about it. After others the counts are whatever a server's version makes of them, and
    /// MariaDB keeps warnings until a statement uses a table.
    fn ask_about_the_last(&mut self, steps: &mut Vec<Step>) {
        let (first, ask): (&[&str], &[&str]) = match self.random.below(3) {
            0 => (&BEFORE_WARNINGS, &ASKS_WARNINGS),
            1 if !self.harmless => (&BEFORE_COUNT, &ASKS_COUNT),
            _ => (&BEFORE_FOUND, &ASKS_FOUND),
        };
        // what Umpire answered itself, an EXECUTE without types, is in no server's list, where MariaDB would still find it
        let own = |step: &Step| matches!(step, Step::Execute { types: false, .. });
        if steps.iter().any(own) {
            steps.push(Step::Query("SELECT id FROM fixed LIMIT 1".into()));
        }
        for from in [first, ask] {
            steps.push(Step::Query(self.random.pick(from).into()));
        }
    }

    fn step(&mut self) -> Step {
        let back = self.random.below(4) as usize;
        match self.random.below(100) {
            0..=6 => {
                let writing = !self.harmless && self.random.below(2) == 0;
                let from: &[&str] = if writing {
                    &PREPARED_WRITING
                } else {
                    &PREPARED
                };
                Step::Prepare(self.random.pick(from).into())
            }
            7..=19 => Step::Execute {
                back,
                seed: self.random.next(),
                types: self.random.below(3) < 2,
                cursor: self.random.below(5) == 0,
            },
            20 => Step::CloseStatement { back },
            21 => Step::ResetStatement { back },
            22 => Step::Command(0x1f, Vec::new()),
            23 => Step::ChangeUser,
            24 => Step::Command(0x02, format!("d{}", self.lane).into_bytes()),
            25 => Step::Command(0x0e, Vec::new()),
            26 => Step::Command(0x1b, vec![self.random.below(2) as u8, 0]),
            27 => Step::Command(0x04, b"fixed\0".to_vec()),
            28 => self.large(),
            29..=30 => Step::Fetch {
                back,
                rows: self.random.below(4) as u32,
            },
            31 => Step::LongData {
                back,
                bytes: vec![b'l'; self.random.below(40) as usize],
            },
            _ => self.statement(),
        }
    }

    fn large(&mut self) -> Step {
        let texts: &[&str] = if self.harmless { &LARGE[..1] } else { &LARGE };
        Step::Query(self.random.pick(texts).replace('#', &"x".repeat(FILLER)))
    }

    fn statement(&mut self) -> Step {
        let writing = if self.harmless { 0 } else { WRITING.len() };
        let at = self.random.below((HARMLESS.len() + writing) as u64) as usize;
        let family = match at.checked_sub(HARMLESS.len()) {
            Some(at) => WRITING[at],
            None => HARMLESS[at],
        };
        let sql = self.random.pick(family);
        let number = (self.random.below(8) + 1).to_string();
        Step::Query(
            sql.replace("$isolation", self.words.isolation)
                .replace("$in_transaction", self.words.in_transaction)
                .replace("$d", &format!("d{}", self.lane))
                .replace("$e", &format!("e{}", self.lane))
                .replace("$n", &self.lane.to_string())
                .replace("$i", &number),
        )
    }
}
