"""Writes dynamic.json: dynamic evaluation (Krause, Kahembwe, Murray and Renals 2018) of small language models in PyTorch.

Usage: python3 make_dynamic.py [--out DIR]     (README.md beside this file explains what is in it)

Every gate has one bias: torch's bias_hh stays zero and takes no gradient, so that it is no parameter tensor here.
"""

import argparse
import json
import pathlib
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from make_reference import initialise, parameters_json, tensor_json, trained

VOCAB, WIDTH, LAYERS = 14, 6, 2
STREAMS, STEPS = 100, 5  # of the statistics
SEGMENTS, SEGMENT = 200, 5
RATE, DECAY, EPSILON = 1.5e-3, 0.02, 4e-4  # large enough that every part of the rule shows
SGD_RATE = 0.5
RECORDED = (1, SEGMENTS)  # segments after which weights are recorded


class LanguageModel(nn.Module):
    def __init__(self, tied: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, WIDTH)
        self.lstm = nn.LSTM(WIDTH, WIDTH, LAYERS)
        self.decoder = nn.Linear(WIDTH, VOCAB)
        if tied:
            self.decoder.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor, state: Any) -> tuple[torch.Tensor, Any]:
        y, state = self.lstm(self.embedding(tokens), state)
        return self.decoder(y), tuple(s.detach() for s in state)


def made_text(tokens: int, seed: int) -> list[int]:
    """Words of which each follows from the one before, but for every fourth or so; the last two words are rare."""
    generator = torch.Generator().manual_seed(seed)
    text, word = [], 0
    for _ in range(tokens):
        chance = torch.rand(2, generator=generator)
        word = int(chance[1] * (VOCAB if chance[0] < 0.05 else VOCAB - 2)) if chance[0] < 0.3 else (3 * word + 1) % 11
        text.append(word)
    return text


def take_gradients(model: nn.Module, loss: torch.Tensor) -> dict[str, torch.Tensor]:
    model.zero_grad(set_to_none=True)
    loss.backward()
    return {name: p.grad for name, p in trained(model).items()}


def statistics(model: LanguageModel, text: list[int], dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """R of each parameter: streams of (tokens - 1) / STREAMS targets each, as BpttWindows cuts them."""
    length = (len(text) - 1) // STREAMS
    words = torch.tensor(text)
    inputs = words[: STREAMS * length].view(STREAMS, length).t()
    targets = words[1 : STREAMS * length + 1].view(STREAMS, length).t()
    state = (torch.zeros(LAYERS, STREAMS, WIDTH, dtype=dtype),) * 2
    sums = {name: torch.zeros_like(p) for name, p in trained(model).items()}
    windows = 0
    for begin in range(0, length, STEPS):
        logits, state = model(inputs[begin : begin + STEPS], state)
        loss = F.cross_entropy(logits.flatten(0, 1), targets[begin : begin + STEPS].flatten())
        for name, g in take_gradients(model, loss).items():
            sums[name] += g * g
        windows += 1
    return {name: (s / windows).sqrt() for name, s in sums.items()}


def run(tied: bool, rule: str, train: list[int], test: list[int], dtype: torch.dtype) -> dict[str, Any]:
    model = LanguageModel(tied)
    initialise(model, 0.5, 17)
    model.to(dtype)
    record: dict[str, Any] = {"nats": [], "initial": parameters_json(model), "weights": {}}
    rms = statistics(model, train, dtype)
    typical = sum(float(r.double().mean()) for r in rms.values()) / len(rms)
    record["rms"], record["typical"] = {n: tensor_json(r) for n, r in rms.items()}, typical
    start = {name: p.detach().clone() for name, p in trained(model).items()}
    state = (torch.zeros(LAYERS, 1, WIDTH, dtype=dtype),) * 2
    words = [0, *test]  # the first is predicted from <eos>, word 0
    for k in range(SEGMENTS):
        part = torch.tensor(words[k * SEGMENT : (k + 1) * SEGMENT + 1])
        logits, state = model(part[:-1].unsqueeze(1), state)
        losses = F.cross_entropy(logits.squeeze(1), part[1:], reduction="none")
        record["nats"] += losses.tolist()
        gradients = take_gradients(model, losses.mean())
        with torch.no_grad():
            for name, p in trained(model).items():
                g = gradients[name]
                if rule == "rms":
                    r = rms[name]
                    p += (DECAY * r / typical).clamp(max=1) * (start[name] - p) - RATE * g / (r + EPSILON)
                else:
                    p -= SGD_RATE * g
        if k + 1 in RECORDED:
            record["weights"][str(k + 1)] = parameters_json(model)
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.backends.mkldnn.enabled = False
    train, test = made_text(STREAMS * 42 + 37, 3), made_text(SEGMENTS * SEGMENT, 4)
    runs = {}
    for tied in (False, True):
        for rule in ("rms", "sgd"):
            double = run(tied, rule, train, test, torch.float64)
            single = run(tied, rule, train, test, torch.float32)
            if rule == "sgd":
                del double["rms"], double["typical"]
                double["weights"] = {str(SEGMENTS): double["weights"][str(SEGMENTS)]}
            double["nats_float32"] = single["nats"]
            if rule == "rms":
                double["rms_float32"] = single["rms"]
            runs[f"{rule}_{'tied' if tied else 'untied'}"] = double
    settings = {"vocab": VOCAB, "width": WIDTH, "layers": LAYERS, "streams": STREAMS, "steps": STEPS,
                "segment": SEGMENT, "rate": RATE, "decay": DECAY, "epsilon": EPSILON, "sgd_rate": SGD_RATE}
    (args.out / "dynamic.json").write_text(
        json.dumps({"torch": torch.__version__, "settings": settings, "train": train, "test": test, "runs": runs}) + "\n")


if __name__ == "__main__":
    main()
