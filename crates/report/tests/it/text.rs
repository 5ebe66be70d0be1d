//! The page and the figures as text: what they hold, how large they are, what they never let in.

use std::collections::BTreeMap;

use analysis::Analysis;
use analysis::report::Explanation;
use records::{
    Absence, Blocked, Bytes, CallTotal, CallTotals, Cause, Caveat, CaveatCode, Micros, MonoNs,
    Outcome, Phase, RunRecords, WorkerTotals,
};
use report::words::holder;
use report::{MAX_LINES, PageData, Style, csv, html, svg, text};

use testkit::fixture::Run;

use crate::browser::json_of;
use crate::fixture::{LOADS, kinds, large, starved};

#[test]
fn the_page_holds_the_summary_as_it_is_and_loads_nothing() {
    let run = starved();
    let (analysis, records) = (Analysis::of(&run.records), &run.records);
    let page = html(&analysis);
    let data = json_of(&page);
    assert_eq!(data["summary"], serde_json::to_value(&analysis.summary).expect("a summary"));
    assert_eq!(data["fetches"]["outcome"].as_array().map(Vec::len), Some(records.fetches.len()));
    assert_eq!(data["holds"]["told"].as_array().map(Vec::len), Some(records.holds.len()));
    assert!(page.len() < 1_000_000, "an ordinary run takes {} bytes", page.len());
    assert!(!page.contains("{{"), "a part of the template has no text");
    for word in LOADS {
        assert!(!page.contains(word), "{word} would load something");
    }
    let again = html(&Analysis::of(&run.records));
    assert!(again == page, "the same records make the same bytes");
}

#[test]
fn a_line_of_csv_is_a_fetch_and_its_parts_sum_to_it() {
    let run = starved();
    let analysis = Analysis::of(&run.records);
    let text = csv(&analysis);
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().expect("names");
    let at = |name: &str| names.iter().position(|cell| *cell == name).expect(name);
    let parts = at("held_by_step_us");
    let mut held = 0;
    for (line, fetch) in lines.by_ref().zip(&run.records.fetches) {
        assert_eq!(line.len(), names.len(), "{line:?}");
        let number = |at: usize| line[at].parse::<u64>().expect("a number");
        assert_eq!(number(at("fetch")), fetch.fetch);
        assert_eq!(line[at("outcome")], fetch.outcome.to_string());
        let (sum, whole) = ((parts..names.len()).map(number).sum::<u64>(), fetch.response_us.0);
        assert!(sum.abs_diff(whole) <= names.len() as u64, "{sum} of {whole}");
        held += u64::from(line[at("held_by")].starts_with("download ") && number(parts) > 0);
    }
    assert_eq!(lines.count(), 0, "a line for each fetch");
    let led = analysis.summary.causes.iter().find(|share| share.cause == Cause::HeldByStep);
    assert_eq!(led.map(|share| share.fetches <= held), Some(true), "{held} were held");
}

#[test]
fn the_picture_is_drawn_once_and_the_script_draws_nothing() {
    let run = starved();
    let analysis = Analysis::of(&run.records);
    let (page, alone) = (html(&analysis), svg(&analysis));
    let alone = alone.expect("a picture");
    for part in ["class=\"block\"", "class=\"tail ok\"", "class=\"tail failed\"", "behind"] {
        let times = alone.matches(part).count();
        assert!(times > 0, "no {part}");
        let (picture, _) = page.split_once("id=\"chosen\"").expect("a picture");
        let (_, picture) = picture.split_once("id=\"names\"").expect("a picture");
        assert_eq!(picture.matches(part).count(), times, "{part}");
    }
    assert_eq!(page.matches("class=\"block\"").count(), run.records.holds.len());
    assert!(!page.contains("<canvas") && !page.contains("createElement"));
    assert!(!page.contains("innerHTML") && !page.contains("getContext"));
}

/// The lengths of the bars in all paths that a class has.
fn bars(picture: &str, class: &str) -> Vec<u64> {
    let mut lengths = Vec::new();
    for path in picture.split("<path d=\"").skip(1) {
        let (path, rest) = path.split_once('"').expect("a path");
        let (attributes, _) = rest.split_once("/>").expect("an element");
        if attributes.contains(class) {
            let bars = path.split('M').skip(1).map(|bar| bar.split_once('h').expect("a bar").1);
            lengths.extend(bars.map(|length| length.parse::<u64>().expect("a number")));
        }
    }
    lengths.sort_unstable();
    lengths
}

