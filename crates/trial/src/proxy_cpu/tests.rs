use super::used_ms;

#[test]
fn our_own_time_is_counted_and_grows() {
    let program = std::env::current_exe().expect("our file").canonicalize().expect("a file");
    let first = used_ms(std::process::id(), &program).expect("we are there");
    let mut spun = 0_u64;
    while used_ms(std::process::id(), &program).expect("we are there") == first {
        for _ in 0..1_000_000 {
            spun = std::hint::black_box(spun + 1);
        }
    }
}

#[test]
fn a_process_that_runs_something_else_does_not_count() {
    let other = std::path::Path::new("/nowhere/nginx");
    assert_eq!(used_ms(std::process::id(), other), None);
}
