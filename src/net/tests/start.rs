use super::*;
use std::io;

fn explain(errno: i32, disabled: Option<u8>, release: &str) -> String {
    StartError::explain(
        io::Error::from_raw_os_error(errno),
        disabled,
        release,
        "DEFER_TASKRUN",
    )
    .to_string()
}

#[test]
fn a_ring_that_cannot_be_had_is_explained() {
    assert!(explain(libc::EPERM, Some(2), "6.8.0").contains("kernel.io_uring_disabled = 2"));
    assert!(explain(libc::EPERM, Some(0), "6.8.0").contains("seccomp"));
    assert!(explain(libc::EPERM, None, "6.8.0").contains("seccomp"));
    assert!(explain(libc::ENOSYS, None, "6.1.0-18-amd64").contains("seccomp"));
    assert!(explain(libc::EINVAL, Some(0), "5.15.0-91-generic").contains("Linux 6.1 or newer"));
    assert!(explain(libc::ENOSYS, None, "4.19.0").contains("kernel 4.19.0 is too old"));
    assert!(explain(libc::ENOMEM, Some(0), "6.8.0").contains("memlock"));
    assert!(explain(libc::EMFILE, Some(0), "6.8.0").contains("open files"));
}

#[test]
fn a_thread_has_one_network() {
    testing::run(|| async {
        assert!(matches!(
            start(NetConfig::default()),
            Err(StartError::AlreadyStarted)
        ));
    });
}

#[test]
fn a_number_of_buffers_that_is_no_power_of_two_is_refused() {
    let config = NetConfig {
        small_buffers: 100,
        ..NetConfig::default()
    };
    let refused = std::thread::spawn(move || start(config).err().map(|error| error.to_string()))
        .join()
        .unwrap();
    assert!(refused.unwrap().contains("power of two"));
}
