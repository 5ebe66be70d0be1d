use super::*;

#[test]
fn who_does_not_run_is_named() {
    // Above the highest id a kernel gives (proc_sys_kernel(5): pid_max is 2^22 at most).
    let nobody = Target { worker: 0, pid: 1 << 22, tid: 1 << 22 };
    let error = Tracer::attach(&[nobody], Means::Sample, Micros(1), drop).expect_err("nobody");
    assert!(error.to_string().contains("4194304"), "{error}");
}

#[test]
fn auto_takes_the_best_and_the_probe_says_what_is_missing() {
    assert_eq!(means(TraceMode::Off).ok(), Some(None));
    assert_eq!(means(TraceMode::Sample).ok(), Some(Some(Means::Sample)));
    let auto = means(TraceMode::Auto).expect("something always goes");
    match (means(TraceMode::Probe), auto) {
        (Ok(asked), auto) => assert_eq!((asked, auto), (Some(Means::Probe), asked)),
        (Err(error), auto) => {
            assert_eq!(auto, Some(Means::Sample));
            let message = error.to_string();
            let mends = ["setcap", "CONFIG_DEBUG_INFO_BTF", "from"];
            assert!(mends.iter().any(|mend| message.contains(mend)), "{message}");
        }
    }
}
