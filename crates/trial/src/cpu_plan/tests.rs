use super::*;

fn plan(allowed: &[usize], workers: u32, pin: &Pin) -> (Vec<usize>, Vec<usize>) {
    let plan = CpuPlan::new(allowed, workers, pin).expect("a plan");
    (CpuPlan::numbers(plan.workers.as_ref()), CpuPlan::numbers(plan.load.as_ref()))
}

fn pin(list: &str) -> Pin {
    list.parse().expect("a list of CPUs")
}

#[test]
fn workers_have_cpus_of_their_own_as_far_as_there_are_some() {
    let eight = [0, 1, 2, 3, 4, 5, 6, 7];
    for (allowed, workers, pin, expected) in [
        (&[3][..], 2, Pin::Auto, (vec![3], vec![3])),
        (&[0, 1], 2, Pin::Auto, (vec![0], vec![1])),
        (&[4, 6], 1, Pin::Auto, (vec![4], vec![6])),
        // On more every worker has one, and a third is left.
        (&[0, 1, 2], 2, Pin::Auto, (vec![0, 1], vec![2])),
        (&[0, 1, 2, 3], 2, Pin::Auto, (vec![0, 1], vec![2, 3])),
        (&[0, 1, 2, 3], 4, Pin::Auto, (vec![0, 1], vec![2, 3])),
        (&eight, 64, Pin::Auto, (vec![0, 1, 2, 3, 4], vec![5, 6, 7])),
        (&eight, 1, Pin::Auto, (vec![0], (1..8).collect())),
        (&[0, 1], 2, Pin::Off, (vec![], vec![])),
        // A list is taken as it is. The published case: both workers on CPU 0.
        (&[0, 1, 2], 2, pin("2,0"), (vec![2, 0], vec![1])),
        (&[0, 1], 2, pin("0"), (vec![0], vec![1])),
        (&[0, 1], 2, pin("0,1"), (vec![0, 1], vec![0, 1])),
    ] {
        assert_eq!(plan(allowed, workers, &pin), expected, "{allowed:?}, {workers}, {pin:?}");
    }
}

#[test]
fn a_cpu_that_is_not_there_is_named() {
    let error = CpuPlan::new(&[0, 1], 2, &pin("0,7")).expect_err("CPU 7");
    assert_eq!(error.to_string(), "CPU 7 cannot be used here: this process may run on 0,1");
    let plan = CpuPlan::new(&[0, 1], 2, &Pin::Auto).expect("a plan");
    let error = plan.with(&own(&["fast=0-2"]), &[0, 1]).expect_err("CPU 2");
    assert_eq!(error.to_string(), "CPU 2 cannot be used here: this process may run on 0,1");
}

fn own(words: &[&str]) -> Vec<(Role, CpuList)> {
    words.iter().map(|word| role_cpus(word).expect("a role and its CPUs")).collect()
}

#[test]
fn a_role_runs_where_it_was_put_and_the_others_where_the_plan_has_them() {
    let allowed = [0, 1, 2, 3];
    let planned = CpuPlan::new(&allowed, 2, &Pin::Auto).expect("a plan");
    let plan = planned.with(&own(&["origin=0", "fast=1-2", "origin=3,0"]), &allowed);
    let plan = plan.expect("CPUs that are there");
    let of = |role| CpuPlan::numbers(plan.of(role));
    assert_eq!(of(Role::Origin), [3, 0], "the later counts");
    assert_eq!(of(Role::Fast), [1, 2]);
    assert_eq!(of(Role::Slow), [2, 3], "with the load");
    assert_eq!(of(Role::Proxy), [2, 3], "its workers have their own place");
    assert_eq!(plan.own(), BTreeMap::from([(Role::Origin, vec![3, 0]), (Role::Fast, vec![1, 2])]));
    // With nothing pinned a role may be.
    let plan = CpuPlan::new(&[0, 1], 2, &Pin::Off).expect("a plan");
    let plan = plan.with(&own(&["slow=1"]), &[0, 1]).expect("a CPU that is there");
    assert_eq!(CpuPlan::numbers(plan.of(Role::Slow)), [1]);
    assert_eq!(plan.of(Role::Fast), None);
}

#[test]
fn what_gives_no_role_its_cpus_is_refused() {
    for text in ["", "origin", "=0", "origin=", "origin=x", "origin=3-1", "nginx=0", "Origin=0"] {
        let error = role_cpus(text).expect_err(text);
        assert!(error.contains("write it as origin=0"), "{error}");
    }
    let error = role_cpus("proxy=0").expect_err("the proxy has its own flag");
    assert!(error.contains("--pin"), "{error}");
}
