"""An identity provider on loopback, and the clock of the server that trusts it."""

from __future__ import annotations

import json
import mmap
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from tests.support.people import AUDIENCE, ISSUER

CLOCK_ENV = "TEST_CLOCK"

_LAYOUT = "d"


class TestClock:
    """A number of seconds that several processes share."""

    __test__ = False

    def __init__(self, file: Path) -> None:
        if not file.exists():
            file.write_bytes(struct.pack(_LAYOUT, 1_000_000.0))
        with file.open("r+b") as opened:
            # memory, not a file that is read: a server refuses to read files on its event loop
            self._shared = mmap.mmap(opened.fileno(), struct.calcsize(_LAYOUT))

    def __call__(self) -> float:
        """Return the time."""
        return float(struct.unpack(_LAYOUT, self._shared[:])[0])

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._shared[:] = struct.pack(_LAYOUT, self() + seconds)


class IdentityProvider:
    """An identity provider: the keys that it publishes, and how it answers."""

    def __init__(self) -> None:
        self.keys: dict[str, RSAPrivateKey] = {}
        self.broken = False
        self.asked = 0
        self.asked_now, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()
        self.url = ""

    def document(self) -> bytes:
        """Return the keys as a set of JSON Web Keys."""
        listed = [
            {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key())), "kid": kid, "use": "sig"}
            for kid, key in self.keys.items()
        ]
        return json.dumps({"keys": listed}).encode()

    def token(self, identity: str, kid: str, key: RSAPrivateKey | None = None, **claims: Any) -> str:
        """Return a token that it has issued, or that somebody else claims it has."""
        right = {"sub": identity, "iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + 3600}
        return jwt.encode({**right, **claims}, key or self.keys[kid], "RS256", headers={"kid": kid})


@contextmanager
def identity_provider() -> Iterator[IdentityProvider]:
    """Run one for the length of a context."""
    provider = IdentityProvider()

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            provider.asked += 1
            provider.asked_now.set()
            provider.go_on.wait(30)
            body = b"" if provider.broken else provider.document()
            self.send_response(500 if provider.broken else 200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    provider.url = f"http://127.0.0.1:{server.server_address[1]}/keys"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        provider.go_on.set()
        server.shutdown()
        server.server_close()
        thread.join()
