//! Bytes in two pieces through the assembler: what comes out, framed again, is what went in.
#![no_main]

use libfuzzer_sys::fuzz_target;
use umpire::wire::packet::{frame, Assembler};

fuzz_target!(|data: &[u8]| {
    let [split, data @ ..] = data else { return };
    let (head, tail) = data.split_at(data.len().min(usize::from(*split)));
    let mut assembler = Assembler::new(1 << 20);
    let mut framed = Vec::new();
    for piece in [head, tail] {
        if assembler.push(piece).is_err() {
            return;
        }
        while let Some((sequence, payload)) = assembler.pop() {
            frame(&payload, sequence, &mut framed);
        }
    }
    framed.extend(assembler.rest());
    assert_eq!(framed, data);
});
