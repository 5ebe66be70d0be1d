use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

#[test]
fn what_can_be_written_is_let_be_and_what_cannot_is_named_with_its_option() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    fs::write(at("there.xml"), "old").expect("write");
    symlink("not-yet.xml", at("dangling")).expect("a link");
    symlink("there.xml", at("link")).expect("a link");
    for path in [at("there.xml"), at("new.xml"), at("dangling"), at("link"), "/dev/null".into()] {
        assert_eq!(look_at(&[("--junit", &Some(path))]), Ok(()));
    }
    assert_eq!(look_at(&[("--junit", &None)]), Ok(()));
    for place in [at("."), at("none/x"), at("there.xml/x"), "".into()] {
        let error = look_at(&[("--junit", &Some(place.clone()))]).expect_err("no place");
        assert!(error.starts_with(&format!("--junit {}: ", place.display())), "{error}");
    }
    assert_eq!(fs::read_dir(dir.path()).expect("read").count(), 3, "nothing was made");
}

#[test]
fn what_may_not_be_written_is_found_out() {
    if rustix::process::geteuid().is_root() {
        return testkit::skip("root may write everywhere");
    }
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("x");
    fs::write(&file, "").expect("write");
    for (path, mode) in [(file.as_path(), 0o400), (dir.path(), 0o500)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
    }
    for path in [file, dir.path().join("new")] {
        assert!(look_at(&[("--junit", &Some(path))]).is_err());
    }
}
