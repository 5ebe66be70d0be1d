// Replay: a cursor runs over the picture, and nothing is shown before it happened.

const play = byId("play");
const speed = byId("speed");
const counts = byId("counts");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const CALM_STEP = 250; // ms between pictures for those who want no motion

const replay = { running: false, last: 0 };

/** How fetches stand at the cursor: at 5,000 of them still far under a millisecond. */
function count() {
  if (view.now === null) {
    counts.textContent = "";
    return;
  }
  let [served, dead, waiting] = [0, 0, 0];
  for (let i = 0; i < fetches.start.length && fetches.start[i] <= view.now; i += 1) {
    if (fetches.end[i] > view.now) waiting += 1;
    else if (failed(i)) dead += 1;
    else served += 1;
  }
  counts.textContent = `${(view.now / 1e6).toFixed(2)} s: ${served} served, ${dead} failed, ${waiting} waiting`;
}

function setRunning(running) {
  replay.running = running;
  replay.last = performance.now();
  play.textContent = running ? "\u275a\u275a pause" : "\u25b6 play";
  play.setAttribute("aria-pressed", String(running));
  if (running) requestAnimationFrame(tick);
}

function tick(now) {
  if (!replay.running) return;
  const passed = now - replay.last;
  if (!calm.matches || passed >= CALM_STEP) {
    replay.last = now;
    // A tab that slept does not skip what it missed.
    view.now += Math.min(passed, 500) * 1e3 * Number(speed.value);
    follow();
    count();
    place();
  }
  if (view.now >= run.end_us) return stop();
  requestAnimationFrame(tick);
}

/** Keeps the cursor in what is seen. */
function follow() {
  const span = view.to - view.from;
  const last = view.from + span * 0.8;
  if (view.now > last && view.to < run.end_us) {
    view.from = Math.min(view.from + (view.now - last), run.end_us - span);
    view.to = view.from + span;
  }
}

/** From the cursor, or from where the view begins when there is none in it. */
function toggle() {
  if (replay.running) return setRunning(false);
  if (view.now === null || view.now < view.from || view.now >= Math.min(view.to, run.end_us)) view.now = view.from;
  setRunning(true);
}

/** Everything is shown again. */
function stop() {
  setRunning(false);
  view.now = null;
  count();
  redraw();
}
