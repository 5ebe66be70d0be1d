use super::*;
use crate::fixture::arm;

#[test]
fn defaults_ask_for_nothing() {
    assert_eq!(Toggle::asked(&arm("nginx")), []);
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
    let typed: Vec<String> = Toggle::asked(&arm).iter().map(ToString::to_string).collect();
    assert_eq!(
        typed,
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
