// The lanes: phases, the axis, blocks of steps. Where more falls on a pixel than can be told apart,
// the pixel shows how its time was shared.

const MOST_BLOCKS = 3000; // in one lane, drawn one by one

/** A hatched fill, in the colour given; one canvas each, made once a theme. */
const hatches = new Map();
function hatch(color, gap) {
  const key = `${color}${gap}${ink.paper}`;
  if (!hatches.has(key)) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const brush = tile.getContext("2d");
    brush.fillStyle = gap;
    brush.fillRect(0, 0, 8, 8);
    brush.strokeStyle = color;
    brush.lineWidth = 4;
    brush.beginPath();
    for (const shift of [-8, 0, 8]) {
      brush.moveTo(shift - 2, 10);
      brush.lineTo(shift + 10, -2);
    }
    brush.stroke();
    hatches.set(key, pen.createPattern(tile, "repeat"));
  }
  return hatches.get(key);
}

const OTHER = "#8a8f98"; // steps that served no download

/** The colour of a step's holder. */
function fillOf(holder) {
  const download = colors.get(holder);
  if (!download) return hatch(OTHER, ink.lane);
  return download.hatched ? hatch(download.color, ink.paper) : download.color;
}

/** The time axis' step for about one label every 110 px. */
function tickStep() {
  const rough = ((view.to - view.from) / Math.max(view.width - view.gutter, 1)) * 110;
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  return [1, 2, 5, 10].map((f) => f * power).find((step) => step >= rough) ?? 10 * power;
}

function paintGround() {
  pen.fillStyle = ink.paper;
  pen.fillRect(0, 0, view.width, view.height);
  const bottom = view.height - BOTTOM;
  pen.font = '14px system-ui, "DejaVu Sans", sans-serif';
  pen.textBaseline = "alphabetic";
  for (const phase of run.phases) {
    const from = Math.max(xOf(phase.start_us), view.gutter);
    const to = Math.min(xOf(phase.end_us), view.width);
    if (to <= from) continue;
    if (phase.name === "measure" || phase.name === "idle") {
      pen.fillStyle = phase.name === "measure" ? ink.band : ink.lane;
      pen.fillRect(from, TOP, to - from, bottom - TOP);
    }
    pen.fillStyle = ink.soft;
    pen.fillRect(from, 6, 1, bottom - 6);
    const words = { idle: "idle: fetches alone", load: "load", measure: "measure: fetches beside downloads" };
    const name = [words[phase.name] ?? phase.name, phase.name].find((text) => pen.measureText(text).width < to - from - 10);
    if (name) pen.fillText(name, from + 6, 18);
  }
  const step = tickStep();
  pen.fillStyle = ink.line;
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
    pen.fillRect(xOf(at), TOP, 1, bottom - TOP);
  }
}

/** The axis' labels: over the gutter, since the first is half in it. */
function paintAxis() {
  const step = tickStep();
  const digits = Math.max(0, -Math.floor(Math.log10(step / 1e6) + 1e-9));
  pen.font = '14px system-ui, "DejaVu Sans", sans-serif';
  pen.fillStyle = ink.soft;
  pen.textAlign = "center";
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
    const x = xOf(at);
    if (x < view.width - 24) pen.fillText(`${(at / 1e6).toFixed(digits)} s`, x, view.height - BOTTOM + 18);
  }
  pen.textAlign = "left";
}

/** The blocks of one lane up to `until`. */
function paintBlocks(lane, until) {
  const right = lane.top + lane.blocks;
  pen.fillStyle = ink.line;
  pen.fillRect(view.gutter, right, view.width - view.gutter, 1);
  paintStretches(lane, until);
  paintSpans(lane, until);
  const rows = lane.holds;
  const first = firstFrom(rows, holds.start, view.from - lane.longestHold);
  const last = firstFrom(rows, holds.start, Math.min(view.to, until));
  if (last - first > MOST_BLOCKS) paintShares(lane, first, last, until);
  else for (let at = first; at < last; at += 1) paintBlock(lane, rows[at], until);
}

function paintBlock(lane, hold, until) {
  const end = Math.min(holds.end[hold], until);
  const left = Math.max(xOf(holds.start[hold]), view.gutter);
  const right = Math.min(xOf(end), view.width + 40);
  if (right < view.gutter) return;
  const width = Math.max(right - left, 1);
  pen.globalAlpha = standsOut(hold) ? 1 : 0.22;
  pen.fillStyle = fillOf(holds.holder[hold]);
  // Steps that follow each other are told apart by a hair of ground, where there is room for it.
  pen.fillRect(left, lane.top, width > 3 ? width - 1 : width, lane.blocks);
  if (view.chosen && standsOut(hold)) {
    pen.strokeStyle = ink.ink;
    pen.lineWidth = hold === firstHeld() ? 3.5 : 1.5;
    pen.strokeRect(left + 1, lane.top + 1, Math.max(width - 2, 1), lane.blocks - 2);
  }
  if (width > 26) paintLabel(lane, hold, left, Math.min(right, view.width) - left, end);
  pen.globalAlpha = 1;
}

