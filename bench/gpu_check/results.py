"""Makes pages of bench/results of what check.sh left on a machine with a GPU: ./run gpu-check --results FOLDER…

Several folders are those of several calls of one commit: of a step that is in more than one, the last counts. Writes gpu.md and
the output of each training that was finished. Where nothing ran on a GPU, or one folder is a dry run's, nothing is written, and the
exit code is 1.
"""

import argparse
import datetime
import json
import pathlib
import re
import statistics
import sys
from typing import Any

RESULTS = pathlib.Path(__file__).resolve().parent.parent / "results"
COLUMNS = ("outcome", "seconds", "name", "note")


def read_steps(folders: list[pathlib.Path]) -> dict[str, dict[str, str]]:
    steps: dict[str, dict[str, str]] = {}
    for folder in folders:
        for line in (folder / "steps.tsv").read_text().splitlines():
            step = dict(zip(COLUMNS, line.split("\t")))
            before = steps.get(step["name"])
            if before and before["outcome"] != "skipped" and step["outcome"] == "skipped":
                continue  # a call without a GPU takes nothing back
            steps[step["name"]] = step
    return steps


def read_json(folders: list[pathlib.Path], name: str) -> list[dict[str, Any]]:
    rows = {}
    for folder in folders:
        file = folder / name
        for line in file.read_text().splitlines() if file.exists() else []:
            row = json.loads(line)
            rows[row.get("name", folder)] = row
    return list(rows.values())


def first_text(folders: list[pathlib.Path], name: str) -> str:
    return next((text for folder in reversed(folders) if (folder / name).exists() and (text := (folder / name).read_text().strip())), "")


def cell(text: str) -> str:
    return text.replace("|", "/")


def steps_table(steps: list[dict[str, str]]) -> list[str]:
    lines = ["| step | outcome | seconds | |", "| --- | --- | ---: | --- |"]
    return lines + [f"| {s['name']} | {cell(s['outcome'])} | {s['seconds']} | {cell(s.get('note', ''))} |" for s in steps]


def speed_table(rows: list[dict[str, Any]]) -> list[str]:
    """A line for each model, precision and way; times PyTorch is against the faster of PyTorch's two, as both were given a graph."""
    lines = ["| model | precision | by | words/s | ms a step | / PyTorch |", "| --- | --- | --- | ---: | ---: | ---: |"]
    best: dict[tuple[str, str], float] = {}
    for row in rows:
        if row.get("engine") == "pytorch":
            key = (row["model"], row["precision"])
            best[key] = max(best.get(key, 0), row["words_per_second"])
    for row in rows:
        graph = row.get("graph") or row.get("config", {}).get("graph")
        name = {"pytorch": f"PyTorch {row.get('version', '')}".strip()}.get(row["engine"], row["engine"]) + (", a graph" if graph else "")
        peer = best.get((row["model"], row["precision"]))
        ratio = f"{row['words_per_second'] / peer:.2f}" if peer and row["engine"] != "pytorch" else ""
        lines.append(f"| {row['model']} | {row['precision']} | {name} | {row['words_per_second']:.0f} | {row['ms_per_step']:.3f} | {ratio} |")
    return lines


def changes_table(rows: list[dict[str, Any]]) -> list[str]:
    """A line for each model, precision and engine: milliseconds of a step, how many times as long it takes without a change, and
    its speed by that of PyTorch's fastest configuration. A single layer has the milliseconds of a window."""
    steps: dict[tuple[str, str, str], dict[str, dict[str, Any]]] = {}
    best: dict[tuple[str, str], float] = {}
    for row in rows:
        _, model, precision, engine, *change = row["name"].split("-", 4)
        for case in row.get("cases", {}).values():
            row["ms_per_step"] = statistics.median(case["option_ms"])
        if engine == "torch":
            best[model, precision] = row["words_per_second"]
        else:
            steps.setdefault((model, precision, engine), {})["-".join(change).removeprefix("without-")] = row
    words = list(dict.fromkeys(word for of in steps.values() for word in of if word))
    lines = ["| model | precision | engine | ms a step | " + "".join(f"without {w.replace(',', ', then ')} | " for w in words) + "/ PyTorch's best |",
             "| --- | --- | --- |" + " ---: |" * (len(words) + 2)]
    for (model, precision, engine), of in steps.items():
        if "" not in of:
            continue
        mine = of[""]
        # The last of several counts beside the others: what it wins where these are off.
        beside = [of.get(w.rpartition(",")[0]) for w in words]
        ratios = [f"{of[w]['ms_per_step'] / b['ms_per_step']:.2f}" if w in of and b else "" for w, b in zip(words, beside)]
        peer = f"{mine['words_per_second'] / best[model, precision]:.2f}" if (model, precision) in best else ""
        lines.append("| " + " | ".join([model, precision, engine, f"{mine['ms_per_step']:.3f}", *ratios, peer]) + " |")
    return lines


