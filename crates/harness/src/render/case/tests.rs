use std::path::Path;

use records::Verdict;

use super::{Shown, case, case_list};
use crate::cases::{self, CaseFigure};
use crate::render::Style;

#[test]
fn every_case_is_told_within_the_width() {
    for name in cases::names() {
        let told = cases::find(name).expect("a case");
        let figures = |arm: &cases::CaseArm| {
            let figure = |figure: &CaseFigure| {
                let here = (*figure != CaseFigure::Calls).then(|| "12.4 ms ".repeat(20));
                (*figure, here, arm.published.get(figure).cloned())
            };
            told.figures.iter().map(figure).collect()
        };
        let shown: Vec<Shown> = told
            .arms
            .iter()
            .map(|arm| Shown {
                arm: arm.name.clone(),
                verdict: Verdict::Starved,
                dir: "trials/01-1-x/20260301T120000Z-trial".into(),
                figures: figures(arm),
            })
            .collect();
        let text = case(&told, &shown, &[], Path::new("runs/x-case"), Style::Plain);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{name}:\n{text}");
        assert!(text.contains(&told.title) && text.contains("records     runs/x-case"));
        for arm in &told.arms {
            for published in arm.published.values() {
                let words: Vec<&str> = published.split_whitespace().take(3).collect();
                assert!(text.contains(&words.join(" ")), "{name}: {published}");
            }
        }
    }
}

#[test]
fn the_list_has_a_line_for_each() {
    let list =
        case_list(&[("herd", "Who is woken".to_owned()), ("x", "y".to_owned())], Style::Plain);
    assert_eq!(list, "herd  Who is woken\nx     y\n");
}
