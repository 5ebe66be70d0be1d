#!/usr/bin/env python3
"""Whether `turnstile who` names the right connection: it watches the mirror's worker beside trials, and
what it told is held against what the mirror recorded of itself. Needs root.

    scripts/who_accuracy.py --trials 5 > table.md

A turn of the mirror that has the threshold and a fifth more is a hold that must be told, by the client's
port that moved most in it. What is told where no turn is nearly so long is a false name. Options behind --
are the trials'. Progress goes to stderr.
"""

import argparse
import collections
import json
import os
import statistics
import subprocess
import sys
import threading
import time

from trials import headline


def proxy_of(trial):
    """The pid of the trial's proxy, once it is there."""
    for _ in range(500):
        with open(f"/proc/{trial.pid}/task/{trial.pid}/children") as children:
            for pid in children.read().split():
                with open(f"/proc/{pid}/cmdline") as line:
                    if '{"proxy"' in line.read():
                        return pid
        time.sleep(0.02)
    sys.exit("failed to find the proxy of the trial")


def watched(options):
    """A trial's directory, and what was told meanwhile with the time at which it came."""
    trial = subprocess.Popen([options.binary, "--json", "--quiet", "--runs-dir", options.runs_dir, "--label", "who",
                              *options.options], stdout=subprocess.PIPE, text=True)
    who = subprocess.Popen([options.binary, "who", "--json", "--pid", proxy_of(trial), "--threshold",
                            f"{options.threshold}ms"], stdout=subprocess.PIPE, text=True)
    told = []
    reader = threading.Thread(target=lambda: told.extend((time.monotonic_ns(), json.loads(line)) for line in who.stdout))
    reader.start()
    summary = json.loads(trial.communicate()[0])
    reader.join()
    if who.wait() or trial.returncode:
        sys.exit(f"the trial ended with {trial.returncode}, who with {who.returncode}")
    runs = (os.path.join(options.runs_dir, name) for name in os.listdir(options.runs_dir))
    return max(runs, key=os.path.getmtime), told, summary["verdict"]


def turns(run):
    """The mirror's turns: start, end, and the client's port that moved most in each."""
    lengths, moved = {}, collections.defaultdict(collections.Counter)
    with open(os.path.join(run, "steps.ndjson")) as lines:
        for record in map(json.loads, lines):
            if record["record"] == "loop_turn":
                lengths[record["worker"], record["turn"]] = record["start_ns"], record["end_ns"]
            elif record["record"] == "hold":
                moved[record["worker"], record["turn"]][record["client_port"]] += record["bytes"]
    return [(*span, moved[turn].most_common(1)[0][0] if moved[turn] else None) for turn, span in lengths.items()]


def compare(run, told, threshold, found):
    all_turns = turns(run)
    holds = {}
    for at, event in told:
        if event["event"] == "hold":
            key = event["tid"], event["began_ns"]
            first = holds[key][0] if key in holds else at
            holds[key] = first, event
    spans = [(first, event["began_ns"], event["began_ns"] + event["length_us"] * 1000, event) for first, event in holds.values()]
    common = lambda a, b, c, d: max(0, min(b, d) - max(a, c))
    for start, end, port in all_turns:
        if end - start < 1.2 * threshold * 1e6 or port is None:
            continue
        found["holds"] += 1
        # Of two workers that are held at a time: that which began nearest. Both read the same clock.
        best = min(spans, key=lambda span: abs(span[1] - start), default=None)
        if best is None or common(start, end, best[1], best[2]) < (end - start) / 2:
            found["missed"] += 1
            continue
        by = best[3].get("by")
        right = by is not None and by["client"].endswith(f":{port}")
        found["right" if right else "wrong" if by else "nobody named"] += 1
        found.late.append((best[0] - start) / 1e6 - threshold)
        if best[0] < end:
            found["told while it lasted"] += 1
    for _, start, end, _ in spans:
        if not any(common(start, end, s, e) for s, e, _ in all_turns if e - s >= 0.8 * threshold * 1e6):
            found["false"] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--threshold", type=int, default=50, help="ms")
    parser.add_argument("--binary", default="target/debug/turnstile")
    parser.add_argument("--runs-dir", default="runs-who")
    parser.add_argument("options", nargs="*")
    options = parser.parse_args()
    found = collections.Counter()
    found.late = []
    for number in range(options.trials):
        run, told, verdict = watched(options)
        compare(run, told, options.threshold, found)
        print(f"trial {number + 1}: {verdict}, {dict(found)}", file=sys.stderr, flush=True)
    print(headline(options.trials) + "\n")
    print("| holds | right | wrong | nobody named | missed | false | told while it lasted | told after the threshold, ms, median (most) |")
    print("|---|---|---|---|---|---|---|---|")
    names = ["holds", "right", "wrong", "nobody named", "missed", "false", "told while it lasted"]
    late = f"{statistics.median(found.late):.0f} ({max(found.late):.0f})" if found.late else "-"
    print("| " + " | ".join(str(found[name]) for name in names) + f" | {late} |")


if __name__ == "__main__":
    main()
