#!/usr/bin/env python3
"""Makes the API reference of the installed headers by Doxygen. ./run reference calls this.

  reference.py FOLDER      FOLDER/html/index.html begins it. Ends with 1 if Doxygen warns, a public name has no
                           words, a class has no example, the headers cannot be read as expected, or
                           Doxygen is missing; with 2 after a further argument
"""
import fnmatch
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
sys.path.insert(0, str(here))
import headers  # noqa: E402

inside = "inside"  # the topic whose classes need no example


class Refused(Exception):
    pass


@functools.cache
def installed():
    return subprocess.run([root / "tests" / "installed_headers.sh"], cwd=root, capture_output=True, text=True, check=True).stdout.split()


@functools.cache
def topics():
    """{header: topic}, and the list of topics."""
    listed = tomllib.loads((here / "topics.toml").read_text())["topic"]
    names = [header for topic in listed for header in topic["headers"]]
    for header in installed():
        if names.count(header) != 1:
            raise Refused(f"docs/reference/topics.toml: {header} stands in {names.count(header)} topics, not in one")
    for header in set(names) - set(installed()):
        raise Refused(f"docs/reference/topics.toml: {header} is no installed header")
    return {header: topic["name"] for topic in listed for header in topic["headers"]}, listed


def options():
    """{(class, member): lines}, of members that a table of options describes."""
    rows, text = {}, (root / "layers/recurrent/options.h").read_text()
    for row in re.findall(r"\{\.name = .*?\"\}|\{\.name = .*?false\}", text, re.S):
        member = re.search(r"\.member = &(\w+)::(\w+)", row)
        parts = dict(re.findall(r'\.(does|source) = ((?:"[^"]*"\s*)+)', row))
        said = {key: "".join(re.findall(r'"([^"]*)"', value)) for key, value in parts.items()}
        if member and "does" in said:
            source = f" ({said['source']})" if "source" in said else ""
            rows[member[1], member[2]] = f"{said['does'][0].upper()}{said['does'][1:]}{source}."
    return rows


def needless():
    """Patterns of names that need no words."""
    return tomllib.loads((here / "topics.toml").read_text())["without_words"]["names"]


def snippets():
    """[(file, name, text)] of all blocks of the examples, in order: //! [name] … //! [name]."""
    found = []
    for path in sorted((here / "examples").glob("*.cpp")):
        for name, text in re.findall(r"//! \[(.*?)\]\n(.*?)//! \[\1\]", path.read_text(), re.S):
            found.append((path.name, name, text))
    return found


def example_of(name, topic, blocks):
    """The block that shows a class: one of its name, or the first that names it, in its topic's file if there is one."""
    blocks = sorted(blocks, key=lambda block: block[0] != f"{topic}.cpp")
    named = [block for block in blocks if block[1] == name] or [block for block in blocks if re.search(rf"\b{name}\b", block[2])]
    return named[0] if named else None


def write_headers(folder, topic_of, blocks):
    rows = options()
    for header in installed():
        place = folder / header
        place.parent.mkdir(parents=True, exist_ok=True)
        owner = [""]

        def extra(name, text, is_class):
            if is_class:
                owner[0] = name
                shown = topic_of[header] != inside and example_of(name, topic_of[header], blocks)
                return ["", r"\par Example", rf"\snippet {shown[0]} {shown[1]}"] if shown else []
            said = [rows.pop((owner[0], member)) for member in re.findall(r"(\w+)(?: = [\w:.]+)?[,;]", text) if (owner[0], member) in rows]
            return headers.words([" " + line for line in said])

        place.write_text(headers.Header(root / header, topic_of[header], extra).transformed())
    if rows:
        raise Refused(f"layers/recurrent/options.h: no member is found for {sorted(rows)}")


