"""Compares our speed and cost with PyTorch's: interleaved rounds, medians and spread, one table.

Ours is a program that prints one JSON line with words_per_second for the same task, model, precision and threads; the
peers are installations of PyTorch, each running pytorch_lm.py. With --screen every peer's fastest configuration is looked for
first (pytorch_best.py) and kept in --configs, so that a later call need not search again. Then all take turns:
ours, peer 1, peer 2, …, as many rounds as asked for, each round starting one place further on. With --busy N everything but the screening runs
beside a process that keeps core N busy.

With --gpu: the three models on a GPU, ours by each engine and in each precision that the device has, beside each peer in the same
precisions, with the configurations that the screening finds. Every entrant also measures a large matrix product in its own
run, and its share of that. A machine without a GPU is said so, and nothing is measured.

Usage: python3 run_bench.py --ours "build/bench/bench_lm --model small --threads 2 --seconds 10"
           --torch 2.15=PYTHON[:PYTHONPATH] --torch debian=/usr/bin/python3 --screen --rounds 7
Writes RESULT.json and RESULT.md into bench/results (--out), RESULT being lm-<model>-<threads>t-<date>, or with the
task, precision and busy core in it where they are not the usual ones (--name). With --gpu one for each model, lm-<model>-gpu-<date>:
       ./run bench --gpu --torch 2.15=PYTHON[:PYTHONPATH]
"""

import argparse
import contextlib
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
from typing import Any, Iterator

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
            "kernel": platform.release().split("-")[0], "commit": commit + (" with changes" if changed else ""),
            "date": datetime.datetime.now().isoformat(timespec="seconds"), "load_at_start": round(os.getloadavg()[0], 2)}


class Ours:
    def __init__(self, name: str, command: str, threads: int, timeout: float) -> None:
        self.name, self.command, self.threads, self.timeout = name, shlex.split(command), threads, timeout
        self.text = command

    def run(self) -> dict[str, Any]:
        return pytorch_best.run_json(self.command, dict(os.environ) | {"OMP_NUM_THREADS": str(self.threads)}, self.timeout)


class Peer:
    def __init__(self, name: str, runner: pytorch_best.Runner, config: pytorch_best.Config, seconds: float, *more: str) -> None:
        self.name, self.runner, self.config, self.seconds, self.more = name, runner, config, seconds, more
        self.text = config.command("python3", "bench/pytorch_lm.py", *runner.words(), "--seconds", str(seconds), *more)

    def run(self) -> dict[str, Any]:
        return self.runner.run(self.config, self.seconds, *self.more)


def screen(args: argparse.Namespace, runners: dict[str, pytorch_best.Runner]) -> dict[str, Any]:
    """Each peer's best configuration, from the file where it is known, else by trying; the file is kept up to date."""
    what = [args.model, str(args.threads)] + [w for w in (args.task, args.precision, args.device) if w not in ("train", "fp32", "cpu")]
    key = lambda name: " ".join([name, *what])
    known = json.loads(args.configs.read_text()) if args.configs and args.configs.exists() else {}
    for name, runner in runners.items():
        if args.screen and "best" not in known.get(key(name), {}):
            say(f"# screening {name}")
            known[key(name)] = pytorch_best.find_best(runner, args.screen_seconds, args.preload, not args.no_compile, say)
            if args.configs:
                args.configs.write_text(json.dumps(known, indent=1) + "\n")
    return {name: known.get(key(name), {}) for name in runners}


# What an entrant prints beside its speed: the column's head, and how a figure is written.
COSTS = {"ms_per_step": ("ms/step", "{:.4g}"), "times_pytorch": ("/ PyTorch", "{:.2f}"),
         "share_of_peak": ("share of peak", "{:.0%}"), "peak_gflops": ("peak, GFLOP/s", "{:,.0f}"),
         "tensors_mib": ("tensors, MiB", "{:.0f}"), "device_mib": ("device, MiB", "{:.0f}"),
         "start_up_seconds": ("start-up, s", "{:.2f}"), "first_step_seconds": ("first step, s", "{:.2f}"),
         "baseline_mib": ("baseline", "{:.0f}"),
         "parameters_mib": ("parameters", "{:.0f}"), "gradients_mib": ("gradients", "{:.0f}"), "beyond_mib": ("beyond", "{:.0f}")}


def cost(key: str, row: dict[str, Any]) -> str:
    """A cell of the table."""
    return COSTS[key][1].format(row[key]) if key in row else ""


@contextlib.contextmanager
def busy(core: int | None) -> Iterator[None]:
    """Keeps a core busy with a loop."""
    if core is None:
        yield
        return
    loop = subprocess.Popen([sys.executable, "-c", f"import os\nos.sched_setaffinity(0, [{core}])\nwhile True: pass"])
    try:
        yield
    finally:
        loop.kill()
        loop.wait()


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
    row |= {k: good[0][k] for k in ("engine", "version", "precision", "loss", "algorithm", "gpu") if k in good[0]}
    row |= {"min": min(words), "median": statistics.median(words), "max": max(words), "all": words}
    for key in COSTS:
        if all(key in r for r in good):
            row[key] = statistics.median(r[key] for r in good)
    return row


