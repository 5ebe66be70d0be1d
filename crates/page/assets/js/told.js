// What is said of what one points at, and of what one chooses.

const tip = document.getElementById("tip");
const told = document.getElementById("told");
const TOLD_FIRST = told.textContent;

/** Waits of a fetch by holder, the longest first: [name, us, steps]. */
function waitsByHolder(i) {
  const waits = new Map();
  for (const [hold, us] of fetches.held[i]) {
    const name = holderName(hold);
    const [before, steps] = waits.get(name) ?? [0, 0];
    waits.set(name, [before + us, steps + 1]);
  }
  return [...waits].map(([name, [us, steps]]) => [name, us, steps]).sort((a, b) => b[1] - a[1]);
}

/** How each outcome is told, before and after the time it took. */
const outcomeWords = {
  ok: ["was served after", ""],
  timeout_connect: ["gave up after", ", still not connected"],
  timeout_no_byte: ["gave up after", " without one byte of its answer"],
  timeout_partial: ["gave up after", " inside its answer"],
  refused: ["was refused after", ""],
  reset: ["was reset after", ""],
  closed_early: ["was closed early, after", ""],
  bad_status: ["got a bad status after", ""],
  local_error: ["could not be tried by its own host, which took", ""],
};

/** How a fetch ended: `gave up after 1.001 s inside its answer`. */
function endedHow(i) {
  const [before, behind] = outcomeWords[fetches.outcomes[fetches.outcome[i]]];
  return `${before} ${time(fetches.total_us[i])}${behind}`;
}

const nameOf = (i) => `${fetches.phase[i] === 0 ? "idle fetch" : "fetch"} ${fetches.number[i]}`;
const ownerOf = (i) => (fetches.worker[i] < 0 ? "no known worker" : `worker ${fetches.worker[i]}`);

function fetchTip(i) {
  const lines = [
    `${nameOf(i)}, ${ownerOf(i)}`,
    endedHow(i),
    `started at ${time(fetches.start[i])}`,
  ];
  if (fetches.first_byte_us[i] !== null) lines.push(`first byte after ${time(fetches.first_byte_us[i])}`);
  const [most] = waitsByHolder(i);
  if (most) lines.push(`waited ${time(most[1])} behind ${most[0]}`);
  return lines.join("\n");
}

function holdTip(hold) {
  const waited = waitedIn.get(hold) ?? [];
  const lines = [
    `${holderName(hold)} on worker ${holds.worker[hold]}: one step`,
    `${time(holds.end[hold] - holds.start[hold])}, ${bytes(holds.bytes[hold])}`,
    `ended by ${endOf(hold)}`,
  ];
  if (waited.length > 0) {
    lines.push(`${many(waited.length, "fetch", "fetches")} waited in it, ${waited.filter(failed).length} failed`);
  }
  return lines.join("\n");
}

function stretchTip(row) {
  return [
    `worker ${stretches.worker[row]}: short steps`,
    `${many(stretches.steps[row], "step")} in ${many(stretches.turns[row], "loop turn")}`,
    `${time(stretches.end[row] - stretches.start[row])}, ${Math.round(stretches.busy[row] / 10)} % busy`,
  ].join("\n");
}

/** What held a fetch, in sentences. */
function fetchStory(i) {
  const whole = `Fetch ${fetches.number[i]}${fetches.phase[i] === 0 ? " (idle)" : ""} came to ${ownerOf(i)} at ${time(fetches.start[i])} and ${endedHow(i)}.`;
  const waits = waitsByHolder(i);
  if (waits.length === 0) {
    const cause = fetches.causes[fetches.cause[i]];
    if (cause) return `${whole} Most of its time was ${cause} (${time(fetches.cause_us[i])}).`;
    return failed(i) ? `${whole} No recorded step held it: what did is not known.` : `${whole} No step of another held it.`;
  }
  const parts = waits.slice(0, 3).map(([name, us, steps]) => `${time(us)} in ${steps === 1 ? "one step" : `${steps} steps`} of ${name}`);
  const more = waits.length > 3 ? ` and ${waits.length - 3} more` : "";
  const [hold, waited] = fetches.held[i][0];
  const longest = `The block that held it longest (${time(waited)}) is ${holderName(hold)}'s: ${time(holds.end[hold] - holds.start[hold])} long, ${bytes(holds.bytes[hold])}, ended by ${endOf(hold)}.`;
  return `${whole} It waited ${parts.join(", ")}${more}. ${longest}`;
}

