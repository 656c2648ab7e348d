#!/usr/bin/env python3
"""The lessons: each hole fails as delivered, each solution passes, and common mistakes are told apart by what the check says.
And each folder has what a lesson needs: a page with an idea, an equation, a picture, a question with its answer folded,
and notes for teachers.

  lessons_test.py FOLDER      FOLDER has the programs that lesson_variants.py wrote, compiled

A solution that looks into the trained demo must ask for it here; the suite `demo`, which trains it, runs that."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root / "examples" / "lessons"))
import lesson as lessons  # noqa: E402

one_screen = 75  # lines
asks_for_demo = {4, 8}


def flat(text):
    return " ".join(text.split())


def run(program, variant, picture):
    environment = dict(os.environ, UNROLL_LESSON_VARIANT=variant, UNROLL_LESSON_PICTURE=str(picture), UNROLL_LESSON_DEMO="")
    done = subprocess.run([program], env=environment, capture_output=True, text=True, errors="replace", timeout=600)
    return done.returncode, done.stdout + done.stderr


def faults_of_variants(lesson, programs, folder):
    program, said = programs / f"lesson_{lesson.number:02}_variants", {}
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
    index = (root / "examples/lessons/README.md").read_text()
    for lesson in everything:
        faults += faults_of_page(lesson)
        if f"]({lesson.name}/README.md)" not in index or lesson.title not in index:
            faults.append(f"examples/lessons/README.md: has no link to {lesson.name}, or another title")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda lesson: list(faults_of_variants(lesson, programs, pathlib.Path(folder))), everything):
            faults += found
    for fault in faults:
        print("FAULT", fault)
    variants = sum(len(lesson.variants()) for lesson in everything)
    print(f"{len(everything)} lessons, {variants} variants: {len(faults)} faults")
    sys.exit(bool(faults))


main()
