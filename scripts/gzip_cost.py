#!/usr/bin/env python3
"""What a build of nginx costs against another where it compresses a local file: pairs of downloads in turn.

    scripts/gzip_cost.py target/nginx/1.31.4-output-max-chunk/nginx target/nginx/1.31.4/nginx

One worker on CPU 0 and one client that takes all that comes: nobody else is served, so only the work for the
bytes counts. The CPU time is the scheduler's own (/proc/PID/schedstat). The median of the pairs and a 95 %
interval for it are printed. Everything stays on loopback.
"""

import argparse
import os
import random
import socket
import statistics
import subprocess
import tempfile
import time

from trials import headline
from watch_cost import interval
from who_accuracy import ended, free_port

CONF = """
daemon off; master_process off; pid {dir}/pid; error_log {dir}/error.log; user root; events {{ }}
http {{ access_log off; client_body_temp_path {dir}/a; proxy_temp_path {dir}/b; fastcgi_temp_path {dir}/c;
  uwsgi_temp_path {dir}/d; scgi_temp_path {dir}/e; gzip on; gzip_comp_level 1; gzip_types *;
  server {{ listen 127.0.0.1:{port}; root {dir}; }} }}
"""
REQUEST = b"GET /big HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n"


def connect(port):
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            time.sleep(0.02)
    raise SystemExit("nginx does not listen")


def download(binary, folder):
    """CPU time and time of one download, in seconds."""
    port = free_port()
    with open(f"{folder}/conf", "w") as file:
        file.write(CONF.format(dir=folder, port=port))
    command = ["taskset", "-c", "0", binary, "-p", folder, "-c", f"{folder}/conf"]
    with ended(subprocess.Popen(command, stderr=subprocess.DEVNULL)) as nginx, connect(port) as client:
        def used():
            with open(f"/proc/{nginx.pid}/schedstat") as file:
                return int(file.read().split()[0]) / 1e9
        room, cpu, began = bytearray(1 << 20), used(), time.monotonic()
        client.sendall(REQUEST)
        while client.recv_into(room):
            pass
        return used() - cpu, time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("against")
    parser.add_argument("--pairs", type=int, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with open(f"{folder}/big", "w") as file:
            file.write(random.Random(1).randbytes(48 << 20).hex())
        ratios = []
        for number in range(-1, options.pairs):
            order = [options.build, options.against][:: 1 if number % 2 else -1]
            found = {binary: download(binary, folder) for binary in order}
            if number >= 0:  # the first warms up
                pair = zip(found[options.build], found[options.against])
                ratios.append([100 * (new / old - 1) for new, old in pair])
    print(headline(options.pairs) + "\n")
    print("| build against the other | median of pairs | 95 % interval |")
    print("|---|---|---|")
    for what, values in zip(("CPU time", "time"), zip(*ratios)):
        low, high = interval(values)
        print(f"| {what} | {statistics.median(values):+.1f} % | {low:+.1f} to {high:+.1f} % |")


main()
