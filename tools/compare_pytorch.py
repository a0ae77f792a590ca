#!/usr/bin/env python3
"""A training step of loopless beside the same step in PyTorch: agreement, then times.

  tools/compare_pytorch.py                        smt, dmt and bptt at the size "quick"
  tools/compare_pytorch.py smt/paper dmt/paper    sizes are those of `make bench`
  tools/compare_pytorch.py --load runs/mine       a run's own weights and settings

The twin is in tools/python/pytorch_twin.py. Both sides get the same weights and tokens. Losses
must agree to 1e-5 relative, gradients to 1e-4 of each tensor's largest; exit status 1 if they do
not. Then both take whole steps (forward, backward, clipping, AdamW) in turns, with equally many
threads. "reference" is the published implementation's time on PyTorch 2.13 on the machine where it
was measured, scaled by the rate at which PyTorch multiplies matrices: the twin is a fair peer if it
needs at most 1.1 times that. Without PyTorch nothing is compared, and the exit status is 0.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentTypeError
from pathlib import Path
from statistics import median

import numpy as np

from python import checkpoint, common, safetensors_file
from python.common import Error

LOSS_LIMIT = 1e-5  # relative
GRADIENT_LIMIT = 1e-4  # of the largest element of each tensor
WARM_UP_SECONDS = 5  # a step that takes longer needs no further warm-up

# Width, heads, memory tokens; layers of encoder, decoder and cell; Tc, Tf; batches and lengths.
SIZES = {
    "paper": dict(
        d=256,
        heads=8,
        K=16,
        layers=(8, 4, 8),
        Tc=256,
        Tf=64,
        smt=8,
        dmt=2,
        Td=256,
        k=16,
        bptt=2,
        T=256,
    ),
    "demo": dict(
        d=128,
        heads=4,
        K=8,
        layers=(4, 2, 4),
        Tc=128,
        Tf=32,
        smt=32,
        dmt=8,
        Td=64,
        k=8,
        bptt=8,
        T=64,
    ),
    "quick": dict(
        d=64,
        heads=2,
        K=8,
        layers=(2, 2, 2),
        Tc=64,
        Tf=16,
        smt=32,
        dmt=32,
        Td=64,
        k=8,
        bptt=32,
        T=64,
    ),
    "tiny": dict(
        d=16, heads=1, K=2, layers=(1, 2, 1), Tc=8, Tf=4, smt=3, dmt=3, Td=6, k=2, bptt=3, T=5
    ),
}
METHODS = ("smt", "dmt", "bptt")

# The reference's own steps: ms, at a machine whose PyTorch multiplies at this rate (GFLOP/s).
REFERENCE_RATE = 186
REFERENCE_MS = {
    "smt/paper": 2687,
    "smt/demo": 829,
    "smt/quick": 92,
    "dmt/paper": 25768,
    "dmt/demo": 2282,
    "dmt/quick": 1631,
    "bptt/paper": 18495,
    "bptt/demo": 1407,
    "bptt/quick": 930,
}


# --- what is compared ---------------------------------------------------------------------------


def config_of(case):
    """The settings of a case such as smt/paper, and its batch size."""
    method, name = case.split("/")
    s = SIZES[name]
    model = {
        "vocab_size": 256,
        "d_model": s["d"],
        "n_heads": s["heads"],
        "mem_tokens": s["K"],
        "mem_size": s["K"] * s["d"],
        "decoder_depth": s["layers"][1],
    }
    config = {"method": method, "rnn": {**model, "rnn_depth": s["layers"][2]}}
    if method != "bptt":
        config["teacher"] = {**model, "encoder_depth": s["layers"][0]}
    config[method] = {
        "smt": {"Tc": s["Tc"], "Tf": s["Tf"], "T": s["Tc"] + s["Tf"]},
        "dmt": {
            "Tc": s["Tc"],
            "Tf": s["Tf"],
            "Td": s["Td"],
            "k": s["k"],
            "T": s["Tc"] + s["Td"] + s["Tf"],
        },
        "bptt": {"T": s["T"]},
    }[method]
    return config, s[method]


def write_random_checkpoint(path, config, torch, twin):
    """Weights as PyTorch draws them, but gains other than one: a forgotten gain shows."""
    torch.manual_seed(0)
    full = json.loads(json.dumps(config))
    for section in ("rnn", "teacher"):
        full.get(section, {}).update(mem_rms_norm=True, mem_fsq=None, rotary_pos_emb=True)
    models = twin.make_models(full)
    for model in models.values():
        for name, parameter in model.named_parameters():
            if name.endswith("norm.gain"):
                torch.nn.init.normal_(parameter, std=0.1)
    weights = twin.to_our_names(models, lambda parameter: parameter)
    checkpoint.write(path, weights, config)


def random_batch(config, batch_size):
    """Windows x and the next tokens y."""
    length, vocabulary = config[config["method"]]["T"], config["rnn"]["vocab_size"]
    tokens = np.random.default_rng(0).integers(0, vocabulary, (batch_size, length + 1))
    return {"x": tokens[:, :-1].astype("<i4"), "y": tokens[:, 1:].astype("<i4")}


def check_comparable(config, batch_size, twin):
    settings = config[config["method"]]
    if not settings.get("hot_rnn", True) or not settings.get("hot_teacher", True):
        raise Error("the run trains only a part of its models; the twin trains all")
    if config["method"] != "smt":
        return
    rows = batch_size * (config["teacher"]["mem_tokens"] if settings["unif_over_tokens"] else 1)
    if not 1 < rows <= twin.UNIF_ROWS:
        raise Error(
            f"--batch_size: {rows} memories enter the uniformity loss; must be from 2 to "
            f"{twin.UNIF_ROWS}, where none is drawn at random"
        )


# --- our side -----------------------------------------------------------------------------------


def step_command(options, *flags):
    return [options.step, *flags, f"--threads={options.threads}"]


def run_step(options, *flags):
    """What build/step prints."""
    try:
        done = subprocess.run(step_command(options, *flags), capture_output=True, text=True)
    except OSError as error:
        raise Error(f"{options.step}: cannot run: {error.strerror}; make builds it") from error
    if done.returncode != 0:
        raise Error(done.stderr.strip())
    return done.stdout


class Server:
    """build/step, which does one training step each time it is asked to."""

    def __init__(self, options, *flags):
        self.process = subprocess.Popen(
            step_command(options, *flags, "--serve=True"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def step(self):
        """Its time in ms."""
        try:
            self.process.stdin.write("step\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise Error("build/step ended early") from error
        answer = self.process.stdout.readline()
        if not answer:
            raise Error("build/step ended early")
        return float(answer)


# --- comparing ----------------------------------------------------------------------------------


def relative(got, want):
    """Largest difference, over the largest magnitude of what is wanted."""
    largest = np.abs(want).max(initial=0)
    difference = np.abs(got.astype("f8") - want).max(initial=0)
    if not math.isfinite(difference):
        return math.inf  # max() may pass over a NaN
    return difference / largest if largest > 0 else float(difference > 0) * math.inf


def compare(ours, losses, gradients):
    """(error, name) of the loss term and of the gradient that agree worst."""
    loss = max(
        (relative(ours[name], np.array([value.item()])), name) for name, value in losses.items()
    )
    names = {name.removeprefix("grad.") for name in ours if name.startswith("grad.")}
    missing = sorted(names.symmetric_difference(gradients))
    if missing:
        return loss, (math.inf, f"{missing[0]}, on one side only")
    return loss, max(
        (relative(ours[f"grad.{name}"], grad), name) for name, grad in gradients.items()
    )


def timed(step):
    start = time.perf_counter()
    step()
    return (time.perf_counter() - start) * 1e3


def time_in_turns(server, twin, options):
    """Times of both sides in ms, step by step in turns."""
    begin = time.perf_counter()
    if server.step() + timed(twin.step) < WARM_UP_SECONDS * 1e3:
        server.step(), twin.step()
        begin = time.perf_counter()
    ours, theirs = [], []
    while len(ours) < options.rounds and (
        time.perf_counter() - begin < options.seconds or not ours
    ):
        ours.append(server.step())
        theirs.append(timed(twin.step))
    return ours, theirs


def matmul_rate(torch):
    """GFLOP/s of PyTorch's own matrix product: the best of half a second."""
    a, b = torch.randn(2048, 1024), torch.randn(1024, 1024)
    times, begin = [], time.perf_counter()
    while time.perf_counter() - begin < 0.5:
        times.append(timed(lambda: a @ b))
    return 2 * 2048 * 1024 * 1024 / min(times) / 1e6


