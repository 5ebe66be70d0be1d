#!/usr/bin/env python3
"""Whether `turnstile who` names the right connection: it watches a server beside holds that are made on
purpose, and what it told is held against what clients saw. Needs root. Everything stays on loopback.

    scripts/who_accuracy.py --server node --holds 40
    scripts/who_accuracy.py --server nginx-gzip --server redis >> table.md
    scripts/who_accuracy.py --server nginx --healthy 600        no hold is made: whatever is named is false
    scripts/who_accuracy.py --server node --already             each hold is there before `who` is

One client after another sends a request that holds the loop. Beside it a canary asks for next to nothing
every 5 ms on a connection that it keeps, so that its answer takes one turn: for as long as it waits, the loop
is held. (The mirror keeps none, but tells its own long turns: these count there.) A stall of the threshold
and a fifth more is a hold that must be told, by the address of the client whose request it is. What is told
of a time in which the canary is answered, or nobody asked, is a false name; where the canary was answered in the
first 40 ms of it alone, the hold is told as begun too early.
Progress goes to stderr, a row of the table to stdout. Servers that are not installed are named by --program.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from trials import headline

NODE = """
const chunk = Buffer.alloc(1024, 120);
require('http').createServer((request, response) => {
  const ms = Number(request.url.slice(1));
  if (!ms) return response.end('x');
  const until = Date.now() + ms;
  while (Date.now() < until) { response.write(chunk); for (let i = 0; i < 1e5; i++); }
  response.end();
}).listen(Number(process.argv[2]), '127.0.0.1');
"""
PYTHON = """
import time
async def app(scope, receive, send):
    if scope['type'] == 'lifespan':
        return
    ms = int(scope['path'][1:])
    length = [] if ms else [(b'content-length', b'1')]
    await send({'type': 'http.response.start', 'status': 200, 'headers': length})
    until = time.monotonic() + ms / 1000
    while ms and time.monotonic() < until:
        await send({'type': 'http.response.body', 'body': b'x' * 1024, 'more_body': True})
    await send({'type': 'http.response.body', 'body': b'x'})
"""
LUA = """
core.register_service('hold', 'http', function(applet)
  local ms = tonumber(applet.path:sub(2))
  local until_ = os.clock() + ms / 1000
  while os.clock() < until_ do end
  applet:set_status(200)
  applet:add_header('content-length', '1')
  applet:start_response()
  applet:send('x')
end)
"""
HAPROXY = """
global
  lua-load {dir}/hold.lua
  tune.lua.forced-yield 1000000000
  tune.lua.session-timeout 60s
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
listen front
  bind 127.0.0.1:{port}
  http-request use-service lua.hold
"""
NGINX = """
daemon off; worker_processes 1; pid {dir}/pid; error_log {dir}/error.log; user root; events {{ }}
http {{ access_log off; client_body_temp_path {dir}/a; proxy_temp_path {dir}/b; fastcgi_temp_path {dir}/c;
  uwsgi_temp_path {dir}/d; scgi_temp_path {dir}/e; keepalive_requests 10000000;
  gzip on; gzip_comp_level 9; gzip_min_length 1000; gzip_types *;
  server {{ listen 127.0.0.1:{port}; root {dir}; {location} }} }}
