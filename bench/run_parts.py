"""The table of parts of a model: attention, a Transformer's block, a cell from outside, a step of inference, an optimizer's update,
a step of training beside mlpack.

Ours (build/bench/bench_parts) and the others take turns, round by round, and each ratio is of one round: what slows the machine
down slows both. Above 1 we are faster; of an optimizer the ratio is its rate of bytes to that of a copy.

Usage: python3 bench/run_parts.py PART… [--torch PYTHON] [--onnxruntime PYTHON] [--mlpack PROGRAM] [--rounds 5] [--seconds 2]
Parts: attention block own_cell step optimizer lstm lstm_every. Writes parts-DATE.json and .md into bench/results (--out, --name).
`ninja -C build bench/bench_parts` builds what it needs. With --tiny all is small: to see that it runs.
"""

import argparse
import os
import pathlib
import statistics
import sys
from collections.abc import Iterator
from typing import Any

from entrants import say
from pytorch_best import run_json, threads_environment
from programs import built
from tables import ROOT, machine, publish

WIDTHS = {"attention": [128, 256, 512], "block": [128, 256, 512], "own_cell": [200, 650], "step": [8, 16, 32, 64],
          "lstm": [200], "lstm_every": [200]}
HOWS = {"attention": ["eager", "compile"], "block": ["eager", "compile"], "own_cell": ["script"]}
KINDS = ["sgd", "adam", "adamw", "rmsprop", "lion"]
TARGETS = {"attention": 1.0, "block": 1.0, "own_cell": 1 / 1.3, "step": 2.0, "optimizer": 0.8, "lstm": 1.0, "lstm_every": 1.0}


class Runner:
    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.versions = args, {}

    def run(self, who: str, command: list[str], *words: str, threads: int) -> dict[str, Any]:
        command = [*command, *words, "--threads", str(threads), "--seconds", str(self.args.seconds)]
        result = run_json(command, dict(os.environ) | threads_environment(threads), timeout=900)
        if "error" in result:
            sys.exit(f"run_parts: {who}, {' '.join(words)}: {result['error']}")
        if "version" in result:
            self.versions[who] = result["version"]
        return result

    def ours(self, *words: str, threads: int) -> dict[str, Any]:
        return self.run("ours", [self.args.ours], *words, threads=threads)

    def rounds(self, row: dict[str, Any], ours: Any, theirs: Any) -> list[dict[str, Any]]:
        """Fills a row. The two take turns, each begins every other round. Returns their results."""
        results = []
        for number in range(self.args.rounds):
            say(f"round {number + 1}  {row['part']}  {row['what']}")
            both = [ours(), theirs()] if number % 2 == 0 else [theirs(), ours()][::-1]
            mine, other = (statistics.median(result["ms"]) for result in both)
            row["ours"].append(mine), row["theirs"].append(other), row["ratios"].append(other / mine)
            results.append(both[1])
        return results


def empty(part: str, what: str) -> dict[str, Any]:
    return {"part": part, "what": what, "ours": [], "theirs": [], "ratios": []}


