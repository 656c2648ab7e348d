"""Writes inspection.json: what lies inside small language models while they read a text, in PyTorch, in double.

Usage: python3 make_inspection.py [--out DIR]     (README.md beside this file explains what is in it)

The recurrent layers are spelled out step by step, so that autograd knows each state; their results are compared with torch's own
modules first. Every gate has one bias: torch's bias_hh is zero, but for the part of it that a GRU's reset gate acts on.
"""

import argparse
import json
import pathlib
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from make_reference import tensor_json

VOCAB, WIDTH, LAYERS, PROJECTION = 11, 5, 2, 3
EOS, UNK = 0, 1
TEXT = [4, 7, UNK, 4, 9, 10, EOS, 3, 3, UNK, EOS]  # targets; what is read is the word before, <eos> at first
OUTPUTS = [8, 0, 3]  # of what is made of the last step: their gradients at every number read
PREFIXES = [([EOS, 4, 7], 9, 10), ([EOS, 4, 7, UNK, 5, 6], 8, 9), ([EOS, 2], 3, 2)]  # words before, right form, wrong form


def make_model(kind: str) -> nn.ModuleDict:
    modules = {"lstm": lambda: nn.LSTM(WIDTH, WIDTH, LAYERS), "gru": lambda: nn.GRU(WIDTH, WIDTH, LAYERS),
               "rnn": lambda: nn.RNN(WIDTH, WIDTH, LAYERS), "projected": lambda: nn.LSTM(WIDTH, WIDTH, LAYERS, proj_size=PROJECTION),
               "tied": lambda: nn.LSTM(WIDTH, WIDTH, LAYERS)}
    model = nn.ModuleDict({"embedding": nn.Embedding(VOCAB, WIDTH), "recurrent": modules[kind](),
                           "decoder": nn.Linear(PROJECTION if kind == "projected" else WIDTH, VOCAB)})
    generator = torch.Generator().manual_seed(sum(map(ord, kind)))
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_((torch.rand(p.shape, generator=generator, dtype=torch.float32) * 2 - 1) * 0.8)
            if "bias_hh" in name:
                p[: 2 * WIDTH if kind == "gru" else None] = 0
        if kind == "tied":
            model["decoder"].weight = model["embedding"].weight
    return model.double()


