//! Runs that were kept, of many kinds: their analysis is what it was when they were kept.
//!
//! `tests/kept/NAME.gz` holds the files of a run directory, each after a line `=== FILE`, and after them
//! what was made of it: the summary, the explanation, and that of some of its fetches. Where a difference
//! is meant, `KEPT_RUNS=again cargo test -p analysis --test it` writes the answers anew: read them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use analysis::Analysis;
use analysis::report::{Explanation, FetchReport};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use records::{Arm, Phase, Record, RunRecords};
use serde_json::Value;
use testkit::schema;

const SUMMARY: &str = "answer: summary";
const EXPLANATION: &str = "answer: explanation";
const FETCHES: &str = "answer: fetches";

/// A run that was kept: its files by name, the answers among them.
struct Kept {
    path: PathBuf,
    files: BTreeMap<String, String>,
}

impl Kept {
    fn all() -> Vec<Self> {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept");
        let entries = fs::read_dir(dir).expect("the kept runs");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
        paths.sort();
        paths.into_iter().map(Self::read).collect()
    }

    fn read(path: PathBuf) -> Self {
        let mut text = String::new();
        let file = File::open(&path).expect("a kept run");
        GzDecoder::new(file).read_to_string(&mut text).expect("a file that was packed by gzip");
        let parts = text.split("=== ").skip(1).map(|part| part.split_once('\n').expect("a name"));
        let files = parts.map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        Self { path, files }
    }

    fn write(&self) {
        let file = File::create(&self.path).expect("a kept run");
        let mut packed = GzEncoder::new(file, Compression::best());
        for (name, text) in &self.files {
            write!(packed, "=== {name}\n{text}").expect("space on the disk");
        }
        packed.finish().expect("space on the disk");
    }

    fn records(&self) -> RunRecords {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for (name, text) in self.files.iter().filter(|(name, _)| !name.starts_with("answer")) {
            fs::write(dir.path().join(name), text).expect("a writable directory");
        }
        RunRecords::load(dir.path()).expect("a whole run")
    }

    fn answer(&self, name: &str) -> Value {
        serde_json::from_str(&self.files[name]).expect("JSON")
    }
}

