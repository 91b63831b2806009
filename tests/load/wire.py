"""HTTP/1.1 over raw sockets in asyncio: a client that reads well, and can also behave as badly as it likes."""

import asyncio
import json
import re
import socket
import struct

STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9]) [^\r\n]*\r\n")
DEFAULT_BUFFER = 1 << 16


class NotHttp(Exception):
    """The server sent bytes that are no answer."""


def post(path, body, *headers):
    """A whole request; `body` is bytes, or what becomes JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", f"Content-Length: {len(data)}"]
    return "\r\n".join([*head, *headers, "", ""]).encode() + data


def get(path):
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


class Connection:
    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, port, buffer=DEFAULT_BUFFER):
        """`buffer`: bytes that are taken off the server without being asked for, here and in the kernel."""
        raw = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            raw.setblocking(False)
            if buffer < DEFAULT_BUFFER:
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", port))
            return cls(*await asyncio.open_connection(sock=raw, limit=buffer))
        except BaseException:
            raw.close()
            raise

    async def send(self, data):
        self.writer.write(data)
        await self.writer.drain()

    async def head(self):
        """(status, headers by their lower-case names); of the last one where others are provisional."""
        while True:
            text = await self.reader.readuntil(b"\r\n\r\n")
            match = STATUS_LINE.match(text)
            if not match:
                raise NotHttp(text[:200])
            if int(match[1]) >= 200:
                break
        lines = text[match.end():].decode("latin-1").split("\r\n")
        return int(match[1]), {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if name}

    async def pieces(self, headers):
        """The body's bytes as they come."""
        if headers.get("transfer-encoding") == "chunked":
            while size := int((await self.reader.readuntil(b"\r\n")).strip(), 16):
                yield (await self.reader.readexactly(size + 2))[:-2]
            await self.reader.readexactly(2)
        elif "content-length" in headers:
            yield await self.reader.readexactly(int(headers["content-length"]))
        else:
            while data := await self.reader.read(DEFAULT_BUFFER):
                yield data

    async def body(self, headers):
        return b"".join([piece async for piece in self.pieces(headers)])

    async def events(self, headers):
        """The data of server-sent events; comments are left out."""
        rest = b""
        async for piece in self.pieces(headers):
            *whole, rest = (rest + piece).split(b"\n\n")
            for event in whole:
                data = b"\n".join(line[6:] for line in event.split(b"\n") if line.startswith(b"data: "))
                if data:
                    yield data
        if rest:
            raise NotHttp(b"the end of an event is missing: " + rest[:200])

    def finish(self):
        """FIN, and nothing is read any more."""
        self.writer.close()

    def half_close(self):
        """FIN, while what comes could still be read."""
        if self.writer.can_write_eof():
            self.writer.write_eof()

    def reset(self):
        """RST."""
        raw = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def closed(self):
        """Until the socket is gone on this side."""
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except OSError:
            pass


async def fetch(port, request):
    """(status, body) on a connection of its own."""
    connection = await Connection.open(port)
    try:
        await connection.send(request)
        status, headers = await connection.head()
        return status, await connection.body(headers)
    finally:
        await connection.closed()
