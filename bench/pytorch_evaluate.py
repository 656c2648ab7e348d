"""Scores models of ptb in PyTorch, to hold `ptb evaluate` against a program that shares nothing with it.

Reads the safetensors file, its vocabulary and the text; computes with torch.nn.LSTM, in float32. A split is cut into
--batch streams whose lengths differ by one at most; each begins with an empty state and the word before it, the first with
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

# What changes a trained model's arithmetic, and is not in torch.nn.LSTM. (What is dropped in training is not.)
PLAIN = {"cell": "lstm", "gate_activation": "sigmoid", "cell_activation": "tanh", "layer_norm": False, "peepholes": False,
         "cell_clip": 0, "coupled_gates": False, "projection": 0, "residual": False, "mogrifier": 0, "zoneout_h": 0,
         "zoneout_c": 0}


class Model:
    def __init__(self, path: Path) -> None:
        with safe_open(path, "pt") as file:
            metadata = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys() if not name.startswith("training/")}
        self.recipe = tomllib.loads(metadata["recipe"])
        settings = self.recipe["model"]
        unknown = [f"{key} = {settings[key]}" for key, plain in PLAIN.items() if settings[key] != plain]
        if unknown:
            raise SystemExit(f"{path}: torch.nn.LSTM has no {', '.join(unknown)}")
        self.number = {word: i for i, word in enumerate(json.loads(metadata["vocabulary"]))}
        self.table = tensors["embedding.weight"]
        self.decoder = tensors["decoder.weight"], tensors["decoder.bias"]
        self.layers = []
        for k in range(settings["layers"]):
            weights = {f"{name}_l0": tensors[f"lstm.{name}_l{k}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
            layer = torch.nn.LSTM(weights["weight_ih_l0"].shape[1], weights["weight_hh_l0"].shape[1])
            layer.load_state_dict(weights)
            self.layers.append(layer)

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
            states = [None] * len(self.layers)
            for x, wanted in zip(inputs.split(50), targets.split(50)):
                y = F.embedding(x, self.table)
                for k, layer in enumerate(self.layers):
                    y, states[k] = layer(y, states[k])
                logits = F.linear(y, *self.decoder)
                losses = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction="none")
                total += losses.double().sum().item()
        return math.exp(total / len(text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--data", type=Path, default="data/ptb")
    parser.add_argument("--split", default="test", choices=("train", "valid", "test"))
    parser.add_argument("--batch", type=int, help="streams; without it the recipe's data.eval_batch")
    parser.add_argument("--ptb", help="the program, to score the same")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    for path in args.models:
        model = Model(path)
        lines = (args.data / f"ptb.{args.split}.txt").read_text().splitlines()
        text = [model.number[word] for line in lines for word in [*line.split(), "<eos>"]]
        batch = args.batch or model.recipe["data"]["eval_batch"]
        with torch.no_grad():
            score = model.perplexity(text, batch)
        line = f"{path}, {args.split}, {batch} streams, {len(text)} tokens: PyTorch {torch.__version__} {score:.6f}"
        if args.ptb:
            command = [args.ptb, "evaluate", str(path), "--data", str(args.data), "--split", args.split, "--batch", str(batch),
                       "--threads", str(args.threads), "--json"]
            printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            ours = json.loads(printed)[f"{args.split}_perplexity"]
            line += f", ptb {ours:.6f}, relative difference {abs(ours - score) / score:.1e}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
