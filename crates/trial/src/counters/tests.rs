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
    /// Whatever stands around them, and wherever they stand in their line.
    #[test]
    fn each_has_the_value_below_its_name(
        values in prop::collection::vec(any::<u64>(), WATCHED.len()),
        others in prop::collection::vec(("[A-Z][a-zA-Z]{0,12}", any::<i64>()), 0..20),
        at in any::<prop::sample::Index>(),
    ) {
        let mut columns: Vec<(String, String)> = others
            .into_iter()
            .map(|(name, value)| (format!("Other{name}"), value.to_string()))
            .collect();
        let at = at.index(columns.len() + 1);
        let mut expected = Vec::new();
        for (name, value) in WATCHED.iter().zip(values) {
            if let Some(name_in_group) = name.strip_prefix("TcpExt.") {
                columns.insert(at, (name_in_group.to_owned(), value.to_string()));
                expected.push((*name, value));
            }
        }
        let (names, values): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let text = format!("TcpExt: {}\nTcpExt: {}\n", names.join(" "), values.join(" "));
        let mut found = watched(&text);
        found.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in "(TcpExt|Tcp|[a-zA-Z: \n0-9.-]){0,60}") {
        watched(&text);
    }
}
