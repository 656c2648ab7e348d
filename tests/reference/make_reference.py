"""Writes the values that the C++ tests compare with PyTorch: lm.json, lm_float32.json, classifier.json, ops.json,
recurrent.json.

Usage: python3 make_reference.py [--out DIR]     (README.md beside this file explains what is in them)

Every gate has one bias: torch's bias_hh stays zero, takes no gradient and is not recorded.
"""

import argparse
import json
import math
import pathlib
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

STEPS = 50  # optimizer steps of a run

# name: (class, options, clip); one run of each. Norms lie on both sides of a clip; None leaves gradients alone.
OPTIMIZERS: dict[str, tuple[str, dict[str, Any], float | None]] = {
    "sgd": ("SGD", {"lr": 0.5}, 0.35),
    "sgd_momentum": ("SGD", {"lr": 0.1, "momentum": 0.9}, 0.35),
    "sgd_nesterov": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}, 0.35),
    "sgd_weight_decay": ("SGD", {"lr": 0.5, "weight_decay": 0.01}, None),
    "adam": ("Adam", {"lr": 0.02}, None),
    "adamw": ("AdamW", {"lr": 0.02, "weight_decay": 0.05}, 0.35),
    "adamw_biases_free": ("AdamW", {"lr": 0.02, "weight_decay": 0.05}, 0.35),  # no decay on names ending in "bias…"
    "asgd": ("ASGD", {"lr": 0.5, "lambd": 0.0, "t0": 0.0}, 0.35),
    "sgd_sum_over_steps": ("SGD", {"lr": 0.5}, 1.0),  # the language model's alone: sum over steps of the mean over the batch
}


class LanguageModel(nn.Module):
    def __init__(self, vocab: int, embedding: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab, embedding)
        self.lstm = nn.LSTM(embedding, hidden, layers)
        self.decoder = nn.Linear(hidden, vocab)

    def forward(self, tokens: torch.Tensor, state: Any) -> tuple[torch.Tensor, Any]:
        y, state = self.lstm(self.embedding(tokens), state)
        return self.decoder(y), state


class Classifier(nn.Module):
    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(features, hidden)
        self.dense = nn.Linear(hidden, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dense(self.lstm(x)[0][-1]).squeeze(-1)


def tensor_json(x: torch.Tensor) -> dict[str, Any]:
    """Shape and row-major data; Python writes as many digits (17 at most) as give the same double again."""
    return {"shape": list(x.shape), "data": x.detach().reshape(-1).tolist()}


def trained(model: nn.Module) -> dict[str, nn.Parameter]:
    """The trained parameters under our names: lstm.bias_ih_l0 is lstm.bias_l0."""
    return {n.replace("bias_ih_l", "bias_l"): p for n, p in model.named_parameters() if "bias_hh_l" not in n}


def parameters_json(model: nn.Module) -> dict[str, Any]:
    return {n: tensor_json(p) for n, p in trained(model).items()}


def gradients_json(model: nn.Module) -> dict[str, Any]:
    return {n: tensor_json(p.grad) for n, p in trained(model).items()}


def initialise(model: nn.Module, scale: float, seed: int) -> None:
    """U(-scale, scale) for all but bias_hh. Drawn as float32, so that both precisions start from equal numbers."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in trained(model).values():
            p.copy_((torch.rand(p.shape, generator=generator, dtype=torch.float32) * 2 - 1) * scale)
        for n, p in model.named_parameters():
            if "bias_hh_l" in n:
                p.zero_().requires_grad_(False)


def make_optimizer(kind: str, model: nn.Module) -> tuple[torch.optim.Optimizer, float | None]:
    name, options, clip = OPTIMIZERS[kind]
    named = trained(model)
    if kind.endswith("_biases_free"):
        biases = [p for n, p in named.items() if n.split(".")[-1].startswith("bias")]
        others = [p for n, p in named.items() if not n.split(".")[-1].startswith("bias")]
        groups = [{"params": others}, {"params": biases, "weight_decay": 0.0}]
        return getattr(torch.optim, name)(groups, **options), clip
    return getattr(torch.optim, name)(list(named.values()), **options), clip


def train(model: nn.Module, kind: str, loss_of_step: Callable[[int], torch.Tensor]) -> dict[str, Any]:
    """STEPS optimizer steps: loss and gradient norm (before clipping) of each, and where the parameters end."""
    optimizer, clip = make_optimizer(kind, model)
    parameters = list(trained(model).values())
    losses, norms, history = [], [], []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of_step(step)
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(parameters, math.inf if clip is None else clip).item())
        optimizer.step()
        losses.append(loss.item())
        history.append([p.detach().clone() for p in parameters])
    name, options, _ = OPTIMIZERS[kind]
    run = {"optimizer": {"kind": name, **options}, "clip": clip, "losses": losses, "norms": norms, "final": parameters_json(model)}
    if name == "ASGD":  # torch's average leaves out the first step's result and rounds its weights 1/n to float32
        mean = lambda steps: {n: tensor_json(torch.stack(values).mean(0)) for n, values in zip(trained(model), zip(*steps))}
        run["average"] = {n: tensor_json(optimizer.state[p]["ax"]) for n, p in trained(model).items()}
        run["mean"], run["mean_from_second"] = mean(history), mean(history[1:])
    return run


# ---- the language model ----------------------------------------------------------------------------------------------

LM = {"vocab": 13, "embedding": 5, "hidden": 6, "layers": 2}
LM_BATCH, LM_BPTT, LM_SCALE = 3, 4, 0.9


def lm_windows() -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and targets [windows, steps, batch] cut from contiguous streams: a target is the stream's next token."""
    generator = torch.Generator().manual_seed(7)
    streams = torch.randint(LM["vocab"], (STEPS * LM_BPTT + 1, LM_BATCH), generator=generator)
    cut = lambda first: streams[first : first + STEPS * LM_BPTT].reshape(STEPS, LM_BPTT, LM_BATCH)
    return cut(0), cut(1)


def new_lm(dtype: torch.dtype) -> LanguageModel:
    model = LanguageModel(**LM).to(dtype)
    initialise(model, LM_SCALE, seed=1)
    return model


def lm_loss(logits: torch.Tensor, targets: torch.Tensor, reduction: str) -> torch.Tensor:
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())  # the mean over tokens
    return loss * targets.shape[0] if reduction == "sum-over-steps" else loss


