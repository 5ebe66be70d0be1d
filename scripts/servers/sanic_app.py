"""A streaming answer as Sanic's documentation writes it: respond(), and send() for each piece
(https://sanic.dev/en/guide/advanced/streaming.html#response-streaming).

    pip install sanic
    PORT=8000 python3 scripts/servers/sanic_app.py     GET /health, GET /export

CHUNK: bytes of a piece. BYTES: of the whole answer. YIELD=1: sleep(0) after each piece, so that the event loop
turns. LOOP=asyncio: without uvloop.
"""

import asyncio
import os

from sanic import Sanic, text

CHUNK = b"x" * int(os.environ.get("CHUNK", 1024))
BYTES = int(os.environ.get("BYTES", 2**31))

app = Sanic("export")
app.config.USE_UVLOOP = os.environ.get("LOOP") != "asyncio"


@app.get("/export")
async def export(request):
    response = await request.respond(content_type="application/octet-stream")
    left = BYTES
    while left > 0:
        await response.send(CHUNK)
        left -= len(CHUNK)
        if os.environ.get("YIELD"):
            await asyncio.sleep(0)
    await response.eof()


@app.get("/health")
async def health(request):
    return text("ok")


if __name__ == "__main__":
    app.run("127.0.0.1", int(os.environ["PORT"]), single_process=True, motd=False)
