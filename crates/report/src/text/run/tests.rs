use records::{AbsenceSummary, BlockedSummary, Micros, Program, ProxyKind, Visibility};

use super::under_test as lines;
use crate::text::Style;
use analysis::summarise;
use testkit::fixture::Run;

#[test]
fn nothing_is_said_of_the_mirror() {
    assert!(lines(&summarise(&Run::good().records), Style::Plain).is_empty());
}

#[test]
fn a_foreign_program_is_named_with_how_it_was_seen() {
    let mut summary = summarise(&Run::good().records);
    summary.arm.server.kind = ProxyKind::Server("nginx".to_owned());
    summary.visibility = Visibility::Traced;
    summary.program = Some(Program {
        name: "nginx".to_owned(),
        version: "nginx/1.22.1".to_owned(),
        path: "/usr/sbin/nginx".into(),
    });
    let sleep = |sleeps, time| BlockedSummary {
        sleeps,
        time_us: Micros(time),
        longest_us: Micros(time / 2),
    };
    summary.proxy.blocked =
        [("close".to_owned(), sleep(2, 80_000)), ("pwritev".to_owned(), sleep(20, 5_500_000))]
            .into();
    assert_eq!(
        lines(&summary, Style::Plain),
        [
            "proxy       nginx/1.22.1 (/usr/sbin/nginx); its workers were seen step by step, by the probe",
            "asleep      workers slept outside their polls: pwritev 5.500 s in 20 (longest 2.750 s), close",
            "            80.0 ms in 2 (longest 40.0 ms)",
        ]
    );
}

#[test]
fn what_samples_cannot_show_is_not_said() {
    let mut summary = summarise(&Run::good().records);
    summary.arm.server.kind = ProxyKind::Server("haproxy".to_owned());
    summary.visibility = Visibility::Sampled;
    summary.program = Some(Program {
        name: "haproxy".to_owned(),
        version: "haproxy 2.6.12".to_owned(),
        path: "/usr/sbin/haproxy".into(),
    });
    summary.proxy.absences = Some(AbsenceSummary {
        absences: 3,
        longest_us: Micros(420_000),
        longest_worker: 1,
        looks: 700,
        running: 650,
        waiting: 40,
        blocked: 10,
        ..AbsenceSummary::default()
    });
    let text = lines(&summary, Style::Plain).join("\n");
    assert!(
        text.contains("(/usr/sbin/haproxy); its workers were seen in samples of /proc"),
        "{text}"
    );
    assert!(text.contains("1); of 700 looks 650 found it running, 40 without a CPU"), "{text}");
    assert!(!text.contains("asleep    workers"), "{text}");
}
