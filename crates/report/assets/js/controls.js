// Pointer, wheel, keys and buttons.

const ZOOM = 1.5;
const button = (id, act) => byId(id).addEventListener("click", act);

button("play", toggle);
button("zoom-in", () => zoom(1 / ZOOM));
button("zoom-out", () => zoom(ZOOM));
button("left", () => pan(-0.3));
button("right", () => pan(0.3));
button("whole", () => show(0, run.end_us));
button("before", () => step(-1));
button("after", () => step(1));

const keys = {
  ArrowLeft: () => pan(-0.15),
  ArrowRight: () => pan(0.15),
  ArrowUp: () => zoom(1 / ZOOM),
  ArrowDown: () => zoom(ZOOM),
  "+": () => zoom(1 / ZOOM),
  "=": () => zoom(1 / ZOOM),
  "-": () => zoom(ZOOM),
  0: () => show(0, run.end_us),
  Home: () => show(0, view.to - view.from),
  End: () => show(run.end_us - (view.to - view.from), run.end_us),
  n: () => step(1),
  p: () => step(-1),
  " ": toggle,
  Escape: () => { choose(null); stop(); },
};
box.addEventListener("keydown", (event) => {
  const act = keys[event.key];
  if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act();
});

// The wheel zooms; but one that just scrolled the page goes on doing so.
let scrolledAt = -Infinity;
addEventListener("scroll", () => { scrolledAt = performance.now(); }, { passive: true });
box.addEventListener("wheel", (event) => {
  const whole = view.from <= 0 && view.to >= run.end_us;
  const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
  if (performance.now() - scrolledAt < 300 || (whole && (sideways || event.deltaY > 0))) return;
  event.preventDefault();
  if (sideways) pan(event.deltaX / box.clientWidth);
  else zoom(1.0022 ** Math.max(-200, Math.min(200, event.deltaY)), event.offsetX);
}, { passive: false });

// One pointer drags, two pinch; one that hardly moved has clicked.
const pointers = new Map();
let moved = 0;
box.addEventListener("pointerdown", (event) => {
  pointers.set(event.pointerId, event.offsetX);
  box.setPointerCapture(event.pointerId);
  moved = 0;
});
box.addEventListener("pointermove", (event) => {
  const before = pointers.get(event.pointerId);
  if (before === undefined) return hover(event);
  const by = event.offsetX - before;
  moved += Math.abs(by);
  if (pointers.size === 2) {
    const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, x]) => x);
    const [was, is] = [Math.abs(before - other), Math.abs(event.offsetX - other)];
    if (was > 10 && is > 10) zoom(was / is, (event.offsetX + other) / 2);
  } else if (moved > 3) {
    pan(-by / box.clientWidth);
    showTip(null);
  }
  pointers.set(event.pointerId, event.offsetX);
});
const release = (event) => pointers.delete(event.pointerId);
box.addEventListener("pointercancel", release);
box.addEventListener("pointerup", (event) => {
  release(event);
  if (moved > 3) return;
  const what = at(event.offsetX, event.offsetY);
  choose(what && (what.fetch !== undefined || what.hold !== undefined) ? what : null);
});
box.addEventListener("pointerleave", () => showTip(null));

function hover(event) {
  const what = at(event.offsetX, event.offsetY);
  box.style.cursor = what ? "pointer" : "";
  showTip(what, event.offsetX, event.offsetY);
}

new ResizeObserver(redraw).observe(box);
place();
