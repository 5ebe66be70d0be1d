#!/usr/bin/env python3
"""What watching costs: pairs of trials in turn, watched and not.

    scripts/watch_cost.py --pairs 20 > table.md                 the mirror: all recorded, only what clients see
    scripts/watch_cost.py --watch probe                         nginx: each step by the probe, nobody
    scripts/watch_cost.py --watch who                           nginx: `turnstile who` beside it, nobody
    scripts/watch_cost.py --watch who-mirror                    the same of the mirror with a quota
    scripts/watch_cost.py --watch who-redis                     the same of Redis, as an echo of 50 clients

The pairs take turns in who goes first. The median of the differences and a 95 % interval for it
(order statistics of the pairs, from the binomial distribution) are printed. Progress goes to stderr.
"""

import argparse
import csv
import json
import math
import os
import socket
import statistics
import subprocess
import sys
import time

from trials import answer, headline

# An arm whose figures are steady enough to show one part in a hundred.
QUOTA = ["--reuseport", "--read-policy", "bytes:64KiB"]
NGINX = ["--reuseport", "--proxy", "nginx", "--trace"]
# What is watched, and how: the options of a trial that is, and of one that is not.
WAYS = {
    "recording": (["--recording", "full", *QUOTA], ["--recording", "minimal", *QUOTA]),
    "probe": ([*NGINX, "probe"], [*NGINX, "off"]),
    "who": ([*NGINX, "off"], [*NGINX, "off"]),
    "who-mirror": (QUOTA, QUOTA),
    "who-redis": None,
}


def echo(options, watched):
    """The rate and the median of PINGs, which Redis answers in turns of some 10 us."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = str(bound.getsockname()[1])
    redis = subprocess.Popen(["redis-server", "--port", port, "--save", ""], stdout=subprocess.DEVNULL)
    load = ["redis-benchmark", "-p", port, "-t", "ping_mbulk", "--csv"]
    who = None
    try:
        while subprocess.run(["redis-cli", "-p", port, "ping"], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL).returncode:
            time.sleep(0.05)
        subprocess.run([*load, "-n", "200000"], check=True, stdout=subprocess.DEVNULL)
        if watched:
            who = subprocess.Popen([options.binary, "who", "--json", "--pid", str(redis.pid)],
                                   stdout=subprocess.DEVNULL)
            time.sleep(1)
        told = subprocess.run([*load, "-n", "1000000"], check=True, stdout=subprocess.PIPE, text=True).stdout
        names, values = csv.reader(told.splitlines())
        row = dict(zip(names, values))
        return float(row["rps"]), float(row["p50_latency_ms"])
    finally:
        for process in filter(None, (who, redis)):
            process.terminate()
            process.wait()


def trial(options, watched):
    if options.watch == "who-redis":
        return echo(options, watched)
    command = [options.binary, "--json", "--quiet", "--runs-dir", options.runs_dir, "--idle", "2s",
               "--duration", options.duration, "--label", "watched" if watched else "unwatched",
               *WAYS[options.watch][0 if watched else 1]]
    if not (watched and options.watch.startswith("who")):
        summary = answer(command)
    else:
        running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        # A server is asked for its version first, by a process of its name. The load comes after the idle phase.
        time.sleep(1)
        chosen = ["--comm", "nginx"] if options.watch == "who" else ["--pid", mirror_of(running)]
        who = subprocess.Popen([options.binary, "who", "--json", *chosen], stdout=subprocess.DEVNULL)
        summary = json.loads(running.communicate()[0])
        _, status, used = os.wait4(who.pid, 0)
        if status:
            sys.exit("who found nothing to watch")
        print(f"who: CPU {used.ru_utime + used.ru_stime:.2f} s, {used.ru_maxrss >> 10} MiB resident",
              file=sys.stderr)
    return summary["slow"]["bytes_per_sec"], summary["measure"]["latency_us"]["p50"]


def mirror_of(trial):
    """The pid of a trial's proxy."""
    with open(f"/proc/{trial.pid}/task/{trial.pid}/children") as children:
        for pid in children.read().split():
            with open(f"/proc/{pid}/cmdline") as line:
                if '{"proxy"' in line.read():
                    return pid
    sys.exit("failed to find the proxy of the trial")


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
    parser.add_argument("--watch", choices=WAYS, default="recording")
    parser.add_argument("--duration", default="5s")
    parser.add_argument("--binary", default="target/debug/turnstile")
    parser.add_argument("--runs-dir", default="runs")
    options = parser.parse_args()
    rates, medians = [], []
    for number in range(options.pairs):
        order = [True, False] if number % 2 else [False, True]
        found = {watched: trial(options, watched) for watched in order}
        rates.append(100 * (found[True][0] / found[False][0] - 1))
        medians.append(100 * (found[True][1] / found[False][1] - 1))
        print(f"pair {number + 1}: watched {found[True]}, not {found[False]}", file=sys.stderr, flush=True)
    print(headline(options.pairs) + "\n")
    print(f"| watched ({options.watch}) against not | median of pairs | 95 % interval |")
    print("|---|---|---|")
    for what, values in (("rate", rates), ("p50", medians)):
        low, high = interval(values)
        print(f"| {what} | {statistics.median(values):+.1f} % | {low:+.1f} to {high:+.1f} % |")


if __name__ == "__main__":
    main()
