"""A server of one event loop that does not go back to its selector before an answer is whole.

    python3 never_polls.py 127.0.0.1:8000      answers GET /bytes/SIZE with the bytes i mod 251
"""

import selectors
import socket
import sys

CHUNK = 1024
PERIOD = 251
PATTERN = bytes(i % PERIOD for i in range(PERIOD + CHUNK))
UNITS = {"KiB": 10, "MiB": 20, "GiB": 30}


def size_of(head):
    text = head.split(b" ")[1].decode().rsplit("/", 1)[1]
    unit = UNITS.get(text[-3:])
    return int(text) if unit is None else int(text[:-3]) << unit


def send(client, data):
    while data:
        try:
            data = data[client.send(data):]
        except BlockingIOError:
            pass  # It tries again, where it should wait for its turn.


def answer(client, head):
    size = size_of(head)
    send(client, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % size)
    for at in range(0, size, CHUNK):
        phase = at % PERIOD
        send(client, PATTERN[phase:phase + min(CHUNK, size - at)])


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    listener = socket.create_server((host, int(port)), backlog=511)
    listener.setblocking(False)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    heads = {}
    while True:
        for key, _ in selector.select():
            client = key.fileobj
            if client is listener:
                client, _ = listener.accept()
                client.setblocking(False)
                selector.register(client, selectors.EVENT_READ)
                heads[client] = b""
                continue
            try:
                part = client.recv(65536)
                heads[client] += part
                if part and b"\r\n\r\n" not in heads[client]:
                    continue
                if part:
                    answer(client, heads[client])
            except OSError:
                pass
            del heads[client]
            selector.unregister(client)
            client.close()


main()
