//! The pages without a session: whatever is read, stored and sent, in whatever order; and errors of a
//! real file.

use std::cell::RefCell;

use proptest::prelude::*;
use records::Bytes;

use super::pages::{HandOut, PAGES, Pages};
use super::*;
use crate::session::connection::Buffer;

/// Small, so that every limit is met.
const SIZE: usize = 64;

/// What happens to the pages.
#[derive(Clone, Debug)]
enum Op {
    /// A read of at most so much.
    Read(usize),
    /// The body keeps no more than so much of one read, and drops the rest.
    ReadCut(usize, usize),
    ClosePage,
    Spool,
    /// What may leave is lined up, and the client takes at most so much of it.
    Send(HandOut, usize),
}

fn op() -> impl Strategy<Value = Op> {
    let how_much = prop_oneof![9 => Just(HandOut::Some), 1 => Just(HandOut::All)];
    prop_oneof![
        4 => (0..SIZE * 12).prop_map(Op::Read),
        1 => (0..SIZE * 12, 0..SIZE * 3).prop_map(|(got, keep)| Op::ReadCut(got, keep)),
        1 => Just(Op::ClosePage),
        4 => Just(Op::Spool),
        4 => (how_much, 0..SIZE * 12).prop_map(|(how_much, most)| Op::Send(how_much, most)),
    ]
}

/// The pages, the file they are stored in, and all that went in and came out.
struct Model {
    pages: Pages,
    file: Vec<u8>,
    numbers: u8,
    went_in: Vec<u8>,
    came_out: Vec<u8>,
}

impl Model {
    fn new(file_max: u64, head: usize, rest: usize) -> Self {
        let rest: Vec<u8> = (0..rest).map(|at| u8::try_from(at % 251).expect("small")).collect();
        let first = Buffer::behind_head(SIZE, head, &rest);
        assert_eq!(first.held(), rest);
        let pages = Pages::new(SIZE, first, Bytes(file_max));
        Self { pages, file: Vec::new(), numbers: 0, went_in: rest, came_out: Vec::new() }
    }

    fn read(&mut self, most: usize, keep: usize) {
        if !self.pages.has_room() {
            return;
        }
        let (mut room, slices) = self.pages.room();
        assert!((1..=PAGES + 1).contains(&slices));
        let mut bytes = Vec::new();
        for slice in &mut room[..slices] {
            assert!(!slice.is_empty(), "a read is never offered nothing");
            for byte in slice.iter_mut().take(most - bytes.len()) {
                self.numbers = self.numbers.wrapping_add(1);
                *byte = self.numbers;
                bytes.push(*byte);
            }
        }
        assert!(room[slices..].iter().all(|slice| slice.is_empty()));
        let mut seen = Vec::new();
        let took = self.pages.took(bytes.len(), |piece| {
            let keep = keep.saturating_sub(seen.len()).min(piece.len());
            seen.extend_from_slice(piece);
            Ok::<_, ()>(keep)
        });
        assert_eq!(took, Ok(()));
        let kept = bytes.len().min(keep);
        assert!(bytes.starts_with(&seen) && seen.len() >= kept);
        self.went_in.extend_from_slice(&bytes[..kept]);
    }

    fn spool(&mut self) -> bool {
        let (slices, pages) = self.pages.to_spool();
        let bytes: Vec<u8> = slices[..pages].iter().flat_map(|slice| slice.to_vec()).collect();
        assert!(bytes.len() <= 2 * SIZE, "more than one write's worth");
        assert_eq!(self.pages.file_end(), self.file.len() as u64);
        self.file.extend_from_slice(&bytes);
        self.pages.spooled(pages);
        pages > 0
    }

    fn send(&mut self, how_much: HandOut, most: usize) {
        self.pages.hand_out(how_much);
        if how_much == HandOut::Some {
            assert!(self.pages.outlet.pages() <= PAGES + 1);
        }
        let file = &self.file;
        self.pages
            .outlet
            .line_up(|into, at| {
                let at = usize::try_from(at).expect("small");
                into.copy_from_slice(&file[at..at + into.len()]);
                Ok(())
            })
            .expect("the file is whole");
        let (line, slices) = self.pages.outlet.line(&[]);
        let mut bytes: Vec<u8> = line[..slices].iter().flat_map(|slice| slice.to_vec()).collect();
        assert!(bytes.starts_with(self.pages.outlet.first()));
        bytes.truncate(most);
        self.came_out.extend_from_slice(&bytes);
        self.pages.sent(bytes.len());
    }
}

proptest! {
    /// All comes out once and in order, and the file stays within its limit.
    #[test]
    fn bytes_come_out_as_they_went_in(
        file_max in prop_oneof![Just(0), 1..600u64, Just(u64::MAX)],
        head in 0..SIZE * 2,
        rest in 0..=SIZE,
        ops in prop::collection::vec(op(), 0..120),
    ) {
        let mut model = Model::new(file_max, head, rest);
        for op in ops {
            match op {
                Op::Read(most) => model.read(most, most),
                Op::ReadCut(most, keep) => model.read(most, keep),
                Op::ClosePage => model.pages.close_page(),
                Op::Spool => drop(model.spool()),
                Op::Send(how_much, most) => model.send(how_much, most),
            }
            prop_assert!(model.file.len() as u64 <= file_max);
            prop_assert!(model.went_in.starts_with(&model.came_out));
        }
        model.pages.close_page();
        while !model.pages.is_drained() {
            model.send(HandOut::All, usize::MAX);
        }
        prop_assert_eq!(model.came_out, model.went_in);
    }

    /// However long a client takes nothing: the pages hold what they hold, the rest is in the file.
    #[test]
    fn memory_is_bounded(reads in prop::collection::vec(1..SIZE * 12, 1..200)) {
        let mut model = Model::new(u64::MAX, SIZE, 0);
        for most in reads {
            model.read(most, most);
            let held = model.went_in.len() - model.file.len();
            prop_assert!(held <= (PAGES + 1) * SIZE, "{held} bytes in memory");
            if !model.pages.has_room() {
                prop_assert!(model.spool());
            }
        }
    }
}

