#!/usr/bin/env python3
"""Whether two builds train to the same bits: the first steps of every bundled recipe in one thread, losses, norms and weights.

  same_bits.py BUILD OTHER --data FOLDER [RECIPE…]     FOLDER/ptb and FOLDER/series; UNROLL_ISA is handed on

Models are narrowed to WIDTH, so every kernel and every option runs and nobody waits for hours. Recipes of the Penn Treebank read
the beginning of its text, 10 rows to a batch. Series are read whole, for as many epochs as give 100 steps; where rows are
counted, so many as give them. The pretrained forecaster reads 100 steps of synthetic series."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib

from programs import built

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEPS, WIDTH = 100, 64
EPOCHS = {"airline": 6, "eeg": 3, "occupancy": 2, "sunspots": 3}  # else 1
NARROW = {"embedding": WIDTH, "hidden": WIDTH, "last_hidden": WIDTH, "heads": 4, "feed_forward": 2 * WIDTH}


def arguments(name: str, data: pathlib.Path, folder: pathlib.Path) -> list[str]:
    recipe = tomllib.loads((ROOT / f"recipes/{name}.toml").read_text())
    sets = [f"training.epochs={EPOCHS.get(name, 1)}", "training.log_every=1"]
    if "series" in recipe:
        sets += [f"series.steps={STEPS}", "series.valid=64", f"model.hidden={WIDTH}"]
        return ["timeseries", "pretrain", name, *(f"--set={s}" for s in sets)]
    if "window" in recipe["data"]:
        read = recipe["data"]
        file = pathlib.Path(read["file"]).name
        rows = read["window"] + read.get("horizon", 1)
        if read.get("train_rows", 0) > rows + STEPS * read["batch"]:
            sets += [f"data.train_rows={rows + STEPS * read['batch']}", f"data.valid_rows={rows}", f"data.test_rows={rows}"]
        sets += [f"model.hidden={WIDTH}"] if recipe["model"].get("hidden", 0) > WIDTH else []
        csv = ["--csv", str(data / "series" / file)] if file.endswith(".csv") else []
        return ["timeseries", "train", name, *csv, *(f"--set={s}" for s in sets)]
    if recipe["data"]["corpus"] == "grammar":
        sets += [f"data.train_tokens={STEPS * 200 + 10}", "data.valid_tokens=2000", "data.test_tokens=2000"]
        return ["ptb", "train", name, *(f"--set={s}" for s in sets)]
    sets += ["schedule.warmup=0"] if recipe.get("schedule", {}).get("warmup", 0) >= EPOCHS.get(name, 1) else []
    sets += ['training.init_from=""'] if "init_from" in recipe["training"] else []
    model = recipe["model"]
    sets += ["data.batch=10", *(f"model.{k}={v}" for k, v in NARROW.items() if k in model)]
    if "last_hidden" in model:  # is narrower than the others
        sets.append(f"model.hidden={2 * WIDTH}")
    for split, tokens in ("train", (STEPS + 2) * 10 * recipe["data"]["bptt"]), ("valid", 2000), ("test", 2000):
        lines = (data / f"ptb/ptb.{split}.txt").read_text().splitlines()
        while sum(len(line.split()) + 1 for line in lines[:-1]) > tokens:
            lines = lines[:-max(1, len(lines) // 50)]
        (folder / f"ptb.{split}.txt").write_text("\n".join(lines) + "\n")
    return ["ptb", "train", name, "--data", str(folder), *(f"--set={s}" for s in sets)]


def trained(build: str, words: list[str], out: pathlib.Path) -> tuple[list, bytes]:
    program = built(pathlib.Path(build) / f"examples/{words[0]}/{words[0]}")
    done = subprocess.run([program, *words[1:], "--threads", "1", "--out", out], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    records = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    weights = (out / "last.safetensors").read_bytes()
    return [{k: v for k, v in r.items() if k != "time"} for r in records], weights[8 + int.from_bytes(weights[:8], "little"):]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs=2)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("recipes", nargs="*")
    given = parser.parse_intermixed_args()
    differ = 0
    for name in given.recipes or sorted(p.stem for p in (ROOT / "recipes").glob("*.toml")):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            words = arguments(name, given.data, folder)
            (one, weights), (other, others) = (trained(b, words, folder / str(i)) for i, b in enumerate(given.builds))
        steps = [r["step"] for r in one if r["kind"] == "interval"]
        first = next((a["step"] for a, b in zip(one, other) if a != b), None)
        same = first is None and weights == others
        differ += not same
        print(f"{name}: {len(steps)} steps, " + ("the same bits" if same else f"another from step {first} on"), flush=True)
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
