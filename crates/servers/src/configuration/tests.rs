use super::*;
use crate::build::{Build, Version};
use crate::tests::{arm, build, server, setting};

/// Configuration, command line and environment, as text.
fn made(arm: &Arm, build: &Build) -> String {
    let server = server(&arm.server.kind.to_string());
    let setting = setting(&server, arm, build);
    let files = setting.files().map(|(name, file)| format!("== {name}\n{file}"));
    let env = setting.env().into_iter().map(|(name, value)| format!("{name}={value}"));
    let words: Vec<String> = env.chain(setting.args()).collect();
    files.collect::<String>() + &format!("== {}\n", words.join(" ").trim())
}

#[test]
fn each_server_is_told_what_was_asked() {
    const ASKING: &str = "--workers 3 --backlog 1024 --multi-accept --buffer 16KiB --rcvbuf 40960";
    let nginx = format!(
        "{ASKING} --reuseport --buffering on --spool /spool --spool-max 8MiB --directive \
         'proxy_cache off;'"
    );
    let haproxy = format!(
        "{ASKING} --reuseport --directive 'tune.maxpollevents 8' --directive \
         'option splice-response' --directive 'no option http-keep-alive'"
    );
    for (name, arm, version) in [
        ("nginx_by_default", arm("nginx", ""), Version(1, 22, 1)),
        ("nginx_with_toggles", arm("nginx", &nginx), Version(1, 31, 3)),
        ("nginx_with_files", arm("nginx", "--content file --accept herd"), Version(1, 10, 3)),
        ("haproxy_by_default", arm("haproxy", ""), Version(2, 6, 12)),
        ("haproxy_with_toggles", arm("haproxy", &haproxy), Version(2, 6, 12)),
        ("caddy", arm("caddy", "--content file"), Version(2, 6, 2)),
        ("apache", arm("apache", ASKING), Version(2, 4, 71)),
        ("h2o", arm("h2o", ""), Version(2, 2, 5)),
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
    let made = made(&arm(template, ""), &build("exec", Version::default(), ""));
    assert_eq!(made, "== -l127.0.0.1:8000 127.0.0.1:9000 x 2  {other}\n");
}

#[test]
fn a_part_inside_itself_has_an_end() {
    let text = "parts.a.text = \"{a}\"\nfiles.f = \"{a}\"";
    let server = Server::read("own", text).expect("it can be read");
    let arm = arm("h2o", "");
    let build = build("own", Version::default(), "");
    let filled = setting(&server, &arm, &build).fill("{a}|{workers*8}|{workers*dir}");
    assert_eq!(filled, "{a}|16|{workers*dir}");
}
