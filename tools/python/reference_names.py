"""The reference implementation's parameter names and ours: models/reference_names.cpp in Python.

tests/tools/test_convert_reference.cpp holds the two tables against each other.
"""

import re

import numpy as np

from python.common import Error

# Stacks of layers, and what stands beside them: our name, the reference's name in its own model.
STACKS = {
    "teacher": {"encoder": "encoder", "decoder": "decoder"},
    "rnn": {"cell": "rnn", "readout": "decoder"},
}
WHOLE = {
    "teacher": {
        "embed.weight": "embed.weight",
        "registers.weight": "encoder_mem_register.weight",
        "decoder.logits.weight": "to_logits.weight",
        "decoder.logits.bias": "to_logits.bias",
    },
    "rnn": {
        "embed.weight": "embed.weight",
        "readout.logits.weight": "to_logits.weight",
        "readout.logits.bias": "to_logits.bias",
    },
}
# Inside layer l the reference numbers sublayers: 2l is attention, 2l + 1 feed-forward. Several of
# its tensors are one of ours, stacked along the leading dimension.
LAYER = [
    ("attention.norm.gain", 0, ["0.0.g"]),
    ("attention.qkv.weight", 0, ["1.to_q.weight", "1.to_k.weight", "1.to_v.weight"]),
    ("attention.out.weight", 0, ["1.to_out.weight"]),
    ("feed_forward.norm.gain", 1, ["0.0.g"]),
    ("feed_forward.up.weight", 1, ["1.ff.0.0.weight"]),
    ("feed_forward.up.bias", 1, ["1.ff.0.0.bias"]),
    ("feed_forward.down.weight", 1, ["1.ff.2.weight"]),
    ("feed_forward.down.bias", 1, ["1.ff.2.bias"]),
]
MODELS = ("rnn", "teacher")


def name_table(model, depths):
    """Our names of a model's parameters, with the reference's names of each.

    `depths` has the layers of each of our stacks: {"encoder": 8, "decoder": 4}.
    """
    table = {}
    for ours, theirs in WHOLE[model].items():
        table[f"{model}.{ours}"] = [f"{model}.{theirs}"]
    for stack, their_stack in STACKS[model].items():
        for layer in range(depths[stack]):
            for part, sublayer, theirs in LAYER:
                prefix = f"{model}.{their_stack}.layers.{2 * layer + sublayer}."
                table[f"{model}.{stack}.layer{layer}.{part}"] = [prefix + one for one in theirs]
        table[f"{model}.{stack}.final_norm.gain"] = [f"{model}.{their_stack}.final_norm.g"]
    return table


def depths_of_ours(names, model):
    """The layers of each stack, counted in our names."""
    return {
        stack: count_layers(names, rf"{model}\.{stack}\.layer(\d+)\.") for stack in STACKS[model]
    }


def depths_of_theirs(names, model):
    """The layers of each stack, counted in the reference's names."""
    return {
        stack: (count_layers(names, rf"{model}\.{theirs}\.layers\.(\d+)\.") + 1) // 2
        for stack, theirs in STACKS[model].items()
    }


def count_layers(names, pattern):
    matches = (re.match(pattern, name) for name in names)
    return max((int(match[1]) + 1 for match in matches if match), default=0)


def to_ours(theirs, where):
    """A reference state dict, names beginning with "rnn." and "teacher.", under our names."""
    ours, left = {}, dict(theirs)
    for model in models_in(theirs):
        for name, parts in name_table(model, depths_of_theirs(theirs, model)).items():
            for part in parts:
                if part not in left:
                    raise Error(f"{where}: parameter {part} is missing")
            ours[name] = stacked([left.pop(part) for part in parts], parts[0], where)
    if left:
        raise Error(f"{where}: {next(iter(left))} is no parameter of the reference's models")
    return ours


def stacked(arrays, name, where):
    try:
        return np.concatenate(arrays)
    except ValueError as error:
        shapes = ", ".join(str(list(array.shape)) for array in arrays)
        raise Error(f"{where}: {name}: tensors of the shapes {shapes} cannot be stacked") from error


def to_theirs(ours, where):
    """The other way round."""
    theirs, left = {}, dict(ours)
    for model in models_in(ours):
        for name, parts in name_table(model, depths_of_ours(ours, model)).items():
            if name not in left:
                raise Error(f"{where}: parameter {name} is missing")
            array = left.pop(name)
            if len(array) % len(parts):
                raise Error(
                    f"{where}: parameter {name} cannot be cut into {len(parts)} equal parts"
                )
            theirs.update(zip(parts, np.split(array, len(parts))))
    if left:
        raise Error(f"{where}: {next(iter(left))} is no parameter of our models")
    return theirs


def models_in(names):
    return [model for model in MODELS if any(name.startswith(f"{model}.") for name in names)]
