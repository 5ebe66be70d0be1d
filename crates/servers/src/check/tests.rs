use records::{
    AcceptMode, BufferingMode, Bytes, Content, LogMode, Rcvbuf, ReadPolicy, Spool, TraceMode,
};

use super::*;
use crate::build::Version;
use crate::tests::{arm, build, server};

fn refused(arm: &Arm, version: Version) -> Option<String> {
    let server = server(&arm.server.kind.to_string());
    let build = build(&server.name, version, "");
    refuse_toggles(arm, &server, &build).err().map(|refusal| refusal.to_string())
}

/// Another build than the one in PATH.
fn bin(path: &str) -> Given {
    Given { proxy_bin: Some(path.into()), ..Given::default() }
}

/// The kinds with a version of theirs.
fn kinds() -> [(&'static str, Version); 6] {
    [
        ("nginx", Version(1, 22, 1)),
        ("haproxy", Version(2, 6, 12)),
        ("caddy", Version(2, 6, 2)),
        ("apache", Version(2, 4, 57)),
        ("h2o", Version(2, 2, 5)),
        ("exec:/bin/p {listen}", Version::default()),
    ]
}

#[test]
fn nobody_refuses_what_was_not_asked_for() {
    for (kind, version) in kinds() {
        assert_eq!(refused(&arm(kind), version), None, "{kind}");
    }
}

type Change = fn(&mut Arm);

/// Each toggle alone.
fn changes() -> Vec<(&'static str, Change)> {
    vec![
        ("--read-policy", |arm| arm.proxy.read_policy = ReadPolicy::Fionread),
        ("--congestion", |arm| arm.proxy.congestion = "no-such".parse().expect("a name")),
        ("--workers", |arm| arm.proxy.workers = 4),
        ("--reuseport", |arm| arm.proxy.reuseport = true),
        ("--rcvbuf", |arm| arm.proxy.rcvbuf = Rcvbuf::Size(Bytes(40_960))),
        ("--buffer", |arm| arm.proxy.buffer = Bytes::kib(16)),
        ("--backlog", |arm| arm.proxy.backlog = 7),
        ("--multi-accept", |arm| arm.proxy.multi_accept = true),
        ("--accept herd", |arm| arm.proxy.accept = AcceptMode::Herd),
        ("--log-mode inline", |arm| arm.proxy.log_mode = LogMode::Inline),
        ("--content file", |arm| arm.server.content = Content::File),
        ("--buffering off", |arm| arm.proxy.buffering = BufferingMode::Off),
        ("--spool off", |arm| arm.proxy.spool = Spool::Off),
        ("--spool /spool", |arm| arm.proxy.spool = Spool::Dir("/spool".into())),
        ("--spool-max", |arm| arm.proxy.spool_max = Some(Bytes::mib(1))),
        ("--worker-connections", |arm| arm.proxy.worker_connections = 512),
        ("--directive", |arm| arm.server.directives = vec!["x".to_owned()]),
        ("--trace sample", |arm| arm.server.trace = TraceMode::Sample),
    ]
}

#[test]
fn every_refusal_says_who_what_why_and_what_instead() {
    let mut all = String::new();
    for (name, change) in changes() {
        for (kind, version) in kinds() {
            let mut arm = arm(kind);
            change(&mut arm);
            if let Some(text) = refused(&arm, version) {
                assert!(text.starts_with(arm.server.kind.name()), "{text}");
                assert!(text.contains(name) && text.contains("; "), "{text}");
                // What the kernel gives to all differs from host to host.
                if !text.contains("--congestion") {
                    all += &text;
                    all.push('\n');
                }
            }
        }
    }
    insta::assert_snapshot!(all);
}

/// What a version, a build or another toggle decides: what must be said of it, or that nothing is.
#[test]
fn some_are_judged_by_what_is_there() {
    let cases: &[(&str, Version, &str, Change, Option<&str>)] = &[
        ("nginx", Version(1, 31, 2), "", |arm| arm.proxy.rcvbuf = SMALL, Some("--netns")),
        ("nginx", Version(1, 31, 3), "", |arm| arm.proxy.rcvbuf = SMALL, None),
        ("nginx", Version(1, 11, 3), "", |arm| arm.proxy.accept = AcceptMode::Herd, Some("1.11.3")),
        ("nginx", Version(1, 11, 2), "", |arm| arm.proxy.accept = AcceptMode::Herd, None),
        ("nginx", Version(1, 8, 0), "", |arm| arm.proxy.reuseport = true, Some("1.9.1")),
        ("apache", Version(2, 4, 57), "", |arm| arm.proxy.buffer = Bytes(8191), Some("at least")),
        ("apache", Version(2, 4, 57), "", |arm| arm.proxy.buffer = Bytes::kib(8), None),
        // Toggles that contradict each other.
        ("nginx", Version(1, 22, 1), "", files_and_a_buffer, Some("--content file")),
        ("nginx", Version(1, 22, 1), "", spool_and_none, Some("--spool off")),
        ("nginx", Version(1, 22, 1), "", spool_unbuffered, Some("--buffering off")),
    ];
    for (kind, version, about, change, says) in cases {
        let mut arm = arm(kind);
        change(&mut arm);
        let server = server(kind);
        let refused = refuse_toggles(&arm, &server, &build(kind, *version, about));
        let refused = refused.err().map(|refusal| refusal.to_string());
        match says {
            Some(says) => {
                assert!(refused.is_some_and(|why| why.contains(says)), "{kind} {version}: {says}");
            }
            None => assert_eq!(refused, None, "{kind} {version}"),
        }
    }
}

const SMALL: Rcvbuf = Rcvbuf::Size(Bytes(40_960));

fn files_and_a_buffer(arm: &mut Arm) {
    (arm.server.content, arm.proxy.buffer) = (Content::File, Bytes::kib(16));
}

fn spool_and_none(arm: &mut Arm) {
    (arm.proxy.spool, arm.proxy.spool_max) = (Spool::Off, Some(Bytes(1)));
}

fn spool_unbuffered(arm: &mut Arm) {
    (arm.proxy.buffering, arm.proxy.spool) = (BufferingMode::Off, Spool::Dir("/spool".into()));
}

/// In the words of a file of one's own.
#[test]
fn what_a_server_of_ones_own_cannot_do_is_said_as_its_file_says() {
    let text = "commands = ['tiny']\n[toggles]\n--workers = { refused = 'it is one thread', instead = \
                'take --workers 1' }\n--buffer = { since = '2.0', why = 'it came with 2.0', instead = \
                'build it anew' }";
    let server = Server::read("tiny", text).expect("it is valid");
    let cases: [(Change, &str); 4] = [
        (
            |arm| arm.proxy.workers = 3,
            "tiny 1.2.0 cannot honour --workers 3: it is one thread; take",
        ),
        (|arm| arm.proxy.buffer = Bytes::kib(8), "--buffer 8192: it came with 2.0; build it anew"),
        (
            |arm| arm.proxy.multi_accept = true,
            "--multi-accept: it has no setting for that; leave it",
        ),
        (|arm| arm.server.content = Content::File, "--content file: it has no setting"),
    ];
    for (change, says) in cases {
        let mut arm = arm("tiny");
        change(&mut arm);
        let refused = refuse_toggles(&arm, &server, &build("tiny", Version(1, 2, 0), ""));
        let refused = refused.expect_err(says).to_string();
        assert!(refused.contains(says), "no {says:?} in {refused}");
    }
}

#[test]
fn the_kernels_own_congestion_control_is_what_they_use() {
    let mut arm = arm("nginx");
    arm.proxy.congestion = "system".parse().expect("a name");
    assert_eq!(refused(&arm, Version(1, 22, 1)), None);
    if let Some(system) = system_congestion() {
        arm.proxy.congestion = system.parse().expect("a name");
        assert_eq!(refused(&arm, Version(1, 22, 1)), None);
    }
}

#[test]
fn a_missing_program_is_told_with_its_package() {
    let text = "commands = ['no-such-program']\npackage = 'the-package'";
    let missing = Server::read("own", text).expect("it is valid").find(None, Path::new(""));
    insta::assert_snapshot!(missing.expect_err("it is not there"), @"failed to find no-such-program: install it with `apt-get install the-package` or `scripts/install-servers.sh own`, or name another build with --proxy-bin");
    let nowhere = check(&arm("caddy"), &bin("/nowhere/caddy"), Recording::Full);
    assert!(
        nowhere.as_ref().is_err_and(|refusal| refusal.0.contains("find the program")),
        "{nowhere:?}"
    );
    // Something that says no version is not it.
    let wrong = check(&arm("caddy"), &bin("/bin/true"), Recording::Full);
    assert!(
        wrong.as_ref().is_err_and(|refusal| refusal.0.contains("for its version")),
        "{wrong:?}"
    );
}

/// What is refused of proxies that we do not start, or of what nobody could tell; and what is not.
#[test]
fn what_is_none_of_ours_is_refused_before_the_run() {
    use Recording::{Full, Minimal};
    let (none, built) = (Given::default(), bin("/bin/true"));
    let plain: Change = |_| {};
    let shared: Change = |arm| arm.proxy.reuseport = true;
    let files: Change = |arm| arm.server.content = Content::File;
    let cases: &[(&str, &Given, Recording, Change, &[&str])] = &[
        ("mirror", &none, Full, plain, &[]),
        ("mirror", &none, Minimal, plain, &[]),
        ("mirror", &built, Full, plain, &["--proxy-bin"]),
        (
            "mirror",
            &none,
            Full,
            files,
            &["the mirror cannot honour --content file", "--proxy nginx"],
        ),
        ("mirror", &none, Full, |arm| arm.server.trace = TraceMode::Probe, &["--trace probe"]),
        // Off is how it is seen anyway.
        ("url:127.0.0.1:80", &none, Full, plain, &[]),
        ("url:127.9.8.7:80", &none, Full, plain, &[]),
        ("url:[::1]:80", &none, Full, plain, &[]),
        ("url:127.0.0.1:80", &built, Full, plain, &["--proxy-bin"]),
        ("url:127.0.0.1:80", &none, Full, shared, &["--reuseport", "runs already"]),
        ("url:127.0.0.1:80", &none, Minimal, plain, &["--recording minimal", "leave it"]),
        // On another host.
        ("url:192.0.2.1:80", &none, Full, plain, &["url:192.0.2.1:80", "loopback"]),
        ("url:[2001:db8::1]:80", &none, Full, plain, &["url:[2001:db8::1]:80", "loopback"]),
        ("url:0.0.0.0:80", &none, Full, plain, &["url:0.0.0.0:80", "loopback"]),
        // Whether or not the program is there.
        ("nginx", &none, Minimal, plain, &["nginx", "--recording minimal", "--trace off"]),
        ("exec:/bin/p {listen}", &none, Minimal, plain, &["--recording minimal", "--trace off"]),
    ];
    for (kind, given, recording, change, says) in cases {
        let mut arm = arm(kind);
        change(&mut arm);
        let refused = check(&arm, given, *recording).map_err(|refusal| refusal.to_string());
        assert_eq!(refused.is_err(), !says.is_empty(), "{kind}: {refused:?}");
        let text = refused.err().unwrap_or_default();
        assert!(says.iter().all(|part| text.contains(part)), "{kind}: no {says:?} in {text}");
        // Of what it advises, all is there: a trial takes no consent.
        assert!(!text.contains("--allow"), "{text}");
    }
}
