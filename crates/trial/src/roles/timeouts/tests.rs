use super::*;

#[test]
fn who_has_parts_to_wait_for_speaks_before_its_supervisor() {
    for (role, proxy, ready, end) in [
        (Role::Trace, "mirror", tracer::READY_WITHIN, tracer::STOPPED_WITHIN),
        (Role::Proxy, "mirror", Duration::ZERO, proxy::STOPPED_WITHIN),
        (Role::Proxy, "nginx", servers::READY_WITHIN, servers::STOPPED_WITHIN),
        (Role::Proxy, "exec:x {listen}", servers::READY_WITHIN, servers::STOPPED_WITHIN),
    ] {
        let outer = timeouts(role, &proxy.parse().expect("a proxy"));
        assert!(outer.ready > ready && outer.end > end, "{role}, {proxy}: {outer:?}");
    }
    // And a server waits for its tracer.
    assert!(servers::READY_WITHIN > tracer::ATTACHED_WITHIN);
    assert!(servers::STOPPED_WITHIN > tracer::STOPPED_WITHIN);
}

#[test]
fn our_own_are_not_waited_for_as_long() {
    let nginx = ProxyKind::Server("nginx".to_owned());
    let own = timeouts(Role::Fast, &nginx);
    assert_eq!(own, timeouts(Role::Origin, &ProxyKind::Mirror));
    assert!(own.end < timeouts(Role::Proxy, &nginx).end);
}
