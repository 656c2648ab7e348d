#!/usr/bin/env python3
"""What README.md and docs/ promise about themselves: limits of length, the model as its file has it, links that lead
somewhere, pictures that a browser can read, lines of output as docs/first-run.md has them (the suite `demo` compares that
page with the program), the afternoon's counts of lines, and short paragraphs in docs/design."""
import pathlib
import re
import sys
import xml.etree.ElementTree

root = pathlib.Path(__file__).resolve().parent.parent


def pages():
    return [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md")),
            *sorted((root / "bench").rglob("*.md")), *sorted((root / "examples").rglob("*.md"))]


def blocks(text):  # of code: what stands between fences
    return re.findall(r"^```\w*\n(.*?)^```$", text, re.M | re.S)


def prose(text):  # paragraphs and items of lists, links as their words
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    kept = [line for line in text.splitlines() if not re.match(r"\s*(#|\||<)", line)]
    text = "\n".join(re.sub(r"^\s*([*-]|\d+\.) ", "\n", line) for line in kept)
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text)
    return [" ".join(p.split()) for p in re.split(r"\n\s*\n", text) if p.strip()]


def sentences(text):
    return [s for p in prose(text) for s in re.split(r"(?<=[.!?:])\s+(?=[A-Z*`0-9])", p)]


def cells(text):
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    rows = [line.strip().strip("|") for line in text.splitlines() if line.startswith("|")]
    return [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", c).strip() for row in rows for c in row.split("|")]


def limits(text):
    found = []
    if (n := len(text.splitlines())) > 90:
        found.append(f"{n} lines, more than 90")
    if (n := len(text.split())) > 900:
        found.append(f"{n} words, more than 900")
    found += [f"a table's cell of more than 40 characters: {c}" for c in cells(text) if len(c) > 40]
    found += [f"a sentence of more than 30 words: {s}" for s in sentences(text) if len(s.split()) > 30]
    return [f"README.md: {f}" for f in found]


def model(text, source):
    code = [b for b in blocks(text) if "struct LanguageModel" in b]
    return [] if code and code[0] in source else ["README.md: its model is not that of examples/language_model.cpp"]


def shape(line):  # of a line of output: its words, and where numbers stand
    return re.sub(r"[0-9][0-9,.:]*k?", "0", line)


def sample(text, first_run):
    known = {shape(line) for block in blocks(first_run) for line in block.splitlines()}
    shown = [line for block in blocks(text) if "perplexity" in block and "struct" not in block
             for line in block.splitlines() if re.match(r"(valid|test|        )", line)]
    lines = [f"README.md: no line of docs/first-run.md looks like this: {line}" for line in shown if shape(line) not in known]
    return lines if shown else ["README.md: shows no output"]


def anchors(path):
    titles = re.findall(r"^#+ (.*)$", path.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", t).lower()).replace(" ", "-") for t in titles}


def links(path, text):
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    found = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'src="([^"]+)"', text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path
        if not file.exists():
            found.append(f"{path.relative_to(root)}: {target} leads nowhere")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            found.append(f"{path.relative_to(root)}: {target}: no heading of that name")
    return found


def afternoon(text, in_readme):
    found, total = [], 0
    for name, count in re.findall(r"^\| \[`?([^]`]+)`?\]\([^)]*\) \| (\d+) \|", text, re.M):
        lines = len((root / name).read_text().splitlines()) if (root / name).exists() else 0
        total += lines
        if abs(lines - int(count)) > 0.1 * lines:
            found.append(f"docs/afternoon.md: {name} has {lines} lines, not {count}")
    return found + [f"README.md or docs/afternoon.md: {said} lines in all; it is {total}"
                    for said in re.findall(r"([\d,]+) lines", text + "\n" + in_readme)
                    if abs(int(said.replace(",", "")) - total) > 20]


def commands(page):  # of a program are all on its page
    text = (root / f"docs/{page}.md").read_text()
    names = re.findall(r'^ +\{"(\w+)", *"', (root / f"examples/{page}/main.cpp").read_text(), re.M)
    return [f"docs/{page}.md: lacks the command {name}" for name in names if f"{page} {name}" not in text]


def promises(readme, library):  # of readers who compile beside the build, and of rows whose peers nobody searched
    found = [f"{name}: does not say that it is for Linux" for name, text in (("README.md", readme), ("docs/library.md", library))
             if not re.search("[Ff]or Linux", text)]
    found += [f"docs/library.md: without {word}: {line}" for line in re.findall(r"^g\+\+ .* -lunroll .*", library, re.M)
              for word in ("-lfmt", "-lz", "-pthread") if f" {word} " not in line]
    if "H100: one run each; PyTorch had a graph but otherwise default options" not in readme:
        found.append("README.md: does not say by which options the H100's peers ran")
    return found if " -lunroll " in library else found + ["docs/library.md: shows no line that links"]


def design():
    found, rooms = [], (root / "docs/architecture.md").read_text()
    if (n := len(rooms.split())) > 1500:
        found.append(f"docs/architecture.md: {n} words, more than 1,500")
    found += [f"docs/architecture.md: lacks {folder.name}/ of training/program"
              for folder in (root / "training/program").iterdir() if folder.is_dir() and f"{folder.name}/" not in rooms]
    for page in sorted((root / "docs/design").glob("*.md")):
        found += [f"{page.relative_to(root)}: a paragraph of {len(p.split())} words, more than 80: {p[:50]}…"
                  for p in prose(page.read_text()) if len(p.split()) > 80]
    return found


def pictures():
    found = []
    for path in sorted((root / "docs/pictures").glob("*.svg")):
        try:
            xml.etree.ElementTree.parse(path)
        except xml.etree.ElementTree.ParseError as error:
            found.append(f"{path.relative_to(root)}: {error}")
        if "<script" in path.read_text():
            found.append(f"{path.relative_to(root)}: has a script")
    return found


readme, source = (root / "README.md").read_text(), (root / "examples/language_model.cpp").read_text()
first_run, walk = (root / "docs/first-run.md").read_text(), (root / "docs/afternoon.md").read_text()
library = (root / "docs/library.md").read_text()

# Each check finds its fault.
long = "A word " + "and a word " * 12 + "is long."
short = "A page.\n"  # README itself may be so near to its limits that a fault more would break several
assert not limits(short)
assert len(limits(short + f"\n\n{long}\n")) == 1, limits(short + f"\n\n{long}\n")
assert len(limits(short + "\n| a | " + "x" * 41 + " |\n")) == 1
assert len(limits(short + "\n" * 90)) == 1 and len(limits(short + " word" * 900)) >= 1
assert model(readme.replace("Tape tape", "Tape  tape"), source)
assert sample(readme.replace("the source's own", "the grammar's own"), first_run)
assert links(root / "README.md", "[a](docs/nothing.md)") and links(root / "README.md", "[a](docs/ptb.md#nothing)")
assert promises(readme.replace("Linux", "all"), library) and promises(readme, library.replace(" -lz ", " "))
assert afternoon(re.sub(r"\| (\d+) \|", "| 1 |", walk), "") and afternoon(walk, "in 1,600 lines")

lines = limits(readme) + model(readme, source) + sample(readme, first_run) + pictures() + design() + promises(readme, library)
lines += afternoon(walk, re.search(r"\[An afternoon\].*", readme).group()) + commands("ptb") + commands("timeseries")
for page in pages():
    lines += links(page, page.read_text())
print("\n".join(lines) or f"{len(pages())} pages: lengths, model, output, links, pictures and counts of lines are right")
sys.exit(bool(lines))
