"""A worker that sleeps in a call which is not its poll: the handler of /work waits for 300 ms in the loop's own
thread, as for a database whose client was not written for a loop. Needs nothing but Python."""

import asyncio
import os
import time

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n"


async def serve(reader, writer):
    head = await reader.readuntil(b"\r\n\r\n")
    if head.startswith(b"GET /work"):
        time.sleep(0.3)
    writer.write(ANSWER)
    await writer.drain()
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "0.0.0.0", int(os.environ["PORT"]), backlog=511)
    await server.serve_forever()


asyncio.run(main())
