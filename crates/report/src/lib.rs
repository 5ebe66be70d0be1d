//! A run, a comparison or a check as text, and as what CI systems read; a run, or a campaign of many, as
//! one HTML file that needs no network, and its figures as SVG.
//!
//! Data in, text out: [`PageData::of`] takes what the records and the explanation of a run say,
//! [`html`] makes the page of it and [`svg`] any one figure. [`CampaignData::of`],
//! [`campaign_html`] and [`campaign_svg`] do the same for arms over rounds.
//!
//! Not for: reading files, explaining fetches, comparing arms, or judging. What held a fetch comes from the
//! explanation ([`Fate`]).
//!
//! Invariants:
//! - Nothing reads a clock, a file or a socket: the same data make the same bytes.
//! - The page loads nothing: style, script and data are inside.
//! - Text from records reaches HTML, SVG and the script only through the module `escape`.
//! - Times in [`PageData`] are whole microseconds since the start of the run.

mod campaign;
mod curve;
mod data;
mod escape;
mod gather;
mod head;
mod html;
mod input;
mod palette;
mod svg;
mod text;
pub mod words;

pub use campaign::{
    ArmData, ArmInput, CampaignData, CampaignInput, CaseArmInput, CaseFigure, CaseInput, Counts,
    LatencyData, MetricInput, PairInput, ShareData, Standing, TrialData, TrialInput, campaign_html,
};
pub use curve::{LatencyCurve, LatencyPoint, SurvivalPoint};
pub use data::{
    AbsenceData, Blame, FetchData, FigureLine, HoldData, PageData, Series, Span, StretchData,
};
pub use html::html;
pub use input::{Fate, RunInput};
pub use palette::Ink;
pub use svg::{Figure, SvgError, campaign_svg, svg};
pub use text::{
    MAX_LINES, MaxLines, OpenMetrics, Style, annotations, arms, arms_markdown, case, case_list,
    check, check_markdown, comparison, comparison_gate, comparison_markdown, gate, json, junit,
    labelled, left_out, metric_cells, open_metrics, short_bytes, story, text, timeline,
};
