//! Statement text, whole and cut, in both dialects.
#![no_main]

use libfuzzer_sys::fuzz_target;
use umpire::sniff::{digest, sniff, Dialect};

fuzz_target!(|data: &[u8]| {
    let dialects = [(false, 90_700), (true, 101_100)].map(|(mariadb, version)| Dialect {
        ansi_quotes: mariadb,
        no_backslash_escapes: !mariadb,
        mariadb,
        version,
    });
    for dialect in dialects {
        sniff(data, true, dialect);
        sniff(data, false, dialect);
        digest(data, dialect);
    }
});
