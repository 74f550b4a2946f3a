//! Repeats one stage of a turn, for perf/callgrind.sh: `count STAGE TIMES`; without arguments it lists the stages.

mod ops;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [stage, times] = arguments.as_slice() else {
        for (name, _) in ops::all() {
            println!("{name}");
        }
        return;
    };
    let times: u64 = times.parse().expect("a number of times");
    let found = ops::all().into_iter().find(|(name, _)| name == stage);
    let (_, mut op) = found.expect("a stage of the list");
    for _ in 0..times {
        op();
    }
}
