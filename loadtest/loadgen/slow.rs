//! A client that reads its result at a fixed rate, or stops.

use crate::engine::Settings;
use crate::protocol::{command, Answer, End, Login, Walker, QUERY};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const STEP: Duration = Duration::from_millis(20);

pub fn read(settings: &Settings, bytes_per_second: f64, seconds: f64) -> io::Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", settings.port))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut buffer = vec![0; 1 << 20];
    let mut login = Login::default();
    let mut received = 0;
    loop {
        match login.feed(&buffer[..received], &settings.account) {
            Answer::Wait => {}
            Answer::Send(bytes) => stream.write_all(&bytes)?,
            Answer::LoggedIn => break,
            Answer::Failed(why) => return Err(io::Error::other(why)),
        }
        received = stream.read(&mut buffer)?;
    }
    stream.write_all(&command(QUERY, settings.query.as_bytes()))?;
    let start = Instant::now();
    let mut walker = Walker::new(QUERY);
    let (mut total, mut ended) = (0u64, None);
    while ended.is_none() && start.elapsed().as_secs_f64() < seconds {
        let allowed = (start.elapsed().as_secs_f64() * bytes_per_second) as u64;
        if total >= allowed {
            std::thread::sleep(STEP);
            continue;
        }
        let most = buffer.len().min((allowed - total) as usize);
        let n = stream.read(&mut buffer[..most])?;
        if n == 0 {
            ended = Some(End::Failed("closed by the peer".into()));
        } else {
            total += n as u64;
            ended = walker.feed(&buffer[..n]);
        }
    }
    let how = match ended {
        None => "not at the end".into(),
        Some(End::Ok) => "whole".into(),
        Some(End::Failed(why)) => why,
    };
    println!(
        "{{\"event\": \"result\", \"seconds\": {:.3}, \"bytes\": {total}, \"ended\": {how:?}}}",
        start.elapsed().as_secs_f64()
    );
    Ok(())
}
