"""What training and build/evaluate wrote: a run's log lines, and evaluations."""

import json
import math
import os
from pathlib import Path

from python.common import Error, warn

WHAT_A_RUN_IS = "a run is the folder that training wrote"


def read_text(path):
    try:
        # A byte that is no UTF-8 makes its line bad JSON, or is in a name that nobody reads.
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise Error(f"{path}: cannot read: {error.strerror}") from error


def parse_object(text, where):
    try:
        value = json.loads(text)
    except ValueError as error:
        raise Error(f"{where}: is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise Error(f"{where}: must be a JSON object")
    return value


def number(value):
    """A float; NaN for null, which stands for what is not finite, and for all that is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.nan
    return float(value) if math.isfinite(value) else math.nan


class Run:
    """The log lines of a run, each a dict with a "step"."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.path = self.folder / "metrics.jsonl"
        if not self.folder.is_dir():
            raise Error(f"{folder}: is no folder; {WHAT_A_RUN_IS}")
        if not self.path.exists():
            raise Error(f"{folder}: holds no metrics.jsonl; {WHAT_A_RUN_IS}")
        self.records = self._read()
        if not self.records:
            raise Error(f"{self.path}: holds no log line yet")

    def _read(self):
        *lines, unfinished = read_text(self.path).split("\n")
        records = [self._record(line, i) for i, line in enumerate(lines, 1)]
        if unfinished:  # training is writing it, or was killed there
            try:
                records.append(self._record(unfinished, len(lines) + 1))
            except Error:
                warn(f"{self.path}:{len(lines) + 1}: is half-written, and left out")
        return records

    def _record(self, line, i):
        record = parse_object(line, f"{self.path}:{i}")
        if math.isnan(number(record.get("step"))):
            raise Error(f'{self.path}:{i}: lacks "step"')
        return record

    def keys(self):
        """Of all lines, in the order in which they appear."""
        return list(dict.fromkeys(key for record in self.records for key in record))

    def values(self, key):
        return [number(record.get(key)) for record in self.records]

    def require(self, *keys):
        for key in keys:
            if key not in self.keys():
                raise Error(f'{self.path}: has no "{key}"; it has {", ".join(self.keys())}')

    def method(self):
        path = self.folder / "config.json"
        return str(parse_object(read_text(path), path).get("method", "?"))


def read_evaluation(path):
    """What build/evaluate --json wrote."""
    data = parse_object(read_text(path), path)
    try:
        is_evaluation = (
            all(isinstance(data[k]["by_position"], list) for k in ("teacher", "rnn") if data[k])
            and isinstance(data["rnn"], dict)
            and isinstance(data["drift"], list)
            and "unigram" in data
        )
    except (KeyError, TypeError):
        is_evaluation = False
    if not is_evaluation:
        raise Error(f"{path}: is no result of build/evaluate --json")
    return data


def without_suffixes(name):
    return name.removesuffix("/evaluation.json").removesuffix(".json")


def names_of(paths):
    """Short names: each path without the folders that all of them share."""
    paths = [os.path.abspath(path) for path in paths]
    common = os.path.commonpath([os.path.dirname(path) for path in paths])
    names = [os.path.relpath(path, common) for path in paths]
    short = [without_suffixes(name) for name in names]
    return short if len(set(short)) == len(set(names)) else names
