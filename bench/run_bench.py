"""Compares our training speed with PyTorch's: interleaved rounds, medians and spread, one table.

Ours is a program that prints one JSON line with words_per_second for the same model and threads; the peers are
installations of PyTorch, each running pytorch_lm.py. With --screen every peer's fastest configuration is looked for
first (pytorch_best.py) and kept in --configs, so that a later call need not search again. Then all take turns:
ours, peer 1, peer 2, …, as many rounds as asked for, each round starting one place further on.

Usage: python3 run_bench.py --ours "build/bench/bench_lm --model small --threads 2 --seconds 10"
           --torch 2.15=PYTHON[:PYTHONPATH] --torch debian=/usr/bin/python3 --screen --rounds 7
Writes RESULT.json and RESULT.md into bench/results (--out), RESULT being lm-<model>-<threads>t-<date> (--name).
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys
import time
from typing import Any

import pytorch_best

ROOT = pathlib.Path(__file__).resolve().parent.parent


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def split_name(text: str) -> tuple[str, str]:
    name, found, rest = text.partition("=")
    if not found or not rest:
        raise argparse.ArgumentTypeError(f"{text!r}: expected NAME=VALUE")
    return name, rest


def machine() -> dict[str, Any]:
    info = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    fields = {k.strip(): v.strip() for k, _, v in (line.partition(":") for line in info)}
    git = lambda *words: subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True).stdout.strip()
    commit = git("rev-parse", "--short=12", "HEAD") or "none"
    changed = bool(git("status", "--porcelain", "--untracked-files=no"))
    wanted = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")
    return {"cpu": fields.get("model name", "?"), "family": fields.get("cpu family"), "model": fields.get("model"),
            "features": [f for f in wanted if f in fields.get("flags", "").split()], "cores": os.cpu_count(),
            "kernel": platform.release(), "commit": commit + (" with changes" if changed else ""),
            "date": datetime.datetime.now().isoformat(timespec="seconds"), "load_at_start": round(os.getloadavg()[0], 2)}


class Ours:
    def __init__(self, name: str, command: str, threads: int, timeout: float) -> None:
        self.name, self.command, self.threads, self.timeout = name, shlex.split(command), threads, timeout
        self.text = command

    def run(self) -> dict[str, Any]:
        return pytorch_best.run_json(self.command, dict(os.environ) | {"OMP_NUM_THREADS": str(self.threads)}, self.timeout)


class Peer:
    def __init__(self, name: str, runner: pytorch_best.Runner, config: pytorch_best.Config, seconds: float, warmup: int) -> None:
        self.name, self.runner, self.config, self.seconds, self.warmup = name, runner, config, seconds, warmup
        words = ["--model", runner.model, "--threads", str(runner.threads), "--seconds", str(seconds), "--warmup", str(warmup)]
        self.text = config.command("python3", "bench/pytorch_lm.py", *words)

    def run(self) -> dict[str, Any]:
        return self.runner.run(self.config, self.seconds, "--warmup", str(self.warmup))


def screen(args: argparse.Namespace, runners: dict[str, pytorch_best.Runner]) -> dict[str, Any]:
    """Each peer's best configuration, from the file where it is known, else by trying; the file is kept up to date."""
    key = lambda name: f"{name} {args.model} {args.threads}"
    known = json.loads(args.configs.read_text()) if args.configs and args.configs.exists() else {}
    for name, runner in runners.items():
        if args.screen and "best" not in known.get(key(name), {}):
            say(f"# screening {name}")
            known[key(name)] = pytorch_best.find_best(runner, args.screen_seconds, args.preload, not args.no_compile, say)
            if args.configs:
                args.configs.write_text(json.dumps(known, indent=1) + "\n")
    return {name: known.get(key(name), {}) for name in runners}


def rounds(entrants: list[Any], count: int, pause: float) -> dict[str, list[dict[str, Any]]]:
    results: dict[str, list[dict[str, Any]]] = {e.name: [] for e in entrants}
    for number in range(count):
        turn = number % len(entrants)
        for entrant in entrants[turn:] + entrants[:turn]:
            if any("error" in r for r in results[entrant.name]):
                continue  # it has failed once: it would again
            result = entrant.run()
            results[entrant.name].append(result)
            say(f"round {number + 1}  {entrant.name:28s} {result.get('words_per_second', 0):10.0f}  {result.get('error', '')}")
            time.sleep(pause)
    return results


def summary(entrant: Any, results: list[dict[str, Any]]) -> dict[str, Any]:
    good = [r for r in results if "words_per_second" in r]
    row = {"name": entrant.name, "command": entrant.text, "rounds": len(good)}
    if not good or len(good) < len(results):
        return row | {"error": next((r["error"] for r in results if "error" in r), "no words_per_second")}
    words = [r["words_per_second"] for r in good]
    # the run's own engine and version, so that what ran is on record, not what was meant to
    row |= {k: good[0][k] for k in ("engine", "version", "precision", "loss") if k in good[0]}
    row |= {"min": min(words), "median": statistics.median(words), "max": max(words), "all": words}
    return row | {"ms_per_step": statistics.median(r["ms_per_step"] for r in good)} if "ms_per_step" in good[0] else row


