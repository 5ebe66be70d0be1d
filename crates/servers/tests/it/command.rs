//! Any command as a proxy, in the foreground and elsewhere.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::Path;

use serde_json::json;
use testkit::{Running, Signal, await_gone, installed, kill, read_head, say, script, serve, until};

use crate::support::{SERVER, Server, asks, command};

/// The number in the file `pid`, once it is there.
fn pid_in(dir: &Path) -> u32 {
    until("a process id", || fs::read_to_string(dir.join("pid")).ok()?.parse().ok())
}

#[test]
fn a_command_is_run_with_its_places_filled_in() {
    if !installed("python3") {
        return;
    }
    let dir = tempfile::TempDir::new().expect("a directory");
    let server = script(dir.path(), "server.py", SERVER);
    let template =
        format!("exec:{} {{listen}} 'two words' {{workers}} {{origin}}", server.display());
    let mut server = Server::start(asks(&template, json!({"workers": 3})));
    assert_eq!(server.file("argv"), "['two words', '3']");
    assert_eq!(server.ready.visibility, records::Visibility::ClientsOnly);
    assert_eq!(server.ready.worker_tids.len(), 1, "its one thread that polls");
    let family = server.family();
    server.stop();
    await_gone(family);
}

/// Runs `template`, with `SERVER` for the server's file, and expects that it is refused.
fn is_refused(template: &str, says: &[&str]) {
    if !installed("python3") || !installed("setsid") {
        return;
    }
    let (dir, elsewhere) =
        (tempfile::TempDir::new().expect("a directory"), tempfile::TempDir::new().expect("one"));
    let server = script(elsewhere.path(), "server.py", SERVER);
    let template = template.replace("SERVER", &server.display().to_string());
    let mut command = command(asks(&template, json!({})), dir.path());
    let said = say(&mut command).refused(1);
    for part in says {
        assert!(said.contains(part), "{template}: no {part:?} in {said}");
    }
    // It was told to end, and where it had got by then is all the same.
    if let Ok(pid) = fs::read_to_string(dir.path().join("pid")) {
        await_gone([pid.parse().expect("a number")]);
    }
}

#[test]
fn a_command_that_goes_into_the_background_is_refused() {
    let says = ["into the background as process", "keeps it in the foreground"];
    is_refused("exec:setsid -f SERVER {listen}", &says);
    is_refused("exec:SERVER {listen} daemon", &says);
    // The one that stays does not accept: it is known who does.
    let says = [says[0], "server.py", says[1]];
    is_refused("exec:sh -c 'setsid -f SERVER \"$0\"; exec sleep 600' {listen}", &says);
}

#[test]
fn what_a_command_put_into_the_background_ends_with_its_role_or_its_subreaper() {
    if !installed("python3") || !installed("setsid") {
        return;
    }
    // `None`: the subreaper is killed.
    for with in [Some(Signal::TERM), Some(Signal::INT), Some(Signal::KILL), None] {
        let elsewhere = tempfile::TempDir::new().expect("a directory");
        let server = script(elsewhere.path(), "server.py", SERVER);
        let template = format!(
            "exec:sh -c 'setsid -f sh -c \"echo \\$\\$ > beside; exec sleep 600\"; exec {} \"$0\"' \
             {{listen}}",
            server.display()
        );
        let mut server = Server::start(asks(&template, json!({})));
        let beside =
            until("what is beside it", || server.file("beside").trim().parse::<u32>().ok());
        let family = server.family();
        let serving = pid_in(server.dir.path());
        assert!([beside, serving].iter().all(|pid| family.contains(pid)), "{family:?}");
        match with {
            Some(signal) => drop(server.end(signal)),
            None => {
                kill(family[0], Signal::KILL);
                let said = server.finish();
                assert_eq!(said.code(), Some(1), "{}", said.stderr);
                assert!(said.stderr.contains("ended unasked"), "{}", said.stderr);
            }
        }
        await_gone(family);
    }
}

#[test]
fn who_accepts_in_its_place_is_named_and_left_alone() {
    let dir = tempfile::TempDir::new().expect("a directory");
    let template = "exec:sh -c 'echo \"$0\" > address; exec sleep 600' {listen}";
    let mut command = command(asks(template, json!({})), dir.path());
    let mut server = Running::start(&mut command);
    let address = until("its address", || {
        let address = fs::read_to_string(dir.path().join("address")).ok()?;
        address.strip_suffix('\n').map(str::to_owned)
    });
    // This very process, which is none of the command's.
    let listener = TcpListener::bind(address).expect("nobody else has it");
    serve(listener, |_, mut stream| {
        read_head(&stream);
        // Whoever asked may have gone.
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
    });
    let said = server.finish().refused(1);
    let own = format!("process {} ", std::process::id());
    assert!(said.contains(&own) && said.contains("none of its"), "{said}");
}
