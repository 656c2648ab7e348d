#!/usr/bin/env python3
"""./run lesson as a learner meets it: the list, the copy, what is wrong and what is right, mistakes of C++, refusals. And
never is the learner's file overwritten.

  lesson_command_test.py BUILD     the folder of this build, in which the learner's program is compiled"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

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
        self.assertIn("./run lesson 2 --solution", out)
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
        # Nothing is taken for that which is not: a part of another name, a value of a structure.
        fine = self.lesson(4).filled("  const Var c = f * last.c + i * g;")
        path = self.folder / "lessons" / "fine.cpp"
        path.write_text(fine)
        lessons.refuse_use_before(path)

    def test_the_next_lesson_is_the_one_after_this(self):
        (self.folder / "lessons").mkdir()
        (self.folder / "lessons" / "done.txt").write_text("1 01-tape, 2026-01-02\n3 03-plain-rnn, 2026-01-03\n")
        desk = lessons.Desk(self.folder / "lessons")
        self.assertEqual([desk.following(k).number for k in (0, 1, 3, 12)], [2, 2, 4, 2])
        self.assertIn("then ./run lesson 2\n", self.run_lesson()[1])

    def test_refusals(self):
        for words, told in {("13",): "there is no lesson '13'; there are 1 to 12", ("four",): "there is no lesson 'four'",
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
