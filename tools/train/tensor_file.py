"""Reads and writes safetensors files with numpy alone (float32 and float16, which is all that the exporters need)."""
import json
import struct

import numpy as np

DTYPES = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


def read(path):
    """{name: array}."""
    with open(path, "rb") as f:
        data = f.read()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    out = {}
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        out[name] = np.frombuffer(data[begin:end], dtype=DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return out


def write(path, tensors):
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            f.write(np.ascontiguousarray(array).tobytes())
