//! Holds a document against `schemas/check.schema.json`: those keywords of JSON Schema that it uses.
//! Another keyword is a fault of the schema, so none can be written that is not looked at.

use serde_json::Value;

const SCHEMA: &str = include_str!("../../../schemas/check.schema.json");

/// What is wrong with the document of a check, each with its place; empty: nothing.
pub(crate) fn faults(document: &Value) -> Vec<String> {
    let schema: Value = serde_json::from_str(SCHEMA).expect("a schema");
    let mut faults = Vec::new();
    Validator { root: &schema }.look("check", &schema, document, &mut faults);
    faults
}

struct Validator<'a> {
    root: &'a Value,
}

impl Validator<'_> {
    fn look(&self, at: &str, schema: &Value, value: &Value, faults: &mut Vec<String>) {
        let Some(rules) = schema.as_object() else {
            if *schema == Value::Bool(false) {
                faults.push(format!("{at}: not in the schema"));
            }
            return;
        };
        for (keyword, rule) in rules {
            let holds = match keyword.as_str() {
                "type" => is(rule.as_str().expect("a type"), value),
                "const" => rule == value,
                "enum" => list(rule).contains(value),
                "minimum" => value.as_f64() >= rule.as_f64(),
                "minItems" => value.as_array().map(Vec::len) >= count(rule),
                "minProperties" => value.as_object().map(serde_json::Map::len) >= count(rule),
                "maxProperties" => value.as_object().map(serde_json::Map::len) <= count(rule),
                "required" => {
                    list(rule).iter().all(|key| value.get(key.as_str().expect("a key")).is_some())
                }
                "$ref" => {
                    let path = rule.as_str().and_then(|to| to.strip_prefix('#')).expect("a path");
                    let schema = self.root.pointer(path).expect("a definition");
                    self.look(at, schema, value, faults);
                    true
                }
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.look(&format!("{at}[{index}]"), rule, item, faults);
                    }
                    true
                }
                "properties" | "additionalProperties" => {
                    for (key, value) in value.as_object().into_iter().flatten() {
                        let named = rules.get("properties").and_then(|named| named.get(key));
                        let rule = match (keyword.as_str(), named) {
                            ("properties", Some(named)) => named,
                            ("additionalProperties", None) => rule,
                            _ => continue,
                        };
                        self.look(&format!("{at}.{key}"), rule, value, faults);
                    }
                    true
                }
                "$schema" | "$id" | "$defs" | "title" | "description" => true,
                other => panic!("the schema says {other:?}, which this test does not know"),
            };
            if !holds {
                faults.push(format!("{at}: {keyword} {rule} does not hold of {value}"));
            }
        }
    }
}

fn is(wanted: &str, value: &Value) -> bool {
    match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("the schema says type {other:?}"),
    }
}

fn list(rule: &Value) -> &[Value] {
    rule.as_array().expect("a list")
}

fn count(rule: &Value) -> Option<usize> {
    rule.as_u64().and_then(|count| usize::try_from(count).ok())
}

#[test]
fn what_is_wrong_is_found() {
    let faulty = serde_json::json!({
        "schema_version": 2, "version": "0", "outcome": "fine", "exit_code": 0, "reasons": [],
        "arm": {"name": 1}, "rounds": {"wanted": 0, "conclusive": 0, "attempts": 1},
        "thresholds": {}, "records": "x",
        "trials": [{"trial": 1, "dir": "x", "verdict": "healthy", "reason": "",
                    "figures": {"p99": {"about": 1.0}}}]
    });
    let faults = faults(&faulty).join("\n");
    for place in [
        "check.schema_version: const",
        "check.outcome: enum",
        "check.reasons: minItems",
        "check.arm: required",
        "check.arm.name: type",
        "check.rounds.wanted: minimum",
        "check.thresholds: type",
        "check.trials[0].figures.p99.about: not in the schema",
    ] {
        assert!(faults.contains(place), "{place} is not among\n{faults}");
    }
}