def train_lm(kind: str) -> dict[str, Any]:
    reduction = "sum-over-steps" if kind.endswith("sum_over_steps") else "mean"
    model, (inputs, targets) = new_lm(torch.float64), lm_windows()
    state = None

    def loss_of_step(step: int) -> torch.Tensor:
        nonlocal state
        logits, new = model(inputs[step], state)
        state = tuple(s.detach() for s in new)
        return lm_loss(logits, targets[step], reduction)

    run = train(model, kind, loss_of_step)
    return {"reduction": reduction, **run, "final_h": tensor_json(state[0]), "final_c": tensor_json(state[1])}


def lm_json() -> dict[str, Any]:
    inputs, targets = lm_windows()
    runs = {kind: train_lm(kind) for kind in OPTIMIZERS}
    return {"config": {**LM, "batch": LM_BATCH, "bptt": LM_BPTT}, "initial": parameters_json(new_lm(torch.float64)),
            "inputs": tensor_json(inputs), "targets": tensor_json(targets), "runs": runs}


def lm_one_step(dtype: torch.dtype, state: tuple[torch.Tensor, ...]) -> dict[str, Any]:
    model, (inputs, targets) = new_lm(dtype), lm_windows()
    logits, new = model(inputs[1], tuple(s.to(dtype) for s in state))
    loss = lm_loss(logits, targets[1], "mean")
    loss.backward()
    norm = torch.stack([p.grad.norm() for p in trained(model).values()]).norm()
    return {"h": tensor_json(new[0]), "c": tensor_json(new[1]), "logits": tensor_json(logits), "loss": loss.item(),
            "norm": norm.item(), "gradients": gradients_json(model)}


def lm_float32_json() -> dict[str, Any]:
    """The second window in both precisions, from one and the same state, which the first left in float32."""
    inputs, targets = lm_windows()
    state = tuple(s.detach() for s in new_lm(torch.float32)(inputs[0], None)[1])
    return {"config": {**LM, "batch": LM_BATCH, "bptt": LM_BPTT}, "initial": parameters_json(new_lm(torch.float64)),
            "h0": tensor_json(state[0]), "c0": tensor_json(state[1]),
            "inputs": tensor_json(inputs[1]), "targets": tensor_json(targets[1]),
            "float32": lm_one_step(torch.float32, state), "float64": lm_one_step(torch.float64, state)}


# ---- the classifier --------------------------------------------------------------------------------------------------

CLASSIFIER = {"features": 3, "hidden": 5}
C_BATCHES, C_STEPS, C_BATCH = 10, 7, 4


