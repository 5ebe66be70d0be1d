//! Cases as they are told.

use records::Verdict;
use report::{CaseArm, CaseFigure, Style};

use crate::cases;

fn nothing() -> report::Campaign {
    report::Campaign {
        dir: "runs/x-case".into(),
        purpose: "case x".to_owned(),
        command: Vec::new(),
        rounds: 1,
        planned: 1,
        arms: Vec::new(),
        comparison: None,
        case: None,
    }
}

#[test]
fn every_case_is_told_within_the_width() {
    for name in cases::names() {
        let told = cases::find(name).expect("a case");
        let arms = told.arms.iter().map(|arm| CaseArm {
            name: arm.name.clone(),
            verdict: Verdict::Starved,
            dir: "trials/01-1-x/20260301T120000Z-trial".into(),
            figures: (told.figures.iter())
                .map(|figure| CaseFigure {
                    label: figure.label(),
                    here: (figure.name() != "calls").then(|| "12.4 ms ".repeat(20)),
                    published: arm.published.get(figure).cloned(),
                })
                .collect(),
        });
        let case = report::Case { words: told.words.clone(), arms: arms.collect() };
        let campaign = report::Campaign { case: Some(case), ..nothing() };
        let text = campaign.text(Style::Plain);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{name}:\n{text}");
        assert!(text.contains(&told.words.title) && text.contains("records     runs/x-case"));
        for arm in &told.arms {
            for published in arm.published.values() {
                let words: Vec<&str> = published.split_whitespace().take(3).collect();
                assert!(text.contains(&words.join(" ")), "{name}: {published}");
            }
        }
    }
}
