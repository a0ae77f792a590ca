"""Safetensors files as numpy arrays, in the form that tensor/safetensors.h reads.

An array is f32, i32 or u8. F16, BF16 and F64 tensors of other programs are read as f32.
"""

import json

import numpy as np

from python.common import Error, write_atomically

TYPES = {"F32": np.dtype("<f4"), "I32": np.dtype("<i4"), "U8": np.dtype("u1")}
NAMES = {dtype: name for name, dtype in TYPES.items()}
ALIGNMENT = 8  # bytes; the header is padded to it


def widened_bf16(raw):
    """BF16 is the upper half of an f32."""
    return (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4")


def elements(kind, raw):
    if kind in TYPES:
        return np.frombuffer(raw, TYPES[kind])
    if kind == "BF16":
        return widened_bf16(raw)
    if kind in ("F16", "F64"):
        return np.frombuffer(raw, "<f2" if kind == "F16" else "<f8").astype("<f4")
    raise ValueError(f"elements of type {kind} are not read here")


def read(path):
    """The tensors by name, in the order of the header, and the metadata."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise Error(f"{path}: cannot open: {error.strerror}") from error
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > len(content) - 8:
        raise Error(f"{path}: is no safetensors file")
    data = memoryview(content)[8 + length :]
    try:
        header = json.loads(content[8 : 8 + length])
        metadata = header.pop("__metadata__", {})
        tensors = {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            if not 0 <= begin <= end <= len(data):
                raise ValueError(f"{name} ends behind the file")
            tensors[name] = elements(entry["dtype"], data[begin:end]).reshape(entry["shape"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Error(f"{path}: is no whole safetensors file: {error}") from error
    return tensors, metadata


def write(path, tensors, metadata):
    """Writes the arrays in the order given, atomically."""
    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    header, offset = {"__metadata__": metadata}, 0
    for name, array in arrays.items():
        header[name] = {
            "dtype": NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)

    def fill(file):
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(array.data if array.size else b"")

    write_atomically(path, fill)
