use ratatui_core::layout::Rect;

use super::*;
use crate::who::tests::three_seconds;

fn screen(ledger: &Ledger, width: u16, height: u16) -> String {
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
    draw(ledger, ":8080", "process 1241 (nginx) is new, and watched", Style::Colour, &mut buf);
    let rows: Vec<String> = (0..height)
        .map(|y| {
            let row: String = (0..width).map(|x| buf[(x, y)].symbol()).collect();
            row.trim_end().to_owned()
        })
        .collect();
    rows.join("\n")
}

#[test]
fn open_holds_stand_on_top() {
    insta::assert_snapshot!("picture", screen(&three_seconds(), 120, 16));
}

#[test]
fn nobody_held_is_said() {
    let mut ledger = three_seconds();
    ledger.finish();
    let text = screen(&ledger, 100, 12);
    assert!(text.contains("nobody is held"), "{text}");
}

#[test]
fn any_size_will_do() {
    let ledger = three_seconds();
    for width in [1, 20, 80, 300] {
        for height in 1..=30 {
            let text = screen(&ledger, width, height);
            if width >= 80 && height >= 4 {
                assert!(text.contains("10.0.0.9:40404"), "{width}x{height}: {text}");
            }
        }
    }
}
