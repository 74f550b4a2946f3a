//! The reply tracker.
use super::with_capabilities;
use umpire::wire::expects_reply;
use umpire::wire::tracker::{Control, Step, Tracker};

/// A reply at once and in pieces: the same control packets, the same bytes passed, the same end.
/// Input: command, piece length, eight bytes of capabilities, the server's bytes.
pub fn tracker(data: &[u8]) {
    let [command, piece, data @ ..] = data else {
        return;
    };
    let Some((capabilities, reply)) = with_capabilities(data) else {
        return;
    };
    if !expects_reply(*command) {
        return;
    }
    let tracker = Tracker::new(*command, capabilities);
    let whole = follow(tracker.clone(), reply, reply.len());
    let pieces = follow(tracker, reply, usize::from(*piece).max(1));
    // in pieces, what precedes a broken packet is passed before it is refused, as it is at once
    assert_eq!(whole, pieces);
}

/// Control packets, bytes passed, and whether the reply was done, or was refused.
fn follow(mut tracker: Tracker, reply: &[u8], piece: usize) -> (Vec<Control>, usize, bool, bool) {
    let (mut at, mut have, mut passed) = (0, 0, 0);
    let mut controls = Vec::new();
    while at < reply.len() && !tracker.done() {
        if at == have {
            have = (have + piece).min(reply.len());
        }
        match tracker.step(&reply[at..have]) {
            Ok(Step::Pass(n)) => {
                assert!(n > 0 && at + n <= have);
                (at, passed) = (at + n, passed + n);
            }
            Ok(Step::Control { n, kind }) => {
                assert!(n > 4 && at + n <= have);
                at += n;
                controls.push(kind);
            }
            Ok(Step::OverLimit { .. }) => unreachable!("no limit is set"),
            Ok(Step::NeedMore) if have == reply.len() => break,
            Ok(Step::NeedMore) => have = (have + piece).min(reply.len()),
            Err(_) => return (controls, 0, false, true),
        }
    }
    (controls, passed, tracker.done(), false)
}
