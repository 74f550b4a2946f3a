//! See `checks`.
#![no_main]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::reply(data));
