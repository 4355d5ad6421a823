"""What errors say in logs, events and records: enough to act on, and no secret, statement or content."""

from __future__ import annotations

import json
from typing import Any

import httpx
import openai
import psycopg
import psycopg_pool
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from react_mem.errors import StorageError
from react_mem.memory.llm.calls import translate
from react_mem.memory.llm.causes import cause_of, scrub, trace_of
from react_mem.memory.write.session import in_short

KEY = "sk-proj-a1B2c3D4e5F6g7H8"
DSN = "postgresql://ann:pa%40ss:w@rd@db.example:5432/memories"
SQL = "SELECT s.value FROM store s WHERE s.prefix = $1 AND s.key = $2"
CONTENT = "my salary is five thousand and I am ill"
SECRETS = ("a1B2c3D4e5F6g7H8", "pa%40ss", "w@rd", "FROM store", "salary", "five thousand")


def of_a_model(status: int, message: str, code: str | None = None) -> openai.APIStatusError:
    request = httpx.Request("POST", f"https://ann:{KEY}@models.example/v1?key={KEY}", headers={"x-api-key": KEY})
    kind = {401: openai.AuthenticationError, 429: openai.RateLimitError}.get(status, openai.APIStatusError)
    return kind(message, response=httpx.Response(status, request=request), body={"message": message, "code": code})


REQUEST = httpx.Request("POST", "http://models.example")


class FromTheDatabase(psycopg.errors.InvalidTextRepresentation):
    """An error as the server reports it."""

    def __init__(self, primary: str) -> None:
        super().__init__(f'{primary}\nLINE 1: {SQL}\nDETAIL: Token "{CONTENT}" is invalid.')
        self.primary = primary

    @property
    def diag(self) -> Any:
        return type("Diagnostic", (), {"message_primary": self.primary})()


class Fields(BaseModel):
    number: int


def wrong_fields() -> Exception:
    try:
        Fields.model_validate({"number": CONTENT})
    except ValueError as error:
        return error
    raise AssertionError


def wrapped(outer: Exception, inner: BaseException) -> Exception:
    outer.__cause__ = inner
    return outer


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


EVERYTHING = f"{KEY} at {DSN} for {SQL} with '{CONTENT}'"
ERRORS = [
    RuntimeError(EVERYTHING),
    ValueError(f"could not convert string to float: '{CONTENT}'"),
    wrong_fields(),
    json.JSONDecodeError(CONTENT, CONTENT, 0),
    ConnectionError(f"cannot connect to {DSN} with Bearer {KEY} to send '{CONTENT}'"),
    OSError(2, "No such file or directory", f"/home/{CONTENT}"),
    psycopg.OperationalError(f'invalid connection option in "{DSN}"'),
    psycopg.OperationalError(f"connection to {DSN} failed: Connection refused"),
    FromTheDatabase(f'invalid input syntax for type json: "{CONTENT}"'),
    of_a_model(401, f"Incorrect API key provided: {KEY}", "invalid_api_key"),
    of_a_model(400, f"Invalid value: '{CONTENT}'. Use https://ann:{KEY}@models.example"),
    wrapped(RuntimeError(EVERYTHING), FromTheDatabase(f'bad "{CONTENT}"')),
    StorageError(f"The database at {DSN} with password={KEY} is away."),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_no_secret_statement_or_content(error: Exception) -> None:
    for said in (cause_of(error), str(translate(error)), trace_of(error), in_short(error)):
        assert [secret for secret in SECRETS if secret in said] == []
    assert cause_of(error).startswith(type(error).__name__)
    assert len(cause_of(error)) < 400
    assert "\n" not in cause_of(error)


def refused() -> psycopg.Error:
    return psycopg.OperationalError('connection to server at "127.0.0.1", port 5 failed: Connection refused')


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (of_a_model(401, f"Incorrect API key {KEY}", "invalid_api_key"), "401 Unauthorized, authentication failed"),
        (of_a_model(429, "slow down"), "RateLimitError: 429 Too Many Requests"),
        (refused(), "Connection refused"),
        (psycopg.OperationalError('FATAL: password authentication failed for user "ann"'), "password authentication"),
        (psycopg_pool.PoolTimeout("couldn't get a connection after 30.00 sec"), "couldn't get a connection after 30"),
        (
            wrapped(
                openai.APIConnectionError(request=httpx.Request("POST", "http://x")), httpx.ConnectError("refused")
            ),
            "APIConnectionError: ConnectError: refused",
        ),
        (StorageError("The store is closed: open it."), "StorageError: The store is closed: open it."),
        (wrong_fields(), "1 fields of Fields are wrong (int_parsing)"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_cause_to_act_on(error: Exception, cause: str) -> None:
    assert cause in cause_of(error)


def test_no_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOMEBODY_TOKEN", "abcdefghij")
    assert scrub("with abcdefghij") == "with [hidden]"
    assert scrub("with klmnopqrst", ["klmnopqrst", "no"]) == "with [hidden]"


@pytest.mark.parametrize(
    "text",
    [
        "The model 'claude-3-5-sonnet-20241022' is not found at https://host:443/v1/models.",
        "Set OPENAI_API_KEY, or name another in EMBEDDING_MODEL.",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert scrub(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Mein Passwort ist sk4kSecret!", "Mein Passwort ist [hidden]"),
        ("client_secret=sk4kSecret, x", "client_secret=[hidden], x"),
        ("with glpat-sk4kSecretSecret.", "with [hidden]"),
        ("-----BEGIN PRIVATE KEY----- MIIs4k -----END PRIVATE KEY----- x", "[hidden] x"),
    ],
)
def test_no_secret_is_left_in_part(text: str, left: str) -> None:
    assert scrub(text) == left


@given(st.text(alphabet="aK9", min_size=1, max_size=40), st.text(max_size=20), st.text(max_size=20))
def test_a_password_in_an_address_is_never_shown(password: str, before: str, after: str) -> None:
    hidden = f"#{password}#"
    assert hidden not in scrub(f"{before} postgresql://ann:{hidden}@host/x {after}")


def test_a_trace_has_the_place_and_nothing_that_was_said() -> None:
    def work() -> None:
        raise FromTheDatabase(f'invalid input syntax for type json: "{CONTENT}"')

    with pytest.raises(FromTheDatabase) as raised:
        work()
    trace = trace_of(raised.value)
    assert "in work" in trace
    assert [secret for secret in SECRETS if secret in trace] == []
