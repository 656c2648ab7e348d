#!/usr/bin/env python3
"""An entry of the ladder of language models (docs/ladder.md): its rows, and a picture of several.

    bench/ladder.py rows CURVE…              two rows of Markdown for each: scores, and the way to each rung
    bench/ladder.py picture OUT.svg CURVE…   validation perplexity by training tokens and by minutes

A CURVE is the folder of a run, a log of bench/results, or a CSV file `tokens,minutes,valid` of another program. NAME=CURVE
gives it a name of its own.
"""

import csv
import json
import math
import pathlib
import re
import sys
import tomllib
from dataclasses import dataclass, field
from html import escape

RUNGS = (120, 100, 80, 70, 60)


@dataclass
class Curve:
    name: str
    points: list[tuple[float, float, float]] = field(default_factory=list)  # after each epoch: tokens, minutes, valid
    parameters: str = "?"
    seed: str = "?"
    test: str = "not measured"
    kept: float | None = None  # the validation perplexity of the weights that the test text was scored with

    def valid(self) -> float:
        return self.kept or min(valid for _, _, valid in self.points)

    def to_rung(self, rung: float, axis: int) -> float | None:
        """Tokens (axis 0) or minutes (1) at the end of the first epoch that is there."""
        return next((point[axis] for point in self.points if point[2] <= rung), None)


