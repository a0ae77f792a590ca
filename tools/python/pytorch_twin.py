"""The models and the three training steps in PyTorch, from the equations of train/*.h.

A peer to measure against: plain eager PyTorch, scaled_dot_product_attention, fused AdamW. It has the
structure that the published implementation's step has, where that matters for time: queries, keys
and values are three products; the two contexts of SMT go through the encoder one after the other;
every layer computes all tokens; DMT and BPTT unroll the cell and its readout step by step. In DMT
the decoder's and the uniformity loss are computed although the frozen teacher makes them constants;
with `is_teacher_differentiated` the backward pass then goes through the teacher, as there.
Parameters have our names, except that attention.qkv is cut into q, k and v.
"""

import re

import torch
import torch.nn.functional as F
from torch import nn

HEAD_SIZE = 64
UNIF_ROWS = 512  # train/smt.cpp draws among more rows than that


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return F.normalize(x, dim=-1) * x.shape[-1] ** 0.5 * (1 + self.gain)


def rotation_table(tokens, dtype):
    """cos and sin [tokens, rotated], of each pair of channels twice."""
    rotated = max(HEAD_SIZE // 2, 32)
    rates = 10000.0 ** (-torch.arange(0, rotated, 2, dtype=torch.float64) / rotated)
    angles = torch.arange(tokens, dtype=torch.float64)[:, None] * rates
    angles = angles.repeat_interleave(2, dim=-1)
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x, cos, sin):
    """Rotary embedding of the leading channels of each head [B, H, T, D]."""
    head, rest = x.split((cos.shape[-1], HEAD_SIZE - cos.shape[-1]), dim=-1)
    even, odd = head.unflatten(-1, (-1, 2)).unbind(-1)
    turned = torch.stack((-odd, even), dim=-1).flatten(-2)
    return torch.cat((head * cos + turned * sin, rest), dim=-1)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm = RmsNorm(width)
        self.q = nn.Linear(width, heads * HEAD_SIZE, bias=False)
        self.k = nn.Linear(width, heads * HEAD_SIZE, bias=False)
        self.v = nn.Linear(width, heads * HEAD_SIZE, bias=False)
        self.out = nn.Linear(heads * HEAD_SIZE, width, bias=False)

    def forward(self, x, rotation, is_causal, mask):
        normed = self.norm(x)
        q, k, v = (
            part(normed).unflatten(-1, (self.heads, HEAD_SIZE)).transpose(1, 2)
            for part in (self.q, self.k, self.v)
        )
        if rotation is not None:
            q, k = rotate(q, *rotation), rotate(k, *rotation)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal)
        return x + self.out(mixed.transpose(1, 2).flatten(-2))


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = RmsNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = Attention(width, heads)
        self.feed_forward = FeedForward(width)


class Stack(nn.Module):
    """A Transformer of pre-norm blocks; layer l is the child "layer<l>"."""

    def __init__(self, config, depth):
        super().__init__()
        self.depth = depth
        self.is_rotary = config["rotary_pos_emb"]
        self.tables = {}
        for l in range(depth):
            self.add_module(f"layer{l}", Layer(config["d_model"], config["n_heads"]))
        self.final_norm = RmsNorm(config["d_model"])

    def rotation(self, x):
        if not self.is_rotary:
            return None
        key = (x.shape[1], x.dtype)
        if key not in self.tables:
            self.tables[key] = rotation_table(*key)
        return self.tables[key]

    def forward(self, x, is_causal=False, mask=None):
        rotation = self.rotation(x)
        for l in range(self.depth):
            layer = self.get_submodule(f"layer{l}")
            x = layer.feed_forward(layer.attention(x, rotation, is_causal, mask))
        return self.final_norm(x)


class Decoder(Stack):
    """Causal, with logits."""

    def __init__(self, config):
        super().__init__(config, config["decoder_depth"])
        self.logits = nn.Linear(config["d_model"], config["vocab_size"])

    def forward(self, memory, future=None):
        x = memory if future is None else torch.cat((memory, future), dim=1)
        return self.logits(super().forward(x, is_causal=True)[:, memory.shape[1] - 1 :])


