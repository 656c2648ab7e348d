#!/usr/bin/env python3
"""./run lesson as a learner meets it: the list, the copy, what is wrong and what is right, mistakes of C++, refusals, the
report of a class. And never is the learner's file overwritten.

  lesson_command_test.py BUILD     the folder of this build, in which the learner's program is compiled"""
import contextlib
import csv
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

root = pathlib.Path(__file__).resolve().parent.parent
build = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(root / "examples" / "lessons"))
import lesson as lessons  # noqa: E402


class LessonCommand(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)

    def run_lesson(self, *words):
        done = subprocess.run([sys.executable, str(root / "examples/lessons/lesson.py"), "--build", str(build), *words],
                              cwd=self.folder, capture_output=True, text=True, env=dict(os.environ, UNROLL_RUN="./run"))
        return done.returncode, done.stdout, done.stderr

    def lesson(self, number):
        return next(lesson for lesson in lessons.lessons() if lesson.number == number)

    def test_from_the_list_to_a_lesson_that_is_done(self):
        code, out, _ = self.run_lesson()
        self.assertEqual(code, 0)
        for lesson in lessons.lessons():
            self.assertIn(lesson.title, out)
        self.assertIn("then ./run lesson 1\n", out)
        self.assertEqual(list(self.folder.iterdir()), [])  # a look changes nothing

        # As delivered: copied, and wrong in words that help.
        mine = self.folder / "lessons" / "02-operation.cpp"
        code, out, err = self.run_lesson("2")
        self.assertEqual(code, 1, out + err)
        self.assertEqual(mine.read_text(), self.lesson(2).exercise.read_text())
        self.assertIn("lessons/02-operation.cpp is yours now", out)
        self.assertIn("wrong: the slope is 1 everywhere", out)
        self.assertIn("yours:   lessons/02-operation.cpp\npage:    ", out)
        self.assertIn("ours:    ./run lesson 2 --solution", out)
        self.assertIn("begun  An operation", self.run_lesson()[1])

        # What does not compile is named by line, in the learner's own file.
        text = self.lesson(2).filled("  return sigma(x) + x * sigma(y);")
        mine.write_text(text)
        line = next(k for k, words in enumerate(text.splitlines(), 1) if "sigma(y)" in words)
        code, out, err = self.run_lesson("2")
        self.assertEqual(code, 2)
        self.assertIn(f"lessons/02-operation.cpp:{line}\n", err)
        self.assertIn("return sigma(x) + x * sigma(y);", err)
        self.assertIn("'y' was not declared", err.replace("‘", "'").replace("’", "'"))
        self.assertEqual(mine.read_text(), text)

        # Ours is shown and tried; the learner's file stays.
        code, out, err = self.run_lesson("2", "--solution")
        self.assertEqual(code, 0, out + err)
        self.assertIn(self.lesson(2).answers["solution"]["code"].strip("\n"), out)
        self.assertIn("\nright: ", out)
        self.assertEqual(mine.read_text(), text)
        self.assertIn("begun  An operation", self.run_lesson()[1])  # ours does not count

        # Right.
        mine.write_text(self.lesson(2).variants()["solution"])
        code, out, err = self.run_lesson("2")
        self.assertEqual(code, 0, out + err)
        self.assertIn("right: ", out)
        self.assertIn("picture: lessons/02-operation.svg", out)
        self.assertRegex(out, r"\nNext: read \S+/03-plain-rnn/README.md, then ./run lesson 3\n$")
        self.assertRegex((self.folder / "lessons/done.txt").read_text(), r"^2 02-operation, \d{4}-\d\d-\d\d\n$")
        self.assertTrue((self.folder / "lessons" / "02-operation.svg").read_text().startswith("<svg"))
        self.assertIn("done   An operation", self.run_lesson()[1])

        # A program that fell over is told in words, too.
        mine.write_text(self.lesson(2).filled("  std::abort();"))
        code, out, err = self.run_lesson("2")
        self.assertEqual(code, 1)
        self.assertIn("wrong: the program was ended by signal 6", out)

    def test_another_notation_is_answered_in_a_learners_words(self):
        (self.folder / "lessons").mkdir()
        for number, code, meaning in [
                (4, "  const Var c = f * c + i * g;", "c on the right is the new one, which does not exist yet"),
                (2, "  sigma(x) + x * sigma(x) * (1 - sigma(x));", "return is missing"),
                (2, "  return sigma(x) + x · sigma(x);", "C++ writes a product with *"),
                (2, "  return dy * sigma(x);", "The slope alone is asked")]:
            lesson = self.lesson(number)
            (self.folder / "lessons" / f"{lesson.name}.cpp").write_text(lesson.filled(code))
            status, out, err = self.run_lesson(str(number))
            self.assertEqual(status, 2, out + err)
            self.assertIn(meaning, err)
        # Nothing is taken for that which is not: a part of another name, a value of a structure, a comparison, an assignment, a
        # second statement of the line.
        path = self.folder / "lessons" / "fine.cpp"
        for fine in ["const Var c = f * last.c + i * g;", "const double c = numbers::c;", "return n == 0 ? 0 : std::exp(sum / n);",
                     "else sum = sum / nats.size();", "const double n = nats.size(); return sum / n;", "bool same == same;"]:
            path.write_text(self.lesson(4).filled(f"  {fine}"))
            lessons.refuse_use_before(path)
        for wrong in ["double sum = sum / nats.size();", "const auto& n = f(n);"]:
            path.write_text(self.lesson(4).filled(f"  {wrong}"))
            with self.assertRaisesRegex(lessons.Refused, "is the new one, which does not exist yet"):
                lessons.refuse_use_before(path)

    def test_files_in_another_encoding_and_with_lines_of_the_learners_own(self):
        (self.folder / "lessons").mkdir()
        mine = self.folder / "lessons/02-operation.cpp"
        text = self.lesson(2).filled("  return 1;  // m?de").encode().replace(b"m?de", b"m\xfcde")
        mine.write_bytes(text)
        line = text[:text.index(b"\xfc")].count(b"\n") + 1
        refused = f"./run lesson: lessons/02-operation.cpp:{line} has a character that is not UTF-8: save the file as UTF-8\n"
        self.assertEqual(self.run_lesson("2"), (2, "", refused))
        self.assertEqual(mine.read_bytes(), text)
        (self.folder / "lessons/done.txt").write_bytes(b"m\xfcde\n3rd try\n\n1 01-tape, 2026-01-02\n")
        self.assertEqual(lessons.Desk(self.folder / "lessons").done(), {1})
        code, out, err = self.run_lesson()
        self.assertEqual((code, err), (0, ""))
        self.assertIn("then ./run lesson 2\n", out)

    def test_the_next_lesson_is_the_one_after_this(self):
        (self.folder / "lessons").mkdir()
        (self.folder / "lessons" / "done.txt").write_text("1 01-tape, 2026-01-02\n3 03-plain-rnn, 2026-01-03\n")
        desk = lessons.Desk(self.folder / "lessons")
        self.assertEqual([desk.following(k).number for k in (0, 1, 3, 14)], [2, 2, 4, 2])
        self.assertIn("then ./run lesson 2\n", self.run_lesson()[1])

    def test_when_all_are_done_there_is_no_next(self):
        (self.folder / "lessons").mkdir()
        done = "".join(f"{lesson.number} {lesson.name}, 2026-01-02\n" for lesson in lessons.lessons())
        (self.folder / "lessons/done.txt").write_text(done)
        out = self.run_lesson()[1]
        self.assertTrue(out.endswith("\n\nAll lessons are done.\n"), out)
        self.assertEqual(len([line for line in out.splitlines() if line[4:].startswith("  done   ")]), len(lessons.lessons()))
        self.assertIsNone(lessons.Desk(self.folder / "lessons").following(3))

    def test_a_lesson_is_called_by_its_number_or_its_name(self):
        for word in ("2", "02", "02-operation"):
            self.assertEqual(lessons.find(word).number, 2)
            self.assertEqual(self.run_lesson(word, "--words"), (0, "", ""))

    def test_the_demo_is_trained_once_and_a_training_that_was_interrupted_goes_on(self):
        program = self.folder / "build/examples/ptb/ptb"
        program.parent.mkdir(parents=True)
        program.write_text('#!/bin/sh\necho "$@" >>asked\nmkdir -p lessons/demo\nprintf "half " >>lessons/demo/last.safetensors\n'
                           'test -e whole\n')
        program.chmod(0o755)
        desk, built = lessons.Desk(self.folder / "lessons"), []
        desk.make()
        self.patch("ninja", lambda _, targets, __: built.append(targets) or "")
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        with contextlib.redirect_stdout(io.StringIO()):
            with self.assertRaisesRegex(lessons.Refused, "lesson 8 goes on with it. To begin anew, delete lessons/demo$"):
                lessons.train_demo(self.folder / "build", desk, 8)
            self.assertFalse(desk.demo().exists())
            (self.folder / "whole").touch()
            lessons.train_demo(self.folder / "build", desk, 8)
        asked = (self.folder / "asked").read_text().replace(str(self.folder) + "/", "")
        self.assertEqual(asked, "train demo --out lessons/demo\nresume lessons/demo\n")
        self.assertEqual(desk.demo().read_text(), "half half ")
        self.assertEqual(sorted(path.name for path in desk.folder.iterdir()), ["demo", "demo.safetensors"])
        self.assertEqual(built, [["examples/ptb/ptb"]] * 2)

    def test_refusals(self):
        for words, told in {("15",): "there is no lesson '15'; there are 1 to 14", ("four",): "there is no lesson 'four'",
                            ("--solution",): "--solution wants a lesson's number", ("4", "--solve"): "knows no '--solve'",
                            ("4", "5"): "knows no '5'"}.items():
            code, out, err = self.run_lesson(*words)
            self.assertEqual((code, out), (2, ""), err)
            self.assertEqual(len(err.splitlines()), 1, err)
            self.assertTrue(err.startswith("./run lesson: "), err)
            self.assertIn(told, err)
        self.assertEqual(list(self.folder.iterdir()), [])
        (self.folder / "lessons").write_text("mine")
        code, _, err = self.run_lesson("1")
        self.assertEqual(code, 2)
        self.assertIn("lessons is a file", err)
        self.assertEqual((self.folder / "lessons").read_text(), "mine")

    def classroom(self, answers):
        """A folder of a class: {student: {path: text}}."""
        for student, files in answers.items():
            folder = os.path.join(os.fsencode(self.folder / "class"), student if isinstance(student, bytes) else student.encode())
            os.makedirs(folder)
            for path, text in files.items():
                file = os.path.join(folder, path.encode())
                os.makedirs(os.path.dirname(file), exist_ok=True)
                pathlib.Path(os.fsdecode(file)).write_bytes(text if isinstance(text, bytes) else text.encode())

    def table(self, name="class.csv"):
        with (self.folder / name).open(newline="") as file:
            return {row["student"]: {lesson: state for lesson, state in row.items() if lesson != "student"}
                    for row in csv.DictReader(file)}

    def test_a_report_of_a_class(self):
        second = self.lesson(2)
        self.classroom({
            "ann": {"lessons/02-operation.cpp": second.variants()["solution"], "lessons/done.txt": "2 02-operation, today\n"},
            "ben": {"02-operation.cpp": second.filled("  return sigma(x;")},
            "no one": {"lessons/02-operation.cpp": second.exercise.read_text(), "letter.txt": "I was ill"}})
        code, out, err = self.run_lesson("--report", "class.csv", "class")
        self.assertEqual(code, 0, out + err)
        self.assertEqual(list(self.table()), ["ann", "ben", "no one"])
        self.assertEqual(list(self.table()["ann"]), [lesson.name for lesson in lessons.lessons()])
        for student, state in {"ann": "passed", "ben": "failed", "no one": "not begun"}.items():
            states = self.table()[student]
            self.assertEqual(states.pop("02-operation"), state)
            self.assertEqual(set(states.values()), {"not begun"})
        self.assertIn(f"ann: 1 passed, 0 failed, {len(lessons.lessons()) - 1} not begun\n", out)
        self.assertFalse((self.folder / "lessons" / "done.txt").exists())  # the class's answers are not the teacher's

        before = (self.folder / "class.csv").read_text()
        code, _, err = self.run_lesson("--report", "class.csv", "class")
        self.assertEqual((code, err), (2, "./run lesson: class.csv is there already\n"))
        self.assertEqual((self.folder / "class.csv").read_text(), before)

    def test_a_build_folder_that_has_to_be_configured_again(self):
        """Which makes the file that includes an answer again, with the exercise in it."""
        (self.folder / "lessons").mkdir()
        (self.folder / "lessons/02-operation.cpp").write_text(self.lesson(2).variants()["solution"])
        os.utime(build / "build.ninja", (0, 0))  # older than every meson.build
        code, out, err = self.run_lesson("2")
        self.assertEqual(code, 0, out + err)

    def test_a_report_of_hostile_names_and_files(self):
        solution = self.lesson(2).variants()["solution"]
        answers = {"a, \"b\"": solution, "two\nlines": "junk", "=HYPERLINK(1)": solution, "-1+2": b"\xff\xfe\0", b"l\xe4tin": solution,
                   "';--": solution, "#include \"x\"": solution, "large": solution + " " * 1_000_000}
        self.classroom({name: {"02-operation.cpp": text} for name, text in answers.items()} | {
            "both": {"lessons/02-operation.cpp": solution, "02-operation.cpp": "junk of another time"}})
        (self.folder / "class" / ".git").mkdir()
        (self.folder / "class" / "list.txt").write_text("not a student")
        (self.folder / "class" / "loop").symlink_to("loop")
        tried = []

        def compiles(_, lesson, source):
            self.assertEqual(source.name, f"report_{lesson.number:02}.cpp")  # a name of ours
            tried.append(lessons.text_of(source))
            if tried[-1] not in (solution, lesson.exercise.read_text()):
                raise lessons.Refused("the compiler does not understand it")
            return source

        self.patch("compile_lesson", compiles)
        self.patch("run_program", lambda *_, **__: 0)
        self.report()
        said = {name: states["02-operation"] for name, states in self.table().items()}
        self.assertEqual(said, {"a, \"b\"": "passed", "two\nlines": "failed", "'=HYPERLINK(1)": "passed", "'-1+2": "failed",
                                "l\\xe4tin": "passed", "';--": "passed", "#include \"x\"": "passed", "large": "failed",
                                "both": "passed"})
        self.assertEqual(tried.count(solution), 1)  # equal answers are tried once

    def test_a_report_tells_a_broken_build_from_a_wrong_answer(self):
        self.classroom({"ann": {"02-operation.cpp": "// mine"}})

        def breaks(*_):
            raise lessons.Refused("there is no compiler")

        self.patch("compile_lesson", breaks)
        with self.assertRaisesRegex(lessons.Refused, "there is no compiler"):
            self.report()
        self.assertFalse((self.folder / "class.csv").exists())

    def test_a_report_goes_on_after_an_answer_that_never_ends_and_trains_the_demo_once(self):
        self.classroom({"ann": {"01-tape.cpp": "for ever"}, "ben": {"04-lstm-cell.cpp": "looks"}})
        trained, ran = [], []

        def run(program, desk, lesson, **how):
            ran.append(lesson.number)
            if lesson.number == 1:
                raise subprocess.TimeoutExpired("lesson", how["timeout"])
            return 0 if trained else lessons.needs_demo

        self.patch("compile_lesson", lambda build, lesson, source: source)
        self.patch("run_program", run)
        self.patch("train_demo", lambda *_: trained.append(1))
        self.report()
        self.assertEqual((self.table()["ann"]["01-tape"], self.table()["ben"]["04-lstm-cell"]), ("failed", "passed"))
        self.assertEqual((trained, ran), ([1], [1, 4, 4]))

    def patch(self, name, other):
        patched = unittest.mock.patch.object(lessons, name, other)
        patched.start()
        self.addCleanup(patched.stop)

    def report(self):
        (self.folder / "build" / "examples" / "lessons").mkdir(parents=True)
        (self.folder / "lessons").mkdir()
        of_class = lessons.Class(self.folder / "class", self.folder / "build", lessons.Desk(self.folder / "lessons"))
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(lessons.write_report(self.folder / "class.csv", of_class), 0)

    def test_refusals_of_a_report(self):
        (self.folder / "empty\nclass").mkdir()
        (self.folder / "file").write_text("")
        for words, told in {("class.csv",): "--report wants a file to write and the folder of a class",
                            ("class.csv", "nowhere"): "nowhere is no folder", ("class.csv", "file"): "file is no folder",
                            ("class.csv", "empty\nclass"): "there are no answers in empty?class"}.items():
            code, out, err = self.run_lesson("--report", *words)
            self.assertEqual((code, out), (2, ""), err)
            self.assertEqual(len(err.splitlines()), 1, err)
            self.assertIn(told, err)
        self.assertFalse((self.folder / "lessons").exists())
        self.assertFalse((self.folder / "class.csv").exists())

    def test_run_itself_refuses_before_it_installs_or_builds(self):
        done = subprocess.run([str(root / "run"), "lesson", "99"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no lesson '99'", done.stderr)
        done = subprocess.run([str(root / "run"), "lesson"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("The LSTM cell", done.stdout)

    def test_run_refuses_the_build_folder_of_another_place(self):
        program = self.folder / "run"
        shutil.copy(root / "run", program)
        (self.folder / "build/meson-info").mkdir(parents=True)
        (self.folder / "build/build.ninja").touch()
        facts = self.folder / "build/meson-info/meson-info.json"
        for source, refused in (("/elsewhere/unroll", True), (str(self.folder), False)):
            facts.write_text(json.dumps({"directories": {"source": source}}))
            done = subprocess.run([program, "--no-install", "ptb", "--help"], capture_output=True, text=True)
            self.assertEqual("was made for /elsewhere/unroll" in done.stderr, refused, done.stderr)
            self.assertEqual(f"rm -rf {self.folder}/build" in done.stderr, refused, done.stderr)
            self.assertNotEqual(done.returncode, 0)  # where it is not refused, there is nothing to build


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
