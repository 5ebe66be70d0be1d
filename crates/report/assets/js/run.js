// The run: the page's data as columns of numbers, and what of it stands where in the picture.

const byId = (id) => document.getElementById(id);
const run = JSON.parse(byId("data").textContent);

/** Start and end of every row of a table; starts are written as differences. */
for (const table of [run.holds, run.fetches, run.stretches, run.absences]) {
  let at = 0;
  table.start = table.start_us.map((difference) => (at += difference));
  table.end = table.length_us.map((us, i) => table.start[i] + us);
}
const { holds, fetches, stretches, absences } = run;

const failed = (i) => fetches.outcome[i] !== 0;
const failedFetches = [...fetches.start.keys()].filter(failed);

/** Which fetches waited in a hold. */
const waitedIn = new Map();
fetches.held.forEach((held, i) => {
  for (const hold of held) {
    if (!waitedIn.has(hold)) waitedIn.set(hold, []);
    waitedIn.get(hold).push(i);
  }
});

/** Lanes from top to bottom, px: `worker`, `top`, `blocks`, `rows`, `row`. */
const lanes = [...document.querySelectorAll(".lane")].map((lane) =>
  Object.fromEntries(Object.entries(lane.dataset).map(([name, value]) => [name, Number(value)])));
const laneOf = new Map(lanes.map((lane) => [lane.worker, lane]));

/** Rows of each table by worker, as they start. */
const byWorker = new Map([holds, fetches, stretches, absences].map((table) =>
  [table, Map.groupBy(table.start.keys(), (i) => table.worker[i])]));
const rowsOf = (table, worker) => byWorker.get(table).get(worker) ?? [];

/** The last row of a worker that started by `us + slack`, if it lasts until `us - slack`. */
function rowAt(table, worker, us, slack = 0) {
  const rows = rowsOf(table, worker);
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (table.start[rows[middle]] <= us + slack) low = middle + 1;
    else high = middle;
  }
  const row = rows[low - 1];
  return row !== undefined && table.end[row] >= us - slack ? row : undefined;
}

/** The height at which a fetch is drawn. */
const heightOf = (lane, fetch) => lane.top + lane.blocks + 9 + (fetches.row[fetch] % lane.rows) * lane.row;

/** What stands in the picture at a time and a height; a pixel is so many us wide. */
function find(us, y, pixel) {
  const lane = lanes.findLast((one) => y >= one.top - 4);
  if (!lane) return null;
  const { worker, top, blocks, row } = lane;
  if (y < top + blocks + 4) {
    const hold = rowAt(holds, worker, us, 2 * pixel);
    if (hold !== undefined) return { hold };
    const absence = rowAt(absences, worker, us);
    if (absence !== undefined) return { told: absences.told[absence] };
    const stretch = rowAt(stretches, worker, us);
    return stretch === undefined ? null : { told: stretchTold(stretch) };
  }
  const far = (i) => Math.abs(heightOf(lane, i) - y);
  const isNear = (i) => fetches.start[i] <= us + 6 * pixel && fetches.end[i] >= us - 6 * pixel && far(i) <= Math.max(row, 7);
  const [fetch] = rowsOf(fetches, worker).filter(isNear).sort((a, b) => far(a) - far(b));
  return fetch === undefined ? null : { fetch };
}
