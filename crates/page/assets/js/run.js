// The run: the page's data as columns of numbers, and by lane.

const run = JSON.parse(document.getElementById("data").textContent);

/** Differences back to instants. */
function instants(differences) {
  const out = new Float64Array(differences.length);
  let at = 0;
  for (let i = 0; i < out.length; i += 1) {
    at += differences[i];
    out[i] = at;
  }
  return out;
}

/** Start and end of every row of a table with `start_us` and `length_us`. */
function withEnds(table, length) {
  table.start = instants(table.start_us);
  table.end = Float64Array.from(length, (us, i) => table.start[i] + us);
  return table;
}

const holds = withEnds(run.holds, run.holds.length_us);
const stretches = withEnds(run.stretches, run.stretches.length_us);
const fetches = withEnds(run.fetches, run.fetches.total_us);

/** Positions of rows by worker; rows are by start already. */
function byWorker(workers) {
  const lanes = new Map();
  workers.forEach((worker, i) => {
    if (!lanes.has(worker)) lanes.set(worker, []);
    lanes.get(worker).push(i);
  });
  return lanes;
}

const holdsOf = byWorker(holds.worker);
const stretchesOf = byWorker(stretches.worker);
const fetchesOf = byWorker(fetches.worker);
const spansOf = byWorker(run.spans.map((span) => span.worker));

/** Lanes from top to bottom; the last may be of fetches that no known worker accepted. */
const lanes = [...run.workers, ...(fetchesOf.has(-1) ? [-1] : [])].map((worker) => {
  const own = fetchesOf.get(worker) ?? [];
  return {
    worker,
    name: worker < 0 ? "unknown" : `worker ${worker}`,
    holds: holdsOf.get(worker) ?? [],
    stretches: stretchesOf.get(worker) ?? [],
    spans: spansOf.get(worker) ?? [],
    fetches: own,
    rows: own.reduce((most, i) => Math.max(most, fetches.row[i] + 1), 1),
    longestHold: longest(holdsOf.get(worker), holds),
    longestFetch: longest(own, fetches),
  };
});

/** The greatest length among rows: how far before a view one that reaches into it may start. */
function longest(rows, table) {
  return (rows ?? []).reduce((most, i) => Math.max(most, table.end[i] - table.start[i]), 0);
}

/** The first place in `rows` whose start is `from` or later. */
function firstFrom(rows, start, from) {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start[rows[middle]] < from) low = middle + 1;
    else high = middle;
  }
  return low;
}

const failed = (i) => fetches.outcome[i] !== 0;
const failedFetches = [...fetches.start.keys()].filter(failed);

/** Which fetches waited in a hold. */
const waitedIn = new Map();
fetches.held.forEach((held, i) => {
  for (const [hold] of held) {
    if (!waitedIn.has(hold)) waitedIn.set(hold, []);
    waitedIn.get(hold).push(i);
  }
});

const colors = new Map(run.downloads.map((download) => [download.slot, download]));

/** What ended a step, in words. */
const endOf = (hold) => holds.ends[holds.ended_by[hold]];

/** Whose step it was, in words. */
function holderName(hold) {
  const holder = holds.holder[hold];
  if (holder >= 0) return `download ${holder}`;
  return holder === -1 ? `fetch ${holds.number[hold]}` : `session ${holds.number[hold]}`;
}
