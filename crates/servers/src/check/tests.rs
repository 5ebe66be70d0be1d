use Recording::{Full, Minimal};

use super::*;
use crate::build::Version;
use crate::tests::{arm, build, server};

/// Why that version of a server cannot have what is typed.
fn refused(server: &Server, version: Version, typed: &str) -> Option<String> {
    // Whatever its kind is: the server is known.
    let (arm, build) = (arm("nginx", typed), build(&server.name, version, ""));
    refuse_toggles(&arm, server, &build).err().map(|refusal| refusal.to_string())
}

/// Another build than the one in PATH.
fn bin(path: &str) -> Given {
    Given { proxy_bin: Some(path.into()), ..Given::default() }
}

/// The servers with a version of theirs.
fn servers() -> [(Server, Version); 6] {
    [
        (server("nginx"), Version(1, 22, 1)),
        (server("haproxy"), Version(2, 6, 12)),
        (server("caddy"), Version(2, 6, 2)),
        (server("apache"), Version(2, 4, 57)),
        (server("h2o"), Version(2, 2, 5)),
        (server("exec:/bin/p {listen}"), Version::default()),
    ]
}

/// Each toggle alone.
const TOGGLES: [&str; 18] = [
    "--read-policy fionread",
    "--congestion no-such",
    "--workers 4",
    "--reuseport",
    "--rcvbuf 40960",
    "--buffer 16384",
    "--backlog 7",
    "--multi-accept",
    "--accept herd",
    "--log-mode inline",
    "--content file",
    "--buffering off",
    "--spool off",
    "--spool /spool",
    "--spool-max 1048576",
    "--worker-connections 512",
    "--directive x",
    "--trace sample",
];

#[test]
fn every_refusal_says_who_what_why_and_what_instead() {
    let (mut all, servers) = (String::new(), servers());
    for typed in TOGGLES {
        for (server, version) in &servers {
            let Some(text) = refused(server, *version, typed) else { continue };
            assert!(text.starts_with(&server.name), "{text}");
            // A line of a program's own is not repeated.
            let told = typed.trim_end_matches(" x");
            assert!(text.contains(told) && text.contains("; "), "{text}");
            // What the kernel gives to all differs from host to host.
            if !text.contains("--congestion") {
                all += &text;
                all.push('\n');
            }
        }
    }
    insta::assert_snapshot!(all);
}

#[test]
fn nobody_refuses_what_was_not_asked_for_or_is_so_anyway() {
    let system = system_congestion().unwrap_or_else(|| "system".to_owned());
    for (server, version) in servers() {
        for typed in ["", "--congestion system", &format!("--congestion {system}")] {
            assert_eq!(refused(&server, version, typed), None, "{} {typed}", server.name);
        }
    }
}

/// What a version, another toggle or a file of one's own decides: what must be said of it, or that nothing is.
#[test]
fn some_are_judged_by_what_is_there() {
    let text = "[toggles]\n--workers = { refused = 'it is one thread', instead = 'take --workers 1' }\n\
                --buffer = { since = '2.0', why = 'it came with 2.0', instead = 'build it anew' }";
    let tiny = Server::read("tiny", text).expect("it is valid");
    let [(nginx, current), _, _, (apache, old), ..] = servers();
    let own = Version(1, 2, 0);
    for (server, version, typed, says) in [
        (&nginx, Version(1, 31, 2), "--rcvbuf 40960", "--netns"),
        (&nginx, Version(1, 31, 3), "--rcvbuf 40960", ""),
        (&nginx, Version(1, 11, 3), "--accept herd", "1.11.3"),
        (&nginx, Version(1, 11, 2), "--accept herd", ""),
        (&nginx, Version(1, 8, 0), "--reuseport", "1.9.1"),
        (&apache, old, "--buffer 8191", "at least"),
        (&apache, old, "--buffer 8KiB", ""),
        // Toggles that contradict each other.
        (&nginx, current, "--content file --buffer 16KiB", "--content file"),
        (&nginx, current, "--spool off --spool-max 1", "--spool off"),
        (&nginx, current, "--buffering off --spool /spool", "--buffering off"),
        (&tiny, own, "--workers 3", "tiny 1.2.0 cannot honour --workers 3: it is one thread; take"),
        (&tiny, own, "--buffer 8KiB", "--buffer 8192: it came with 2.0; build it anew"),
        (&tiny, own, "--multi-accept", "--multi-accept: it has no setting for that; leave it"),
        (&tiny, own, "--content file", "--content file: it has no setting"),
    ] {
        let refused = refused(server, version, typed);
        assert_eq!(refused.is_some(), !says.is_empty(), "{version} {typed}: {refused:?}");
        assert!(refused.unwrap_or_default().contains(says), "{version} {typed}: {says}");
    }
}