def write_pages(folder, listed, out):
    """The first page, the topics, and the examples that are programs of their own."""
    page = (root / "docs" / "library.md").read_text()
    up = os.path.relpath(root / "docs", out / "html")

    def link(found):
        text, path, anchor = found[1], found[2], found[3] or ""
        if path.startswith("http"):
            return found[0]
        return f'<a href="{up}/{path}{anchor}">{text}</a>' if path else f"[{text}](@ref {anchor[1:]})"

    code = r"(```.*?```|`[^`\n]*`)"  # in which [&](int i) is no link
    page = "".join(part if part.startswith("`") else re.sub(r"\[([^]]+)\]\(([^)#]*)(#[^)]*)?\)", link, part)
                   for part in re.split(code, page, flags=re.S))
    page = re.sub(r"^(#+ )(.*)$", lambda head: f"{head[0]} {{#{re.sub('[^a-z0-9]+', '-', head[2].lower()).strip('-')}}}", page, flags=re.M)
    for header in installed():
        page = page.replace(f"`{header}`", f"[{header}](@ref {header})")
    (folder / "library.md").write_text(page)
    lines = [rf"/** \defgroup {topic['name']} {topic['title']}" "\n" rf"{headers.escaped(topic['about'])} */" for topic in listed]
    for path in sorted((root / "examples").glob("*.cpp")):
        top = [line[2:] for line in re.match(r"(//.*\n)*", path.read_text())[0].splitlines()]
        lines.append("/** \\example " + path.name + "\n" + "\n".join(headers.words(top)) + "\n*/")
    (folder / "pages.dox").write_text("\n\n".join(lines) + "\n")


def layout(program, out):
    """Doxygen's own layout with our names of the tabs: the files are the rooms, the modules the topics."""
    path = out / "layout.xml"
    subprocess.run([program, "-l", path], check=True, capture_output=True)
    text = path.read_text()
    for tab, title in {"modules": "Topics", "filelist": "Rooms", "classes": "Classes", "files": "Rooms"}.items():
        text = text.replace(f'<tab type="{tab}" visible="yes" title=""', f'<tab type="{tab}" visible="yes" title="{title}"')
    for tab in ("namespaces", "concepts", "pages"):
        text = text.replace(f'<tab type="{tab}" visible="yes"', f'<tab type="{tab}" visible="no"')
    path.write_text(text)
    return path


def doxygen_program():
    return shutil.which("doxygen")


def doxygen(out, source):
    program = doxygen_program()
    if not program:
        raise Refused("there is no doxygen here; apt-get install doxygen")
    told = (here / "Doxyfile").read_text() + "\n".join([
        f'OUTPUT_DIRECTORY = "{out}"', f'INPUT = "{source}"', f'STRIP_FROM_PATH = "{source}"', f'STRIP_FROM_INC_PATH = "{source}"',
        f'EXAMPLE_PATH = "{here / "examples"}" "{root / "examples"}"', f'USE_MDFILE_AS_MAINPAGE = "{source / "library.md"}"',
        f'LAYOUT_FILE = "{layout(program, out)}"', f'HTML_EXTRA_STYLESHEET = "{here / "style.css"}"',
        f'PROJECT_NUMBER = {version()}', ""])
    done = subprocess.run([program, "-"], input=told, capture_output=True, text=True, cwd=out)
    if done.returncode:
        raise Refused(f"doxygen ended with {done.returncode}: {done.stderr[-600:]}")
    return [line for line in done.stderr.splitlines() if "warning:" in line or "error:" in line]


def version():
    return re.search(r"version: '([^']*)'", (root / "meson.build").read_text())[1]