"""


class Server:
    """A server that runs: how it is started, and what is asked of it."""

    def __init__(self, name, options, stack):
        self.name, self.stack, self.turns = name, stack, None
        self.dir = stack.enter_context(tempfile.TemporaryDirectory())
        self.port = free_port()
        kind = name.split("-")[0]
        program = dict(pair.split("=", 1) for pair in options.program).get(kind) or shutil.which(
            {"redis": "redis-server", "uvicorn": "uvicorn", "mirror": options.binary}.get(kind, kind), path=
            os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")
        if program is None:
            sys.exit(f"{name}: {kind} is not installed")
        getattr(self, kind)(program, options)
        self.await_port(self.port)

    def start(self, *command, **more):
        process = self.stack.enter_context(ended(subprocess.Popen(
            command, stderr=subprocess.DEVNULL, **{"stdout": subprocess.DEVNULL, **more})))
        self.pid = process.pid
        return process

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def await_port(self, port):
        for _ in range(500):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                return
            time.sleep(0.02)
        sys.exit(f"{self.name} does not listen")

    def origin(self, options):
        port = free_port()
        self.start(options.binary, "origin", "--listen", f"127.0.0.1:{port}")
        self.await_port(port)
        return port

    def node(self, program, _):
        self.start(program, self.write("hold.js", NODE), str(self.port))

    def uvicorn(self, program, _):
        self.write("hold.py", PYTHON)
        loop = "uvloop" if self.name.endswith("uvloop") else "asyncio"
        self.start(program, "--port", str(self.port), "--loop", loop, "--log-level", "critical", "--lifespan", "off",
                   "hold:app", cwd=self.dir)

    def haproxy(self, program, _):
        self.write("hold.lua", LUA)
        self.start(program, "-db", "-f", self.write("conf", HAPROXY.format(dir=self.dir, port=self.port)))

    def redis(self, program, _):
        self.start(program, "--port", str(self.port), "--save", "", "--enable-debug-command", "yes", "--dir", self.dir)

    def nginx(self, program, options):
        self.write("small", "x")
        os.chmod(self.dir, 0o755)
        if self.name == "nginx-gzip":
            # A byte of it takes the same time to press wherever it stands.
            self.text = random.Random(1).randbytes(1 << 19).hex().encode()
            location = ""
        else:
            location = (f"location /bytes/ {{ proxy_pass http://127.0.0.1:{self.origin(options)}; proxy_buffering off; "
                        "gzip off; }")
        conf = self.write("conf", NGINX.format(dir=self.dir, port=self.port, location=location))
        self.start(program, "-p", self.dir, "-c", conf)

    def mirror(self, program, options):
        origin, self.turns = self.origin(options), []
        process = self.start(
            program, "proxy", "--listen", f"127.0.0.1:{self.port}", "--upstream", f"127.0.0.1:{origin}", "--workers",
            "1", "--read-policy", "drain", "--rcvbuf", "1MiB", stdout=subprocess.PIPE, text=True)

        def read():
            for record in map(json.loads, process.stdout):
                if record["record"] == "loop_turn":
                    self.turns.append((record["start_ns"], record["end_ns"]))
        threading.Thread(target=read, daemon=True).start()

    def request(self, ms):
        """What holds it for about so long; 0: what takes no time, and is asked for again on the connection."""
        if self.name == "redis":
            return f"DEBUG SLEEP {ms / 1000}\r\n" if ms else "PING\r\n"
        if self.name == "nginx-gzip":
            path = "big" if ms else "small"
            if ms:
                with open(os.path.join(self.dir, path), "wb") as file:
                    file.writelines([self.text] * max(1, ms // 30))
        elif self.name in ("nginx", "mirror"):
            path = f"bytes/{ms}MiB" if ms else "bytes/1" if self.name == "mirror" else "small"
        else:
            path = str(ms)
        more = "Accept-Encoding: gzip\r\nConnection: close\r\n" if ms else ""
        return f"GET /{path} HTTP/1.1\r\nHost: x\r\n{more}\r\n"


@contextlib.contextmanager
def ended(process):
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def ask(server, ms):
    """Asks once on a connection of its own; returns its port, when it asked and when all had come."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        port, room, request = client.getsockname()[1], bytearray(1 << 20), server.request(ms).encode()
        sent = time.monotonic_ns()
        client.sendall(request)
        while (got := client.recv_into(room)) and not server.name == "redis":
            pass
        return port, sent, time.monotonic_ns()


class Canary(threading.Thread):
    """Asks for next to nothing over and over: `waits` has when it asked and when it was answered."""

    def __init__(self, server, pause):
        super().__init__()
        self.server, self.pause, self.waits, self.over = server, pause, [], threading.Event()

    def run(self):
        while not self.over.is_set():
            # A server may take a connection for idle when it comes out of a hold.
            with contextlib.suppress(ConnectionError), socket.create_connection(
                    ("127.0.0.1", self.server.port), timeout=60) as client:
                while self.once(client):
                    pass

    def once(self, client):
        """Whether the connection is good for another."""
        if self.over.wait(self.pause):
            return False
        sent, answer = time.monotonic_ns(), b""
        client.sendall(self.server.request(0).encode())
        while not answer.endswith((b"\r\n\r\nx", b"PONG\r\n")) and (got := client.recv(1 << 16)):
            answer += got
        self.waits.append((sent, time.monotonic_ns()))
        return self.server.name != "mirror"


def already(name, options):
    """Holds that are there before `who` is: which of them it tells within two seconds, by their client."""
    found = collections.Counter()
    with contextlib.ExitStack() as stack:
        server = Server(name, options, stack)
        for _ in range(options.holds):
            asked = []
            client = threading.Thread(target=lambda: asked.append(ask(server, 3000)))
            client.start()
            time.sleep(0.3)
            told = subprocess.run([options.binary, "who", "--json", "--pid", str(server.pid), "--for", "2s"],
                                  stdout=subprocess.PIPE, text=True).stdout.splitlines()
            client.join()
            events = [json.loads(line) for line in told]
            names = [event["by"]["client"] if event["by"] else None for event in events if event["event"] == "hold"]
            found["holds"] += 1
            right = [name and name.endswith(f":{asked[0][0]}") for name in names]
            found["right" if any(right) else "missed" if not names else "wrong" if any(names) else "nobody named"] += 1
    found.late = []
    return found