function holdStory(hold) {
  const waited = waitedIn.get(hold) ?? [];
  const dead = waited.filter(failed).length;
  const length = time(holds.end[hold] - holds.start[hold]);
  const what = `One step of ${holderName(hold)} kept worker ${holds.worker[hold]} for ${length}: ${bytes(holds.bytes[hold])}, ended by ${endOf(hold)}.`;
  if (waited.length === 0) return `${what} No fetch is known to have waited in it.`;
  return `${what} ${many(waited.length, "fetch", "fetches")} waited in it; ${dead} of them failed.`;
}

/** Chooses a fetch or a hold, or nothing. */
function choose(what) {
  view.chosen = what;
  if (!what) chosenHolds = null;
  else if (what.hold !== undefined) chosenHolds = new Set([what.hold]);
  else chosenHolds = new Set(fetches.held[what.fetch].map(([hold]) => hold));
  told.classList.toggle("chosen", Boolean(what));
  if (!what) told.textContent = TOLD_FIRST;
  else told.textContent = what.hold !== undefined ? holdStory(what.hold) : fetchStory(what.fetch);
  redraw();
}

/** The next failed fetch after the chosen one, or the one before. */
function step(by) {
  if (failedFetches.length === 0) {
    told.textContent = "No fetch failed in this run.";
    return;
  }
  const at = failedFetches.indexOf(view.chosen?.fetch ?? -1);
  const next = at < 0 ? (by > 0 ? 0 : failedFetches.length - 1) : (at + by + failedFetches.length) % failedFetches.length;
  const i = failedFetches[next];
  choose({ fetch: i });
  reveal(fetches.start[i], fetches.end[i]);
}

/** What stands at a place of the canvas. */
function at(x, y) {
  const lane = lanes.find((one) => y >= one.top - 4 && y < one.top + one.height + 4);
  if (!lane || x < view.gutter) return null;
  const slack = (view.to - view.from) / (view.width - view.gutter);
  const us = timeAt(x);
  if (y < lane.fetchTop) return inBlocks(lane, us, slack);
  let best = null;
  let least = Infinity;
  const first = firstFrom(lane.fetches, fetches.start, us - lane.longestFetch - 8 * slack);
  for (let place = first; place < lane.fetches.length; place += 1) {
    const i = lane.fetches[place];
    if (fetches.start[i] > us + 6 * slack) break;
    if (fetches.end[i] < us - 6 * slack || (view.now !== null && fetches.start[i] > view.now)) continue;
    const far = Math.abs(rowOf(lane, i) - y);
    if (far < least && far <= Math.max(lane.rowHeight, 7)) [best, least] = [{ fetch: i }, far];
  }
  return best;
}

function inBlocks(lane, us, slack) {
  const place = firstFrom(lane.holds, holds.start, us + 2 * slack) - 1;
  const hold = lane.holds[place];
  if (hold !== undefined && holds.end[hold] >= us - 2 * slack) return { hold };
  const span = lane.spans.find((row) => run.spans[row].start_us <= us && run.spans[row].start_us + run.spans[row].length_us >= us);
  if (span !== undefined) return { span };
  const stretch = lane.stretches[firstFrom(lane.stretches, stretches.start, us) - 1];
  return stretch !== undefined && stretches.end[stretch] >= us ? { stretch } : null;
}

function tipOf(what) {
  if (what.fetch !== undefined) return fetchTip(what.fetch);
  if (what.hold !== undefined) return holdTip(what.hold);
  if (what.stretch !== undefined) return stretchTip(what.stretch);
  const span = run.spans[what.span];
  return `worker ${span.worker}: ${time(span.length_us)}\n${span.words}`;
}

/** Shows the tip beside the pointer, inside the stage. */
function showTip(what, x, y) {
  tip.hidden = !what;
  if (!what) return;
  tip.textContent = tipOf(what);
  const left = x + 16 + tip.offsetWidth > view.width ? x - 12 - tip.offsetWidth : x + 16;
  const top = y + 16 + tip.offsetHeight > view.height ? y - 12 - tip.offsetHeight : y + 16;
  tip.style.transform = `translate(${Math.max(left, 2)}px, ${Math.max(top, 2)}px)`;
}
