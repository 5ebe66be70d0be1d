use clap::Parser;
use records::Arm;

use super::{NetworkOptions, sysctl};

#[derive(Debug, Parser)]
struct Typed {
    #[command(flatten)]
    network: NetworkOptions,
}

fn typed(line: &str) -> Result<NetworkOptions, clap::Error> {
    let words = std::iter::once("x").chain(line.split_whitespace());
    Typed::try_parse_from(words).map(|typed| typed.network)
}

#[test]
fn settings_are_the_proxys_alone() {
    let asked = typed(
        "--netns --sysctl net.ipv4.tcp_rmem=40960,40960,40960 --sysctl net.ipv4.tcp_tw_reuse=1 \
         --sysctl net.ipv4.ip_local_port_range=20000,20019",
    );
    let network = asked.unwrap();
    let arm = Arm::default();
    let plan = network.lab(&arm).expect("a lab");
    let of = |name: &str| &plan.iter().find(|host| host.name == name).expect("a host").sysctls;
    let settings: Vec<_> =
        of("proxy").iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let rmem = ("net.ipv4.tcp_rmem", "40960 40960 40960");
    let congestion = ("net.ipv4.tcp_congestion_control", "reno");
    let more = [("net.ipv4.tcp_tw_reuse", "1"), ("net.ipv4.ip_local_port_range", "20000 20019")];
    assert_eq!(settings, [congestion, rmem, more[0], more[1]]);
    assert!(of("origin").is_empty());
    assert_eq!(typed("").unwrap().lab(&arm), None, "without namespaces");
}

#[test]
fn a_setting_is_one_of_a_network() {
    let range = ("net.ipv4.ip_local_port_range".to_owned(), "20000 20050".to_owned());
    assert_eq!(sysctl("net.ipv4.ip_local_port_range=20000,20050").unwrap(), range);
    for wrong in ["kernel.panic=1", "net.ipv4.x", "net.ipv4.x=", "net...x=1", "net.a/b=1", "=1"] {
        assert!(sysctl(wrong).unwrap_err().contains("net.ipv4.tcp_tw_reuse=1"), "{wrong}");
    }
    assert!(typed("--sysctl net.ipv4.tcp_tw_reuse=1").is_err(), "it needs --netns");
}
