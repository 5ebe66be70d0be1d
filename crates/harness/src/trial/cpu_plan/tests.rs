use super::*;

fn plan(allowed: &[usize], workers: u32, pin: &Pin) -> (Vec<usize>, Vec<usize>) {
    let plan = CpuPlan::new(allowed, workers, pin).expect("a plan");
    (CpuPlan::numbers(plan.workers.as_ref()), CpuPlan::numbers(plan.load.as_ref()))
}

#[test]
fn one_cpu_is_shared() {
    assert_eq!(plan(&[3], 2, &Pin::Auto), (vec![3], vec![3]));
}

#[test]
fn on_two_the_workers_have_the_first() {
    assert_eq!(plan(&[0, 1], 2, &Pin::Auto), (vec![0], vec![1]));
    assert_eq!(plan(&[4, 6], 1, &Pin::Auto), (vec![4], vec![6]));
}

#[test]
fn on_more_every_worker_has_one_and_a_third_is_left() {
    assert_eq!(plan(&[0, 1, 2], 2, &Pin::Auto), (vec![0, 1], vec![2]));
    assert_eq!(plan(&[0, 1, 2, 3], 2, &Pin::Auto), (vec![0, 1], vec![2, 3]));
    assert_eq!(plan(&[0, 1, 2, 3], 4, &Pin::Auto), (vec![0, 1], vec![2, 3]));
    assert_eq!(
        plan(&[0, 1, 2, 3, 4, 5, 6, 7], 64, &Pin::Auto),
        (vec![0, 1, 2, 3, 4], vec![5, 6, 7])
    );
    assert_eq!(plan(&[0, 1, 2, 3, 4, 5, 6, 7], 1, &Pin::Auto), (vec![0], (1..8).collect()));
}

#[test]
fn off_pins_nothing() {
    assert_eq!(plan(&[0, 1], 2, &Pin::Off), (vec![], vec![]));
}

#[test]
fn a_list_is_taken_as_it_is() {
    assert_eq!(plan(&[0, 1, 2], 2, &Pin::Workers(vec![2, 0])), (vec![2, 0], vec![1]));
    // The published case: both workers on CPU 0.
    assert_eq!(plan(&[0, 1], 2, &Pin::Workers(vec![0])), (vec![0], vec![1]));
    assert_eq!(plan(&[0, 1], 2, &Pin::Workers(vec![0, 1])), (vec![0, 1], vec![0, 1]));
}

#[test]
fn a_cpu_that_is_not_there_is_named() {
    let error = CpuPlan::new(&[0, 1], 2, &Pin::Workers(vec![0, 7])).expect_err("CPU 7");
    assert_eq!(error.to_string(), "CPU 7 cannot be used here: this process may run on 0,1");
}
