"""A streaming answer as Starlette's documentation writes it: an async generator in a StreamingResponse
(https://www.starlette.io/responses/#streamingresponse).

    pip install uvicorn starlette uvloop
    uvicorn --app-dir scripts/servers starlette_app:app --port 8000     GET /health, GET /export

CHUNK: bytes of a piece. BYTES: of the whole answer. YIELD=1: the cure that its community gives, sleep(0)
after each piece, so that the event loop turns.
"""

import asyncio
import os

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

CHUNK = b"x" * int(os.environ.get("CHUNK", 1024))
BYTES = int(os.environ.get("BYTES", 2**31))


async def rows():
    left = BYTES
    while left > 0:
        yield CHUNK
        left -= len(CHUNK)
        if os.environ.get("YIELD"):
            await asyncio.sleep(0)


async def export(request):
    return StreamingResponse(rows(), media_type="application/octet-stream")


async def health(request):
    return PlainTextResponse("ok")


app = Starlette(routes=[Route("/export", export), Route("/health", health)])
