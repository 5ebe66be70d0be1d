//! The pages as text, and in a real browser.

mod browser;
mod campaign;
mod controls;
mod fixture;
mod replay;
mod seen;
mod text;
