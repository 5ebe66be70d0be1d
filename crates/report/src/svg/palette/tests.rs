use super::*;

/// A fetch that failed, as the styles have it in the light.
const FAILED: &str = "#d55e00";

#[test]
fn no_download_has_the_colour_of_a_failure() {
    assert!(!DOWNLOADS.contains(&FAILED));
    assert!(
        include_str!("../../../assets/page.css")
            .contains(&format!("--failed: light-dark({FAILED}"))
    );
    assert!(
        include_str!("../../../assets/figure-colors.css").contains(&format!("--failed: {FAILED}"))
    );
}

#[test]
fn a_download_keeps_its_colour_and_another_connection_has_none_of_them() {
    let round = u32::try_from(DOWNLOADS.len()).expect("few colours");
    assert_eq!(download(0), download(round));
    assert!(!DOWNLOADS.contains(&holder(Holder::Fetch(1))));
}