def table(result: dict[str, Any]) -> str:
    m, names = result["machine"], [o for o in result["ours"]]
    lines = [f"# Words per second, {result['model']} model, {result['threads']} thread(s)", "",
             f"{m['cpu']} (family {m['family']}, model {m['model']}; {', '.join(m['features'])}), {m['cores']} cores, Linux {m['kernel']};",
             f"commit {m['commit']}, {m['date']}, load {m['load_at_start']} before. {result['rounds']} interleaved rounds; median over rounds.", "",
             "| | min | median | max | ms/step |" + "".join(f" {n} / it |" for n in names) + " configuration |",
             "| --- | ---: | ---: | ---: | ---: |" + " ---: |" * len(names) + " --- |"]
    medians = {r["name"]: r.get("median") for r in result["rows"]}
    for r in result["rows"]:
        if "error" in r:
            lines.append(f"| {r['name']} | | | | |" + " |" * len(names) + f" failed: {r['error'].replace('|', '/')} |")
            continue
        ratios = [f" {medians[n] / r['median']:.2f} |" if medians.get(n) and n != r["name"] else " |" for n in names]
        what = r.get("configuration") or r.get("engine", "")
        label = r["name"] + (f" (torch {r['version']})" if r.get("engine") == "pytorch" else "")
        ms = f"{r['ms_per_step']:.2f}" if "ms_per_step" in r else ""
        lines.append(f"| {label} | {r['min']:.0f} | {r['median']:.0f} | {r['max']:.0f} | {ms} |" + "".join(ratios) + f" {what} |")
    if any("LD_PRELOAD=mkl" in r.get("command", "") or ":mkl" in r.get("command", "") for r in result["rows"]):
        lines += ["", "`LD_PRELOAD=mkl`: MKL told that the processor is Intel's (`pytorch_best.py`); else it takes slower kernels here."]
    lines += ["", "Commands:", ""] + [f"- {r['name']}: `{r['command']}`" for r in result["rows"]]
    return "\n".join(lines) + "\n"


def publish(folder: pathlib.Path, name: str, result: dict[str, Any], text: str) -> None:
    """Writes a result as JSON and as a page, and shows the page."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    (folder / f"{name}.md").write_text(text)
    print(text, end="")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", action="append", default=[], metavar="[NAME=]COMMAND", help="repeat for several of ours")
    parser.add_argument("--torch", action="append", default=[], type=split_name, metavar="NAME=PYTHON[:PYTHONPATH]")
    parser.add_argument("--model", choices=("small", "medium", "large"), default="small", help="for the peers; ours must agree")
    parser.add_argument("--threads", type=int, default=2, help="for the peers; ours must agree")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each peer's run in a round")
    parser.add_argument("--warmup", type=int, default=20, help="steps before a peer measures")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pause", type=float, default=0.5, help="seconds between runs")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds after which a run counts as failed")
    parser.add_argument("--screen", action="store_true", help="look for each peer's best configuration first")
    parser.add_argument("--screen-only", action="store_true", help="…and stop there")
    parser.add_argument("--screen-seconds", type=float, default=3.0, help="of each trial")
    parser.add_argument("--configs", type=pathlib.Path, help="file with the configurations found, read and written")
    parser.add_argument("--preload", action="append", default=[], metavar="LIBRARY", help="a library for the screening to try")
    parser.add_argument("--no-compile", action="store_true", help="screening without torch.compile")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--name", help="of the result files")
    args = parser.parse_args()
    args.screen |= args.screen_only
    if args.screen_only and not args.configs:
        parser.error("--screen-only needs --configs FILE to write to")
    return args


def main() -> None:
    args = parse()
    about = machine()
    ours = []
    for number, text in enumerate(args.ours):
        name, found, command = text.partition("=")
        named = bool(found) and name.replace("-", "").replace("_", "").isalnum() and "/" not in name
        default = "ours" if number == 0 else f"ours {number + 1}"
        ours.append(Ours(name if named else default, command if named else text, args.threads, args.timeout))
    runners = {name: pytorch_best.Runner(python, args.model, args.threads, args.timeout) for name, python in args.torch}
    found_best = screen(args, runners)
    if args.screen_only:
        return
    peers = []
    for name, runner in runners.items():
        data = found_best[name].get("best")
        config = pytorch_best.config_from(data) if data else pytorch_best.Config()
        peers.append(Peer(name, runner, config, args.seconds, args.warmup))
    entrants = [*ours, *peers]
    if not entrants:
        sys.exit("run_bench: nothing to run; give --ours and --torch")

    results = rounds(entrants, args.rounds, args.pause)
    rows = []
    for entrant in entrants:
        row = summary(entrant, results[entrant.name])
        if isinstance(entrant, Peer):
            row["configuration"] = entrant.config.text()
            if "tried" in found_best[entrant.name]:
                row["screening"] = [{**t} for t in found_best[entrant.name]["tried"]]
        rows.append(row)
    rows = rows[: len(ours)] + sorted(rows[len(ours):], key=lambda r: -r.get("median", 0))
    result = {"machine": about, "model": args.model, "threads": args.threads, "rounds": args.rounds,
              "ours": [o.name for o in ours], "rows": rows}
    name = args.name or f"lm-{args.model}-{args.threads}t-{about['date'][:10]}"
    publish(args.out, name, result, table(result))


if __name__ == "__main__":
    main()
