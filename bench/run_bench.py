"""Measures our speed and cost, beside PyTorch's where there is one: interleaved rounds, medians and spread.

Everything: the three models, in training and in inference step by step; ours by each engine and in each precision that the
processor has, each --torch in the same precisions. Each of ours also measures the machine's peak in its own run, and
its share of that, and of training what each operation takes. --model, --task and --precision leave out the others. One page and one
JSON file, speed-cpu-<date>, in bench/results (--out):
       ./run bench [--torch NAME=PYTHON[:PYTHONPATH]]... [--model small]
With --gpu training on a GPU, whose peak is a large matrix product; ours also as a CUDA graph, which the search for a peer's best tries
for the peer, too; speed-gpu-<date>. A machine without a GPU is said so, and
nothing is measured:
       ./run bench --gpu --torch 2.15=PYTHON

A comparison of one's choice: --ours is a program that prints one JSON line with words_per_second for the model, task,
precision and threads that the peers are told. RESULT.json and RESULT.md, RESULT being lm-<model>-<threads>t-<date>, with the task,
the precision and "busy" in it where they are not the usual ones (--name):
       ./run bench --ours "build/bench/bench_lm --model small --threads 2 --seconds 10" --torch debian=/usr/bin/python3 --screen --rounds 7

A peer is an installation of PyTorch, running pytorch_lm.py. Its fastest configuration is looked for first (pytorch_best.py; in a
comparison of one's choice with --screen), which takes minutes for each model, and kept in --configs, so that a later call need not
search again. Then all take turns: ours, peer 1, peer 2, …, as many rounds as asked for, each round starting one place further
on. With --busy N everything but the screening runs beside a process that keeps core N busy.
"""

import argparse
import itertools
import os
import pathlib
import shlex
import sys
from typing import Any

import pytorch_best
from entrants import Ours, Peer, peers_of, rounds, say, screen
from programs import built
from tables import ROOT, add_ratios, add_shares, comparison, machine, overview, publish, summary


def split_name(text: str) -> tuple[str, str]:
    name, found, rest = text.partition("=")
    if not found or not rest:
        raise argparse.ArgumentTypeError(f"{text!r}: expected NAME=VALUE")
    return name, rest


def parse(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", action="append", default=[], metavar="[NAME=]COMMAND", help="a comparison of one's choice; repeat for several of ours")
    parser.add_argument("--torch", action="append", default=[], type=split_name, metavar="NAME=PYTHON[:PYTHONPATH]")
    pytorch_best.add_options(parser)  # for the peers; ours must agree
    parser.set_defaults(model=None, task=None, precision=None)  # all that there are, or with --ours small, train, fp32
    parser.add_argument("--gpu", action="store_true", help="on a GPU")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build" / "bench" / "bench_lm", help="what measures ours, without --ours")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each run in a round; without --ours of ours, too")
    parser.add_argument("--warmup", type=int, default=20, help="steps before a peer measures")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pause", type=float, default=0.5, help="seconds between runs")
    parser.add_argument("--busy", type=int, metavar="CORE", help="run beside a loop that keeps this core busy")
    parser.add_argument("--screen", action="store_true", help="with --ours: look for each peer's best configuration first")
    parser.add_argument("--screen-only", action="store_true", help="…and stop there")
    parser.add_argument("--screen-seconds", type=float, default=3.0, help="of each trial")
    parser.add_argument("--configs", type=pathlib.Path, help="file with the configurations found, read and written")
    parser.add_argument("--preload", action="append", default=[], metavar="LIBRARY", help="a library for the screening to try")
    parser.add_argument("--no-compile", action="store_true", help="screening without torch.compile")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--name", help="of the result files")
    args = parser.parse_args(words)
    if args.gpu and args.ours:
        parser.error("--gpu measures what --program can do, --ours what it says")
    if args.gpu and (args.busy is not None or args.task == "step"):
        parser.error("--gpu measures training, beside nothing")
    args.device = "cuda" if args.gpu else "cpu"
    args.screen |= args.screen_only or not args.ours  # nobody is beaten by a bad default
    if args.screen_only and not args.configs:
        parser.error("--screen-only needs --configs FILE to write to")
    if args.ours:
        args.model, args.task, args.precision = args.model or "small", args.task or "train", args.precision or "fp32"
    return args


def with_configurations(rows: list[dict[str, Any]], peers: list[Peer], screenings: list[list[dict[str, Any]]]) -> None:
    for row, peer, tried in zip(rows, peers, screenings, strict=True):
        row |= {"configuration": peer.config.text()} | ({"screening": tried} if tried else {})


