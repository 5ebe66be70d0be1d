use super::*;

fn measures_with(args: &[&str]) -> bool {
    measures(&args.iter().map(OsString::from).collect::<Vec<_>>())
}

#[test]
fn only_a_measurement_leaves_a_file() {
    assert!(measures_with(&["bench", "--bench"]));
    assert!(measures_with(&["bench", "fast_fetch", "--save-baseline", "before", "--bench"]));
    assert!(!measures_with(&["bench"]));
    assert!(!measures_with(&["bench", "--test", "--bench"]));
    assert!(!measures_with(&["bench", "--list", "--bench"]));
    assert!(!measures_with(&["bench", "--profile-time", "5", "--bench"]));
    assert!(!measures_with(&["bench", "--profile-time=5", "--bench"]));
}

#[test]
fn it_lies_where_criterion_puts_its_own() {
    let some = |text: &str| Some(OsString::from(text));
    let target = Some(Path::new("/w/target"));
    assert_eq!(criterion_dir(some("/home"), some("/t"), target), Path::new("/home"));
    assert_eq!(criterion_dir(None, some("/t"), target), Path::new("/t/criterion"));
    assert_eq!(criterion_dir(None, None, target), Path::new("/w/target/criterion"));
    assert_eq!(criterion_dir(None, None, None), Path::new("target/criterion"));
}

#[test]
fn a_document_is_replaced_whole_and_reads_back() {
    let dir = tempfile::tempdir().unwrap();
    let output = Output::Dir(dir.path().join("criterion/fast_fetch"));
    for _ in 0..2 {
        output.write(&Report::default()).unwrap();
    }
    let files: Vec<_> = fs::read_dir(dir.path().join("criterion/fast_fetch"))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(files.len(), 1);
    let text = fs::read_to_string(files[0].path()).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["completeness"], "partial");
    assert_eq!(document["cap_us"], 1_000_000);
}

#[test]
fn without_a_place_nothing_is_written() {
    Output::Nothing.write(&Report::default()).unwrap();
}