def memory_of(h, config):
    if config["mem_rms_norm"]:
        h = F.rms_norm(h, h.shape[-1:], eps=torch.finfo(torch.float32).eps)
    if config["mem_fsq"] is not None:
        h = h + (torch.round(h / config["mem_fsq"]) * config["mem_fsq"] - h).detach()
    return h


class Teacher(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config["vocab_size"], config["d_model"])
        self.registers = nn.Embedding(config["mem_tokens"], config["d_model"])
        self.encoder = Stack(config, config["encoder_depth"])
        self.decoder = Decoder(config)

    def encode(self, context):
        count = self.config["mem_tokens"]
        registers = self.registers.weight.expand(len(context), -1, -1)
        x = torch.cat((self.embed(context.clamp_min(0)), registers), dim=1)
        mask = None
        if (context < 0).any():
            mask = F.pad(context >= 0, (0, count), value=True)[:, None, None, :]
        return memory_of(self.encoder(x, mask=mask)[:, -count:], self.config)

    def decode(self, memory, future):
        """Logits of y_t and of what follows each future token."""
        return self.decoder(memory, self.embed(future.clamp_min(0)))


class Rnn(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config["vocab_size"], config["d_model"])
        self.cell = Stack(config, config["rnn_depth"])
        self.readout = Decoder(config)

    def step(self, memory, token):
        x = torch.cat((memory, self.embed(token)[:, None]), dim=1)
        return memory_of(self.cell(x)[:, : memory.shape[1]], self.config)

    def read(self, memory):
        return self.readout(memory)[:, -1]


def mean_loss(logits, targets, weights=None):
    """Cross-entropy [B, n, V] against [B, n], weighted, over the number of valid targets."""
    losses = F.cross_entropy(logits.mT, targets, ignore_index=-1, reduction="none")
    return (losses if weights is None else losses * weights).sum() / (targets >= 0).sum()


def uniformity(rows):
    rows = F.normalize(rows, dim=-1)
    return torch.pdist(rows).square().mul(-2).exp().mean().log()


def smt_losses(models, x, y, c):
    Tc, Tf = c["Tc"], c["Tf"]
    teacher, rnn = models["teacher"], models["rnn"]
    now, after = teacher.encode(x[:, :Tc]), teacher.encode(x[:, 1 : Tc + 1])
    logits = teacher.decode(now, x[:, Tc : Tc + Tf])[:, :Tf]
    decay = c["gamma"] ** torch.arange(Tf)
    dec = mean_loss(logits, y[:, Tc - 1 : Tc - 1 + Tf], decay)
    start, goal = (now.detach(), after.detach()) if c["detach_rnn"] else (now, after)
    dyn = F.mse_loss(rnn.step(start, x[:, Tc]), goal)
    unif = uniformity(now.flatten(0, 1) if c["unif_over_tokens"] else now.flatten(1))
    loss = c["coef_dec"] * dec + c["coef_dyn"] * dyn + c["coef_unif"] * unif
    return {"loss": loss, "loss_dec": dec, "loss_dyn": dyn, "loss_unif": unif}, loss


