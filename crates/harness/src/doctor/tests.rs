use super::*;

/// A machine on which all is well.
fn facts() -> Facts {
    Facts {
        allowed_cpus: Some(2),
        tcp_rmem: Some("4096 131072 6291456".to_owned()),
        rmem_max: Some(Bytes::mib(4)),
        load_average: Some(0.1),
        stolen_share: Some(0.0),
    }
}

#[test]
fn each_fact_decides_the_level_of_its_check() {
    let findings = all(&facts());
    assert!(findings.iter().all(|finding| finding.level == Level::Ok), "{findings:#?}");
    let rmem = |text: &str| Some(text.to_owned());
    for (check, facts, level) in [
        ("cpus", Facts { allowed_cpus: Some(1), ..facts() }, Level::Problem),
        ("cpus", Facts { allowed_cpus: Some(64), ..facts() }, Level::Ok),
        ("cpus", Facts { allowed_cpus: None, ..facts() }, Level::Unknown),
        ("tcp_rmem", Facts { tcp_rmem: rmem("40960 40960 40960"), ..facts() }, Level::Note),
        ("tcp_rmem", Facts { tcp_rmem: rmem("4096 131072 33554432"), ..facts() }, Level::Ok),
        ("tcp_rmem", Facts { tcp_rmem: rmem("4096"), ..facts() }, Level::Unknown),
        ("rmem_max", Facts { rmem_max: Some(Bytes(40_959)), ..facts() }, Level::Note),
        ("rmem_max", Facts { rmem_max: Some(Bytes(40_960)), ..facts() }, Level::Note),
        ("rmem_max", Facts { rmem_max: Some(Bytes::mib(1)), ..facts() }, Level::Ok),
        ("load", Facts { load_average: Some(1.5), ..facts() }, Level::Note),
        ("steal", Facts { stolen_share: Some(0.05), ..facts() }, Level::Note),
    ] {
        let findings = all(&facts);
        let finding = findings.iter().find(|finding| finding.check == check).expect("the check");
        assert_eq!(finding.level, level, "{finding:?} of {facts:?}");
        assert_eq!(finding.advice.is_some(), level != Level::Ok, "{finding:?}");
    }
}

#[test]
fn the_text_has_a_line_for_each_thing_and_fits_a_terminal() {
    let text = text(&all(&Facts { allowed_cpus: Some(1), stolen_share: None, ..facts() }));
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    insta::assert_snapshot!(text);
}
