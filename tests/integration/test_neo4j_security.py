"""Credentials and certificates on a server of the tests' own: wrong, locked out, expired, self-signed, trusted."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

import pytest

from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.errors import AuthError, UnavailableError
from tests.integration.conftest import OwnServer
from tests.integration.primary import memory_of, opened
from tests.proxy import Proxy

pytestmark = pytest.mark.neo4j
WRONG = "correct-horse-battery"


@pytest.fixture
def encrypted(own: OwnServer) -> OwnServer:
    if own.certificate is None:
        pytest.skip("needs openssl to make a certificate")
    return own


@pytest.fixture
def proxy(own: OwnServer) -> Iterator[Proxy]:
    found = Proxy(own.server.port)
    yield found
    found.close()


@pytest.mark.parametrize("scheme", ["bolt+ssc", "neo4j+ssc"])
def test_a_self_signed_certificate_is_taken_on_trust(encrypted: OwnServer, proxy: Proxy, scheme: str) -> None:
    backend = opened(encrypted.server, proxy.port, scheme)
    memory = memory_of(backend, scheme)
    entry = memory.remember("nobody reads this on the way")
    assert memory.get(entry.id) == entry
    assert b"neo4j" not in proxy.said
    assert b"nobody reads this" not in proxy.said
    backend.close()


@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s"])
def test_a_certificate_that_nobody_vouches_for_is_refused(encrypted: OwnServer, scheme: str) -> None:
    with pytest.raises(UnavailableError, match="no trusted TLS connection"):
        opened(encrypted.server, scheme=scheme)


@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s"])
def test_a_certificate_that_the_machine_trusts_is_accepted(
    encrypted: OwnServer, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(encrypted.certificate))  # where OpenSSL looks for what the machine trusts
    backend = opened(encrypted.server, scheme=scheme)
    memory = memory_of(backend, scheme)
    entry = memory.remember("vouched for")
    assert memory.get(entry.id) == entry
    backend.close()


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
def test_wrong_credentials_are_tried_once(own: OwnServer, proxy: Proxy, scheme: str) -> None:
    backend = Neo4jBackend(f"{scheme}://127.0.0.1:{proxy.port}", auth=("neo4j", WRONG), timeout=20, connect=False)
    heard = []
    for _ in range(6):  # the server locks out after three
        with pytest.raises(AuthError) as caught:
            backend.namespaces(None)
        heard.append(str(caught.value))
        assert not caught.value.retryable
        assert WRONG not in "".join(traceback.format_exception(caught.value))
    assert len(set(heard)) == 1
    assert "refused the credentials" in heard[0]
    assert proxy.connections == 1
    backend.close()
    opened(own.server).close()  # no lock-out came of it


def test_a_lock_out_says_so(own: OwnServer) -> None:
    heard = ""
    for _ in range(5):
        with pytest.raises(AuthError) as caught:
            Neo4jBackend(own.server.uri, auth=("neo4j", WRONG), timeout=20)
        heard = str(caught.value)
    assert "locked" in heard


def test_the_default_password_of_a_new_server_is_one_clear_line(own: OwnServer) -> None:
    assert "has expired" in own.first_words
    assert "\n" not in own.first_words
