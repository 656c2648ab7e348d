#!/usr/bin/env python3
"""Writes one program that is a lesson in all its variants: the hole as delivered, our solution, and common mistakes. Which
of them it is, UNROLL_LESSON_VARIANT says when it is started.

  lesson_variants.py FOLDER >PROGRAM.cpp

Compiled together they take little more than one: the headers are read once. The first stands where a learner's stands, in
no namespace."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root / "examples" / "lessons"))
import lesson  # noqa: E402

lesson_here = lesson.Lesson(pathlib.Path(sys.argv[1]))
includes, spaces = [], []
for name, text in lesson_here.variants().items():
    lines = text.splitlines()
    includes += [line for line in lines if line.startswith("#include") and line not in includes]
    body = "\n".join(line for line in lines if not line.startswith("#include"))
    spaces.append((name, "v_" + re.sub(r"\W", "_", name), body))
print("\n".join(includes))
print("#include <cstdlib>\n#include <string>\n")
for name, space, body in spaces:
    if name == "hole":
        print(f"#define lesson {space}\n{body}\n#undef lesson\n")
    else:
        print(f"namespace {space} {{\n{body}\n}}  // namespace {space}\n")
print('void lesson() {\n  const char* wanted = std::getenv("UNROLL_LESSON_VARIANT");\n'
      '  const std::string name = wanted ? wanted : "";')
for name, space, _ in spaces:
    print(f'  if (name == "{name}") return {space}{"" if name == "hole" else "::lesson"}();')
print('  unroll::require_input(false, "there is no variant \'{}\'", name);\n}')