def chosen(args: argparse.Namespace) -> None:
    about, ours = machine(), []
    for number, text in enumerate(args.ours):
        name, found, command = text.partition("=")
        named = bool(found) and name.replace("-", "").replace("_", "").isalnum() and "/" not in name
        default = "ours" if number == 0 else f"ours {number + 1}"
        ours.append(Ours(name if named else default, command if named else text, args.threads, args.timeout))
    runners = {name: pytorch_best.Runner(python, args) for name, python in args.torch}
    found_best = screen(args, runners)
    if args.screen_only:
        return
    peers = peers_of(args, runners, found_best, "{}")
    results = rounds([*ours, *peers], args)
    rows = [summary(entrant, results[entrant.name]) for entrant in [*ours, *peers]]
    with_configurations(rows[len(ours):], peers, [found_best[p.name].get("tried", []) for p in peers])
    rows = rows[: len(ours)] + sorted(rows[len(ours):], key=lambda r: -r.get("median", 0))
    result = {"machine": about, "task": args.task, "model": args.model, "precision": args.precision, "threads": args.threads,
              "rounds": args.rounds, "busy": args.busy, "ours": [o.name for o in ours], "rows": rows}
    unusual = [w for w in (args.task, args.precision) if w not in ("train", "fp32")] + (["busy"] if args.busy is not None else [])
    name = args.name or "-".join(["lm", args.model, *unusual, f"{args.threads}t", about["date"][:10]])
    publish(args.out, name, result, comparison(result))


def entrants_of(args: argparse.Namespace, model: str, task: str, computes: list[dict[str, str]]) -> tuple[list[Ours], list[Peer], list[list[dict[str, Any]]]]:
    """Ours and the peers for one model and task, and what was tried for each peer."""
    ours, peers, screenings = [], [], []
    if task == "step":  # which no engine computes (layers/stepper.h)
        computes = [c for c in computes if c["engine"] == "fused"]
    for c, graph in itertools.product(computes, [False, True] if args.gpu else [False]):
        words = ["--device", args.device, "--model", model, "--task", task, "--engine", c["engine"], "--precision", c["precision"],
                 "--threads", str(args.threads), "--seconds", str(args.seconds), "--peak"]
        words += ["--profile"] if args.device == "cpu" and task == "train" else []
        words += ["--graph"] if graph else []
        name = f"unroll {c['engine'] + ' ' if task == 'train' else ''}{c['precision']}{', a graph' if graph else ''}"
        ours.append(Ours(name, shlex.join([str(args.program), *words]), args.threads, args.timeout))
        ours[-1].text = shlex.join([args.program.name, *words])  # published without folders
    for precision in dict.fromkeys(c["precision"] for c in computes):
        of_these = argparse.Namespace(**vars(args) | {"model": model, "task": task, "precision": precision})
        runners = {name: pytorch_best.Runner(python, of_these) for name, python in args.torch}
        found = screen(of_these, runners)
        peers += peers_of(of_these, runners, found, "{} " + precision, *(["--peak"] if args.gpu else []))
        screenings += [found[name].get("tried", []) for name in runners]
    return ours, peers, screenings


def everything(args: argparse.Namespace) -> None:
    facts = pytorch_best.run_json([built(str(args.program)), "--device", args.device, "--facts"], dict(os.environ), args.timeout)
    if "error" in facts:
        sys.exit(f"./run bench: {args.program.name}: {facts['error']}")
    if "why_not" in facts:
        print(f"./run bench --gpu: NOTHING WAS MEASURED: {facts['why_not']}")
        return
    computes = [c for c in facts["computes"] if args.precision in (None, c["precision"])]
    if not computes:
        sys.exit(f"./run bench: no engine computes in {args.precision} here")
    if not args.torch:
        say("# no --torch NAME=PYTHON: nothing is compared with PyTorch")
    about = machine() | {k: facts[k] for k in ("gpu", "capability", "driver", "cuda", "cudnn") if k in facts}
    parts = []
    for model in [args.model] if args.model else ["small", "medium", "large"]:
        for task in [args.task] if args.task else ["train"] if args.gpu else ["train", "step"]:
            ours, peers, screenings = entrants_of(args, model, task, computes)
            if args.screen_only:
                continue
            say(f"# {model}, {task}: {args.rounds} rounds of {len(ours) + len(peers)}")
            results = rounds([*ours, *peers], args)
            rows, names = [summary(entrant, results[entrant.name]) for entrant in [*ours, *peers]], [o.name for o in ours]
            with_configurations(rows[len(ours):], peers, screenings)
            add_ratios(rows, names)
            add_shares(rows, names)
            parts.append({"model": model, "task": task, "ours": names, "rows": rows})
    if args.screen_only:
        return
    result = {"machine": about, "threads": args.threads, "busy": args.busy, "gpu": facts.get("gpu"), "rounds": args.rounds, "parts": parts}
    unusual = [w for w in (args.model, args.task, args.precision, "busy" if args.busy is not None else None) if w]
    name = args.name or "-".join(["speed", "gpu" if args.gpu else "cpu", *unusual, about["date"][:10]])
    publish(args.out, name, result, overview(result))


def main() -> None:
    args = parse()
    chosen(args) if args.ours else everything(args)


if __name__ == "__main__":
    main()
