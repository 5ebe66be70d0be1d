use records::{AcceptMode, BufferingMode, Bytes, Content, Rcvbuf, Spool};

use super::*;
use crate::build::{Build, Version};
use crate::tests::{arm, build, server, with, with_setting};

/// Configuration, command line and environment, as text.
fn made(arm: &Arm, build: &Build) -> String {
    let server = server(&arm.server.kind.to_string());
    with_setting(&server, arm, build, |setting| {
        let mut text = String::new();
        for (name, file) in setting.files() {
            text += &format!("== {name}\n{file}");
        }
        let env: Vec<_> =
            setting.env().iter().map(|(name, value)| format!("{name}={value}")).collect();
        text + &format!("== {}\n", [env.join(" "), setting.args().join(" ")].join(" ").trim())
    })
}

/// All that can be asked of a proxy about its sockets and buffers.
fn asking(proxy: &str) -> Arm {
    with(arm(proxy), |arm| {
        arm.proxy.reuseport = true;
        arm.proxy.workers = 3;
        arm.proxy.backlog = 1024;
        arm.proxy.multi_accept = true;
        arm.proxy.buffer = Bytes::kib(16);
    })
}

fn nginx(version: Version) -> Build {
    build("nginx", version, "--without-http_scgi_module")
}

#[test]
fn nginx_by_default() {
    insta::assert_snapshot!(made(&arm("nginx"), &nginx(Version(1, 22, 1))));
}

#[test]
fn nginx_with_toggles() {
    let arm = with(asking("nginx"), |arm| {
        arm.proxy.rcvbuf = Rcvbuf::Size(Bytes(40_960));
        arm.proxy.buffering = BufferingMode::On;
        arm.proxy.spool = Spool::Dir("/spool".into());
        arm.proxy.spool_max = Some(Bytes::mib(8));
        arm.server.directives = vec!["proxy_cache off;".to_owned()];
    });
    insta::assert_snapshot!(made(&arm, &nginx(Version(1, 31, 3))));
}

#[test]
fn nginx_with_files() {
    let arm = with(arm("nginx"), |arm| {
        arm.server.content = Content::File;
        arm.proxy.accept = AcceptMode::Herd;
    });
    insta::assert_snapshot!(made(&arm, &nginx(Version(1, 10, 3))));
}

#[test]
fn haproxy_by_default() {
    insta::assert_snapshot!(made(&arm("haproxy"), &build("haproxy", Version(2, 6, 12), "")));
}

#[test]
fn haproxy_with_toggles() {
    let lines = ["tune.maxpollevents 8", "option splice-response", "no option http-keep-alive"];
    let arm = with(asking("haproxy"), |arm| {
        arm.proxy.rcvbuf = Rcvbuf::Size(Bytes(40_960));
        arm.server.directives = lines.map(str::to_owned).into();
    });
    insta::assert_snapshot!(made(&arm, &build("haproxy", Version(2, 6, 12), "")));
}

#[test]
fn caddy() {
    let arm = with(arm("caddy"), |arm| arm.server.content = Content::File);
    insta::assert_snapshot!(made(&arm, &build("caddy", Version(2, 6, 2), "")));
}

#[test]
fn apache() {
    let arm = with(asking("apache"), |arm| {
        arm.proxy.rcvbuf = Rcvbuf::Size(Bytes(40_960));
        arm.proxy.reuseport = false;
    });
    let made = made(&arm, &build("apache", Version(2, 4, 71), ""));
    // Where this host has its modules.
    insta::with_settings!({filters => vec![(r"/\S*/mod_", "MODULES/mod_")]}, {
        insta::assert_snapshot!(made);
    });
}

#[test]
fn h2o() {
    insta::assert_snapshot!(made(&arm("h2o"), &build("h2o", Version(2, 2, 5), "")));
}

#[test]
fn a_command_keeps_what_is_none_of_our_places() {
    let template = "exec:/bin/p -l{listen} '{origin} x' \"{workers}\" '' {other}";
    let made = made(&arm(template), &build("exec", Version::default(), ""));
    assert_eq!(made, "== -l127.0.0.1:8000 127.0.0.1:9000 x 2  {other}\n");
}

#[test]
fn a_part_inside_itself_has_an_end() {
    let text = "parts.a.text = \"{a}\"\nfiles.f = \"{a}\"";
    let server = Server::read("own", text).expect("it can be read");
    let arm = arm("h2o");
    with_setting(&server, &arm, &build("own", Version::default(), ""), |setting| {
        assert_eq!(setting.fill("{a}|{workers*8}|{workers*dir}"), "{a}|16|{workers*dir}");
    });
}
