"""Checkpoints of loopless: train/checkpoint.h in Python, for weights alone."""

import json
from pathlib import Path

from python import safetensors_file
from python.common import Error

FORMAT = "loopless checkpoint 1"


def newest_file(path):
    """The file itself, or the newest checkpoint of a run."""
    if not Path(path).is_dir():
        return path
    inside = Path(path) / "checkpoints"
    files = sorted((inside if inside.is_dir() else Path(path)).glob("step_*.safetensors"))
    if not files:
        raise Error(f"{path}: holds no checkpoint (step_*.safetensors)")
    return str(files[-1])


def read(path):
    """Weights and metadata; Adam's moments are left out."""
    path = newest_file(path)
    tensors, metadata = safetensors_file.read(path)
    if metadata.get("format") != FORMAT:
        raise Error(f"{path}: is no checkpoint of loopless")
    return {n: tensor for n, tensor in tensors.items() if not n.startswith("adam.")}, metadata


def write(path, weights, config, step=0):
    """`config` is what config.json holds; what is missing in it takes its default."""
    metadata = {"format": FORMAT, "step": str(step), "config": json.dumps(config)}
    safetensors_file.write(path, weights, metadata)
