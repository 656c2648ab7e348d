#!/usr/bin/env python3
"""Whether Clang takes library and programs: the commands of a build with another compiler, for their syntax alone.

  clang_test.py BUILD COMPILER"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

build, compiler = sys.argv[1:]
if not shutil.which(compiler):
    print(f"skipped: there is no {compiler}")
    sys.exit(77)


def faults(command):
    words = shlex.split(command["command"])
    begin = next(i for i, word in enumerate(words) if word.startswith("-"))  # behind the compiler
    flags = [word for word in words[begin:] if not word.startswith(("-Werror", "-fmax-errors"))]
    done = subprocess.run([compiler, "-Wno-everything", *flags, "-fsyntax-only"], cwd=command["directory"], capture_output=True, text=True)
    return [line for line in done.stderr.splitlines() if "error:" in line] if done.returncode else []


commands = [c for c in json.loads((pathlib.Path(build) / "compile_commands.json").read_text())
            if c["file"].endswith(".cpp") and not c["output"].startswith(("tests/", "fuzz/", "bench/")) and "-DUNROLL_DOUBLE" not in c["command"]]
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    found = [line for lines in pool.map(faults, commands) for line in lines]
print(*found, f"{len(commands)} files, {len(found)} errors of {compiler}", sep="\n")
sys.exit(bool(found) or not commands)
