// What is said of what one points at, and of what one chooses.

const tip = byId("tip");
const told = byId("told");
const TOLD_FIRST = told.textContent;
let chosen = null; // { fetch } or { hold }

/** `1 step`, `3 steps`. */
const many = (count, one, more = `${one}s`) => `${count} ${count === 1 ? one : more}`;

function holdTold(hold) {
  const of = (what) => run.names[what][holds[what][hold]];
  const what = `One step of ${of("who")} kept worker ${holds.worker[hold]} for ${of("told")}, ended by ${of("ended_by")}.`;
  const waited = waitedIn.get(hold) ?? [];
  if (waited.length === 0) return `${what} No fetch is known to have waited in it.`;
  return `${what} ${many(waited.length, "fetch", "fetches")} waited in it; ${waited.filter(failed).length} of them failed.`;
}

function stretchTold(row) {
  const { worker, steps, turns, busy_percent: busy } = stretches;
  return `Short steps on worker ${worker[row]}: ${many(steps[row], "step")} in ${many(turns[row], "loop turn")}, ${busy[row]} % busy.`;
}

function toldOf({ fetch, hold, told: words }) {
  if (fetch !== undefined) return fetches.told[fetch];
  return hold !== undefined ? holdTold(hold) : words;
}

/** Chooses a fetch or a hold, or nothing: it and those it waited in, or that waited in it, stand out. */
function choose(what) {
  chosen = what;
  told.classList.toggle("chosen", Boolean(what));
  told.textContent = what ? toldOf(what) : TOLD_FIRST;
  view.chosen = what && (what.hold === undefined
    ? { holds: fetches.held[what.fetch], fetches: [what.fetch] }
    : { holds: [what.hold], fetches: waitedIn.get(what.hold) ?? [] });
  redraw();
}

/** The next failed fetch after the chosen one, or the one before. */
function step(by) {
  if (failedFetches.length === 0) {
    told.textContent = "No fetch failed in this run.";
    return;
  }
  const count = failedFetches.length;
  const at = failedFetches.indexOf(chosen?.fetch ?? -1);
  const next = at < 0 ? (by > 0 ? 0 : count - 1) : (at + by + count) % count;
  const fetch = failedFetches[next];
  choose({ fetch });
  reveal(fetches.start[fetch], fetches.end[fetch]);
}

/** What stands at a place of the box, as far as the replay has come to it. */
function at(x, y) {
  const us = timeAt(x);
  return view.now !== null && us > view.now ? null : find(us, y, pixel());
}

/** Shows the tip beside the pointer, inside the stage. */
function showTip(what, x, y) {
  tip.hidden = !what;
  if (!what) return;
  tip.textContent = toldOf(what);
  const place = (at, size, room) => Math.max(at + 16 + size > room ? at - 12 - size : at + 16, 2);
  const stage = byId("stage");
  const left = place(x + box.offsetLeft, tip.offsetWidth, stage.clientWidth);
  tip.style.transform = `translate(${left}px, ${place(y, tip.offsetHeight, stage.clientHeight)}px)`;
}
