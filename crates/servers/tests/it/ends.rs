//! However a server's role ends, nothing of its program is left.

use std::io::Read;

use serde_json::json;
use testkit::{Signal, await_gone, kill, until};

use crate::proxies::each;
use crate::support::{Server, asks, request};

#[test]
fn each_ends_with_its_role() {
    each(&[], |proxy| {
        for with in [Signal::TERM, Signal::INT, Signal::KILL] {
            let mut server = Server::start(asks(proxy, json!({})));
            // Sessions that are open do not hold it up.
            let mut stream = server.connect();
            request(&mut stream, "900000000");
            stream.read_exact(&mut [0; 1000]).expect("it begins");
            let family = server.family();
            assert!(!family.is_empty(), "{proxy}");
            server.end(with);
            await_gone(family);
        }
    });
}

#[test]
fn a_worker_that_dies_ends_the_role_and_is_quoted_with_none() {
    each(&["nginx"], |proxy| {
        let mut server = Server::start(asks(proxy, json!({})));
        let family = server.family();
        kill(server.workers().next().expect("a worker"), Signal::KILL);
        let said = server.finish();
        assert_eq!(said.code(), Some(1), "{}", said.stderr);
        let last = said.stderr.lines().last().unwrap_or_default();
        assert!(last.ends_with("a worker of it ended unasked"), "{}", said.stderr);
        await_gone(family);
    });
}

#[test]
fn neither_stopped_workers_nor_files_outlive_a_killed_role() {
    each(&["nginx"], |proxy| {
        let asked = json!({"content": "file", "slow_size": 2 << 20, "fetch_size": 70_000});
        let mut server = Server::start(asks(proxy, asked));
        let (family, www) = (server.family(), server.dir.path().join("www"));
        assert!(www.exists());
        server.workers().for_each(|worker| kill(worker, Signal::STOP));
        // The master first: nobody else would tell its workers.
        kill(family[1], Signal::STOP);
        server.end(Signal::KILL);
        await_gone(family);
        until("the end of its files", || (!www.exists()).then_some(()));
    });
}
