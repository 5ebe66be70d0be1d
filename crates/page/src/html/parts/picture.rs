//! What stands around the picture: its height, its legend, whom it shows to have held whom.

use std::fmt::Write as _;

use records::{Bytes, Micros, Outcome, Sight};

use super::outcome_words;
use crate::data::{Blame, PageData};
use crate::escape::html;
use crate::palette;
use crate::words::holder;

/// Height of the picture, px: known before the script runs, so that nothing jumps.
pub(in crate::html) fn height(data: &PageData) -> usize {
    /// What stands above and below the lanes.
    const FRAME: usize = 52;
    const LEAST: usize = 200;
    /// For fetches without a known worker, beside lanes of workers.
    const UNOWNED: usize = 80;
    let workers = data.workers.len();
    let each = match workers {
        0..=2 => 140,
        3..=4 => 96,
        5..=8 => 64,
        _ => 44,
    };
    let unowned = if data.has_unowned() { UNOWNED } else { 0 };
    (FRAME + workers * each + unowned).max(LEAST)
}

/// What the picture cannot show of this run.
pub(in crate::html) fn unseen(data: &PageData) -> String {
    let mut notes: Vec<&str> = Vec::new();
    match data.summary.sight {
        Sight::LogOnly | Sight::ClientsOnly => notes.push(
            "The workers of this proxy were not seen: nothing here tells what held its fetches.",
        ),
        Sight::Own | Sight::Traced | Sight::Sampled => {
            if data.holds.is_empty() && data.spans.is_empty() {
                notes.push("No step long enough to hold others was seen.");
            }
        }
    }
    if data.has_unowned() && !data.workers.is_empty() {
        notes.push("The lowest lane has the fetches that no worker is known to have accepted.");
    }
    if notes.is_empty() {
        String::new()
    } else {
        format!("<p class=\"note\">{}</p>", notes.join(" "))
    }
}

/// What the colours and marks of the picture mean.
pub(in crate::html) fn legend(data: &PageData) -> String {
    const MOST: usize = 12;
    let mut out = String::new();
    let shown = if data.holds.is_empty() { &[][..] } else { &data.downloads };
    for download in shown.iter().take(MOST) {
        let hatched = if download.hatched { " hatched" } else { "" };
        let _ = write!(
            out,
            "<li><i class=\"key{hatched}\" style=\"--key:{}\"></i>download {}</li>",
            download.color, download.slot
        );
    }
    if shown.len() > MOST {
        let _ =
            write!(out, "<li>and {} more, in the same colours</li>", data.downloads.len() - MOST);
    }
    if data.holds.holder.iter().any(|&holder| holder < 0) {
        let key = palette::OTHER;
        let _ = write!(
            out,
            "<li><i class=\"key hatched\" style=\"--key:{key}\"></i>a fetch's step</li>"
        );
    }
    if !data.stretches.start_us.is_empty() {
        out.push_str("<li><i class=\"key short\"></i>short steps</li>");
    }
    if !data.spans.is_empty() {
        out.push_str("<li><i class=\"key away\"></i>away from its poll, seen from outside</li>");
    }
    let used = |outcome: &Outcome| {
        let (idle, load) = (&data.summary.idle.outcomes, &data.summary.measure.outcomes);
        *outcome == Outcome::Ok || idle.count(*outcome) + load.count(*outcome) > 0
    };
    for outcome in Outcome::ALL.iter().filter(|outcome| used(outcome)) {
        let _ = write!(out, "<li>{}{}</li>", mark(*outcome), html(outcome_words(*outcome)));
    }
    out
}

/// The mark of an outcome, as the script draws it: the shape tells as much as the colour.
fn mark(outcome: Outcome) -> String {
    let shape = match outcome {
        Outcome::Ok => "<circle cx=\"8\" cy=\"8\" r=\"4\"/>",
        Outcome::TimeoutNoByte => "<path d=\"M3 3l10 10m0-10l-10 10\"/>",
        Outcome::TimeoutPartial => "<path d=\"M8 2v12M2 8h12\"/>",
        Outcome::TimeoutConnect => "<path d=\"M8 2l6 11h-12z\"/>",
        Outcome::Refused | Outcome::Reset => "<path d=\"M3 3h10v10h-10z\"/>",
        Outcome::ClosedEarly => "<path d=\"M8 2l6 6l-6 6l-6-6z\"/>",
        Outcome::BadStatus => "<path d=\"M3 4h10M3 8h10M3 12h10\"/>",
        Outcome::LocalError => "<path d=\"M3 13L13 3\"/>",
    };
    let class = if outcome == Outcome::Ok { "ok" } else { "failed" };
    format!(
        "<svg class=\"mark {class}\" viewBox=\"0 0 16 16\" \
     aria-hidden=\"true\">{shape}</svg>"
    )
}

fn hatched(holder: i64) -> bool {
    u32::try_from(holder).map_or(true, |slot| palette::download(slot).1)
}

/// Who held whom.
pub(in crate::html) fn blame(data: &PageData) -> String {
    let holders: Vec<&Blame> = data.blame.iter().filter(|blame| blame.waited_us > 0).collect();
    if holders.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<div class=\"scroll\"><table><caption>Whose steps held the fetches under \
         load</caption><thead><tr>\
         <th scope=\"col\">who</th><th scope=\"col\">failed fetches it held longest</th>\
         <th scope=\"col\">fetches that waited in its steps</th>\
         <th scope=\"col\">their waits together</th>\
         <th scope=\"col\">its longest such step</th></tr></thead><tbody>",
    );
    for blame in holders {
        let _ = write!(
            out,
            "<tr><th scope=\"row\"><i class=\"key{}\" style=\"--key:{}\"></i>{}</th><td>{}</td>\
             <td>{}</td><td>{}</td><td>{}, {}</td></tr>",
            if hatched(blame.holder) { " hatched" } else { "" },
            palette::holder(blame.holder),
            html(&holder(blame.holder)),
            blame.led_failed,
            blame.fetches,
            Micros(blame.waited_us),
            Micros(blame.longest_us),
            Bytes(blame.longest_bytes)
        );
    }
    out.push_str("</tbody></table></div>");
    out
}
