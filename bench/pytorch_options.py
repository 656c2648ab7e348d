"""What the options of a recurrent layer cost in PyTorch: one window forward and backward, beside the plain nn.LSTM.

The cases and their names are those of bench_options.cpp. Each is done the way PyTorch's users do it: by nn.LSTM where
that knows the option or takes other weights, else by the cell spelled out as a loop over steps, with the product of
all inputs before it.

Usage: python3 pytorch_options.py --hidden 200 --threads 2 --seconds 2 [--only "layer norm"]
Prints one line of JSON with the milliseconds of every window.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import rnn

STEPS, BATCH, VOCAB = 35, 20, 10000

Forward = Callable[[torch.Tensor], torch.Tensor]  # x [steps, batch, hidden] -> y


class Net(nn.Module):
    """nn.LSTM's weights, and a way to use them."""

    def __init__(self, hidden: int, **options: Any) -> None:
        super().__init__()
        self.hidden = hidden
        self.lstm = nn.LSTM(hidden, hidden, **options)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lstm(x)[0]

    def zeros(self) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.zeros(BATCH, self.hidden), torch.zeros(BATCH, self.hidden)


def locked_dropout(x: torch.Tensor, rate: float) -> torch.Tensor:
    """One mask for all steps."""
    return x * torch.empty(1, *x.shape[1:]).bernoulli_(1 - rate).div_(1 - rate)


