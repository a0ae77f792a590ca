"""Serves the files of a folder over HTTP on a free port, which it prints; honours `Range: bytes=N-`,
and writes a line for each request, with the first byte that was asked for, to the file `log`."""

import http.server
import os
import re
import sys

folder = sys.argv[1]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = os.path.join(folder, os.path.basename(self.path))
        start = int((re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")) or [0, 0])[1])
        with open(os.path.join(folder, "log"), "a") as log:
            log.write(f"{self.path} from {start}\n")
        if not os.path.exists(path):
            return self.answer(404, b"")
        with open(path, "rb") as file:
            content = file.read()
        if start and start >= len(content):
            return self.answer(416, b"")
        self.answer(206 if start else 200, content[start:], start, len(content))

    def answer(self, status, body, start=0, size=0):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
