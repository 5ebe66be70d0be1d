//! The show in lines.

use super::fixture::{self, at};
use crate::Plain;

#[test]
fn each_act_is_announced_once() {
    let mut plain = Plain::default();
    let mut said = plain.lines(&fixture::show(), at(0));
    said.extend(plain.lines(&fixture::show(), at(3_000)));
    said.extend(plain.lines(&fixture::idle(), at(9_000)));
    said.extend(plain.lines(&fixture::idle(), at(10_900)));
    said.extend(plain.lines(&fixture::idle(), at(11_000)));
    said.extend(plain.lines(&fixture::starving(), at(16_500)));
    said.extend(plain.lines(&fixture::starving(), at(18_500)));
    said.extend(plain.lines(&fixture::judged("starved", 27, 53), at(18_600)));
    said.extend(plain.lines(&fixture::closing(), at(60_000)));
    insta::assert_snapshot!(said.join("\n"));
}