def compare_case(case, options, torch, twin, folder):
    """Prints one block. Whether both sides agree."""
    if case is None:
        path, batch_size = options.load, options.batch_size or 8
    else:
        config, batch_size = config_of(case)
        batch_size = options.batch_size or batch_size
        path = str(folder / "checkpoint.safetensors")
        write_random_checkpoint(path, config, torch, twin)
    config = json.loads(run_step(options, f"--load={path}", "--describe=True"))
    check_comparable(config, batch_size, twin)
    batch = random_batch(config, batch_size)
    batch_file, result = folder / "batch.safetensors", folder / "result.safetensors"
    safetensors_file.write(batch_file, batch, {})
    inputs = [f"--load={path}", f"--batch={batch_file}"]
    run_step(options, *inputs, f"--output={result}")
    weights = checkpoint.read(path)[0]
    theirs = twin.Twin(config, weights, batch, options.teacher == "differentiated")
    losses = theirs.losses_and_gradients()
    loss, gradient = compare(safetensors_file.read(result)[0], losses, theirs.gradients())
    agree = loss[0] <= LOSS_LIMIT and gradient[0] <= GRADIENT_LIMIT

    print(f"{case or options.load}, batch {batch_size}")
    print(f"  loss       within {loss[0]:.1e} ({loss[1]}); limit {LOSS_LIMIT:.0e}")
    print(f"  gradients  within {gradient[0]:.1e} ({gradient[1]}); limit {GRADIENT_LIMIT:.0e}")
    print(f"  {'both agree' if agree else 'THEY DO NOT AGREE'}", flush=True)
    if options.rounds == 0 or not agree:
        return agree
    rate = matmul_rate(torch)
    with Server(options, *inputs) as server:
        ours_ms, theirs_ms = time_in_turns(server, theirs, options)
    # The reference's times are those of its own batch size.
    reference = None if options.batch_size else REFERENCE_MS.get(case)
    print_times(reference, ours_ms, theirs_ms, max(rate, matmul_rate(torch)))
    return agree


