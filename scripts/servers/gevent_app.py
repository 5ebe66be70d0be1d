"""A streaming answer as WSGI has it: an iterable of pieces, which gunicorn's gevent worker sends one by one
(https://docs.gunicorn.org/en/stable/design.html#async-workers).

    pip install gunicorn gevent packaging
    gunicorn -k gevent -b 127.0.0.1:8000 --chdir scripts/servers gevent_app:app     GET /health, GET /export

CHUNK: bytes of a piece. BYTES: of the whole answer. YIELD=1: sleep(0) after each piece, so that the loop turns.
"""

import os

import gevent

CHUNK = b"x" * int(os.environ.get("CHUNK", 1024))
BYTES = int(os.environ.get("BYTES", 2**31))


def rows():
    left = BYTES
    while left > 0:
        yield CHUNK
        left -= len(CHUNK)
        if os.environ.get("YIELD"):
            gevent.sleep(0)


def app(environ, start_response):
    if environ["PATH_INFO"] == "/export":
        start_response("200 OK", [("Content-Type", "application/octet-stream")])
        return rows()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "2")])
    return [b"ok"]
