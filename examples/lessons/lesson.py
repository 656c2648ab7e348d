#!/usr/bin/env python3
"""Lists the lessons, makes the table of a class, or does a lesson: copies its exercise to where the learner works, builds it,
runs it, and says what its check found. ./run lesson calls this."""
import argparse
import csv
import datetime
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

here = pathlib.Path(__file__).resolve().parent
begin_mark, end_mark = "// ---- your part", "// ---- end of your part"
needs_demo = 10  # the exit code of a lesson that looks into the trained demo, where there is none (lesson.cpp)


class Refused(Exception):
    pass


class Lesson:
    def __init__(self, folder):
        self.folder, self.name, self.number = folder, folder.name, int(folder.name[:2])
        self.page = folder / "README.md"
        self.exercise = folder / "exercise.cpp"
        self.answers = tomllib.loads((folder / "answers.toml").read_text())

    @property
    def title(self):
        return re.match(r"# Lesson \d+: (.*)", self.page.read_text())[1]

    def filled(self, code):
        """The exercise with other lines in its hole."""
        before, rest = re.split(rf"(?<={re.escape(begin_mark)})", self.exercise.read_text(), maxsplit=1)
        first, rest = rest.split("\n", 1)
        after = rest[rest.index(end_mark):]
        indent = re.search(r"( *)$", rest[: rest.index(end_mark)])[1]
        return f"{before}{first}\n{code.lstrip(chr(10)).rstrip()}\n{indent}{after}"

    def variants(self):
        """The exercise's text by name: as delivered, with our solution, with each common mistake."""
        return {"hole": self.exercise.read_text(), "solution": self.filled(self.answers["solution"]["code"]),
                **{mistake["name"]: self.filled(mistake["code"]) for mistake in self.answers["mistake"]}}

    def says(self, variant):
        """What the check of a variant that is wrong has among its words."""
        if variant == "hole":
            return self.answers["hole"]["says"]
        return next(mistake["says"] for mistake in self.answers["mistake"] if mistake["name"] == variant)


def lessons():
    return [Lesson(folder) for folder in sorted(here.glob("[0-9][0-9]-*"))]


class Desk:
    """Where the learner works: the folder lessons/ of the folder in which ./run was called."""

    def __init__(self, folder):
        self.folder = folder
        self.done_file = folder / "done.txt"

    def make(self):
        if self.folder.exists() and not self.folder.is_dir():
            raise Refused(f"{nearby(self.folder)} is a file; the lessons need a folder of that name")
        self.folder.mkdir(exist_ok=True)

    def file(self, lesson):
        return self.folder / f"{lesson.name}.cpp"

    def done(self):
        """Numbers of lessons; other lines of the file are somebody's own."""
        text = self.done_file.read_text(errors="replace") if self.done_file.exists() else ""
        return {int(number) for number in re.findall(r"(?m)^\s*(\d+)\b", text)}

    def note(self, lesson):
        if lesson.number not in self.done():
            with self.done_file.open("a") as file:
                file.write(f"{lesson.number} {lesson.name}, {datetime.date.today()}\n")

    def demo(self):
        return self.folder / "demo.safetensors"

    def following(self, number=0):
        """The next lesson that is not done; None if all are."""
        left = [lesson for lesson in lessons() if lesson.number not in self.done()]
        return next((lesson for lesson in left if lesson.number > number), left[0] if left else None)


def say(text=""):
    print(text, flush=True)


def nearby(path):
    """A path as the learner would type it."""
    relative = os.path.relpath(path)
    return min(relative, str(path), key=len)


def text_of(source):
    """A learner's file, which an editor may have saved in another encoding."""
    try:
        return source.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = source.read_bytes()[:error.start].count(b"\n") + 1
        raise Refused(f"{nearby(source)}:{line} has a character that is not UTF-8: save the file as UTF-8") from None


def show_list(desk, run):
    done = desk.done()
    for lesson in lessons():
        state = "done" if lesson.number in done else "begun" if desk.file(lesson).exists() else ""
        say(f"{lesson.number:4}  {state:5}  {lesson.title}")
    say()
    say_next(desk.following(), run)


def say_next(lesson, run):
    say(f"Next: read {nearby(lesson.page)}, then {run} lesson {lesson.number}" if lesson else "All lessons are done.")


def find(word):
    chosen = [lesson for lesson in lessons() if word in (str(lesson.number), lesson.name, f"{lesson.number:02}")]
    if not chosen:
        raise Refused(f"there is no lesson '{word}'; there are 1 to {len(lessons())}, which {{run}} lesson lists")
    return chosen[0]


