"""Writes layers.json: values and gradients of layers beside the recurrent ones by PyTorch, in double.

Usage: python3 make_layers.py [--out FILE]     (README.md beside this file explains what is in it)
"""

import argparse
import json
import math
import pathlib
from typing import Any

import torch
from make_operations import case, normal, tensor_json
from torch import nn
from torch.nn import functional as F


def convolution(steps: int, kernel: int, stride: int = 1, dilation: int = 1, padding: int = 0, causal: bool = False) -> dict[str, Any]:
    """x [steps, batch, in], as our layers have it."""

    def convolve(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        rows = x.permute(1, 2, 0)
        if causal:
            rows = F.pad(rows, ((kernel - 1) * dilation, 0))
        return F.conv1d(rows, weight, bias, stride=stride, padding=padding, dilation=dilation).permute(2, 0, 1)

    options = {"kernel": kernel, "stride": stride, "dilation": dilation, "padding": padding, "causal": causal}
    return case(convolve, options, x=normal(steps, 2, 3), weight=normal(4, 3, kernel), bias=normal(4))


def norm(eps: float) -> dict[str, Any]:
    return case(lambda x, weight: F.rms_norm(x, [5], weight, eps), {"eps": eps}, x=normal(3, 2, 5), weight=normal(5))


def steps(kind: str) -> dict[str, Any]:
    """Steps of a cell by itself, whose h is read after each. One bias stands under our name, as in recurrent.json."""
    hidden, gates = 4, {"lstm": 4, "gru": 3, "rnn": 1}[kind]
    cell = {"lstm": nn.LSTMCell, "gru": nn.GRUCell, "rnn": nn.RNNCell}[kind](3, hidden).double()

    def run(x: torch.Tensor, h: torch.Tensor, **p: torch.Tensor) -> torch.Tensor:
        second = torch.zeros(gates * hidden, dtype=torch.float64)
        if kind == "gru":
            second = torch.cat([second[: 2 * hidden], p["bias_hn"]])
        weights = {"weight_ih": p["weight_ih"], "weight_hh": p["weight_hh"], "bias_ih": p["bias"], "bias_hh": second}
        state, read = (h, p["c"]) if kind == "lstm" else h, []
        for row in x:
            state = torch.func.functional_call(cell, weights, (row, state))
            read.append(state[0] if kind == "lstm" else state)
        return torch.stack(read + ([state[1]] if kind == "lstm" else []))

    inputs = {"x": normal(3, 2, 3), "h": normal(2, hidden), "weight_ih": normal(gates * hidden, 3),
              "weight_hh": normal(gates * hidden, hidden), "bias": normal(gates * hidden)}
    if kind == "lstm":
        inputs["c"] = normal(2, hidden)
    if kind == "gru":
        inputs["bias_hn"] = normal(hidden)
    return case(run, {}, **inputs)


def sampled() -> dict[str, Any]:
    """The loss by its definition, one target at a time. A drawn class that is the target takes no part."""
    target, drawn = torch.tensor([[2, 0], [6, 2]]), torch.tensor([1, 6, 6, 0, 3])
    probability = torch.tensor([0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1], dtype=torch.float64)
    logs = torch.log(len(drawn) * probability[drawn])

    def loss(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        losses = []
        for row, t in zip(x.reshape(-1, 3), target.reshape(-1), strict=True):
            logit = weight @ row + bias
            others = [logit[j] - log for j, log in zip(drawn, logs, strict=True) if j != t]
            losses.append(torch.logsumexp(torch.stack([logit[t], *others]), 0) - logit[t])
        return torch.stack(losses).reshape(target.shape)

    options = {"target": tensor_json(target), "drawn": tensor_json(drawn), "log_expected_counts": tensor_json(logs)}
    return case(loss, options, x=normal(2, 2, 3), weight=normal(7, 3), bias=normal(7))


def adversarial() -> dict[str, Any]:
    """The target's row of the weights moves by alpha times its length against x, where both point the same way."""
    target, alpha = torch.tensor([[2, 0, 6], [6, 2, 1]]), 0.3

    def loss(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        losses = []
        for row, t in zip(x.reshape(-1, 3), target.reshape(-1), strict=True):
            move = torch.zeros_like(weight)
            if weight[t] @ row > 0:
                move[t] = (-alpha * weight[t].norm() * row / row.norm()).detach()
            losses.append(F.cross_entropy((weight + move) @ row + bias, t))
        return torch.stack(losses).mean()

    return case(loss, {"target": tensor_json(target), "alpha": alpha}, x=normal(2, 3, 3), weight=normal(7, 3), bias=normal(7))


def past(share: float) -> dict[str, Any]:
    """What was read at the last steps, told from the distribution that was predicted there."""
    read, first = torch.tensor([[2, 0], [6, 2], [1, 4], [5, 5]]), 4 - math.ceil(4 * share)

    def loss(x: torch.Tensor, **p: torch.Tensor) -> torch.Tensor:
        predicted = torch.softmax(x[first:] @ p["weight"].T + p["bias"], -1)
        told = torch.tanh(predicted @ p["weight"] @ p["hidden"].T + p["hidden_bias"]) @ p["weight"].T + p["own_bias"]
        return F.cross_entropy(told.reshape(-1, 7), read[first:].reshape(-1))

    return case(loss, {"read": tensor_json(read), "share": share}, x=normal(4, 2, 3), weight=normal(7, 3), bias=normal(7),
                hidden=normal(3, 3), hidden_bias=normal(3), own_bias=normal(7))


def mixture() -> dict[str, Any]:
    """The mean of three softmaxes of the same rows, by weights of their own; y of each target's p, and all log p."""
    target = torch.tensor([[2, 0], [6, 2]])

    def loss(x: torch.Tensor, **p: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(x @ p["latent"].T + p["latent_bias"]).reshape(2, 2, 3, 4)
        prior = torch.softmax(x @ p["prior"].T, -1)
        probability = (prior[..., None] * torch.softmax(h @ p["weight"].T + p["bias"], -1)).sum(-2)
        return F.nll_loss(probability.log().reshape(-1, 7), target.reshape(-1))

    return case(loss, {"target": tensor_json(target)}, x=normal(2, 2, 5), weight=normal(7, 4), bias=normal(7), prior=normal(3, 5),
                latent=normal(12, 5), latent_bias=normal(12))


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "layers.json")
    out = arguments.parse_args().out
    values = {"conv1d": [convolution(6, 3), convolution(7, 3, stride=2, padding=1), convolution(9, 2, dilation=3),
                         convolution(5, 1), convolution(6, 3, dilation=2, causal=True), convolution(8, 4, stride=3, causal=True)],
              "rms_norm": [norm(1e-5), norm(0.5)], "steps": {kind: steps(kind) for kind in ("lstm", "gru", "rnn")},
              "sampled_softmax": sampled(), "adversarial_softmax": [adversarial()], "past_decoder": [past(1), past(0.5)],
              "mixture_softmax": [mixture()]}
    out.write_text(json.dumps(values) + "\n")


if __name__ == "__main__":
    main()
