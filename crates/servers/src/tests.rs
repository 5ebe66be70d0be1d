//! What tests of several modules start from.

use std::path::PathBuf;

use records::{Arm, from_words};

use crate::build::{Build, Version};
use crate::configuration::Setting;
use crate::server::{Given, Server};
use crate::toggles::User;

/// An arm that asks for what is typed, and else for nothing.
pub(crate) fn arm(proxy: &str, typed: &str) -> Arm {
    let typed = shlex::split(typed).expect("quotes that close");
    let mut words = vec!["--proxy", proxy];
    words.extend(typed.iter().map(String::as_str));
    // The defaults are the mirror's own, and would be asked of another.
    for nothing in [["--rcvbuf", "auto"], ["--trace", "off"]] {
        if !words.contains(&nothing[0]) {
            words.extend(nothing);
        }
    }
    from_words(&words)
}

/// The server that is `proxy`.
pub(crate) fn server(proxy: &str) -> Server {
    let kind = proxy.parse().expect("a proxy");
    Server::of(&kind, &Given::default()).expect("it can be read").expect("a server")
}

/// A build of that version, which said `about` of itself.
pub(crate) fn build(name: &str, version: Version, about: &str) -> Build {
    let path = PathBuf::from(format!("/opt/turnstile-test/bin/{name}"));
    Build { name: name.to_owned(), path, version, about: about.to_owned() }
}

/// A whole setting.
pub(crate) fn setting<'a>(server: &'a Server, arm: &'a Arm, build: &'a Build) -> Setting<'a> {
    Setting {
        server,
        arm,
        build,
        listen: "127.0.0.1:8000".parse().expect("an address"),
        origin: "127.0.0.1:9000".parse().ok(),
        dir: "/runs/a/proxy".into(),
        user: User::Root,
        open_files: 20_000,
    }
}