class LockedDropout(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(locked_dropout(x, 0.4))


class WeightDrop(Net):
    """A mask on weight_hh once per window; nn.LSTM's own function takes the masked weights."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        w = self.lstm
        weights = [w.weight_ih_l0, F.dropout(w.weight_hh_l0, 0.5), w.bias_ih_l0, w.bias_hh_l0]
        state = tuple(s.unsqueeze(0) for s in self.zeros())
        return torch.lstm(x, state, weights, True, 1, 0.0, True, False, False)[0]


class AwdLstm(WeightDrop):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(locked_dropout(x, 0.4))


class Words(Net):
    """An embedding and the layer; words are dropped by a mask on the table's rows."""

    def __init__(self, hidden: int, dropout: float) -> None:
        super().__init__(hidden)
        self.table = nn.Embedding(VOCAB, hidden)
        self.words, self.dropout = torch.randint(VOCAB, (STEPS, BATCH)), dropout

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        table = self.table.weight
        if self.dropout > 0:
            table = table * torch.empty(VOCAB, 1).bernoulli_(1 - self.dropout).div_(1 - self.dropout)
        return super().forward(F.embedding(self.words, table))


class Loop(Net):
    """The cell spelled out. What follows changes one line of it each."""

    gate, cell = staticmethod(torch.sigmoid), staticmethod(torch.tanh)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        w, ys = self.lstm, []
        h, c = self.zeros()
        self.begin()
        for from_x in self.norm(0, F.linear(x, w.weight_ih_l0, w.bias_ih_l0 + w.bias_hh_l0)).unbind(0):
            gates = from_x + self.norm(1, F.linear(self.recurrent(h), w.weight_hh_l0))
            i, f, g, o = gates.chunk(4, 1)
            i, f, g = self.gate(self.peep(0, i, c)), self.gate(self.peep(1, f, c)), self.cell(g)
            new_c = f * c + i * g
            o = self.gate(self.peep(2, o, new_c))
            new_h = o * self.cell(self.norm(2, new_c))
            h, c = self.keep(0.05, h, new_h), self.keep(0.5, c, new_c)
            ys.append(h)
        return torch.stack(ys)

    def begin(self) -> None: ...
    def recurrent(self, h: torch.Tensor) -> torch.Tensor: return h
    def peep(self, k: int, sums: torch.Tensor, c: torch.Tensor) -> torch.Tensor: return sums
    def keep(self, rate: float, before: torch.Tensor, after: torch.Tensor) -> torch.Tensor: return after
    def norm(self, k: int, x: torch.Tensor) -> torch.Tensor: return x


class RecurrentDropout(Loop):
    def begin(self) -> None:
        self.mask = F.dropout(torch.ones(BATCH, self.hidden), 0.3)

    def recurrent(self, h: torch.Tensor) -> torch.Tensor:
        return h * self.mask


class Zoneout(Loop):
    def keep(self, rate: float, before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
        return torch.where(torch.rand(BATCH, self.hidden) < rate, before, after)


class LayerNorm(Loop):
    def __init__(self, hidden: int) -> None:
        super().__init__(hidden)
        self.norms = nn.ModuleList(nn.LayerNorm(n) for n in (4 * hidden, 4 * hidden, hidden))

    def norm(self, k: int, x: torch.Tensor) -> torch.Tensor:
        return self.norms[k](x)


class Peepholes(Loop):
    def __init__(self, hidden: int) -> None:
        super().__init__(hidden)
        self.peepholes = nn.Parameter(torch.randn(3, hidden) / hidden**0.5)

    def peep(self, k: int, sums: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        return sums + self.peepholes[k] * c


class OtherFunctions(Loop):
    gate, cell = staticmethod(F.hardsigmoid), staticmethod(F.softsign)


class Mogrifier(Loop):
    """Five rounds, each matrix a product of rank 64; x is known in its step alone."""

    def __init__(self, hidden: int) -> None:
        super().__init__(hidden)
        side = lambda *shape: nn.Parameter(torch.randn(*shape) / hidden**0.5)
        self.rounds = nn.ParameterList(side(*shape) for _ in range(5) for shape in ((64, hidden), (hidden, 64)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h, c = self.zeros()
        w, ys = self.lstm, []
        for x_t in x:
            both = [x_t, h]
            for i in range(5):
                right, left = self.rounds[2 * i], self.rounds[2 * i + 1]
                both[i % 2] = 2 * torch.sigmoid(F.linear(F.linear(both[1 - i % 2], right), left)) * both[i % 2]
            h, c = torch.lstm_cell(both[0], (both[1], c), w.weight_ih_l0, w.weight_hh_l0, w.bias_ih_l0, w.bias_hh_l0)
            ys.append(h)
        return torch.stack(ys)


class Lengths(Net):
    def __init__(self, hidden: int) -> None:
        super().__init__(hidden)
        self.lengths = torch.randint(1, STEPS + 1, (BATCH,))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        packed = rnn.pack_padded_sequence(x, self.lengths, enforce_sorted=False)
        return rnn.pad_packed_sequence(self.lstm(packed)[0], total_length=STEPS)[0]


class TwoLayers(Net):
    def __init__(self, hidden: int, residual: bool = False) -> None:
        super().__init__(hidden)
        self.second, self.residual = nn.LSTM(hidden, hidden), residual

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = super().forward(x)
        return y + self.second(y)[0] if self.residual else self.second(y)[0]


class SideBySide(TwoLayers):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat((self.lstm(x)[0], self.second(x)[0]), 2)


class Gru(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.gru = nn.GRU(hidden, hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.gru(x)[0]


class ForgetBias(Net):
    def __init__(self, hidden: int) -> None:
        super().__init__(hidden)
        with torch.no_grad():
            self.lstm.bias_ih_l0[hidden : 2 * hidden] += 1


def cases(hidden: int) -> dict[str, tuple[str, Callable[[], nn.Module], Callable[[], nn.Module]]]:
    """By name: how it is done, and makers of the layer with the option and of the one without."""
    plain = lambda: Net(hidden)
    return {
        "locked dropout": ("nn.LSTM", lambda: LockedDropout(hidden), plain),
        "recurrent dropout": ("loop", lambda: RecurrentDropout(hidden), plain),
        "weight drop": ("nn.LSTM's function", lambda: WeightDrop(hidden), plain),
        "word dropout": ("nn.LSTM", lambda: Words(hidden, 0.1), lambda: Words(hidden, 0)),
        "zoneout": ("loop", lambda: Zoneout(hidden), plain),
        "layer norm": ("loop", lambda: LayerNorm(hidden), plain),
        "peepholes": ("loop", lambda: Peepholes(hidden), plain),
        "projection": ("nn.LSTM", lambda: Net(hidden, proj_size=hidden // 2), plain),
        "other functions": ("loop", lambda: OtherFunctions(hidden), plain),
        "mogrifier": ("loop", lambda: Mogrifier(hidden), plain),
        "lengths": ("nn.LSTM, packed", lambda: Lengths(hidden), plain),
        "residual": ("nn.LSTM", lambda: TwoLayers(hidden, True), lambda: TwoLayers(hidden)),
        "bidirectional": ("nn.LSTM", lambda: Net(hidden, bidirectional=True), lambda: SideBySide(hidden)),
        "forget bias": ("nn.LSTM", lambda: ForgetBias(hidden), plain),
        "gru": ("nn.GRU", lambda: Gru(hidden), plain),
        "awd-lstm": ("nn.LSTM's function", lambda: AwdLstm(hidden), plain),
    }


def milliseconds(net: nn.Module, x: torch.Tensor) -> float:
    start = time.perf_counter()
    y = net(x)
    y.backward(torch.ones_like(y))
    x.grad = None
    for p in net.parameters():
        p.grad = None
    return 1e3 * (time.perf_counter() - start)


def times_of(case: tuple[str, Any, Any], x: torch.Tensor, seconds: float) -> dict[str, Any]:
    how, option, plain = case[0], case[1](), case[2]()
    for _ in range(2):
        milliseconds(plain, x), milliseconds(option, x)
    of_plain: list[float] = []
    of_option: list[float] = []
    while sum(of_plain) + sum(of_option) < 1e3 * seconds or len(of_option) < 5:
        of_plain.append(milliseconds(plain, x))
        of_option.append(milliseconds(option, x))
    return {"how": how, "plain_ms": of_plain, "option_ms": of_option}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hidden", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each case")
    parser.add_argument("--only", metavar="CASE")
    args = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(args.threads)
    x = torch.rand(STEPS, BATCH, args.hidden).mul_(2).sub_(1).requires_grad_()
    results = {name: times_of(case, x, args.seconds)
               for name, case in cases(args.hidden).items() if args.only in (None, name)}
    print(json.dumps({"engine": "pytorch", "version": torch.__version__, "hidden": args.hidden, "steps": STEPS,
                      "batch": BATCH, "threads": args.threads, "cases": results}))


if __name__ == "__main__":
    main()
