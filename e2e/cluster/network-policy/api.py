"""An API server that knows a few pods and the NetworkPolicies of a file, and nothing ever changes: all that kube-router's firewall needs."""

import http.server
import json
import re
import socketserver
import sys
import time

# Name of the pod, its namespace, the last number of its address 10.9.0.N, its labels.
PODS = [
    ("model", "bench", 10, {"app": "vllm"}),
    ("neighbour", "other", 11, {}),
    ("simulator", "bench", 20, {"benchwright.dev/run-uid": "simulator", "benchwright.dev/attempt": "1"}),
    ("service", "bench", 21, {"benchwright.dev/run-uid": "service", "benchwright.dev/attempt": "1"}),
    ("url", "bench", 22, {"benchwright.dev/run-uid": "url", "benchwright.dev/attempt": "1"}),
    ("free", "bench", 23, {}),
    # In a namespace that denies all egress: launchers, and pods that a tenant gave the labels of their runs.
    ("closed-model", "closed", 12, {"app": "vllm"}),
    ("in-service", "closed", 24, {"benchwright.dev/run-uid": "in-service", "benchwright.dev/attempt": "1"}),
    ("in-url", "closed", 25, {"benchwright.dev/run-uid": "in-url", "benchwright.dev/attempt": "1"}),
    ("as-service", "closed", 26, {"benchwright.dev/run-uid": "in-service", "benchwright.dev/attempt": "1"}),
    ("as-url", "closed", 27, {"benchwright.dev/run-uid": "in-url", "benchwright.dev/attempt": "1"}),
]
# The names of the policies in the order of the snapshot: of a simulator, of a Service, of a URL; and of the last two where the namespace has
# a policy of its own.
FORMS = [("simulator", "bench"), ("service", "bench"), ("url", "bench"), ("in-service", "closed"), ("in-url", "closed")]


def metadata(name, namespace=None, labels=None):
    return {"name": name, "namespace": namespace, "uid": name, "resourceVersion": "1", "labels": labels or {}}


def pod(name, namespace, number, labels):
    address = f"10.9.0.{number}"
    status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "hostIP": "10.9.0.1"}
    return {"metadata": metadata(name, namespace, labels), "spec": {"nodeName": "node", "containers": []}, "status": status}


def policies(path):
    """The forms in the snapshot of the operator's builder, and a policy that denies all egress of a namespace."""
    import yaml  # of PyYAML, which only this check needs

    text = open(path, encoding="utf-8").read()
    forms = [it for it in yaml.safe_load_all(re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)) if it]
    for form, (name, namespace) in zip(forms, FORMS, strict=True):
        form["metadata"] = metadata(name, namespace)
        form["spec"]["podSelector"]["matchLabels"]["benchwright.dev/run-uid"] = name
    deny = {"metadata": metadata("deny", "closed"), "spec": {"podSelector": {}, "policyTypes": ["Egress"]}}
    return [*forms, deny]


NODE = {
    "metadata": metadata("node"),
    "spec": {"podCIDR": "10.9.0.0/24", "podCIDRs": ["10.9.0.0/24"]},
    "status": {"addresses": [{"type": "InternalIP", "address": "10.9.0.1"}]},
}
LISTS = {
    "nodes": ("Node", [NODE]),
    "namespaces": ("Namespace", [{"metadata": metadata(it)} for it in ("bench", "closed", "other")]),
    "pods": ("Pod", [pod(*it) for it in PODS]),
    "services": ("Service", []),
    "endpoints": ("Endpoints", []),
    "endpointslices": ("EndpointSlice", []),
    "networkpolicies": ("NetworkPolicy", policies(sys.argv[2])),
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        path, _, query = self.path.partition("?")
        parts = path.strip("/").split("/")
        version = "v1" if parts[0] == "api" else "/".join(parts[1:3])
        if re.search(r"\bwatch=(true|1)\b", query):
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            time.sleep(3600)
            return
        if parts[-1] in LISTS:
            kind, items = LISTS[parts[-1]]
            body = {"kind": f"{kind}List", "apiVersion": version, "metadata": {"resourceVersion": "1"}, "items": items}
        elif parts[-2:-1] == ["nodes"]:
            body = {"kind": "Node", "apiVersion": "v1", **NODE}
        else:
            body = {"major": "1", "minor": "34", "gitVersion": "v1.34.4"}
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
