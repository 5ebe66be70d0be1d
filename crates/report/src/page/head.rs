//! The head of a run's page: what it is called, the verdict in one sentence, and the figures that
//! carry it.

use records::{
    Bytes, Cause, Holder, Micros, Outcome, ProxyKind, STARVED_SHARE, Summary, Verdict, percent,
    percent_beside,
};

use crate::words::{failed, holder, lead};

/// A figure that carries the verdict.
pub(crate) struct FigureLine {
    /// The figure, with its unit.
    pub(crate) value: String,
    /// What it is of.
    pub(crate) of: String,
    /// What to hold it against.
    pub(crate) against: String,
}

/// What a run is called: the settings that tell it from others.
pub(crate) fn title(summary: &Summary) -> String {
    let arm = &summary.arm;
    let buffer = arm.rcvbuf().map(|size| format!(", receive buffer {}", size.exact()));
    let buffer = buffer.unwrap_or_default();
    if arm.server.kind != ProxyKind::Mirror {
        // What the mirror would have done says nothing of others.
        let version = summary.program.as_ref().map(|program| program.version.as_str());
        let version = version.filter(|version| !version.is_empty());
        let name = version
            .map_or_else(|| arm.server.kind.to_string(), |v| format!("{}: {v}", arm.server.kind));
        return format!("{name}{buffer}");
    }
    let listener =
        if arm.proxy.reuseport { "a listener per worker" } else { "one listener for all" };
    format!("{}, {listener}{buffer}, {}", arm.server.kind, arm.proxy.read_policy)
}

/// The verdict in one sentence; `worst`: the download whose steps fetches waited in longest.
pub(crate) fn sentence(summary: &Summary, worst: Option<u32>) -> String {
    let measure = &summary.measure;
    let (many, failed) = (measure.outcomes.failed(), failed(&measure.outcomes));
    let (lead, tried) = (lead(summary.verdict), measure.outcomes.tried());
    let cut = match &summary.interrupted {
        Some(signal) => format!(" The run was cut short by {signal}."),
        None => String::new(),
    };
    let text = match summary.verdict {
        Verdict::Inconclusive => {
            let why = summary.verdict_reasons.first().map_or("no reason was given", String::as_str);
            format!("{lead}: {why}.")
        }
        Verdict::Starved | Verdict::Degraded if many > 0 => format!(
            "{lead}: {failed} fetches failed while downloads ran.{}",
            culprit(summary, worst)
        ),
        Verdict::Starved => format!(
            "{lead}: no fetch failed, but half of them took {} or longer.{}",
            Micros(measure.latency_us.p50),
            culprit(summary, worst)
        ),
        Verdict::Degraded => format!(
            "{lead}: all {tried} fetches were served, but one in a hundred took {} or longer; \
             idle: {}.{}",
            Micros(measure.latency_us.p99),
            Micros(summary.idle.latency_us.p99),
            culprit(summary, worst)
        ),
        Verdict::Healthy => format!(
            "{lead}: all {tried} fetches were served under load about as fast as without it."
        ),
    };
    text + &cut
}

/// What took most of the late time, in so many words; nothing when nothing stands out.
fn culprit(summary: &Summary, worst: Option<u32>) -> String {
    let Some(first) = summary.causes.first() else { return String::new() };
    if first.share_of_late_time < 0.5 || first.cause == Cause::Unexplained {
        return String::new();
    }
    let share = percent(first.share_of_late_time);
    let behind =
        worst.map(|slot| format!(", most of it behind {}", holder(Holder::Download(slot))));
    match first.cause {
        Cause::HeldByStep => format!(
            " {share} of the late time they waited inside long steps of others{}.",
            behind.unwrap_or_default()
        ),
        cause => format!(" {share} of the late time went by {}.", cause.words()),
    }
}

/// The two figures that carry the verdict, and the longest step where one stands out.
pub(crate) fn figures(summary: &Summary) -> Vec<FigureLine> {
    let (idle, load) = (&summary.idle, &summary.measure);
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
    let is_tail = matches!(summary.verdict, Verdict::Degraded | Verdict::Healthy);
    let (name, under_load, without) = if is_tail {
        ("p99 under load: 99 of 100", load.latency_us.p99, idle.latency_us.p99)
    } else {
        ("p50 under load: half", load.latency_us.p50, idle.latency_us.p50)
    };
    let censored = Outcome::ALL.into_iter().filter(|outcome| outcome.is_censored());
    let given_up = censored.map(|outcome| load.outcomes.count(outcome)).sum::<u64>() > 0;
    let capped = Micros(under_load) >= summary.arm.fetch.cap && given_up;
    let times = match without {
        0 => String::new(),
        _ if under_load <= without.saturating_mul(2) => String::new(),
        without => format!(", {:.0} times less", under_load as f64 / without as f64),
    };
    figures.push(FigureLine {
        value: Micros(under_load).to_string(),
        of: format!("{name} {}ended by then", if capped { "gave up or " } else { "" }),
        against: format!("idle: {}{times}", Micros(without)),
    });
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
