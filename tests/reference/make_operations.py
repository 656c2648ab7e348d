"""Writes operations.json: values and gradients of operations, losses and attention by PyTorch, in double.

Usage: python3 make_operations.py [--out FILE]     (README.md beside this file explains what is in it)
"""

import argparse
import itertools
import json
import pathlib
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

generator = torch.Generator().manual_seed(40)


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def tensor_json(x: torch.Tensor) -> dict[str, Any]:
    return {"shape": list(x.shape), "data": x.detach().reshape(-1).tolist()}


def case(function: Callable[..., torch.Tensor], options: dict[str, Any] | None = None, **inputs: torch.Tensor) -> dict[str, Any]:
    """y = function(**inputs) and, of every float input, the gradient of sum(y · dy): "dx" of "x"."""
    named = {n: x.clone().requires_grad_(x.is_floating_point()) for n, x in inputs.items()}
    y = function(**named)
    dy = normal(*y.shape)
    (y * dy).sum().backward()
    result = {**(options or {}), "y": tensor_json(y), "dy": tensor_json(dy)}
    for name, x in named.items():
        result[name] = tensor_json(x)
        if x.grad is not None:
            result["d" + name] = tensor_json(x.grad)
    return result


def elements() -> dict[str, Any]:
    x = torch.cat([normal(3, 5) * 2, torch.tensor([[0.0, -6.0, 6.0, 1e-9, -1e-9]], dtype=torch.float64)])
    positive = normal(3, 4).abs() + 0.2
    return {
        "erf": case(lambda x: torch.erf(x), x=x),
        "gelu": case(lambda x: F.gelu(x), x=x),
        "gelu_tanh": case(lambda x: F.gelu(x, approximate="tanh"), x=x),
        "silu": case(lambda x: F.silu(x), x=x),
        "sin": case(lambda x: torch.sin(x), x=x),
        "cos": case(lambda x: torch.cos(x), x=x),
        "pow": case(lambda x, e: torch.pow(x, e), x=positive, e=normal(4)),
        "pow_cube": case(lambda x: torch.pow(x, 3), x=normal(3, 4)),
        "clamp": case(lambda x: torch.clamp(x, -0.5, 1.0), x=normal(4, 6)),
        "logsumexp_last": case(lambda x: torch.logsumexp(x, -1), x=normal(3, 5) * 4),
        "logsumexp_middle": case(lambda x: torch.logsumexp(x, 1), x=normal(2, 5, 3) * 4),
        "cumsum_first": case(lambda x: torch.cumsum(x, 0), x=normal(5, 3)),
        "cumsum_middle": case(lambda x: torch.cumsum(x, 1), x=normal(2, 5, 3)),
    }


def choices() -> dict[str, Any]:
    ids = lambda bound, *shape: torch.randint(bound, shape, generator=generator)
    keep = ids(2, 3, 1, 4).double()
    top = normal(2, 7, 3)
    return {
        "gather": case(lambda x, ids: torch.gather(x, 1, ids), x=normal(2, 5, 3), ids=ids(5, 2, 4, 3)),
        "index_select": case(lambda x, ids: torch.index_select(x, 1, ids), x=normal(2, 5, 3), ids=torch.tensor([4, 0, 4, 2])),
        "where": case(lambda a, b: torch.where(keep != 0, a, b), {"condition": tensor_json(keep)}, a=normal(2, 4), b=normal(3, 2, 4)),
        "masked_fill": case(lambda x: x.masked_fill(keep != 0, 2.5), {"condition": tensor_json(keep)}, x=normal(3, 2, 4)),
        "topk": case(lambda x: torch.topk(x, 3, 1).values, {"indices": tensor_json(torch.topk(top, 3, 1).indices),
                                                           "argmax": tensor_json(torch.argmax(top, 1))}, x=top),
        "matmul": case(lambda a, b: a @ b, a=normal(2, 1, 3, 4), b=normal(5, 4, 2)),
        "matmul_left": case(lambda a, b: a @ b, a=normal(3, 4), b=normal(2, 5, 4, 2)),
        "permute": case(lambda x: x.permute(3, 0, 2, 1), x=normal(2, 3, 4, 5)),
        "permute_six": case(lambda x: x.permute(5, 1, 0, 4, 2, 3), x=normal(2, 3, 1, 2, 3, 2)),
        "pad": case(lambda x: F.pad(x, (0, 0, 2, 1), value=1.5), x=normal(2, 3, 4)),
    }


def losses() -> dict[str, Any]:
    target = torch.tensor([2, 0, -1, 4, 1])
    smoothed = lambda reduction: lambda x: F.cross_entropy(x, target, ignore_index=-1, label_smoothing=0.2, reduction=reduction)
    probabilities = torch.softmax(normal(3, 5), -1)
    probabilities[0, 1] = 0
    truth = normal(3, 4)
    result = {"smoothed_" + r: case(smoothed(r), {"targets": tensor_json(target)}, x=normal(5, 6)) for r in ("mean", "sum", "none")}
    result["huber"] = case(lambda x: F.huber_loss(x, truth, delta=0.7), {"target": tensor_json(truth)}, x=normal(3, 4) * 2)
    result["kl"] = case(lambda x: F.kl_div(F.log_softmax(x, -1), probabilities, reduction="batchmean"),
                        {"target": tensor_json(probabilities)}, x=normal(3, 5))
    labels = torch.tensor([[1, 1, 3], [2, 3, 1], [4, 2, 2], [1, 2, 3]])  # the second row has one label, the last does not fit
    steps, lengths = torch.tensor([7, 5, 6, 2]), torch.tensor([3, 1, 3, 3])
    for reduction in ("mean", "sum", "none"):
        result["ctc_" + reduction] = case(
            lambda x: F.ctc_loss(F.log_softmax(x, -1), labels, steps, lengths, blank=0, reduction=reduction, zero_infinity=True),
            {"labels": tensor_json(labels), "steps": tensor_json(steps), "lengths": tensor_json(lengths)}, x=normal(7, 4, 5) * 2)
    result["crf"] = crf(steps=5, lengths=[5, 3, 1], tags=3)
    return result


