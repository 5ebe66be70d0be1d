//! What an analysis, a comparison or a check says: as text for a terminal, as one HTML file that needs no
//! network, as figures in SVG, as Markdown, and as CI systems and monitors read it.
//!
//! - [`words`]: sentences and words, the same wherever they are said
//! - [`text`], [`details`], [`story`], [`timeline`], [`check`] and their like: lines of a terminal, JSON,
//!   Markdown
//! - [`html`] and [`svg`]: a run; [`campaign_html`] and [`campaign_svg`]: a [`Campaign`]
//!
//! Not for: reading files, explaining fetches, comparing arms, or judging: that is `analysis`.
//!
//! Invariants:
//! - Nothing reads a clock, a file or a socket: the same data make the same bytes.
//! - A page loads nothing: style, script and data are inside.
//! - Text from records reaches HTML, SVG and the script only through the module `escape`.

mod campaign;
mod data;
mod escape;
mod page;
mod svg;
mod table;
mod text;
pub mod words;

pub use campaign::{Arm, Campaign, Case, CaseArm, CaseFigure, CaseWords};
pub use data::{AbsenceData, FetchData, HoldData, PageData, Span, StretchData};
pub use page::{campaign_html, html};
pub use svg::{campaign_svg, svg};
pub use text::{
    MAX_LINES, OpenMetrics, Sheet, Style, annotations, arms_markdown, case_list, check,
    check_markdown, csv, details, headline, json, junit, short_bytes, story, text, timeline,
};
