#!/usr/bin/env python3
"""Lays our fetch times beside those of curl, against the same proxy under the same load.

    scripts/against_curl.py --proxy nginx --runs 5

While a trial measures, curl fetches the same object from the same port, one new connection after
another, on the load's CPU. A line per run: both medians and their ratio. Both have the same cap.
"""

import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from trials import headline


def manifest(run_dir):
    try:
        with open(os.path.join(run_dir, "manifest.json")) as file:
            return json.load(file)
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def phase_began(runs_dir, phase, patience=60):
    """The run directory and its manifest once the phase has begun."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        for run_dir in glob.glob(os.path.join(runs_dir, "*")):
            known = manifest(run_dir)
            if known and any(span["phase"] == phase for span in known["phases"]):
                return run_dir, known
        time.sleep(0.05)
    sys.exit(f"no run came to its {phase} phase within {patience} s")


def target(known):
    """The address that the fetches of this run ask."""
    fast = next(p for p in known["processes"] if p["role"] == "fast")
    return fast["command"][fast["command"].index("fast") + 1]


def curl(address, size, cap, seconds, cpus):
    """Times of one fetch after another, s; one that was given up counts as its cap."""
    times, until = [], time.monotonic() + seconds
    pin = ["taskset", "-c", ",".join(map(str, cpus))] if cpus else []
    while time.monotonic() < until:
        done = subprocess.run(
            pin + ["curl", "-s", "-o", "/dev/null", "--max-time", str(cap), "-w", "%{time_total}",
                   f"http://{address}/bytes/{size}"],
            stdout=subprocess.PIPE, text=True)
        times.append(float(done.stdout or cap) if done.returncode == 0 else cap)
        time.sleep(0.1)
    return times


def run(binary, proxy, seconds, options):
    with tempfile.TemporaryDirectory() as runs_dir:
        command = [binary, "--json", "--quiet", "--runs-dir", runs_dir, "--duration", f"{seconds}s", *options]
        if proxy != "mirror":
            command += ["--proxy", proxy]
        trial = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            _, known = phase_began(runs_dir, "measure")
            arm = known["arm"]
            theirs = curl(target(known), arm["fetch_size"], arm["cap_us"] / 1e6, seconds - 1,
                          known["host"]["load_cpus"])
            summary = json.loads(trial.communicate()[0])
        finally:
            trial.terminate()
            trial.wait()
    ours = summary["measure"]["latency_us"]["p50"] / 1e3
    return summary["verdict"], ours, statistics.median(theirs) * 1e3, len(theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default="target/debug/turnstile")
    parser.add_argument("--proxy", action="append", help="may be repeated [default: nginx, haproxy]")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("options", nargs="*", help="further options of every trial, after --")
    args = parser.parse_args()
    print(headline(args.runs) + "\n")
    print("| proxy | run | verdict | our p50 ms | curl's p50 ms | ours / curl's | curl's fetches |")
    print("|---|---|---|---|---|---|---|")
    ratios = {}
    for number in range(1, args.runs + 1):
        for proxy in args.proxy or ["nginx", "haproxy"]:
            verdict, ours, theirs, fetches = run(args.binary, proxy, args.seconds, args.options)
            ratios.setdefault(proxy, []).append(ours / theirs)
            print(f"| {proxy} | {number} | {verdict} | {ours:.1f} | {theirs:.1f} | {ours / theirs:.2f} | {fetches} |",
                  flush=True)
    for proxy, of in ratios.items():
        print(f"\n{proxy}: median ratio {statistics.median(of):.2f}, {min(of):.2f} to {max(of):.2f}")


main()
