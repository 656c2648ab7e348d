"""Trains the Zaremba language models in PyTorch on random tokens and prints the speed as one JSON line.

A step is everything that training does: forward, loss, backward, clipping by global norm, SGD. The options choose
among the ways PyTorch offers to do the same arithmetic; pytorch_best.py finds the fastest for an installation.

Usage: python3 pytorch_lm.py --model small --threads 2 --seconds 20
       python3 pytorch_lm.py --serve    one run for each line of standard input, which holds its options
"""

import argparse
import json
import shlex
import statistics
import sys
import time
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

VOCAB, BATCH = 10000, 20
#         steps, hidden, dropout, init, clip
MODELS = {
    "small": (20, 200, 0.0, 0.1, 5.0),
    "medium": (35, 650, 0.5, 0.05, 5.0),
    "large": (35, 1500, 0.65, 0.04, 10.0),
}


class LoopLstm(nn.Module):
    """nn.LSTM spelled out: the inputs' product for all steps at once, then a loop. For torch.compile to work on.

    It is no nn.LSTM, because torch.compile leaves those (and what derives from them) alone.
    """

    def __init__(self, inputs: int, hidden: int, layers: int, dropout: float, batch_first: bool) -> None:
        super().__init__()
        self.dropout, self.batch_first = dropout, batch_first
        self.weights = nn.ParameterList()
        for layer in range(layers):
            for shape in ((4 * hidden, hidden if layer else inputs), (4 * hidden, hidden), (4 * hidden,), (4 * hidden,)):
                self.weights.append(nn.Parameter(torch.empty(shape)))

    def forward(self, x: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor]) -> Any:
        axis = 1 if self.batch_first else 0
        last_h, last_c = [], []
        for layer in range(len(self.weights) // 4):
            w_ih, w_hh, b_ih, b_hh = (self.weights[4 * layer + k] for k in range(4))
            if layer > 0:
                x = F.dropout(x, self.dropout, self.training)
            h, c, outputs = state[0][layer], state[1][layer], []
            for gates in F.linear(x, w_ih, b_ih + b_hh).unbind(axis):
                i, f, g, o = (gates + h @ w_hh.t()).chunk(4, 1)
                c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(c)
                outputs.append(h)
            x = torch.stack(outputs, axis)
            last_h.append(h)
            last_c.append(c)
        return x, (torch.stack(last_h), torch.stack(last_c))


class LanguageModel(nn.Module):
    def __init__(self, args: argparse.Namespace, hidden: int, dropout: float) -> None:
        super().__init__()
        self.loss_kind = args.loss
        self.dropout = nn.Dropout(dropout) if dropout > 0 else nn.Identity()
        self.embedding = nn.Embedding(VOCAB, hidden, sparse=args.sparse_embedding)
        lstm = LoopLstm if args.lstm == "loop" else nn.LSTM
        self.lstm = lstm(hidden, hidden, 2, dropout=dropout, batch_first=args.batch_first)
        self.decoder = nn.Linear(hidden, VOCAB)

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor, state: Any) -> tuple[torch.Tensor, Any]:
        """The sum over steps of the mean over the batch, as the published recipe has it."""
        y, state = self.lstm(self.dropout(self.embedding(tokens)), state)
        y, targets = self.dropout(y).flatten(0, 1), targets.flatten()
        if self.loss_kind == "plain":
            loss = F.cross_entropy(self.decoder(y).float(), targets, reduction="sum")
        else:  # fused with the decoder, in the newest versions only
            options = nn.LinearCrossEntropyOptions() if self.loss_kind == "linear-chunked" else None
            loss = F.linear_cross_entropy(y, self.decoder.weight, targets, linear_bias=self.decoder.bias,
                                          reduction="sum", options=options)
        return loss / BATCH, state


def clip_with_sparse(parameters: list[nn.Parameter], limit: float) -> None:
    """Clipping by global norm where the embedding's gradient is sparse, which torch's own function refuses."""
    for p in parameters:
        if p.grad.is_sparse:
            p.grad = p.grad.coalesce()
    values = [p.grad._values() if p.grad.is_sparse else p.grad for p in parameters]
    norm = torch.stack([v.norm() for v in values]).norm()
    scale = torch.clamp(limit / (norm + 1e-6), max=1.0)
    for v in values:
        v.mul_(scale)


