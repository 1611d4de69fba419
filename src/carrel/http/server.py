"""The server: a socket, workers that answer, and one sweep beside them."""

import ctypes
import signal
import socket
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from threading import Event, Thread
from typing import Any, cast

import uvicorn
from msgspec import Struct
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.supervisors import Multiprocess

from carrel.clock import SystemClock
from carrel.errors import Refused, Unavailable
from carrel.http.app import Interface, build
from carrel.http.guard import LOOPBACK
from carrel.http.served import Served, place
from carrel.http.sweeper import Sweeper

_HEADER_BYTES = 64 * 1024
_HEADER_SECONDS = 10.0
_IDLE_SECONDS = 15
_DRAIN_SECONDS = 20
_SILENT_SECONDS = 60  # a worker that only begins slowly, on a busy machine, is not begun again
_CONNECTIONS = 2_000
_MOST_HEAPS = -8  # M_ARENA_MAX of malloc.h
_HEAP_SECONDS = 60


class Options(Struct, frozen=True, kw_only=True):
    """What is served, where, and to whom."""

    directories: tuple[str, ...]
    token: str
    host: str = "127.0.0.1"
    port: int = 8420
    workers: int = 1
    hosts: tuple[str, ...] = ()
    """Names of this server beside those of the loopback."""
    certificate: str = ""
    private_key: str = ""
    proxy: str = ""
    """The address of a proxy that speaks TLS for this server, and is believed about who asks."""


class PublicBind(Refused):
    """Others could listen in: what is not on this machine alone must be encrypted."""

    code = "public_bind"

    def __init__(self, host: str) -> None:
        super().__init__(
            f"{host} can be reached from other machines, and nothing would be encrypted.",
            hint="Give --tls-cert and --tls-key, or --behind-proxy ADDRESS if a proxy speaks TLS.",
        )


class CannotListen(Unavailable):
    """The address is taken, or is not this machine's."""

    code = "cannot_listen"

    def __init__(self, host: str, port: int, problem: str) -> None:
        super().__init__(f"Cannot listen on {host}:{port}: {problem}.", hint="Choose another --port.")


def listen(options: Options) -> socket.socket:
    """Return the socket that will be served, once it is sure that this is safe."""
    if not (options.certificate or options.proxy or _is_loopback(options.host)):
        raise PublicBind(options.host)
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    # Named as TCP, since asyncio sends small answers at once only where it knows that it is.
    taken = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((options.host, options.port))
        taken.listen(1_024)
    except OSError as error:
        taken.close()
        raise CannotListen(options.host, options.port, error.strerror or str(error)) from None
    taken.set_inheritable(True)
    return taken


def serve(options: Options, taken: socket.socket) -> None:
    """Answer requests until told to stop, if need be before the first; what was begun is finished first."""
    told = Event()  # by a signal that uvicorn did not hear yet, or sends itself again when it is done
    signal.signal(signal.SIGTERM, lambda _number, _frame: told.set())
    _tend_heap()
    with ExitStack() as stack:
        sweeper = stack.enter_context(Sweeper([place(each) for each in options.directories]))
        if options.workers > 1:
            sweeper.start()
            config = _config(partial(worker, options), options, factory=True, workers=options.workers)
            several = Several(config, sockets=[taken])
            if not told.is_set():
                several.run()
            if several.is_interrupted:
                raise KeyboardInterrupt
            return
        served = stack.enter_context(Served([place(each) for each in options.directories]))
        interface = _interface(options, served)
        sweeper.start()  # not before: two threads that load the same modules may each see half of them
        One(_config(interface, options), told).run(sockets=[taken])


def worker(options: Options) -> Interface:
    """Return what one worker of several answers with."""
    _tend_heap()
    return _interface(options, Served([place(each) for each in options.directories]))


def _interface(options: Options, served: Served) -> Interface:
    return build(served, token=options.token, clock=SystemClock(), hosts=(*LOOPBACK, *options.hosts))


def _config(app: Interface | Callable[[], Interface], options: Options, **more: Any) -> uvicorn.Config:
    return uvicorn.Config(
        cast("Any", app),
        http=Impatient,
        ws="none",
        lifespan="on",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(options.proxy),
        forwarded_allow_ips=options.proxy or None,
        ssl_certfile=options.certificate or None,
        ssl_keyfile=options.private_key or None,
        limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
        timeout_worker_healthcheck=_SILENT_SECONDS,
        h11_max_incomplete_event_size=_HEADER_BYTES,
        **more,
    )


class One(uvicorn.Server):
    """The only worker; stops at once where it was `told` to before it listened to signals."""

    def __init__(self, config: uvicorn.Config, told: Event) -> None:
        super().__init__(config)
        self._told = told

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Listen to signals."""
        with super().capture_signals():
            self.should_exit |= self._told.is_set()
            yield


class Several(Multiprocess):
    """The workers; remembers whether a person stopped them, whom one server alone would tell so."""

    is_interrupted = False

    def handle_int(self) -> None:
        """Stop, as from the keyboard."""
        self.is_interrupted = True
        super().handle_int()


class Impatient(H11Protocol):
    """Closes a connection whose request does not come whole in time, however slowly it comes.

    When the server stops it ends streams first, which would never end by themselves.
    """

    def connection_made(self, transport: Any) -> None:
        """Expect a request."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(_HEADER_SECONDS, transport.close)

    def data_received(self, data: bytes) -> None:
        """Take what came; while nothing is being answered, more of it wins no more time.

        That is so before a request is whole, and where one was refused and its body comes none the less.
        """
        super().data_received(data)
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None and not cycle.response_complete:
            self._deadline.cancel()
        elif self._deadline.cancelled():
            self._deadline = self.loop.call_later(_HEADER_SECONDS, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        self._deadline.cancel()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Let the request that is being answered be the last."""
        app: Any = getattr(self, "app")  # noqa: B009 - whose type is not told
        while not isinstance(app, Interface):  # which a proxy's headers may be unpacked around
            app = app.app
        app.stop()
        super().shutdown()


def _tend_heap() -> None:
    """Let all threads take memory from one heap, and give what is free in it back every minute.

    Of one for each, what a thread gave back would stay taken: an index is written by new threads each time.
    And within one, what many files were looked at with lies between what stays.
    """
    with suppress(OSError, AttributeError):  # another C library has no such heaps
        heap = ctypes.CDLL(None)
        heap.mallopt(_MOST_HEAPS, 1)
        Thread(target=_give_back, args=(heap.malloc_trim,), name="carrel-heap", daemon=True).start()


def _give_back(trim: Callable[[int], int]) -> None:
    while True:
        time.sleep(_HEAP_SECONDS)
        trim(0)


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")
