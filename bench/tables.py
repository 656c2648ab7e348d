"""What comes out of a comparison of speeds: figures over the rounds, as JSON and as a page of tables."""

import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent


def median_and_quartiles(values: list[float]) -> str:
    if len(values) < 3:
        return f"{statistics.median(values):.2f}"
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{median:.2f} ({low:.2f}–{high:.2f})"


# What a row has beside its speed: the column's head, and how a figure is written.
COSTS = {"ms_per_step": ("ms/step", "{:.4g}".format), "times_pytorch": ("/ PyTorch", median_and_quartiles),
         "share_of_peak": ("of the peak", "{:.0%}".format), "peak_gflops": ("peak, GFLOP/s", "{:,.0f}".format),
         "share_of_memory": ("of the memory's speed", "{:.0%}".format), "memory_gb_per_second": ("memory, GB/s", "{:.1f}".format),
         "share_of_products": ("in products", "{:.0%}".format),
         "tensors_mib": ("tensors, MiB", "{:.0f}".format), "device_mib": ("device, MiB", "{:.0f}".format),
         "start_up_seconds": ("start-up, s", "{:.2f}".format), "first_step_seconds": ("first step, s", "{:.2f}".format),
         "baseline_mib": ("baseline", "{:.0f}".format), "parameters_mib": ("parameters", "{:.0f}".format),
         "gradients_mib": ("gradients", "{:.0f}".format), "beyond_mib": ("beyond", "{:.0f}".format)}


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


def summary(entrant: Any, results: list[dict[str, Any]]) -> dict[str, Any]:
    good = [r for r in results if "words_per_second" in r]
    row = {"name": entrant.name, "command": entrant.text, "rounds": len(good)}
    if not good or len(good) < len(results):
        return row | {"error": next((r["error"] for r in results if "error" in r), "no words_per_second")}
    words = [r["words_per_second"] for r in good]
    # the run's own engine and version, so that what ran is on record, not what was meant to
    of_the_run = ("engine", "version", "precision", "loss", "algorithm", "gpu", "flops_per_word", "bytes_per_word", "operations")
    row |= {k: good[0][k] for k in of_the_run if k in good[0]}
    row |= {"min": min(words), "median": statistics.median(words), "max": max(words), "all": words}
    for key in COSTS:
        if all(key in r for r in good):
            row[key] = statistics.median(r[key] for r in good)
    return row


def ratios(ours: dict[str, Any], it: dict[str, Any]) -> list[float]:
    """How many times as fast ours is, in each round: a machine that changes its own speed does so from round to round
    rather than within one."""
    return [a / b for a, b in zip(ours["all"], it["all"])]


def add_ratios(rows: list[dict[str, Any]], ours: list[str]) -> None:
    """To each of our rows, how many times as fast it is as the fastest of the peers in its precision, round by round."""
    for row in rows:
        peers = [r for r in rows if r["name"] not in ours and r.get("precision") == row.get("precision") and "median" in r]
        if row["name"] in ours and "median" in row and peers:
            row["times_pytorch"] = ratios(row, max(peers, key=lambda r: r["median"]))


def add_shares(rows: list[dict[str, Any]], ours: list[str]) -> None:
    """To each peer that did not measure the machine itself, its shares of what ours measured in the same precision."""
    measured = [r for r in rows if r["name"] in ours and "median" in r]
    for row in rows:
        if row["name"] in ours or "median" not in row:
            continue
        for of_one, most, share in (("flops_per_word", "peak_gflops", "share_of_peak"), ("bytes_per_word", "memory_gb_per_second", "share_of_memory")):
            it = next((r for r in measured if r.get("precision") == row.get("precision") and of_one in r and most in r), None)
            if it and share not in row:
                row[share] = row["median"] * it[of_one] / 1e9 / it[most]


def cost(key: str, row: dict[str, Any]) -> str:
    """A cell of the table."""
    return COSTS[key][1](row[key]) if key in row else ""


def heading(result: dict[str, Any]) -> list[str]:
    """What machine, what commit, when: below a title."""
    m = result["machine"]
    beside = f" Beside a loop that keeps core {result['busy']} busy." if result["busy"] is not None else ""
    return [f"{m['cpu']} (family {m['family']}, model {m['model']}; {', '.join(m['features'])}), {m['cores']} cores, Linux {m['kernel']};",
            f"commit {m['commit']}, {m['date']}, load {m['load_at_start']} before. {result['rounds']} interleaved round{'s' if result['rounds'] != 1 else ''}; medians over rounds, of ratios within one (quartiles)." + beside]


