"""The release service of Harbor, as far as the examples ask it: `release_api.py [PORT]` serves until it is ended.

Without a port the system picks one; the address is the first line on stdout.
"""

import datetime
import json
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

VERSIONS = ["2.4.1", "2.4.0", "2.3.2", "2.3.1", "2.3.0"]


def releases(page: int, per_page: int) -> dict:
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    first = (page - 1) * per_page
    shown = [
        {
            "id": str(uuid.uuid4()),
            "version": version,
            "author": {"email": "release@harbor.example"},
            "published_at": now,
            "downloads": 1000 - 7 * at,
        }
        for at, version in enumerate(VERSIONS)
    ][first : first + per_page]
    return {"releases": shown, "pagination": {"page": page, "per_page": per_page, "total": len(VERSIONS)}}


class Service(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        if self.headers.get("Authorization") != "Bearer let-me-in":
            self.answer(401, {"error": "who are you?"})
        elif url.path == "/api/v1/releases":
            page, per_page = (int(query.get(name, [usual])[0]) for name, usual in (("page", 1), ("per_page", 2)))
            self.answer(200, releases(page, per_page))
        elif url.path == "/api/v1/latest":
            self.answer(200, {"version": VERSIONS[0], "stable": True})
        else:
            self.answer(404, {"error": "there is no such release"})

    def answer(self, status: int, body: dict) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Service)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
