//! Which rows an arm has on a screen of a given height: what matters less gives way.

/// A row of an arm, or a few that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// Where the trial stands.
    State,
    /// Good and failed, large, and what they are.
    Big,
    /// The same in a line.
    Small,
    /// The idle fetches, once there is load.
    Idle,
    /// Nothing.
    Gap,
    /// What a worker does.
    Lane(usize),
    /// The queue of a listener.
    Queue(usize),
    /// Fetches that were served.
    Good,
    /// Fetches that were not.
    Failed,
    /// The time of the lanes.
    Axis,
    /// The longest step.
    Longest,
    /// What the downloads receive.
    Rate,
}

/// How an arm is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Rows from the top, each with its height.
    pub(super) rows: Vec<(Row, u16)>,
    /// Workers that there is no room for.
    pub(super) hidden: usize,
}

impl Row {
    /// Rows it takes at least.
    const fn height(self) -> u16 {
        match self {
            Self::Big => super::big::HEIGHT + 1,
            _ => 1,
        }
    }

    /// What stays longest on a small screen.
    const fn rank(self) -> u8 {
        match self {
            Self::Small => 10,
            Self::State => 9,
            Self::Lane(_) => 8,
            Self::Queue(_) => 7,
            Self::Failed => 6,
            Self::Good => 5,
            Self::Big => 4,
            Self::Longest => 3,
            Self::Axis | Self::Idle | Self::Rate => 2,
            Self::Gap => 1,
        }
    }

    /// Rows it takes where there is more than enough room.
    const fn most(self) -> u16 {
        match self {
            Self::Lane(_) | Self::Queue(_) => 4,
            _ => self.height(),
        }
    }
}

/// The rows of an arm with so many workers and queues within `height`.
pub(super) fn layout(workers: usize, queues: usize, height: u16) -> Layout {
    // No screen has more, and what is left out is counted.
    let shown = workers.min(usize::from(height));
    let mut rows = vec![Row::State, Row::Big, Row::Idle, Row::Gap];
    for index in 0..shown {
        rows.push(Row::Lane(index));
        if index < queues {
            rows.push(Row::Queue(index));
        }
    }
    rows.extend([Row::Gap, Row::Good, Row::Failed, Row::Axis, Row::Longest, Row::Rate]);
    while rows.iter().map(|row| row.height()).sum::<u16>() > height {
        let least = rows.iter().enumerate().rev().min_by_key(|(_, row)| row.rank());
        let Some((index, row)) = least.map(|(index, row)| (index, *row)) else { break };
        rows.remove(index);
        if row == Row::Big {
            rows.insert(index, Row::Small);
        }
    }
    let lanes = rows.iter().filter(|row| matches!(row, Row::Lane(_))).count();
    Layout { hidden: workers - lanes, rows: grown(rows, height) }
}

/// Shares what is left among lanes and queues, a row each at a time.
fn grown(rows: Vec<Row>, height: u16) -> Vec<(Row, u16)> {
    let mut rows: Vec<(Row, u16)> = rows.into_iter().map(|row| (row, row.height())).collect();
    let mut left = height.saturating_sub(rows.iter().map(|(_, height)| height).sum());
    for lanes in [true, false].into_iter().cycle().take(6) {
        let wanted = |row: Row| matches!(row, Row::Lane(_)) == lanes;
        let growing: Vec<&mut (Row, u16)> =
            rows.iter_mut().filter(|(row, height)| wanted(*row) && *height < row.most()).collect();
        let count = u16::try_from(growing.len()).unwrap_or(u16::MAX);
        if count > left {
            break;
        }
        left -= count;
        growing.into_iter().for_each(|(_, height)| *height += 1);
    }
    rows
}

#[cfg(test)]
mod tests;
