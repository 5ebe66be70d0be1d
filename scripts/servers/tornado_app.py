"""A streaming answer as Tornado's documentation writes it: write and flush in a coroutine
(https://www.tornadoweb.org/en/stable/web.html#tornado.web.RequestHandler.flush).

    pip install tornado
    PORT=8000 python3 scripts/servers/tornado_app.py     GET /health, GET /export

CHUNK: bytes of a write. BYTES: of the whole answer. YIELD=1: sleep(0) after each write, so that the event loop
turns.
"""

import asyncio
import os

import tornado

CHUNK = b"x" * int(os.environ.get("CHUNK", 1024))
BYTES = int(os.environ.get("BYTES", 2**31))


class Export(tornado.web.RequestHandler):
    async def get(self):
        left = BYTES
        while left > 0:
            self.write(CHUNK)
            await self.flush()
            left -= len(CHUNK)
            if os.environ.get("YIELD"):
                await asyncio.sleep(0)


class Health(tornado.web.RequestHandler):
    def get(self):
        self.write("ok")


async def main():
    app = tornado.web.Application([("/export", Export), ("/health", Health)], log_function=lambda _: None)
    app.listen(int(os.environ["PORT"]), "127.0.0.1")
    await asyncio.Event().wait()


asyncio.run(main())
