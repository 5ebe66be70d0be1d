// Figures as text, spelt as everywhere else in the project.

/** A length of time in us: `870 us`, `12.4 ms`, `1.004 s`. */
function time(us) {
  if (us < 1e3) return `${Math.round(us)} us`;
  if (us < 1e5) return `${(us / 1e3).toFixed(1)} ms`;
  if (us < 1e6) return `${Math.round(us / 1e3)} ms`;
  if (us < 1e8) return `${(us / 1e6).toFixed(3)} s`;
  return `${Math.round(us / 1e6)} s`;
}

/** The same with two digits, for labels: `1.9 s`, `240 ms`. */
function shortTime(us) {
  if (us < 1e3) return `${Math.round(us)} us`;
  if (us < 1e4) return `${(us / 1e3).toFixed(1)} ms`;
  if (us < 1e6) return `${Math.round(us / 1e3)} ms`;
  return `${(us / 1e6).toFixed(us < 1e7 ? 1 : 0)} s`;
}

/** Bytes in powers of two: `40 KiB`, `1.4 GiB`. */
function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) {
    count /= 1024;
    unit += 1;
  }
  return `${unit === 0 || count >= 100 ? Math.round(count) : count.toFixed(1)} ${units[unit]}`;
}

/** `1 step`, `3 steps`. */
function many(count, one, more = `${one}s`) {
  return `${count} ${count === 1 ? one : more}`;
}
