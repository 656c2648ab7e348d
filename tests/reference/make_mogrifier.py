"""Writes mogrifier.json: two layers of an LSTM whose x and h scale each other before each step (Melis, Kočiský and Blunsom 2020),
spelled out with PyTorch's operations, by full matrices and by products of two, with an odd and an even number of rounds.

Usage: python3 make_mogrifier.py [--out DIR]     (README.md beside this file explains what is in it)
"""

import argparse
import json
import pathlib
from collections.abc import Callable
from typing import Any

import torch

from make_reference import tensor_json

INPUT, HIDDEN, LAYERS, STEPS, BATCH = 3, 4, 2, 5, 3
CASES = {"full_odd": (3, 0), "full_even": (2, 0), "rank_odd": (5, 2), "rank_even": (4, 2)}  # rounds and rank; 0: full matrices

Tensors = dict[str, torch.Tensor]


def shapes(rounds: int, rank: int) -> dict[str, tuple[int, ...]]:
    """Of the parameters under our names, gates i f g o with one bias each."""
    result: dict[str, tuple[int, ...]] = {}
    for layer in range(LAYERS):
        x = HIDDEN if layer else INPUT
        result |= {f"weight_ih_l{layer}": (4 * HIDDEN, x), f"weight_hh_l{layer}": (4 * HIDDEN, HIDDEN), f"bias_l{layer}": (4 * HIDDEN,)}
        for i in range(1, rounds + 1):
            scaled, seen = (x, HIDDEN) if i % 2 else (HIDDEN, x)
            name = f"mogrifier_{'q' if i % 2 else 'r'}{i}"
            if rank:
                result |= {f"{name}_left_l{layer}": (scaled, rank), f"{name}_right_l{layer}": (rank, seen)}
            else:
                result[f"{name}_l{layer}"] = (scaled, seen)
    return result


def mogrified(p: Tensors, layer: int, rounds: int, rank: int, x: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    for i in range(1, rounds + 1):
        name = f"mogrifier_{'q' if i % 2 else 'r'}{i}"
        matrix = p[f"{name}_left_l{layer}"] @ p[f"{name}_right_l{layer}"] if rank else p[f"{name}_l{layer}"]
        if i % 2:
            x = 2 * torch.sigmoid(h @ matrix.T) * x
        else:
            h = 2 * torch.sigmoid(x @ matrix.T) * h
    return x, h


def step(p: Tensors, layer: int, rounds: int, rank: int, x: torch.Tensor, h: torch.Tensor,
         c: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    x, h = mogrified(p, layer, rounds, rank, x, h)
    gates = x @ p[f"weight_ih_l{layer}"].T + h @ p[f"weight_hh_l{layer}"].T + p[f"bias_l{layer}"]
    i, f, g, o = gates.chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def case(rounds: int, rank: int, random: Callable[..., torch.Tensor]) -> dict[str, Any]:
    """The loss is sum(y * dy) + sum(hn * dhn) + sum(cn * dcn)."""
    p = {n: (random(*shape) * 0.7).requires_grad_() for n, shape in shapes(rounds, rank).items()}
    x, h0, c0 = (t.requires_grad_() for t in (random(STEPS, BATCH, INPUT), random(LAYERS, BATCH, HIDDEN), random(LAYERS, BATCH, HIDDEN)))
    y, hn, cn = x, [], []
    for layer in range(LAYERS):
        h, c, of_layer = h0[layer], c0[layer], []
        for t in range(STEPS):
            h, c = step(p, layer, rounds, rank, y[t], h, c)
            of_layer.append(h)
        y = torch.stack(of_layer)
        hn.append(h), cn.append(c)
    last_h, last_c = torch.stack(hn), torch.stack(cn)
    dy, dhn, dcn = random(*y.shape), random(*last_h.shape), random(*last_c.shape)
    torch.autograd.backward((y, last_h, last_c), (dy, dhn, dcn))
    tensors = {"x": x, "h0": h0, "c0": c0, "y": y, "hn": last_h, "cn": last_c, "dy": dy, "dhn": dhn, "dcn": dcn,
               "dx": x.grad, "dh0": h0.grad, "dc0": c0.grad}
    return {"rounds": rounds, "rank": rank, "parameters": {n: tensor_json(t) for n, t in p.items()},
            "gradients": {n: tensor_json(t.grad) for n, t in p.items()}, **{n: tensor_json(t) for n, t in tensors.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    out: pathlib.Path = parser.parse_args().out
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(17)
    random = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)
    values = {"torch": torch.__version__.split("+")[0], "input": INPUT, "hidden": HIDDEN, "layers": LAYERS,
              "cases": {name: case(*what, random) for name, what in CASES.items()}}
    text = json.dumps(values, indent=None, separators=(",", ":"), allow_nan=False)
    (out / "mogrifier.json").write_text(text.replace(',"', ',\n"') + "\n")
    print(f"mogrifier.json: {len(text) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
