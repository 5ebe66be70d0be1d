// Fetches: a dot where one starts, a tail while it waits, a mark of its outcome where it ends.

const MOST_TAILS = 240; // in one lane, drawn with all they have

/** The holds that a chosen fetch waited in, or the chosen hold. */
let chosenHolds = null;

const firstHeld = () => {
  if (view.chosen?.hold !== undefined) return view.chosen.hold;
  return view.chosen ? fetches.held[view.chosen.fetch][0]?.[0] : undefined;
};
const standsOut = (hold) => !chosenHolds || chosenHolds.has(hold);

/** Whether a fetch is drawn in full while something is chosen. */
function isOfChosen(i) {
  if (!view.chosen) return true;
  if (view.chosen.fetch !== undefined) return view.chosen.fetch === i;
  return (waitedIn.get(view.chosen.hold) ?? []).includes(i);
}

/** Each outcome's shape, `r` around `x`, `y`; in the order of outcomes. */
const shapes = [
  (x, y, r) => { pen.moveTo(x + r * 0.8, y); pen.arc(x, y, r * 0.8, 0, 7); }, // ok
  (x, y, r) => { pen.moveTo(x - r, y + r); pen.lineTo(x, y - r); pen.lineTo(x + r, y + r); pen.closePath(); },
  (x, y, r) => { pen.moveTo(x - r, y - r); pen.lineTo(x + r, y + r); pen.moveTo(x + r, y - r); pen.lineTo(x - r, y + r); },
  (x, y, r) => { pen.moveTo(x, y - r); pen.lineTo(x, y + r); pen.moveTo(x - r, y); pen.lineTo(x + r, y); },
  (x, y, r) => pen.rect(x - r, y - r, 2 * r, 2 * r), // refused
  (x, y, r) => pen.rect(x - r, y - r, 2 * r, 2 * r), // reset
  (x, y, r) => { pen.moveTo(x, y - r); pen.lineTo(x + r, y); pen.lineTo(x, y + r); pen.lineTo(x - r, y); pen.closePath(); },
  (x, y, r) => { for (const dy of [-r, 0, r]) { pen.moveTo(x - r, y + dy); pen.lineTo(x + r, y + dy); } },
  (x, y, r) => { pen.moveTo(x - r, y + r); pen.lineTo(x + r, y - r); }, // could not be tried
];

const rowOf = (lane, i) => lane.fetchTop + ((fetches.row[i] % lane.rows) + 0.5) * lane.rowHeight;

/** The fetches of one lane up to `until`. */
function paintFetches(lane, until) {
  const rows = lane.fetches;
  const first = firstFrom(rows, fetches.start, view.from - lane.longestFetch);
  const last = firstFrom(rows, fetches.start, Math.min(view.to, until));
  const few = last - first <= MOST_TAILS;
  const marks = fetches.outcomes.map(() => ({ plain: [], faint: [] }));
  for (let at = first; at < last; at += 1) {
    const i = rows[at];
    const end = Math.min(fetches.end[i], until);
    if (end < view.from) continue;
    const row = marks[fetches.outcome[i]];
    (isOfChosen(i) ? row.plain : row.faint).push(i);
  }
  if (!few) return paintCrowd(lane, marks, until);
  // Colours of holders above the lines: one that shone through would make them others' colours.
  const stem = last - first < 200;
  for (const [kind, alpha] of [["faint", 0.2], ["plain", 1]]) {
    marks.forEach((kinds, outcome) => paintLines(lane, outcome, kinds[kind], until, alpha));
    marks.forEach((kinds) => kinds[kind].forEach((i) => paintTail(lane, i, until, alpha, stem)));
    marks.forEach((kinds, outcome) => paintMarks(lane, outcome, kinds[kind], until, alpha));
  }
}

/** Hundreds of fetches as one image: a line each, a speck where it was served, a cross where not. */
function paintCrowd(lane, marks, until) {
  const wide = Math.ceil(view.width) + 1;
  const high = Math.max(Math.ceil(lane.top + lane.height - lane.fetchTop) + 4, 1);
  const image = pen.createImageData(wide, high);
  const words = new Uint32Array(image.data.buffer);
  const dot = (x, y, word) => {
    if (x >= view.gutter && x < wide && y >= 0 && y < high) words[y * wide + x] = word;
  };
  const draw = (which, outcome, alpha) => {
    const line = pixelWord(outcome === 0 ? ink.soft : ink.failed, alpha);
    for (const i of which) {
      const y = Math.min(Math.round(rowOf(lane, i) - lane.fetchTop), high - 1);
      const from = Math.round(Math.max(xOf(fetches.start[i]), view.gutter));
      const to = Math.round(Math.min(xOf(Math.min(fetches.end[i], until)), wide - 1));
      if (to >= from) words.fill(line, y * wide + from, y * wide + to + 1);
      for (const [hold] of fetches.held[i]) {
        const left = Math.round(Math.max(xOf(Math.max(holds.start[hold], fetches.start[i])), from));
        const right = Math.round(Math.min(xOf(holds.end[hold]), to));
        const color = colors.get(holds.holder[hold])?.color ?? OTHER;
        if (right > left) words.fill(pixelWord(color, alpha), y * wide + left, y * wide + right);
      }
      if (fetches.end[i] > until) continue;
      if (outcome === 0) {
        for (const [dx, dy] of [[0, -1], [1, -1], [1, 0], [0, 1], [1, 1]]) dot(to + dx, y + dy, line);
      } else {
        for (let off = -3; off <= 3; off += 1) {
          dot(to + off, y + off, line);
          dot(to + off, y - off, line);
        }
      }
    }
  };
  // What is faint lies below, and what failed above all.
  for (const [kind, alpha] of [["faint", 50], ["plain", 255]]) {
    marks.forEach((kinds, outcome) => draw(kinds[kind], outcome, alpha));
  }
  stamp(image, lane.fetchTop);
}

