use std::fs;

use crate::check;
use crate::tests::arm;
use crate::toggles::Rule;

use super::*;

fn exec(command: &str) -> Result<Server, String> {
    Server::exec(command).map_err(|refusal| refusal.to_string())
}

#[test]
fn a_command_is_split_as_a_shell_quotes_it() {
    let cases: [(&str, &[&str]); 4] = [
        ("p {listen} b  c", &["{listen}", "b", "c"]),
        (r#"p {listen} "b \" \\ c" 'd  e'"#, &["{listen}", r#"b " \ c"#, "d  e"]),
        (r"p\ q -l{listen} b\ c \'", &["-l{listen}", "b c", "'"]),
        ("p {listen} '' \"\"", &["{listen}", "", ""]),
    ];
    for (command, args) in cases {
        assert_eq!(exec(command).expect("it is closed").args, args, "{command}");
    }
    for open in ["p {listen} 'a", "p {listen} \"a", "p {listen} \"a\\", "p {listen} a\\"] {
        assert!(exec(open).is_err_and(|why| why.contains("quotes")), "{open}");
    }
}

#[test]
fn a_command_that_is_told_no_port_chooses_one() {
    let chooses = |command: &str, env: &str| {
        let arm = arm(&format!("exec:{command}"), env);
        check::prepare(&arm, &Given::default()).map(|prepared| prepared.server.chooses_port())
    };
    for (command, env, chosen) in [
        ("sh --port 80", "--env HOST=x", true),
        ("sh --port {port}", "", false),
        ("sh -l {listen}", "", false),
        ("sh", "--env PORT={port}", false),
    ] {
        assert_eq!(chooses(command, env).ok(), Some(chosen), "{command} {env}");
    }
    assert!(exec("   ").is_err_and(|why| why.contains("it is empty")));
}

#[test]
fn a_file_of_ones_own_is_read_and_its_slips_are_named() {
    let dir = tempfile::TempDir::new().expect("a directory");
    let path = dir.path().join("own.toml");
    let kind = ProxyKind::Server("own".to_owned());
    let given = Given { server_file: Some(path.clone()), ..Given::default() };
    let read = |text: &str| {
        fs::write(&path, text).expect("written");
        Server::of(&kind, &given).map_err(|refusal| refusal.to_string())
    };
    let server = read("commands = ['own']\nargs = ['{listen}']").expect("it is valid");
    let server = server.expect("a server");
    assert_eq!((server.name.as_str(), server.workers.are), ("own", Are::Discovered));
    for (text, says) in [
        ("commands = 'own'", "invalid type"),
        ("comands = ['own']", "unknown field `comands`"),
        ("[toggles]\n--buffer = { txt = 'x' }", "unknown field `txt`"),
        ("[toggles]\n'--bufer 4' = {}", "--bufer 4 is no toggle: there are --workers "),
        ("[workers]\nare = 'fibres'", "unknown variant `fibres`"),
    ] {
        let refused = read(text).expect_err("a slip");
        assert!(refused.contains(says) && refused.contains("own.toml"), "{text}: {refused}");
    }
    fs::remove_file(&path).expect("ours");
    assert!(Server::of(&kind, &given).is_err());
    let refused = Server::of(&kind, &Given::default()).expect_err("it is not built in").to_string();
    assert!(refused.contains("--server-file"), "{refused}");
}

#[test]
fn a_file_must_have_a_name_of_its_own() {
    let envoy = Given { server_file: Some("/etc/servers/envoy.toml".into()), ..Given::default() };
    assert_eq!(envoy.kind(), Some(ProxyKind::Server("envoy".to_owned())));
    let command = Given { server: Some("own {port}".into()), ..Given::default() };
    assert_eq!(command.kind(), Some(ProxyKind::Exec("own {port}".to_owned())));
    let none = "no name of a server";
    for (file, says) in [
        ("nginx.toml", "nginx is built in"),
        ("mirror.toml", none),
        ("exec.toml", none),
        ("My Server.toml", none),
        (".toml", none),
    ] {
        assert!(server_file(file).is_err_and(|why| why.contains(says)), "{file}");
    }
}

/// Where the notes on toggles stand in the documentation.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/proxies.md");
const BEGIN: &str = "<!-- made from crates/servers/servers by UPDATE_DOCS=1 cargo test -p servers --lib notes -->\n";
const END: &str = "<!-- end of what is made -->\n";

/// The rows of the table, in the order of the page.
const ROWS: [&str; 14] = [
    "--workers",
    "--reuseport",
    "--rcvbuf",
    "--backlog",
    "--buffer",
    "--accept herd",
    "--multi-accept",
    "--buffering",
    "--spool off",
    "--spool DIR",
    "--spool-max",
    "--log-mode inline",
    "--content file",
    "--directive",
];

/// What a cell says of a rule.
fn note(rule: Option<&Rule>) -> String {
    match rule {
        None => "-".to_owned(),
        Some(rule) if rule.refused.is_some() => "-".to_owned(),
        Some(rule) if !rule.note.is_empty() => rule.note.clone(),
        Some(Rule { since: Some(since), .. }) => format!("from {since}"),
        Some(Rule { until: Some(until), .. }) => format!("before {until}"),
        Some(_) => "yes".to_owned(),
    }
}

fn row(name: &str, cells: impl Iterator<Item = String>) -> String {
    format!("| {name} | {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

fn table() -> String {
    let read = |(name, text)| Server::built_in(name, text).expect("it can be read");
    let servers = BUILT_IN.map(read);
    let mut table = row("toggle", servers.iter().map(|server| server.name.clone()));
    table += &format!("|{}\n", "---|".repeat(servers.len() + 1));
    for key in ROWS {
        let flag = key.split(' ').next().unwrap_or_default();
        let rule = |server: &Server| {
            let rules = &server.toggles;
            note(rules.get(key).or_else(|| rules.get(flag)))
        };
        table += &row(&format!("`{key}`"), servers.iter().map(rule));
    }
    let traced =
        |server: &Server| if server.workers.are.can_be_traced() { "yes" } else { "no" }.to_owned();
    table + &row("workers traced", servers.iter().map(traced))
}

/// The notes in `docs/proxies.md` are those of the files.
#[test]
fn notes_on_toggles_are_those_of_the_files() {
    let page = fs::read_to_string(PAGE).expect("the page");
    let (before, rest) = page.split_once(BEGIN).expect("where it begins");
    let (notes, after) = rest.split_once(END).expect("where it ends");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(PAGE, [before, BEGIN, &table(), END, after].concat()).expect("written");
    } else {
        assert_eq!(notes, table(), "UPDATE_DOCS=1 cargo test -p servers --lib notes");
    }
}
