"""Scores models of ptb in PyTorch, to hold `ptb evaluate` against a program that shares nothing with it.

Reads the safetensors file, its vocabulary and the text; computes with torch.nn.LSTM or torch.nn.TransformerEncoder, in
float32. A split is cut into --batch streams whose lengths differ by one at most; each begins with an empty state and the word before it, the first with
<eos>. Every token is scored once: perplexity = exp(total negative log-likelihood / tokens). With --ptb the program scores
the same, and both are printed.

Usage: python3 pytorch_evaluate.py runs/ptb-6m-1/best.safetensors --data data/ptb --ptb build/examples/ptb/ptb
"""

import argparse
import json
import math
import subprocess
import tomllib
from pathlib import Path

import torch
from safetensors import safe_open
from torch.nn import functional as F

from programs import built

# What changes a trained model's arithmetic, and is not in torch.nn.LSTM. (What is dropped in training is not.)
PLAIN = {"cell": "lstm", "gate_activation": "sigmoid", "cell_activation": "tanh", "layer_norm": False, "peepholes": False,
         "cell_clip": 0, "coupled_gates": False, "projection": 0, "residual": False, "mogrifier": 0, "zoneout_h": 0,
         "zoneout_c": 0}


class Lstm:
    """As many torch.nn.LSTM as there are layers, since each may have a width of its own."""

    def __init__(self, path: Path, settings: dict, tensors: dict) -> None:
        unknown = [f"{key} = {settings[key]}" for key, plain in PLAIN.items() if settings[key] != plain]
        if unknown:
            raise SystemExit(f"{path}: torch.nn.LSTM has no {', '.join(unknown)}")
        self.table = tensors["embedding.weight"]
        self.layers = []
        for k in range(settings["layers"]):
            weights = {f"{name}_l0": tensors[f"lstm.{name}_l{k}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
            layer = torch.nn.LSTM(weights["weight_ih_l0"].shape[1], weights["weight_hh_l0"].shape[1])
            layer.load_state_dict(weights)
            self.layers.append(layer)

    def outputs(self, inputs: torch.Tensor):
        """Of inputs [steps, streams], piece by piece: [steps of the piece, streams, width]."""
        states = [None] * len(self.layers)
        for x in inputs.split(50):
            y = F.embedding(x, self.table)
            for k, layer in enumerate(self.layers):
                y, states[k] = layer(y, states[k])
            yield y


class Transformer:
    """torch.nn.TransformerEncoder, which keeps nothing between calls: each piece is read again from as far back as a word
    reaches, layers times memory steps."""

    def __init__(self, settings: dict, tensors: dict) -> None:
        width, self.heads, self.memory = settings["embedding"], settings["heads"], settings["memory"]
        self.table = tensors["embedding.weight"] * math.sqrt(width)
        layer = torch.nn.TransformerEncoderLayer(width, self.heads, settings["feed_forward"] or 4 * width, dropout=0,
                                                 activation="gelu", norm_first=True)
        self.net = torch.nn.TransformerEncoder(layer, settings["layers"], torch.nn.LayerNorm(width), enable_nested_tensor=False)
        self.net.load_state_dict({name.removeprefix("transformer."): tensor for name, tensor in tensors.items()
                                  if name.startswith("transformer.")})
        self.reach = settings["layers"] * self.memory

    def bias(self, steps: int) -> torch.Tensor:
        """What is added to the scores of each head: its slope times the distance, and nothing of what is too far or to come."""
        distance = torch.arange(steps)[:, None] - torch.arange(steps)
        slopes = torch.tensor([2 ** (-8 * h / self.heads) for h in range(1, self.heads + 1)])
        hidden = (distance < 0) | (distance > self.memory)
        return (-slopes[:, None, None] * distance).masked_fill(hidden, -math.inf)

    def outputs(self, inputs: torch.Tensor):
        at = 0
        for x in inputs.split(256):
            begin = max(0, at - self.reach)
            read = F.embedding(inputs[begin : at + len(x)], self.table)
            yield self.net(read, mask=self.bias(len(read)).repeat(read.shape[1], 1, 1))[at - begin :]
            at += len(x)


class Model:
    def __init__(self, path: Path) -> None:
        with safe_open(path, "pt") as file:
            metadata = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys() if not name.startswith("training/")}
        self.recipe = tomllib.loads(metadata["recipe"])
        settings = self.recipe["model"]
        architecture = settings.get("architecture", "recurrent")
        if architecture not in ("recurrent", "transformer"):
            raise SystemExit(f'{path}: model.architecture = "{architecture}" is not written here')
        self.number = {word: i for i, word in enumerate(json.loads(metadata["vocabulary"]))}
        self.decoder = tensors["decoder.weight"], tensors["decoder.bias"]
        self.mixture = [tensors[f"mixture.{name}"] for name in ("prior.weight", "latent.weight", "latent.bias")
                        if settings.get("softmax") == "mixture"]
        self.net = Transformer(settings, tensors) if architecture == "transformer" else Lstm(path, settings, tensors)

    def scores(self, y: torch.Tensor) -> torch.Tensor:
        """Of the next word: logits, or log p of a mixture of softmaxes."""
        if not self.mixture:
            return F.linear(y, *self.decoder)
        prior, *latent = self.mixture
        vectors = F.linear(y, *latent).tanh().unflatten(-1, (len(prior), -1))
        shares = F.linear(y, prior).log_softmax(-1)
        return torch.logsumexp(F.linear(vectors, *self.decoder).log_softmax(-1) + shares[..., None], -2)

    def perplexity(self, text: list[int], batch: int) -> float:
        eos = self.number["<eos>"]
        length, longer = divmod(len(text), batch)
        total, at = 0.0, 0
        # Streams of one length go side by side.
        for streams, steps in ((longer, length + 1), (batch - longer, length)):
            if streams == 0 or steps == 0:
                continue
            targets = torch.tensor(text[at : at + streams * steps]).reshape(streams, steps).t()
            firsts = [text[at + k * steps - 1] if at + k > 0 else eos for k in range(streams)]
            inputs = torch.cat([torch.tensor([firsts]), targets[:-1]])
            at += streams * steps
            scored = 0
            for y in self.net.outputs(inputs):
                wanted = targets[scored : scored + len(y)]
                scored += len(y)
                losses = F.cross_entropy(self.scores(y).flatten(0, 1), wanted.flatten(), reduction="none")
                total += losses.double().sum().item()
        return math.exp(total / len(text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--data", type=Path, default="data/ptb")
    parser.add_argument("--split", default="test", choices=("train", "valid", "test"))
    parser.add_argument("--batch", type=int, help="streams; without it the recipe's data.eval_batch")
    parser.add_argument("--ptb", type=built, help="the program, to score the same")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    for path in args.models:
        model = Model(path)
        lines = (args.data / f"ptb.{args.split}.txt").read_text().splitlines()
        text = [model.number[word] for line in lines for word in [*line.split(), "<eos>"]]
        text = text[: model.recipe["data"].get("limit") or None]
        batch = args.batch or model.recipe["data"]["eval_batch"]
        with torch.no_grad():
            score = model.perplexity(text, batch)
        line = f"{path}, {args.split}, {batch} streams, {len(text)} tokens: PyTorch {torch.__version__} {score:.6f}"
        if args.ptb:
            command = [args.ptb, "evaluate", str(path), "--data", str(args.data), "--split", args.split, "--batch", str(batch),
                       "--threads", str(args.threads), "--json"]
            printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            result = json.loads(printed)
            if result["tokens"] != len(text):
                raise SystemExit(f"{path}: ptb scored {result['tokens']} tokens, and the text has {len(text)} here")
            ours = result[f"{args.split}_perplexity"]
            line += f", ptb {ours:.6f}, relative difference {abs(ours - score) / score:.1e}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
