use std::process::Command;

use clap::Parser;
use testkit::{Running, listen};

use super::*;

fn row(pid: u32, parent: u32, comm: &str) -> Row {
    Row { pid, parent, started: u64::from(pid) * 10, comm: comm.to_owned() }
}

fn watched(table: &[Row], comms: &[&str]) -> Processes {
    let comms = comms.iter().map(ToString::to_string).collect();
    let known = table.iter().take(1).map(keyed).collect();
    Processes { comms, known }
}

/// Those that a command line names.
fn find(words: &[&str]) -> anyhow::Result<Processes> {
    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        options: WhoOptions,
    }
    Processes::find(&Cli::parse_from(["who"].iter().chain(words)).options)
}

fn told(changes: Vec<Change>) -> Vec<(u32, ChangeKind)> {
    changes.into_iter().map(|change| (change.pid, change.change)).collect()
}

#[test]
fn what_is_forked_is_watched_and_what_has_ended_is_told() {
    let mut table = vec![row(10, 1, "nginx"), row(99, 1, "sh")];
    let mut processes = watched(&table, &[]);
    assert_eq!(told(processes.take(table.clone())), []);
    // A child before its parent in the table.
    table.extend([row(12, 11, "nginx"), row(11, 10, "nginx"), row(100, 99, "nginx")]);
    let found = [(11, ChangeKind::Found), (12, ChangeKind::Found)];
    assert_eq!(told(processes.take(table.clone())), found);
    table[0].comm = "caddy".to_owned();
    let renamed = ChangeKind::Renamed("nginx".to_owned());
    assert_eq!(told(processes.take(table.clone())), [(10, renamed)]);
    table.retain(|row| row.pid != 11);
    assert_eq!(told(processes.take(table.clone())), [(11, ChangeKind::Ended)]);
    // The kernel gave the number to another.
    table[0] = Row { started: 7, ..row(10, 1, "cron") };
    assert_eq!(told(processes.take(table)), [(10, ChangeKind::Ended)]);
    assert_eq!(processes.ids(), [12]);
    assert_eq!(told(processes.take(Vec::new())), [(12, ChangeKind::Ended)]);
}

#[test]
fn a_process_of_a_chosen_name_is_watched_when_it_comes() {
    let table = [row(10, 1, "nginx"), row(99, 1, "nginx"), row(98, 1, "sh")];
    let mut processes = watched(&table, &["nginx"]);
    assert_eq!(told(processes.take(table.to_vec())), [(99, ChangeKind::Found)]);
    assert_eq!((processes.name(99), processes.name(98)), (Some("nginx"), None));
}

#[test]
fn living_processes_are_found_by_id_and_by_name() {
    let sleep = Running::start(Command::new("sleep").arg("60"));
    let processes = find(&["--pid", &sleep.id().to_string()]).expect("it runs");
    assert_eq!(processes.ids(), [sleep.id()]);
    let processes = testkit::until("its name", || find(&["--comm", "sleep"]).ok());
    assert!(processes.ids().contains(&sleep.id()));
}

#[test]
fn who_listens_on_a_port_is_found_and_so_is_its_queue() {
    let (_listener, addr) = listen();
    let table = [row(std::process::id(), 1, "test"), row(1 << 22, 1, "none")];
    let found = listening_on(addr.port(), &table).expect("we do");
    assert_eq!(found, [std::process::id()]);
    let mut queues = crate::who::queues::Queues::open();
    queues.learn(&found);
    let _client = std::net::TcpStream::connect(addr).expect("a connection");
    let queue = testkit::until("a connection that waits", || {
        let look = queues.look();
        look.listeners.into_iter().find(|queue| queue.addr == addr && queue.queue == 1)
    });
    assert!(queues.look().of[&std::process::id()].contains(&queue.inode));
}
