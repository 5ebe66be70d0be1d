//! The pages without a session: whatever is read, stored and sent, in whatever order; and errors of a
//! real file.

use proptest::prelude::*;
use records::Bytes;

use super::pages::{PAGES, Pages, WhenShort};
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
    Spool,
    /// The client takes at most so much of what may leave.
    Send(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..SIZE * 12).prop_map(Op::Read),
        1 => (0..SIZE * 12, 0..SIZE * 3).prop_map(|(got, keep)| Op::ReadCut(got, keep)),
        4 => Just(Op::Spool),
        4 => (0..SIZE * 12).prop_map(Op::Send),
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
    fn new(file_max: u64, head: usize, rest: usize, when_short: WhenShort) -> Self {
        let rest: Vec<u8> = (0..rest).map(|at| u8::try_from(at % 251).expect("small")).collect();
        let first = Buffer::behind_head(SIZE, head, &rest);
        assert_eq!(first.held(), rest);
        let pages = Pages::new(SIZE, first, Bytes(file_max), when_short);
        Self { pages, file: Vec::new(), numbers: 0, went_in: rest, came_out: Vec::new() }
    }

    /// All pages made and full.
    fn filled(file_max: u64) -> Self {
        let mut model = Self::new(file_max, SIZE, 0, WhenShort::Waits);
        while model.read(usize::MAX / 2, usize::MAX) > 0 {}
        model
    }

    /// How much was offered to the read.
    fn read(&mut self, most: usize, keep: usize) -> usize {
        if !self.pages.has_room() {
            return 0;
        }
        let (mut room, slices) = self.pages.room();
        assert!((1..=PAGES + 1).contains(&slices));
        let offered = room[..slices].iter().map(|slice| slice.len()).sum();
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
        offered
    }

    /// How much was put into the file.
    fn spool(&mut self) -> usize {
        let (slices, pages) = self.pages.to_spool();
        let bytes: Vec<u8> = slices[..pages].iter().flat_map(|slice| slice.to_vec()).collect();
        assert!(bytes.len() <= 2 * SIZE, "more than one write's worth");
        assert_eq!(self.pages.file_end(), self.file.len() as u64);
        self.file.extend_from_slice(&bytes);
        self.pages.spooled(pages);
        bytes.len()
    }

    /// How much was offered to the client.
    fn send(&mut self, most: usize) -> usize {
        let file = &self.file;
        let read_back = self.pages.read_back(|into, at| {
            let at = usize::try_from(at).expect("small");
            into.copy_from_slice(&file[at..at + into.len()]);
            Ok(())
        });
        read_back.expect("the file is whole");
        let (line, slices) = self.pages.line(&[]);
        let mut bytes: Vec<u8> = line[..slices].iter().flat_map(|slice| slice.to_vec()).collect();
        let offered = bytes.len();
        assert_eq!(offered == 0, self.pages.is_drained());
        bytes.truncate(most);
        self.came_out.extend_from_slice(&bytes);
        self.pages.sent(bytes.len());
        offered
    }
}

proptest! {
    /// All comes out once and in order, and neither the file nor memory grows beyond its limit.
    #[test]
    fn bytes_come_out_as_they_went_in(
        file_max in prop_oneof![Just(0), 1..600u64, Just(u64::MAX)],
        head in 0..SIZE * 2,
        rest in 0..=SIZE,
        goes_on: bool,
        ops in prop::collection::vec(op(), 0..120),
    ) {
        let when_short = if goes_on { WhenShort::GoesOn } else { WhenShort::Waits };
        let mut model = Model::new(file_max, head, rest, when_short);
        for op in ops {
            match op {
                Op::Read(most) => drop(model.read(most, most)),
                Op::ReadCut(most, keep) => drop(model.read(most, keep)),
                Op::Spool => drop(model.spool()),
                Op::Send(most) => drop(model.send(most)),
            }
            prop_assert!(model.file.len() as u64 <= file_max);
            prop_assert!(model.went_in.starts_with(&model.came_out));
            let in_memory = model.went_in.len().saturating_sub(model.came_out.len() + model.file.len());
            prop_assert!(in_memory <= (PAGES + 1) * SIZE);
        }
        model.pages.finish();
        while model.send(usize::MAX) > 0 {}
        prop_assert_eq!(model.came_out, model.went_in);
    }
}

#[test]
fn pages_are_made_one_by_one_and_then_read_all_at_once() {
    let mut model = Model::new(0, 24, 0, WhenShort::Waits);
    // First what the head has left of its own page.
    for expected in [SIZE - 24].into_iter().chain([SIZE; PAGES]) {
        assert_eq!(model.read(SIZE * 100, usize::MAX), expected);
    }
    assert_eq!(model.read(SIZE, SIZE), 0);
    model.pages.finish();
    model.send(usize::MAX);
    assert_eq!(model.read(0, 0), SIZE * (PAGES + 1));
}

#[test]
fn two_pages_are_written_at_a_time_and_all_of_them_at_the_end() {
    let mut model = Model::filled(0);
    assert_eq!(model.send(SIZE / 2), 2 * SIZE);
    assert!(!model.pages.has_room(), "half a page left");
    assert_eq!(model.send(SIZE), SIZE + SIZE / 2);
    assert!(model.pages.has_room());
    model.read(10, 10);
    while model.send(usize::MAX) > 0 {}
    assert_eq!(model.went_in.len() - model.came_out.len(), 10, "a short page waits for more");
    model.pages.finish();
    assert_eq!(model.send(usize::MAX), 10);
    let mut model = Model::filled(0);
    model.pages.finish();
    assert_eq!(model.send(usize::MAX), SIZE * (PAGES + 1));
}

#[test]
fn two_pages_are_spooled_at_a_time_and_never_a_part_of_one() {
    let mut model = Model::filled(3 * SIZE as u64 + 10);
    assert_eq!(model.spool(), 2 * SIZE);
    assert_eq!(model.read(0, 0), 2 * SIZE, "the next read has their room");
    assert_eq!(model.spool(), SIZE);
    assert_eq!(model.spool(), 0, "another page does not fit");
    // The file goes first, and its place stays taken.
    assert_eq!(model.send(usize::MAX), 3 * SIZE);
    assert_eq!((model.send(usize::MAX), model.spool()), (2 * SIZE, 0));
}

#[test]
fn a_file_is_read_back_in_pieces() {
    let mut pages = Pages::new(4096, Buffer::of_size(4096), Bytes::gib(1), WhenShort::Waits);
    for _ in 0..10 {
        while pages.has_room() {
            let got = pages.room().0.iter().map(|slice| slice.len()).sum();
            pages.took(got, |piece| Ok::<_, ()>(piece.len())).expect("kept");
        }
        let oldest = pages.to_spool().1;
        pages.spooled(oldest);
    }
    assert_eq!(pages.file_end(), 80 << 10);
    for (at, len) in [(0, 32 << 10), (32 << 10, 32 << 10), (64 << 10, 16 << 10)] {
        let read = |into: &mut [u8], from| {
            assert_eq!((from, into.len()), (at, len));
            Ok(())
        };
        pages.read_back(read).expect("it is there");
        pages.sent(10_000);
        pages.read_back(|_, _| panic!("the piece has not left")).expect("nothing is read");
        pages.sent(len - 10_000);
    }
    assert_eq!(pages.line(&[]).0[0].len(), 4096, "what is in memory comes after it");
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
