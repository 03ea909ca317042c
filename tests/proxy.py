"""A TCP relay between clients and a real server that fails on command: refused, black hole, cut, cut in mid-commit, slow drip."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Final, Literal

__all__ = ["COMMIT", "Proxy"]

COMMIT: Final = b"\x00\x02\xb0\x12\x00\x00"  # the Bolt message, with the length before it and the end after it
_LOGON: Final = b"\xb1\x6a"  # the Bolt message with credentials
State = Literal["well", "refused", "black hole", "drip"]
Fate = Literal["before", "after"]


class Proxy:
    """Relays to `port` of this machine. `uri` is where clients go.

    connections: how many were accepted. received: how many pieces of data clients have sent, forwarded or not; said: these pieces.
    broken: how many connections were cut at a moment that `cut_at_commit` or `cut_after` named.
    logons: how often clients have shown credentials.
    """

    def __init__(self, port: int) -> None:
        self.target = port
        self.connections = self.received = self.broken = self.logons = 0
        self._state: State = "well"
        self._size, self._pause = 0, 0.0
        self._fates: list[Fate] = []
        self._meanwhile_runs = threading.Lock()
        self._meanwhile: Callable[[], object] | None = None
        self._left: dict[str, int] = {}
        self._changed = threading.Condition()
        self.said = bytearray()
        self._pairs: list[tuple[socket.socket, ...]] = []
        self._forgotten: list[tuple[socket.socket, ...]] = []
        self._threads: list[threading.Thread] = []
        self._closed = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._listen()

    @property
    def uri(self) -> str:
        """The address for clients."""
        return f"bolt://127.0.0.1:{self.port}"

    # ---- what happens to connections

    def refuse(self) -> None:
        """End every connection, and take no new one."""
        self._become("refused")
        self._close_listener()
        self.cut()

    def black_hole(self) -> None:
        """Keep connections and take new ones, and forward nothing; what was sent meanwhile arrives after `heal`."""
        self._become("black hole")

    def drip(self, size: int = 8, pause: float = 0.05) -> None:
        """Forward `size` bytes of each direction every `pause` seconds."""
        self._size, self._pause = size, pause
        self._become("drip")

    def heal(self) -> None:
        """Be a cable again."""
        refused = self._state == "refused"
        self._fates.clear()
        self._left.clear()
        self._become("well")
        if refused:
            self._listener = socket.create_server(("127.0.0.1", self.port))
            self._listen()

    def cut(self) -> None:
        """End every connection now; new ones are taken."""
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            _end(pair)

    def forget(self) -> None:
        """Swallow what comes on the connections there are, as a firewall does with idle ones; new ones work."""
        self._forgotten += self._pairs

    def cut_at_commit(self, *fates: Fate, meanwhile: Callable[[], object] | None = None) -> None:
        """End a connection at its next commits, one after the other: before the server sees it, or after it answered.

        meanwhile: called once, before the client hears of the first that the server does not see.
        """
        self._meanwhile = meanwhile
        self._fates += fates

    def cut_after(self, direction: Literal["up", "down"], size: int) -> None:
        """End the connection that sends the byte number `size` from now to the server ("up") or to a client ("down")."""
        self._left[direction] = size

    def close(self) -> None:
        """End everything, and wait for the threads."""
        self._closed = True
        self.heal()
        self._close_listener()
        self.cut()
        for thread in self._threads:
            thread.join(10)

    # ---- relaying

    def _become(self, state: State) -> None:
        with self._changed:
            self._state = state
            self._changed.notify_all()

    def _listen(self) -> None:
        self._start(self._accept, self._listener)

    def _start(self, work: object, *values: object) -> None:
        thread = threading.Thread(target=work, args=values, name="proxy", daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _close_listener(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                self.connections += 1
                self._start(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._pairs.append((client,))
        self._hold()
        try:
            server = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            _end((client,))
            client.close()
            return
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pair = (client, server)
        self._pairs.append(pair)
        swallow = threading.Event()
        back = threading.Thread(target=self._down, args=(pair, swallow), name="proxy", daemon=True)
        back.start()
        self._up(pair, swallow)
        back.join()
        for each in pair:
            each.close()

    def _hold(self) -> None:
        """Wait while nothing is to be forwarded."""
        with self._changed:
            while self._state == "black hole" and not self._closed:
                self._changed.wait()

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        at = 0
        while at < len(data):
            self._hold()
            if self._state == "drip":
                with self._changed:
                    self._changed.wait_for(lambda: self._state != "drip", self._pause)
                yield data[at : at + self._size]
                at += self._size
            else:
                yield data[at:]
                return

    def _up(self, pair: tuple[socket.socket, ...], swallow: threading.Event) -> None:
        client, server = pair
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                self.received += 1
                self.logons += _LOGON in data
                self.said += data
                if pair in self._forgotten:
                    continue
                if self._fates and COMMIT in data:
                    if self._fates.pop(0) == "before":
                        self.broken += 1
                        self._before_the_server_sees_it(server)
                        break
                    swallow.set()
                if not self._forward(data, server, "up"):
                    break
        _end(pair)

    def _before_the_server_sees_it(self, server: socket.socket) -> None:
        meanwhile, self._meanwhile = self._meanwhile, None
        if meanwhile is not None:
            with self._meanwhile_runs:  # the other direction would let the client hear of it
                _end((server,))  # it rolls back
                meanwhile()

    def _down(self, pair: tuple[socket.socket, ...], swallow: threading.Event) -> None:
        client, server = pair
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                if swallow.is_set():  # the answer to a commit: the server did it, and nobody will know
                    self.broken += 1
                    break
                if not self._forward(data, client, "down"):
                    break
        with self._meanwhile_runs:
            _end(pair)

    def _forward(self, data: bytes, target: socket.socket, direction: str) -> bool:
        """Send data on; False if the connection is to end in the middle of it."""
        for piece in self._pieces(data):
            left = self._left.get(direction)
            if left is not None and left <= len(piece):
                del self._left[direction]
                self.broken += 1
                target.sendall(piece[:left])
                return False
            if left is not None:
                self._left[direction] = left - len(piece)
            target.sendall(piece)
        return True


def _end(pair: tuple[socket.socket, ...]) -> None:
    for each in pair:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
