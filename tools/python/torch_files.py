"""State dicts in the files that torch.save writes: found, read, and written."""

import re

import numpy as np

from python.common import Error, write_atomically

# A parameter's name inside its own model, behind the place of that model in the file.
LOCAL = re.compile(
    r"(?P<place>(?:.*\.)?)(?P<name>(?:embed|encoder_mem_register|to_logits)\.(?:weight|bias)"
    r"|(?:rnn|encoder|decoder)\.(?:layers\.\d+\..+|final_norm\.g|rotary_pos_emb\..+))"
)
# Put into names by DistributedDataParallel and torch.compile.
WRAPPERS = re.compile(r"(?:(?<=^)|(?<=\.))(?:module|_orig_mod)\.")
# Not a parameter: the frequencies follow from the head's size.
BUFFER = re.compile(r".*\.rotary_pos_emb\..*")


def import_torch():
    try:
        import torch
    except ImportError as error:
        raise Error(
            "PyTorch is not importable (pip install torch); only .safetensors files do without it"
        ) from error
    return torch


def flatten(tree, place=""):
    """Every tensor in nested dictionaries, by the keys that lead to it, joined by dots."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{place}{key}.")
        elif hasattr(value, "detach"):
            yield WRAPPERS.sub("", f"{place}{key}"), value


def model_of(names, where):
    """Which model a state dict is, by the stacks that only one of the two has."""
    stacks = {name.split(".")[0] for name in names}
    found = [model for model, only in (("teacher", "encoder"), ("rnn", "rnn")) if only in stacks]
    if len(found) != 1:
        raise Error(f"{where}: is the state dict of neither the RNN nor the teacher")
    return found[0]


def find_models(path, tree):
    """The models in what torch.load returned, under the reference's names with rnn. and teacher."""
    places = {}
    for name, tensor in flatten(tree):
        if match := LOCAL.fullmatch(name):
            places.setdefault(match["place"], {})[match["name"]] = tensor
    found, where_found = {}, {}
    for place, tensors in places.items():
        where = f"{path}, {place.rstrip('.') or 'at the top'}"
        model = model_of(tensors, where)
        if model in where_found:
            raise Error(f"{where}: is a second {model}; the first is {where_found[model]}")
        where_found[model] = place.rstrip(".") or "at the top"
        for name, tensor in tensors.items():
            if not BUFFER.fullmatch(name):
                array = tensor.detach().float().cpu().numpy()
                found[f"{model}.{name}"] = np.ascontiguousarray(array)
    if not found:
        raise Error(f"{path}: holds no state dict of the reference's RNN or teacher")
    return found


def read(path):
    """The reference models in a .pkl or .pt file: one state dict, or a checkpoint with several.

    Nothing in the file is executed: anything but tensors and plain containers is refused.
    """
    torch = import_torch()
    try:
        tree = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise Error(f"{path}: cannot open: {error.strerror or error}") from error
    except Exception as error:  # whatever a damaged archive or pickle makes torch raise
        raise Error(
            f"{path}: is no file of torch.save with tensors and plain containers alone"
        ) from error
    if not isinstance(tree, dict):
        raise Error(f"{path}: must hold a state dict, got {type(tree).__name__}")
    return find_models(path, tree)


def write(path, tensors):
    """A state dict that torch.load reads."""
    torch = import_torch()
    state = {name: torch.from_numpy(np.array(array)) for name, array in tensors.items()}
    write_atomically(path, lambda file: torch.save(state, file))
