#!/usr/bin/env python3
"""Lays the law of docs/internals/model.md beside measured fetches: receive buffers by numbers of downloads.

    scripts/law.py --rounds 3 > table.md
    scripts/law.py --again --runs-dir runs > table.md    # from the records of such runs

Each cell is the median of its rounds; a cell holds when prediction and measurement are within a
factor of 2. Progress goes to stderr.
"""

import argparse
import os
import statistics
import sys

from trials import answer, headline, millis

BUFFERS = ["40960", "256KiB", "1MiB", "4MiB"]
DOWNLOADS = [1, 2, 4, 8]
FACTOR = 2


def trial(options, buffer, downloads):
    command = [options.binary, "--json", "--quiet", "--runs-dir", options.runs_dir, "--duration", "5s", "--idle", "2s",
               "--label", f"law-{buffer}-{downloads}", "--reuseport", "--read-policy", "fionread",
               "--rcvbuf", buffer, "--slow", str(downloads), "--workers", "1" if downloads == 1 else "2"]
    return answer(command)["law"]


def measure(options, laws):
    for number in range(1, options.rounds + 1):
        for (buffer, downloads), found in laws.items():
            found.append(trial(options, buffer, downloads))
            print(f"round {number} {buffer} {downloads}: {found[-1]}", file=sys.stderr, flush=True)


def made_again(options, laws):
    """The laws of the runs in a directory, made again from their records."""
    for (buffer, downloads), found in laws.items():
        label = f"law-{buffer}-{downloads}"
        for name in sorted(os.listdir(options.runs_dir)):
            if name.split("-", 1)[1] == label:
                found.append(answer([options.binary, "report", "--json", os.path.join(options.runs_dir, name)])["law"])
    return min(len(found) for found in laws.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--binary", default="target/debug/turnstile")
    parser.add_argument("--runs-dir", default="runs")
    parser.add_argument("--again", action="store_true", help="run nothing: read the runs in --runs-dir")
    options = parser.parse_args()
    laws = {(buffer, downloads): [] for buffer in BUFFERS for downloads in DOWNLOADS}
    if options.again:
        options.rounds = made_again(options, laws)
    else:
        measure(options, laws)
    print(headline(options.rounds) + "\n")
    print("| rcvbuf | downloads | a worker | turns | KiB a step | MB/s | predicted ms | measured ms | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    held = 0
    for (buffer, downloads), found in laws.items():
        median = lambda key: statistics.median(law[key] for law in found)
        ratio = median("measured_us") / median("predicted_us")
        holds = 1 / FACTOR <= ratio <= FACTOR
        held += holds
        print(f"| {buffer} | {downloads} | {median('downloads_per_worker'):.0f} | {median('turns'):.1f} |"
              f" {median('bytes_per_step') / 1024:.0f} | {median('drain_rate') / 1e6:.0f} |"
              f" {millis(median('predicted_us'))} | {millis(median('measured_us'))} |"
              f" {ratio:.2f}{'' if holds else ' (off)'} |")
    print(f"\nWithin a factor of {FACTOR}: {held} of {len(laws)} cells.")


main()
