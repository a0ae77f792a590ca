#!/usr/bin/env python3
"""Turns weights of the reference implementation into a checkpoint of loopless, and back.

  tools/convert_reference.py rnn.pkl teacher.pkl -o mnist.safetensors --Tc 256
  tools/convert_reference.py checkpoint.pt -o mnist.safetensors --mem_fsq 0.5
  tools/convert_reference.py weights.safetensors -o mnist.safetensors
  tools/convert_reference.py --to_reference runs/smt -o weights.safetensors
  tools/convert_reference.py --to_reference runs/smt --model teacher -o teacher.pkl

Sizes are read off the weights; what they do not show is said by flags, whose defaults are the
reference's. Weights keep every bit; the optimiser's state is left behind in both directions, so a
converted checkpoint is evaluated or trained from (--load_rnn_path), not resumed. .pkl and .pt
files are state dicts of PyTorch, or dictionaries that hold some, and need it (pip install torch).
"""

import math
import sys
from argparse import ArgumentTypeError
from pathlib import Path

from python import checkpoint, common, reference_names, safetensors_file, torch_files
from python.common import Error

HEAD_SIZE = 64


# --- reading ------------------------------------------------------------------------------------


def is_of_torch(path):
    return Path(path).suffix in (".pkl", ".pt", ".pth")


def read_reference(paths):
    """All parameters in the files, under the reference's names."""
    found = {}
    for path in paths:
        tensors = torch_files.read(path) if is_of_torch(path) else safetensors_file.read(path)[0]
        for name in tensors:
            if name in found:
                raise Error(f"{path}: {name} is in an earlier file, too")
        found.update(tensors)
    return found


# --- the configuration that the weights show ----------------------------------------------------


def sizes_of(weights, model, options):
    """The settings of one model, as config.json has them."""
    embed = weights[f"{model}.embed.weight"]
    if embed.ndim != 2:
        raise Error(f"{model}.embed.weight: must be [vocabulary, width], got {list(embed.shape)}")
    depths = reference_names.depths_of_ours(weights, model)
    first, second = reference_names.STACKS[model]
    registers = weights.get("teacher.registers.weight")
    if registers is None and options.mem_tokens is None:
        raise Error("--mem_tokens: is missing; the RNN alone does not show how many it has")
    mem_tokens = options.mem_tokens if registers is None else len(registers)
    if options.mem_tokens not in (None, mem_tokens):
        raise Error(
            f"--mem_tokens: is {options.mem_tokens}, the teacher has {mem_tokens} registers"
        )
    return {
        "vocab_size": embed.shape[0],
        "d_model": embed.shape[1],
        "mem_tokens": mem_tokens,
        "mem_size": mem_tokens * embed.shape[1],
        "n_heads": len(weights[f"{model}.{first}.layer0.attention.qkv.weight"]) // (3 * HEAD_SIZE),
        {"teacher": "encoder_depth", "rnn": "rnn_depth"}[model]: depths[first],
        "decoder_depth": depths[second],
        "mem_rms_norm": options.mem_rms_norm,
        "mem_fsq": options.mem_fsq,
        "rotary_pos_emb": options.rotary_pos_emb,
    }


def shapes_of(model, sizes):
    """The shape of each parameter of a model of these sizes."""
    vocab, width = sizes["vocab_size"], sizes["d_model"]
    inner = HEAD_SIZE * sizes["n_heads"]
    by_ending = {
        "embed.weight": (vocab, width),
        "registers.weight": (sizes["mem_tokens"], width),
        "logits.weight": (vocab, width),
        "logits.bias": (vocab,),
        "norm.gain": (width,),
        "qkv.weight": (3 * inner, width),
        "out.weight": (width, inner),
        "up.weight": (4 * width, width),
        "up.bias": (4 * width,),
        "down.weight": (width, 4 * width),
        "down.bias": (width,),
    }
    depths = [
        sizes[{"teacher": "encoder_depth", "rnn": "rnn_depth"}[model]],
        sizes["decoder_depth"],
    ]
    table = reference_names.name_table(model, dict(zip(reference_names.STACKS[model], depths)))
    return {
        name: next(shape for ending, shape in by_ending.items() if name.endswith(ending))
        for name in table
    }