def rows_of(part: str, run: Runner) -> Iterator[dict[str, Any]]:
    """A row: what was measured, ours and theirs in milliseconds by round, and the ratios."""
    args = run.args
    if part == "optimizer":
        numbers = ["--numbers", "100000" if args.tiny else str(args.numbers)]
        for kind in KINDS:
            row = empty(part, f"{kind}, beside a copy")
            for number in range(args.rounds):
                say(f"round {number + 1}  {part}  {kind}")
                result = run.ours(part, "--kind", kind, *numbers, threads=args.threads)
                row["ours"].append(statistics.median(result["ms"]))
                row["theirs"].append(statistics.median(result["copy_ms"]))
                row["ratios"].append(statistics.median(c / u for u, c in zip(result["ms"], result["copy_ms"])))
            yield row | {"megabytes": result["megabytes"]}
        return
    for width in [16] if args.tiny else WIDTHS[part]:
        if part == "step":
            whole = empty(part, f"{width} units, as called from Python")
            onnxruntime = [args.onnxruntime, str(ROOT / "bench" / "onnxruntime_step.py")]
            results = run.rounds(whole, lambda: run.ours(part, "--width", str(width), threads=1),
                                 lambda: run.run("ONNX Runtime", onnxruntime, part, "--width", str(width), threads=1))
            theirs = [ms - statistics.median(result["call_ms"]) for ms, result in zip(whole["theirs"], results)]
            yield whole | {"what": f"{width} units, the call from Python left out", "theirs": theirs,
                           "ratios": [b / a for a, b in zip(whole["ours"], theirs)]}
            yield whole
            continue
        if part in ("lstm", "lstm_every"):
            row = empty(part, f"{width} units, one thread, beside mlpack")
            run.rounds(row, lambda: run.ours(part, "--width", str(width), threads=1),
                       lambda: run.run("mlpack", [args.mlpack], part, "--width", str(width), threads=1))
            yield row
            continue
        for precision in args.precision:
            torch = [args.torch, str(ROOT / "bench" / "pytorch_parts.py")]
            words = [part, "--width", str(width), "--precision", precision]
            theirs_by = {how: run.run("PyTorch", torch, *words, "--how", how, threads=args.threads) for how in HOWS[part]}
            how = min(theirs_by, key=lambda name: statistics.median(theirs_by[name]["ms"]))
            row = empty(part, f"{width} wide, {precision}, beside {how}")
            run.rounds(row, lambda: run.ours(*words, threads=args.threads),
                       lambda: run.run("PyTorch", torch, *words, "--how", how, threads=args.threads))
            yield row


def table(result: dict[str, Any]) -> str:
    m = result["machine"]
    of_others = ", ".join(f"{who} {version}" for who, version in result["versions"].items())
    lines = ["# Parts of a model", "",
             f"{result['threads']} threads (a step of inference and parts beside mlpack: one), medians of {result['rounds']} rounds of "
             f"{result['seconds']} s in turns; a ratio is theirs / ours of a round, with its range.",
             f"{m['cpu']}, {m['cores']} cores, Linux {m['kernel']}; commit {m['commit']}, {m['date']}, "
             f"load {m['load_at_start']} before." + (f" Beside {of_others}." if of_others else ""), "",
             "| part | what | ours, ms | theirs, ms | ratio | range | wanted |", "| --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    for row in result["rows"]:
        ours, theirs = statistics.median(row["ours"]), statistics.median(row["theirs"])
        low, high = min(row["ratios"]), max(row["ratios"])
        lines.append(f"| {row['part']} | {row['what']} | {ours:.4g} | {theirs:.4g} | {statistics.median(row['ratios']):.2f} | "
                     f"{low:.2f}–{high:.2f} | {TARGETS[row['part']]:.2f} |")
    return "\n".join([*lines, "", f"Command: `python3 bench/run_parts.py {' '.join(result['parts'])} --rounds {result['rounds']} "
                      f"--seconds {result['seconds']}`"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=TARGETS, metavar="PART")
    parser.add_argument("--ours", default=str(ROOT / "build" / "bench" / "bench_parts"), metavar="PROGRAM")
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument("--onnxruntime", metavar="PYTHON")
    parser.add_argument("--mlpack", metavar="PROGRAM", help="bench/mlpack_lstm.cpp, compiled")
    parser.add_argument("--precision", nargs="+", choices=["fp32", "bf16"], default=["fp32", "bf16"])
    parser.add_argument("--numbers", type=int, default=20_000_000, help="weights that an optimizer updates")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--name", help="of the result files")
    args = parser.parse_args()
    if set(args.parts) & set(HOWS) and not args.torch:
        sys.exit(f"run_parts: {' '.join(p for p in args.parts if p in HOWS)}: --torch PYTHON names an interpreter that has torch")
    if "step" in args.parts and not args.onnxruntime:
        sys.exit("run_parts: step: --onnxruntime PYTHON names an interpreter that has onnxruntime and onnx")
    if {"lstm", "lstm_every"} & set(args.parts) and not args.mlpack:
        sys.exit("run_parts: lstm: --mlpack PROGRAM names what bench/mlpack_lstm.cpp compiles to")
    built(args.ours)
    about, run = machine(), Runner(args)
    rows = [row for part in args.parts for row in rows_of(part, run)]
    result = {"machine": about, "parts": args.parts, "threads": args.threads, "rounds": args.rounds, "seconds": args.seconds,
              "versions": run.versions, "rows": rows}
    publish(args.out, args.name or f"parts-{about['date'][:10]}", result, table(result))


if __name__ == "__main__":
    main()
