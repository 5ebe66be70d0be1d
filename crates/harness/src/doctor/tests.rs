use records::Bytes;

use super::checks::*;
use super::*;

/// A machine on which all is well.
fn facts() -> Facts {
    Facts {
        allowed_cpus: Some(2),
        kernel: Some("6.1.0-13-amd64".to_owned()),
        tcp_rmem: Some("4096 131072 6291456".to_owned()),
        rmem_max: Some(Bytes::mib(4)),
        somaxconn: Some(4_096),
        load_average: Some(0.1),
        stolen_share: Some(0.0),
        root: false,
        btf: false,
    }
}

fn level(check: fn(&Facts) -> Finding, change: impl Fn(&mut Facts)) -> Level {
    let mut facts = facts();
    change(&mut facts);
    let finding = check(&facts);
    let needs_advice = finding.level != Level::Ok;
    assert_eq!(finding.advice.is_some(), needs_advice, "{finding:?}");
    finding.level
}

#[test]
fn a_good_machine_has_nothing_to_note() {
    let findings = all(&facts());
    assert!(findings.iter().all(|finding| finding.level == Level::Ok), "{findings:#?}");
}

#[test]
fn cpus_decide_what_can_be_told_apart() {
    assert_eq!(level(cpus, |facts| facts.allowed_cpus = Some(1)), Level::Problem);
    assert_eq!(level(cpus, |facts| facts.allowed_cpus = Some(64)), Level::Ok);
    assert_eq!(level(cpus, |facts| facts.allowed_cpus = None), Level::Unknown);
}

#[test]
fn a_kernel_must_have_what_nginx_uses() {
    let of = |release: &str| level(kernel, |facts| facts.kernel = Some(release.to_owned()));
    assert_eq!(of("2.6.32-754.el6"), Level::Problem);
    assert_eq!(of("3.10.0-1160.el7"), Level::Problem);
    assert_eq!(of("4.5.0"), Level::Ok);
    assert_eq!(of("6.18.44+"), Level::Ok);
    assert_eq!(of("unversioned"), Level::Unknown);
}

#[test]
fn buffers_and_queues_are_compared_with_what_is_asked_for() {
    let most = |most: u64| {
        let mut facts = facts();
        facts.rmem_max = Some(Bytes(most));
        receive_limit(&facts).meaning
    };
    assert!(most(40_959).contains("published cure"), "{}", most(40_959));
    assert!(most(40_960).contains("leaves its buffers to the kernel"), "{}", most(40_960));
    assert_eq!(level(receive_limit, |facts| facts.rmem_max = Some(Bytes(40_960))), Level::Note);
    assert_eq!(level(receive_limit, |facts| facts.rmem_max = Some(Bytes::mib(1))), Level::Ok);
    assert_eq!(level(backlog, |facts| facts.somaxconn = Some(128)), Level::Note);
    let rmem = |text: &str| level(receive_buffer, |facts| facts.tcp_rmem = Some(text.to_owned()));
    assert_eq!(rmem("40960 40960 40960"), Level::Note);
    assert_eq!(rmem("4096 131072 33554432"), Level::Ok);
    assert_eq!(rmem("4096"), Level::Unknown);
}

#[test]
fn a_busy_or_robbed_machine_is_noted() {
    assert_eq!(level(load, |facts| facts.load_average = Some(1.5)), Level::Note);
    assert_eq!(level(steal, |facts| facts.stolen_share = Some(0.05)), Level::Note);
}

#[test]
fn the_text_has_a_line_for_each_thing_and_fits_a_terminal() {
    let mut bad = facts();
    bad.allowed_cpus = Some(1);
    bad.stolen_share = None;
    let text = text(&all(&bad));
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    insta::assert_snapshot!(text);
}