def classifier_json() -> dict[str, Any]:
    generator = torch.Generator().manual_seed(11)
    x = torch.randn(C_BATCHES, C_STEPS, C_BATCH, CLASSIFIER["features"], generator=generator, dtype=torch.float64)
    labels = torch.randint(2, (C_BATCHES, C_BATCH), generator=generator).double()

    def new() -> Classifier:
        model = Classifier(**CLASSIFIER).double()
        initialise(model, 0.7, seed=2)
        return model

    def run(kind: str, pos_weight: float) -> dict[str, Any]:
        model, weight = new(), torch.tensor(pos_weight, dtype=torch.float64)
        loss = lambda s: F.binary_cross_entropy_with_logits(model(x[s % C_BATCHES]), labels[s % C_BATCHES], pos_weight=weight)
        return {"pos_weight": pos_weight, **train(model, kind, loss)}

    kinds = [k for k in OPTIMIZERS if k != "sgd_sum_over_steps"]
    runs = {k: run(k, 1.0) for k in kinds} | {k + "_pos_weight": run(k, 3.0) for k in kinds}
    return {"config": {**CLASSIFIER, "steps": C_STEPS, "batch": C_BATCH}, "initial": parameters_json(new()),
            "x": tensor_json(x), "labels": tensor_json(labels), "runs": runs}


# ---- single operations -----------------------------------------------------------------------------------------------


def case(function: Callable[..., torch.Tensor], seed: int, options: dict[str, Any] | None = None,
         **inputs: torch.Tensor) -> dict[str, Any]:
    """y = function(**inputs) and the gradient of sum(y * dy) for every float input; "dx" is the gradient of "x"."""
    named = {n: x.clone().requires_grad_(x.is_floating_point()) for n, x in inputs.items()}
    y = function(**named)
    dy = torch.randn(y.shape, generator=torch.Generator().manual_seed(seed), dtype=y.dtype)
    y.backward(dy)
    result = {**(options or {}), **{n: tensor_json(x) for n, x in inputs.items()}, "y": tensor_json(y), "dy": tensor_json(dy)}
    return result | {"d" + n: tensor_json(x.grad) for n, x in named.items() if x.grad is not None}


def lstm_case(random: Callable[..., torch.Tensor]) -> dict[str, Any]:
    """Two layers with initial state; the loss is sum(y * dy) + sum(hn * dhn) + sum(cn * dcn)."""
    lstm = nn.LSTM(3, 4, 2).double()
    initialise(lstm, 0.8, seed=3)
    x, h0, c0 = (t.requires_grad_() for t in (random(5, 2, 3), random(2, 2, 4), random(2, 2, 4)))
    y, (hn, cn) = lstm(x, (h0, c0))
    dy, dhn, dcn = random(*y.shape), random(*hn.shape), random(*cn.shape)
    torch.autograd.backward((y, hn, cn), (dy, dhn, dcn))
    tensors = {"x": x, "h0": h0, "c0": c0, "y": y, "hn": hn, "cn": cn, "dy": dy, "dhn": dhn, "dcn": dcn,
               "dx": x.grad, "dh0": h0.grad, "dc0": c0.grad}
    return {"parameters": parameters_json(lstm), "gradients": gradients_json(lstm)} | {n: tensor_json(t) for n, t in tensors.items()}


