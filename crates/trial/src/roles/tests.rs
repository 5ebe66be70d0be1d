use net::cpu::CpuList;
use records::{Arm, from_words};

use crate::options::LOOPBACK;

use super::*;

/// What a child is handed, which is all that there is to the role; but for our own id.
fn handed(role: RoleCommand) -> String {
    let [word, json] = role.words().expect("it is JSON");
    assert_eq!(word, PLAY);
    let played = RoleCommand::from_json(&json).expect(&json);
    assert_eq!(format!("{played:?}"), format!("{role:?}"), "nothing is lost on the way");
    json.replace(&format!("\"parent_pid\":{}", std::process::id()), "\"parent_pid\":OURS")
}

/// The toggles of the arm, and a place; a baseline has no bursts, and is made without the origin's faults.
#[test]
fn each_role_is_handed_its_toggles_and_its_place() {
    let words = "--reuseport --rcvbuf 40960 --workers 3 --read-policy time:2ms --slow 7 --slow-size \
                 1GiB --read-rate 10MiB/s --arrivals 20/s --fetch-size 64KiB --cap 2s \
                 --delay 300ms --origin-workers 5 --burst 100 --log-mode inline";
    let arm = from_words::<Arm>(&words.split_whitespace().collect::<Vec<_>>()).on(None);
    let target = SocketAddr::from(([127, 0, 0, 1], 8_000));
    let process = || RoleOptions::of_child(CpuList::new(vec![1]).as_ref());
    let proxy = |change: fn(&mut Arm)| {
        let mut arm = arm.clone();
        change(&mut arm);
        let options = ServerOptions {
            arm,
            given: Given { proxy_bin: Some("/opt/nginx".into()), ..Given::default() },
            upstream: Some(target),
            listen: SocketAddr::new(LOOPBACK, 0),
            dir: "runs/x y/proxy".into(),
            access_log: "runs/x y/access.log".into(),
            hold: Micros(5_000),
            pin: CpuList::new(vec![0, 2]),
            role: process(),
        };
        RoleCommand::proxy(options, Recording::Minimal)
    };
    let slow = |requests| RoleCommand::slow(&arm, target, requests, process());
    let length = Duration::from_millis(2_100);
    let fast = |phase| RoleCommand::fast(&arm, target, (phase, length), process());
    let origin = |arm: &Arm| RoleCommand::origin(arm, target, length.into(), process());
    let roles = [
        proxy(|_| {}),
        // Beside its log, unless it is told where.
        proxy(|arm| arm.proxy.buffering = BufferingMode::On),
        proxy(|arm| (arm.proxy.buffering, arm.proxy.spool) = (BufferingMode::On, Spool::Off)),
        proxy(|arm| arm.server.kind = ProxyKind::Server("nginx".to_owned())),
        slow(Requests::Held),
        slow(Requests::AtOnce),
        fast(Phase::Idle),
        fast(Phase::Measure),
        origin(&Arm::default()),
        origin(&arm),
    ];
    insta::assert_snapshot!(roles.map(handed).join("\n"));
}

#[test]
fn a_role_that_waits_for_its_parts_is_waited_for_longer() {
    const READY: Duration = Duration::from_secs(90);
    for (proxy, ready, end) in [
        ("mirror", Duration::ZERO, proxy::STOPPED_WITHIN),
        ("nginx", READY, servers::STOPPED_WITHIN),
        ("exec:x {listen}", READY, servers::STOPPED_WITHIN),
    ] {
        let ready_within = Some(READY.into());
        let kind = proxy.parse().expect("a proxy");
        let server = ServerToggles { kind, ready_within, ..ServerToggles::default() };
        let outer = timeouts(Role::Proxy, &server);
        assert!(outer.ready > ready && outer.end > end, "{proxy}: {outer:?}");
    }
    // And a server waits for its tracer.
    assert!(servers::ready_within(&ServerToggles::default()) > probe::ATTACHED_WITHIN);
    assert!(servers::STOPPED_WITHIN > probe::STOPPED_WITHIN);
}