def options_table(rows: list[dict[str, Any]]) -> list[str]:
    """A line for each option: the median of its windows' time by that of cuDNN's without it, by precision and width."""
    factors: dict[str, dict[str, str]] = {}
    for row in rows:
        for option, case in row["cases"].items():
            ratios = [a / b for a, b in zip(case["option_ms"], case["plain_ms"])]
            times = f"{statistics.median(case['option_ms']):.2f} ms"
            factors.setdefault(f"{option} / {case['against']}", {})[f"{row['precision']}, {row['hidden']}"] = f"{statistics.median(ratios):.2f} ({times})"
    columns = [f"{row['precision']}, {row['hidden']}" for row in rows]
    lines = ["| option / against | " + " | ".join(columns) + " |", "| --- |" + " ---: |" * len(columns)]
    return lines + [f"| {name} | " + " | ".join(of.get(c, "") for c in columns) + " |" for name, of in factors.items()]


def page(steps: dict[str, dict[str, str]], facts: dict[str, Any], speed: list[dict[str, Any]], options: list[dict[str, Any]], changes: list[dict[str, Any]], machine: str, commit: str, date: str) -> str:
    of = lambda *beginnings: [s for s in steps.values() if s["name"].startswith(beginnings)]
    version = lambda v: f"{v // 1000}.{v % 1000 // 10}"
    about = f"{facts['gpu']}, compute capability {facts['capability'] / 10}, driver for CUDA {version(facts['driver'])}, built with CUDA {version(facts['cuda'])}, cuDNN {facts['cudnn']}."
    lines = [f"# On a GPU: {facts['gpu']}", "", about, f"Commit {commit}, {date}. Command: `gpu-check/check.sh` ([how](../README.md#on-a-gpu)).", "", "```", machine, "```"]
    sections = [("Tests", steps_table(of("gpu_"))), ("Compute-sanitizer", steps_table(of("memcheck", "racecheck", "synccheck", "initcheck", "sanitize"))),
                ("What is said of cuDNN", steps_table(of("claim-"))), ("Agreement of engines", steps_table(of("losses-", "agree-"))), ("Changes, times as long without", changes_table(changes) if changes else []), ("Speed", speed_table(speed) if speed else []), ("Options, a window as a graph", options_table(options) if options else []),
                ("Trainings", steps_table(of("train-"))), ("Facts and dry runs", steps_table(of("facts", "dry-run", "explain")))]
    for title, table in sections:
        if len(table) > 2:
            lines += ["", f"## {title}", "", *table]
    if speed:
        lines += ["", "/ PyTorch: against the faster of its two ways in the same precision."]
    return "\n".join(lines) + "\n"


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="./run gpu-check --results", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER", help="what a call of check.sh left (its OUT)")
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS, help="where pages go (default: bench/results)")
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    args = parser.parse_args(words)
    for folder in args.folders:
        if not (folder / "steps.tsv").exists():
            print(f"./run gpu-check --results: {folder} has no steps.tsv: no check was made there", file=sys.stderr)
            return 2
        if (folder / "stand-in").exists():
            print(f"./run gpu-check --results: {folder} is a dry run's, over the stand-in for CUDA: nothing was measured", file=sys.stderr)
            return 1
    commits = {(folder / "commit").read_text().strip(): folder for folder in args.folders if (folder / "commit").exists()}
    if len(commits) > 1:
        print("./run gpu-check --results: a page is of one commit, and these are of several: "
              + ", ".join(f"{folder} of {commit}" for commit, folder in commits.items()), file=sys.stderr)
        return 2
    steps, facts = read_steps(args.folders), read_json(args.folders, "facts.json")
    known = next((f for f in facts if "gpu" in f), None)
    if known is None:
        why = next((f["why_not"] for f in facts if "why_not" in f), "no facts were left")
        print(f"./run gpu-check --results: nothing ran on a GPU, and nothing is written: {why}", file=sys.stderr)
        return 1
    speed, options, changes = (read_json(args.folders, f"{part}.jsonl") for part in ("speed", "options", "changes"))
    commit = first_text(args.folders, "commit")
    machine = re.sub(r"(?m)^LD_LIBRARY_PATH=.*\n?", "", first_text(args.folders, "machine.log"))  # folders of that machine
    args.out.mkdir(parents=True, exist_ok=True)
    written = [args.out / "gpu.md"]
    written[0].write_text(page(steps, known, speed, options, changes, machine, commit, args.date))
    for step in steps.values():
        if step["name"].startswith("train-") and step["outcome"] == "ok":
            name = step["name"].removeprefix("train-")
            outputs = [o for folder in args.folders if (o := folder / "train" / name / "output.log").exists()]
            if outputs:
                written.append(args.out / f"{name}-gpu.log")
                written[-1].write_text("".join(o.read_text() for o in outputs))
    for file in written:
        print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