#[test]
fn a_large_run_has_every_step_in_few_elements_and_few_megabytes() {
    let run = large();
    let analysis = Analysis::of(&run.records);
    let (data, page) = (PageData::of(&analysis), html(&analysis));
    let (picture, _) = page.split_once("id=\"chosen\"").expect("a picture");
    // The longest stand alone, all others are in paths: as long as the records have them.
    let drawn = bars(picture, "class=\"bars hold");
    let mut lengths: Vec<u64> = data.holds.iter().map(|hold| hold.span.length_us).collect();
    lengths.sort_unstable();
    let (short, long) = lengths.split_at(drawn.len());
    assert!(drawn == short, "{} bars are not those of the records", drawn.len());
    assert_eq!(picture.matches("class=\"block\"").count(), long.len());
    assert!(!long.is_empty() && long.len() < 1000, "{} stand alone", long.len());
    let elements = picture.matches('<').count() - picture.matches("</").count();
    assert!(elements < 10_000, "{elements} elements");
    assert!(run.records.holds.len() > 90_000, "{} steps", run.records.holds.len());
    assert!(page.len() < 8_000_000, "{} bytes", page.len());
    let picture = svg(&analysis).expect("a picture");
    assert!(picture.len() < 4_000_000, "{} bytes", picture.len());
    // What the short steps took of the run's time, as areas of the paths that show it.
    let mut area = 0.0;
    for path in picture.split("<path d=\"").skip(1) {
        let (path, rest) = path.split_once('"').expect("a path");
        if rest.trim_start().starts_with("class=\"shares") {
            for cell in path.split('M').skip(1) {
                let number = |from: char, to: char| {
                    let (_, rest) = cell.split_once(from).expect("a cell");
                    rest.split_once(to).expect("a cell").0.parse::<f64>().expect("a number")
                };
                area += number('h', 'v') * -number('v', 'h');
            }
        }
    }
    let longest = data.end_us / 1024;
    let short = data.holds.iter().map(|hold| hold.span.length_us).filter(|us| *us < longest);
    // Blocks are 44 px high, and a part's time is in us.
    let wanted = short.sum::<u64>() as f64 * 44.0;
    assert!((area / wanted - 1.0).abs() < 0.05, "{area} instead of {wanted}");
}

#[test]
fn foreign_text_stays_text() {
    let evil = "</script><script>alert(1)</script><!-- {{data}} \" onload='x' &";
    let mut run = starved();
    run.records.manifest.command = vec!["turnstile".into(), evil.into()];
    run.records.manifest.host.cpu_model = evil.into();
    let mut analysis = Analysis::of(&run.records);
    analysis.summary.verdict_reasons = vec![evil.into()];
    let message = evil.to_owned();
    analysis.summary.caveats = vec![Caveat { code: CaveatCode::FewFetches, message }];
    let page = html(&analysis);
    assert_eq!(page.matches("</script>").count(), 2, "the data's and the script's");
    assert_eq!(page.matches("<script").count(), 2);
    assert!(!page.contains("alert(1)</script>"));
    assert_eq!(json_of(&page)["summary"]["verdict_reasons"][0], evil);
    assert!(!svg(&analysis).expect("a picture").contains("<script"));
}

#[test]
fn what_waits_to_be_accepted_is_drawn_below_its_worker() {
    let mut run = starved();
    let drawn = |run: &Run| svg(&Analysis::of(&run.records)).expect("a picture");
    // One listener that both workers share: in both lanes, and named.
    assert_eq!(drawn(&run).matches("class=\"queue\"").count(), 2);
    assert!(drawn(&run).contains("connections to be accepted, 11 at most"));
    run.records.manifest.listeners = vec![1, 2];
    assert_eq!(drawn(&run).matches("class=\"queue\"").count(), 1);
    run.records.listeners.clear();
    assert!(!drawn(&run).contains("class=\"queue\"") && !drawn(&run).contains("to be accepted"));
}

#[test]
fn a_fetch_names_the_holds_that_it_waited_in() {
    let run = starved();
    let analysis = Analysis::of(&run.records);
    let data = PageData::of(&analysis);
    let (fetches, holds) = (&data.fetches, &data.holds);
    let (mut failed, mut ends) = (0, BTreeMap::new());
    for fetch in fetches {
        let before = ends.insert((fetch.worker, fetch.row), fetch.span.end_us());
        assert!(before.is_none_or(|before| before <= fetch.span.start_us), "two in one row");
        for &(hold, waited) in &fetch.held {
            assert_eq!(Some(holds[hold].worker), fetch.worker);
            let from = holds[hold].span.start_us.max(fetch.span.start_us);
            let to = holds[hold].span.end_us().min(fetch.span.end_us());
            assert!(waited.0 <= to - from, "it waited {waited} of {} us", to - from);
        }
        assert!(fetch.held.is_sorted_by_key(|(_, waited)| std::cmp::Reverse(*waited)));
        failed += usize::from(fetch.outcome != Outcome::Ok && !fetch.held.is_empty());
    }
    assert!(failed > 5, "the fixture starves: {failed}");
    let page = html(&analysis);
    for held in Explanation::of(&analysis).holders {
        let said =
            format!("{} held {} fetches for {}", holder(held.holder), held.fetches, held.waited_us);
        assert!(page.contains(&said), "{said}");
    }
}

