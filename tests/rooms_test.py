#!/usr/bin/env python3
"""Names every #include that runs up (a file includes from its own row of rooms.txt or a lower one), each between two rooms that
rooms.txt keeps apart, and every circle. A .cpp is one file with its .h: what it includes counts as included by both."""
import pathlib
import re
import sys

tests = pathlib.Path(__file__).resolve().parent
root = tests.parent
listed = [line.split() for line in (tests / "rooms.txt").read_text().splitlines() if line and not line.startswith("#")]
rows = [words for words in listed if words[0] != "never"]
apart = [words[1:] for words in listed if words[0] == "never"]
row_of = {place: len(rows) - n for n, row in enumerate(rows) for place in row}


def row(path):  # of the longest place that holds the file
    return next(row_of[p] for p in [path, *map(str, pathlib.PurePath(path).parents)] if p in row_of)


def read_includes():
    files = {str(p.relative_to(root)): p for room in {place.split("/")[0] for place in row_of}
             for p in [root / room, *(root / room).rglob("*")] if p.suffix in {".h", ".cpp", ".cu"}}
    includes = {}
    for name, path in files.items():
        found = re.findall(r'^\s*#\s*include "([^"]+)"', path.read_text(), re.M)
        beside = [str(pathlib.PurePath(name).parent / f) for f in found]
        includes[name] = [b if b in files else f for b, f in zip(beside, found) if b in files or f in files]
    return includes


def within(name, room):
    return name.startswith(room + "/")


def faults(includes):
    lines = [f"{a} includes {b}, which lies above it" for a in sorted(includes) for b in includes[a] if row(b) > row(a)]
    lines += [f"{a} includes {b}: {one} and {other} know nothing of each other" for a in sorted(includes) for b in includes[a]
              for rooms in apart for one, other in [rooms, rooms[::-1]] if within(a, one) and within(b, other)]
    joined = {}  # by name without its ending
    for name in sorted(includes):
        own = str(pathlib.PurePath(name).with_suffix(""))
        others = {str(pathlib.PurePath(f).with_suffix("")) for f in includes[name]}
        joined.setdefault(own, set()).update(others - {own})
    done, way = set(), []

    def walk(name):  # depth first: a file that is met again on the way closes a circle
        if name in way:
            lines.append("a circle: " + " -> ".join([*way[way.index(name):], name]))
        elif name not in done:
            way.append(name)
            for other in sorted(joined[name]):
                walk(other)
            done.add(way.pop())

    for name in sorted(joined):
        walk(name)
    return lines


includes = read_includes()
planted = {**includes, "framework/tensor.h": [*includes["framework/tensor.h"], "training/trainer.h"]}
assert faults(planted)[0] == "framework/tensor.h includes training/trainer.h, which lies above it", faults(planted)
planted = {**includes, "framework/shape.h": [*includes["framework/shape.h"], "framework/tensor.h"]}
assert faults(planted) == ["a circle: framework/tensor -> framework/shape -> framework/tensor"], faults(planted)
planted = {**includes, "examples/ptb/main.cpp": ["examples/timeseries/recipe/recipe.h"]}
assert "know nothing of each other" in faults(planted)[0], faults(planted)
lines = faults(includes)
print("\n".join(lines) or f"{len(includes)} files: no include runs up, no circle")
sys.exit(bool(lines))
