#!/usr/bin/env python3
"""Holds the project to its budgets (size.txt): lines by room, long functions, long files, lines of features in the centres,
sentences that begin with their object. A change that needs more raises the number, and its commit says why.

size_test.py          names what is over its budget
size_test.py --all    prints every figure beside its budget
"""
import pathlib
import re
import subprocess
import sys

tests = pathlib.Path(__file__).resolve().parent
root = tests.parent
SOURCES = (".h", ".cpp", ".cu")
listed = subprocess.run(["git", "-C", str(root), "ls-files"], capture_output=True, text=True)
if listed.returncode:
    print("no git here: nothing is counted")
    sys.exit(77)  # skipped
files = {name: (root / name).read_text() for name in listed.stdout.split() if name.endswith(SOURCES) and (root / name).exists()}
product = {name: text for name, text in files.items() if not name.startswith(("tests/", "fuzz/", "bench/"))}


def lines(text):
    return text.count("\n")


def bare(text):
    """Without comments, texts and lines for the preprocessor; each line stays a line."""
    blank = lambda m: re.sub(r"[^\n]", " ", m[0])
    text = re.sub(r'R"(\w*)\(.*?\)\1"', blank, text, flags=re.S)
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', blank, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)


def functions(text):
    """(lines, line, signature) of each function that stands in no other."""
    text = bare(text)
    stack, begin, inside = [], 0, 0
    for m in re.finditer(r"[{};]", text):
        head = text[begin:m.start()].strip()
        if m[0] == "{":
            is_function = not inside and "(" in head and not re.search(r"=\s*$|=[^=]*\[|^\s*(namespace|enum)\b", head)
            stack.append((is_function, begin + len(text[begin:m.start()]) - len(text[begin:m.start()].lstrip()), head))
            inside += is_function
        elif m[0] == "}" and stack:
            is_function, at, head = stack.pop()
            if is_function:
                inside -= 1
                yield lines(text[at:m.end()]) + 1, lines(text[:at]) + 1, " ".join(head.split())
        begin = m.end()


def sentences(text):
    """Of comments: those of lines that follow one another together."""
    blocks, now = [], []
    for line in [*text.split("\n"), ""]:
        whole, tail = re.match(r"\s*//+\s?(.*)$", line), re.search(r"\s//\s?(.*)$", line)
        if whole and not whole[1].startswith(("---", "  ")):
            now.append(whole[1].strip())
            continue
        if now:
            blocks.append(" ".join(now))
            now = []
        if tail and '"' not in line:
            blocks.append(tail[1])
    for block in blocks:
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z\[*`\"(])", re.sub(r"`[^`]*`", "CODE", block)):
            if len(sentence.split()) >= 3:
                yield sentence.strip()


def inverted(texts):
    """Of sentences by file: how many of a hundred begin with their object, and which."""
    found = [(name, s) for name, text in texts.items() for s in sentences(text)]
    which = [f"{name}: {s[:90]}" for name, s in found if re.match(r"(What|Of|Where|Who|Those|The same)\b", s)]
    return 100 * len(which) / max(1, len(found)), which


def in_room(name, room):
    within, *without = room.split(" without ")
    return any(name.startswith(place + "/") for place in within.split("+")) and not any(name.startswith(w + "/") for w in without)


def figures():
    """What size.txt has budgets for, by its words."""
    centres = [line.split()[1] for line in budgets_text.splitlines() if line.startswith("centre ")]
    features = [line.split(" ", 2)[2] for line in budgets_text.splitlines() if line.startswith("feature ")]
    lengths = [(n, name, at, head) for name, text in product.items() for n, at, head in functions(text) if not is_table(name, head)]
    for words in budgets:
        kind, _, what = words.partition(" ")
        if kind == "lines":
            yield words, sum(lines(text) for name, text in product.items() if in_room(name, what)), []
        elif kind == "functions":
            over = sorted((f for f in lengths if f[0] > int(what.split()[1])), reverse=True)
            yield words, len(over), [f"{name}:{at}: {n} lines: {head[:90]}" for n, name, at, head in over]
        elif kind == "files":
            over = sorted(((lines(text), name) for name, text in files.items() if lines(text) > int(what.split()[1])), reverse=True)
            yield words, len(over), [f"{name}: {n} lines" for n, name in over]
        elif words == "features in the centres":
            found = [f"{name}:{at}: {line.strip()[:90]}" for name in centres for at, line in enumerate(bare(files[name]).split("\n"), 1)
                     for feature in features if re.search(rf"\b({feature})\b", line)]
            yield words, len(found), found
        elif kind == "inverted":
            of = {"headers": lambda n: n in product and n.endswith(".h"), "sources": lambda n: n in product and not n.endswith(".h"),
                  "tests": lambda n: n.startswith("tests/")}[what]
            share, which = inverted({name: text for name, text in files.items() if of(name)})
            yield words, round(share, 1), which
        else:
            sys.exit(f"size.txt: '{words}' is counted by nothing")


def is_table(name, head):  # a list of keys or of facts, as long as these are many
    return any(line.split()[1] == name and line.split()[2] in head for line in budgets_text.splitlines() if line.startswith("table "))


# --- that the counting is right ---
PLANTED = 'int f(int a,\n      int b) {  // "{"\n  if (a) {\n    return \'{\';\n  }\n  auto g = [](int x) {\n    return x;\n  };\n  return b;\n}\nstruct S {\n  void h() const {\n    f(1, 2);\n  }\n};\n'
assert [(n, at) for n, at, _ in functions(PLANTED)] == [(10, 1), (3, 12)], list(functions(PLANTED))
assert inverted({"a.h": "// What a row is, say columns.\nint x;  // Rows have a name.\n"}) == (50, ["a.h: What a row is, say columns."])

budgets_text = (tests / "size.txt").read_text()
budgets = {words: float(most) for line in budgets_text.splitlines() if (m := re.match(r"(.*\S)\s+≤\s+([\d.]+)$", line)) for words, most in [m.groups()]}
faults = 0
for words, found, which in figures():
    over = found > budgets[words]
    faults += over
    if over or "--all" in sys.argv:
        print(f"{words}: {found:g}, budget {budgets[words]:g}" + (": over" if over else ""))
        print("".join(f"    {line}\n" for line in which[:40]), end="")
if not faults:
    print(f"{len(budgets)} budgets are kept")
sys.exit(faults > 0)
