"""The parts of bench_parts by PyTorch, the way its users write them: one line of JSON with the milliseconds of each pass.

Usage: python3 pytorch_parts.py PART --width N [--how eager|compile|script] [--precision bf16] [--threads N] [--seconds S]
`compile` is torch.compile, `script` torch.jit.script. run_parts.py tries them all and takes the fastest.
"""

import argparse
import json
import time
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    """One product for queries, keys and values, and PyTorch's fused attention. [batch, steps, width]: its own order."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = max(1, width // 64)
        self.into, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, steps, width = x.shape
        parts = self.into(x).view(batch, steps, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, steps, width))


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.before, self.attend, self.between = nn.LayerNorm(width), Attention(width), nn.LayerNorm(width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attend(self.before(x))
        return x + self.narrow(F.gelu(self.wide(self.between(x))))


class OwnCell(nn.Module):
    """A minimal gated unit over the steps, its product of the inputs of all steps taken first: the most that a user does."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.into, self.recurrent = nn.Linear(width, 2 * width), nn.Linear(width, 2 * width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sums = self.into(x)
        h = torch.zeros(x.shape[1], self.width, dtype=x.dtype)
        ys: list[torch.Tensor] = []
        for t in range(x.shape[0]):
            a, q = sums[t].chunk(2, 1), self.recurrent(h).chunk(2, 1)
            f = torch.sigmoid(a[0] + q[0])
            h = h + f * (torch.tanh(a[1] + f * q[1]) - h)
            ys.append(h)
        return torch.stack(ys)


PARTS: dict[str, tuple[Callable[[int], nn.Module], tuple[int, int]]] = {
    "attention": (Attention, (16, 128)), "block": (Block, (16, 128)), "own_cell": (OwnCell, (35, 20))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--how", choices=["eager", "compile", "script"], default="eager")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0)
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    make, shape = PARTS[args.part]
    module = make(args.width)
    run = {"eager": lambda m: m, "compile": torch.compile, "script": torch.jit.script}[args.how](module)
    x = (2 * torch.rand(*shape, args.width) - 1).requires_grad_()

    def once() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=args.precision == "bf16"):
            y = run(x)
        y.float().sum().backward()
        module.zero_grad(set_to_none=True)
        x.grad = None

    for _ in range(5):  # compiling, a script's profile, memory
        once()
    times: list[float] = []
    end = time.perf_counter() + args.seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        once()
        times.append(1000 * (time.perf_counter() - start))
    print(json.dumps({"part": args.part, "how": args.how, "precision": args.precision, "width": args.width, "threads": args.threads,
                      "version": torch.__version__, "ms": times}))


if __name__ == "__main__":
    main()
