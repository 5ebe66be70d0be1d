"""What the measuring scripts share: run turnstile, read its summary, name the host."""

import datetime
import json
import os
import platform
import subprocess
import sys


def answer(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def millis(us):
    return f"{us / 1000:.0f}" if us >= 10_000 else f"{us / 1000:.1f}"


def host():
    with open("/proc/cpuinfo") as info:
        model = next((l.split(":")[1].strip() for l in info if l.startswith("model name")), "?")
    with open("/proc/meminfo") as info:
        memory = int(info.readline().split()[1]) // (1 << 20)
    return f"{os.cpu_count()} CPUs ({model}), {memory} GiB, kernel {platform.release()}"


def headline(rounds):
    today = datetime.datetime.now(datetime.timezone.utc).date()
    return f"Host: {host()}. Date: {today}. {rounds} rounds, the arms in turn."