def of_folder(name: str, folder: pathlib.Path) -> Curve:
    curve = Curve(name)
    last = None
    epochs: list[int] = []  # of the points
    for line in (folder / "log.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["kind"] == "anew":  # by another text or precision: earlier scores do not compare
            valid = math.inf if record.get("valid_perplexity") is None else record["valid_perplexity"]
            curve.points = [(*point[:2], valid if epoch == record["epoch"] else math.inf) for epoch, point in zip(epochs, curve.points, strict=True)]
            last = valid if epochs and epochs[-1] == record["epoch"] else None
        if record["kind"] == "epoch":
            last = record.get("valid_perplexity")
        if record["kind"] != "epoch" or record.get("valid_perplexity") is None:  # null: it was not finite
            continue
        if "words" not in record:
            raise SystemExit(f"ladder: {folder}: a run of characters; the ladder counts words")
        curve.points.append((record["words"], record["time"]["seconds"] / 60, record["valid_perplexity"]))
        epochs.append(record.get("epoch", len(epochs) + 1))
    recipe = tomllib.loads((folder / "recipe.toml").read_text()) if (folder / "recipe.toml").exists() else {}
    if limit := recipe.get("data", {}).get("limit"):
        raise SystemExit(f"ladder: {folder}: data.limit = {limit}; the ladder counts scores of the whole text")
    if curve.points and recipe.get("training", {}).get("keep") == "last":
        curve.kept = math.inf if last is None else last
    report = json.loads((folder / "report.json").read_text()) if (folder / "report.json").exists() else {}
    facts = {fact["name"] or fact["value"]: fact["value"] for fact in report.get("facts", [])}
    if found := re.search(r"([\d,]+) parameters", facts.get("model", "")):
        curve.parameters = found[1]
    if found := re.search(r"seed (\d+)", " ".join(facts)):
        curve.seed = found[1]
    results = {result["name"]: result["value"] for result in report.get("results", [])}
    curve.test = results.get("test perplexity", curve.test)
    return curve


def seconds(text: str) -> int:
    total = 0
    for part in text.split(":"):
        total = 60 * total + int(part)
    return total


def of_log(name: str, text: str) -> Curve:
    curve, minutes = Curve(name), 0.0
    of_epoch = int(re.search(r"^text +([\d,]+)", text, re.M)[1].replace(",", ""))
    for epoch, valid, took in re.findall(r"^epoch +(\d+)/.*? valid +([\d.]+)\*? .* ([\d:]+)$", text, re.M):
        minutes += seconds(took) / 60
        curve.points.append((int(epoch) * of_epoch, minutes, float(valid)))
    for key, pattern in (("parameters", r"([\d,]+) parameters"), ("seed", r"seed (\d+)"), ("test", r"^test:? +perplexity ([\d.]+)")):
        if found := re.search(pattern, text, re.M):
            setattr(curve, key, found[1])
    if found := re.search(r"^valid:? +perplexity ([\d.]+)", text, re.M):
        curve.kept = float(found[1])
    return curve


def read(word: str) -> Curve:
    named, _, path_text = word.rpartition("=")
    path = pathlib.Path(path_text)
    name = named or re.sub(r"-seed-\d+$", "", path.stem if path.is_file() else path.name)
    if path.is_dir():
        curve = of_folder(name, path)
    elif not path.exists():
        raise SystemExit(f"ladder: {path}: no such file or folder")
    elif path.suffix == ".csv":
        rows = list(csv.DictReader(path.read_text().splitlines()))
        if not rows or not {"tokens", "minutes", "valid"} <= rows[0].keys():
            raise SystemExit(f"ladder: {path}: its first line must name tokens, minutes and valid")
        curve = Curve(name, [(float(r["tokens"]), float(r["minutes"]), float(r["valid"])) for r in rows])
    else:
        curve = of_log(name, path.read_text())
    if not curve.points:
        raise SystemExit(f"ladder: {path}: no epoch has a validation perplexity")
    return curve


def rows(curves: list[Curve]) -> str:
    lines = ["| entry | parameters | training tokens | seed | valid | test |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for c in curves:
        lines.append(f"| {c.name} | {c.parameters} | {c.points[-1][0] / 1e6:.1f} M | {c.seed} | {c.valid():.2f} | {c.test} |")
    lines += ["", "| million tokens (minutes) to a valid of | " + " | ".join(map(str, RUNGS)) + " |", "| --- |" + " ---: |" * len(RUNGS)]
    for c in curves:
        reached = [(c.to_rung(r, 0), c.to_rung(r, 1)) for r in RUNGS]
        cells = ["–" if t is None else f"{t / 1e6:.1f} ({m:.{0 if m >= 10 else 1}f})" for t, m in reached]
        lines.append(f"| {c.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


COLORS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f")


def panel(curves: list[Curve], axis: int, left: float, title: str, unit: float) -> list[str]:
    """One of two panels, 420 by 300, with logarithmic axes."""
    width, height, top = 420.0, 300.0, 40.0
    shown = [[p for p in c.points if p[axis] > 0 and 55 <= p[2] <= 250] for c in curves]
    xs = [p[axis] / unit for points in shown for p in points]
    if not xs:
        raise SystemExit("ladder: no epoch has a validation perplexity from 55 to 250, which is what the picture shows")
    low_x, high_x, low_y, high_y = math.log(min(xs)), math.log(max(xs)), math.log(55), math.log(250)
    x = lambda v: left + (math.log(v) - low_x) / max(high_x - low_x, 1e-9) * width
    y = lambda v: top + height - (math.log(v) - low_y) / (high_y - low_y) * height
    parts = [f'<text x="{left + width / 2:.0f}" y="24" text-anchor="middle">{title}</text>']
    for v in (60, 70, 80, 100, 120, 150, 200):
        parts.append(f'<line x1="{left:.0f}" x2="{left + width:.0f}" y1="{y(v):.1f}" y2="{y(v):.1f}" stroke="#ddd"/>'
                     f'<text x="{left - 6:.0f}" y="{y(v) + 4:.1f}" text-anchor="end">{v}</text>')
    ticks = [s * 10**e for e in range(-2, 5) for s in (1, 2, 5) if min(xs) <= s * 10**e <= max(xs)]
    for v in ticks:
        parts.append(f'<text x="{x(v):.1f}" y="{top + height + 18:.0f}" text-anchor="middle">{v:g}</text>')
    for of_curve, color in zip(shown, COLORS * len(curves), strict=False):
        points = " ".join(f"{x(p[axis] / unit):.1f},{y(p[2]):.1f}" for p in of_curve)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>')
    return parts


def picture(curves: list[Curve]) -> str:
    parts = panel(curves, 0, 50, "validation perplexity by million training tokens", 1e6)
    parts += panel(curves, 1, 540, "by minutes of training", 1)
    for k, (c, color) in enumerate(zip(curves, COLORS * len(curves), strict=False)):
        at_x, at_y = 50 + k % 4 * 235, 385 + k // 4 * 20
        parts.append(f'<line x1="{at_x}" x2="{at_x + 20}" y1="{at_y}" y2="{at_y}" stroke="{color}" stroke-width="2"/>'
                     f'<text x="{at_x + 26}" y="{at_y + 4}">{escape(c.name)}</text>')
    high = 400 + (len(curves) + 3) // 4 * 20
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 990 {high}" font-family="sans-serif" font-size="13">'
            f'<rect width="990" height="{high}" fill="white"/>' + "\n".join(parts) + "</svg>\n")


def main(words: list[str]) -> None:
    if len(words) >= 2 and words[0] == "rows":
        print(rows([read(word) for word in words[1:]]))
    elif len(words) >= 3 and words[0] == "picture":
        out = pathlib.Path(words[1])
        if out.exists():
            raise SystemExit(f"ladder: {out} exists; nothing is overwritten")
        out.write_text(picture([read(word) for word in words[2:]]))
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
