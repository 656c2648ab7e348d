"""The table of what the options of a recurrent layer cost, ours and PyTorch's, each against its own plain LSTM.

bench_options and pytorch_options.py take turns. Within a run a window with the option stands beside one without, and a
factor is the median of the ratios of such neighbours: what slows the machine down slows both.

Usage: ./run bench options [--torch PYTHON[:PYTHONPATH]] [--preload LIBRARY] [--rounds 3] [--seconds 2]
Writes RESULT.json and RESULT.md into bench/results (--out), RESULT being options-<threads>t-<date> (--name).
"""

import argparse
import os
import pathlib
import statistics
import sys
from typing import Any

from pytorch_best import run_json, threads_environment
from entrants import say
from programs import built
from tables import ROOT, machine, publish

TARGET, TARGETS = 1.25, {"awd-lstm": 1.4, "mogrifier": 1.6}


class Entrant:
    def __init__(self, name: str, command: list[str], environment: dict[str, str], threads: int) -> None:
        self.name, self.command = name, command
        self.environment = dict(os.environ) | threads_environment(threads) | environment
        self.cases: dict[tuple[str, int], dict[str, Any]] = {}  # by name and hidden: the pairs of all rounds
        self.version = ""

    def run(self, hidden: int, words: list[str]) -> None:
        result = run_json([*self.command, "--hidden", str(hidden), *words], self.environment, timeout=3600)
        if "error" in result:
            sys.exit(f"run_options: {self.name}: {result['error']}")
        self.version = result.get("version", "")
        for name, case in result["cases"].items():
            all_rounds = self.cases.setdefault((name, hidden), {**case, "plain_ms": [], "option_ms": []})
            for key in ("plain_ms", "option_ms"):
                all_rounds[key] += [round(ms, 3) for ms in case[key]]


def summary(case: dict[str, Any]) -> dict[str, Any]:
    ratios = [option / plain for plain, option in zip(case["plain_ms"], case["option_ms"])]
    low, median, high = statistics.quantiles(ratios, n=4, method="inclusive")
    rest = {k: v for k, v in case.items() if not k.endswith("_ms")}
    return rest | {"factor": median, "quartiles": [low, high], "pairs": len(ratios),
                   "plain_ms": statistics.median(case["plain_ms"]), "option_ms": statistics.median(case["option_ms"])}


def table(result: dict[str, Any]) -> str:
    m, names = result["machine"], list(result["factors"])
    ours, peer = names[0], names[1] if len(names) > 1 else None
    cell = lambda s: f"{s['factor']:.2f} ({s['quartiles'][0]:.2f}–{s['quartiles'][1]:.2f})"
    lines = [f"# What the options of a recurrent layer cost, {result['threads']} thread(s)", "",
             "One window of 35 steps, batch 20, forward and backward, engine `fused`; as wide as it is deep (input = hidden). A factor is",
             "the median of the ratios of neighbours, a window with the option beside one without; in brackets the quartiles of the",
             f"ratios. {result['rounds']} round(s) of {result['seconds']} s for each case. {m['cpu']}, {m['cores']} cores, Linux {m['kernel']};",
             f"commit {m['commit']}, {m['date']}, load {m['load_at_start']} before.", ""]
    if peer:
        lines += [f"PyTorch {result['version']} does the same the way its users do, against its own plain `nn.LSTM`.", ""]
    hidden = result["hidden"]
    lines += ["| option | against |" + "".join(f" hidden {n} |" for n in hidden)
              + ("".join(f" PyTorch {n} |" for n in hidden) + " how, in PyTorch |" if peer else ""),
              "| --- | --- |" + " ---: |" * (len(hidden) * (2 if peer else 1)) + (" --- |" if peer else "")]
    for option, by_hidden in result["factors"][ours].items():
        row = f"| {option} | {by_hidden[str(hidden[0])]['against']} |" + "".join(f" {cell(by_hidden[str(n)])} |" for n in hidden)
        if peer:
            theirs = result["factors"][peer][option]
            row += "".join(f" {cell(theirs[str(n)])} |" for n in hidden) + f" {theirs[str(hidden[0])]['how']} |"
        lines.append(row)
    lines += ["", "Milliseconds of a window, medians, with the option and without:", "",
              "| option |" + "".join(f" hidden {n} |" for n in hidden) + ("".join(f" PyTorch {n} |" for n in hidden) if peer else ""),
              "| --- |" + " ---: |" * (len(hidden) * (2 if peer else 1))]
    for option in result["factors"][ours]:
        times = [result["factors"][name][option][str(n)] for name in names for n in hidden]
        lines.append(f"| {option} |" + "".join(f" {t['option_ms']:.1f}, {t['plain_ms']:.1f} |" for t in times))
    command = f"./run bench options --threads {result['threads']} --rounds {result['rounds']} --seconds {result['seconds']}" + (
        " --torch PYTHON" + (f" --preload {result['preload']}" if result["preload"] else "") if peer else "")
    return "\n".join(lines + ["", *verdict(result["factors"][ours]), "", f"Command: `{command}`"]) + "\n"


def verdict(factors: dict[str, Any]) -> list[str]:
    """What the table says about the targets."""
    above = [f"{option} at {n}: {s['factor']:.2f}" for option, by_hidden in factors.items() for n, s in by_hidden.items()
             if s["factor"] > TARGETS.get(option, TARGET)]
    return [f"Targets: {TARGETS['mogrifier']} for five rounds of a mogrifier of rank 64, {TARGETS['awd-lstm']} for the cell of the "
            f"AWD-LSTM (weight drop behind locked dropout), {TARGET} for each other option. "
            + ("All are met." if not above else "Above: " + "; ".join(above) + ".")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", type=built, default=str(ROOT / "build" / "bench" / "bench_options"), metavar="PROGRAM")
    parser.add_argument("--torch", metavar="PYTHON[:PYTHONPATH]")
    parser.add_argument("--preload", metavar="LIBRARY", help="for PyTorch (LD_PRELOAD): an allocator")
    parser.add_argument("--hidden", type=int, nargs="+", default=[200, 650, 1150])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each case in a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", metavar="CASE", help="this option alone")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--name", help="of the result files")
    args = parser.parse_args()

    about = machine()
    entrants = [Entrant("ours", [args.ours], {}, args.threads)]
    if args.torch:
        python, _, path = args.torch.partition(":")
        environment = {"PYTHONPATH": path} if path else {}
        if args.preload:
            environment["LD_PRELOAD"] = args.preload
        entrants.append(Entrant("pytorch", [python, str(ROOT / "bench" / "pytorch_options.py")], environment, args.threads))
    words = ["--threads", str(args.threads), "--seconds", str(args.seconds)] + (["--only", args.only] if args.only else [])
    for number in range(args.rounds):
        for hidden in args.hidden:
            for entrant in entrants:
                say(f"round {number + 1}  hidden {hidden:5d}  {entrant.name}")
                entrant.run(hidden, words)
    factors = {e.name: {option: {str(n): summary(e.cases[option, n]) for n in args.hidden}
                        for option, n in e.cases if n == args.hidden[0]} for e in entrants}
    result = {"machine": about, "threads": args.threads, "hidden": args.hidden, "rounds": args.rounds, "seconds": args.seconds,
              "version": entrants[-1].version, "preload": pathlib.Path(args.preload).name if args.preload else None, "factors": factors}
    name = args.name or f"options-{args.threads}t-{about['date'][:10]}"
    publish(args.out, name, result, table(result))


if __name__ == "__main__":
    main()
