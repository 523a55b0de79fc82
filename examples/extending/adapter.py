#!/usr/bin/env python3
"""Gives a server of another API the completions of OpenAI's API, so that Benchwright can send it a load.

usage: adapter.py PORT URL

Change foreign_request, text_of and is_last for your server. As they are, they fit the /generate_stream of Text Generation Inference.
The adapter runs on the machine of the launcher. Its own time is in every latency: measure it with a server that answers at once.
"""

import http.server
import json
import sys
import urllib.error
import urllib.request

MODEL = "foreign"


def foreign_request(completion):
    """The path and the JSON of a request of the server for a completion of OpenAI's API."""
    parameters = {"max_new_tokens": completion.get("max_tokens", 16)}
    return "/generate_stream", {"inputs": completion["prompt"], "parameters": parameters}


def text_of(event):
    """The text of one token, of an event of the server; None: the event has none."""
    return event.get("token", {}).get("text")


def is_last(event):
    """Whether an event is the last one of an answer."""
    return event.get("generated_text") is not None


class BrokenAnswer(Exception):
    """The server did not complete its answer."""


class Adapter(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Without this, the kernel holds a token back until the one before it is acknowledged.
    disable_nagle_algorithm = True

    def do_GET(self):
        self.answer(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    def do_POST(self):
        completion = json.loads(self.rfile.read(int(self.headers["content-length"])))
        path, body = foreign_request(completion)
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self.server.url + path, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request) as answer:
                self.relay(answer, completion)
        except urllib.error.HTTPError as error:
            self.answer(error.code, {"error": {"message": f"the server answered {error.code}"}})
        except BrokenAnswer as error:
            self.answer(502, {"error": {"message": f"the server broke off: {error}"}})
        except urllib.error.URLError as error:
            self.answer(502, {"error": {"message": f"the server cannot be reached: {error.reason}"}})

    def relay(self, answer, completion):
        """Sends each token on as it comes, or all of them at the end. An answer that breaks off stays without its end."""
        if not completion.get("stream"):
            texts = list(self.texts(answer))
            return self.answer(200, {"choices": [self.choice("".join(texts), "stop")], "usage": self.usage(len(texts))})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        count = 0
        try:
            for count, text in enumerate(self.texts(answer), 1):
                self.event(json.dumps({"choices": [self.choice(text, None)]}))
        except BrokenAnswer:
            self.close_connection = True
            return
        self.event(json.dumps({"choices": [self.choice("", "stop")]}))
        self.event(json.dumps({"choices": [], "usage": self.usage(count)}))
        self.event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def texts(self, answer):
        """The text of each token. Fails if the server reports an error, or ends without its last event."""
        complete = False
        for line in answer:
            if line.startswith(b"data:"):
                event = json.loads(line[5:])
                if "error" in event:
                    raise BrokenAnswer(event["error"])
                complete = complete or is_last(event)
                if (text := text_of(event)) is not None:
                    yield text
        if not complete:
            raise BrokenAnswer("the answer ended early")

    def choice(self, text, finish):
        return {"index": 0, "text": text, "finish_reason": finish}

    def usage(self, tokens):
        # The server does not count the tokens of the prompt: the report then has no inputTokens.
        return {"completion_tokens": tokens}

    def event(self, data):
        frame = f"data: {data}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(frame), frame))

    def answer(self, status, body):
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024


if __name__ == "__main__":
    server = Server(("127.0.0.1", int(sys.argv[1])), Adapter)
    server.url = sys.argv[2].rstrip("/")
    server.serve_forever()
