#!/usr/bin/env python3
"""Log lines and evaluations of runs as event files for TensorBoard.

  tools/to_tensorboard.py runs/smt runs/dmt -o tensorboard    then: tensorboard --logdir tensorboard

Each number of RUN/metrics.jsonl is a scalar named by its key, at its step; null is left out. The
wall time is the run's own "seconds", from the start of the training. RUN/evaluation.json, if there,
becomes the scalars evaluation/..., whose step is the position in the text. A run goes into
LOGDIR/RUN, over what an earlier call wrote there. Needs tensorboardX, or PyTorch with tensorboard.
"""

import math
import os
import sys
import tempfile
from pathlib import Path

from python import common, run_files
from python.common import Error
from python.run_files import number

EVENT_FILE = "events.out.tfevents.loopless"  # TensorBoard reads files with "tfevents" in the name


def load_writer():
    """The class that writes event files; both have the same interface."""
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise Error(
                "neither tensorboardX nor torch.utils.tensorboard is importable "
                "(pip install tensorboardX)"
            ) from error
    return SummaryWriter


def points_of_log(run):
    """(tag, value, step, wall time) of each number in the log lines."""
    for record in run.records:
        seconds = number(record.get("seconds"))
        wall_time = 0.0 if math.isnan(seconds) else seconds
        for key, value in record.items():
            if key != "step":
                yield key, number(value), int(record["step"]), wall_time


def points_of_evaluation(path):
    """The same of an evaluation. Text begins at position 1, the drift before the first update."""
    data = run_files.read_evaluation(path)
    curves = [("drift", data["drift"], 0), ("bits_rnn", data["rnn"]["by_position"], 1)]
    if data["teacher"]:
        curves.append(("bits_teacher", data["teacher"]["by_position"], 1))
    for name, values, first in curves:
        for position, value in enumerate(values, first):
            yield f"evaluation/{name}", number(value), position, 0.0


def points_of(folder):
    run = run_files.Run(folder)
    points = list(points_of_log(run))
    evaluation = run.folder / "evaluation.json"
    if evaluation.exists():
        points += points_of_evaluation(evaluation)
    return [point for point in points if not math.isnan(point[1])]


def event_bytes(points, writer_class):
    """What an event file with these points holds."""
    with tempfile.TemporaryDirectory() as folder:
        writer = writer_class(folder)
        for tag, value, step, wall_time in points:
            writer.add_scalar(tag, value, step, wall_time)
        writer.close()
        (file,) = Path(folder).iterdir()
        return file.read_bytes()


def name_of(folder):
    """The same in each call: the path from here, or from the root if the run is not below here."""
    name = os.path.relpath(folder)
    if name == ".":
        return Path(folder).resolve().name
    return os.path.abspath(folder).lstrip("/") if name.startswith("..") else name


def write(name, points, logdir, writer_class):
    path = Path(logdir) / name / EVENT_FILE
    common.make_folder(path.parent)
    replaced = "; replaced an older file" if path.exists() else ""
    content = event_bytes(points, writer_class)
    common.write_atomically(path, lambda file: file.write(content))
    tags = {tag for tag, *_ in points}
    print(f"{path}: {len(points)} points of {len(tags)} scalars{replaced}")


def main():
    parser = common.Parser(__doc__)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run's folder")
    parser.add_argument("-o", "--output", required=True, metavar="LOGDIR")
    args = parser.parse_args()
    runs = {name_of(folder): points_of(folder) for folder in args.runs}
    writer_class = load_writer()
    for name, points in runs.items():
        write(name, points, args.output, writer_class)


if __name__ == "__main__":
    sys.exit(common.run_program(main))
