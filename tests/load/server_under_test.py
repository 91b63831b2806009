"""kvern serve as a process, and what can be counted of it from outside."""

import asyncio
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile

import wire

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\.)*",?)*\})? (-?[0-9.eE+-]+|[+-]Inf|NaN)')
PATIENCE = 120  # seconds until something that must happen is given up


class Failed(Exception):
    pass


async def poll(what, condition):
    """Until the condition, a coroutine function, gives something true, which is returned."""
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while not (found := await condition()):
        if asyncio.get_running_loop().time() > deadline:
            raise Failed(f"this has not come about in {PATIENCE} s: {what}")
        await asyncio.sleep(0.02)
    return found


class Server:
    def __init__(self, binary, model, flags):
        self.log_file = tempfile.NamedTemporaryFile(prefix="kvern-load-", suffix=".log")
        self.process = subprocess.Popen([binary, "serve", "-m", model, "--port", "0", *map(str, flags)],
                                        stdout=subprocess.DEVNULL, stderr=self.log_file)
        self.port = 0

    def log(self):
        return pathlib.Path(self.log_file.name).read_text(errors="replace")

    async def ready(self):
        async def listening():
            if not self.alive:
                raise Failed(f"the server ended with {self.process.returncode}:\n{self.log()}")
            return "serving " in self.log() and re.search(r'listening on https?://[^ "\n]*:(\d+)', self.log())
        self.port = int((await poll("a server that listens", listening))[1])

    @property
    def alive(self):
        return self.process.poll() is None

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def _status(self, key):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"^{key}:\s+(\d+)", text, re.MULTILINE)[1])

    def resident_kib(self):
        return self._status("VmRSS")

    def threads(self):
        return self._status("Threads")

    async def metrics(self):
        """Values by name and labels, without the label that names the model. Every line must be one of the format's."""
        status, body = await wire.fetch(self.port, wire.get("/metrics"))
        if status != 200:
            raise Failed(f"/metrics: {status} {body[:200]}")
        values = {}
        for line in body.decode().splitlines():
            if line.startswith("#") or not line:
                continue
            match = SAMPLE.fullmatch(line)
            if not match:
                raise Failed(f"/metrics has a line that is none: {line!r}")
            labels = re.sub(r'model_name="[^"]*",?', "", match[2] or "").replace("{}", "").replace(",}", "}")
            values[match[1] + labels] = float(match[3])
        return values

    async def busy_slots(self):
        """Rows that /slots calls busy; None where there is no such route."""
        status, body = await wire.fetch(self.port, wire.get("/slots"))
        if status in (404, 501):
            return None
        if status != 200:
            raise Failed(f"/slots: {status} {body[:200]}")
        return sum(bool(slot.get("is_processing")) for slot in json.loads(body))

    async def quiet(self):
        """Waits until nobody is connected and nothing runs; the metrics of then."""
        expected = {"vllm:num_requests_running": 0, "vllm:num_requests_waiting": 0, "kvern_rows_outside": 0,
                    'kvern_kv_bytes{kind="outside"}': 0, "kvern_http_connections": 1, "kvern_http_requests_open": 1,
                    "kvern_http_queued_bytes": 0, "kvern_http_waiting_handlers": 0}
        last = {}

        async def nothing_runs():
            last.update(await self.metrics())
            return all(last[name] == value for name, value in expected.items()) and last
        try:
            return await poll("a server with nothing to do", nothing_runs)
        except Failed as failed:
            raise Failed(f"{failed}; not at rest: { {k: last.get(k) for k, v in expected.items() if last.get(k) != v} }") from failed

    async def stop(self):
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)

        async def ended():
            return not self.alive
        await poll("the end of the server", ended)
        return self.process.returncode

    def kill(self):
        if self.alive:
            self.process.kill()
        self.process.wait()
        self.log_file.close()