fn filled() -> Model {
    let mut model = Model::new(u64::MAX, SIZE, 0);
    while model.pages.has_room() {
        model.read(usize::MAX / 2, usize::MAX);
    }
    model
}

#[test]
fn pages_are_made_one_by_one_and_then_read_all_at_once() {
    let mut model = Model::new(0, 24, 0);
    let mut offered = Vec::new();
    while model.pages.has_room() {
        let before = model.went_in.len();
        model.read(SIZE * 100, usize::MAX);
        offered.push(model.went_in.len() - before);
    }
    // First what the head has left of its own page.
    assert_eq!(offered, [[SIZE - 24].as_slice(), &[SIZE; PAGES]].concat());
    model.send(HandOut::All, usize::MAX);
    assert_eq!(model.pages.room().1, PAGES + 1);
}

#[test]
fn two_pages_are_written_at_a_time() {
    let mut model = filled();
    let mut writes = Vec::new();
    while !model.pages.is_drained() {
        let before = model.came_out.len();
        model.send(HandOut::Some, usize::MAX);
        writes.push((model.came_out.len() - before) / SIZE);
    }
    assert_eq!(writes, [2, 2, 2, 2, 1]);
    // A client that takes half a page keeps both from being freed.
    let mut model = filled();
    model.send(HandOut::Some, SIZE / 2);
    assert!(!model.pages.has_room());
    model.send(HandOut::Some, SIZE);
    assert!(model.pages.has_room());
}

#[test]
fn two_pages_are_spooled_at_a_time_and_never_a_part_of_one() {
    let mut model = filled();
    assert!(model.spool());
    assert_eq!(model.file.len(), 2 * SIZE);
    assert_eq!(model.pages.room().1, 2, "the next read has their room");
    let mut model = filled();
    model.pages = {
        let mut small = Pages::new(SIZE, Buffer::of_size(SIZE), Bytes(SIZE as u64 + 10));
        while small.has_room() {
            let got = small.room().0.iter().map(|slice| slice.len()).sum();
            small.took(got, |piece| Ok::<_, ()>(piece.len())).expect("kept");
        }
        small
    };
    assert!(model.spool());
    assert_eq!(model.file.len(), SIZE);
    assert!(!model.spool(), "another page does not fit");
}

#[test]
fn a_file_is_read_back_in_pieces_a_second_ahead_when_the_first_stays() {
    let mut pages = Pages::new(4096, Buffer::of_size(4096), Bytes::gib(1));
    for _ in 0..60 {
        while pages.has_room() {
            let got = pages.room().0.iter().map(|slice| slice.len()).sum();
            pages.took(got, |piece| Ok::<_, ()>(piece.len())).expect("kept");
        }
        let oldest = pages.to_spool().1;
        pages.spooled(oldest);
    }
    assert!(pages.file_end() > 200 << 10);
    let read = RefCell::new(Vec::new());
    let line_up = |pages: &mut Pages| {
        let note = |into: &mut [u8], at| {
            read.borrow_mut().push((at, into.len()));
            Ok(())
        };
        pages.outlet.line_up(note).expect("it is there");
        read.take()
    };
    pages.hand_out(HandOut::Some);
    assert_eq!(line_up(&mut pages), [(0, 32 << 10)]);
    pages.sent(10_000);
    assert_eq!(line_up(&mut pages), [(32 << 10, 32 << 10)]);
    pages.sent(1);
    assert_eq!(line_up(&mut pages), [], "there are two");
    pages.sent(32 << 10);
    assert_eq!(line_up(&mut pages), [(64 << 10, 32 << 10)]);
    pages.sent(usize::MAX);
    assert_eq!(line_up(&mut pages), [(96 << 10, 32 << 10), (128 << 10, 32 << 10)]);
}

#[test]
fn what_is_stored_is_fetched_and_trouble_is_told() {
    let file = tempfile::tempfile().expect("a file");
    file.store(&[IoSlice::new(b"one "), IoSlice::new(b"after ")], 0).expect("stored");
    file.store(&[IoSlice::new(b"another")], 10).expect("stored");
    let mut into = [0; 13];
    file.fetch(&mut into, 4).expect("it is there");
    assert_eq!(&into, b"after another");
    file.set_len(10).expect("cut");
    let lost = file.fetch(&mut into, 4).expect_err("some of the bytes are gone");
    assert_eq!(lost.kind(), io::ErrorKind::UnexpectedEof);
    // full(4): every write fails with ENOSPC.
    let full = File::options().read(true).write(true).open("/dev/full").expect("full(4)");
    let refused = full.store(&[IoSlice::new(b"a")], 0).expect_err("a full disk");
    assert_eq!(refused.kind(), io::ErrorKind::StorageFull);
}
