#!/usr/bin/env python3
"""Lays the rate of our closed loop beside that of wrk, against the same nginx on the same CPUs.

    cargo build --release -p harness && scripts/against_wrk.py --pairs 20

One nginx worker on CPU 0 serves a page from memory and passes it on as a proxy of itself, so that the server is the
limit; the client has CPU 1. Each pair is one run of either, in an order drawn anew. Both keep their connections.
A line per pair: good answers a second, how much of its CPU nginx used (near 100 %: the server is the limit, and
the rates can be compared), and the ratio; then its median with an interval of 95 % over pairs. With --path /page
nginx serves the page alone: there wrk, which reads 8 KiB at a time, is the limit, and not nginx.
"""

import argparse
import json
import pathlib
import random
import re
import socket
import statistics
import subprocess
import tempfile
import time

from trials import headline

CONFIG = """
daemon off; worker_processes 1; worker_cpu_affinity {mask:b}; pid {dir}/pid; error_log {dir}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; open_file_cache max=10;
  client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;
  uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
  upstream itself {{ server 127.0.0.1:{port}; keepalive 1000; }}
  server {{
    listen 127.0.0.1:{port} backlog=4096; root {dir};
    location /passed/ {{
      proxy_pass http://itself/; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_max_temp_file_size 0;
    }}
  }}
}}
"""


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Nginx:
    """The server, with one worker, until the block ends."""

    def __init__(self, size, cpu):
        self.dir = tempfile.TemporaryDirectory()
        self.port = free_port()
        path = pathlib.Path(self.dir.name)
        path.chmod(0o755)
        (path / "page").write_bytes(b"x" * size)
        (path / "nginx.conf").write_text(CONFIG.format(mask=1 << cpu, dir=path, port=self.port))
        self.master = subprocess.Popen(["nginx", "-c", str(path / "nginx.conf")])

    def __enter__(self):
        until = time.monotonic() + 10
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except ConnectionRefusedError:
                time.sleep(0.05)
        raise SystemExit("nginx does not listen")

    def __exit__(self, *_):
        self.master.terminate()
        self.master.wait()
        self.dir.cleanup()

    def cpu_seconds(self):
        """What its worker used."""
        children = pathlib.Path(f"/proc/{self.master.pid}/task/{self.master.pid}/children").read_text()
        stat = pathlib.Path(f"/proc/{children.split()[0]}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / 100


def wrk(server, args):
    said = subprocess.run(
        ["taskset", "-c", str(args.client_cpu), "wrk", "-t", "1", "-c", str(args.connections),
         "-d", f"{args.seconds}s", "--timeout", "10s", f"http://127.0.0.1:{server.port}{args.path}"],
        stdout=subprocess.PIPE, text=True, check=True).stdout
    return float(re.search(r"Requests/sec:\s+([\d.]+)", said).group(1))


def ours(server, args):
    said = subprocess.run(
        [args.binary, "fast", f"127.0.0.1:{server.port}", "--cpus", str(args.client_cpu),
         "--arrivals", f"closed:{args.connections}", "--keep-alive", "--fetch-path", args.path,
         "--cap", "10s", "--duration", f"{args.seconds}s"],
        stdout=subprocess.PIPE, text=True, check=True).stdout
    # A second has a record for some of its fetches and a count of the others.
    good = 0
    for line in said.splitlines():
        record = json.loads(line)
        if record.get("outcome") == "ok":
            good += sum(count for _, count in record["times_us"]) if "times_us" in record else 1
    return good / args.seconds


def interval(ratios):
    """Percentile bootstrap of the median over pairs, as scripts/gzip_cost.py has it."""
    drawn = random.Random(1)
    medians = sorted(statistics.median(drawn.choices(ratios, k=len(ratios))) for _ in range(10_000))
    return medians[250], medians[9749]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/turnstile")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=500)
    parser.add_argument("--size", type=int, default=91 * 1024, help="bytes of the page")
    parser.add_argument("--path", default="/passed/page")
    parser.add_argument("--server-cpu", type=int, default=0)
    parser.add_argument("--client-cpu", type=int, default=1)
    args = parser.parse_args()
    print(f"{headline(args.pairs)} {args.connections} connections, {args.size} bytes.\n")
    print("| pair | wrk, a second | nginx's CPU | ours, a second | nginx's CPU | ours / wrk |\n|---|---|---|---|---|---|")
    order, ratios = random.Random(7), []
    with Nginx(args.size, args.server_cpu) as server:
        for pair in range(1, args.pairs + 1):
            found = {}
            for client in order.sample([wrk, ours], 2):
                used, began = server.cpu_seconds(), time.monotonic()
                rate = client(server, args)
                busy = (server.cpu_seconds() - used) / (time.monotonic() - began)
                found[client] = (rate, busy)
            ratios.append(found[ours][0] / found[wrk][0])
            print("| {} | {:.0f} | {:.0%} | {:.0f} | {:.0%} | {:.3f} |".format(
                pair, *found[wrk], *found[ours], ratios[-1]), flush=True)
    low, high = interval(ratios)
    print(f"\nMedian ratio {statistics.median(ratios):.3f} (95 %: {low:.3f} to {high:.3f})")


main()
