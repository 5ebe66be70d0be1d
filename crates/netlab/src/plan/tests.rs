use std::path::Path;

use proptest::prelude::*;
use records::Micros;

use super::{LabPlan, PlanError, Sysctl, addr, sysctl_path};

#[test]
fn four_hosts_are_a_lab() {
    let plan = LabPlan::of(["origin", "proxy", "slow", "fast"]);
    assert_eq!(plan.check(), Ok(()));
    assert_eq!(addr(0).to_string(), "10.77.0.1");
    assert_eq!(addr(LabPlan::MAX_HOSTS - 1).to_string(), "10.77.0.64");
}

#[test]
fn a_plan_that_cannot_be_built_says_why() {
    assert_eq!(LabPlan::of([]).check(), Err(PlanError::Hosts(0)));
    let many: Vec<String> = (0..65).map(|n| format!("h{n}")).collect();
    let many = LabPlan::of(many.iter().map(String::as_str));
    assert_eq!(many.check(), Err(PlanError::Hosts(65)));
    assert_eq!(LabPlan::of(["a", "b", "a"]).check(), Err(PlanError::Twice("a".into())));
    for name in ["", "lo", "switch", "a b", "A", "-a", "9", "sixteen-letters-", "../x", "a/b", "ä"]
    {
        assert_eq!(LabPlan::of([name]).check(), Err(PlanError::Name(name.into())));
    }
    let slow = LabPlan { delay: Some(Micros(10_000_001)), ..LabPlan::of(["a"]) };
    assert_eq!(slow.check(), Err(PlanError::Delay(Micros(10_000_001))));
}

#[test]
fn a_setting_is_one_of_the_network() {
    let rmem: Sysctl = "net.ipv4.tcp_rmem = 40960\t40960  40960\n".parse().expect("as typed");
    assert_eq!((rmem.name(), rmem.value()), ("net.ipv4.tcp_rmem", "40960 40960 40960"));
    assert_eq!(sysctl_path(rmem.name()), Path::new("/proc/sys/net/ipv4/tcp_rmem"));
    for name in [
        "vm.swappiness",
        "net",
        "net.",
        "net.ipv4",
        "net.ipv4.",
        "net...x",
        "net.x/../../y.z",
        "net.a.é",
    ] {
        assert_eq!(Sysctl::new(name, "1"), Err(PlanError::SysctlName(name.into())));
    }
    for text in ["net.ipv4.tcp_rmem", "net.ipv4.tcp_rmem=", "net.ipv4.tcp_rmem= "] {
        assert!(matches!(text.parse::<Sysctl>(), Err(PlanError::SysctlValue(_))), "{text}");
    }
}

proptest! {
    #[test]
    fn a_setting_never_leads_out_of_the_network_and_reads_back(text in "\\PC{0,40}", value in "\\PC{0,9}") {
        for name in [text.clone(), format!("net.{text}")] {
            if let Ok(sysctl) = Sysctl::new(&name, &value) {
                let path = sysctl_path(sysctl.name());
                prop_assert!(path.starts_with("/proc/sys/net"));
                let usual = |part| matches!(part, std::path::Component::Normal(_));
                prop_assert!(path.components().skip(1).all(usual));
                prop_assert_eq!(sysctl.to_string().parse(), Ok(sysctl));
            }
        }
    }

    #[test]
    fn a_plan_reads_back_as_itself(delay in prop::option::of(0u64..1_000), rate in prop::option::of(8_000u64..1 << 39)) {
        let mut plan = LabPlan::of(["origin", "proxy"]);
        plan.delay = delay.map(Micros);
        plan.rate = rate.and_then(crate::LinkRate::from_bits);
        let rmem = Sysctl::new("net.ipv4.tcp_rmem", "1 2 3").expect("a setting");
        plan.host_mut("proxy").expect("it is there").sysctls.push(rmem);
        let text = serde_json::to_string(&plan).expect("plain data");
        prop_assert_eq!(serde_json::from_str::<LabPlan>(&text).expect("our own"), plan);
    }
}
