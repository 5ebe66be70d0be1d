use std::path::Path;

use super::*;

fn line(net: Option<&str>) -> String {
    let proxy = "127.0.0.1:8080".parse().expect("an address");
    let command = tcpdump(proxy, net.map(Path::new), Path::new("/runs/x/packets.pcap"));
    command.get_args().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[test]
fn it_keeps_heads_of_the_proxys_packets_and_ends_with_us() {
    assert_eq!(
        line(None),
        "--pdeathsig KILL tcpdump -n -i any -y LINUX_SLL -s 96 -c 4000000 -B 32768 -Z root \
         --time-stamp-precision=nano -w /runs/x/packets.pcap tcp port 8080"
    );
    assert!(
        line(Some("/proc/1/fd/3"))
            .starts_with("--pdeathsig KILL nsenter --net=/proc/1/fd/3 tcpdump ")
    );
}

#[test]
fn its_counts_are_read() {
    assert_eq!(count("17 packets captured", "captured"), Some(17));
    assert_eq!(count("0 packets dropped by kernel", "dropped by kernel"), Some(0));
    assert_eq!(count("1 packet dropped by interface", "dropped by kernel"), None);
}
