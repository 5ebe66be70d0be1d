use super::*;

#[test]
fn both_versions_tell_what_was_withheld() {
    let two = "usage_usec 9\nnr_periods 30\nnr_throttled 12\nthrottled_usec 7000\n";
    let one = "nr_periods 30\nnr_throttled 12\nthrottled_time 7000999\nnr_bursts 0\n";
    for (text, told) in [
        (two, Some((12, 7_000))),
        (one, Some((12, 7_000))),
        // The top of version 2 has no quota.
        ("usage_usec 9\nuser_usec 5\n", None),
        ("nr_throttled\nthrottled_usec -1\n", None),
        ("", None),
    ] {
        assert_eq!(withheld(text), told, "{text:?}");
    }
}

#[test]
fn a_limit_is_written_as_its_version_reads_it() {
    let text = |version, percent| {
        let group = std::mem::ManuallyDrop::new(Cgroup { dir: "/x".into(), version });
        let (file, text) = group.limit_of(percent);
        format!("{}: {text}", file.display())
    };
    assert_eq!(text(Version::One, Some(40)), "/x/cpu.cfs_quota_us: 40000");
    assert_eq!(text(Version::One, None), "/x/cpu.cfs_quota_us: -1");
    assert_eq!(text(Version::Two, Some(250)), "/x/cpu.max: 250000 100000");
    assert_eq!(text(Version::Two, None), "/x/cpu.max: max 100000");
}

/// Of a group that has a process with nothing left, somebody is ready and has no CPU: the kernel says so.
#[test]
fn what_a_quota_withholds_is_read_back_and_the_group_goes() {
    let group = match Cgroup::make() {
        Ok(group) => group,
        Err(error) => return testkit::skip(format_args!("it needs a control group: {error}")),
    };
    let dir = group.dir.clone();
    let mut spin = std::process::Command::new("sh");
    let mut spinning = spin.args(["-c", "while :; do :; done"]).spawn().expect("a shell");
    let pid = i32::try_from(spinning.id()).expect("an id");
    fs::write(group.procs(), pid.to_string()).expect("it takes a process in");
    group.limit(20).expect("a limit");
    let files = stat_files(pid);
    assert!(files[0].starts_with(&dir), "{files:?}");
    let told = || withheld(&fs::read_to_string(&files[0]).expect("cpu.stat")).expect("its fields");
    let begun = Instant::now();
    while told().0 < 3 && begun.elapsed() < Duration::from_secs(30) {
        thread::yield_now();
    }
    let (periods, us) = told();
    assert!(periods >= 3 && us > 0, "{periods} periods, {us} us");
    spinning.kill().expect("it runs");
    spinning.wait().expect("it ends");
    drop(group);
    assert!(!dir.exists());
    // What a killed run leaves behind, the next one takes away: no process has this number.
    let mount = dir.parent().expect("a mount");
    let left = mount.join(format!("{NAME}{}", i32::MAX));
    fs::create_dir(&left).expect("a group");
    sweep(mount);
    assert!(!left.exists());
}
