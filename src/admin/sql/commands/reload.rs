//! RELOAD.

use crate::admin::sql::answer::Answer;
use crate::control::Handle;
use crate::wire::error;

pub async fn run(handle: &Handle) -> Answer {
    match handle.reload().await {
        Ok(done) => Answer::Done(done),
        Err(why) => {
            let what = format!("nothing was changed: {why}; correct the file and RELOAD again");
            Answer::Refused(error::own(&what))
        }
    }
}
