use super::{ArmError, parse, slug};

#[test]
fn an_arm_is_a_name_and_options() {
    let arm = parse("rcvbuf: --reuseport --rcvbuf 40960").unwrap();
    assert_eq!(arm.name, "rcvbuf");
    assert_eq!(arm.args, ["--reuseport", "--rcvbuf", "40960"]);
    assert_eq!(arm.to_string(), "rcvbuf: --reuseport --rcvbuf 40960");
    assert_eq!(parse(&arm.to_string()).unwrap(), arm);
}

#[test]
fn options_alone_name_themselves() {
    let arm = parse("--read-policy bytes:64KiB").unwrap();
    assert_eq!(arm.name, "--read-policy bytes:64KiB");
    assert_eq!(parse("").unwrap().name, "default");
}

#[test]
fn a_quoted_command_stays_one_word() {
    let arm = parse("own: --proxy 'exec:./mine {listen} {origin}'").unwrap();
    assert_eq!(arm.args, ["--proxy", "exec:./mine {listen} {origin}"]);
    assert_eq!(slug(&arm), "own");
}

#[test]
fn what_is_wrong_is_said_without_the_whole_usage() {
    let error = parse("a: --rcvbuff 40960").unwrap_err();
    let said = error.to_string();
    assert!(said.starts_with("arm a: unexpected argument '--rcvbuff'"), "{said}");
    assert!(!said.contains("Usage"), "{said}");
    assert_eq!(parse("a: 'open"), Err(ArmError::Quotes(" 'open".to_owned())));
    let error = parse("a: --label x").unwrap_err();
    assert!(error.to_string().contains("unexpected argument '--label'"), "{error}");
    assert!(parse(" : --reuseport").is_err());
}
