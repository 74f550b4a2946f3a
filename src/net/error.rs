//! Why a worker's network could not be started, in words that say what to change.
use std::io;

/// The least kernel that has what the ring needs (IORING_SETUP_DEFER_TASKRUN).
pub const LEAST_KERNEL: (u32, u32) = (6, 1);

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(
        "io_uring is switched off by kernel.io_uring_disabled = {0}: \
         set it to 0 (sysctl -w kernel.io_uring_disabled=0)"
    )]
    Disabled(u8),
    #[error(
        "io_uring is refused although the kernel has it, as a container's seccomp profile does: \
         allow io_uring_setup, io_uring_enter and io_uring_register (Docker: --security-opt seccomp=...)"
    )]
    Forbidden,
    #[error("kernel {release} is too old: Linux {}.{} or newer is needed (io_uring: {what})", LEAST_KERNEL.0, LEAST_KERNEL.1)]
    KernelTooOld { release: String, what: &'static str },
    #[error("not enough memory for io_uring ({0}): raise the memlock limit (ulimit -l, LimitMEMLOCK=) or the container's memory")]
    Memory(io::Error),
    #[error("the network of this thread is already started")]
    AlreadyStarted,
    #[error("io_uring: {0}")]
    Other(#[from] io::Error),
}

impl StartError {
    pub(super) fn of_setup(error: io::Error) -> StartError {
        StartError::explain(error, disabled_sysctl(), &kernel_release(), "DEFER_TASKRUN")
    }

    pub(super) fn of_buffers(error: io::Error) -> StartError {
        StartError::explain(error, None, &kernel_release(), "provided buffer rings")
    }

    /// What an error of io_uring_setup or io_uring_register means on a machine like this.
    pub(super) fn explain(
        error: io::Error,
        disabled: Option<u8>,
        release: &str,
        what: &'static str,
    ) -> StartError {
        let old = parse_release(release).is_some_and(|version| version < LEAST_KERNEL);
        let too_old = || StartError::KernelTooOld {
            release: release.to_owned(),
            what,
        };
        match (error.raw_os_error(), disabled) {
            (Some(libc::EPERM), Some(value)) if value != 0 => StartError::Disabled(value),
            (Some(libc::ENOSYS | libc::EINVAL), _) if old => too_old(),
            (Some(libc::EPERM | libc::EACCES | libc::ENOSYS), _) => StartError::Forbidden,
            (Some(libc::ENOMEM), _) => StartError::Memory(error),
            (Some(libc::EINVAL), _) => too_old(),
            _ => StartError::Other(error),
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "procfs, at start-up only")]
fn disabled_sysctl() -> Option<u8> {
    std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled")
        .ok()?
        .trim()
        .parse()
        .ok()
}

#[allow(clippy::disallowed_methods, reason = "procfs, at start-up only")]
fn kernel_release() -> String {
    std::fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_or_else(|_| "?".to_owned(), |s| s.trim().to_owned())
}

fn parse_release(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}
