#!/usr/bin/env python3
"""Plants one mistake at a time and asks whether the tests notice.

  mutants.py LIST [--build FOLDER] [--only N,N…] [--all]
  mutants.py LIST --check       plants none: says whether each still has its place

LIST is a TOML file of tables [[mutant]]: `file`, `old` (stands there once), `new`, `suites` (names of Meson's
tests, the likeliest first). Each mistake is written into the working tree, its suites are built and run until one
fails, and the file is put back. With --all, one that survives meets every other suite too. Needs a clean tree."""
import argparse
import subprocess
import sys
import time
import tomllib


def run(words, seconds=1500):
    return subprocess.run(words, capture_output=True, text=True, timeout=seconds)


def fails(build, suites):
    """The first of the suites that fails, or None. 'build' if the compiler sees the mistake."""
    for suite in suites:
        if status := run(["meson", "test", "-C", build, suite]).returncode:
            return "build" if status == 125 else suite
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list")
    parser.add_argument("--build", default="build")
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    only = {int(n) for n in options.only.split(",") if n}
    mutants = tomllib.load(open(options.list, "rb"))["mutant"]
    places = [open(m["file"]).read().count(m["old"]) for m in mutants]
    lost = [f"{k}: {m['file']}: {n} places with {m['old']!r}, not one"
            for k, (m, n) in enumerate(zip(mutants, places), 1) if n != 1]
    if lost or options.check:
        sys.exit("\n".join(lost) or 0)
    survived = []
    for number, m in enumerate(mutants, 1):
        if only and number not in only:
            continue
        text = open(m["file"]).read()
        begin = time.time()
        try:
            open(m["file"], "w").write(text.replace(m["old"], m["new"]))
            by = fails(options.build, m["suites"])
            if by is None and options.all:
                log = run(["meson", "test", "-C", options.build], 7200).stdout
                failed = [line.split()[3] for line in log.splitlines() if " FAIL " in line or " TIMEOUT " in line]
                by = failed[0] + " (of all)" if failed else None
        finally:
            open(m["file"], "w").write(text)
        print(f"{number:3} {'survived' if by is None else 'seen by ' + by:28} {time.time() - begin:5.0f} s  "
              f"{m['file']}: {m['new'].strip().splitlines()[0] if m['new'].strip() else '(removed)'}", flush=True)
        if by is None:
            survived.append(number)
    print(f"{len(survived)} survived: {survived}")


main()