def step(module: nn.Module, k: int, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> tuple[dict[str, torch.Tensor], Any, Any]:
    w_ih, w_hh, b_ih, b_hh = (getattr(module, f"{n}_l{k}") for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    a, q = F.linear(x, w_ih, b_ih), F.linear(h, w_hh, b_hh)
    if isinstance(module, nn.LSTM):
        i, f, g, o = (a + q).chunk(4, -1)
        i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
        c = f * c + i * g
        h = o * c.tanh()
        if module.proj_size:
            h = F.linear(h, getattr(module, f"weight_hr_l{k}"))
        return {"i": i, "f": f, "g": g, "o": o}, h, c
    if isinstance(module, nn.GRU):
        (ar, az, an), (qr, qz, qn) = a.chunk(3, -1), q.chunk(3, -1)
        r, z = (ar + qr).sigmoid(), (az + qz).sigmoid()
        n = (an + r * qn).tanh()
        return {"r": r, "z": z, "n": n}, (1 - z) * n + z * h, c
    return {}, (a + q).tanh(), c


def unrolled(model: nn.ModuleDict, tokens: list[int]) -> dict[str, Any]:
    """Every step's embedding, gates and states, each of which keeps its gradient."""
    module = model["recurrent"]
    width = getattr(module, "proj_size", 0) or WIDTH
    h = [torch.zeros(width, dtype=torch.float64) for _ in range(LAYERS)]
    c = [torch.zeros(WIDTH, dtype=torch.float64) for _ in range(LAYERS)]
    seen: dict[str, Any] = {"embedding": [], "gates": [[] for _ in h], "h": [[] for _ in h], "c": [[] for _ in h], "logits": []}
    for token in tokens:
        x = model["embedding"](torch.tensor(token))
        x.retain_grad()
        seen["embedding"].append(x)
        for k in range(LAYERS):
            gates, h[k], c[k] = step(module, k, x, h[k], c[k])
            for value in (h[k], c[k]):
                if value.requires_grad:
                    value.retain_grad()
            seen["gates"][k].append(gates)
            seen["h"][k].append(h[k])
            seen["c"][k].append(c[k])
            x = h[k]
        seen["logits"].append(model["decoder"](x))
    return seen


def norms(values: list[torch.Tensor]) -> list[float]:
    return [0.0 if v.grad is None else v.grad.norm().item() for v in values]


def parameters(model: nn.ModuleDict, kind: str) -> dict[str, Any]:
    """Under our names."""
    cell = "lstm" if kind in ("projected", "tied") else kind
    result = {}
    for name, p in model.named_parameters():
        if name == "decoder.weight" and kind == "tied":
            continue
        if "bias_hh" in name:
            if kind == "gru":
                result[name.replace("recurrent.bias_hh", "gru.bias_hn")] = tensor_json(p[2 * WIDTH :])
            continue
        result[name.replace("recurrent.", f"{cell}.").replace("bias_ih", "bias")] = tensor_json(p)
    return result


def record(kind: str) -> dict[str, Any]:
    model = make_model(kind)
    inputs = [EOS, *TEXT[:-1]]
    seen = unrolled(model, inputs)
    expected, _ = model["recurrent"](model["embedding"](torch.tensor(inputs)[:, None]))
    assert torch.allclose(torch.stack(seen["h"][-1]), expected[:, 0], rtol=1e-12, atol=1e-14)
    has_c = isinstance(model["recurrent"], nn.LSTM)
    names = list(seen["gates"][0][0])
    layers = [{"gates": [tensor_json(torch.stack([g[n] for g in seen["gates"][k]])) for n in names],
               "h": tensor_json(torch.stack(seen["h"][k])), **({"c": tensor_json(torch.stack(seen["c"][k]))} if has_c else {})}
              for k in range(LAYERS)]
    reach: dict[str, Any] = {"embedding": [], "h": [[] for _ in range(LAYERS)], "c": [[] for _ in range(LAYERS)]}
    for t, target in enumerate(TEXT):
        model.zero_grad(set_to_none=True)
        one = unrolled(model, inputs)
        F.cross_entropy(one["logits"][t], torch.tensor(target)).backward()
        reach["embedding"].append(norms(one["embedding"]))
        for k in range(LAYERS):
            reach["h"][k].append(norms(one["h"][k]))
            reach["c"][k].append(norms(one["c"][k]) if has_c else [])
    if not has_c:
        del reach["c"]
    outputs: dict[str, Any] = {"y": [], "input": [], "h": [[] for _ in range(LAYERS)], "c": [[] for _ in range(LAYERS)]}
    for number in OUTPUTS:
        one = unrolled(model, inputs)
        one["logits"][-1][number].backward()
        outputs["y"].append(one["logits"][-1][number].item())
        outputs["input"].append([v for x in one["embedding"] for v in x.grad.tolist()])
        for k in range(LAYERS):
            outputs["h"][k].append(norms(one["h"][k]))
            outputs["c"][k].append(norms(one["c"][k]) if has_c else [])
    if not has_c:
        del outputs["c"]
    agreement = []
    for before, right, wrong in PREFIXES:
        p = unrolled(model, before)["logits"][-1].softmax(-1)
        agreement.append((p[right] / (p[right] + p[wrong])).item())
    return {"parameters": parameters(model, kind), "gate_names": names, "layers": layers, "reach": reach, "outputs": outputs, "agreement": agreement,
            "log_p": tensor_json(torch.stack(seen["logits"]).log_softmax(-1))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    out = parser.parse_args().out
    torch.set_num_threads(1)
    data = {"torch": torch.__version__, "vocab": VOCAB, "width": WIDTH, "layers": LAYERS, "projection": PROJECTION,
            "input": [EOS, *TEXT[:-1]], "target": TEXT, "prefixes": PREFIXES, "outputs": OUTPUTS,
            "models": {kind: record(kind) for kind in ("lstm", "gru", "rnn", "projected", "tied")}}
    (out / "inspection.json").write_text(json.dumps(data) + "\n")


if __name__ == "__main__":
    main()