def dmt_losses(models, x, y, c):
    Tc, Td, Tf = c["Tc"], c["Td"], c["Tf"]
    teacher, rnn = models["teacher"], models["rnn"]
    times = range(0, Td, c["k"])
    labels = [teacher.encode(x[:, t : t + Tc]) for t in times]
    # Constants: a window that is too short for the last decodings leaves them out.
    decodable = [t for t in times if t + Tc + Tf <= x.shape[1]]
    dec = [
        mean_loss(
            teacher.decode(labels[t // c["k"]], x[:, t + Tc : t + Tc + Tf])[:, :Tf],
            y[:, t + Tc - 1 : t + Tc - 1 + Tf],
        )
        for t in decodable
    ]
    unif = uniformity(torch.stack(labels).flatten(0, 1).flatten(1))

    is_cut = c["grad"] == "detach"
    memory, memories, logits = labels[0], [], []
    for t in range(Td):
        memories.append(memory)
        logits.append(rnn.read(memory.detach() if c["detach_readout"] else memory))
        if t + 1 < Td:
            memory = rnn.step(memory.detach() if is_cut else memory, x[:, Tc + t])
    read = torch.stack(memories, dim=1)[:, :: c["k"]]
    dyn = F.mse_loss(read, torch.stack(labels, dim=1).detach())
    readout = mean_loss(torch.stack(logits, dim=1), y[:, Tc - 1 : Tc - 1 + Td])
    loss = c["coef_dyn"] * dyn + c["coef_readout"] * readout
    constants = c["coef_unif"] * unif + (c["coef_dec"] * sum(dec) / len(dec) if dec else 0)
    return {"loss": loss, "loss_dyn": dyn, "loss_readout": readout}, loss + constants


def bptt_losses(models, x, y, c):
    rnn = models["rnn"]
    memory = torch.zeros(len(x), rnn.config["mem_tokens"], rnn.config["d_model"])
    logits = []
    for t in range(c["T"]):
        if c["truncate"] and t % c["truncate"] == 0:
            memory = memory.detach()
        memory = rnn.step(memory, x[:, t])
        logits.append(rnn.read(memory))
    loss = mean_loss(torch.stack(logits, dim=1), y[:, : c["T"]])
    return {"loss": loss, "loss_readout": loss}, loss


LOSSES = {"smt": smt_losses, "dmt": dmt_losses, "bptt": bptt_losses}


def make_models(config):
    """Freshly initialised, as PyTorch does it: our distributions, too."""
    models = {"rnn": Rnn(config["rnn"])}
    if config["method"] != "bptt":
        models["teacher"] = Teacher(config["teacher"])
    return models


def to_our_names(models, tensor_of):
    """tensor_of(parameter), where there is one, by our names: q, k and v stacked again."""
    parts = {}
    for prefix, model in models.items():
        for name, parameter in model.named_parameters():
            tensor = tensor_of(parameter)
            if tensor is not None:
                ours = re.sub(r"attention\.[qkv]\.", "attention.qkv.", f"{prefix}.{name}")
                parts.setdefault(ours, []).append(tensor.detach())
    return {name: torch.cat(tensors).numpy() for name, tensors in parts.items()}


def state_of(weights, model):
    """A model's state dict from weights under our names."""
    state = {}
    for name, array in weights.items():
        if not name.startswith(f"{model}."):
            continue
        name, tensor = name.removeprefix(f"{model}."), torch.from_numpy(array.copy())
        if "attention.qkv." in name:
            for part, piece in zip("qkv", tensor.chunk(3)):
                state[name.replace("qkv", part)] = piece
        else:
            state[name] = tensor
    return state


class Twin:
    """The models of one run, their optimiser, and the batch they step on."""

    def __init__(self, config, weights, batch, is_teacher_differentiated):
        self.method, self.settings = config["method"], config[config["method"]]
        self.models = make_models(config)
        for name, model in self.models.items():
            model.load_state_dict(state_of(weights, name))
        self.trained = dict(self.models)
        if self.method == "dmt":
            self.trained.pop("teacher").requires_grad_(is_teacher_differentiated)
        self.x, self.y = (torch.from_numpy(batch[key]).long() for key in ("x", "y"))
        optimizer = config["optimizer"]
        self.clip_norm = optimizer["clip_grad_norm"]
        self.optimizer = torch.optim.AdamW(
            [p for model in self.trained.values() for p in model.parameters()],
            lr=optimizer["lr"],
            betas=tuple(optimizer["adam_betas"]),
            weight_decay=optimizer["weight_decay"],
            fused=True,
        )

    def losses_and_gradients(self):
        """The loss terms by name; the gradients are left in the parameters."""
        for model in self.models.values():
            model.zero_grad(set_to_none=True)
        losses, total = LOSSES[self.method](self.models, self.x, self.y, self.settings)
        total.backward()
        return losses

    def step(self):
        """Forward, backward, clipping and AdamW."""
        self.losses_and_gradients()
        for model in self.trained.values():
            nn.utils.clip_grad_norm_(model.parameters(), self.clip_norm)
        self.optimizer.step()

    def gradients(self):
        return to_our_names(self.trained, lambda parameter: parameter.grad)
