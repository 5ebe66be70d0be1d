use super::*;

#[test]
fn auto_takes_the_best_and_the_probe_says_what_is_missing() {
    assert_eq!(means(TraceMode::Off).ok(), Some(None));
    assert_eq!(means(TraceMode::Sample).ok(), Some(Some(Means::Sample)));
    let auto = means(TraceMode::Auto).expect("something always goes");
    match (means(TraceMode::Probe), auto) {
        (Ok(asked), auto) => assert_eq!((asked, auto), (Some(Means::Probe), asked)),
        (Err(error), auto) => {
            assert_eq!(auto, Some(Means::Sample));
            let message = error.to_string();
            let mends = ["setcap", "CONFIG_DEBUG_INFO_BTF", "from"];
            assert!(mends.iter().any(|mend| message.contains(mend)), "{message}");
        }
    }
}
