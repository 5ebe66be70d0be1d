use net::cpu::CpuList;
use records::{Arm, Rcvbuf, from_words};

use crate::options::LOOPBACK;

use super::*;

/// What a child makes of the words that it is started with.
fn played(role: RoleCommand) -> RoleCommand {
    let [word, json] = role.words().expect("it is JSON");
    assert_eq!(word, PLAY);
    let played = RoleCommand::from_json(&json).expect(&json);
    assert_eq!(format!("{played:?}"), format!("{role:?}"), "nothing is lost on the way");
    played
}

fn process() -> RoleOptions {
    RoleOptions::of_child(CpuList::new(vec![1]).as_ref())
}

fn target() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 8_000))
}

fn arm() -> Arm {
    let words = "--reuseport --rcvbuf 40960 --workers 3 --read-policy time:2ms --slow 7 --slow-size \
                 1GiB --read-rate 10MiB/s --arrivals 20/s --fetch-size 64KiB --cap 2s \
                 --delay 300ms --origin-workers 5 --burst 100 --log-mode inline";
    from_words::<Arm>(&words.split_whitespace().collect::<Vec<_>>()).on(None)
}

fn setup(arm: Arm) -> ServerOptions {
    ServerOptions {
        arm,
        given: Given { proxy_bin: Some("/opt/nginx".into()), ..Given::default() },
        upstream: Some(target()),
        listen: SocketAddr::new(LOOPBACK, 0),
        dir: "runs/x y/proxy".into(),
        access_log: Some("runs/x y/access.log".into()),
        hold: Micros(5_000),
        pin: CpuList::new(vec![0, 2]),
        role: process(),
    }
}

#[test]
fn a_proxy_gets_its_toggles_and_its_place() {
    let setup = setup(arm());
    let proxy = RoleCommand::proxy(setup.clone(), Recording::Minimal);
    let RoleCommand::Proxy(options) = played(proxy) else { panic!("another role") };
    assert_eq!(options.toggles, arm().proxy);
    assert_eq!(options.toggles.rcvbuf, Rcvbuf::Size(records::Bytes(40_960)));
    assert_eq!((options.upstream, options.listen), (target(), setup.listen));
    assert_eq!((options.hold, options.access_log), (setup.hold, setup.access_log));
    assert_eq!((options.pin, options.recording), (setup.pin, Recording::Minimal));
    assert_eq!(options.role.cpus, CpuList::new(vec![1]));
    assert_eq!(options.role.parent_pid, i32::try_from(std::process::id()).ok());
}

#[test]
fn a_mirror_that_buffers_spools_beside_its_log() {
    let mut arm = arm();
    arm.proxy.buffering = BufferingMode::On;
    let spool = |arm: &Arm| match RoleCommand::proxy(setup(arm.clone()), Recording::Full) {
        RoleCommand::Proxy(options) => options.toggles.spool,
        other => panic!("another role: {other:?}"),
    };
    assert_eq!(spool(&arm), Spool::Dir("runs/x y".into()));
    arm.proxy.spool = Spool::Off;
    assert_eq!(spool(&arm), Spool::Off, "as it was told");
}

#[test]
fn a_foreign_proxy_gets_the_arm_and_its_build() {
    let mut arm = arm();
    arm.server.kind = ProxyKind::Server("nginx".to_owned());
    let setup = setup(arm);
    let proxy = RoleCommand::proxy(setup.clone(), Recording::Full);
    let RoleCommand::Server(options) = played(proxy) else { panic!("another role") };
    assert_eq!((options.arm, options.given, options.dir), (setup.arm, setup.given, setup.dir));
}

#[test]
fn clients_and_the_origin_get_their_toggles_and_their_place() {
    for (requests, hold) in [(Requests::Held, true), (Requests::AtOnce, false)] {
        let role = RoleCommand::slow(&arm(), target(), requests, process());
        let RoleCommand::Slow(options) = played(role) else { panic!("another role") };
        assert_eq!((&options.toggles, options.hold, options.orders), (&arm().load, hold, true));
        assert_eq!((options.target.target, options.target.own_network), (target(), false));
    }
    for (phase, burst) in [(Phase::Idle, 1), (Phase::Measure, 100)] {
        let length = Duration::from_millis(2_100);
        let role = RoleCommand::fast(&arm(), target(), (phase, length), process());
        let RoleCommand::Fast(options) = played(role) else { panic!("another role") };
        assert_eq!((options.toggles, options.target.target), (arm().fetch, target()));
        assert_eq!((options.phase, options.burst), (phase, burst), "a baseline has no bursts");
        assert_eq!(options.duration, Micros(2_100_000));
    }
    let usual = (Micros(0), Micros(0), None);
    let delayed = (Micros(300_000), Micros(3_000_000), Some(5));
    for (arm, expected) in [(Arm::default(), usual), (arm(), delayed)] {
        let role = RoleCommand::origin(&arm, target(), Duration::from_secs(3), process());
        let RoleCommand::Origin(options) = played(role) else { panic!("another role") };
        assert_eq!(options.listen, target());
        let faults = (options.delay, options.delay_after, options.workers);
        assert_eq!(faults, expected, "the baseline is made without it");
    }
}

#[test]
fn a_role_that_waits_for_its_parts_is_waited_for_longer() {
    const READY: Duration = Duration::from_secs(90);
    for (role, proxy, ready, end) in [
        (Role::Proxy, "mirror", Duration::ZERO, proxy::STOPPED_WITHIN),
        (Role::Proxy, "nginx", READY, servers::STOPPED_WITHIN),
        (Role::Proxy, "exec:x {listen}", READY, servers::STOPPED_WITHIN),
    ] {
        let ready_within = Some(READY.into());
        let kind = proxy.parse().expect("a proxy");
        let server = ServerToggles { kind, ready_within, ..ServerToggles::default() };
        let outer = timeouts(role, &server);
        assert!(outer.ready > ready && outer.end > end, "{role}, {proxy}: {outer:?}");
    }
    // And a server waits for its tracer.
    assert!(servers::ready_within(&ServerToggles::default()) > probe::ATTACHED_WITHIN);
    assert!(servers::STOPPED_WITHIN > probe::STOPPED_WITHIN);
}
