use super::*;
use crate::fixture::arm;

/// What is asked, as it is typed.
fn asked(arm: &Arm) -> Vec<String> {
    let all = Toggle::all(arm).into_iter();
    all.filter(|toggle| toggle.state == State::Asked).map(|toggle| toggle.typed()).collect()
}

#[test]
fn defaults_ask_for_nothing() {
    assert_eq!(asked(&arm("nginx")), Vec::<String>::new());
}

#[test]
fn toggles_are_named_as_they_are_typed() {
    let arm = Arm {
        reuseport: true,
        rcvbuf: Some(Bytes(40_960)),
        buffer: Bytes(5_000),
        buffering: BufferingMode::On,
        spool: Spool::Off,
        gzip: Some(9),
        place: Placement::OneWorker,
        trace: TraceMode::Sample,
        log_mode: LogMode::Inline,
        ..arm("nginx")
    };
    assert_eq!(
        asked(&arm),
        [
            "--reuseport",
            "--rcvbuf 40KiB",
            "--buffer 5000",
            "--log-mode inline",
            "--buffering on",
            "--spool off",
            "--gzip 9",
            "--trace sample",
            "--place one-worker",
        ]
    );
}
