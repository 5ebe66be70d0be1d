"""A streaming answer as aiohttp's documentation writes it: a StreamResponse that is prepared, written and ended
(https://docs.aiohttp.org/en/stable/web_reference.html#streamresponse).

    pip install aiohttp
    PORT=8000 python3 scripts/servers/aiohttp_app.py     GET /health, GET /export

CHUNK: bytes of a write. BYTES: of the whole answer. YIELD=1: sleep(0) after each write, so that the event loop
turns.
"""

import asyncio
import os

from aiohttp import web

CHUNK = b"x" * int(os.environ.get("CHUNK", 1024))
BYTES = int(os.environ.get("BYTES", 2**31))


async def export(request):
    response = web.StreamResponse()
    await response.prepare(request)
    left = BYTES
    while left > 0:
        await response.write(CHUNK)
        left -= len(CHUNK)
        if os.environ.get("YIELD"):
            await asyncio.sleep(0)
    await response.write_eof()
    return response


async def health(request):
    return web.Response(text="ok")


app = web.Application()
app.add_routes([web.get("/export", export), web.get("/health", health)])
web.run_app(app, host="127.0.0.1", port=int(os.environ["PORT"]), print=None, access_log=None)
