"""Writes transformer.json: torch.nn.TransformerEncoder with norms first, gelu, and a mask that says which steps each step sees and
adds biases that fall with the distance (Press, Smith and Lewis 2022), with rows that begin anew and without.

Usage: python3 make_transformer.py [--out DIR]     (README.md beside this file explains what is in it)
"""

import argparse
import json
import pathlib
from typing import Any

import torch
from torch import nn

from make_reference import tensor_json

DIM, HEADS, LAYERS, UNITS, MEMORY, STEPS, BATCH = 6, 3, 2, 10, 3, 8, 2
CASES: dict[str, list[tuple[int, int]]] = {"plain": [], "resets": [(2, 0), (5, 0), (4, 1)]}  # steps and rows that begin anew


def mask_of(resets: list[tuple[int, int]]) -> torch.Tensor:
    """[batch · heads, steps, steps]: what is added to the scores."""
    mask = torch.full((BATCH, HEADS, STEPS, STEPS), -torch.inf)
    for b in range(BATCH):
        for t in range(STEPS):
            first = max([0] + [s for s, row in resets if row == b and s <= t])
            for s in range(max(first, t - MEMORY), t + 1):
                for h in range(HEADS):
                    mask[b, h, t, s] = -(t - s) * 2 ** (-8 * (h + 1) / HEADS)
    return mask.reshape(BATCH * HEADS, STEPS, STEPS)


def case(resets: list[tuple[int, int]]) -> dict[str, Any]:
    """The loss is sum(y * dy)."""
    layer = nn.TransformerEncoderLayer(DIM, HEADS, UNITS, dropout=0.0, activation="gelu", norm_first=True)
    net = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(DIM), enable_nested_tensor=False)
    for parameter in net.parameters():
        nn.init.normal_(parameter, 0, 0.5)
    x = torch.randn(STEPS, BATCH, DIM, requires_grad=True)
    dy = torch.randn(STEPS, BATCH, DIM)
    y = net(x, mask=mask_of(resets))
    (y * dy).sum().backward()
    flags = torch.zeros(STEPS, BATCH)
    for step, row in resets:
        flags[step, row] = 1
    return {
        "resets": tensor_json(flags),
        "x": tensor_json(x),
        "dy": tensor_json(dy),
        "y": tensor_json(y),
        "dx": tensor_json(x.grad),
        "parameters": {name: tensor_json(p) for name, p in net.named_parameters()},
        "gradients": {name: tensor_json(p.grad) for name, p in net.named_parameters()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    out: pathlib.Path = parser.parse_args().out
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(1)
    text = json.dumps({"torch": torch.__version__.split("+")[0], "dim": DIM, "heads": HEADS, "layers": LAYERS, "units": UNITS, "memory": MEMORY,
                       "cases": {name: case(resets) for name, resets in CASES.items()}}, separators=(",", ":"))
    (out / "transformer.json").write_text(text.replace(',"', ',\n"') + "\n")
    print(f"transformer.json: {len(text) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
