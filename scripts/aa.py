#!/usr/bin/env python3
"""Counts what `turnstile compare` says of equal arms, and of arms that differ.

    scripts/aa.py --series 10 --runs-dir runs-aa                       # real trials, short ones
    scripts/aa.py --series 10 --runs-dir runs-aa -- --slow 2           # with options of the trial
    scripts/aa.py --again runs-aa/*-compare                            # the judge of today, of kept trials

A series is one comparison of each row, in turn. The four equal pairs of ten series are the forty of
docs/internals/statistics.md: none may say that anything changed. Progress goes to stderr.
"""

import argparse
import collections
import sys

from trials import answer, headline

DRAIN, RCVBUF, FIONREAD, QUOTA = (
    "--reuseport",
    "--reuseport --rcvbuf 40960",
    "--reuseport --read-policy fionread",
    "--reuseport --read-policy bytes:64KiB",
)
PAIRS = {
    "drain, drain": (DRAIN, DRAIN),
    "rcvbuf, rcvbuf": (RCVBUF, RCVBUF),
    "fionread, fionread": (FIONREAD, FIONREAD),
    "quota, quota": (QUOTA, QUOTA),
    "drain, fionread": (DRAIN, FIONREAD),
    "fionread, drain": (FIONREAD, DRAIN),
}
SHORT = ["--idle", "1.5s", "--duration", "2.5s", "--arrivals", "20/s"]


def compared(options, row):
    a, b = PAIRS[row]
    return answer([options.binary, "compare", "--json", "--quiet", "--rounds", str(options.rounds),
                   "--runs-dir", options.runs_dir, "--arm", f"{row.split(', ')[0]} a: {a}",
                   "--arm", f"{row.split(', ')[1]} b: {b}", "--", *(options.trial or SHORT)])


def count(rows, comparison):
    for pair in comparison["pairs"]:
        row = f"{pair['a'].removesuffix(' a')}, {pair['b'].removesuffix(' b')}"
        judgement = pair["judgement"]
        blind = [m["metric"] for r in judgement["reasons"] for m in r.get("metrics", [])]
        rows[row][judgement["change"] + (f" ({', '.join(blind)})" if blind else "")] += 1
        print(f"{row}: {judgement['change']}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", nargs="*", choices=PAIRS, default=list(PAIRS))
    parser.add_argument("--again", nargs="+", metavar="DIR", help="directories of comparisons")
    parser.add_argument("--runs-dir", default="runs")
    parser.add_argument("--binary", default="target/debug/turnstile")
    parser.add_argument("trial", nargs="*", help="options of the trial, after --")
    options = parser.parse_args()
    rows = collections.defaultdict(collections.Counter)
    if options.again:
        for directory in options.again:
            count(rows, answer([options.binary, "report", "--json", directory]))
    else:
        print(headline(options.rounds))
        for _ in range(options.series):
            for row in options.rows:
                count(rows, compared(options, row))
    print("\n| A, B | said |\n|---|---|")
    for row, said in rows.items():
        print(f"| {row} | {', '.join(f'{word} {times}' for word, times in said.most_common())} |")
    equal = [said for row, said in rows.items() if len(set(row.split(", "))) == 1]
    alarms = sum(n for said in equal for word, n in said.items() if word in ("improved", "regressed"))
    print(f"\nEqual arms: {sum(map(sum, (said.values() for said in equal))) - alarms} of "
          f"{sum(map(sum, (said.values() for said in equal)))} say no change or inconclusive.")


if __name__ == "__main__":
    main()
