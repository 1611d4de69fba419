"""A link that can be cut, stalled and slowed, in front of a real server."""

import select
import socket
import struct
import time
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread

RESET = struct.pack("ii", 1, 0)  # closing sends RST, as a machine that is gone does
HALF_OPEN = 16
"""How many connections a server holds of clients that are gone, until it notices of the oldest."""


class Proxy:
    """A TCP address that leads to a server's socket, for as long as the link is up.

    A cut resets both ends; a `half_open` one only ours, so that the server goes on as if nothing had
    happened. `after_up` and `after_down` are how many more bytes pass before the link is cut, once.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.passed = {"up": 0, "down": 0}
        """How many bytes went towards the server, and from it."""
        self.lag = 0.0
        self.half_open = False
        self.stays_down = False
        """Whether the link stays down after a cut that counted bytes."""
        self._lock = Lock()
        self._links: list[tuple[socket.socket, socket.socket]] = []
        self._half_open: list[socket.socket] = []
        self._ends: list[socket.socket] = []
        self._left: dict[str, int | None] = {"up": None, "down": None}
        self._is_up = True
        self._flows = Event()
        self._flows.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        Thread(target=self._accept, daemon=True).start()

    def url(self, url: str) -> str:
        """The URL of a database, over this link."""
        return f"{url.partition('?')[0]}?host=127.0.0.1&port={self.port}"

    def cut(self, *, stay_down: bool = False) -> None:
        """Reset every connection; while it stays down, new ones are reset too."""
        self._is_up = not stay_down
        with self._lock:
            links, self._links = self._links, []
            if self.half_open:
                self._half_open += [server for _, server in links]
                noticed = self._half_open[:-HALF_OPEN]
                del self._half_open[:-HALF_OPEN]
            else:
                noticed = [server for _, server in links]
        for end in (*(client for client, _ in links), *noticed):
            self._reset(end)

    def mend(self) -> None:
        self._is_up = True
        self.half_open = self.stays_down = False
        self._left = {"up": None, "down": None}
        self._flows.set()

    def cut_after(self, *, up: int | None = None, down: int | None = None) -> None:
        """Cut the link, once, when so many more bytes have passed towards the server, or from it."""
        self._left = {"up": up, "down": down}

    def stall(self) -> None:
        """Take everything and pass nothing on."""
        self._flows.clear()

    def close(self) -> None:
        self._listener.close()
        self.mend()
        self.cut()
        for end in self._ends:
            end.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if not self._is_up:
                    self._reset(client)
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self.target))
                with self._lock:
                    self._links.append((client, server))
                    self._ends += client, server
                Thread(target=self._pass, args=(client, server), daemon=True).start()

    def _pass(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError, ValueError):
            while True:
                ready, _, _ = select.select([client, server], [], [])
                for source in ready:
                    data = source.recv(65536)
                    self._flows.wait()
                    time.sleep(self.lag)
                    way, other = ("up", server) if source is client else ("down", client)
                    allowed = self._allowed(way, data)
                    other.sendall(allowed)
                    self.passed[way] += len(allowed)
                    if not data:
                        raise OSError
                    if self._left[way] == 0:
                        self._left = {"up": None, "down": None}
                        self.cut(stay_down=not self._is_up or self.stays_down)
        with self._lock:
            self._links = [link for link in self._links if link[0] is not client]
        client.close()
        if not self.half_open:
            server.close()

    def _allowed(self, way: str, data: bytes) -> bytes:
        left = self._left[way]
        if left is None:
            return data
        self._left[way] = left - len(data[:left])
        return data[:left]

    def _reset(self, end: socket.socket) -> None:
        with suppress(OSError):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            end.shutdown(socket.SHUT_RDWR)
            end.close()
