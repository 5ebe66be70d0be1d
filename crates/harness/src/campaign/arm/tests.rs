use super::{ArmError, ArmSpec};

#[test]
fn an_arm_is_a_name_and_options() {
    let arm: ArmSpec = "rcvbuf: --reuseport --rcvbuf 40960".parse().unwrap();
    assert_eq!(arm.name, "rcvbuf");
    assert_eq!(arm.args, ["--reuseport", "--rcvbuf", "40960"]);
    assert_eq!(arm.to_string(), "rcvbuf: --reuseport --rcvbuf 40960");
    assert_eq!(arm.to_string().parse::<ArmSpec>().unwrap(), arm);
}

#[test]
fn options_alone_name_themselves() {
    let arm: ArmSpec = "--read-policy bytes:64KiB".parse().unwrap();
    assert_eq!(arm.name, "--read-policy bytes:64KiB");
    assert_eq!("".parse::<ArmSpec>().unwrap().name, "default");
}

#[test]
fn a_quoted_command_stays_one_word() {
    let arm: ArmSpec = "own: --proxy 'exec:./mine {listen} {origin}'".parse().unwrap();
    assert_eq!(arm.args, ["--proxy", "exec:./mine {listen} {origin}"]);
    assert_eq!(arm.slug(), "own");
}

#[test]
fn what_is_wrong_is_said_without_the_whole_usage() {
    let error = "a: --rcvbuff 40960".parse::<ArmSpec>().unwrap_err();
    let said = error.to_string();
    assert!(said.starts_with("arm a: unexpected argument '--rcvbuff'"), "{said}");
    assert!(!said.contains("Usage"), "{said}");
    assert_eq!("a: 'open".parse::<ArmSpec>(), Err(ArmError::Quotes(" 'open".to_owned())));
    let error = "a: --label x".parse::<ArmSpec>().unwrap_err();
    assert!(matches!(error, ArmError::NotForArms { .. }), "{error}");
    assert!(" : --reuseport".parse::<ArmSpec>().is_err());
}