def ninja(build, targets, what):
    """Builds, and counts while it lasts: in place on a terminal, else a line for each tenth of a long build. The compiler's words
    are returned, "" if all went well."""
    process = subprocess.Popen(["ninja", "-C", str(build), *targets], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace")
    words, shown, tenth = [], False, 0
    for line in process.stdout:
        step = re.match(r"\[(\d+)/(\d+)\]", line)
        if not step:
            words.append(line)
        elif sys.stderr.isatty():
            print(f"\r{what} {step[1]}/{step[2]} ", end="", file=sys.stderr, flush=True)
            shown = True
        elif int(step[2]) > 8 and 10 * int(step[1]) // int(step[2]) > tenth:
            tenth = 10 * int(step[1]) // int(step[2])
            print(f"{what} {step[1]}/{step[2]}", file=sys.stderr, flush=True)
    if shown:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return "" if process.wait() == 0 else "".join(words)


def steps_left(build, target):
    dry = subprocess.run(["ninja", "-C", str(build), "-n", target], capture_output=True, text=True).stdout
    found = re.findall(r"\[\d+/(\d+)\]", dry)
    return int(found[-1]) if found else 0


# What learners write in another notation, as the compiler says it, and what it means.
notations = [
    ("extended character ·", "C++ writes a product with *."),
    ("invalid preprocessing directive", "A comment begins with //."),
    ("stray ‘#’", "A comment begins with //."),
    ("expected ‘;’ before", "A ; is missing, here or at the end of the line before."),
    ("no return statement", "The function gives nothing back: return is missing."),
    ("was not declared in this scope", "Is it spelt as in the exercise? A new variable is made with const auto NAME = …;"),
    ("cannot be used as a function", "A product needs its *: a * (b)."),
]


def meaning_of(lesson, error):
    """Of a compiler's message, in a learner's words; "" if nobody wrote it down."""
    of_lesson = [(hint["has"], hint["means"]) for hint in lesson.answers.get("compiler", [])]
    return next((means for has, means in of_lesson + notations if has in error), "")


# The name of a new variable and its first value; `return n == 0` and `else n = 0` begin as one does.
new_variable = re.compile(r"\s*(?:const\s+)?(?!(?:return|else|case|throw|goto|delete|new|using|co_\w+)\b)[\w:]+&?\s+(\w+)\s*=(?!=)([^;]*)")


def refuse_use_before(source):
    """C++ lets a new variable be used in its own first value, where it has none yet."""
    inside = False
    for number, line in enumerate(text_of(source).splitlines(), 1):
        inside = (inside or begin_mark in line) and end_mark not in line
        found = new_variable.match(line.split("//")[0])
        if inside and found and re.search(rf"(?<![\w.>:]){found[1]}\b", found[2]):
            raise Refused(f"{nearby(source)}:{number} uses {found[1]} to make {found[1]}\n\n    {line.strip()}\n\n"
                          f"  {found[1]} on the right is the new one, which does not exist yet.")


def compile_lesson(build, lesson, source):
    """The lesson's program, of this source. Refused with the first error of the compiler in the learner's own file."""
    refuse_use_before(source)
    target = f"examples/lessons/lesson_{lesson.number:02}"
    # Meson builds the program from a file of its own, which includes the learner's (meson.build).
    included = build / "examples" / "lessons" / f"lesson_{lesson.number:02}.cpp"
    text = f'#include "{source}"\n'
    # First, since this makes that file again, with the delivered exercise in it, where a meson.build has changed.
    words = ninja(build, ["build.ninja"], "Configuring")
    if words:
        raise Refused(f"the build folder could not be configured; it ends with\n\n{words[-600:]}")
    if not included.exists() or included.read_text() != text:
        included.write_text(text)
    left = steps_left(build, target)
    if left > 8:
        say(f"First the library is built: {left} steps, a few minutes on two idle cores. Lessons 1 and 2 compute with 16 digits,\n"
            "the others with 7, as training does: it is built once for each.\n")
    words = ninja(build, [target], "Building")
    if words:
        (build / "lesson-log.txt").write_text(words)
        raise Refused(first_error(lesson, words, source, build / "lesson-log.txt"))
    return build / target


def first_error(lesson, words, source, log):
    lines = words.splitlines()
    for at, line in enumerate(lines):
        found = re.match(r"(.*?):(\d+):\d+: (?:fatal )?error: (.*)", line)
        if not found:
            continue
        inside = next((m for m in (re.match(rf"{re.escape(str(source))}:(\d+):", other) for other in
                                   lines[max(0, at - 12):at + 12]) if m), None)
        number = found[2] if pathlib.Path(found[1]).resolve() == source else inside[1] if inside else None
        place = f"{nearby(source)}:{number}" if number else found[1]
        shown = text_of(source).splitlines()[int(number) - 1].strip() if number else ""
        meaning = meaning_of(lesson, found[3])
        return (f"the compiler does not understand {place}\n\n    {shown}\n\n  {found[3]}\n{f'  {meaning}' + chr(10) if meaning else ''}\n"
                f"All that it says is in {nearby(log)}.")
    return f"the program could not be built. What the compiler says is in {nearby(log)}; it ends with\n\n{words[-600:]}"


def run_program(program, desk, lesson, **how):
    environment = {**os.environ, "UNROLL_LESSON_PICTURE": str(desk.folder / f"{lesson.name}.svg"),
                   "UNROLL_LESSON_DEMO": str(desk.demo()), **how.pop("environment", {})}
    return subprocess.run([str(program)], env=environment, **how).returncode


def train_demo(build, desk, number):
    say("It is trained now, once for all lessons: about two minutes on two idle cores, ten or more on busy ones;\nbefore that its program is built.\n")
    words = ninja(build, ["examples/ptb/ptb"], "Building")
    if words:
        raise Refused(f"the program ptb could not be built; the compiler's words end with\n\n{words[-600:]}")
    folder, program = desk.folder / "demo", build / "examples" / "ptb" / "ptb"
    how = ["resume", str(folder)] if folder.exists() else ["train", "demo", "--out", str(folder)]
    if subprocess.run([str(program), *how]).returncode:
        raise Refused(f"the training of the demo did not end well; {{run}} lesson {number} goes on with it. To begin anew, "
                      f"delete {nearby(folder)}")
    partial = desk.folder / "demo.safetensors.partial"
    shutil.copyfile(folder / "last.safetensors", partial)
    partial.replace(desk.demo())  # whole or not at all


def check(build, desk, lesson, source):
    program = compile_lesson(build, lesson, source)
    status = run_program(program, desk, lesson)
    if status == needs_demo:
        train_demo(build, desk, lesson.number)
        say("\nThe demo is trained. Your program runs again, from its beginning:\n")
        status = run_program(program, desk, lesson)
    if status < 0:
        say(f"\nwrong: the program was ended by signal {-status}. Does your part reach beyond the end of something?")
        status = 1
    return status


def picture_of(desk, lesson):
    picture = desk.folder / f"{lesson.name}.svg"
    if picture.exists():
        say(f"picture: {nearby(picture)}")


def show_solution(build, desk, lesson):
    code = lesson.answers["solution"]["code"].strip("\n")
    say(f"Ours, for the part that is yours in lesson {lesson.number}:\n\n{code}\n\n{lesson.answers['solution']['why']}\n")
    source = build / "examples" / "lessons" / f"solution_{lesson.number:02}.cpp"
    text = lesson.filled(code)
    if not source.exists() or source.read_text() != text:
        source.write_text(text)
    status = check(build, desk, lesson, source)
    picture_of(desk, lesson)
    return status


def do_lesson(build, desk, lesson, run):
    source = desk.file(lesson)
    if not source.exists():
        shutil.copyfile(lesson.exercise, source)
        say(f"{nearby(source)} is yours now. Read {nearby(lesson.page)}; fill in the part marked \"your part\";\n"
            f"then again: {run} lesson {lesson.number}\n")
    status = check(build, desk, lesson, source)
    say()
    picture_of(desk, lesson)
    if status == 0:
        desk.note(lesson)
        say_next(desk.following(lesson.number), run)
    elif status == 1:
        say(f"yours:   {nearby(source)}\npage:    {nearby(lesson.page)}\nours:    {run} lesson {lesson.number} --solution")
    return status


# ---- the report of a class

most_seconds = 600  # of an answer's program
most_bytes = 1_000_000  # of an answer


def fit_to_show(name):
    """A name from a disk, on one line."""
    text = os.fsencode(name).decode(errors="replace")
    return "".join(c if c.isprintable() else "?" for c in text)


def cell(name):
    """A name as a cell of a table: what a spreadsheet would take for a formula is made text by an apostrophe."""
    text = os.fsencode(name).decode(errors="backslashreplace")
    return f"'{text}" if text[:1] in tuple("=+-@\t\r") else text


class Class:
    """A folder with a folder for each student, in which answers lie as in a learner's own: lessons/01-tape.cpp, or without lessons/."""

    def __init__(self, folder, build, desk):
        self.build, self.desk, self.results, self.sound = build, desk, {}, set()
        if not folder.is_dir():
            raise Refused(f"{fit_to_show(folder)} is no folder; --report wants one with a folder for each student")
        self.students = sorted(each for each in folder.iterdir() if each.is_dir() and not each.name.startswith("."))
        if not any(self.answer(student, lesson) for student in self.students for lesson in lessons()):
            raise Refused(f"there are no answers in {fit_to_show(folder)}: it should have a folder for each student, and that "
                          "lessons/01-tape.cpp and so on")

    @staticmethod
    def answer(student, lesson):
        places = [student / "lessons" / f"{lesson.name}.cpp", student / f"{lesson.name}.cpp"]
        return next((place for place in places if place.is_file()), None)

    def state(self, student, lesson):
        answer = self.answer(student, lesson)
        if answer and answer.stat().st_size > most_bytes:
            return "failed"
        text = answer.read_bytes() if answer else b""
        if not answer or text == lesson.exercise.read_bytes():
            return "not begun"
        if (lesson.name, text) not in self.results:  # equal answers are tried once
            self.results[lesson.name, text] = "passed" if self.passes(lesson, text) else "failed"
        return self.results[lesson.name, text]

    def passes(self, lesson, text):
        # A copy is compiled: a path on a student's disk may have any characters.
        source = self.build / "examples" / "lessons" / f"report_{lesson.number:02}.cpp"
        source.write_bytes(text)
        try:
            program = compile_lesson(self.build, lesson, source)
        except Refused:
            self.require_sound(lesson, source)
            return False
        status = self.run(program, lesson)
        if status == needs_demo:
            train_demo(self.build, self.desk, lesson.number)
            status = self.run(program, lesson)
        return status == 0

    def run(self, program, lesson):
        with tempfile.TemporaryDirectory() as folder:
            try:
                return run_program(program, self.desk, lesson, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   stdin=subprocess.DEVNULL, cwd=folder, timeout=most_seconds,
                                   environment={"UNROLL_LESSON_PICTURE": ""})
            except subprocess.TimeoutExpired:
                return 1

    def require_sound(self, lesson, source):
        """An answer could not be built. Throws Refused if the lesson as it is delivered cannot be either."""
        if lesson.name not in self.sound:
            source.write_text(lesson.exercise.read_text())
            compile_lesson(self.build, lesson, source)
            self.sound.add(lesson.name)


def write_report(path, of_class):
    with path.open("x", newline="") as file:
        try:
            table = csv.writer(file)
            table.writerow(["student", *(lesson.name for lesson in lessons())])
            for student in of_class.students:
                states = [of_class.state(student, lesson) for lesson in lessons()]
                table.writerow([cell(student.name), *states])
                say(f"{fit_to_show(student.name)}: {states.count('passed')} passed, {states.count('failed')} failed, "
                    f"{states.count('not begun')} not begun")
        except BaseException:
            path.unlink()  # whole or not at all
            raise
    say(f"\n{fit_to_show(path)}: {len(of_class.students)} students")
    return 0


def main():
    parser = argparse.ArgumentParser(prog="lesson", description=__doc__, add_help=False)
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("lesson", nargs="?")
    parser.add_argument("--solution", action="store_true")
    parser.add_argument("--words", action="store_true")  # refuses wrong words, and does nothing else
    parser.add_argument("--build", type=pathlib.Path, default=here.parent.parent / "build")
    options, others = parser.parse_known_args()
    run = os.environ.get("UNROLL_RUN", "./run")
    desk = Desk(pathlib.Path.cwd() / "lessons")
    try:
        if others:
            raise Refused(f"it knows no '{others[0]}'; there are {{run}} lesson, {{run}} lesson N, "
                          "{run} lesson N --solution and {run} lesson --report FILE FOLDER")
        if options.report:
            if options.solution:
                raise Refused("--report knows no --solution")
            if not options.lesson:
                raise Refused("--report wants a file to write and the folder of a class: {run} lesson --report class.csv class")
            of_class = Class(pathlib.Path(options.lesson), options.build.resolve(), desk)
            if os.path.lexists(options.report):
                raise Refused(f"{fit_to_show(options.report)} is there already")
            if options.words:
                return 0
            desk.make()
            return write_report(options.report, of_class)
        if not options.lesson:
            if options.solution:
                raise Refused("--solution wants a lesson's number: {run} lesson 4 --solution")
            show_list(desk, run)
            return 0
        lesson = find(options.lesson)
        if options.words:
            return 0
        desk.make()
        if options.solution:
            return show_solution(options.build.resolve(), desk, lesson)
        return do_lesson(options.build.resolve(), desk, lesson, run)
    except KeyboardInterrupt:
        print(f"\n{run} lesson: interrupted", file=sys.stderr)
        return 130
    except Refused as refused:
        print(f"{run} lesson: {str(refused).replace('{run}', run)}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{run} lesson: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
