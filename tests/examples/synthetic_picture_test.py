"""The picture of synthetic series (docs/synthetic_picture.py) has a path for each series that `timeseries generate` writes.

Usage: synthetic_picture_test.py TIMESERIES
"""

import pathlib
import subprocess
import sys
import xml.etree.ElementTree

script = pathlib.Path(__file__).resolve().parents[2] / "docs/synthetic_picture.py"
rows = subprocess.run([sys.argv[1], "generate", "--count", "30", "--rows", "40"], capture_output=True, text=True, check=True).stdout
assert any(line.endswith(",") for line in rows.splitlines()), "no series lacks a value"
svg = subprocess.run([sys.executable, script], input=rows, capture_output=True, text=True, check=True).stdout
paths = [of.get("d") for of in xml.etree.ElementTree.fromstring(svg) if of.tag.endswith("path")]
assert len(paths) == 30, len(paths)
assert all(path.startswith("M") for path in paths), paths
numbers = [float(number) for path in paths for number in path.replace("M", " ").replace("L", " ").split()]
assert min(numbers) >= 0 and max(numbers[0::2]) <= 4 * 270 and max(numbers[1::2]) <= 8 * 130, (min(numbers), max(numbers))