def text_of(element):
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def facts(out):
    """The public names, once each: {"name", "kind", "file", "words", "example"}, as Doxygen found them."""
    compounds = [element for path in sorted((out / "xml").glob("*.xml"))
                 for element in xml.etree.ElementTree.parse(path).getroot().iter("compounddef")]
    classes = {element.findtext("compoundname"): element for element in compounds if element.get("kind") in ("class", "struct")}
    found = {}

    def hidden(name):  # in a class that is not public, or in one that lies in such a class
        return name in classes and (classes[name].get("prot") != "public" or hidden(name.rpartition("::")[0]))

    def add(element, name, kind):
        name = re.sub("^unroll::", "", name)
        detailed = element.find("detaileddescription")
        shown = detailed is not None and detailed.find(".//programlisting") is not None
        for part in element.iter("simplesect"):
            part.clear()
        text = f"{text_of(element.find('briefdescription'))} {text_of(detailed)}".strip()
        place = element.find("location").get("file", "").split("/headers/")[-1]
        before = found.setdefault((name, kind, place), {"name": name, "kind": kind, "file": place, "words": "", "example": False})
        if text not in before["words"]:  # a function stands in its topic and in its namespace
            before["words"] = f"{before['words']} {text}".strip()
        before["example"] = before["example"] or shown

    for element in compounds:
        kind, name = element.get("kind"), element.findtext("compoundname")
        of_class = kind in ("class", "struct")
        if not of_class and kind not in ("namespace", "group") or hidden(name):
            continue
        if of_class:
            add(element, name, kind)
        for member in element.iter("memberdef"):
            if member.get("prot") == "public" and member.get("kind") not in ("friend", "define") \
                    and "delete" not in member.findtext("argsstring", ""):
                add(member, f"{name}::{member.findtext('name')}" if of_class else member.findtext("name"), member.get("kind"))
    return list(found.values())


def undescribed(names, needless):
    """The names that have no words: neither their own, nor an overload's, nor in those of their class. An enumeration may have those
    of the member that it is declared with."""
    said, enums = {}, {}
    for each in names:
        said[each["name"]] = f"{said.get(each['name'], '')} {each['words']}".strip()
        if each["kind"] == "enum":
            scope, colons, last = each["name"].rpartition("::")
            enums[each["name"]] = f"{scope}{colons}{last.lower()}"

    def described(name):
        scope, _, last = name.rpartition("::")
        return said.get(name) or any(re.search(rf"(?<!\w){re.escape(last)}(?!\w)", said.get(owner, ""))
                                     for owner in (scope, re.sub("(Config|Options)$", "", scope)) if owner)

    members = {member: enum for enum, member in enums.items()}
    for each in names:
        name = each["name"]
        scope, _, last = name.rpartition("::")
        made = each["kind"] == "function" and (last == scope.rpartition("::")[2] or last.startswith(("~", "operator=")))
        if not (made or described(name) or described(enums.get(name, name)) or described(members.get(name, name))
                or any(fnmatch.fnmatchcase(name, pattern) for pattern in needless)):
            yield each


def without_example(names, topic_of):
    """The classes that users meet, and that no block of the examples shows."""
    for each in names:
        if each["kind"] in ("class", "struct") and "::" not in each["name"] and topic_of.get(each["file"], inside) != inside \
                and not each["example"]:
            yield each


def faults(out):
    """What the reference lacks, a line each."""
    names, (topic_of, _) = facts(out), topics()
    yield from (f"{each['file']}: {each['name']} has no words" for each in undescribed(names, needless()))
    yield from (f"{each['file']}: {each['name']} stands in no example (docs/reference/examples)"
                for each in without_example(names, topic_of))
    for pattern in needless():
        if not any(fnmatch.fnmatchcase(each["name"], pattern) for each in names):
            yield f"docs/reference/topics.toml: no name is like '{pattern}', which needs no words"


def make(out):
    """Writes the reference into a folder. Returns Doxygen's warnings."""
    source = out / "headers"
    for folder in (source, out / "html", out / "xml"):
        shutil.rmtree(folder, ignore_errors=True)
    source.mkdir(parents=True)
    topic_of, listed = topics()
    write_headers(source, topic_of, snippets())
    write_pages(source, listed, out)
    return doxygen(out, source)


def main():
    if len(sys.argv) != 2:
        print("reference: takes no further argument: ./run reference", file=sys.stderr)
        return 2
    out = pathlib.Path(sys.argv[1]).resolve()
    try:
        warnings = make(out)
    except Refused as refused:
        print(f"reference: {refused}", file=sys.stderr)
        return 1
    lacking = [*warnings, *faults(out)]
    print(*(f"reference: {line}" for line in lacking), sep="\n", end="\n" if lacking else "", file=sys.stderr)
    print(f"{out}/html/index.html")
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main())
