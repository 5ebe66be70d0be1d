//! A lab on its own: `cargo run -p netlab -- up`.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;

use clap::Parser;
use net::role::{self, Failure};
use net::stop::{self, Next};
use netlab::{EnterOptions, Lab, LabError, LabPlan, LinkRate, Orphan, Sysctl, enter};
use records::Micros;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::emulate_default_handler;

/// Hosts in network namespaces, for as long as this runs.
#[derive(Parser)]
#[command(
    version,
    after_help = "\
Examples:
  netlab up --rate 1Gbit/s --sysctl 'proxy:net.ipv4.tcp_rmem=40960 40960 40960'
  nsenter --net=NET_PATH ip address     (NET_PATH: as printed)"
)]
enum Cli {
    /// Build a lab, print what the kernel made of it, and keep it until standard input ends or a signal
    /// comes
    Up(UpOptions),
    /// Run a program inside a namespace: what a lab starts
    #[command(name = netlab::Program::ENTER, hide = true)]
    Enter(EnterOptions),
}

#[derive(clap::Args)]
struct UpOptions {
    /// The hosts, in the order of their addresses
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "origin,proxy,slow,fast"
    )]
    hosts: Vec<String>,

    /// What each link carries at most in each direction, as 1Gbit/s [default: no limit]
    #[arg(long, value_name = "RATE")]
    rate: Option<LinkRate>,

    /// What a packet takes from any host to any other, as 1ms [default: no delay]
    #[arg(long, value_name = "TIME")]
    delay: Option<Micros>,

    /// A setting of one host
    #[arg(long, value_name = "HOST:NAME=VALUE", value_parser = host_sysctl)]
    sysctl: Vec<(String, Sysctl)>,
}

fn main() -> ExitCode {
    match Cli::parse() {
        Cli::Up(options) => role::finish("netlab", up(&options), failure),
        Cli::Enter(options) => enter(&options),
    }
}

fn up(options: &UpOptions) -> Result<(), LabError> {
    let mut plan = LabPlan::of(options.hosts.iter().map(String::as_str));
    plan.rate = options.rate;
    plan.delay = options.delay;
    for (host, sysctl) in &options.sysctl {
        let host = plan.host_mut(host).ok_or_else(|| LabError::NoSuchHost(host.clone()))?;
        host.sysctls.push(sysctl.clone());
    }
    let (sender, ends) = mpsc::channel();
    let by_signal = sender.clone();
    // Without handlers a signal ends this process at once, and the namespaces with it.
    let _ = stop::on_signals(&[SIGHUP, SIGINT, SIGTERM], move |signal| {
        by_signal.send(Some(signal)).map_or(Next::Unheard, |()| Next::Wait)
    });
    let lab = Lab::up(&plan)?;
    let mut line = serde_json::to_vec(&lab.read_back()?).unwrap_or_default();
    line.push(b'\n');
    // A reader that has gone has closed standard input too, or soon will.
    let _ = io::stdout().lock().write_all(&line).and_then(|()| io::stdout().flush());
    thread::spawn(move || {
        let _ = io::stdin().lock().read_to_end(&mut Vec::new());
        sender.send(None)
    });
    let signal = ends.recv().ok().flatten();
    for Orphan { host, pid, command } in lab.down() {
        say(&format!("ended {pid} ({command}) on host {host}"));
    }
    if let Some(signal) = signal {
        // It is one that ends a process.
        let _ = emulate_default_handler(signal);
    }
    Ok(())
}

fn failure(error: &LabError) -> Failure {
    match error {
        LabError::Plan(_) | LabError::NoSuchHost(_) => Failure::Usage,
        _ => Failure::Trouble,
    }
}

fn say(text: &str) {
    // Nobody may be listening: that changes nothing.
    let _ = writeln!(io::stderr(), "netlab: {text}");
}

fn host_sysctl(text: &str) -> Result<(String, Sysctl), String> {
    let (host, sysctl) = text.split_once(':').ok_or("write it as proxy:net.ipv4.tcp_rmem=1 2 3")?;
    Ok((host.to_owned(), sysctl.parse().map_err(|e: netlab::PlanError| e.to_string())?))
}