def ratios(ours: dict[str, Any], it: dict[str, Any]) -> list[float]:
    """How many times as fast ours is, in each round: a machine that changes its own speed does so from round to round
    rather than within one."""
    return [a / b for a, b in zip(ours["all"], it["all"])]


def median_and_quartiles(values: list[float]) -> str:
    if len(values) < 3:
        return f"{statistics.median(values):.2f}"
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{median:.2f} ({low:.2f}–{high:.2f})"


def title(result: dict[str, Any]) -> str:
    what = "Words per second in training" if result["task"] == "train" else "Words per second in inference, batch 1"
    if result.get("gpu"):
        return f"# {what} on {result['gpu']}: {result['model']} model"
    return f"# {what}: {result['model']} model, {result['precision']}, {result['threads']} thread(s)"


def table(result: dict[str, Any]) -> str:
    m, names = result["machine"], [o for o in result["ours"]]
    costs = [key for key in COSTS if any(key in r for r in result["rows"])]
    beside = f" Beside a loop that keeps core {result['busy']} busy." if result["busy"] is not None else ""
    lines = [title(result), "",
             f"{m['cpu']} (family {m['family']}, model {m['model']}; {', '.join(m['features'])}), {m['cores']} cores, Linux {m['kernel']};",
             f"commit {m['commit']}, {m['date']}, load {m['load_at_start']} before. {result['rounds']} interleaved rounds; medians over rounds, of ratios within one (quartiles)." + beside, "",
             "| | min | median | max |" + "".join(f" {n} / it |" for n in names) + "".join(f" {COSTS[c][0]} |" for c in costs) + " configuration |",
             "| --- | ---: | ---: | ---: |" + " ---: |" * (len(names) + len(costs)) + " --- |"]
    ours = {r["name"]: r for r in result["rows"] if r["name"] in names and "all" in r}
    for r in result["rows"]:
        if "error" in r:
            lines.append(f"| {r['name']} | | | |" + " |" * (len(names) + len(costs)) + f" failed: {r['error'].replace('|', '/')} |")
            continue
        times = [f" {median_and_quartiles(ratios(ours[n], r))} |" if n in ours and n != r["name"] else " |" for n in names]
        what = r.get("configuration") or ", ".join(r[k] for k in ("engine", "algorithm") if r.get(k))
        label = r["name"] + (f" (torch {r['version']})" if r.get("engine") == "pytorch" else "")
        cells = "".join(f" {cost(c, r)} |" for c in costs)
        lines.append(f"| {label} | {r['min']:.0f} | {r['median']:.0f} | {r['max']:.0f} |" + "".join(times) + cells + f" {what} |")
    if "times_pytorch" in costs:
        lines += ["", "/ PyTorch: how many times as fast as the fastest PyTorch in the same precision."]
    if "device_mib" in costs:
        lines += ["", "Peak: a product of [8192, 8192] matrices in the same process and precision, the fastest of ten. Memory at its peak: of tensors,",
                  "and of all that the process made the device hold, which is asked for at the end, since neither side gives memory back."]
    if "beyond_mib" in costs:
        lines += ["", "Memory in MiB: the process before it has a model, the model's parameters, their gradients, and what its peak holds beyond these three."]
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


