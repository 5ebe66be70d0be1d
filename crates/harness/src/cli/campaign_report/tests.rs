//! Cases as they are told.

use records::Verdict;
use report::Style;

use super::case;
use crate::cases::{self, CaseArm, CaseFigure, Shown};

fn nothing() -> report::Campaign {
    report::Campaign {
        dir: "runs/x-case".into(),
        purpose: "case x".to_owned(),
        command: Vec::new(),
        rounds: 1,
        planned: 1,
        seed: 1,
        arms: Vec::new(),
        comparison: None,
        case: None,
        manifest: None,
    }
}

#[test]
fn every_case_is_told_within_the_width() {
    for name in cases::names() {
        let told = cases::find(name).expect("a case");
        let figures = |arm: &CaseArm| {
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
        let campaign = report::Campaign { case: Some(case(&told, shown)), ..nothing() };
        let text = campaign.text(Style::Plain);
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
