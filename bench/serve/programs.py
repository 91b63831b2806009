"""What a script of requests can be given to: the server over HTTP, the engine's loop, and llama.cpp."""

import asyncio
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import scripts

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/load"))
import wire  # noqa: E402
from server_under_test import Server  # noqa: E402


class Program:
    """Reads the script from a file and prints the outcomes."""

    def __init__(self, name, command):
        self.name, self.command = name, command

    def run(self, requests):
        with tempfile.NamedTemporaryFile("w", suffix=".script") as file:
            file.writelines(request.line() for request in requests)
            file.flush()
            done = subprocess.run([*map(str, self.command), "--script", file.name], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{self.name}: exit code {done.returncode}\n{done.stderr}")
        return [scripts.Outcome(**request) for request in json.loads(done.stdout)["requests"]]


def loop(options):
    return Program("loop", [options.loop, options.model, "--threads", options.threads, "--step-tokens", options.step_tokens])


def peer(options):
    return Program("llama.cpp, no HTTP", [options.peer, options.model, "--threads", options.threads])


class Kvern:
    """`kvern serve` in a process of its own for each run; its metrics after the last one are kept."""

    name = "kvern serve"

    def __init__(self, options, *flags):
        self.flags = ["-t", options.threads, "--step-tokens", options.step_tokens, "--open-metrics", "--log-level", "info", *flags]
        self.options = options
        self.metrics = {}

    def run(self, requests, primary=None):
        """`primary`: clients after whose end the others are cut off."""
        return asyncio.run(self._run(requests, primary))

    async def _run(self, requests, primary):
        server = Server(str(self.options.kvern), str(self.options.model), self.flags)
        try:
            await server.ready()
            outcomes = await ask_all(server, requests, primary)
            self.metrics = await server.quiet()
            return outcomes
        finally:
            server.kill()


async def ask_all(server, requests, primary=None):
    clients = {}
    for request in requests:
        clients.setdefault(request.client, []).append(request)
    origin, outcomes = time.monotonic(), []
    tasks = {client: asyncio.ensure_future(run_client(server.port, own, origin, outcomes)) for client, own in clients.items()}
    await asyncio.gather(*(task for client, task in tasks.items() if primary is None or client in primary))
    for task in tasks.values():
        task.cancel()
    for result in await asyncio.gather(*tasks.values(), return_exceptions=True):
        if isinstance(result, Exception) and not isinstance(result, asyncio.CancelledError):
            raise result
    return outcomes


async def run_client(port, requests, origin, outcomes):
    connection = await wire.Connection.open(port)
    try:
        for request in requests:
            await asyncio.sleep(max(0, origin + request.arrival - time.monotonic()))
            outcomes.append(await ask(connection, request, origin))
    finally:
        await connection.closed()


async def ask(connection, request, origin):
    """Bytes are only stamped while they come, and read afterwards, so that the client takes little of the machine."""
    body = wire.post("/v1/completions", {"prompt": request.prompt, "max_tokens": request.new_tokens, "temperature": 0, "ignore_eos": True,
                                         "stream": True, "return_token_ids": True})
    start = time.monotonic() - origin
    await connection.send(body)
    status, headers = await connection.head()
    if status != 200:
        raise RuntimeError(f"{status}: {await connection.body(headers)}")
    stamped = [(time.monotonic() - origin, data) async for data in connection.events(headers)]
    times = []
    for when, data in stamped:
        if data == b"[DONE]":
            continue
        event = json.loads(data)
        if "error" in event:
            raise RuntimeError(f"{event['error']}")
        for choice in event["choices"]:
            times += [when] * len(choice.get("token_ids") or [])
    if len(times) != request.new_tokens:
        raise RuntimeError(f"{len(times)} tokens came, and {request.new_tokens} were asked for")
    return scripts.Outcome(request.client, start, times)