def parse(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", action="append", default=[], metavar="[NAME=]COMMAND", help="repeat for several of ours")
    parser.add_argument("--torch", action="append", default=[], type=split_name, metavar="NAME=PYTHON[:PYTHONPATH]")
    pytorch_best.add_options(parser)  # for the peers; ours must agree
    parser.add_argument("--gpu", action="store_true", help="all models, engines and precisions on a GPU; --ours is the program alone")
    parser.add_argument("--device", choices=("cpu", "cuda"), help="with --gpu, cpu: the same runs without one, to try the script")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each peer's run in a round")
    parser.add_argument("--warmup", type=int, default=20, help="steps before a peer measures")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pause", type=float, default=0.5, help="seconds between runs")
    parser.add_argument("--busy", type=int, metavar="CORE", help="run beside a loop that keeps this core busy")
    parser.add_argument("--screen", action="store_true", help="look for each peer's best configuration first")
    parser.add_argument("--screen-only", action="store_true", help="…and stop there")
    parser.add_argument("--screen-seconds", type=float, default=3.0, help="of each trial")
    parser.add_argument("--configs", type=pathlib.Path, help="file with the configurations found, read and written")
    parser.add_argument("--preload", action="append", default=[], metavar="LIBRARY", help="a library for the screening to try")
    parser.add_argument("--no-compile", action="store_true", help="screening without torch.compile")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--name", help="of the result files")
    args = parser.parse_args(words)
    if args.device and not args.gpu:
        parser.error("--device is for --gpu")
    if args.gpu and len(args.ours) > 1:
        parser.error("--gpu takes one program as --ours")
    if args.gpu and (args.busy is not None or args.task != "train"):
        parser.error("--gpu measures training, beside nothing")
    if args.gpu and args.name:
        parser.error("--gpu has a result for each model: their names are its own")
    args.device = args.device or ("cuda" if args.gpu else "cpu")
    args.screen |= args.gpu  # nobody is beaten by a bad default
    args.screen |= args.screen_only
    if args.screen_only and not args.configs:
        parser.error("--screen-only needs --configs FILE to write to")
    return args


def peers_of(args: argparse.Namespace, runners: dict[str, pytorch_best.Runner], found: dict[str, Any], names: str, *more: str) -> list[Peer]:
    """`names`: "{}" with what is to follow a peer's name."""
    peers = []
    for name, runner in runners.items():
        data = found[name].get("best")
        config = pytorch_best.config_from(data) if data else pytorch_best.Config()
        peers.append(Peer(names.format(name), runner, config, args.seconds, "--warmup", str(args.warmup), *more))
    return peers


def add_ratios(rows: list[dict[str, Any]], ours: list[str]) -> None:
    """To each of our rows, how many times as fast it is as the fastest of the peers in its precision."""
    for row in rows:
        peers = [r for r in rows if r["name"] not in ours and r.get("precision") == row.get("precision") and "median" in r]
        if row["name"] in ours and "median" in row and peers:
            row["times_pytorch"] = statistics.median(ratios(row, max(peers, key=lambda r: r["median"])))


def gpu_bench(args: argparse.Namespace) -> None:
    program = shlex.split(args.ours[0]) if args.ours else [str(ROOT / "build" / "bench" / "bench_lm")]
    facts = pytorch_best.run_json([*program, "--device", args.device, "--facts"], dict(os.environ), args.timeout)
    if "error" in facts:
        sys.exit(f"run_bench: {program[0]}: {facts['error']}")
    if "why_not" in facts:
        print(f"./run bench --gpu: NOTHING WAS MEASURED: {facts['why_not']}")
        return
    if not args.torch:
        say("# no --torch NAME=PYTHON: nothing is compared with PyTorch")
    about = machine() | {k: facts[k] for k in ("gpu", "capability", "driver", "cuda", "cudnn") if k in facts}
    precisions = list(dict.fromkeys(c["precision"] for c in facts["computes"]))
    for model in ("small", "medium", "large"):
        ours, peers, screening = [], [], {}
        for c in facts["computes"]:
            words = ["--device", args.device, "--model", model, "--engine", c["engine"], "--precision", c["precision"],
                     "--threads", str(args.threads), "--seconds", str(args.seconds), "--peak"]
            ours.append(Ours(f"unroll {c['engine']} {c['precision']}", shlex.join([*program, *words]), args.threads, args.timeout))
            ours[-1].text = shlex.join([*(pathlib.Path(p).name for p in program), *words])  # published without folders
        for precision in precisions:
            of_these = argparse.Namespace(**vars(args) | {"model": model, "precision": precision})
            runners = {name: pytorch_best.Runner(python, of_these) for name, python in args.torch}
            found = screen(of_these, runners)
            peak = ["--peak"] if args.device == "cuda" else []
            for peer, name in zip(peers_of(of_these, runners, found, "{} " + precision, *peak), runners):
                peers.append(peer)
                screening[peer.name] = found[name].get("tried", [])
        if args.screen_only:
            continue
        results = rounds([*ours, *peers], args.rounds, args.pause)
        rows = [summary(entrant, results[entrant.name]) for entrant in [*ours, *peers]]
        add_ratios(rows, [o.name for o in ours])
        for row, peer in zip(rows[len(ours):], peers):
            row |= {"configuration": peer.config.text(), "screening": screening[peer.name]}
        result = {"machine": about, "task": "train", "model": model, "precision": precisions, "threads": args.threads, "busy": None,
                  "gpu": facts.get("gpu", "the CPU, as a trial"), "rounds": args.rounds, "ours": [], "rows": rows}
        publish(args.out, "-".join(["lm", model, "gpu" if args.device == "cuda" else "trial", about["date"][:10]]), result, table(result))


def main() -> None:
    args = parse()
    if args.gpu:
        return gpu_bench(args)
    about = machine()
    ours = []
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
    entrants = [*ours, *peers]
    if not entrants:
        sys.exit("run_bench: nothing to run; give --ours and --torch")

    with busy(args.busy):
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
    result = {"machine": about, "task": args.task, "model": args.model, "precision": args.precision, "threads": args.threads,
              "rounds": args.rounds, "busy": args.busy, "ours": [o.name for o in ours], "rows": rows}
    unusual = [w for w in (args.task, args.precision) if w not in ("train", "fp32")] + (["busy"] if args.busy is not None else [])
    name = args.name or "-".join(["lm", args.model, *unusual, f"{args.threads}t", about["date"][:10]])
    publish(args.out, name, result, table(result))


if __name__ == "__main__":
    main()
