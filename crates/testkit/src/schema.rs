//! Documents held against our published schemas: those keywords of JSON Schema that these use.
//!
//! It is stricter than JSON Schema in two ways, so that no schema falls behind what is written: another
//! keyword is a fault, and so is a property that a list of properties does not name, unless
//! `additionalProperties` says what others may be.

use serde_json::Value;

/// `turnstile check --json`, `check.json`.
pub const CHECK: &str = include_str!("../../harness/schemas/check.schema.json");
/// `turnstile compare --json`, `comparison.json`.
pub const COMPARISON: &str = include_str!("../../harness/schemas/comparison.schema.json");
/// `turnstile --json`, `summary.json`.
pub const SUMMARY: &str = include_str!("../../harness/schemas/summary.schema.json");

/// A line of the `.ndjson` files of a run directory.
pub const RECORD: &str = include_str!("../../harness/schemas/record.schema.json");

/// What is wrong with a document by `schema`, each with its place; empty: nothing.
#[track_caller]
pub fn faults(schema: &str, document: &Value) -> Vec<String> {
    let schema: Value = serde_json::from_str(schema).expect("a schema");
    let mut faults = Vec::new();
    Validator { root: &schema }.look("$", &schema, document, &mut faults);
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
                "type" if rule.is_array() => {
                    list(rule).iter().any(|one| is(one.as_str().expect("a type"), value))
                }
                "type" => is(rule.as_str().expect("a type"), value),
                "const" => rule == value,
                "enum" => list(rule).contains(value),
                "minimum" => value.as_f64() >= rule.as_f64(),
                "minItems" => value.as_array().map(Vec::len) >= count(rule),
                "minProperties" => value.as_object().map(serde_json::Map::len) >= count(rule),
                "maxProperties" => value.as_object().map(serde_json::Map::len) <= count(rule),
                // Of what is no object it asks nothing.
                "required" => value.as_object().is_none_or(|value| {
                    list(rule).iter().all(|key| value.contains_key(key.as_str().expect("a key")))
                }),
                "$ref" => {
                    let path = rule.as_str().and_then(|to| to.strip_prefix('#')).expect("a path");
                    let schema = self.root.pointer(path).expect("a definition");
                    self.look(at, schema, value, faults);
                    true
                }
                // Of alternatives the one that fits best tells what is wrong.
                "oneOf" => {
                    let alternatives = list(rule).iter().map(|alternative| {
                        let mut faults = Vec::new();
                        self.look(at, alternative, value, &mut faults);
                        faults
                    });
                    faults.extend(alternatives.min_by_key(Vec::len).into_iter().flatten());
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
                        let others = rules.contains_key("additionalProperties");
                        let rule = match (keyword.as_str(), named) {
                            ("properties", Some(named)) => named,
                            ("properties", None) if !others => &Value::Bool(false),
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
        "null" => value.is_null(),
        other => panic!("the schema says type {other:?}"),
    }
}

fn list(rule: &Value) -> &[Value] {
    rule.as_array().expect("a list")
}

fn count(rule: &Value) -> Option<usize> {
    rule.as_u64().and_then(|count| usize::try_from(count).ok())
}
