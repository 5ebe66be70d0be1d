// What part of the run is seen, and where on the canvas things stand.

const canvas = document.getElementById("canvas");
const pen = canvas.getContext("2d");

const TOP = 26; // phases
const BOTTOM = 26; // the time axis
const SHORTEST = 200; // us: nothing is recorded finer

const view = {
  from: 0,
  to: run.end_us,
  width: 0,
  height: 0,
  gutter: 92,
  now: null, // the replay's cursor, us; null: all is shown
  chosen: null, // { fetch } or { hold }
  under: null, // what the pointer is on, likewise
};

const xOf = (us) => view.gutter + ((us - view.from) / (view.to - view.from)) * (view.width - view.gutter);
const timeAt = (x) => view.from + ((x - view.gutter) / (view.width - view.gutter)) * (view.to - view.from);

/** Takes the canvas' size, `scale` dots for a pixel of the page, and gives every lane its place. */
function measure(scale = devicePixelRatio || 1) {
  view.width = canvas.clientWidth;
  view.height = canvas.clientHeight;
  view.gutter = view.width < 600 ? 34 : 92;
  canvas.width = Math.round(view.width * scale);
  canvas.height = Math.round(view.height * scale);
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  // Who has no worker has no blocks, and needs less.
  const room = view.height - TOP - BOTTOM;
  const workers = lanes.filter((lane) => lane.worker >= 0).length;
  const unowned = workers === lanes.length ? 0 : workers === 0 ? room : Math.min(80, room / lanes.length);
  const each = (room - unowned) / Math.max(workers, 1);
  lanes.forEach((lane, place) => {
    lane.top = TOP + place * each + 4;
    lane.height = (lane.worker < 0 ? unowned : each) - 8;
    lane.blocks = lane.worker < 0 ? 0 : Math.max(12, Math.min(52, lane.height * 0.42));
    lane.fetchTop = lane.top + lane.blocks + 5;
    lane.rowHeight = Math.min(12, (lane.top + lane.height - lane.fetchTop) / lane.rows);
  });
}

/** Shows from `from` to `to`, kept inside the run. */
function show(from, to) {
  const span = Math.min(Math.max(to - from, SHORTEST), run.end_us);
  view.from = Math.min(Math.max(from, 0), run.end_us - span);
  view.to = view.from + span;
  redraw();
}

/** Makes what is seen `factor` times as long; `x` stays where it is. */
function zoom(factor, x = (view.gutter + view.width) / 2) {
  const at = timeAt(Math.max(x, view.gutter));
  show(at - (at - view.from) * factor, at + (view.to - at) * factor);
}

/** Moves by a part of what is seen. */
function pan(part) {
  const by = (view.to - view.from) * part;
  show(view.from + by, view.to + by);
}

/** Moves as little as shows all from `from` to `to`, with air around. */
function reveal(from, to) {
  const span = view.to - view.from;
  if (from >= view.from && to <= view.to && to - from > span / 400) return redraw();
  const wanted = Math.min(Math.max(span, (to - from) * 1.3), Math.max((to - from) * 40, 2e6));
  const middle = (from + to) / 2;
  show(middle - wanted / 2, middle + wanted / 2);
}

let pending = false;

/** Paints before the next frame, once. */
function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => {
    pending = false;
    paint();
  });
}
