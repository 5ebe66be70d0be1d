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

#[test]
fn each_server_is_told_what_was_asked() {
    let small: fn(&mut Arm) = |arm| arm.proxy.rcvbuf = Rcvbuf::Size(Bytes(40_960));
    let nginx = with(with(asking("nginx"), small), |arm| {
        arm.proxy.buffering = BufferingMode::On;
        arm.proxy.spool = Spool::Dir("/spool".into());
        arm.proxy.spool_max = Some(Bytes::mib(8));
        arm.server.directives = vec!["proxy_cache off;".to_owned()];
    });
    let files: fn(&mut Arm) = |arm| arm.server.content = Content::File;
    let herd = with(with(arm("nginx"), files), |arm| arm.proxy.accept = AcceptMode::Herd);
    let lines = ["tune.maxpollevents 8", "option splice-response", "no option http-keep-alive"];
    let haproxy = with(with(asking("haproxy"), small), |arm| {
        arm.server.directives = lines.map(str::to_owned).into();
    });
    let apache = with(with(asking("apache"), small), |arm| arm.proxy.reuseport = false);
    for (name, arm, version) in [
        ("nginx_by_default", arm("nginx"), Version(1, 22, 1)),
        ("nginx_with_toggles", nginx, Version(1, 31, 3)),
        ("nginx_with_files", herd, Version(1, 10, 3)),
        ("haproxy_by_default", arm("haproxy"), Version(2, 6, 12)),
        ("haproxy_with_toggles", haproxy, Version(2, 6, 12)),
        ("caddy", with(arm("caddy"), files), Version(2, 6, 2)),
        ("apache", apache, Version(2, 4, 71)),
        ("h2o", arm("h2o"), Version(2, 2, 5)),
    ] {
        let program = arm.server.kind.name();
        let about = if program == "nginx" { "--without-http_scgi_module" } else { "" };
        let made = made(&arm, &build(program, version, about));
        // Where this host has its modules.
        insta::with_settings!({filters => vec![(r"/\S*/mod_", "MODULES/mod_")]}, {
            insta::assert_snapshot!(name, made);
        });
    }
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
