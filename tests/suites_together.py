#!/usr/bin/env python3
"""Writes one file of several suites, whose headers the compiler then reads once.

  suites_together.py SUITE_test.cpp… >TOGETHER.cpp

Each suite stands in a namespace of its own, so that two may use a name for two things. Messages, and doctest's filter by
file, name the suites' own files and lines."""
import pathlib
import re
import sys

includes, spaces = [], []
for name in sys.argv[1:]:
    path = pathlib.Path(name)
    lines = path.read_text().splitlines()
    end = 1 + max(n for n, line in enumerate(lines) if line.startswith("#include"))
    condition = []  # the lines of an #if among the headers
    for n, line in enumerate(lines):
        if n >= end and not condition:
            break
        if condition or line.startswith("#if"):
            condition.append(line)
            if line == "#endif":
                includes.append("\n".join(condition))
                condition, end = [], max(end, n + 1)
        elif line.startswith("#include"):
            includes += [line] if line not in includes else []
        elif line and not line.startswith("//"):
            sys.exit(f"{name}: '{line}' stands before an #include")
    space = "suite_" + re.sub(r"\W", "_", path.stem)
    spaces.append(f'namespace {space} {{\n#line {end + 1} "{path}"\n' + "\n".join(lines[end:]) +
                  f"\n}}  // namespace {space}\n")
print("\n".join(includes + spaces))
