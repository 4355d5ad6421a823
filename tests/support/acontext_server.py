"""Acontext's skills, sessions and learning spaces over real HTTP, as its client (0.1.22) speaks to them.

    with AcontextServer() as server:
        async with AcontextAsyncClient(api_key=server.api_key, base_url=server.base_url) as client: ...

What the service refuses is refused: a request without the key, an archive without a `SKILL.md` that has a name and a
description, and a skill or a name that a space has already. What it reads in an archive it lists and returns.
"""

from __future__ import annotations

import io
import json
import threading
import uuid
import zipfile
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import yaml

_AT = "2026-04-01T00:00:00Z"


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """What is answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class AcontextServer:
    """The service, on a port of this machine, with one empty learning space."""

    def __init__(self) -> None:
        self.api_key = "sk-ac-test"
        self.skills: dict[str, dict[str, Any]] = {}
        self.files: dict[str, dict[str, str]] = {}
        self.spaces: dict[str, list[str]] = {}
        self.space_id = self.add_space()
        self.sessions: dict[str, dict[str, Any]] = {}
        self.messages: dict[str, list[dict[str, Any]]] = {}
        self.tasks: dict[str, list[dict[str, Any]]] = {}
        self.learnt: list[tuple[str, str]] = []
        self.failing: set[str] = set()
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
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/api/v1"

    def add_space(self) -> str:
        space_id = str(uuid.uuid4())
        self.spaces[space_id] = []
        return space_id

    def add_skill(self, space_id: str, files: dict[str, str]) -> str:
        """Let a space have learnt a skill."""
        made = self.create(files, {})
        self.include(space_id, made["id"])
        return str(made["id"])

    def create(self, files: dict[str, str], meta: dict[str, Any]) -> dict[str, Any]:
        text = next((text for path, text in files.items() if path.lower() == "skill.md"), None)
        if text is None:
            raise Refused(400, "SKILL.md file is required in the zip package")
        parts = text.split("---\n")
        front = yaml.safe_load(parts[1]) if len(parts) > 2 else None
        for name in ("name", "description"):
            if not isinstance(front, dict) or not front.get(name):
                raise Refused(400, f"{name} is required in SKILL.md")
        skill = {
            "id": str(uuid.uuid4()),
            "user_id": None,
            "name": front["name"],
            "description": front["description"],
            "disk_id": str(uuid.uuid4()),
            "file_index": [{"path": path, "mime": "text/markdown"} for path in files],
            "meta": meta or None,
            "created_at": _AT,
            "updated_at": _AT,
        }
        self.skills[skill["id"]] = skill
        self.files[skill["id"]] = files
        return skill

    def include(self, space_id: str, skill_id: str) -> dict[str, Any]:
        inside = self._space(space_id)
        name = self._skill(skill_id)["name"]
        if skill_id in inside or name in [self.skills[id_]["name"] for id_ in inside]:
            raise Refused(409, f"skill with name '{name}' already exists in this space")
        inside.append(skill_id)
        return {"id": str(uuid.uuid4()), "learning_space_id": space_id, "skill_id": skill_id, "created_at": _AT}

    def answer(self, method: str, path: list[str], query: dict[str, str], body: Any) -> tuple[int, Any]:
        """Answer a request below `/api/v1`."""
        match method, path:
            case "POST", ["agent_skills"]:
                return 201, self.create(body["files"], body["meta"])
            case "GET", ["agent_skills", id_]:
                return 200, self._skill(id_)
            case "DELETE", ["agent_skills", id_]:
                self._skill(id_)
                del self.skills[id_], self.files[id_]
                for inside in self.spaces.values():
                    inside[:] = [one for one in inside if one != id_]
                return 200, None
            case "GET", ["agent_skills", id_, "file"]:
                self._skill(id_)
                text = self.files[id_].get(query["file_path"])
                if text is None:
                    raise Refused(404, "file not found")
                content = {"type": "text", "raw": text}
                return 200, {"path": query["file_path"], "mime": "text/markdown", "content": content}
            case "GET", ["learning_spaces", id_, "skills"]:
                return 200, [self.skills[one] for one in self._space(id_)]
            case "POST", ["learning_spaces", id_, "skills"]:
                return 201, self.include(id_, body["skill_id"])
            case "POST", ["learning_spaces", id_, "learn"]:
                self._space(id_)
                self.learnt.append((id_, self._session(body["session_id"])["id"]))
                told = {"id": str(uuid.uuid4()), "learning_space_id": id_, "session_id": body["session_id"]}
                return 201, {**told, "status": "pending", "created_at": _AT, "updated_at": _AT}
            case "POST", ["session"]:
                return 201, self._open(body)
            case "GET", ["session"]:
                wanted = json.loads(query.get("filter_by_configs", "{}")).items()
                found = [one for one in self.sessions.values() if wanted <= (one["configs"] or {}).items()]
                return 200, _paged(found, query)
            case "DELETE", ["session", id_]:
                self._session(id_)
                del self.sessions[id_], self.messages[id_]
                return 200, None
            case "POST", ["session", id_, "messages"]:
                return 201, self._said(id_, body)
            case "GET", ["session", id_, "messages"]:
                self._session(id_)
                page = _paged(self.messages[id_], query)
                said = page["items"]
                told = {"items": [one["blob"] for one in said], "ids": [one["id"] for one in said]}
                return 200, {**page, **told, "metas": [one["meta"] for one in said], "this_time_tokens": 1}
            case "GET", ["session", id_, "task"]:
                self._session(id_)
                return 200, _paged(self.tasks.get(id_, []), query)
        raise Refused(404, "no such route")

    def add_task(self, session_id: str, status: str, description: str, **data: Any) -> None:
        """Let a session have a task."""
        tasks = self.tasks.setdefault(session_id, [])
        told = {"id": str(uuid.uuid4()), "session_id": session_id, "project_id": str(uuid.uuid4()), "status": status}
        data = {"task_description": description, "progresses": None, "user_preferences": None, **data}
        more = {"order": len(tasks) + 1, "is_planning": False, "created_at": _AT, "updated_at": _AT}
        tasks.append({**told, **more, "data": data})

    def _open(self, given: dict[str, Any]) -> dict[str, Any]:
        id_ = given.get("use_uuid") or str(uuid.uuid4())
        if id_ in self.sessions:
            raise Refused(409, "session with this UUID already exists")
        self.messages[id_] = []
        self.sessions[id_] = {
            "id": id_,
            "project_id": str(uuid.uuid4()),
            "user_id": str(uuid.uuid5(uuid.NAMESPACE_OID, given["user"])),
            "configs": given.get("configs"),
            "created_at": _AT,
            "updated_at": _AT,
        }
        return self.sessions[id_]

    def _said(self, session_id: str, given: dict[str, Any]) -> dict[str, Any]:
        self._session(session_id)
        if given["format"] != "openai" or given["blob"]["role"] not in ("user", "assistant"):
            raise Refused(400, "invalid message blob")
        id_ = str(uuid.uuid4())
        self.messages[session_id].append({"id": id_, "blob": given["blob"], "meta": given.get("meta") or {}})
        part = {"type": "text", "text": given["blob"]["content"]}
        told = {"id": id_, "session_id": session_id, "role": given["blob"]["role"], "parts": [part]}
        more = {"meta": given.get("meta") or {}, "session_task_process_status": "pending"}
        return {**told, **more, "created_at": _AT, "updated_at": _AT}

    def _session(self, session_id: str) -> dict[str, Any]:
        if session_id not in self.sessions:
            raise Refused(404, "session not found")
        return self.sessions[session_id]

    def _skill(self, skill_id: str) -> dict[str, Any]:
        if skill_id not in self.skills:
            raise Refused(404, "agent skill not found or access denied")
        return self.skills[skill_id]

    def _space(self, space_id: str) -> list[str]:
        if space_id not in self.spaces:
            raise Refused(404, "learning space not found")
        return self.spaces[space_id]


def _paged(found: list[Any], query: dict[str, str]) -> dict[str, Any]:
    begin = int(query.get("cursor") or 0)
    end = begin + int(query.get("limit") or 20)
    more = end < len(found)
    return {"items": found[begin:end], "has_more": more, "next_cursor": str(end) if more else None}


def _handler(server: AcontextServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # head and body in one packet: the second would wait for the first to be acknowledged
        wbufsize = 2**16

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            url = urlsplit(self.path)
            path = url.path.removeprefix("/api/v1/").split("/")
            try:
                if self.headers.get("authorization") != f"Bearer {server.api_key}":
                    raise Refused(401, "authentication error")
                if f"{self.command} {path[-1]}" in server.failing:
                    raise Refused(500, "database error")
                query = {name: values[0] for name, values in parse_qs(url.query).items()}
                given = _body(self.headers.get("content-type", ""), body)
                status, data = server.answer(self.command, path, query, given)
                told = {"code": 0, "data": data, "msg": ""}
            except Refused as refused:
                status, told = refused.status, {"code": refused.status, "msg": str(refused)}
            payload = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json; charset=utf-8")
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_POST = do_DELETE = _serve  # noqa: N815 - the names that http.server calls

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


def _body(content_type: str, body: bytes) -> Any:
    if not body:
        return None
    if not content_type.startswith("multipart/form-data"):
        return json.loads(body)
    message = BytesParser(policy=HTTP).parsebytes(f"content-type: {content_type}\r\n\r\n".encode() + body)
    parts = {part.get_param("name", header="content-disposition"): part for part in message.iter_parts()}
    if "file" not in parts or not str(parts["file"].get_filename()).endswith(".zip"):
        raise Refused(400, "file must be a zip archive")
    files = _unpacked(parts["file"].get_payload(decode=True))
    return {"files": files, "meta": json.loads(parts["meta"].get_payload()) if "meta" in parts else {}}


def _unpacked(content: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist() if not name.endswith("/")}
    roots = {name.split("/", 1)[0] for name in files if "/" in name}
    # the outermost folder goes, if all files are in it
    if len(roots) == 1 and all("/" in name for name in files):
        files = {name.split("/", 1)[1]: text for name, text in files.items()}
    return files
