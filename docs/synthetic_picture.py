"""Draws the series of `timeseries generate`, read from standard input, side by side, each at a scale of its own, as SVG."""

import csv
import sys

COLUMNS, WIDTH, HEIGHT, TOP, MARGIN = 4, 270, 130, 26, 10

series = {}
for row in csv.DictReader(sys.stdin):
    series.setdefault(row["series"], []).append(float(row["value"]) if row["value"] else None)
height = -(-len(series) // COLUMNS) * HEIGHT
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {COLUMNS * WIDTH} {height}" '
      f'width="{COLUMNS * WIDTH}" height="{height}">\n'
      "<style>text{font:13px system-ui,sans-serif;fill:#444}path{fill:none;stroke:#2b67a8;stroke-width:1.3;"
      f'stroke-linejoin:round;stroke-linecap:round}}</style>\n<rect width="{COLUMNS * WIDTH}" height="{height}" fill="#fff"/>')
for k, (name, values) in enumerate(series.items()):
    kind, season = name.split("-", 1)[1].rsplit("-", 1)
    known = [v for v in values if v is not None]
    low, high = min(known), max(known)
    left, top = k % COLUMNS * WIDTH + MARGIN, k // COLUMNS * HEIGHT
    x, y = (WIDTH - 2 * MARGIN) / (len(values) - 1), (HEIGHT - TOP - MARGIN) / max(1e-30, high - low)
    path = "".join(f"{'L' if t and values[t - 1] is not None else 'M'}{left + x * t:.1f} {top + TOP + y * (high - v):.1f}"
                   for t, v in enumerate(values) if v is not None)
    print(f'<text x="{left}" y="{top + 18}">{kind}{", " + season if season != "1" else ""}</text>\n<path d="{path}"/>')
print("</svg>")
