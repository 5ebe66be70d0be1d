//! What is written reads back, and what is asked for.

use super::*;

#[test]
fn what_is_written_reads_back() {
    for (text, value) in [
        ("default", Rcvbuf::Default),
        ("auto", Rcvbuf::Auto),
        ("40KiB", Rcvbuf::Size(Bytes(40_960))),
        ("1MiB", Rcvbuf::Size(Rcvbuf::ROOMY)),
    ] {
        assert_eq!(text.parse(), Ok(value));
        assert_eq!(value.to_string(), text);
    }
    assert!("lots".parse::<Rcvbuf>().is_err());
}

#[test]
fn only_the_mirror_asks_unasked() {
    let nginx = ProxyKind::Server("nginx".to_owned());
    assert_eq!(Rcvbuf::Default.asked(&ProxyKind::Mirror), Some(Rcvbuf::ROOMY));
    assert_eq!(Rcvbuf::Default.asked(&nginx), None);
    assert_eq!(Rcvbuf::Auto.asked(&ProxyKind::Mirror), None);
    assert_eq!(Rcvbuf::Size(Bytes(1)).asked(&nginx), Some(Bytes(1)));
}

#[test]
fn a_host_that_gives_less_leaves_the_default_to_the_kernel() {
    let (small, large) = (Some(Bytes(212_992)), Some(Rcvbuf::ROOMY));
    assert_eq!(Rcvbuf::Default.within(small), Rcvbuf::Auto);
    assert_eq!(Rcvbuf::Default.within(large), Rcvbuf::Default);
    assert_eq!(Rcvbuf::Default.within(None), Rcvbuf::Default);
    let asked = Rcvbuf::Size(Bytes::mib(4));
    assert_eq!(
        asked.within(small),
        asked,
        "the kernel caps what was asked for, and the manifest tells"
    );
}
