//! OpenMetrics text 1.0 (<https://github.com/prometheus/OpenMetrics>, specification/OpenMetrics.md):
//! base units, one block for each metric, `# EOF` at the end.

use std::fmt::{Display, Write};

/// A document in the making.
#[derive(Clone, Debug, Default)]
pub struct OpenMetrics(String);

impl OpenMetrics {
    /// Begins the block of a metric; its kind is `gauge`, `counter` or `histogram`.
    pub fn head(&mut self, name: &str, kind: &str, unit: Option<&str>, help: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
        if let Some(unit) = unit {
            let _ = writeln!(self.0, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.0, "# HELP {name} {}", escaped(help));
    }

    /// A line of the block.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    /// The whole document.
    pub fn finish(self) -> String {
        self.0 + "# EOF\n"
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
