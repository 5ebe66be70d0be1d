// What part of the run is seen: the figure is made wider than its box, and moved in it.

const box = byId("view");
const plot = byId("plot");
const WIDEST = 2 ** 23; // px: beyond, browsers round places to whole pixels
const SHORTEST = 200; // us: nothing is recorded finer

const view = {
  from: 0,
  to: run.end_us,
  now: null, // the replay's cursor, us; null: all is shown
  chosen: null, // { holds, fetches }: what stands out
};

const pixel = () => (view.to - view.from) / box.clientWidth;
const timeAt = (x) => view.from + x * pixel();

/** Shows from `from` to `to`, kept inside the run. */
function show(from, to) {
  const least = Math.max(SHORTEST, (run.end_us * box.clientWidth) / WIDEST);
  const span = Math.min(Math.max(to - from, least), run.end_us);
  view.from = Math.min(Math.max(from, 0), run.end_us - span);
  view.to = view.from + span;
  redraw();
}

/** Makes what is seen `factor` times as long; `x` stays where it is. */
function zoom(factor, x = box.clientWidth / 2) {
  const at = timeAt(x);
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

/** An element and what its attributes say of it, as numbers. */
const withNumbers = (element) => ({
  element,
  ...Object.fromEntries(Object.entries(element.dataset).map(([name, value]) => [name, Number(value)])),
});
const parts = [...plot.querySelectorAll(".part")].map(withNumbers);
const labels = [...plot.querySelectorAll("[data-room]")].map(withNumbers);

/** Shows or hides an element; touches none that is as it should be: browsers do not look. */
function seen(element, isSeen) {
  if (element.hasAttribute("display") !== isSeen) return;
  if (isSeen) element.removeAttribute("display");
  else element.setAttribute("display", "none");
}

/** Puts the figure where `view` says, and shows the parts that are seen there. */
function place() {
  const { from, to } = view;
  const [wide, span] = [pixel(), to - from];
  plot.style.width = `${(100 * run.end_us) / span}%`;
  plot.style.transform = `translateX(${(-100 * from) / run.end_us}%)`;
  // Those beside what is seen stay too: while the picture is moved, few are to be placed anew.
  for (const part of parts) {
    const isSharp = wide >= (part.least ?? 0) && wide < (part.below ?? Infinity);
    seen(part.element, isSharp && part.to >= from - span / 2 && part.from <= to + span / 2);
  }
  for (const label of labels) {
    const hidden = Math.max(from - label.from, 0);
    const isKnown = view.now === null || label.to <= view.now;
    const fits = isKnown && (Math.min(label.to, to) - label.from - hidden) / wide > label.room;
    if (fits) label.element.setAttribute("dx", 6 + hidden / wide);
    seen(label.element, fits);
  }
  lift(wide);
  const future = byId("future");
  future.hidden = view.now === null;
  if (!future.hidden) future.style.transform = `translateX(${(100 * view.now) / run.end_us}%)`;
}

/** Draws a veil over all but what is chosen. */
function lift(wide) {
  const { top, bottom } = byId("chosen").dataset;
  const rect = (from, to, above, below) => `M${from} ${above}H${to}V${below}H${from}z`;
  const hold = (i) => {
    const lane = laneOf.get(holds.worker[i]);
    return rect(holds.start[i], holds.end[i], lane.top, lane.top + lane.blocks);
  };
  const fetch = (i) => {
    const lane = laneOf.get(fetches.worker[i]);
    const [y, half] = [heightOf(lane, i), Math.min(5, lane.row / 2)];
    return rect(fetches.start[i] - 3 * wide, fetches.end[i] + 6 * wide, y - half, y + half);
  };
  const chosen = view.chosen ?? { holds: [], fetches: [] };
  const lit = chosen.holds.map(hold);
  const veil = view.chosen ? rect(0, run.end_us, top, bottom) + lit.join("") + chosen.fetches.map(fetch).join("") : "";
  for (const [id, path] of [["veil", veil], ["lit", lit.join("")], ["first", lit[0] ?? ""]]) byId(id).setAttribute("d", path);
}

let pending = false;

/** Places the figure before the next frame, once. */
function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => {
    pending = false;
    place();
  });
}
