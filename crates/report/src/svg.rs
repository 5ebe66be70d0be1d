//! Figures as SVG: on their own for slides, or inside the page, which colours them.

mod arms;
mod causes;
mod forest;
mod latency;
pub(crate) mod marks;
mod over_time;
mod picture;
mod plot;
mod survival;

use std::fmt;
use std::str::FromStr;

use crate::campaign::CampaignData;
use crate::data::PageData;

pub(crate) use self::picture::stage;

/// Rules that a figure needs wherever it stands.
pub(crate) const RULES: &str = include_str!("../assets/figure.css");
/// Colours of a figure that stands alone; the page has its own of the same names.
const COLORS: &str = include_str!("../assets/figure-colors.css");

/// A figure of a run or of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Figure {
    /// Lanes of workers over time, with holds and fetches.
    Picture,
    /// Latency by percentile, idle and under load.
    Latency,
    /// Share not yet done by age, idle and under load.
    Survival,
    /// Late time by cause.
    Causes,
    /// Downloads' bytes per second over time.
    Throughput,
    /// Depth of accept queues over time.
    AcceptQueue,
    /// Bytes that wait to be read from the origin, by download, over time.
    ReceiveQueue,
    /// Failed share by arm and round, with intervals; campaigns only.
    Failures,
    /// Arms against the first, with intervals; campaigns only.
    Differences,
}

impl Figure {
    /// Every figure.
    pub const ALL: [Self; 9] = [
        Self::Picture,
        Self::Latency,
        Self::Survival,
        Self::Causes,
        Self::Throughput,
        Self::AcceptQueue,
        Self::ReceiveQueue,
        Self::Failures,
        Self::Differences,
    ];

    /// Its word, who can have it, and what is missing where it cannot be drawn.
    const fn row(self) -> (&'static str, Of, &'static str) {
        let no_fetch = "there was no fetch";
        match self {
            Self::Picture => ("picture", Of::Run, "no worker and no fetch is known"),
            Self::Latency => ("latency", Of::Both, no_fetch),
            Self::Survival => ("survival", Of::Both, no_fetch),
            Self::Causes => {
                ("causes", Of::Run, "no fetch was late, or nothing is known of those that were")
            }
            Self::Throughput => ("throughput", Of::Both, "no download moved"),
            Self::AcceptQueue => ("accept-queue", Of::Run, "no accept queue was sampled"),
            Self::ReceiveQueue => ("receive-queue", Of::Run, "no socket of a download was sampled"),
            Self::Failures => ("failures", Of::Campaign, no_fetch),
            Self::Differences => ("differences", Of::Campaign, "no arms were compared"),
        }
    }

    /// Whether a run can have it.
    pub const fn is_of_a_run(self) -> bool {
        !matches!(self.row().1, Of::Campaign)
    }

    /// Whether a campaign can have it.
    pub const fn is_of_a_campaign(self) -> bool {
        !matches!(self.row().1, Of::Run)
    }

    /// The word used in flags and file names.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    const fn needs(self) -> &'static str {
        self.row().2
    }
}

/// Who can have a figure.
#[derive(Clone, Copy)]
enum Of {
    Run,
    Campaign,
    Both,
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Figure {
    type Err = SvgError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|figure| figure.name() == text);
        found.ok_or_else(|| SvgError::NoSuchFigure(text.to_owned()))
    }
}

/// A figure that cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SvgError {
    /// The run or the campaign has nothing to show there.
    #[error("failed to draw {figure}: {}", figure.needs())]
    Nothing {
        /// Which figure.
        figure: Figure,
    },
    /// A figure of campaigns was asked of a run.
    #[error("failed to draw {figure}: only a campaign of several trials has it, as compare makes")]
    OfCampaigns {
        /// Which figure.
        figure: Figure,
    },
    /// A figure of runs was asked of a campaign.
    #[error(
        "failed to draw {figure}: a campaign has none; name the directory of one of its trials"
    )]
    OfRuns {
        /// Which figure.
        figure: Figure,
    },
    /// No figure has this name.
    #[error(
        "{0:?} is not a figure: write picture, latency, survival, causes, throughput, \
         accept-queue or receive-queue; of a campaign latency, failures, survival, throughput \
         or differences"
    )]
    NoSuchFigure(String),
}

/// One figure as an SVG document of its own, light or dark as its viewer prefers.
///
/// # Errors
/// [`SvgError::Nothing`]: the run has nothing to show there; [`SvgError::OfCampaigns`].
pub fn svg(data: &PageData, figure: Figure) -> Result<String, SvgError> {
    if !figure.is_of_a_run() {
        return Err(SvgError::OfCampaigns { figure });
    }
    let body = draw(data, figure).ok_or(SvgError::Nothing { figure })?;
    Ok(body.document(&format!("{COLORS}{RULES}")))
}

/// The same for inside the page; `None` where there is nothing to show.
pub(crate) fn inline(data: &PageData, figure: Figure) -> Option<String> {
    Some(draw(data, figure)?.inline())
}

/// One figure of a campaign as an SVG document of its own.
///
/// # Errors
/// [`SvgError::Nothing`]: its trials have nothing to show there; [`SvgError::OfRuns`].
pub fn campaign_svg(campaign: &CampaignData, figure: Figure) -> Result<String, SvgError> {
    if !figure.is_of_a_campaign() {
        return Err(SvgError::OfRuns { figure });
    }
    let body =
        draw_campaign(campaign, figure, Points::Plain).ok_or(SvgError::Nothing { figure })?;
    Ok(body.document(&format!("{COLORS}{RULES}")))
}

/// The same for inside the page, its points being links; `None` where there is nothing to show.
pub(crate) fn inline_campaign(campaign: &CampaignData, figure: Figure) -> Option<String> {
    Some(draw_campaign(campaign, figure, Points::Links)?.inline())
}

/// What a point of a trial is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Points {
    /// A mark.
    Plain,
    /// A link to the trial's page.
    Links,
}

fn draw(data: &PageData, figure: Figure) -> Option<plot::Drawing> {
    match figure {
        Figure::Picture => picture::draw(data),
        Figure::Latency => latency::draw(data),
        Figure::Survival => survival::draw(data),
        Figure::Causes => causes::draw(data),
        Figure::Throughput => over_time::throughput(data),
        Figure::AcceptQueue => over_time::accept_queues(data),
        Figure::ReceiveQueue => over_time::receive_queues(data),
        Figure::Failures | Figure::Differences => None,
    }
}

fn draw_campaign(campaign: &CampaignData, figure: Figure, points: Points) -> Option<plot::Drawing> {
    match figure {
        Figure::Latency => arms::latency(campaign, points),
        Figure::Failures => arms::failures(campaign, points),
        Figure::Throughput => arms::throughput(campaign, points),
        Figure::Survival => survival::of_arms(campaign),
        Figure::Differences => forest::draw(campaign),
        Figure::Picture | Figure::Causes | Figure::AcceptQueue | Figure::ReceiveQueue => None,
    }
}
