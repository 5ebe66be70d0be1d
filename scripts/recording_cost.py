#!/usr/bin/env python3
"""What recording costs: pairs of trials, all recorded against only what clients see, in turn.

    scripts/recording_cost.py --pairs 20 > table.md

The pairs take turns in who goes first. The median of the differences and a 95 % interval for it
(order statistics of the pairs, from the binomial distribution) are printed. Progress goes to stderr.
"""

import argparse
import math
import statistics
import sys

from trials import answer, headline

ARMS = {
    # An arm whose figures are steady enough to show one part in a hundred.
    "quota": ["--reuseport", "--read-policy", "bytes:64KiB"],
    "drain": ["--reuseport"],
}


def trial(options, recording):
    summary = answer([options.binary, "--json", "--quiet", "--runs-dir", options.runs_dir, "--idle", "1s",
                      "--duration", options.duration, "--label", f"recording-{recording}", "--recording", recording,
                      *ARMS[options.arm]])
    return summary["slow"]["bytes_per_sec"], summary["measure"]["latency_us"]["p50"]


def interval(values):
    """A 95 % interval for the median: the narrowest pair of ranks that holds it so often."""
    n, ranks = len(values), sorted(values)
    low = 0
    while low + 1 < n / 2 and 2 * sum(math.comb(n, k) for k in range(low + 2)) / 2**n <= 0.05:
        low += 1
    return ranks[low], ranks[n - 1 - low]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--arm", choices=ARMS, default="quota")
    parser.add_argument("--duration", default="5s")
    parser.add_argument("--binary", default="target/debug/turnstile")
    parser.add_argument("--runs-dir", default="runs")
    options = parser.parse_args()
    rates, medians = [], []
    for number in range(options.pairs):
        order = ["full", "minimal"] if number % 2 else ["minimal", "full"]
        found = {recording: trial(options, recording) for recording in order}
        rates.append(100 * (found["full"][0] / found["minimal"][0] - 1))
        medians.append(100 * (found["full"][1] / found["minimal"][1] - 1))
        print(f"pair {number + 1}: {found}", file=sys.stderr, flush=True)
    print(headline(options.pairs) + "\n")
    print("| with all recorded, against only what clients see | median of pairs | 95 % interval |")
    print("|---|---|---|")
    for what, values in (("downloads' rate", rates), ("fetch p50", medians)):
        low, high = interval(values)
        print(f"| {what} | {statistics.median(values):+.1f} % | {low:+.1f} to {high:+.1f} % |")


main()
