"""Runs the Zaremba language models in PyTorch on random tokens and prints speed and cost as one JSON line.

With --task train a step is everything that training does: forward, loss, backward, clipping by global norm, SGD. With
--task step it is inference of one token, batch 1. The options choose among the ways PyTorch offers to do the same
arithmetic; pytorch_best.py finds the fastest for an installation. Beside the speed stand the seconds from the start
of the process to the beginning and the end of the first step, and the process's memory, as bench_lm has them; with
--device cuda the device's memory, and with --peak the peak of a large product and the share of it that the steps'
products reached.

Usage: python3 pytorch_lm.py --model small --threads 2 --seconds 20
       python3 pytorch_lm.py --serve    one run for each line of standard input, which holds its options
"""

import argparse
import itertools
import json
import os
import pathlib
import resource
import shlex
import statistics
import sys
import time
from typing import Any, Callable

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


class Cells(nn.Module):
    """nn.LSTMCell for each layer, for inference of single steps."""

    def __init__(self, hidden: int, layers: int) -> None:
        super().__init__()
        self.cells = nn.ModuleList(nn.LSTMCell(hidden, hidden) for _ in range(layers))

    def forward(self, x: torch.Tensor, state: Any) -> Any:
        y, new = x[0], []
        for cell, before in zip(self.cells, state):
            new.append(cell(y, before))
            y = new[-1][0]
        return y[None], new


class LanguageModel(nn.Module):
    def __init__(self, args: argparse.Namespace, hidden: int, dropout: float) -> None:
        super().__init__()
        self.loss_kind = args.loss
        self.dropout = nn.Dropout(dropout) if dropout > 0 else nn.Identity()
        self.embedding = nn.Embedding(VOCAB, hidden, sparse=args.sparse_embedding)
        if args.lstm == "cells":
            self.lstm: nn.Module = Cells(hidden, 2)
        else:
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


