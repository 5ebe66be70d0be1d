//! The verdict in words: the sentence, and the figures that carry it.

use records::{
    Bytes, Cause, Micros, Outcome, OutcomeCounts, ProxyKind, STARVED_SHARE, Summary, Verdict,
    percent_beside,
};

use crate::data::{Blame, FigureLine};

/// What a run is called: the settings that tell it from others.
pub(crate) fn title(summary: &Summary) -> String {
    let arm = &summary.arm;
    let buffer = arm.rcvbuf.map(|size| format!(", receive buffer {}", size.exact()));
    let buffer = buffer.unwrap_or_default();
    if arm.proxy != ProxyKind::Mirror {
        // What the mirror would have done says nothing of others.
        let version = summary.program.as_ref().map(|program| program.version.as_str());
        let version = version.filter(|version| !version.is_empty());
        let name = version.map_or_else(|| arm.proxy.to_string(), |v| format!("{}: {v}", arm.proxy));
        return format!("{name}{buffer}");
    }
    let listener = if arm.reuseport { "a listener per worker" } else { "one listener for all" };
    format!("{}, {listener}{buffer}, {}", arm.proxy, arm.read_policy)
}

/// The command as a shell takes it. What no shell can take is shown as it is.
pub(crate) fn command(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

/// A download, another fetch or anything else, as the page calls it.
pub(crate) fn holder(holder: i64) -> String {
    match holder {
        0.. => format!("download {holder}"),
        _ => "others".to_owned(),
    }
}

/// A share as people write it.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p > 0.0 && p < 0.1 => "under 0.1 %".to_owned(),
        p if p > 0.0 && p < 1.0 => format!("{p:.1} %"),
        p if p > 99.0 && p < 100.0 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// The verdict in one sentence.
pub(crate) fn sentence(summary: &Summary, blame: &[Blame]) -> String {
    let measure = &summary.measure;
    let (failed, tried) = (measure.outcomes.failed(), measure.outcomes.tried());
    let cut = match &summary.interrupted {
        Some(signal) => format!(" The run was cut short by {signal}."),
        None => String::new(),
    };
    let text = match summary.verdict {
        Verdict::Inconclusive => {
            let why = summary.verdict_reasons.first().map_or("no reason was given", String::as_str);
            format!("Inconclusive: {why}.")
        }
        Verdict::Starved if failed > 0 => format!(
            "Starved: {failed} of {tried} fetches failed while downloads ran.{}",
            culprit(summary, blame)
        ),
        Verdict::Starved => format!(
            "Starved: no fetch failed, but half of them took {} or longer.{}",
            Micros(measure.latency_us.p50),
            culprit(summary, blame)
        ),
        Verdict::Degraded if failed > 0 => format!(
            "Degraded: {failed} of {tried} fetches failed while downloads ran.{}",
            culprit(summary, blame)
        ),
        Verdict::Degraded => format!(
            "Degraded: all {tried} fetches were served, but one in a hundred took {} or longer; \
             idle: {}.{}",
            Micros(measure.latency_us.p99),
            Micros(summary.idle.latency_us.p99),
            culprit(summary, blame)
        ),
        Verdict::Healthy => format!(
            "Healthy: all {tried} fetches were served under load about as fast as without it."
        ),
    };
    text + &cut
}

/// What took most of the late time, in so many words; nothing when nothing stands out.
fn culprit(summary: &Summary, blame: &[Blame]) -> String {
    let Some(first) = summary.causes.first() else { return String::new() };
    if first.share_of_late_time < 0.5 || first.cause == Cause::Unexplained {
        return String::new();
    }
    let share = percent(first.share_of_late_time);
    match (first.cause, blame.first()) {
        (Cause::HeldByStep, Some(one)) if one.holder >= 0 => format!(
            " {share} of the late time they waited inside long steps of others, most of it \
             behind {}.",
            holder(one.holder)
        ),
        (Cause::HeldByStep, _) => {
            format!(" {share} of the late time they waited inside long steps of others.")
        }
        (cause, _) => format!(" {share} of the late time went by {}.", cause.words()),
    }
}

/// The two figures that carry the verdict, and the longest step where one stands out.
pub(crate) fn figures(summary: &Summary) -> Vec<FigureLine> {
    let (idle, load) = (&summary.idle, &summary.measure);
    let failed =
        |outcomes: &OutcomeCounts| format!("{} of {}", outcomes.failed(), outcomes.tried());
    if load.attempts == 0 {
        return vec![FigureLine {
            value: "no fetch".to_owned(),
            of: "was made under load".to_owned(),
            against: format!("idle: {} failed", failed(&idle.outcomes)),
        }];
    }
    let mut figures = vec![FigureLine {
        value: failed(&load.outcomes),
        of: format!(
            "fetches failed under load ({})",
            percent_beside(load.failed_share, STARVED_SHARE)
        ),
        against: format!("idle: {}", failed(&idle.outcomes)),
    }];
    let tail = summary.verdict == Verdict::Degraded || summary.verdict == Verdict::Healthy;
    let (name, under_load, without) = if tail {
        ("p99 under load: 99 of 100 ended by then", load.latency_us.p99, idle.latency_us.p99)
    } else {
        ("p50 under load: half ended by then", load.latency_us.p50, idle.latency_us.p50)
    };
    let capped = Micros(under_load) >= summary.arm.cap_us && given_up(summary) > 0;
    let of = if capped {
        name.replace("ended by then", "gave up or ended by then")
    } else {
        name.to_owned()
    };
    let times = match without {
        0 => String::new(),
        without => format!(", {:.0} times less", under_load as f64 / without as f64),
    };
    let times = if under_load > without.saturating_mul(2) { times } else { String::new() };
    if load.attempts > 0 {
        let value = Micros(under_load).to_string();
        figures.push(FigureLine {
            value,
            of,
            against: format!("idle: {}{times}", Micros(without)),
        });
    }
    let longest = summary.proxy.workers.iter().max_by_key(|worker| worker.longest_step_us);
    if let Some(worker) = longest.filter(|worker| worker.longest_step_us >= 100_000) {
        figures.push(FigureLine {
            value: Micros(worker.longest_step_us).to_string(),
            of: format!("longest step: worker {} did nothing else", worker.worker),
            against: format!("it moved {}", Bytes(worker.longest_step_bytes)),
        });
    }
    figures
}

fn given_up(summary: &Summary) -> u64 {
    let censored = Outcome::ALL.into_iter().filter(|outcome| outcome.is_censored());
    censored.map(|outcome| summary.measure.outcomes.count(outcome)).sum()
}
