//! Figures as SVG: a run has its picture, a campaign the latencies of its arms. On their own for slides, or
//! inside a page, which colours them.

mod arms;
pub(crate) mod palette;
mod picture;
mod plot;

use analysis::Analysis;

use crate::campaign::Campaign;
use crate::data::PageData;

pub(crate) use self::picture::stage;

/// Rules that a figure needs wherever it stands.
pub(crate) const RULES: &str = include_str!("../../assets/figure.css");
/// Colours of a figure that stands alone; the page has its own of the same names.
const COLORS: &str = include_str!("../../assets/figure-colors.css");

/// The picture of a run as an SVG document of its own, light or dark as its viewer prefers; `None`: no
/// worker and no fetch is known.
pub fn svg(analysis: &Analysis<'_>) -> Option<String> {
    Some(picture::draw(&PageData::of(analysis))?.document(&format!("{COLORS}{RULES}")))
}

/// The latencies of a campaign's arms by round, likewise; `None`: there was no fetch.
pub fn campaign_svg(campaign: &Campaign) -> Option<String> {
    Some(arms::draw(campaign)?.document(&format!("{COLORS}{RULES}")))
}

/// The same for inside the page.
pub(crate) fn inline_campaign(campaign: &Campaign) -> Option<String> {
    Some(arms::draw(campaign)?.inline())
}
