"""Runs kvern the way a shell would, and reads what it writes."""

import json
import os
import pathlib
import pty
import select
import signal
import struct
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = str(ROOT / "models/kvern-tiny-8m-q8_0.gguf")
FOLDER = str(ROOT / "models/kvern-tiny-8m-hf")
BARE = str(ROOT / "tests/data/transformers/llama2-mha")  # no tokenizer, no template
GOLDENS = ROOT / "tests/data/kvern-tiny"
EXPORT = str(ROOT / "tests/data/formats/kv-export-1.kvx")  # three saved prefixes of a made-up model
PROMPT = "One day, a small boy named Tom found a"

binary = "kvern"  # set by the test's main


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def text(self):
        return self.out.decode()

    @property
    def json(self):
        return json.loads(self.out)


def kvern(*arguments, stdin=b"", **options):
    """Waits for the end; `stdout` may be given to send it elsewhere."""
    options.setdefault("stdout", subprocess.PIPE)
    done = subprocess.run([binary, *map(str, arguments)], input=stdin, stderr=subprocess.PIPE, timeout=120, check=False,
                          **options)
    return Result(done.returncode, done.stdout or b"", done.stderr.decode())


def generate(*arguments, model=MODEL, **options):
    return kvern("generate", "-m", model, *arguments, **options)


def read_npy(path):
    """(shape, values) of a one- or two-dimensional little-endian float32 or int32 array."""
    data = pathlib.Path(path).read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    length = struct.unpack("<H", data[8:10])[0]
    assert (10 + length) % 64 == 0
    header = eval(data[10:10 + length].decode(), {"__builtins__": {}})  # a Python literal by definition of the format
    assert not header["fortran_order"]
    code = {"<f4": "f", "<i4": "i"}[header["descr"]]
    count = 1
    for size in header["shape"]:
        count *= size
    body = data[10 + length:]
    assert len(body) == 4 * count, (len(body), header)
    return header["shape"], struct.unpack(f"<{count}{code}", body)


class Terminal:
    """kvern with a terminal for standard input, output and error."""

    def __init__(self, *arguments):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(binary, [binary, *map(str, arguments)])
        self.seen = b""

    def read_until(self, wanted, timeout=60):
        """Everything up to and with `wanted`, which may come in any number of pieces."""
        end = time.monotonic() + timeout
        while wanted not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"no {wanted!r} in {self.seen!r}")
            self.seen += self._read()
        at = self.seen.index(wanted) + len(wanted)
        part, self.seen = self.seen[:at], self.seen[at:]
        return part

    def _read(self):
        try:
            data = os.read(self.fd, 65536)
        except OSError as error:  # EIO: the other side is gone
            raise EOFError(self.seen) from error
        if not data:
            raise EOFError(self.seen)
        return data

    def send(self, data):
        os.write(self.fd, data)

    def interrupt(self):
        self.send(b"\x03")

    def close(self):
        """The exit code."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            ready, _, _ = select.select([self.fd], [], [], 0.05)
            if ready:
                try:
                    self.seen += self._read()
                except EOFError:
                    break
        os.close(self.fd)
        for _ in range(600):
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.1)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise TimeoutError("kvern does not end")
