#!/usr/bin/env python3
"""Runs the documented commands again and again, in turn, and prints what came of each.

    scripts/measure.py --rounds 10 > table.md
    scripts/measure.py --again --runs-dir runs > table.md    # from the records of such runs

A round is one trial of every arm. The table has a row per arm with medians and counts, then a row
per trial, so that no figure stands without its runs. Progress goes to stderr.
"""

import argparse
import os
import statistics
import sys

from trials import answer, headline, millis

ARMS = {
    "reuseport": ["--reuseport"],
    "shared": [],
    "rcvbuf": ["--reuseport", "--rcvbuf", "40960"],
    "fionread": ["--reuseport", "--read-policy", "fionread"],
    "quota": ["--reuseport", "--read-policy", "bytes:64KiB"],
    "no-load": ["--slow", "0"],
}


def trial(binary, runs_dir, arm):
    return answer([binary, "--json", "--quiet", "--runs-dir", runs_dir, "--label", arm, *ARMS[arm]])


def made_again(binary, runs_dir):
    """Summaries of the runs in a directory, made again from their records, by arm."""
    results = {}
    for name in sorted(os.listdir(runs_dir)):
        arm = name.split("-", 1)[1]
        results.setdefault(arm, []).append(row(answer([binary, "report", "--json", os.path.join(runs_dir, name)])))
    return results


def row(summary):
    measure, idle, proxy = summary["measure"], summary["idle"], summary["proxy"]
    stolen = next((c["message"] for c in summary["caveats"] if c["code"] == "stolen_cpu"), "")
    return {
        "verdict": summary["verdict"],
        "failed": measure["failed_share"],
        "fetches": measure["attempts"],
        "p50": measure["latency_us"]["p50"],
        "p90": measure["latency_us"]["p90"],
        "p99": measure["latency_us"]["p99"],
        "idle_p50": idle["latency_us"]["p50"],
        "idle_p99": idle["latency_us"]["p99"],
        "early": proxy["early_closes"],
        "step": max(w["longest_step_us"] for w in proxy["workers"]),
        "step_bytes": max(w["longest_step_bytes"] for w in proxy["workers"]),
        "rate": summary["slow"]["bytes_per_sec"],
        "holding": summary["slow"]["workers_holding"],
        "stolen": stolen.partition("(")[2].partition(";")[0],
    }


def print_tables(results, rounds):
    print(headline(rounds) + "\n")
    print("| command | verdicts | failed share, median (min to max) | fetch p50 ms, median (max) | p90 ms, median |"
          " 499s, median | longest step s, median (8th of 10) | downloads MB/s, median |")
    print("|---|---|---|---|---|---|---|---|")
    for arm, rows in results.items():
        median = lambda key: statistics.median(r[key] for r in rows)
        verdicts = {v: sum(r["verdict"] == v for r in rows) for v in sorted({r["verdict"] for r in rows})}
        steps = sorted((r["step"] for r in rows), reverse=True)
        eighth = steps[max(0, round(len(steps) * 0.8) - 1)]
        failed = [r["failed"] for r in rows]
        print(f"| `{' '.join(ARMS[arm]) or '(no flags)'}` | {', '.join(f'{v} {n}' for v, n in verdicts.items())} |"
              f" {statistics.median(failed):.2f} ({min(failed):.2f} to {max(failed):.2f}) |"
              f" {millis(median('p50'))} ({millis(max(r['p50'] for r in rows))}) | {millis(median('p90'))} |"
              f" {median('early'):.0f} | {median('step') / 1e6:.2f} ({eighth / 1e6:.2f}) | {median('rate') / 1e6:.0f} |")
    print("\nEvery trial:\n")
    print("| arm | round | verdict | failed share | fetches | p50 ms | p90 ms | p99 ms | idle p50 ms | idle p99 ms |"
          " 499s | longest step s | its MB | downloads MB/s | workers holding | CPU stolen |")
    print("|" + "---|" * 16)
    for arm, rows in results.items():
        for number, r in enumerate(rows, 1):
            print(f"| {arm} | {number} | {r['verdict']} | {r['failed']:.2f} | {r['fetches']} | {millis(r['p50'])} |"
                  f" {millis(r['p90'])} | {millis(r['p99'])} | {millis(r['idle_p50'])} | {millis(r['idle_p99'])} |"
                  f" {r['early']} | {r['step'] / 1e6:.2f} | {r['step_bytes'] / 1e6:.0f} | {r['rate'] / 1e6:.0f} |"
                  f" {r['holding']} | {r['stolen']} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--arms", default=",".join(ARMS), help="comma-separated, of: " + ", ".join(ARMS))
    parser.add_argument("--binary", default="target/debug/turnstile")
    parser.add_argument("--runs-dir", default="runs")
    parser.add_argument("--again", action="store_true", help="run nothing: read the runs in --runs-dir")
    options = parser.parse_args()
    if options.again:
        results = made_again(options.binary, options.runs_dir)
        print_tables(results, max(len(rows) for rows in results.values()))
        return
    results = {arm: [] for arm in options.arms.split(",")}
    for number in range(1, options.rounds + 1):
        for arm, rows in results.items():
            rows.append(row(trial(options.binary, options.runs_dir, arm)))
            print(f"round {number} {arm}: {rows[-1]}", file=sys.stderr, flush=True)
    print_tables(results, options.rounds)


main()
