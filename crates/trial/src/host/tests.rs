use proptest::prelude::*;

use super::*;

const NETSTAT: &str = "\
TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPTimeouts
TcpExt: 5 7 11 13
IpExt: InNoRoutes ListenOverflows
IpExt: 17 19
";
const SNMP: &str = "\
Tcp: RtoAlgorithm MaxConn RetransSegs InErrs
Tcp: 1 -1 23 0
";

#[test]
fn counters_are_found_by_group_and_name() {
    let found =
        [("TcpExt.ListenOverflows", 7), ("TcpExt.ListenDrops", 11), ("TcpExt.TCPTimeouts", 13)];
    assert_eq!(watched(NETSTAT), found);
    assert_eq!(watched(SNMP), [("Tcp.RetransSegs", 23)]);
}

#[test]
fn this_kernel_has_all_that_is_watched() {
    let counters = Counters::read();
    for name in WATCHED {
        assert!(counters.0.contains_key(name), "{name}");
    }
    // A counter never goes back.
    let later = Counters::read();
    assert!(counters.until(&later).values().all(|span| span.after >= span.before));
}

#[test]
fn what_was_not_read_twice_is_left_out() {
    let at = |counters: &[(&'static str, u64)]| Counters(counters.iter().copied().collect());
    let before = at(&[("TcpExt.ListenDrops", 3), ("TcpExt.TCPTimeouts", 4)]);
    let after = at(&[("TcpExt.ListenDrops", 5), ("Tcp.RetransSegs", 6)]);
    let span = CounterSpan { before: 3, after: 5 };
    assert_eq!(before.until(&after), [("TcpExt.ListenDrops".to_owned(), span)].into());
    assert_eq!(before.until(&Counters::default()), BTreeMap::new());
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in "(TcpExt|Tcp|[a-zA-Z: \n0-9.-]){0,60}") {
        watched(&text);
    }
}

#[test]
fn our_own_time_is_counted_and_grows() {
    let program = std::env::current_exe().expect("our file").canonicalize().expect("a file");
    let first = used_ms(std::process::id(), &program).expect("we are there");
    let mut spun = 0_u64;
    while used_ms(std::process::id(), &program).expect("we are there") == first {
        for _ in 0..1_000_000 {
            spun = std::hint::black_box(spun + 1);
        }
    }
    // A process that runs something else does not count.
    let other = Path::new("/nowhere/nginx");
    assert_eq!(used_ms(std::process::id(), other), None);
}
