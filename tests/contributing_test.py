#!/usr/bin/env python3
"""Holds CONTRIBUTING.md to its examples: each is a change in tests/contributing/NAME.diff.

  contributing_test.py                     applies each in memory: it fits, and edits as many files as are allowed and told
  contributing_test.py --build [NAME…]     also applies these (all) to one copy of the tree, builds it there and runs their suites

An example begins with lines of '#': a title, "limit: N" files, "suites: …". A line that is a path begins a file; "@@ TEXT"
goes to the first line with that text; " ", "-" and "+" are as in a patch, but a line of the file is looked for from where
the last one stood. "…" stands for whatever the line has there. Pages in docs/ are printed by the programs, and not counted."""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
is_path = re.compile(r"([\w/]+\.(h|cpp|cu|md|py)|[\w/]*meson\.build)$")
numbers = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


class Misfit(Exception):
    pass


def matched(pattern, line):
    return re.fullmatch(re.escape(pattern).replace("…", "(.*)"), line)


class Example:
    def __init__(self, path):
        self.name, self.lines = path.stem, path.read_text().splitlines()
        head = [line[2:] for line in self.lines if line.startswith("# ")]
        self.title = head[0]
        self.limit = int(next(line for line in head if line.startswith("limit: "))[7:])
        self.suites = next(line for line in head if line.startswith("suites: "))[8:].split()
        self.changes = {}  # path: its lines of the example
        for line in self.lines:
            if is_path.match(line):
                self.changes[line] = []
            elif not line.startswith("# "):
                list(self.changes.values())[-1].append(line)
        self.edited = [path for path in self.changes if not path.startswith("docs/")]

    # The text of a file after the change.
    def applied(self, path, tree=root):
        file = tree / path
        text = file.read_text().splitlines() if file.exists() else []
        at, held = 0, []  # what "…" stood for in the lines that were taken out

        def find(wanted, what):
            for i in range(at, len(text)):
                if (wanted in text[i]) if what == "@@" else matched(wanted, text[i]):
                    return i
            raise Misfit(f"{self.name}: {path}: no line {wanted!r} from line {at + 1} on")

        for line in self.changes[path]:
            kind, rest = line[:1], line[1:]
            if line.startswith("@@ "):
                at, held = 0, []
                at = find(line[3:], "@@")
            elif kind == " ":
                at = find(rest, "") + 1
            elif kind == "-":
                at = find(rest, "")
                held += matched(rest, text.pop(at)).groups()
            elif kind == "+":
                text.insert(at, re.sub("…", lambda _: held.pop(0), rest))
                at += 1
            else:
                raise Misfit(f"{self.name}: {path}: {line!r} is no line of a change")
        return "\n".join(text) + "\n"


def build(examples, options):
    suites = sorted({suite for example in examples for suite in example.suites})
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "unroll"
        listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout
        for path in listed.splitlines():
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / path, copy / path)
        for example in examples:
            for path in example.changes:
                try:
                    (copy / path).write_text(example.applied(path, copy))
                except Misfit as misfit:
                    yield f"{misfit}, beside the examples before it"
                    return
        for command in (["meson", "setup", "-Dtests=true", *options, "build"],
                        ["meson", "test", "-C", "build", "--print-errorlogs", *suites]):
            done = subprocess.run(command, cwd=copy, capture_output=True, text=True)
            if done.returncode:
                yield f"{' '.join(command[:2])} fails with {' '.join(example.name for example in examples)}"
                print(done.stdout[-8000:] + done.stderr[-4000:])
                return
    print(f"built together, {len(suites)} suites pass: {' '.join(suites)}")


def faults_of_page(page, examples):
    for example in examples:
        count = len(example.edited)
        if count > example.limit:
            yield f"{example.name}: {count} files, at most {example.limit} are allowed"
        told = re.search(rf"\[(\w+) files\b[^]]*\]\(tests/contributing/{example.name}\.diff\)", page)
        if not told or told[1].lower() != numbers[count]:
            yield f"{example.name}: CONTRIBUTING.md has no link '[{numbers[count]} files…](tests/contributing/{example.name}.diff)'"
    texts = {"\n".join(line for line in e.lines if not line.startswith("# ")) + "\n" for e in examples}
    for block in re.findall(r"```diff\n(.*?)```", page, re.S):
        if any(is_path.match(line) for line in block.splitlines()) and block not in texts:
            yield f"CONTRIBUTING.md: the change of {block.splitlines()[0]} is none of tests/contributing/"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", nargs="*", metavar="NAME")
    parser.add_argument("--option", action="append", default=[], help="of meson setup, for --build")
    arguments = parser.parse_args()
    examples = [Example(path) for path in sorted((root / "tests/contributing").glob("*.diff"))]
    faults = list(faults_of_page((root / "CONTRIBUTING.md").read_text(), examples))
    for example in examples:
        what = "it fits"
        for path in example.changes:
            try:
                example.applied(path)
            except Misfit as misfit:
                faults.append(f"{misfit}. Mend the example: it shows how the code is now")
                what = "it does not fit"
        print(f"{example.name:13} {len(example.edited)} files of {example.limit}; {what}: {example.title}", flush=True)
    if arguments.build is not None and not faults:
        chosen = [example for example in examples if not arguments.build or example.name in arguments.build]
        faults += build(chosen, arguments.option)
    for fault in faults:
        print("FAULT", fault)
    sys.exit(1 if faults else 0)


main()
