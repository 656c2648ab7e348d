#!/usr/bin/env python3
"""The lessons: each hole fails as delivered, each solution passes, and common mistakes are told apart by what the check says.
What solutions print and draw is what the teachers' notes and docs/pictures have; what checks say of mistakes was recorded.
And each folder has what a lesson needs: a page with an idea, an equation, a picture, a question with its answer folded,
and notes for teachers.

  lessons_test.py FOLDER [--record]      FOLDER has the programs that lesson_variants.py wrote, compiled

A solution that looks into the trained demo must ask for it here; the suite `demo`, which trains it, runs that. Here it looks into a
small one, which has learned next to nothing: what it prints must follow from each other all the same."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(root / "examples" / "lessons"), str(root / "tests" / "recorded")]
import compare  # noqa: E402
import lesson as lessons  # noqa: E402

one_screen = 75  # lines
asks_for_demo = {4, 8}


# How far numbers of a training lie apart on processors seen so far (kernels for AMX, AVX2, and none), a few times over; of all
# other lessons the digits are the same but for the last.
apart = {3: 2.0, 6: 0.3, 10: 0.3}
# The numbers in what a check says last, from the lines with numbers above it.
from_above = {
    3: lambda rows: [rows[0][2], 2, 30, rows[1][1], 0.25, 20, rows[6][1] / rows[2][1]],
    5: lambda rows: [-2, mean(rows[2]), 0, mean(rows[3]), 1, mean(rows[4]), 3, mean(rows[5]), -2, 1,
                     sum(a < b for a, b in zip(rows[2][1:], rows[4][1:])), 3],
    6: lambda rows: [5, rows[1][1], 1 / 6, 20, rows[2][1]],
    7: lambda rows: [rows[3][1], rows[3][3], rows[4][0]],
    9: lambda rows: [max(row[1] for row in rows[1:])],
    10: lambda rows: [rows[0][0], rows[1][0], rows[0][1], rows[1][1]],
    11: lambda rows: [rows[3][0] / rows[1][0], rows[2][0] / rows[1][0]],
    12: lambda rows: [rows[5][0], rows[0][0], 35 + 1, 2 * 35, rows[10][0]],  # of 35 steps
    13: lambda rows: [96, 12, rows[7][0], rows[5][0], rows[7][1], 100 * rows[6][2]],
    14: lambda rows: [rows[2][0] / rows[0][0]]}


def mean(row):
    return sum(row[1:]) / len(row[1:])


def flat(text):
    return " ".join(text.split())


def run(program, variant, picture, demo=""):
    environment = dict(os.environ, UNROLL_LESSON_VARIANT=variant, UNROLL_LESSON_PICTURE=str(picture), UNROLL_LESSON_DEMO=str(demo))
    done = subprocess.run([program], env=environment, capture_output=True, text=True, errors="replace", timeout=600)
    return done.returncode, done.stdout + done.stderr


def numbers(text):
    return [float(number) for number in compare.NUMBER.findall(text)]


def begins_as(line, wanted, apart):
    """True if the line has the words of `wanted`, and near its numbers; more may follow."""
    words, of_page = compare.NUMBER.split(flat(line)), compare.NUMBER.split(flat(wanted))
    if len(words) < len(of_page) or words[:len(of_page) - 1] != of_page[:-1] or not words[len(of_page) - 1].startswith(of_page[-1]):
        return False
    return all(abs(float(a) - float(b)) <= max(apart * abs(float(b)), 1e-7) + 1.001 * compare.last_place(b)  # float32 below that
               for a, b in zip(compare.NUMBER.findall(line), compare.NUMBER.findall(wanted)))


def faults_of_output(lesson, text):
    printed, right = text.split("\nright: ")
    for block in re.findall(r"^```\n(.*?)^```", (lesson.folder / "teacher.md").read_text(), re.M | re.S):
        for line in block.splitlines():
            wanted = re.sub(", of which.*", "", line)  # times follow, which are of the machine
            if not any(begins_as(of_program, wanted, apart.get(lesson.number, 0)) for of_program in printed.splitlines()):
                yield f"{lesson.name}: teacher.md has \"{line}\"; the solution prints:\n{printed}"
    if lesson.number == 1 and (printed.count("-0.7500") != 2 or not printed.endswith(
            "for w = 2: dL/dw = 6.0000. What it recorded:\nwatch []\nscale []\nshift []\nmul []\n")):
        yield f"{lesson.name}: the slopes by differences, or what the library's tape recorded, are others:\n{printed}"
    if lesson.number == 2 and any(line.split()[2] != line.split()[3] for line in printed.splitlines()[1:] if line):
        yield f"{lesson.name}: the slopes by differences are others:\n{printed}"
    if lesson.number not in from_above:
        return
    wanted = from_above[lesson.number]([numbers(line) for line in printed.splitlines() if numbers(line)])
    said = compare.NUMBER.findall(right)
    if len(said) < len(wanted) or not all(abs(float(a) - b) <= 0.01 * abs(b) + compare.last_place(a) for a, b in zip(said, wanted)):
        yield f"{lesson.name}: of what it prints above, these numbers should follow: {wanted}; it says: {right}"


def words_and_curves(picture):
    curves = re.findall(r'(?s)<g class="series s\d+"[^>]*>.*?</g>|<line [^>]*class="level"', picture)
    return re.findall(r"<(?:text|title|desc)\b[^>]*>([^<]*)<", picture), [numbers(curve) for curve in curves]


def faults_of_picture(lesson, picture):
    words, curves = words_and_curves(picture)
    of_docs, wanted = words_and_curves((root / f"docs/pictures/lesson-{lesson.number:02}.svg").read_text())
    if words != of_docs or [len(curve) for curve in curves] != [len(curve) for curve in wanted]:
        yield f"{lesson.name}: its picture has other words or curves than that in docs/pictures: {words} {of_docs}"
    elif any(abs(a - b) > 10 for curve, of_page in zip(curves, wanted) for a, b in zip(curve, of_page)):  # of some 300 units
        yield f"{lesson.name}: a curve of its picture is not that in docs/pictures"


def faults_of_variants(lesson, programs, folder, said):
    program = programs / f"lesson_{lesson.number:02}_variants"
    for variant in lesson.variants():
        picture = folder / f"{lesson.name}-{variant}.svg"
        code, text = run(program, variant, picture)
        where = f"{lesson.name}, {variant}"
        if variant == "solution":
            wanted = lessons.needs_demo if lesson.number in asks_for_demo else 0
            if code != wanted:
                yield f"{where}: ends with {code}, not {wanted}:\n{text}"
            elif wanted == 0 and ("\nright: " not in text or not picture.exists()):
                yield f"{where}: does not say that it is right, or draws no picture:\n{text}"
            elif wanted == 0:
                yield from faults_of_output(lesson, text)
                yield from faults_of_picture(lesson, picture.read_text())
                curves = re.findall(r'<g class="series s\d+"[^>]*>(.*?)</g>', picture.read_text(), re.S)
                if len(set(curves)) < len(curves):
                    yield f"{where}: two curves of its picture are the same"
                if lesson.number == 14 and len(set(re.findall(r"\d (\d+\.\d)", curves[1]))) > 12:  # what came, seasonal naive, …
                    yield f"{where}: the seasonal naive curve does not repeat its year"
            continue
        wrong = re.search(r"^wrong: (.*)", text, re.M | re.S)
        if code != 1 or not wrong:
            yield f"{where}: should end with 1 and say what is wrong; it ended with {code}:\n{text}"
            continue
        said[variant] = flat(wrong[1])
        if variant == "hole" and (prints := lesson.answers["hole"].get("prints", "")) not in text:
            yield f"{where}: should print \"{prints}\" before; it prints: {text}"
        if flat(lesson.says(variant)) not in said[variant]:
            yield f"{where}: should say \"{lesson.says(variant)}\"; it says: {said[variant]}"
        if not re.search(r"\d", said[variant]):
            yield f"{where}: there is no number in what it says: {said[variant]}"
    mistakes = [text for variant, text in said.items() if variant != "hole"]
    if len(set(mistakes)) < 2:
        yield f"{lesson.name}: at least two common mistakes should be told apart"


def faults_with_a_small_demo(programs, folder):
    small = [word for key in ("model.hidden=24", "model.embedding=16", "data.train_tokens=20000", "training.epochs=1")
             for word in ("--set", key)]
    command = [programs.parent / "examples/ptb/ptb", "train", "demo", *small, "--quiet", "--threads", "1", "--out", folder / "demo"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    printed, page = {}, {}
    for number in sorted(asks_for_demo):
        program = programs / f"lesson_{number:02}_variants"
        printed[number] = run(program, "solution", folder / "of-demo.svg", folder / "demo/last.safetensors")[1]
        notes = next(root.glob(f"examples/lessons/{number:02}-*/teacher.md")).read_text()
        page[number] = re.search(r"^```\n(.*?)^```", notes, re.M | re.S)[1]
    words = [re.findall(r"(?m)^ *(\d+)   (\S+)  ", text) for text in (printed[4], page[4])]
    if words[0] != words[1] + [("10", "the"), ("11", "<eos>")]:
        yield f"lesson 4: the words back from the loss are not those of teacher.md:\n{printed[4]}"
    sentences = [re.findall(r"(?m)^ *(\d)  .*    (the .* \| are)$", text) for text in (printed[8], page[8])]
    if sentences[0] != sentences[1] or len(sentences[0]) != 4:
        yield f"lesson 8: its sentences are not those of teacher.md:\n{printed[8]}"
    right = [float(share) for share in re.findall(r"(?m)^ *\d +([\d.]+) %", printed[8])]
    tells = [float(share) for share in re.findall(r"tells the number in +([\d.]+) % \(mean", printed[8])]
    held = [int(count) for count in re.findall(r"(?m)^ +(\d+) +0\.\d{3}$", printed[8])]
    said = numbers(printed[8].partition("\nright: ")[2])
    if tells != sorted(tells, reverse=True) or len(tells) != 5 or min(tells) < 50 or held != [0, 1, 2, 4, 8, 16, 32] or \
            said != [min(right), 100, tells[0]]:
        yield f"lesson 8: what it prints does not fit together:\n{printed[8]}"


def faults_of_page(lesson):
    page = lesson.page.read_text()
    for what, pattern in {"minutes": r"About \d+ minutes", "the command": rf"\./run lesson {lesson.number}\b",
                          "an equation or a scheme in a block": r"^```\n", "a picture": rf"!\[[^]]+\]\([./]+docs/pictures/lesson-"
                          rf"{lesson.number:02}\.svg\)", "a question before running": r"^## A question before you run it",
                          "its answer, folded": r"<details><summary>.*?</summary>\n\n.+?\n\n</details>",
                          "the learner's part": r"^## Your part", "what to take along": r"^## What to take along"}.items():
        if not re.search(pattern, page, re.M | re.S):
            yield f"{lesson.name}/README.md: lacks {what}"
    notes = (lesson.folder / "teacher.md").read_text()
    for what, pattern in {"minutes": r"\*\*Minutes\*\*", "the seed, or that there is none": r"[Ss]eed|Random numbers",
                          "numbers to expect": r"^```\n"}.items():
        if not re.search(pattern, notes, re.M):
            yield f"{lesson.name}/teacher.md: lacks {what}"
    exercise = lesson.exercise.read_text()
    if (n := len(exercise.splitlines())) > one_screen:
        yield f"{lesson.name}/exercise.cpp: {n} lines, more than {one_screen}"
    if exercise.count(lessons.begin_mark) != 1 or exercise.count(lessons.end_mark) != 1:
        yield f"{lesson.name}/exercise.cpp: should have one part between '{lessons.begin_mark}' and '{lessons.end_mark}'"


def main():
    programs, faults = pathlib.Path(sys.argv[1]), []
    everything = lessons.lessons()
    said = {lesson.name: {} for lesson in everything}
    index = (root / "examples/lessons/README.md").read_text()
    for lesson in everything:
        faults += faults_of_page(lesson)
        if f"]({lesson.name}/README.md)" not in index or lesson.title not in index:
            faults.append(f"examples/lessons/README.md: has no link to {lesson.name}, or another title")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda lesson: list(faults_of_variants(lesson, programs, pathlib.Path(folder), said[lesson.name])),
                              everything):
            faults += found
        faults += faults_with_a_small_demo(programs, pathlib.Path(folder))
    if not compare.check("lessons", {f"{name}, {variant}": text + "\n" for name in said for variant, text in said[name].items()}):
        faults.append("what checks say was recorded otherwise (--record, if it is meant)")
    for fault in faults:
        print("FAULT", fault)
    variants = sum(len(lesson.variants()) for lesson in everything)
    print(f"{len(everything)} lessons, {variants} variants: {len(faults)} faults")
    sys.exit(bool(faults))


main()
