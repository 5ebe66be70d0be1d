use super::*;

const STAT: &str = "\
cpu  10 20 30 40 50 60 70 80 0 0
cpu0 1 2 3 4 5 6 7 8 0 0
cpu2 1 2 3 4 5 6 7 18 9 9
cpu3 1 2 3
intr 4567 8 9
ctxt 123 4 5 6 7 8 9 10
";

#[test]
fn each_cpu_has_its_own_number_and_the_sum_has_none() {
    let found: Vec<_> = ticks(STAT).collect();
    // Idle time and waits for a disk are nobody's.
    assert_eq!(found, [(0, 1 + 2 + 3 + 6 + 7, 8), (2, 1 + 2 + 3 + 6 + 7, 18)]);
    assert_eq!(ticks("").count(), 0);
}

#[test]
fn only_the_cpus_of_workers_are_looked_at() {
    let mut all = Vec::new();
    Steal::new(Vec::new()).look(&mut all);
    let cpu = |record: &Record| match record {
        Record::CpuSample(sample) => sample.cpu,
        other => panic!("{other:?}"),
    };
    let all: Vec<_> = all.iter().map(cpu).collect();
    assert!((1..=MOST).contains(&all.len()), "{all:?}");
    let last = *all.last().expect("a CPU");
    let mut one = Vec::new();
    Steal::new(vec![last as usize]).look(&mut one);
    assert_eq!(one.iter().map(cpu).collect::<Vec<_>>(), [last]);
}
