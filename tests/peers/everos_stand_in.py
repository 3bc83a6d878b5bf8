#!/usr/bin/env python3
"""A stand-in for an EverOS server that records what it is asked.

usage: everos_stand_in.py PORT RECORD

Every request becomes a line {"path": ..., "body": ...} of the file RECORD. A
search finds one episode.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

EPISODE = {"id": "e1", "subject": "Lint", "summary": "the lint step uses ruff", "score": 0.5}
LISTS = ["episodes", "profiles", "agent_cases", "agent_skills", "unprocessed_messages"]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or "null")
        with open(sys.argv[2], "a", encoding="utf-8") as record:
            record.write(json.dumps({"path": self.path, "body": body}) + "\n")
        if self.path == "/health":
            reply = {"status": "ok", "version": "stand-in", "capabilities": {"llm": True, "embed": True}}
        elif self.path.endswith("/search"):
            data = {name: [] for name in LISTS}
            if "user_id" in body:
                data["episodes"] = [EPISODE]
            reply = {"request_id": "r", "data": data}
        else:
            reply = {"request_id": "r", "data": {"status": "accumulated", "message_count": 1}}
        payload = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
