"""Serves a GGUF model with llama.cpp's own server, as the package xllamacpp has it, and prints its address."""

import signal
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
# A free port, which the address names.
params.port = 0
params.n_ctx = 8192
params.n_parallel = 4
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
signal.pause()