def measure(name, options):
    with contextlib.ExitStack() as stack:
        server = Server(name, options, stack)
        who = stack.enter_context(ended(subprocess.Popen(
            [options.binary, "who", "--json", "--pid", str(server.pid), "--threshold", f"{options.threshold}ms"],
            stdout=subprocess.PIPE, text=True)))
        told = []
        reader = threading.Thread(
            target=lambda: told.extend((time.monotonic_ns(), json.loads(line)) for line in who.stdout))
        reader.start()
        canaries = [Canary(server, 0.005)] + [Canary(server, 0.001) for _ in range(4 if options.healthy else 0)]
        for canary in canaries:
            canary.start()
        time.sleep(1)
        asked, rest = [], random.Random(7)
        waits = canaries[0].waits if server.turns is None else server.turns
        time.sleep(options.healthy)
        # Not every request of a relay is a hold, and some are several.
        while not options.healthy and len(asked) < 3 * options.holds and len(
                list(stalls(asked, waits, options))) < options.holds:
            # Lengths from a little over the threshold to 1.5 s, as many of each size; some are longer, but
            # HAProxy ends itself when it is stuck for some seconds.
            long = len(asked) % 20 == 19 and name != "haproxy"
            ms = rest.uniform(2000, 10000) if long else options.threshold * 1.5 * 20 ** rest.random()
            asked.append(ask(server, int(ms)))
            time.sleep(0.1)
        time.sleep(0.5)
        for canary in canaries:
            canary.over.set()
            canary.join()
        who.terminate()
        reader.join()
        return judge(asked, waits, told, options)


def common(a, b, c, d):
    return max(0, min(b, d) - max(a, c))


def stalls(asked, waits, options):
    """When the canary waited, and whose request it was for: (start, end, port). Of what nobody asked for, as
    where the machine is taken away, there is no holder."""
    for start, end in (wait for wait in list(waits) if wait[1] - wait[0] >= 1.2e6 * options.threshold):
        port, *span = max(asked, key=lambda one: common(start, end, one[1], one[2]), default=(None, 0, 0))
        if common(start, end, *span) >= (end - start) * 0.9:
            yield start, end, port


# A loop that never sleeps in its poll is not seen to poll until the hooks are there, as a turn is 20 to 40 ms old
# (LATE in the programs of the probe): a hold of it is told as begun so much too early.
LATE = 40e6


def judge(asked, waits, told, options):
    """What became of each hold, and which names are false."""
    found = collections.Counter()
    found.late = []
    threshold = options.threshold * 1e6
    holds = {}
    for at, event in told:
        if event["event"] == "hold":
            key = event["tid"], event["began_ns"]
            holds[key] = holds[key][0] if key in holds else at, event
    spans = [(at, event["began_ns"], event["began_ns"] + event["length_us"] * 1000, event.get("by"))
             for at, event in holds.values()]
    # A canary's wait begins up to 5 ms after the hold, and ends with it: while it lasts it sends no other.
    for start, end, port in stalls(asked, waits, options):
        found["holds"] += 1
        best = max(spans, key=lambda span: common(start, end, span[1], span[2]), default=None)
        if best is None or common(start, end, best[1], best[2]) < (end - start) / 2:
            found["missed"] += 1
            print(f"missed: a stall of {(end - start) / 1e6:.0f} ms", file=sys.stderr)
            continue
        by = best[3]
        right = by is not None and by["client"].endswith(f":{port}")
        found["right" if right else "wrong" if by else "nobody named"] += 1
        if by and not right:
            print(f"wrong: {by} in the place of :{port}", file=sys.stderr)
        if best[0] < end:
            found["told while it lasted"] += 1
            found.late.append((best[0] - start) / 1e6 - options.threshold)
    # The loop turned where the canary asked and was answered, and nobody held it whom nobody asked for. (5 ms:
    # what a turn did before and after the hold.)
    for _, start, end, by in spans:
        answers = [sent for sent, answered in waits if start + 5e6 < sent and answered < end - 5e6]
        turned = any(sent > start + LATE for sent in answers)
        nobody = not any(common(start, end, *one[1:]) for one in asked)
        if by and (turned or nobody):
            found["false"] += 1
            print(f"false: {by} for {(end - start) / 1e6:.0f} ms", file=sys.stderr)
        elif by and answers:
            found["begun early"] += 1
    return found


NAMES = ["holds", "right", "wrong", "nobody named", "missed", "false", "begun early", "told while it lasted"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", action="append", required=True, choices=[
        "nginx", "nginx-gzip", "node", "uvicorn-asyncio", "uvicorn-uvloop", "haproxy", "redis", "mirror"])
    parser.add_argument("--holds", type=int, default=40)
    parser.add_argument("--healthy", type=float, default=0, metavar="SECONDS", help="make no hold, for so long")
    parser.add_argument("--already", action="store_true", help="begin each hold before the watch")
    parser.add_argument("--threshold", type=int, default=50, help="ms")
    parser.add_argument("--program", action="append", default=[], metavar="NAME=FILE", help="as nginx=/opt/nginx")
    parser.add_argument("--binary", default="target/debug/turnstile")
    options = parser.parse_args()
    options.binary = os.path.abspath(options.binary)
    print(headline(1) + "\n")
    print("| server | " + " | ".join(NAMES) + " | told after the threshold, ms, median (most) |")
    print("|---" * (len(NAMES) + 2) + "|")
    for name in options.server:
        found = (already if options.already else measure)(name, options)
        late = f"{statistics.median(found.late):.0f} ({max(found.late):.0f})" if found.late else "-"
        print(f"| {name} | " + " | ".join(str(found[it]) for it in NAMES) + f" | {late} |", flush=True)


if __name__ == "__main__":
    main()
