use std::time::Duration;

use clap::Parser;
use records::Bytes;

use super::*;

/// The subcommands as a child sees them.
#[derive(Parser)]
struct Child {
    #[command(subcommand)]
    command: RoleCommand,
}

fn parse(role: Role, args: Vec<String>) -> RoleCommand {
    let cpus = CpuList::new(vec![1]);
    let words = role_args(role.name(), args, cpus.as_ref());
    let child = Child::try_parse_from(std::iter::once("turnstile".to_owned()).chain(words));
    let command = child.unwrap_or_else(|error| panic!("{error}")).command;
    assert_eq!(command.role(), role);
    command
}

fn target() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 8_000))
}

fn toggles() -> Toggles {
    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        toggles: Toggles,
    }
    let words = "x --reuseport --rcvbuf 40960 --workers 3 --read-policy time:2ms --slow 7 --slow-size \
                 1GiB --sink copy --read-rate 10MiB/s --arrivals 20/s --fetch-size 64KiB --cap 2s \
                 --think 300ms --origin-workers 5 --burst 100 --log-mode inline";
    Typed::parse_from(words.split_whitespace()).toggles
}

#[test]
fn a_proxy_gets_its_toggles_and_its_place() {
    let workers = CpuList::new(vec![0, 2]);
    let log = Path::new("runs/x y/access.log");
    let setup = ProxySetup {
        listen: LOOPBACK,
        upstream: target(),
        access_log: log,
        dir: Path::new("runs/x y/proxy"),
        hold: Micros(5_000),
        recording: Recording::Full,
        workers: workers.as_ref(),
    };
    let args = toggles().proxy_args(setup);
    assert!(!args.iter().any(|word| word == "--recording"), "only what is not usual: {args:?}");
    let RoleCommand::Proxy(options) = parse(Role::Proxy, args) else { panic!("another role") };
    assert_eq!(options.toggles, toggles().proxy);
    assert_eq!((options.upstream, options.hold), (target(), Micros(5_000)));
    assert_eq!(options.access_log.as_deref(), Some(log));
    assert_eq!(options.pin, workers);
    assert_eq!(options.role.cpus, CpuList::new(vec![1]));
    assert_eq!(options.role.parent_pid, i32::try_from(std::process::id()).ok());

    let setup = ProxySetup { recording: Recording::Minimal, ..setup };
    let args = toggles().proxy_args(setup);
    let RoleCommand::Proxy(options) = parse(Role::Proxy, args) else { panic!("another role") };
    assert_eq!(options.recording, Recording::Minimal);
}

#[test]
fn a_slow_client_gets_its_toggles_and_holds_when_told() {
    for (requests, hold) in [(Requests::Held, true), (Requests::AtOnce, false)] {
        let args = toggles().slow_args(target(), requests);
        let RoleCommand::Slow(options) = parse(Role::Slow, args) else { panic!("another role") };
        assert_eq!(options.toggles, toggles().slow);
        assert_eq!(options.target.target, target());
        assert_eq!((options.orders, options.hold), (true, hold));
    }
}

#[test]
fn a_fast_client_gets_its_toggles_and_its_phase() {
    for (phase, burst) in [(Phase::Idle, 1), (Phase::Measure, 100)] {
        let args = toggles().fast_args(target(), phase, Duration::from_millis(2_100));
        let RoleCommand::Fast(options) = parse(Role::Fast, args) else { panic!("another role") };
        assert_eq!(options.toggles, toggles().fetch);
        assert_eq!(options.target.target, target());
        assert_eq!(options.duration, Micros(2_100_000));
        assert_eq!((options.phase, options.burst), (phase, burst), "a baseline has no bursts");
    }
}

#[test]
fn an_origin_gets_its_faults_and_a_free_port_of_this_host() {
    let idle = Duration::from_secs(3);
    let RoleCommand::Origin(options) = parse(Role::Origin, toggles().origin_args(LOOPBACK, idle))
    else {
        panic!("another role")
    };
    assert_eq!(options.listen, SocketAddr::from(([127, 0, 0, 1], 0)));
    assert_eq!((options.think, options.workers), (Micros(300_000), Some(5)));
    assert_eq!(options.think_after, Micros(3_000_000), "the baseline is made without it");
    let usual = parse(Role::Origin, Toggles::default().origin_args(LOOPBACK, idle));
    let RoleCommand::Origin(options) = usual else { panic!("another role") };
    assert_eq!((options.think, options.workers), (Micros(0), None));
}

#[test]
fn no_fault_is_the_default() {
    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        toggles: Toggles,
    }
    assert_eq!(Typed::parse_from(["x"]).toggles, Toggles::default());
}

#[test]
fn the_mirror_has_roomy_upstream_buffers_unless_told_otherwise() {
    let asked = |words: &str| {
        #[derive(Parser)]
        struct Typed {
            #[command(flatten)]
            toggles: Toggles,
        }
        let toggles = Typed::parse_from(words.split(' ')).toggles;
        toggles.arm(Placement::default(), Pin::default()).rcvbuf
    };
    assert_eq!(asked("x"), Some(Rcvbuf::ROOMY));
    assert_eq!(asked("x --rcvbuf 40960"), Some(Bytes(40_960)));
    assert_eq!(asked("x --rcvbuf auto"), None);
    assert_eq!(asked("x --proxy nginx"), None, "its own affair");
    assert_eq!(asked("x --proxy nginx --rcvbuf 40960"), Some(Bytes(40_960)));
    let host = "x --netns --tcp-rmem 40960,40960,40960";
    assert_eq!(asked(host), None, "what the host was set to must rule");
}

#[test]
fn a_host_with_buffers_of_its_own_leaves_the_mirrors_to_the_kernel() {
    let network = NetworkToggles {
        netns: true,
        tcp_rmem: Some("40960,40960,40960".to_owned()),
        ..NetworkToggles::default()
    };
    let toggles = Toggles { network, ..Toggles::default() };
    let args = toggles.proxy_args(ProxySetup {
        listen: LOOPBACK,
        upstream: target(),
        access_log: Path::new("access.log"),
        dir: Path::new("run"),
        hold: Micros(10_000),
        recording: Recording::default(),
        workers: None,
    });
    let RoleCommand::Proxy(options) = parse(Role::Proxy, args) else { panic!("another role") };
    assert_eq!(options.toggles.rcvbuf, Rcvbuf::Auto);
}

/// What stands in the runs of fixtures is what is run by default.
#[test]
fn fixtures_have_the_default_arm() {
    let arm = Toggles::default().arm(Placement::Spread, Pin::Auto);
    let mut run = testkit::fixture::Run::new();
    assert_eq!(*run.arm(), Arm { reuseport: true, slow: 0, ..arm });
}