/** One tail: where the fetch waited in steps of others, in the colours of those. */
function paintTail(lane, i, until, alpha, stem) {
  const y = rowOf(lane, i);
  const end = Math.min(fetches.end[i], until);
  const strong = alpha === 1;
  const from = Math.max(xOf(fetches.start[i]), view.gutter);
  const thick = Math.max(1.5, Math.min(6, lane.rowHeight * 0.62));
  pen.globalAlpha = alpha;
  for (const [hold] of fetches.held[i]) {
    const left = Math.max(xOf(Math.max(holds.start[hold], fetches.start[i])), view.gutter);
    const right = xOf(Math.min(holds.end[hold], end));
    if (right <= left) continue;
    pen.fillStyle = fillOf(holds.holder[hold]);
    pen.fillRect(left, y - thick / 2, right - left, thick);
  }
  if (lane.blocks > 0 && from > view.gutter && (stem || (view.chosen && strong))) {
    // Joined to the lane of the worker that has it.
    pen.globalAlpha = view.chosen && strong ? 0.9 : 0.16;
    pen.fillStyle = ink.ink;
    pen.fillRect(from - 0.5, lane.top + lane.blocks, 1, y - lane.top - lane.blocks);
  }
  pen.globalAlpha = 1;
}

/** The lines of one outcome, from start to end, with one pen. */
function paintLines(lane, outcome, which, until, alpha) {
  if (which.length === 0) return;
  pen.globalAlpha = alpha;
  pen.strokeStyle = outcome === 0 ? ink.soft : ink.failed;
  pen.lineWidth = outcome === 0 ? 1 : 1.3;
  pen.beginPath();
  for (const i of which) {
    const y = rowOf(lane, i);
    pen.moveTo(Math.max(xOf(fetches.start[i]), view.gutter), y);
    pen.lineTo(Math.max(xOf(Math.min(fetches.end[i], until)), view.gutter), y);
  }
  pen.stroke();
  pen.globalAlpha = 1;
}

/** Where fetches of one outcome start, and how they ended. */
function paintMarks(lane, outcome, which, until, alpha) {
  if (which.length === 0) return;
  const size = Math.max(1.6, Math.min(outcome === 0 ? 4 : 5, lane.rowHeight * 0.52));
  pen.globalAlpha = alpha;
  pen.fillStyle = outcome === 0 ? ink.soft : ink.failed;
  for (const i of which) {
    const x = xOf(fetches.start[i]);
    if (x >= view.gutter) pen.fillRect(x - 1.5, rowOf(lane, i) - size * 0.8, 3, size * 1.6);
  }
  pen.strokeStyle = outcome === 0 ? ink.ink : ink.failed;
  pen.lineWidth = outcome === 0 ? 1.4 : Math.max(1.4, size / 2.1);
  pen.beginPath();
  for (const i of which) {
    if (fetches.end[i] > until) continue;
    const x = xOf(fetches.end[i]);
    if (x >= view.gutter && x <= view.width + 8) shapes[outcome](x, rowOf(lane, i), size);
  }
  pen.stroke();
  pen.globalAlpha = 1;
}

/** Names of the lanes, over whatever ran into the gutter. */
function paintGutter() {
  pen.fillStyle = ink.paper;
  pen.fillRect(0, 0, view.gutter, view.height);
  pen.fillStyle = ink.ink;
  pen.font = '600 15px system-ui, "DejaVu Sans", sans-serif';
  for (const lane of lanes) {
    const middle = lane.top + (lane.blocks || 20) / 2 + 5;
    const short = lane.worker < 0 ? "?" : `w${lane.worker}`;
    pen.fillText(view.gutter < 80 ? short : lane.name, 8, middle);
  }
  pen.font = '14px system-ui, "DejaVu Sans", sans-serif';
  pen.fillStyle = ink.soft;
  for (const lane of lanes) {
    if (view.gutter >= 80 && lane.height > 80 && lane.worker >= 0 && lane.fetches.length > 0) {
      pen.fillText("fetches", 8, lane.fetchTop + 16);
    }
  }
}

function paint() {
  const until = view.now ?? Infinity;
  paintGround();
  for (const lane of lanes) {
    paintBlocks(lane, until);
    paintFetches(lane, until);
  }
  paintGutter();
  paintAxis();
  if (lanes.length === 0) {
    pen.fillText("No worker and no fetch is known of this run.", view.gutter + 10, view.height / 2);
  }
  if (view.now !== null) {
    const x = xOf(view.now);
    pen.fillStyle = ink.ink;
    if (x >= view.gutter) pen.fillRect(x - 1, 0, 2, view.height);
  }
}