def seconds_since_start() -> float:
    """Since the process was created, to a hundredth of a second."""
    ticks = int(pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def resident_mib() -> float:
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def lower_precision(args: argparse.Namespace) -> Any:
    """Autocast, where it is one of the two 16-bit types that are asked for."""
    types = {"bf16": torch.bfloat16, "fp16": torch.float16}
    # a graph keeps what it was given: weights that a cache rounded would be those of the recording
    return torch.autocast(args.device, types.get(args.precision, torch.bfloat16), enabled=args.precision in types, cache_enabled=not args.graph)


def wait(args: argparse.Namespace) -> None:
    if args.device == "cuda":
        torch.cuda.synchronize()


def peak_gflops(precision: str) -> float:
    """Of [8192, 8192] times as many on the GPU, the fastest of ten, as bench_lm measures it."""
    size, kind = 8192, {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision, torch.float32)
    a = ((torch.arange(size * size, device="cuda") % 1009) / 1009 - 0.5).to(kind).view(size, size)
    best = 0.0
    for number in range(11):
        torch.cuda.synchronize()
        start = time.perf_counter()
        torch.matmul(a, a)
        torch.cuda.synchronize()
        if number > 0:
            best = max(best, 2 * size**3 / (time.perf_counter() - start) / 1e9)
    return best


def training(args: argparse.Namespace, model: LanguageModel, run_model: Any) -> Callable[[], torch.Tensor]:
    """A function that does one training step, and returns the loss."""
    steps, hidden, _, _, clip = MODELS[args.model]
    parameters = list(model.parameters())
    # only what was asked for is passed on: older versions know fewer arguments
    optimizer_options = {"default": {}, "loop": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}
    optimizer = torch.optim.SGD(parameters, lr=1.0, **optimizer_options[args.optimizer])
    clip_options = {} if args.clip == "default" else {"foreach": args.clip == "foreach"}

    # what fp16 needs beside autocast, or small gradients would be 0
    scaler = torch.cuda.amp.GradScaler() if args.precision == "fp16" else None
    windows = 64
    stream = torch.randint(VOCAB, (BATCH, windows * steps + 1)).to(args.device)
    cut = lambda first: [stream[:, first + w * steps : first + (w + 1) * steps] for w in range(windows)]
    inputs, targets = cut(0), cut(1)
    if not args.batch_first:
        inputs, targets = [x.t() for x in inputs], [x.t() for x in targets]
    batches = [(x.contiguous(), y.contiguous()) for x, y in zip(inputs, targets)]
    zero_state = lambda: (torch.zeros(2, BATCH, hidden, device=args.device), torch.zeros(2, BATCH, hidden, device=args.device))

    def work(x: torch.Tensor, y: torch.Tensor, state: Any) -> tuple[torch.Tensor, Any]:
        """A whole step: the loss, and the state after it."""
        with lower_precision(args):
            loss, new = run_model(x, y, state)
        if args.zero_grad == "none":
            for p in parameters:
                p.grad = None
        else:
            optimizer.zero_grad(set_to_none=False)
        (scaler.scale(loss) if scaler else loss).backward()
        if scaler:
            scaler.unscale_(optimizer)
        if args.sparse_embedding:
            clip_with_sparse(parameters, clip)
        else:
            nn.utils.clip_grad_norm_(parameters, clip, **clip_options)
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        return loss, (new[0].detach(), new[1].detach())

    if args.graph:
        replay = captured(work, batches[0], zero_state())
        numbers = itertools.count()
        return lambda: replay(*batches[next(numbers) % windows])
    state, count = zero_state(), 0

    def step() -> torch.Tensor:
        nonlocal state, count
        loss, state = work(*batches[count % windows], state)
        count += 1
        return loss

    return step


def captured(work: Any, batch: tuple[torch.Tensor, torch.Tensor], state: tuple[torch.Tensor, torch.Tensor]) -> Callable[..., torch.Tensor]:
    """`work` as one CUDA graph: a function of a batch, which returns the loss. Batch and state have memory that stays."""
    x, y = (t.clone() for t in batch)

    def work_in_place() -> torch.Tensor:
        loss, new = work(x, y, state)
        for kept, now in zip(state, new):
            kept.copy_(now)
        return loss.detach()

    # what libraries make at first use is made on another stream, as a recording wants it
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work_in_place()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = work_in_place()

    def replay(new_x: torch.Tensor, new_y: torch.Tensor) -> torch.Tensor:
        x.copy_(new_x)
        y.copy_(new_y)
        graph.replay()
        return loss

    return replay


def stepping(args: argparse.Namespace, model: LanguageModel, hidden: int) -> Callable[[], torch.Tensor]:
    """A function that runs the model over one token, and returns the logits of the next one."""
    model.eval()
    tokens = torch.randint(VOCAB, (700, 1, 1))
    zeros = lambda *shape: (torch.zeros(*shape, hidden), torch.zeros(*shape, hidden))
    state: Any = [zeros(1), zeros(1)] if args.lstm == "cells" else zeros(2, 1)
    count = 0

    def token(x: torch.Tensor, state: Any) -> Any:
        y, state = model.lstm(model.embedding(x), state)
        return model.decoder(y), state

    run_token = token if args.compile == "off" else torch.compile(token, mode=None if args.compile == "default" else args.compile)

    def step() -> torch.Tensor:
        nonlocal state, count
        with torch.inference_mode(), lower_precision(args):
            logits, state = run_token(tokens[count % len(tokens)], state)
        count += 1
        return logits

    return step


def measure(args: argparse.Namespace) -> dict[str, Any]:
    steps, hidden, dropout, init, _ = MODELS[args.model]
    trains = args.task == "train"
    baseline = resident_mib()
    torch.manual_seed(1)
    torch.set_num_threads(args.threads)
    torch.set_flush_denormal(args.flush_denormals)
    torch._C._set_mkldnn_enabled(args.onednn == "on")
    if args.device == "cuda":
        torch.backends.cudnn.benchmark = args.cudnn_benchmark
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = args.precision == "tf32"
    elif args.precision in ("tf32", "fp16"):
        raise ValueError(f"{args.precision} is a GPU's")
    if args.graph:
        reasons = {"it is a GPU's": args.device != "cuda", "only training can be one": not trains,
                   "the scaler of fp16 asks the host": args.precision == "fp16",
                   "a sparse gradient is gathered by the host": args.sparse_embedding,
                   "torch.compile has graphs of its own": args.compile == "max-autotune"}
        if why := [text for text, holds in reasons.items() if holds]:
            raise ValueError("--graph: " + why[0])

    model = LanguageModel(args, hidden, dropout).to(args.device)
    for p in model.parameters():
        nn.init.uniform_(p, -init, init)
    run_model: Any = model
    if args.compile != "off":
        if args.lstm == "nn" and hasattr(torch._dynamo.config, "allow_rnn"):
            torch._dynamo.config.allow_rnn = args.compile_rnn
        if trains:
            run_model = torch.compile(model, mode=None if args.compile == "default" else args.compile)
    step = training(args, model, run_model) if trains else stepping(args, model, hidden)

    wait(args)
    start_up = seconds_since_start()
    last = step()
    wait(args)
    first_step = seconds_since_start()
    for _ in range(args.warmup - 1):
        last = step()
    words = steps * BATCH if trains else 1
    words_per_second, ms_per_step, total = [], [], 0
    wait(args)
    for _ in range(args.repetitions):
        start, count = time.perf_counter(), 0
        # a GPU lags behind: waiting for each hundredth step costs nothing, and not waiting would run far ahead
        while count == 0 or time.perf_counter() - start < args.seconds / args.repetitions:
            last = step()
            count += 1
            if count % 100 == 0:
                wait(args)
        wait(args)
        seconds = (time.perf_counter() - start) / count
        total += count
        words_per_second.append(words / seconds)
        ms_per_step.append(1e3 * seconds)
    config = {n: getattr(args, n) for n in CONFIG}
    parameters = sum(p.numel() * p.element_size() for p in model.parameters()) / 2**20
    # a sparse gradient is small: what there is of it
    held = lambda g: g._values().numel() if g.is_sparse else g.numel()
    gradients = sum(held(p.grad) * p.element_size() for p in model.parameters() if p.grad is not None) / 2**20
    costs: dict[str, Any] = {"start_up_seconds": round(start_up, 2), "first_step_seconds": round(first_step, 2)}
    if args.device == "cuda":
        free, on_device = torch.cuda.mem_get_info()
        costs |= {"tensors_mib": round(torch.cuda.max_memory_allocated() / 2**20, 1),
                  "device_mib": round((on_device - free) / 2**20, 1), "gpu": torch.cuda.get_device_name()}
        if args.peak:
            # forward and backward of the two layers' and the decoder's products, a multiply-add as two
            flops_per_word = 6 * (2 * 8 * hidden**2 + hidden * VOCAB)
            peak = peak_gflops(args.precision)
            costs |= {"peak_gflops": peak, "share_of_peak": statistics.median(words_per_second) * flops_per_word / 1e9 / peak}
    else:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        costs |= {"baseline_mib": round(baseline, 1), "parameters_mib": round(parameters, 1),
                  "gradients_mib": round(gradients, 1), "beyond_mib": round(peak - baseline - parameters - gradients, 1)}
    return {"engine": "pytorch", "version": torch.__version__, "task": args.task, "model": args.model, "threads": args.threads,
            "precision": args.precision, "config": config, "words_per_second": round(statistics.median(words_per_second), 1),
            "words_per_second_min": round(min(words_per_second), 1), "words_per_second_max": round(max(words_per_second), 1),
            "ms_per_step": round(statistics.median(ms_per_step), 4), "steps": args.warmup + total,
            "device": args.device, "last": round(last.float().mean().item(), 4)} | costs


CONFIG = ("onednn", "batch_first", "lstm", "compile", "compile_rnn", "optimizer", "clip", "zero_grad", "loss",
          "sparse_embedding", "flush_denormals", "cudnn_benchmark", "graph")


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=("train", "step"), default="train")
    parser.add_argument("--model", choices=MODELS, default="small")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10.0, help="measured time, shared by the repetitions")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=10, help="steps before the measurement")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--precision", choices=("fp32", "tf32", "bf16", "fp16"), default="fp32", help="of 16 bits: by autocast")
    parser.add_argument("--peak", action="store_true", help="measure the GPU's peak, too")
    parser.add_argument("--cudnn-benchmark", action="store_true")
    parser.add_argument("--graph", action="store_true", help="a whole step of training as a CUDA graph")
    parser.add_argument("--onednn", choices=("on", "off"), default="on")
    parser.add_argument("--batch-first", action="store_true")
    parser.add_argument("--lstm", choices=("nn", "loop", "cells"), default="nn",
                        help="nn.LSTM, or the cell spelled out, or nn.LSTMCell (--task step)")
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
