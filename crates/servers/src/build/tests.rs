use super::*;

#[test]
fn versions_are_found_in_what_programs_say() {
    let cases = [
        ("nginx version: nginx/1.22.1\nbuilt with OpenSSL 3.0.20", Version(1, 22, 1)),
        ("HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/", Version(2, 6, 12)),
        ("2.6.2", Version(2, 6, 2)),
        ("v2.8.4 h1:q3pe0wpBj1OcHFZ3n/1nl4V4bxBrYoSoab7rL9BMYNk=", Version(2, 8, 4)),
        ("Server version: Apache/2.4.71 (Debian)\nServer built: 2026", Version(2, 4, 71)),
        ("h2o version 2.2.5\nOpenSSL: OpenSSL 3.0.19", Version(2, 2, 5)),
        ("tengine version: Tengine/3.1", Version(3, 1, 0)),
        ("no version at all", Version(0, 0, 0)),
    ];
    for (text, version) in cases {
        assert_eq!(Version::find(text), version, "{text}");
    }
    assert!(Version(1, 9, 1) < Version(1, 22, 1));
}

#[test]
fn programs_are_found_as_a_shell_finds_them() {
    assert!(look_up(Path::new("sh"), Path::new("")).is_some_and(|path| path.is_absolute()));
    assert!(look_up(Path::new("/bin/sh"), Path::new("")).is_some());
    assert!(look_up(Path::new("./sh"), Path::new("/bin")).is_some(), "seen from there");
    assert_eq!(look_up(Path::new("/etc/passwd"), Path::new("")), None, "it cannot be run");
    assert_eq!(look_up(Path::new("/nowhere/nginx"), Path::new("")), None);
    assert_eq!(look_up(Path::new("no-such-program-anywhere"), Path::new("")), None);
}

#[test]
fn both_streams_are_heard_and_nobody_is_waited_for_for_ever() {
    let shell = Path::new("/bin/sh");
    assert_eq!(say(shell, &["-c", "echo a; echo b >&2"]).expect("it runs"), "a\nb\n");
    let hung = say(shell, &["-c", "exec sleep 60"]).expect_err("it does not end");
    assert_eq!(hung.kind(), io::ErrorKind::TimedOut);
}
