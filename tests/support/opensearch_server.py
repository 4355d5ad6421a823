"""OpenSearch over real HTTP, as its documentation (3.x) words what its Python client (3.2) sends and is answered.

    with OpenSearchServer() as server:
        OpenSearchVectorSearch(server.url, "memory", embeddings, use_ssl=False)

Indexes with a `knn_vector`, `_bulk`, `_refresh` and `_search` with a `knn` query, exact instead of approximate. What
the service refuses is refused: the engine `nmslib` for a new index, a `k` or `size` above 10,000, an index that is not
there; and what has not been refreshed is not found.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

MOST = 10_000
"""`index.max_result_window`, and the largest `k`."""


class _Refused(Exception):  # noqa: N818 - an answer, not a fault
    def __init__(self, status: int, kind: str, reason: str) -> None:
        super().__init__(reason)
        error = {"type": kind, "reason": reason}
        self.status = status
        self.body = {"error": {"root_cause": [error], **error}, "status": status}


@dataclass
class _Index:
    mapping: dict[str, Any]
    written: dict[str, dict[str, Any]] = field(default_factory=dict)
    searched: dict[str, dict[str, Any]] = field(default_factory=dict)

    def refresh(self) -> None:
        self.searched = dict(self.written)


class OpenSearchServer:
    """The service, on a port of this machine, without an index."""

    def __init__(self) -> None:
        self.indexes: dict[str, _Index] = {}
        self.requests: list[tuple[str, str, Any]] = []
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def answer(self, method: str, target: str, body: bytes) -> tuple[int, Any]:
        """Return the status and the body of an answer."""
        parts = urlsplit(target)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        path = parts.path.strip("/").split("/")
        sent = [json.loads(line) for line in body.splitlines()] if path[-1] == "_bulk" else json.loads(body or b"null")
        with self._lock:
            self.requests.append((method, parts.path, sent))
            try:
                return 200, self._answer(method, path, sent, query)
            except _Refused as refused:
                return refused.status, refused.body

    def _answer(self, method: str, path: list[str], sent: Any, query: dict[str, str]) -> Any:
        match method, path:
            case "PUT", [name]:
                return self._create(name, sent or {})
            case "GET", [name]:
                return {name: {"aliases": {}, **self._index(name).mapping}}
            case "POST", ["_bulk"]:
                return self._bulk(sent, refresh=query.get("refresh") == "true")
            case "POST", [name, "_refresh"]:
                self._index(name).refresh()
                return {"_shards": {"total": 2, "successful": 1, "failed": 0}}
            case "POST", [name, "_search"]:
                return self._search(name, self._index(name), sent)
        raise _Refused(400, "illegal_argument_exception", f"no handler found for uri [/{'/'.join(path)}] [{method}]")

    def _index(self, name: str) -> _Index:
        if name not in self.indexes:
            raise _Refused(404, "index_not_found_exception", f"no such index [{name}]")
        return self.indexes[name]

    def _create(self, name: str, mapping: dict[str, Any]) -> Any:
        if name in self.indexes:
            raise _Refused(400, "resource_already_exists_exception", f"index [{name}] already exists")
        for one in mapping["mappings"]["properties"].values():
            if one["method"]["engine"] not in ("faiss", "lucene"):
                reason = "nmslib engine is deprecated in OpenSearch and cannot be used for new index creation"
                raise _Refused(400, "mapper_parsing_exception", reason)
        self.indexes[name] = _Index(mapping)
        return {"acknowledged": True, "shards_acknowledged": True, "index": name}

    def _bulk(self, lines: list[Any], *, refresh: bool) -> Any:
        items: list[Any] = []
        rest = iter(lines)
        for line in rest:
            [(kind, meta)] = line.items()
            name, id_ = meta["_index"], meta["_id"]
            told = {"_index": name, "_id": id_}
            if kind == "index":
                index = self.indexes.setdefault(name, _Index({"mappings": {"properties": {}}}))
                result = "updated" if id_ in index.written else "created"
                index.written[id_] = next(rest)
                items.append({kind: {**told, "result": result, "status": 200 if result == "updated" else 201}})
            elif kind == "delete" and name not in self.indexes:
                # a deletion makes no index
                error = {"type": "index_not_found_exception", "reason": f"no such index [{name}]"}
                items.append({kind: {**told, "status": 404, "error": error}})
            elif kind == "delete":
                gone = self.indexes[name].written.pop(id_, None)
                result, status = ("not_found", 404) if gone is None else ("deleted", 200)
                items.append({kind: {**told, "result": result, "status": status}})
            if refresh and name in self.indexes:
                self.indexes[name].refresh()
        return {"took": 1, "errors": any("error" in one for item in items for one in item.values()), "items": items}

    def _search(self, name: str, index: _Index, sent: Any) -> Any:
        [(vector_field, asked)] = sent["query"]["knn"].items()
        if not 1 <= asked["k"] <= MOST or sent["size"] > MOST:
            raise _Refused(400, "illegal_argument_exception", f"[knn] requires 0 < k <= {MOST}")
        if vector_field not in index.mapping["mappings"]["properties"]:
            raise _Refused(400, "query_shard_exception", f"Field '{vector_field}' is not knn_vector type.")
        # within the search, not after it: k are found of those that the filter lets through
        found = [(id_, source) for id_, source in index.searched.items() if _passes(source, asked.get("filter"))]
        hits = [
            {"_index": name, "_id": id_, "_score": _score(asked["vector"], source[vector_field]), "_source": source}
            for id_, source in found
        ]
        nearest = sorted(hits, key=lambda hit: -hit["_score"])[: min(asked["k"], sent["size"])]
        total = {"value": len(nearest), "relation": "eq"}
        return {"took": 1, "timed_out": False, "hits": {"total": total, "hits": nearest}}


def _passes(source: dict[str, Any], condition: Any) -> bool:
    if condition is None:
        return True
    [(path, wanted)] = condition["term"].items()
    *names, kind = path.split(".")
    # what is mapped by itself is analysed text, and exact only below that
    assert kind == "keyword", path
    value: Any = source
    for name in names:
        value = value[name]
    return bool(value == wanted and len(value) <= 256)


def _score(one: list[float], other: list[float]) -> float:
    return 1 / (1 + sum((a - b) ** 2 for a, b in zip(one, other, strict=True)))


def _handler(server: OpenSearchServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # head and body in one packet: the second would wait for the first to be acknowledged
        wbufsize = 2**16

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            status, answer = server.answer(self.command, self.path, body)
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json; charset=UTF-8")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _serve  # noqa: N815 - the names that it looks for

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
