//! A lab on its own: `cargo run -p netlab -- up`.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use clap::Parser;
use net::role::{self, Failure};
use netlab::{
    EnterOptions, HolderOptions, Lab, LabError, LabPlan, LinkRate, Sysctl, enter, hold, leftovers,
};
use records::Micros;

/// Hosts in network namespaces, for as long as this runs.
#[derive(Parser)]
#[command(
    version,
    after_help = "\
Examples:
  netlab up --rate 1Gbit/s --sysctl 'proxy:net.ipv4.tcp_rmem=40960 40960 40960'
  nsenter --net=/proc/HOLDER/ns/net ip address     (HOLDER: as printed)"
)]
enum Cli {
    /// Build a lab, print what the kernel made of it, and keep it until standard input ends
    Up(UpOptions),
    /// Tell of holders that an earlier lab has left, and end them
    Clean,
    /// Hold a namespace: what a lab starts
    #[command(name = netlab::Program::HOLD, hide = true)]
    Hold(HolderOptions),
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
        Cli::Clean => role::finish("netlab", clean(), |_| Failure::Trouble),
        Cli::Hold(options) => hold(&options),
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
    let lab = Lab::up(&plan)?;
    let mut line = serde_json::to_vec(&lab.read_back()?).unwrap_or_default();
    line.push(b'\n');
    // A reader that has gone has closed standard input too, or soon will.
    let _ = io::stdout().lock().write_all(&line).and_then(|()| io::stdout().flush());
    let _ = io::stdin().lock().read_to_end(&mut Vec::new());
    for (host, stray) in lab.down() {
        say(&format!("ended {} ({}) on host {host}", stray.pid, stray.command));
    }
    Ok(())
}

fn clean() -> io::Result<()> {
    for left in leftovers() {
        say(&format!("ended holder {} of host {}, left by {}", left.pid, left.host, left.owner));
        for stray in left.end()? {
            say(&format!("ended {} ({}) inside", stray.pid, stray.command));
        }
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