def ops_json() -> dict[str, Any]:
    generator = torch.Generator().manual_seed(5)
    random = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)
    column = lambda *values: torch.tensor(values, dtype=torch.float64)
    extreme = torch.tensor([[1000.0, 0.0, -1000.0], [1e4, 1e4 - 1, 1e4 - 2], [-800.0, -801.0, -803.0], [0.0, 0.0, 0.0],
                            [700.0, -750.0, 710.0]], dtype=torch.float64)
    logits100 = column(-100.0, -100.0, -100.0, 100.0, 100.0, 100.0, 0.0, 0.0, -40.0, 36.0, 1e-9, -745.0, 800.0)
    labels100 = column(0.0, 1.0, 0.3, 0.0, 1.0, 0.3, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0)
    targets = torch.tensor([3, 0, 2, 4, 1, 1])
    masked = torch.tensor([3, -1, 2, -1, 1, 1])
    row_weights = column(1.0, 0.5, 0.0, 2.0, 0.25, 1.5)
    class_weights = column(0.5, 2.0, 1.0, 0.0, 3.0)
    logits = random(6, 5)
    rows_sum = lambda x: (F.cross_entropy(x, targets, reduction="none") * row_weights).sum()
    bce = lambda weight: lambda x: F.binary_cross_entropy_with_logits(x, labels100, reduction="none", pos_weight=weight)
    given = {"targets": tensor_json(targets)}
    return {
        "lstm": lstm_case(random),
        "layer_norm": case(lambda x, weight, bias: F.layer_norm(x, (7,), weight, bias, 1e-5), 21, {"eps": 1e-5},
                           x=random(4, 7), weight=random(7), bias=random(7)),
        "layer_norm_nearly_constant": case(lambda x, weight, bias: F.layer_norm(x, (5,), weight, bias, 1e-5), 22, {"eps": 1e-5},
                                           x=3 + 1e-3 * random(3, 5), weight=random(5), bias=random(5)),
        "softmax": case(lambda x: F.softmax(x, -1), 23, x=random(4, 5)),
        "softmax_extreme": case(lambda x: F.softmax(x, -1), 24, x=extreme),
        "log_softmax_extreme": case(lambda x: F.log_softmax(x, -1), 25, x=extreme),
        "cross_entropy_rows": case(lambda x: F.cross_entropy(x, targets, reduction="none"), 26, given, x=logits),
        "cross_entropy_mean": case(lambda x: F.cross_entropy(x, targets), 27, given, x=logits),
        "cross_entropy_ignore_mean": case(lambda x: F.cross_entropy(x, masked, ignore_index=-1), 28,
                                          {"targets": tensor_json(masked), "ignore_index": -1}, x=logits),
        "cross_entropy_ignore_sum": case(lambda x: F.cross_entropy(x, masked, ignore_index=-1, reduction="sum"), 29,
                                         {"targets": tensor_json(masked), "ignore_index": -1}, x=logits),
        "cross_entropy_row_weights_sum": case(rows_sum, 30, {**given, "row_weights": tensor_json(row_weights)}, x=logits),
        "cross_entropy_row_weights_mean": case(lambda x: rows_sum(x) / row_weights.sum(), 31,
                                               {**given, "row_weights": tensor_json(row_weights)}, x=logits),
        "cross_entropy_class_weights_mean": case(lambda x: F.cross_entropy(x, targets, class_weights), 32,
                                                 {**given, "class_weights": tensor_json(class_weights)}, x=logits),
        "cross_entropy_extreme": case(lambda x: F.cross_entropy(x, torch.tensor([2, 0, 1, 2, 1]), reduction="none"), 33,
                                      {"targets": tensor_json(torch.tensor([2, 0, 1, 2, 1]))}, x=extreme),
        "bce_logits_extreme": case(bce(None), 34, {"labels": tensor_json(labels100)}, x=logits100),
        "bce_logits_extreme_pos_weight": case(bce(torch.tensor(3.0).double()), 35,
                                              {"labels": tensor_json(labels100), "pos_weight": 3.0}, x=logits100),
        "mse_mean": case(lambda x, target: F.mse_loss(x, target), 36, x=random(4, 3), target=random(4, 3)),
        "max_last": case(lambda x: x.max(-1).values, 37, x=random(4, 6)),
        "max_first": case(lambda x: x.max(0).values, 38, x=random(4, 6)),
        "sigmoid_extreme": case(torch.sigmoid, 39, x=logits100),
        "tanh_extreme": case(torch.tanh, 40, x=logits100),
    }


# ---- recurrent layers with options -----------------------------------------------------------------------------------

LENGTHS = [5, 2, 4]  # of the rows of a padded batch


def one_bias(tensors: dict[str, torch.Tensor], gates: int, gradients: bool) -> dict[str, Any]:
    """torch's two biases under our names: bias_l0 for both, and of a GRU bias_hn_l0, n's part of bias_hh."""
    result = {}
    for n, x in tensors.items():
        if "bias_ih_l" in n:
            hh = tensors[n.replace("bias_ih", "bias_hh")]
            hidden = len(hh) // gates
            is_n = torch.arange(len(hh)) >= 2 * hidden if gates == 3 else torch.zeros(len(hh), dtype=torch.bool)
            result[n.replace("bias_ih", "bias")] = x if gradients else x + hh.masked_fill(is_n, 0)
            if gates == 3:
                result[n.replace("bias_ih", "bias_hn")] = hh[2 * hidden :]
        elif "bias_hh_l" not in n:
            result[n] = x
    return {n: tensor_json(x) for n, x in result.items()}


