"""A chat-completions server on 127.0.0.1 that misbehaves when told to."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Fault = Callable[["Handler", dict], None]


class ChatServer(ThreadingHTTPServer):
    """Answers with `reply(body)`, after the faults that wait in `faults`.

    `bodies` holds every request that came, `keys` the Authorization header of each.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reply: Callable[[dict], str] = lambda body: "nothing"
        self.faults: deque[Fault] = deque()
        self.bodies: list[dict] = []
        self.keys: list[str] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request, client_address) -> None:
        """A client that gave up on a slow answer is no news."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.bodies.append(body)
            self.server.keys.append(self.headers["Authorization"])
            fault = self.server.faults.popleft() if self.server.faults else None
        if fault:
            fault(self, body)
        else:
            self.send(200, complete(body, self.server.reply(body)))

    def send(self, status: int, content: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments) -> None:
        pass


def complete(body: dict, text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    if body.get("logprobs"):
        # Two tokens of probability one half.
        token = {"token": "x", "logprob": -0.6931471805599453, "bytes": [120], "top_logprobs": []}
        choice["logprobs"] = {"content": [token, token]}
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
    reply = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
    return json.dumps({**reply, "choices": [choice], "usage": usage}).encode()


def say(text: str) -> Fault:
    return lambda handler, body: handler.send(200, complete(body, text))


def refuse(status: int, **headers: str) -> Fault:
    return lambda handler, body: handler.send(status, b'{"error": {"message": "no"}}', **headers)


def send_cut_json(handler: Handler, body: dict) -> None:
    handler.send(200, complete(body, "never seen whole")[:-30])


def send_something_else(handler: Handler, body: dict) -> None:
    handler.send(200, b'{"hello": "world"}')


def close_in_the_middle(handler: Handler, body: dict) -> None:
    content = complete(body, "never seen whole")
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content[:20])
    handler.wfile.flush()
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def stall(seconds: float) -> Fault:
    def fault(handler: Handler, body: dict) -> None:
        time.sleep(seconds)
        handler.send(200, complete(body, "too late"))

    return fault


@contextmanager
def serve_chat():
    with ChatServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