/// What is made of a run now.
fn answers(kept: &Kept, records: &RunRecords) -> [(&'static str, Value); 3] {
    let analysis = Analysis::of(records);
    let of_fetch = |then: &Value| {
        let phase = if then["phase"] == "idle" { Phase::Idle } else { Phase::Measure };
        let number = then["fetch"].as_u64().expect("a number");
        serde_json::to_value(FetchReport::of(&analysis, phase, number).expect("the fetch"))
    };
    let fetches = kept.answer(FETCHES);
    let fetches = fetches.as_array().expect("fetches").iter().map(of_fetch);
    [
        (SUMMARY, serde_json::to_value(&analysis.summary).expect("JSON")),
        (EXPLANATION, serde_json::to_value(Explanation::of(&analysis)).expect("JSON")),
        (FETCHES, fetches.collect::<Result<Value, _>>().expect("JSON")),
    ]
}

/// Where two documents differ first.
fn difference(at: &str, then: &Value, now: &Value) -> Option<String> {
    match (then, now) {
        (Value::Object(then), Value::Object(now)) => {
            let names: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
            let of = |name: &String| match (then.get(name), now.get(name)) {
                (Some(then), Some(now)) => difference(&format!("{at}.{name}"), then, now),
                (then, now) => Some(format!("{at}.{name}: was {then:?}, is {now:?}")),
            };
            names.into_iter().find_map(of)
        }
        (Value::Array(then), Value::Array(now)) if then.len() == now.len() => {
            let mut pairs = then.iter().zip(now).enumerate();
            pairs.find_map(|(index, (then, now))| difference(&format!("{at}[{index}]"), then, now))
        }
        _ => (then != now).then(|| format!("{at}: was {then}, is {now}")),
    }
}

#[test]
fn kept_runs_are_analysed_as_they_were() {
    for mut kept in Kept::all() {
        let records = kept.records();
        for (name, now) in answers(&kept, &records) {
            if std::env::var_os("KEPT_RUNS").is_some() {
                kept.files.insert(name.to_owned(), format!("{now}\n"));
                continue;
            }
            let (mut then, mut now) = (kept.answer(name), now);
            if name == SUMMARY {
                assert_eq!(schema::faults(schema::SUMMARY, &now), Vec::<String>::new());
            }
            // Later builds name more toggles, and some otherwise: what was kept reads as the same arm.
            let arm = if name == SUMMARY { "/arm" } else { "/summary/arm" };
            let arms = [&mut then, &mut now].map(|of| of.pointer_mut(arm).map(Value::take));
            if let [Some(then), Some(now)] = arms {
                let read: Arm = serde_json::from_value(then).expect("an arm of an earlier build");
                assert_eq!(serde_json::to_value(read).expect("JSON"), now);
            }
            let differs = difference(name, &then, &now);
            assert_eq!(differs, None, "{}", kept.path.display());
        }
        if std::env::var_os("KEPT_RUNS").is_some() {
            kept.write();
        }
    }
}

/// Every verdict, every way in which workers are seen, and runs of earlier builds.
#[test]
fn kept_runs_are_of_many_kinds() {
    let all = Kept::all();
    let told = |of: &str, name: &str| -> BTreeSet<String> {
        let values = all.iter().map(|kept| kept.answer(of)[name].as_str().map(str::to_owned));
        values.flatten().collect()
    };
    let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    assert_eq!(told(SUMMARY, "verdict"), set(&["starved", "degraded", "healthy", "inconclusive"]),);
    let sights = told("manifest.json", "sight");
    assert!(sights.is_superset(&set(&["traced", "sampled", "log_only"])), "{sights:?}");
    assert!(all.iter().any(|kept| !kept.files.contains_key("origin.ndjson")));
    assert!(all.iter().any(|kept| !kept.answer(SUMMARY)["interrupted"].is_null()));
    assert!(all.iter().any(|kept| kept.answer("manifest.json")["arm"]["netns"].is_object()));
}

/// The schema of records names every kind, and has all that this build writes of it.
#[test]
fn records_are_as_their_schema_has_them() {
    let not_in_these_runs = [
        r#"{"record":"blocked","worker":0,"start_ns":1,"end_ns":2,"call":"pwrite64","client_port":3,"sleep":"uninterruptible"}"#,
        r#"{"record":"threads","worker":0,"start_ns":1,"end_ns":2,"ran":1,"run_us":3,"wait_us":4,"served":[{"client_port":3,"run_us":3}]}"#,
        r#"{"record":"fetch_totals","phase":"idle","from_ns":1,"until_ns":2,"outcome":"ok","times_us":[[7,2]]}"#,
        r#"{"record":"throttle_sample","at_ns":1,"periods":2,"throttled_us":3}"#,
    ];
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut look = |line: &str| {
        let value = serde_json::to_value(Record::from_line(line).expect("a record")).expect("JSON");
        let seen = seen.entry(value["record"].as_str().expect("its kind").to_owned()).or_default();
        *seen += 1;
        // Enough of each to meet what may be absent.
        if *seen <= 100 {
            assert_eq!(schema::faults(schema::RECORD, &value), Vec::<String>::new(), "{line}");
        }
    };
    not_in_these_runs.into_iter().for_each(&mut look);
    for kept in Kept::all() {
        let records = kept.files.iter().filter(|(name, _)| name.ends_with(".ndjson"));
        records.flat_map(|(_, text)| text.lines()).for_each(&mut look);
    }
    // The manifest tells of these, and no file has them.
    let told = ["ready", "answers_lost", "unread_lines"];
    let kinds = Record::KINDS.iter().filter(|kind| !told.contains(kind));
    let seen: BTreeSet<&str> = seen.keys().map(String::as_str).collect();
    assert_eq!(seen, kinds.copied().collect());
}