def print_times(reference, ours, theirs, rate):
    print(f"  {len(ours)} steps in turns   best ms  median ms")
    for name, times in (("loopless", ours), ("PyTorch", theirs)):
        print(f"  {name:16} {min(times):9.1f} {median(times):10.1f}")
    ratios = min(theirs) / min(ours), median(theirs) / median(ours)
    print(f"  {'ratio':16} {ratios[0]:8.2f}x {ratios[1]:9.2f}x")
    if reference:
        scaled = reference * REFERENCE_RATE / rate
        print(
            f"  reference scaled {scaled:9.1f}   the twin's best is {min(theirs) / scaled:.2f} of it"
        )
    print(f"  PyTorch's matrix products: {rate:.0f} GFLOP/s", flush=True)


# --- the command line ---------------------------------------------------------------------------


def case_name(text):
    method, _, size = text.partition("/")
    if method not in METHODS or size not in SIZES:
        raise ArgumentTypeError(
            f"must be METHOD/SIZE, of {', '.join(METHODS)} and {', '.join(SIZES)}, got '{text}'"
        )
    return text


def parse_options():
    parser = common.Parser(__doc__)
    quick = [f"{method}/quick" for method in METHODS]
    parser.add_argument("cases", nargs="*", type=case_name, metavar="METHOD/SIZE")
    parser.add_argument("--load", metavar="RUN|FILE", help="a run, or a checkpoint")
    parser.add_argument(
        "--batch_size", type=common.whole(1), metavar="WINDOWS", help="8 with --load"
    )
    parser.add_argument("--rounds", type=common.whole(0), default=7, help="steps of each side (7)")
    parser.add_argument(
        "--seconds", type=common.whole(0), default=60, help="after which no round starts (60)"
    )
    parser.add_argument(
        "--threads", type=common.whole(1), default=len(os.sched_getaffinity(0)), help="all cores"
    )
    parser.add_argument(
        "--teacher",
        choices=("differentiated", "no_grad"),
        default="differentiated",
        help="whether DMT's backward pass in PyTorch goes through the frozen teacher, as the "
        "published implementation's does",
    )
    parser.add_argument(
        "--step", default=str(Path(__file__).parent.parent / "build/step"), help="build/step"
    )
    options = parser.parse_args()
    if options.load and options.cases:
        parser.error("--load goes without METHOD/SIZE")
    options.cases = [None] if options.load else options.cases or quick
    return options


def main():
    options = parse_options()
    try:
        import torch
    except ImportError:
        print("compare_pytorch: skipped: PyTorch is not importable (pip install torch)")
        return
    from python import pytorch_twin

    torch.set_num_threads(options.threads)
    print(f"PyTorch {torch.__version__}, {options.threads} threads on both sides")
    with tempfile.TemporaryDirectory() as folder:
        agree = [compare_case(c, options, torch, pytorch_twin, Path(folder)) for c in options.cases]
    if not all(agree):
        raise Error("losses or gradients do not agree")


if __name__ == "__main__":
    sys.exit(common.run_program(main))
