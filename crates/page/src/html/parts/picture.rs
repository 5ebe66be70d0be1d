//! What stands around the picture: its legend, whom it shows to have held whom.

use std::fmt::Write as _;

use records::{Holder, Micros, Sight};

use crate::data::{Blame, HoldData, PageData};
use crate::html::table::{Table, key};
use crate::svg::marks;
use crate::{palette, words};

/// What the picture cannot show of this run.
pub(in crate::html) fn unseen(data: &PageData) -> String {
    let mut notes: Vec<&str> = Vec::new();
    match data.summary.sight {
        Sight::LogOnly | Sight::ClientsOnly => notes.push(
            "The workers of this proxy were not seen: nothing here tells what held its fetches.",
        ),
        Sight::Own | Sight::Traced | Sight::Sampled => {
            if data.holds.is_empty() && data.absences.is_empty() {
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
    for slot in shown.iter().take(MOST) {
        let _ = write!(out, "<li>{}download {slot}</li>", key(palette::download(*slot)));
    }
    if shown.len() > MOST {
        let _ =
            write!(out, "<li>and {} more, in the same colours</li>", data.downloads.len() - MOST);
    }
    if data.holds.iter().any(|hold| palette::holder(hold.holder) == palette::OTHER) {
        let _ = write!(out, "<li>{}a fetch's step</li>", key(palette::OTHER));
    }
    if !data.stretches.is_empty() {
        out.push_str("<li><i class=\"key short\"></i>short steps</li>");
    }
    if !data.absences.is_empty() {
        out.push_str("<li><i class=\"key away\"></i>away from its poll, seen from outside</li>");
    }
    for outcome in marks::used(&data.summary) {
        let (mark, words) = (marks::reference(outcome, "0", 0.0), words::outcome(outcome).short);
        let _ = write!(
            out,
            "<li><svg class=\"figure mark\" viewBox=\"-5 -5 10 10\" aria-hidden=\"true\">{mark}</svg>\
             {words}</li>"
        );
    }
    out
}

/// Who held whom.
pub(in crate::html) fn blame(data: &PageData) -> String {
    let holders: Vec<&Blame> = data.blame.iter().filter(|blame| blame.waited > Micros(0)).collect();
    if holders.is_empty() {
        return String::new();
    }
    let heads = [
        "who",
        "failed fetches it held longest",
        "fetches that waited in its steps",
        "their waits together",
        "its longest such step",
    ];
    let mut table = Table::new("", "Whose steps held the fetches under load", &heads);
    for blame in holders {
        let (ink, who) = match blame.slot.map(|slot| (palette::download(slot), slot)) {
            Some((ink, slot)) => (ink, words::holder(Holder::Download(slot))),
            None => (palette::OTHER, "others".to_owned()),
        };
        let longest = data.holds.get(blame.longest).map(HoldData::told).unwrap_or_default();
        let (led, fetches) = (blame.led_failed.to_string(), blame.fetches.to_string());
        let cells = [led, fetches, blame.waited.to_string(), longest];
        table.row("", key(ink) + &who, cells);
    }
    table.end()
}