def config_of(weights, options):
    """The metadata "config" of the checkpoint; every shape is checked against it."""
    models = reference_names.models_in(weights)
    method = options.method or ("smt" if "teacher" in models else "bptt")
    if method != "bptt" and models == ["rnn"]:
        raise Error(f"--method {method}: needs the teacher, which is in none of the files")
    config = {"method": method}
    for model in models:
        if min(reference_names.depths_of_ours(weights, model).values()) == 0:
            raise Error(f"{model}: a stack of layers is missing")
        config[model] = sizes_of(weights, model, options)
        for name, shape in shapes_of(model, config[model]).items():
            if weights[name].shape != shape:
                raise Error(f"{name}: is {list(weights[name].shape)}, expected {list(shape)}")
    if options.dataset:
        config["run"] = {"dataset": options.dataset}
    # Windows are as much longer than the context as they are by default.
    lengths = {"smt": ("Tc", 64), "dmt": ("Tc", 128), "bptt": ("T", 0)}
    context, more = lengths[method]
    config[method] = {context: options.Tc, "T": options.Tc + more}
    return config


# --- the command line ---------------------------------------------------------------------------


def boolean(text):
    if text not in ("True", "False"):
        raise ArgumentTypeError(f"must be True or False, got '{text}'")
    return text == "True"


def quantum(text):
    if text == "None":
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise ArgumentTypeError(f"must be a number above 0, or None, got '{text}'")
    return value


def parse_options():
    parser = common.Parser(__doc__)
    parser.add_argument("inputs", nargs="+", metavar="FILE", help="what is converted")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="what is written")
    parser.add_argument("--overwrite", action="store_true", help="replace OUTPUT if it is there")
    back = parser.add_argument_group("back to the reference")
    back.add_argument(
        "--to_reference",
        "--to-reference",
        action="store_true",
        help="FILE is a checkpoint or a run",
    )
    back.add_argument(
        "--model",
        choices=("rnn", "teacher"),
        help="this one alone, under the names of its own state dict; by default both, their names "
        "beginning with rnn. and teacher.",
    )
    shown = parser.add_argument_group("what weights do not show")
    shown.add_argument("--method", choices=("smt", "dmt", "bptt"), help="smt; bptt without teacher")
    shown.add_argument(
        "--mem_tokens", type=common.whole(1), metavar="TOKENS", help="for the RNN alone"
    )
    shown.add_argument("--mem_rms_norm", type=boolean, default=True, metavar="True|False")
    shown.add_argument("--mem_fsq", type=quantum, metavar="QUANTUM", help="or None")
    shown.add_argument("--rotary_pos_emb", type=boolean, default=True, metavar="True|False")
    shown.add_argument(
        "--Tc", type=common.whole(1), default=256, metavar="TOKENS", help="of context (256)"
    )
    shown.add_argument("--dataset", metavar="NAME", help="that evaluate and generate read")
    shown.add_argument(
        "--step", type=common.whole(0), default=0, metavar="N", help="steps trained so far (0)"
    )
    return parser, parser.parse_args()


def to_reference(options):
    weights, _ = checkpoint.read(options.inputs[0])
    theirs = reference_names.to_theirs(weights, options.inputs[0])
    if options.model:
        prefix = f"{options.model}."
        theirs = {n.removeprefix(prefix): t for n, t in theirs.items() if n.startswith(prefix)}
        if not theirs:
            raise Error(f"{options.inputs[0]}: has no {options.model}")
    if is_of_torch(options.output):
        torch_files.write(options.output, theirs)
    else:
        safetensors_file.write(options.output, theirs, {})
    return theirs


def to_checkpoint(options):
    weights = reference_names.to_ours(read_reference(options.inputs), ", ".join(options.inputs))
    checkpoint.write(options.output, weights, config_of(weights, options), options.step)
    return weights


def main():
    parser, options = parse_options()
    if options.to_reference and len(options.inputs) > 1:
        parser.error("--to_reference takes one checkpoint")
    if options.model and not options.to_reference:
        parser.error("--model goes with --to_reference")
    if not options.to_reference and is_of_torch(options.output):
        parser.error(f"{options.output}: a checkpoint is a .safetensors file")
    if Path(options.output).exists() and not options.overwrite:
        raise Error(f"{options.output}: is there already; --overwrite replaces it")
    written = to_reference(options) if options.to_reference else to_checkpoint(options)
    count = sum(array.size for array in written.values())
    print(f"{options.output}: {len(written)} tensors, {count} parameters")


if __name__ == "__main__":
    sys.exit(common.run_program(main))