/** `download 2: 1.9 s, 1.4 GiB`, or as much of it as there is room for. */
function paintLabel(lane, hold, left, width, end) {
  const name = holderName(hold);
  const length = shortTime(end - holds.start[hold]);
  const moved = bytes(holds.bytes[hold]);
  const number = holds.holder[hold] >= 0 ? [`${holds.holder[hold]}`] : [];
  const two = lane.blocks >= 40;
  pen.font = '600 15px system-ui, "DejaVu Sans", sans-serif';
  const room = (text) => pen.measureText(text).width <= width - 9;
  const write = (text, y) => {
    pen.lineJoin = "round";
    pen.lineWidth = 3.5;
    pen.strokeStyle = "rgb(255 255 255 / 0.8)";
    pen.strokeText(text, left + 5, y);
    pen.fillStyle = "#111";
    pen.fillText(text, left + 5, y);
  };
  const top = two ? lane.top + lane.blocks / 2 - 4 : lane.top + lane.blocks / 2 + 5;
  const lines = two ? [name, ...number] : [`${name}: ${length}, ${moved}`, `${name}: ${length}`, name, ...number];
  const first = lines.find(room);
  if (!first) return;
  write(first, top);
  const second = two ? [`${length}, ${moved}`, length].find(room) : undefined;
  if (second) write(second, top + 20);
}

/** How each pixel's time was shared among holders, stacked from below. */
function paintShares(lane, first, last, until) {
  const wide = Math.ceil(view.width) + 1;
  const perUs = (view.width - view.gutter) / (view.to - view.from);
  const pixels = []; // by holder, the others at 0
  for (let at = first; at < last; at += 1) {
    const hold = lane.holds[at];
    const place = Math.max(holds.holder[hold], -1) + 1;
    const shares = (pixels[place] ??= new Float64Array(wide));
    const from = view.gutter + (Math.max(holds.start[hold], view.from) - view.from) * perUs;
    const to = view.gutter + (Math.min(holds.end[hold], until, view.to) - view.from) * perUs;
    let pixel = Math.floor(from);
    const end = Math.floor(to);
    if (pixel === end) {
      shares[pixel] += to - from;
    } else if (to > from) {
      shares[pixel] += pixel + 1 - from;
      while (++pixel < end) shares[pixel] = 1;
      shares[end] += to - end;
    }
  }
  drawShares(lane, pixels, wide);
}

const sheet = document.createElement("canvas");

/** Draws an image of the canvas' own pixels at once: many times as quick as thousands of strokes. */
function stamp(image, top) {
  sheet.width = image.width;
  sheet.height = image.height;
  sheet.getContext("2d").putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(sheet, 0, top);
}

/** The stacks as one image. */
function drawShares(lane, pixels, wide) {
  const high = Math.max(Math.round(lane.blocks), 1);
  const image = pen.createImageData(wide, high);
  const words = new Uint32Array(image.data.buffer);
  const filled = new Float64Array(wide);
  pixels.forEach((shares, place) => {
    // Hatches are too coarse for a pixel: what is hatched is paler.
    const download = colors.get(place - 1);
    const word = pixelWord(download?.color ?? ink.soft, download?.hatched ? 140 : 255);
    for (let x = Math.floor(view.gutter); x < wide; x += 1) {
      if (shares[x] < 0.004) continue;
      const next = Math.min(filled[x] + shares[x], 1);
      const top = high - Math.round(next * high);
      const bottom = high - Math.round(filled[x] * high);
      for (let y = top; y < bottom; y += 1) words[y * wide + x] = word;
      filled[x] = next;
    }
  });
  stamp(image, lane.top);
}

/** `#rrggbb` as a pixel of an image; little-endian, as every machine with a browser is. */
function pixelWord(color, alpha) {
  const rgb = parseInt(color.slice(1), 16);
  return ((alpha << 24) | ((rgb & 0xff) << 16) | (rgb & 0xff00) | (rgb >> 16)) >>> 0;
}

/** Short steps, faint: the busier, the darker, in five shades; neighbours of a shade are one. */
function paintStretches(lane, until) {
  const rows = lane.stretches;
  const last = firstFrom(rows, stretches.start, Math.min(view.to, until));
  const first = Math.max(firstFrom(rows, stretches.start, view.from) - 1, 0);
  const perUs = (view.width - view.gutter) / (view.to - view.from);
  const top = lane.top + lane.blocks * 0.4;
  let [from, to, shade] = [0, -1, -1];
  pen.fillStyle = ink.soft;
  const flush = () => {
    if (to <= view.gutter || shade < 0) return;
    pen.globalAlpha = 0.06 + 0.07 * shade;
    const left = Math.max(from, view.gutter);
    pen.fillRect(left, top, Math.max(to - left, 1), lane.blocks * 0.6);
  };
  for (let at = first; at < last; at += 1) {
    const row = rows[at];
    const left = view.gutter + (stretches.start[row] - view.from) * perUs;
    const right = view.gutter + (Math.min(stretches.end[row], until) - view.from) * perUs;
    const own = Math.round(stretches.busy[row] / 250);
    // Less than a pixel is no reason to begin anew.
    if (left - to < 1 && (own === shade || right - left < 1)) {
      to = Math.max(to, right);
    } else {
      flush();
      [from, to, shade] = [Math.max(left, to), right, own];
    }
  }
  flush();
  pen.globalAlpha = 1;
}

/** Times in which a worker was away, known from outside only. */
function paintSpans(lane, until) {
  for (const row of lane.spans) {
    const span = run.spans[row];
    if (span.start_us > Math.min(view.to, until)) break;
    const left = Math.max(xOf(span.start_us), view.gutter);
    const right = xOf(Math.min(span.start_us + span.length_us, until));
    if (right < view.gutter) continue;
    pen.fillStyle = hatch(ink.soft, ink.paper);
    pen.fillRect(left, lane.top, Math.max(right - left, 1), lane.blocks);
  }
}
