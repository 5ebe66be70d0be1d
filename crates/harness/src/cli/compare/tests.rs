use super::*;

#[test]
fn each_arm_has_columns_of_its_own() {
    let arm = |name: &str| ArmSpec::new(name, "--reuseport").expect("an arm");
    assert_eq!(column_name("p99", 1, &arm("drain")), "p99-1-drain.txt");
    let alike = [arm("64 KiB"), arm("64-KiB"), arm("eins"), arm("\u{96f6}"), arm("\u{4e00}")];
    let names: BTreeSet<String> =
        (1..).zip(&alike).map(|(number, arm)| column_name("p50", number, arm)).collect();
    assert_eq!(names.len(), alike.len(), "{names:?}");
    assert!(names.contains("p50-4.txt"), "{names:?}");
}
