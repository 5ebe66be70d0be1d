use super::{CHECK, faults};

#[test]
fn what_is_wrong_is_found() {
    let faulty = serde_json::json!({
        "schema_version": 2, "version": "0", "outcome": "fine", "exit_code": 0, "reasons": [],
        "arm": {"name": 1}, "rounds": {"wanted": 0, "conclusive": 0, "attempts": 1},
        "thresholds": {}, "records": "x",
        "trials": [{"trial": 1, "else": true, "dir": "x", "verdict": "healthy", "reason": "",
                    "figures": {"p99": {"about": 1.0}}}]
    });
    let faults = faults(CHECK, &faulty).join("\n");
    for place in [
        "$.schema_version: const",
        "$.outcome: enum",
        "$.reasons: minItems",
        "$.arm: required",
        "$.arm.name: type",
        "$.rounds.wanted: minimum",
        "$.thresholds: type",
        "$.trials[0].figures.p99.about: not in the schema",
        "$.trials[0].else: not in the schema",
    ] {
        assert!(faults.contains(place), "{place} is not among\n{faults}");
    }
}
