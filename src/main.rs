//! Arguments, start, signals, stop.
mod run;

use clap::{Args, Parser, Subcommand};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tracing_subscriber::filter::{EnvFilter, LevelFilter};
use umpire::config::{self, Config};
use umpire::import::{self, Imported};

/// What is in use counts, for SHOW MEMORY and the ceilings.
#[global_allocator]
static HEAP: umpire::net::Heap = umpire::net::Heap;

/// Exit code of a wrong command line or configuration.
const WRONG_INPUT: u8 = 2;

/// A MySQL proxy: one pinned io_uring executor per core, read/write splitting, connection
/// multiplexing.
#[derive(Parser)]
#[command(
    name = "umpire",
    version,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: Option<Run>,
}

#[derive(Args)]
struct Run {
    /// Run in the foreground with this configuration; logs go to stderr (RUST_LOG sets their level)
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

#[derive(Subcommand)]
enum Command {
    /// Validate a configuration; exits with 0 when it is right, with 2 and every error when not
    Check {
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Print the configuration of another proxy as one for Umpire; what it lacks goes to stderr, and exits with 1
    Import {
        #[arg(value_enum)]
        from: From,
        /// kingshard's ks.yaml; MyCat's folder with schema.xml, rule.xml and server.xml
        #[arg(value_name = "PATH")]
        path: PathBuf,
    },
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum From {
    Kingshard,
    Mycat,
}

fn main() -> ExitCode {
    umpire::net::keep_little();
    let arguments = Arguments::parse();
    match (arguments.command, arguments.run) {
        (Some(Command::Check { file }), _) => check(&file),
        (Some(Command::Import { from, path }), _) => print_import(match from {
            From::Kingshard => import::kingshard(&path),
            From::Mycat => import::mycat(&path),
        }),
        (None, Some(run)) => serve(&run.config),
        // clap shows its help before this is reached
        (None, None) => ExitCode::from(WRONG_INPUT),
    }
}

fn check(file: &Path) -> ExitCode {
    let examined = config::read(file);
    for warning in &examined.warnings {
        eprintln!("warning: {warning}");
    }
    match examined.result {
        Ok(config) => {
            println!("{}: ok ({})", file.display(), summary(&config));
            ExitCode::SUCCESS
        }
        Err(errors) => {
            eprintln!("{errors}");
            ExitCode::from(WRONG_INPUT)
        }
    }
}

fn print_import(imported: Result<Imported, String>) -> ExitCode {
    let imported = match imported {
        Ok(imported) => imported,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(WRONG_INPUT);
        }
    };
    for finding in &imported.findings {
        eprintln!("{finding}");
    }
    print!("{}", imported.text);
    if imported.lacks_something() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// "2 groups, 1 server, 3 users".
fn summary(config: &Config) -> String {
    let counted = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let servers = config.groups.iter().map(|group| group.servers.len()).sum();
    [
        (config.groups.len(), "group"),
        (servers, "server"),
        (config.users.len(), "user"),
    ]
    .map(|(n, what)| counted(n, what))
    .join(", ")
}

fn serve(file: &Path) -> ExitCode {
    log_to_stderr();
    match config::load(file) {
        Ok(config) => start(file, config),
        Err(errors) => {
            // not through the log, whose level may hide it
            eprintln!("{errors}");
            ExitCode::from(WRONG_INPUT)
        }
    }
}

fn log_to_stderr() {
    let filter = EnvFilter::builder()
        .with_default_directive(LevelFilter::INFO.into())
        .from_env_lossy();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}

/// Runs the proxy until it is told to stop.
fn start(config_path: &Path, config: Config) -> ExitCode {
    match run::run(config_path, config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("umpire: {why}");
            ExitCode::FAILURE
        }
    }
}