def recurrent_case(module: nn.Module, random: Callable[..., torch.Tensor]) -> dict[str, Any]:
    """Two layers in two directions over rows of LENGTHS, packed; the loss is sum(y * dy) + the same of the states."""
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(random(*p.shape) * 0.5)
    gates = {nn.LSTM: 4, nn.GRU: 3, nn.RNN: 1}[type(module)]
    width = module.proj_size or module.hidden_size
    x = random(5, 3, module.input_size).requires_grad_()
    states = [random(4, 3, w).requires_grad_() for w in ([width, module.hidden_size] if gates == 4 else [width])]
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor(LENGTHS), enforce_sorted=False)
    y, last = module(packed, tuple(states) if gates == 4 else states[0])
    y = nn.utils.rnn.pad_packed_sequence(y, total_length=5)[0]
    last = list(last) if gates == 4 else [last]
    dy, *dlast = (random(*t.shape) for t in [y, *last])
    torch.autograd.backward((y, *last), (dy, *dlast))
    tensors = {"x": x, "y": y, "dy": dy, "dx": x.grad}
    for name, first, end, d in zip("hc", states, last, dlast):
        tensors |= {name + "0": first, name + "n": end, f"d{name}n": d, f"d{name}0": first.grad}
    parameters = dict(module.named_parameters())
    return {"parameters": one_bias(parameters, gates, False),
            "gradients": one_bias({n: p.grad for n, p in parameters.items()}, gates, True),
            **{n: tensor_json(t) for n, t in tensors.items()}}


def recurrent_json() -> dict[str, Any]:
    generator = torch.Generator().manual_seed(9)
    random = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)
    return {"lengths": LENGTHS, "gru": recurrent_case(nn.GRU(2, 3, 2, bidirectional=True).double(), random),
            "lstm": recurrent_case(nn.LSTM(2, 3, 2, bidirectional=True, proj_size=2).double(), random),
            "rnn": recurrent_case(nn.RNN(2, 3, 2, bidirectional=True).double(), random),
            "rnn_relu": recurrent_case(nn.RNN(2, 3, 2, bidirectional=True, nonlinearity="relu").double(), random)}


# ---- one cycle -------------------------------------------------------------------------------------------------------

CYCLE_STEPS, CYCLE_PEAK = 41, 0.1  # 40 steps from the first to the last: phases of 8, 8, 16 and 8 of them
CYCLES = {
    "sgd": ("SGD", {"momentum": 0.95}),
    "sgd_nesterov": ("SGD", {"momentum": 0.95, "nesterov": True}),
    "adam": ("Adam", {"betas": (0.95, 0.99)}),
    "adamw": ("AdamW", {"betas": (0.95, 0.99), "weight_decay": 0.05}),
}


def one_cycle_json() -> dict[str, Any]:
    """Three weights in a quadratic bowl, under OneCycleLR with three phases: rate and momentum of each step, and where it leads."""
    curvature = torch.tensor([0.5, 1.0, 3.0], dtype=torch.float64)
    initial = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    runs = {}
    for kind, (name, options) in CYCLES.items():
        p = initial.clone().requires_grad_()
        optimizer = getattr(torch.optim, name)([p], lr=CYCLE_PEAK, **options)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, CYCLE_PEAK, total_steps=CYCLE_STEPS, pct_start=9 / CYCLE_STEPS, anneal_strategy="linear", three_phase=True,
            base_momentum=0.85, max_momentum=0.95, div_factor=4, final_div_factor=4)
        rates, momenta, path = [], [], []
        for step in range(CYCLE_STEPS):
            group = optimizer.param_groups[0]
            rates.append(group["lr"])
            momenta.append(group["momentum"] if "momentum" in group else group["betas"][0])
            optimizer.zero_grad()
            (0.5 * curvature * p * p).sum().backward()
            optimizer.step()
            path.append(p.detach().tolist())
            if step + 1 < CYCLE_STEPS:
                schedule.step()
        runs[kind] = {"rates": rates, "momenta": momenta, "path": path}
    return {"steps": CYCLE_STEPS, "peak": CYCLE_PEAK, "curvature": curvature.tolist(), "initial": initial.tolist(), "runs": runs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    out: pathlib.Path = parser.parse_args().out
    torch.set_num_threads(1)
    torch._C._set_mkldnn_enabled(False)  # torch's own kernels for the LSTM in float32
    version = torch.__version__.split("+")[0]
    for name, make in {"lm": lm_json, "lm_float32": lm_float32_json, "classifier": classifier_json, "ops": ops_json,
                       "recurrent": recurrent_json, "one_cycle": one_cycle_json}.items():
        text = json.dumps({"torch": version, **make()}, indent=None, separators=(",", ":"), allow_nan=False)
        (out / f"{name}.json").write_text(text.replace(',"', ',\n"') + "\n")
        print(f"{name}.json: {len(text) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
