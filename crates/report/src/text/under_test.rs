//! Which foreign program was under test, how its workers were seen, and where they slept.

use records::{AbsenceSummary, ProxyKind, Summary, Visibility};

use super::layout::{MaxLines, labelled};
use super::style::Style;

/// Nothing of the mirror, which is the ordinary case.
pub(crate) fn lines(summary: &Summary, style: Style) -> Vec<String> {
    if summary.arm.server.kind == ProxyKind::Mirror {
        return Vec::new();
    }
    let name = match &summary.program {
        Some(program) if program.version.is_empty() => program.path.display().to_string(),
        Some(program) => format!("{} ({})", program.version, program.path.display()),
        None => summary.arm.server.kind.to_string(),
    };
    let never = summary.program.is_none() && !matches!(summary.arm.server.kind, ProxyKind::Url(_));
    let how = if never { "it was never ready" } else { seen(summary.visibility) };
    let text = format!("{name}; {how}");
    let mut lines = labelled(style, "proxy", &text, MaxLines(2));
    if let Some(slept) = slept(summary) {
        lines.extend(labelled(style, "asleep", &slept, MaxLines(2)));
    }
    if let Some(absences) = &summary.proxy.absences {
        lines.extend(labelled(style, "away", &away(absences), MaxLines(2)));
    }
    lines
}

const fn seen(visibility: Visibility) -> &'static str {
    match visibility {
        Visibility::Own => "it told of itself",
        Visibility::Traced => "its workers' system calls were traced",
        Visibility::Sampled => "its workers were looked at 1000 times a second",
        Visibility::LogOnly => "only its access log and its clients tell of it",
        Visibility::ClientsOnly => "only its clients tell of it",
    }
}

/// The calls in which workers slept longest.
fn slept(summary: &Summary) -> Option<String> {
    const SHOWN: usize = 3;
    let mut calls: Vec<_> = summary.proxy.blocked.iter().collect();
    calls.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.time_us));
    let told = calls.iter().take(SHOWN).map(|(call, sum)| {
        format!("{call} {} in {} (longest {})", sum.time_us, sum.sleeps, sum.longest_us)
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("workers slept outside their polls: {}", told.join(", ")))
}

fn away(absences: &AbsenceSummary) -> String {
    let AbsenceSummary { longest_us, longest_worker, looks, running, waiting, blocked, .. } =
        absences;
    format!(
        "{} times a worker was not seen in its poll for 20 ms or more, the longest {longest_us} \
         (worker {longest_worker}); of {looks} looks {running} found it running, {waiting} without \
         a CPU, {blocked} asleep",
        absences.absences
    )
}

#[cfg(test)]
mod tests;