def measure(args: argparse.Namespace) -> dict[str, Any]:
    steps, hidden, dropout, init, clip = MODELS[args.model]
    torch.manual_seed(1)
    torch.set_num_threads(args.threads)
    torch.set_flush_denormal(args.flush_denormals)
    torch._C._set_mkldnn_enabled(args.onednn == "on")

    model = LanguageModel(args, hidden, dropout)
    for p in model.parameters():
        nn.init.uniform_(p, -init, init)
    parameters = list(model.parameters())
    # only what was asked for is passed on: older versions know fewer arguments
    optimizer_options = {"default": {}, "loop": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}
    optimizer = torch.optim.SGD(parameters, lr=1.0, **optimizer_options[args.optimizer])
    clip_options = {} if args.clip == "default" else {"foreach": args.clip == "foreach"}
    run_model: Any = model
    if args.compile != "off":
        if args.lstm == "nn" and hasattr(torch._dynamo.config, "allow_rnn"):
            torch._dynamo.config.allow_rnn = args.compile_rnn
        run_model = torch.compile(model, mode=None if args.compile == "default" else args.compile)

    windows = 64
    stream = torch.randint(VOCAB, (BATCH, windows * steps + 1))
    cut = lambda first: [stream[:, first + w * steps : first + (w + 1) * steps] for w in range(windows)]
    inputs, targets = cut(0), cut(1)
    if not args.batch_first:
        inputs, targets = [x.t() for x in inputs], [x.t() for x in targets]
    batches = [(x.contiguous(), y.contiguous()) for x, y in zip(inputs, targets)]
    state = (torch.zeros(2, BATCH, hidden), torch.zeros(2, BATCH, hidden))
    count, loss = 0, torch.zeros(())

    def step() -> None:
        nonlocal state, count, loss
        with torch.autocast("cpu", torch.bfloat16, enabled=args.precision == "bf16"):
            loss, new = run_model(*batches[count % windows], state)
        state = (new[0].detach(), new[1].detach())
        if args.zero_grad == "none":
            for p in parameters:
                p.grad = None
        else:
            optimizer.zero_grad(set_to_none=False)
        loss.backward()
        if args.sparse_embedding:
            clip_with_sparse(parameters, clip)
        else:
            nn.utils.clip_grad_norm_(parameters, clip, **clip_options)
        optimizer.step()
        count += 1

    for _ in range(args.warmup):
        step()
    words_per_second, ms_per_step = [], []
    for _ in range(args.repetitions):
        first, start = count, time.perf_counter()
        step()
        while time.perf_counter() - start < args.seconds / args.repetitions:
            step()
        seconds = (time.perf_counter() - start) / (count - first)
        words_per_second.append(steps * BATCH / seconds)
        ms_per_step.append(1e3 * seconds)
    config = {n: getattr(args, n) for n in CONFIG}
    return {"engine": "pytorch", "version": torch.__version__, "model": args.model, "threads": args.threads,
            "precision": args.precision, "config": config, "words_per_second": round(statistics.median(words_per_second), 1),
            "words_per_second_min": round(min(words_per_second), 1), "words_per_second_max": round(max(words_per_second), 1),
            "ms_per_step": round(statistics.median(ms_per_step), 3), "steps": count, "loss": round(loss.item(), 4)}


CONFIG = ("onednn", "batch_first", "lstm", "compile", "compile_rnn", "optimizer", "clip", "zero_grad", "loss",
          "sparse_embedding", "flush_denormals")


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, default="small")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10.0, help="measured time, shared by the repetitions")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=10, help="steps before the measurement")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32", help="bf16 is autocast")
    parser.add_argument("--onednn", choices=("on", "off"), default="on")
    parser.add_argument("--batch-first", action="store_true")
    parser.add_argument("--lstm", choices=("nn", "loop"), default="nn", help="nn.LSTM, or the cell spelled out")
    parser.add_argument("--compile", choices=("off", "default", "max-autotune"), default="off")
    parser.add_argument("--compile-rnn", action="store_true", help="let torch.compile trace into nn.LSTM")
    parser.add_argument("--optimizer", choices=("default", "loop", "foreach", "fused"), default="default")
    parser.add_argument("--clip", choices=("default", "loop", "foreach"), default="default")
    parser.add_argument("--zero-grad", choices=("none", "zero"), default="none")
    parser.add_argument("--loss", choices=("plain", "linear", "linear-chunked"), default="plain")
    parser.add_argument("--sparse-embedding", action="store_true", help="sparse gradient of the embedding")
    parser.add_argument("--flush-denormals", action="store_true")
    return parser.parse_args(words)


def serve() -> None:
    """Many short runs in one process: loading PyTorch takes longer than a trial does."""
    for line in sys.stdin:
        try:
            result = measure(parse(shlex.split(line)))
        except Exception as error:  # of whatever kind: this trial has failed, the next may not
            result = {"error": (str(error).strip().splitlines() or [type(error).__name__])[-1]}
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        print(json.dumps(measure(parse(sys.argv[1:]))), flush=True)
