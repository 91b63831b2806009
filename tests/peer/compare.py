"""Arithmetic of the comparisons with other implementations; Python's standard library only."""

import array
import ast
import dataclasses
import math
import struct
import sys


def read_npy(path):
    """A float32 matrix in C order (NumPy's format, version 1.0) as a list of rows."""
    with open(path, "rb") as file:
        if file.read(8) != b"\x93NUMPY\x01\x00":
            raise ValueError(f"{path}: not a .npy file of version 1.0")
        (length,) = struct.unpack("<H", file.read(2))
        header = ast.literal_eval(file.read(length).decode("latin-1"))
        if header["descr"] != "<f4" or header["fortran_order"] or len(header["shape"]) != 2:
            raise ValueError(f"{path}: not a float32 matrix in C order: {header}")
        rows, columns = header["shape"]
        values = array.array("f")
        values.fromfile(file, rows * columns)
        if sys.byteorder == "big":
            values.byteswap()
    return [values[row * columns:(row + 1) * columns] for row in range(rows)]


def log_softmax(logits):
    largest = max(logits)
    log_sum = largest + math.log(math.fsum(math.exp(logit - largest) for logit in logits))
    return [logit - log_sum for logit in logits]


def kl(reference, other):
    """D(reference || other) in nats, from two rows of logits."""
    p, q = log_softmax(reference), log_softmax(other)
    return math.fsum(math.exp(a) * (a - b) for a, b in zip(p, q, strict=True))


@dataclasses.dataclass
class Divergence:
    positions: int
    mean: float
    largest: float
    same_first: int
    logit_difference: float


def divergence(reference, other):
    """Compares two matrices of logits, row by row. A value that is no number makes the result no number, which is above
    every limit and below none."""
    if len(reference) != len(other) or not reference:
        raise ValueError(f"{len(reference)} rows against {len(other)}")
    for row, pair in enumerate(zip(reference, other)):
        if not all(map(math.isfinite, pair[0])) or not all(map(math.isfinite, pair[1])):
            raise ValueError(f"a logit of row {row} is not a finite number")
    values = [kl(a, b) for a, b in zip(reference, other)]
    return Divergence(
        positions=len(values),
        mean=math.fsum(values) / len(values),
        largest=max(values),
        same_first=sum(max(a) == a[first_largest(b)] for a, b in zip(reference, other)),
        logit_difference=max(max(abs(x - y) for x, y in zip(a, b)) for a, b in zip(reference, other)))


def first_largest(row):
    return max(range(len(row)), key=row.__getitem__)


def choice_gaps(reference, other):
    """Where the largest logit is another token's in `other`: position -> how far that token is below the largest in
    `reference`."""
    if len(reference) != len(other):
        raise ValueError(f"{len(reference)} rows against {len(other)}")
    gaps = {}
    for position, (a, b) in enumerate(zip(reference, other)):
        chosen = first_largest(b)
        if chosen != first_largest(a):
            gaps[position] = max(a) - a[chosen]
    return gaps


def first_difference(ours, theirs, count):
    """What is wrong with two lists that should be `count` equal ids; None if nothing is."""
    if len(ours) != count or len(theirs) != count:
        return f"{len(ours)} and {len(theirs)} ids instead of {count}"
    for index, (a, b) in enumerate(zip(ours, theirs)):
        if a != b:
            return f"id {index} is {a} against {b}"
    return None
