//! What cannot be built says why, and whose fault it is.

use std::os::unix::process::CommandExt;
use std::process::Command;

use netlab::{Lab, LabError, LabPlan, Program, Sysctl};
use records::Micros;
use testkit::{installed, skip};

use crate::support::{NETLAB, own_links, up};

fn refused(plan: &LabPlan) -> Option<LabError> {
    // Whatever else is missing here is not what is tested.
    drop(up(&LabPlan::of(["a"]))?);
    Some(Lab::up_with(plan, &Program::at(NETLAB)).expect_err("it cannot be built"))
}

fn with(name: &str, value: &str) -> LabPlan {
    let mut plan = LabPlan::of(["a", "b"]);
    let sysctl = Sysctl::new(name, value).expect("its form is right");
    plan.host_mut("b").expect("it is there").sysctls.push(sysctl);
    plan
}

#[test]
fn a_value_that_the_kernel_refuses_is_told_with_its_host() {
    let Some(error) = refused(&with("net.ipv4.tcp_rmem", "many")) else { return };
    let text = error.to_string();
    assert!(text.contains("\"net.ipv4.tcp_rmem=many\" on host b"), "{text}");
    assert!(text.contains("Invalid argument"), "{text}");
}

#[test]
fn a_setting_that_no_namespace_has_is_told_as_such() {
    let Some(error) = refused(&with("net.ipv4.tcp_none", "1")) else { return };
    let text = error.to_string();
    assert!(text.contains("on host b") && text.contains("does not have it"), "{text}");
}

#[test]
fn a_setting_of_the_whole_machine_is_refused_and_stays_as_it_is() {
    let path = "/proc/sys/net/core/rmem_max";
    let before = std::fs::read_to_string(path).expect("it is there");
    let Some(error) = refused(&with("net.core.rmem_max", "424242")) else { return };
    assert!(matches!(error, LabError::Sysctl { .. } | LabError::Leaked(_)), "{error}");
    assert_eq!(std::fs::read_to_string(path).expect("it is there"), before);
}

#[test]
fn a_plan_that_cannot_be_built_is_refused_before_anything_is_started() {
    let error = Lab::up(&LabPlan::of(["a", "a"])).expect_err("two of one name");
    assert!(matches!(error, LabError::Plan(_)), "{error}");
}

#[test]
fn without_the_right_it_says_how_to_get_it() {
    if !installed("ip") || !installed("tc") {
        return;
    }
    let mut command = Command::new(NETLAB);
    if rustix::process::geteuid().is_root() {
        // nobody
        command.uid(65_534).gid(65_534);
    }
    let Ok(output) = command.args(["up", "--hosts", "a"]).output() else {
        return skip(format_args!("another user may not run {NETLAB}"));
    };
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("need root (CAP_SYS_ADMIN)"), "{text}");
    assert!(text.contains("sudo"), "{text}");
}

#[test]
fn a_kernel_without_netem_is_told_with_the_module_and_one_with_it_delays() {
    let mut plan = LabPlan::of(["a", "b"]);
    plan.delay = Some(Micros(100_000));
    let before = own_links();
    match Lab::up_with(&plan, &Program::at(NETLAB)) {
        Ok(lab) => {
            let uplink = &lab.read_back().expect("it is up").hosts[0].uplink;
            assert!(uplink.iter().any(|line| line.contains("netem")), "{uplink:?}");
        }
        Err(LabError::Tool { said, module: Some("sch_netem"), command, .. }) => {
            assert!(command.starts_with("tc qdisc add dev eth0"), "{command}");
            assert!(said.contains("unknown"), "{said}");
        }
        Err(other) => skip(other),
    }
    assert_eq!(own_links(), before);
}
