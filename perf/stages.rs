//! What the pure stages of a turn cost: `cargo bench --bench stages`.

mod ops;

use divan::Bencher;

fn main() {
    divan::main();
}

#[divan::bench(args = ops::all().into_iter().map(|(name, _)| name))]
fn stage(bencher: Bencher<'_, '_>, name: &str) {
    let found = ops::all().into_iter().find(|(known, _)| *known == name);
    let (_, op) = found.expect("a name of the list");
    bencher.bench_local(op);
}
