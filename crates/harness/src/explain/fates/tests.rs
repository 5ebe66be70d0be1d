use std::time::Duration;

use super::fates;
use crate::fixture::Run;

#[test]
fn every_fetch_has_a_fate_whose_parts_are_its_time() {
    let records = Run::starved().records;
    let (fates, holders) = fates(&records);
    assert_eq!(fates.len(), records.fetches.len());
    assert_eq!(holders.len(), records.holds.len());
    for fate in &fates {
        let fetch = &records.fetches[fate.fetch];
        let sum: Duration = fate.causes.iter().map(|(_, part)| part.as_duration()).sum();
        let whole = fetch.response_us.as_duration();
        // Each part is cut to whole microseconds.
        assert!(whole.abs_diff(sum) <= Duration::from_micros(10), "{fate:?}");
        assert!(fate.held.iter().all(|(hold, _)| *hold < records.holds.len()));
    }
}
