use records::Rcvbuf;

use super::*;
use crate::fixture::{arm, with};

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
    let arm = with(arm("nginx"), |arm| {
        arm.proxy.reuseport = true;
        arm.proxy.rcvbuf = Rcvbuf::Size(Bytes(40_960));
        arm.proxy.buffer = Bytes(5_000);
        arm.proxy.buffering = BufferingMode::On;
        arm.proxy.spool = Spool::Off;
        arm.proxy.gzip = Some(9);
        arm.place = Placement::OneWorker;
        arm.server.trace = TraceMode::Sample;
        arm.proxy.log_mode = LogMode::Inline;
    });
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
