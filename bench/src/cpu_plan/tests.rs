use super::*;

fn plan(allowed: &[usize]) -> (Option<String>, Option<String>) {
    let plan = CpuPlan::new(allowed);
    let text = |cpus: Option<&CpuList>| cpus.map(ToString::to_string);
    (text(plan.workers()), text(plan.load()))
}

#[test]
fn workers_have_the_first_cpu_and_the_load_the_last() {
    assert_eq!(plan(&[0, 1]), (Some("0".into()), Some("1".into())));
    assert_eq!(plan(&[2, 3, 6, 7]), (Some("2".into()), Some("7".into())));
}

#[test]
fn with_one_cpu_nothing_is_pinned() {
    assert_eq!(plan(&[3]), (None, None));
    assert_eq!(plan(&[]), (None, None));
}
