//! Where a session stands that is to be run: in one place at most, and there once. One that stood
//! twice would get twice its share.

/// See the module's head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// Nowhere: it waits for an event.
    #[default]
    Nowhere,
    /// In the work of this loop turn.
    Work,
    /// In the ready queue, for the work of the next.
    Ready,
}

impl Place {
    /// It is to run in this loop turn. Whether it has to be put into the work: it is not in yet.
    pub(super) fn line_up(&mut self) -> bool {
        std::mem::replace(self, Self::Work) != Self::Work
    }

    /// It has yielded. Whether it has to be put into the ready queue: it is not in yet.
    pub(super) fn make_ready(&mut self) -> bool {
        std::mem::replace(self, Self::Ready) != Self::Ready
    }

    /// Its turn has come. One that yielded, and has a step for its deadline, keeps its place.
    pub(super) fn begin_step(&mut self) {
        if *self == Self::Work {
            *self = Self::Nowhere;
        }
    }
}