def rows_table(rows: list[dict[str, Any]], compared: list[str]) -> list[str]:
    """A line for each entrant; a column of ratios for each of `compared`."""
    costs = [key for key in COSTS if any(key in r for r in rows)]
    lines = ["| | min | median | max |" + "".join(f" {n} / it |" for n in compared) + "".join(f" {COSTS[c][0]} |" for c in costs) + " configuration |",
             "| --- | ---: | ---: | ---: |" + " ---: |" * (len(compared) + len(costs)) + " --- |"]
    ours = {r["name"]: r for r in rows if r["name"] in compared and "all" in r}
    for r in rows:
        if "error" in r:
            lines.append(f"| {r['name']} | | | |" + " |" * (len(compared) + len(costs)) + f" failed: {r['error'].replace('|', '/')} |")
            continue
        times = [f" {median_and_quartiles(ratios(ours[n], r))} |" if n in ours and n != r["name"] else " |" for n in compared]
        what = r.get("configuration") or ", ".join(r[k] for k in ("engine", "algorithm") if r.get(k))
        label = r["name"] + (f" (torch {r['version']})" if r.get("engine") == "pytorch" else "")
        cells = "".join(f" {cost(c, r)} |" for c in costs)
        lines.append(f"| {label} | {r['min']:.0f} | {r['median']:.0f} | {r['max']:.0f} |" + "".join(times) + cells + f" {what} |")
    return lines


def operations_table(row: dict[str, Any]) -> list[str]:
    """Where the time of one of ours goes, as far as an operation takes a hundredth of it."""
    lines = [f"Where the time of {row['name']} goes:", "", "| operation | of the time | of that in products | GFLOP/s |", "| --- | ---: | ---: | ---: |"]
    for o in row["operations"]:
        if o["share"] >= 0.01:
            products = f" {o['products']:.0%} | {o['gflops']:,.0f} |" if o["gflops"] > 0 else " | |"
            lines.append(f"| {o['operation']} | {o['share']:.0%} |" + products)
    return lines


def notes(rows: list[dict[str, Any]]) -> list[str]:
    """What the columns mean that these rows have."""
    has = lambda key: any(key in r for r in rows)
    lines = []
    if has("times_pytorch"):
        lines += ["", "/ PyTorch: how many times as fast as the fastest PyTorch in the same precision."]
    if has("share_of_memory"):
        lines += ["", "Memory's speed: of loops that do nothing but read, on as many threads, in the same process. A word of inference reads each weight once; where they",
                  "fit a cache, that is faster than the memory."]
    if has("device_mib"):
        lines += ["", "Peak: a product of [8192, 8192] matrices in the same process and precision, the fastest of ten. Memory at its peak: of tensors,",
                  "and of all that the process made the device hold, which is asked for at the end, since neither side gives memory back."]
    elif has("share_of_peak"):
        lines += ["", "Peak: multiply-adds in registers and nothing else, on as many threads, in the same process before and after; PyTorch's shares are of what ours measured."]
    if has("share_of_products"):
        lines += ["", "In products: matrix products' share of the time; the rest are passes over elements."]
    if has("beyond_mib"):
        lines += ["", "Memory in MiB: the process before it has a model, the model's parameters, their gradients, and what its peak holds beyond these three."]
    if any("LD_PRELOAD=mkl" in r.get("command", "") or ":mkl" in r.get("command", "") for r in rows):
        lines += ["", "`LD_PRELOAD=mkl`: MKL told that the processor is Intel's (`pytorch_best.py`); else it takes slower kernels here."]
    return lines


def commands(rows: list[dict[str, Any]]) -> list[str]:
    return ["", *(f"- {r['name']}: `{r['command']}`" for r in rows)]


TASKS = {"train": "Words per second in training", "step": "Words per second in inference, batch 1"}


def comparison(result: dict[str, Any]) -> str:
    """The page of one model and task, which the command line chose."""
    title = f"# {TASKS[result['task']]}: {result['model']} model, {result['precision']}, {result['threads']} thread(s)"
    lines = [title, "", *heading(result), "", *rows_table(result["rows"], result["ours"])]
    return "\n".join([*lines, *notes(result["rows"]), "", "Commands:", *commands(result["rows"])]) + "\n"


def overview(result: dict[str, Any]) -> str:
    """The page of all models and tasks on one device."""
    on = result["gpu"] if result["gpu"] else f"a CPU, {result['threads']} thread(s)"
    lines, rows = [f"# Training and inference on {on}", "", *heading(result)], []
    for part in result["parts"]:
        lines += ["", f"## {TASKS[part['task']]}: {part['model']} model", "", *rows_table(part["rows"], [])]
        timed = next((r for r in part["rows"] if "operations" in r), None)
        if timed:
            lines += ["", *operations_table(timed)]
        rows += part["rows"]
    lines += [*notes(rows), "", "Commands:"]
    for part in result["parts"]:
        lines += commands(part["rows"])
    return "\n".join(lines) + "\n"


def publish(folder: pathlib.Path, name: str, result: dict[str, Any], text: str) -> None:
    """Writes a result as JSON and as a page, and shows the page."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    (folder / f"{name}.md").write_text(text)
    print(text, end="")
