use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

#[test]
fn what_can_be_written_is_let_be() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    fs::write(at("there.xml"), "old").expect("write");
    symlink("not-yet.xml", at("dangling")).expect("a link");
    symlink("there.xml", at("link")).expect("a link");
    for name in ["there.xml", "new.xml", "dangling", "link"] {
        for way in [Way::InPlace, Way::Replaced] {
            assert_eq!(look(&at(name), way), Ok(()), "{name} {way:?}");
        }
    }
}

#[test]
fn what_cannot_be_written_is_named_with_its_option() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("file"), "").expect("write");
    let places =
        [dir.path().to_owned(), dir.path().join("none/x"), dir.path().join("file/x"), "".into()];
    for place in places {
        for way in [Way::InPlace, Way::Replaced] {
            let error = look_at([("--junit", &Some(place.clone()), way)]).expect_err("no place");
            assert!(error.starts_with(&format!("--junit {}: ", place.display())), "{error}");
        }
    }
    assert_eq!(look_at([("--junit", &None, Way::InPlace)]), Ok(()));
}

#[test]
fn a_device_is_written_and_not_replaced() {
    let null = Path::new("/dev/null");
    assert_eq!(look(null, Way::InPlace), Ok(()));
    assert_eq!(look(null, Way::Replaced), Err(run_dir::NOT_A_FILE.to_owned()));
}

#[test]
fn what_may_not_be_written_is_found_out() {
    if rustix::process::geteuid().is_root() {
        return testkit::skip("root may write everywhere");
    }
    let dir = tempfile::tempdir().expect("a directory");
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
    };
    let file = dir.path().join("x");
    fs::write(&file, "").expect("write");
    mode(&file, 0o400);
    assert!(look(&file, Way::InPlace).is_err());
    mode(dir.path(), 0o500);
    assert!(look(&file, Way::Replaced).is_err());
    assert!(look(&dir.path().join("new"), Way::InPlace).is_err());
    mode(dir.path(), 0o700);
}

#[test]
fn what_is_missing_is_an_error_unless_something_is_breached() {
    let mut written = Written::default();
    written.note(Ok(()));
    let codes = |written: &Written| {
        let gates = [None, Some(Gate::Passed), Some(Gate::Inconclusive), Some(Gate::Breached)];
        gates.map(|gate| written.exit_code(gate))
    };
    assert_eq!(codes(&written), [0, 0, 11, 10]);
    let dir = tempfile::tempdir().expect("a directory");
    written.file(&dir.path().join("none/x.md"), "text");
    written.file(&dir.path().join("x.md"), "text");
    assert_eq!(codes(&written), [1, 1, 1, 10]);
    assert_eq!(fs::read_to_string(dir.path().join("x.md")).expect("read"), "text", "all the same");
}
