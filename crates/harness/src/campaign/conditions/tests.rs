use std::fs;
use std::path::Path;

use super::{Conditions, Executable};
use crate::campaign::arm::ArmSpec;

fn arms(program: &Path) -> Vec<ArmSpec> {
    let foreign = format!("foreign: --proxy 'exec:{} {{listen}}'", program.display());
    let build = format!("build: --proxy nginx --proxy-bin {}", program.display());
    ["own: --reuseport", &foreign, &build].map(|arm| arm.parse().expect("an arm")).into()
}

#[test]
fn what_is_here_is_the_same_a_moment_later() {
    let here = Conditions::here(&arms(Path::new("/bin/true")));
    assert_eq!(here.differences(&Conditions::here(&arms(Path::new("/bin/true")))), [""; 0]);
    assert!(here.turnstile.is_some() && here.programs.contains_key("/bin/true"), "{here:?}");
    assert!(here.cpus > 0 && !here.allowed_cpus.is_empty() && !here.kernel.is_empty());
    let text = serde_json::to_string(&here).expect("JSON");
    assert_eq!(serde_json::from_str::<Conditions>(&text).expect("conditions"), here);
}

#[test]
fn each_difference_is_named_with_what_was_and_what_is() {
    let then = Conditions::here(&[]);
    let executable = Executable { bytes: 7, modified: "2026-03-01T12:30:05Z".to_owned() };
    type Change = fn(&mut Conditions, Executable);
    let changes: [(Change, &str); 9] = [
        (|now, _| now.version = "9.9".to_owned(), "turnstile was 0"),
        (|now, new| now.turnstile = Some(new), "is 7 bytes of 2026-03-01T12:30:05Z"),
        (|now, _| now.turnstile = None, "turnstile's executable was "),
        (
            |now, new| drop(now.programs.insert("/bin/p".to_owned(), new)),
            "/bin/p was not known, is 7 bytes of",
        ),
        (|now, _| now.boot = "another".to_owned(), "another host, or it was booted since"),
        (|now, _| now.kernel = "2.6.9".to_owned(), "is 2.6.9"),
        (|now, _| now.cpus = 1_000, "is 1000"),
        (|now, _| now.allowed_cpus = "977".to_owned(), "CPUs that may be used was "),
        (
            |now, _| drop(now.sysctls.insert("net.ipv4.tcp_rmem".to_owned(), "1 2 3".to_owned())),
            "net.ipv4.tcp_rmem was ",
        ),
    ];
    for (change, says) in changes {
        let mut now = then.clone();
        change(&mut now, executable.clone());
        let [differs]: [String; 1] = then.differences(&now).try_into().expect("one difference");
        assert!(differs.contains(says), "no {says:?} in {differs}");
    }
}

#[test]
fn a_program_that_was_built_anew_is_another() {
    let dir = tempfile::tempdir().expect("a directory");
    let program = testkit::script(dir.path(), "a proxy", "#!/bin/sh\n");
    let quoted = format!("p: --proxy \"exec:'{}' {{listen}}\"", program.display());
    let arms: Vec<ArmSpec> = vec![quoted.parse().expect("an arm")];
    let then = Conditions::here(&arms);
    assert_eq!(then.programs.len(), 1);
    fs::write(&program, "#!/bin/sh\n# better\n").expect("write");
    let [differs]: [String; 1] =
        then.differences(&Conditions::here(&arms)).try_into().expect("one difference");
    assert!(differs.contains("a proxy was 10 bytes of"), "{differs}");
    fs::remove_file(&program).expect("removed");
    let [differs]: [String; 1] =
        then.differences(&Conditions::here(&arms)).try_into().expect("one difference");
    assert!(differs.ends_with("is not known"), "{differs}");
}