#[test]
fn a_missing_program_is_told_with_its_package() {
    let text = "commands = ['no-such-program']\npackage = 'the-package'";
    let missing = Server::read("own", text).expect("it is valid").find(None, Path::new(""));
    insta::assert_snapshot!(missing.expect_err("it is not there"), @"failed to find no-such-program: install it with `apt-get install the-package` or `scripts/install-servers.sh own`, or name another build with --proxy-bin");
    // Something that says no version is not it.
    for (file, says) in [("/nowhere/caddy", "find the program"), ("/bin/true", "for its version")] {
        let refused = check(&arm("caddy", ""), &bin(file), Full);
        assert!(refused.as_ref().is_err_and(|why| why.0.contains(says)), "{file}: {refused:?}");
    }
}

/// What is refused of proxies that we do not start, or of what nobody could tell; and what is not.
#[test]
fn what_is_none_of_ours_is_refused_before_the_run() {
    let (none, built) = (Given::default(), bin("/bin/true"));
    let cases: &[(&str, &Given, Recording, &str, &[&str])] = &[
        ("mirror", &none, Full, "", &[]),
        ("mirror", &none, Minimal, "", &[]),
        ("mirror", &built, Full, "", &["--proxy-bin"]),
        ("mirror", &none, Full, "--content file", &["mirror cannot honour --content", "--proxy"]),
        ("mirror", &none, Full, "--trace probe", &["--trace probe"]),
        // Off is how it is seen anyway.
        ("url:127.0.0.1:80", &none, Full, "", &[]),
        ("url:127.9.8.7:80", &none, Full, "", &[]),
        ("url:[::1]:80", &none, Full, "", &[]),
        ("url:127.0.0.1:80", &built, Full, "", &["--proxy-bin"]),
        ("url:127.0.0.1:80", &none, Full, "--reuseport", &["--reuseport", "runs already"]),
        ("url:127.0.0.1:80", &none, Minimal, "", &["--recording minimal", "leave it"]),
        // On another host.
        ("url:192.0.2.1:80", &none, Full, "", &["url:192.0.2.1:80", "loopback"]),
        ("url:[2001:db8::1]:80", &none, Full, "", &["url:[2001:db8::1]:80", "loopback"]),
        ("url:0.0.0.0:80", &none, Full, "", &["url:0.0.0.0:80", "loopback"]),
        // Whether or not the program is there.
        ("nginx", &none, Minimal, "", &["nginx", "--recording minimal", "--trace off"]),
        ("exec:/bin/p {listen}", &none, Minimal, "", &["--recording minimal", "--trace off"]),
    ];
    for (kind, given, recording, typed, says) in cases {
        let refused = check(&arm(kind, typed), given, *recording);
        let text = refused.err().map(|refusal| refusal.to_string());
        assert_eq!(text.is_some(), !says.is_empty(), "{kind}: {text:?}");
        let text = text.unwrap_or_default();
        assert!(says.iter().all(|part| text.contains(part)), "{kind}: no {says:?} in {text}");
        // Of what it advises, all is there: a trial takes no consent.
        assert!(!text.contains("--allow"), "{text}");
    }
}