def crf(steps: int, lengths: list[int], tags: int) -> dict[str, Any]:
    """A linear chain by its definition: all rows of tags, one by one."""
    right = torch.randint(tags, (steps, len(lengths)), generator=generator)

    def score(x, transitions, start, end, path, row):
        terms = [start[path[0]], end[path[-1]]] + [x[t, row, tag] for t, tag in enumerate(path)]
        return sum(terms + [transitions[a, b] for a, b in zip(path, path[1:])])

    def loss(x, transitions, start, end):
        rows = []
        for row, length in enumerate(lengths):
            of = lambda path: score(x, transitions, start, end, path, row)
            every = torch.stack([of(path) for path in itertools.product(range(tags), repeat=length)])
            rows.append(torch.logsumexp(every, 0) - of(right[:length, row].tolist()))
        return torch.stack(rows)

    result = case(loss, {"tags": tensor_json(right), "lengths": lengths}, x=normal(steps, len(lengths), tags), transitions=normal(tags, tags),
                  start=normal(tags), end=normal(tags))
    values = {n: torch.tensor(result[n]["data"], dtype=torch.float64).reshape(result[n]["shape"]) for n in ("x", "transitions", "start", "end")}
    paths = [max(itertools.product(range(tags), repeat=length), key=lambda path: float(score(**values, path=path, row=row)))
             for row, length in enumerate(lengths)]
    return {**result, "paths": paths}


def attention() -> dict[str, Any]:
    steps, past, batch, heads, width, of_value = 5, 7, 2, 2, 3, 4
    lengths = [7, 4]

    def heads_first(x: torch.Tensor) -> torch.Tensor:  # [steps, batch, heads·d] -> [batch, heads, steps, d]
        return x.reshape(x.shape[0], batch, heads, -1).permute(1, 2, 0, 3)

    def dot(mask: torch.Tensor | None, **options: Any):
        def function(q, k, v):
            y = F.scaled_dot_product_attention(heads_first(q), heads_first(k), heads_first(v), attn_mask=mask, **options)
            return y.permute(2, 0, 1, 3).reshape(q.shape[0], batch, -1)
        return function

    seen = torch.arange(past)[None, None, None, :] < torch.tensor(lengths)[:, None, None, None]
    q, k, v = normal(steps, batch, heads * width), normal(past, batch, heads * width), normal(past, batch, heads * of_value)
    own = [normal(past, batch, heads * n) for n in (width, width, of_value)]
    additive_weights = {"query_weight": normal(4, 3), "key_weight": normal(4, 2), "key_bias": normal(4), "v": normal(4)}

    def additive(query, keys, query_weight, key_weight, key_bias, v):
        scores = torch.tanh(query @ query_weight.T + keys @ key_weight.T + key_bias) @ v  # [past, batch]
        scores = scores.masked_fill(torch.arange(past)[:, None] >= torch.tensor(lengths)[None, :], -torch.inf)
        return (torch.softmax(scores, 0)[:, :, None] * keys).sum(0)

    torch.manual_seed(3)
    layer = nn.MultiheadAttention(4, 2, dtype=torch.float64)
    with torch.no_grad():
        layer.in_proj_bias.copy_(normal(12))
        layer.out_proj.bias.copy_(normal(4))
    padding = torch.arange(past)[None, :] >= torch.tensor(lengths)[:, None]
    parameters = {n: tensor_json(p) for n, p in layer.named_parameters()}
    self_attention = case(lambda x: layer(x, x, x, key_padding_mask=padding, need_weights=False)[0] * ~padding.T[:, :, None], {"lengths": lengths, "weights": parameters},
                          x=normal(past, batch, 4))
    self_attention["gradients"] = {n: tensor_json(p.grad) for n, p in layer.named_parameters()}
    return {
        "dot": case(dot(None), {"heads": heads}, q=q, k=k, v=v),
        "dot_lengths": case(dot(seen), {"heads": heads, "lengths": lengths}, q=q, k=k, v=v),
        "dot_causal": case(dot(None, is_causal=True), {"heads": heads}, q=own[0], k=own[1], v=own[2]),
        "multi_head": self_attention,
        "additive": case(additive, {"lengths": lengths}, query=normal(batch, 3), keys=normal(past, batch, 2), **additive_weights),
    }


def bowl(**options: Any) -> dict[str, Any]:
    """Weights in a quadratic bowl, by RMSprop: where they are after each step."""
    weights = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
    curvature = torch.tensor([0.1, 1.0, 5.0], dtype=torch.float64)
    optimizer = torch.optim.RMSprop([weights], **options)
    path = []
    for _ in range(30):
        optimizer.zero_grad()
        (0.5 * curvature * weights**2).sum().backward()
        optimizer.step()
        path.append(weights.detach().tolist())
    return {"options": options, "curvature": curvature.tolist(), "path": path}


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "operations.json")
    out = arguments.parse_args().out
    values = {"elements": elements(), "choices": choices(), "losses": losses(), "attention": attention(),
              "rmsprop": [bowl(lr=0.05), bowl(lr=0.02, alpha=0.9, momentum=0.8), bowl(lr=0.05, weight_decay=0.1, eps=1e-4)]}
    out.write_text(json.dumps(values) + "\n")


if __name__ == "__main__":
    main()
