use super::*;
use crate::fast_fetch::arm;

fn arm_report(name: &str, listener: &'static str) -> ArmReport {
    let mut outcomes = OutcomeCounts::default();
    (0..90).for_each(|_| outcomes.add(Outcome::Ok));
    (0..10).for_each(|_| outcomes.add(Outcome::TimeoutNoByte));
    ArmReport {
        arm: name.to_owned(),
        listener,
        attempts: 100,
        outcomes,
        failed_share: 0.1,
        censored: 10,
        early_closes_499: 9,
        sessions_missing: 0,
        late_starts: 0,
        latency_us: LatencyUs {
            min: 5_000,
            p50: 12_400,
            p90: 980_000,
            p99: 1_001_000,
            max: 1_004_000,
            mean: 200_000,
        },
        load: Some(load(vec![2, 2])),
    }
}

fn load(downloads_by_worker: Vec<u32>) -> LoadReport {
    LoadReport {
        downloads_by_worker,
        bytes_per_sec: Some(BytesPerSec(700_000_000)),
        longest_standstill_us: Micros(50_000),
    }
}

fn report(arms: Vec<ArmReport>) -> Report {
    Report { arms, ..Report::default() }
}

#[test]
fn a_table_has_a_line_for_each_arm_and_columns_that_align() {
    let idle = ArmReport { load: None, ..arm_report("idle", "shared") };
    let table = report(vec![idle, arm_report("drain+rcvbuf", "reuseport")]).table();
    let expected = "\
fast_fetch              fetches  ok  capped  499      p50     p90      p99      max  downloads  by worker
idle/shared                 100  90      10    9  12.4 ms  980 ms  1.001 s  1.004 s          -          -
drain+rcvbuf/reuseport      100  90      10    9  12.4 ms  980 ms  1.001 s  1.004 s   700 MB/s        2/2
caveat: idle/shared: fetches failed without a load: this host was too busy to measure anything
Fetches of 3.0 MiB at 10/s, capped at 1.000 s, warm-up included; a capped one counts at its age.
";
    assert_eq!(table, expected);
}

#[test]
fn reasons_for_doubt_stand_below_the_table() {
    let doubtful = ArmReport {
        load: Some(LoadReport { longest_standstill_us: Micros(3_000_000), ..load(vec![3, 1]) }),
        late_starts: 4,
        sessions_missing: 2,
        ..arm_report("drain", "shared")
    };
    let table = report(vec![arm_report("fionread", "shared"), doubtful]).table();
    let caveats: Vec<&str> = table.lines().filter(|line| line.starts_with("caveat: ")).collect();
    assert_eq!(
        caveats,
        [
            "caveat: drain/shared: the fast client started 4 fetches late: the host was busy",
            "caveat: drain/shared: the proxy told nothing of 2 fetches: there may be as many more 499",
            "caveat: drain/shared: all downloads of a worker stood still for 3.000 s",
            "caveat: drain/shared: the workers do not hold as many downloads as each other",
        ]
    );
}

#[test]
fn the_document_names_every_outcome_and_units() {
    let document = serde_json::to_value(report(vec![arm_report("drain", "shared")])).unwrap();
    assert_eq!(document["schema_version"], 1);
    assert_eq!(document["arrivals"], "10/s");
    let arm = &document["arms"][0];
    assert_eq!(arm["arm"], "drain");
    assert_eq!(arm["outcomes"].as_object().unwrap().len(), Outcome::ALL.len());
    assert_eq!(arm["outcomes"]["timeout_no_byte"], 10);
    assert_eq!(arm["latency_us"]["p99"], 1_001_000);
    assert_eq!(arm["load"]["bytes_per_sec"], 700_000_000);
    assert_eq!(arm["load"]["longest_standstill_us"], 50_000);
}

#[test]
fn what_no_fetch_was_counted_for_is_zero_or_absent() {
    let arms = arm::all();
    let idle = arms.first().unwrap();
    let empty = ArmReport::new(idle, &Tally::default(), Micros(1_000_000), None);
    let document = serde_json::to_value(&empty).unwrap();
    assert_eq!(document["attempts"], 0);
    assert_eq!(document["failed_share"], 0.0);
    assert!(document.get("load").is_none());
}
