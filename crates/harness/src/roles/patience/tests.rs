use super::*;

#[test]
fn who_has_parts_to_wait_for_speaks_before_its_supervisor() {
    for (role, proxy, ready, end) in [
        (Role::Trace, "mirror", tracer::READY_WITHIN, tracer::STOPPED_WITHIN),
        (Role::Proxy, "mirror", Duration::ZERO, proxy::STOPPED_WITHIN),
        (Role::Proxy, "nginx", peer::READY_WITHIN, peer::STOPPED_WITHIN),
        (Role::Proxy, "exec:x {listen}", peer::READY_WITHIN, peer::STOPPED_WITHIN),
    ] {
        let outer = patience(role, &proxy.parse().expect("a proxy"));
        assert!(outer.ready > ready && outer.end > end, "{role}, {proxy}: {outer:?}");
    }
    // And a peer waits for its tracer.
    assert!(peer::READY_WITHIN > tracer::ATTACHED_WITHIN);
    assert!(peer::STOPPED_WITHIN > tracer::STOPPED_WITHIN);
}

#[test]
fn our_own_are_not_waited_for_as_long() {
    let own = patience(Role::Fast, &ProxyKind::Nginx);
    assert_eq!(own, patience(Role::Origin, &ProxyKind::Mirror));
    assert!(own.end < patience(Role::Proxy, &ProxyKind::Nginx).end);
}