#[test]
fn every_kind_of_run_has_its_page_and_figures_without_a_place_that_is_no_number() {
    for (name, run, _, [_, words]) in kinds() {
        let analysis = Analysis::of(&run.records);
        let page = html(&analysis);
        assert!(page.contains(words), "{name} lacks {words:?}");
        assert!(!page.contains("NaN") && !page.contains("inf s"), "{name}");
        let svg = svg(&analysis).expect("a picture");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}");
        assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count(), "{name}");
    }
}

#[test]
fn an_empty_run_has_a_page() {
    let mut run = starved();
    let mut manifest = run.records.manifest.clone();
    manifest.phases.clear();
    run.records = RunRecords::new(manifest);
    let analysis = Analysis::of(&run.records);
    assert!(PageData::of(&analysis).end_us > 0);
    assert!(html(&analysis).contains("No worker and no fetch is known"));
    assert!(svg(&analysis).is_none());
}

const MOST: u64 = u64::MAX;

/// A starved run in which whatever can be told is told to be as much as a number holds.
fn boundless() -> Run {
    let mut run = Run::starved();
    let records = &mut run.records;
    for fetch in records.fetches.iter_mut().filter(|fetch| fetch.phase == Phase::Measure) {
        (fetch.total_us, fetch.response_us) = (Micros(MOST), Micros(MOST));
        fetch.bytes = Bytes(MOST);
    }
    for session in &mut records.sessions {
        (session.log.rt_ms, session.log.urt_ms) = (MOST, Some(MOST));
        (session.steps, session.body_bytes) = (MOST, Bytes(MOST));
        (session.steps_us, session.longest_step_us) = (Micros(MOST), Micros(MOST));
    }
    for hold in &mut records.holds {
        (hold.end_ns, hold.bytes, hold.reads) = (MonoNs(MOST), Bytes(MOST), MOST);
    }
    for interval in &mut records.intervals {
        interval.bytes.fill(Bytes(MOST));
    }
    for download in &mut records.downloads {
        (download.total_us, download.bytes) = (Micros(MOST), Bytes(MOST));
    }
    let (at_ns, end_ns, time_us, looks) = (MonoNs(MOST), MonoNs(MOST), Micros(MOST), u32::MAX);
    for worker in 0..2 {
        let (bytes, sizes) = (Bytes(MOST), [(MOST, MOST)].into());
        let call = CallTotal { count: MOST, time_us, asleep_us: time_us, bytes, sizes };
        records.calls.push(CallTotals {
            worker,
            at_ns,
            calls: [("readv".to_owned(), call)].into(),
        });
        let call = "pwrite64".to_owned();
        records.blocked.push(Blocked { worker, end_ns, call, ..Blocked::default() });
        let (running, waiting, blocked) = (looks, looks, looks);
        let start_ns = MonoNs(0);
        let absence = Absence { worker, start_ns, end_ns, looks, running, waiting, blocked };
        records.absences.push(absence);
        records.totals.push(WorkerTotals {
            worker,
            at_ns,
            steps: MOST,
            accept_pauses: MOST,
            records_lost: MOST,
            longest_step_us: time_us,
            longest_turn_us: time_us,
            ..WorkerTotals::default()
        });
    }
    run
}

#[test]
fn a_run_of_numbers_without_bounds_has_a_summary_and_a_page() {
    let run = boundless();
    let analysis = Analysis::of(&run.records);
    let summary = &analysis.summary;
    let readv = &summary.proxy.calls["readv"];
    assert_eq!((readv.count, readv.asleep_us, readv.bytes), (MOST, Micros(MOST), Bytes(MOST)));
    assert_eq!(summary.slow.bytes, Bytes(MOST));
    let report = text(&run.records.manifest, summary, "runs/x".as_ref(), Style::Plain);
    assert!(report.lines().count() <= MAX_LINES, "{report}");
    let page = html(&analysis);
    assert!(page.contains("readv"), "what was told is shown");
}
