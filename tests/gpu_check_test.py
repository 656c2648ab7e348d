"""What the check of a GPU says and does, with small programs in place of ours: nothing is measured here."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECK = ROOT / "bench" / "gpu_check"
sys.path.insert(0, str(CHECK))
import results  # noqa: E402

FACTS = '{"device":"cuda","gpu":"A GPU","capability":90,"driver":13000,"cuda":13000,"cudnn":91900,"computes":[]}'
STANDIN = FACTS.replace("A GPU", "stand-in for an H100")
NO_DRIVER = '{"device":"cuda","why_not":"there is no NVIDIA driver"}'
# Plays bench_lm: facts, or a line of figures; fused in tf32 fails.
BENCH = """#!/bin/bash
words=$*
case " $* " in *" --engine "*) engine=${words#*--engine }; echo "bench_lm ${engine%%%% *} $UNROLL_PLAIN" >> "$NOTES" ;; esac
case " $* " in
  *" --facts "*) echo '%s' ;;
  *" --engine fused "*tf32*|*tf32*" --engine fused "*) echo "bench_lm: out of memory" >&2; exit 3 ;;
  *) graph=false; case " $* " in *" --graph "*) graph=true ;; esac
     echo '{"engine":"cudnn","model":"small","precision":"fp32","words_per_second":1000.5,"ms_per_step":4.25,"graph":'$graph'}' ;;
esac
"""
# Plays ptb. Training waits for SIGTERM, saves, and ends as one that was interrupted; resumed, it comes to its end.
PTB = """#!/bin/bash
out=; for word; do [ "$before" = --out ] && out=$word; before=$word; done
echo "ptb $*" >> "$NOTES"
case $1 in
  resume) echo "test    perplexity 78.25, 82,430 of 82,430 tokens scored"; exit 0 ;;
  explain) exit 0 ;;
esac
case " $* " in *" --dry-run "*) exit 0 ;; esac
mkdir -p "$out"
case $out in
  */agree/*)
    loss=5.5; case $out in */fused) loss=5.500001 ;; */cudnn-again) loss=5.5000000001 ;; */cudnn-graph) loss=6.5 ;; esac
    echo '{"kind":"interval","step":1,"loss":'$loss',"gradient_norm":0.5,"time":{"seconds":1}}' > "$out/log.jsonl"
    echo '{"kind":"epoch","loss":9}' >> "$out/log.jsonl" ;;
  *) trap 'echo saved > "$out/last.safetensors"; echo "epoch 3  perplexity 99.5"; exit 143' TERM
     echo "log" > "$out/log.jsonl"
     while true; do sleep 0.05; done ;;
esac
"""
# A peer that is out of memory once, and ends before its last run.
PYTHON = """#!/bin/bash
case $* in *--serve) ;; *) exit 0 ;; esac
echo once >> "$LOADED"
while read -r line; do
  case $line in
    *medium*tf32*--graph) echo '{"error": "out of memory"}' ;;
    *large*bf16*--graph) exit 1 ;;
    *) echo '{"engine": "pytorch", "model": "small", "precision": "fp32", "words_per_second": 500, "ms_per_step": 8.5}' ;;
  esac
done
"""
PROGRAMS = {
    "cudnn_claims": "#!/bin/bash\necho \"$1: SUCCESS\"\n",
    "timeseries": "#!/bin/bash\nexit 0\n",
    "bench_options": "#!/bin/bash\nwhile [ $1 != --only ]; do shift; done; echo \"$UNROLL_PLAIN $2\" >> \"$NOTES\"\n",
    "gpu_good_test": "#!/bin/bash\necho '[doctest] assertions: 12 | 12 passed | 0 failed |'\n",
    "gpu_bad_test": "#!/bin/bash\necho '[doctest] assertions: 12 | 11 passed | 1 failed |'; exit 1\n",
    "gpu_hanging_test": "#!/bin/bash\nsleep 60\n",
    "gpu_kernels_test": "#!/bin/bash\necho \"assertions: blocking $CUDA_LAUNCH_BLOCKING\"\n",
    "gpu_ops_test": "#!/bin/bash\necho \"assertions: blocking ${CUDA_LAUNCH_BLOCKING-no}\"\n",
    "gpu_none_test": "#!/bin/bash\nexit 77\n",
}


class Planted(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.check_folder, self.out = self.folder / "gpu-check", self.folder / "out"
        (self.check_folder / "bin").mkdir(parents=True)
        shutil.copy(CHECK / "check.sh", self.check_folder)
        (self.check_folder / "commit").write_text("abc\n")
        self.programs(FACTS)

    def programs(self, facts: str) -> None:
        for name, text in (PROGRAMS | {"bench_lm": BENCH % facts, "ptb": PTB}).items():
            path = self.check_folder / "bin" / name
            path.write_text(text)
            path.chmod(0o755)

    def check(self, *parts: str, limit: int = 20, **environment: str) -> subprocess.CompletedProcess:
        variables = dict(os.environ) | {"OUT": str(self.out), "LIMIT": str(limit), "NOTES": str(self.folder / "notes")} | environment
        return subprocess.run([str(self.check_folder / "check.sh"), *parts], capture_output=True, text=True, env=variables)

    def table(self) -> dict[str, tuple[str, str]]:
        """By step: its outcome and its note."""
        steps = results.read_steps([self.out])
        return {name: (s["outcome"], s.get("note", "")) for name, s in steps.items()}

    def path_without(self, *names: str) -> str:
        """A folder of all programs but these."""
        tools = self.folder / "tools"
        tools.mkdir()
        for directory in os.environ["PATH"].split(":"):
            for program in pathlib.Path(directory).glob("*"):
                if program.name not in names and not (tools / program.name).exists():
                    (tools / program.name).symlink_to(program)
        return str(tools)


class Check(Planted):
    def test_a_failure_and_a_program_that_hangs_stop_nothing_and_are_told_in_the_table_and_the_exit_code(self) -> None:
        start = time.monotonic()
        done = self.check("tests", limit=1)
        self.assertLess(time.monotonic() - start, 30)  # of the 60 that one would take
        self.assertEqual(done.returncode, 1, done.stderr)
        table = self.table()
        self.assertEqual(table["gpu_good"], ("ok", "[doctest] assertions: 12 / 12 passed / 0 failed /".replace("/", "|")))
        self.assertEqual(table["gpu_bad"][0], "FAILED(1)")
        self.assertIn("1 failed", table["gpu_bad"][1])
        self.assertEqual(table["gpu_hanging"][0], "TIMEOUT")
        self.assertEqual(table["gpu_none"][0], "skipped")
        self.assertEqual(table["gpu_kernels"][1], "assertions: blocking 1")  # these alone are waited for
        self.assertEqual(table["gpu_ops"][1], "assertions: blocking no")
        last = done.stdout.split("\n\n")[-1]
        self.assertRegex(last, r"(?m)^FAILED\(1\) +\d+\.\d s  gpu_bad ")
        self.assertIn("2 steps failed", last)
        self.assertEqual((self.out / "table.txt").read_text(), last.rpartition("2 steps failed")[0])

    def test_without_a_driver_each_step_of_a_gpu_is_skipped_and_nothing_failed(self) -> None:
        self.programs(NO_DRIVER)
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stdout)
        table = self.table()
        for name in ("gpu_good", "dry-run-cudnn", "memcheck-step", "losses-fused", "speed-large-bf16-cudnn", "speed-small-fp32-torch-graph", "train-ptb-large"):
            self.assertEqual(table[name], ("skipped", "skipped: no driver"), name)
        for name in ("facts", "dry-run-cpu", "losses-cpu"):
            self.assertEqual(table[name][0], "ok", name)
        self.assertIn("0 steps failed", done.stdout)

    def test_what_is_in_the_way_of_a_gpu_is_said_as_the_program_says_it(self) -> None:
        self.programs('{"device":"cuda","why_not":"libcublas.so.13: cannot open shared object file"}')
        self.check("train:ptb-small")
        self.assertEqual(self.table()["train-ptb-small"], ("skipped", "skipped: libcublas.so.13: cannot open shared object file"))

    def test_pytorch_is_loaded_once_and_one_failure_of_it_is_one_line(self) -> None:
        peer = self.folder / "peer"
        peer.mkdir()
        (peer / "python3").write_text(PYTHON)
        (peer / "python3").chmod(0o755)
        self.check("speed", PATH=f"{peer}:{os.environ['PATH']}", LOADED=str(self.folder / "loaded"))
        table = self.table()
        self.assertEqual(table["speed-small-fp32-torch"], ("ok", "500 words/s, 8.500 ms a step"))
        self.assertEqual(table["speed-medium-tf32-torch-graph"], ("FAILED(1)", '{"error": "out of memory"}'))
        self.assertEqual(table["speed-large-bf16-torch-graph"], ("FAILED(1)", "PyTorch ended before it"))
        self.assertEqual((self.folder / "loaded").read_text(), "once\n")
        rows = [json.loads(line) for line in (self.out / "speed.jsonl").read_text().splitlines()]
        self.assertEqual(sum(row["engine"] == "pytorch" for row in rows), 3 * 3 * 2 - 2)
        # A call of so few minutes that they would cut the peer: it failed by itself, and the next call doesn't try again.
        self.check("--minutes", "5", "speed", PATH=f"{peer}:{os.environ['PATH']}", LOADED=str(self.folder / "loaded"))
        self.assertEqual(self.table()["speed-large-bf16-torch-graph"][0], "FAILED(1)")

    def test_without_python_its_steps_are_skipped_and_ours_are_not(self) -> None:
        done = self.check("speed", PATH=self.path_without("python3"))
        self.assertEqual(done.returncode, 1, done.stderr)  # fused in tf32
        table = self.table()
        self.assertEqual(table["speed-small-fp32-torch"], ("skipped", "skipped: no python3"))
        self.assertEqual(table["speed-small-fp32-cudnn"], ("ok", "1000 words/s, 4.250 ms a step"))
        self.assertEqual(table["speed-small-tf32-fused-graph"], ("FAILED(3)", "bench_lm: out of memory"))
        rows = [json.loads(line) for line in (self.out / "speed.jsonl").read_text().splitlines()]
        self.assertEqual(len(rows), 3 * (4 + 2 + 4))  # each model: all but fused in tf32
        self.assertEqual(rows[0]["name"], "speed-small-fp32-cudnn")

    def test_each_change_is_timed_without_it_and_beside_pytorchs_best(self) -> None:
        text = (CHECK / "check.sh").read_text()
        words = {engine: re.search(rf'^changes_of_{engine}="(.*)"$', text, re.M)[1].split() for engine in ("fused", "cudnn")}
        asked = {word for path in ROOT.rglob("*") if path.suffix in (".h", ".cpp", ".cu") and "build" not in path.parts[len(ROOT.parts)]
                 for word in re.findall(r'is_plain\("([\w-]+)"\)', path.read_text())}
        of_layers = {layer: re.search(rf'^changes_of_{layer}="(.*)"$', text, re.M)[1].split() for layer in ("gru", "layer_norm")}
        lists = [*words.values(), *of_layers.values()]
        self.assertEqual({word for of in lists for plain in of for word in plain.split(",")}, asked)
        self.check("changes", PATH=self.path_without("nvidia-smi"))
        table = self.table()
        self.assertEqual(table["changes-clocks"], ("skipped", "skipped: no nvidia-smi"))
        self.assertEqual(table["changes-small-bf16-fused"], ("ok", "1000 words/s, 4.250 ms a step"))
        for engine, of_engine in words.items():
            self.assertEqual({name.rpartition("without-")[2] if "without-" in name else "" for name in table if name.startswith(f"changes-large-bf16-{engine}")},
                             {"", *of_engine, "any"})
            for word in [*of_engine, "any"]:
                self.assertEqual(table[f"changes-large-bf16-{engine}-without-{word}"][0], "ok", word)
        notes = (self.folder / "notes").read_text().splitlines()
        for engine, of_engine in words.items():
            for plain in ["", *of_engine, ",".join(of_engine)]:
                self.assertIn(f"bench_lm {engine} {plain}", notes)
        for layer, of_layer in of_layers.items():
            self.assertEqual(sum(name.startswith(f"changes-{layer}-tf32-fused") for name in table), 1 + len(of_layer))
            for plain in of_layer:
                self.assertEqual(table[f"changes-{layer}-tf32-fused-without-{plain}"][0], "ok", plain)
            for plain in ("", *of_layer):
                self.assertEqual(notes.count(f"{plain} {layer.replace('_', ' ')}"), 2, plain)  # bf16 and tf32

    def test_under_the_sanitizer_each_persistent_kernel_has_a_case(self) -> None:
        sanitizer = self.check_folder / "compute-sanitizer"
        sanitizer.write_text('#!/bin/bash\nwhile [ ${1#bin/} = "$1" ]; do shift; done; echo "$@" >> "$NOTES"\n')
        sanitizer.chmod(0o755)
        self.check("sanitize", PATH=f"{self.check_folder}:{os.environ['PATH']}")
        notes = (self.folder / "notes").read_text().splitlines()
        for suite in ("persistent", "gru_window", "layer_pair"):
            self.assertEqual(notes.count(f"bin/gpu_{suite}_test -tc=threads in five orders*"), 3, suite)
            self.assertIn('"threads in five orders', (ROOT / f"tests/layers/{suite}_test.cpp").read_text())
        self.assertEqual(self.table()["racecheck-layer_pair"][0], "ok")

    def test_the_page_says_how_much_longer_a_step_takes_without_a_change(self) -> None:
        row = lambda name, ms, words: {"name": f"changes-small-bf16-{name}", "ms_per_step": ms, "words_per_second": words}
        table = results.changes_table([row("fused", 2.0, 600.0), row("fused-without-few-rows", 3.0, 400.0), row("torch", None, 300.0)])
        self.assertEqual(table, ["| model | precision | engine | ms a step | without few-rows | / PyTorch's best |",
                                 "| --- | --- | --- | ---: | ---: | ---: |", "| small | bf16 | fused | 2.000 | 1.50 | 2.00 |"])
        layer = lambda name, ms: {"name": f"changes-gru-tf32-fused{name}", "cases": {"gru": {"option_ms": [9.0, ms, 1.0]}}}
        self.assertEqual(results.changes_table([layer("", 2.0), layer("-without-gru-window", 5.0)])[2], "| gru | tf32 | fused | 2.000 | 2.50 |  |")
        # The last of several counts beside the others, not beside all.
        both = layer("-without-norm-window,few-rows", 6.0)
        table = results.changes_table([layer("", 2.0), layer("-without-norm-window", 4.0), both])
        self.assertIn("without norm-window, then few-rows", table[0])
        self.assertEqual(table[2], "| gru | tf32 | fused | 2.000 | 2.00 | 1.50 |  |")
        self.assertEqual(results.changes_table([layer("", 2.0), both])[2], "| gru | tf32 | fused | 2.000 |  |  |")

    def test_training_goes_on_where_the_last_call_ended_and_ends_once(self) -> None:
        first = self.check("train:ptb-small", limit=1)
        self.assertEqual(first.returncode, 0, first.stdout)  # that a call's time is over is no failure
        self.assertEqual(self.table()["train-ptb-small"], ("unfinished", "epoch 3  perplexity 99.5; the next call goes on"))
        self.assertTrue((self.out / "runs/ptb-small/last.safetensors").exists())
        self.assertEqual(self.check("train:ptb-small").returncode, 0)
        self.assertEqual(self.table()["train-ptb-small"], ("ok", "test    perplexity 78.25, 82,430 of 82,430 tokens scored"))
        self.assertFalse((self.out / "runs/ptb-small/last.safetensors").exists())
        self.check("train:ptb-small")
        self.assertTrue(self.table()["train-ptb-small"][1].startswith("finished before: test    perplexity 78.25"))
        run = self.out / "runs/ptb-small"
        self.assertEqual((self.folder / "notes").read_text().splitlines(),
                         [f"ptb train ptb-small --data data --device cuda --set training.graph=true --out {run}", f"ptb resume {run} --data data"])
        said = (self.out / "train/ptb-small/output.log").read_text().splitlines()
        self.assertEqual([line for line in said if line != "Terminated"],  # which is bash's word
                         ["epoch 3  perplexity 99.5", "test    perplexity 78.25, 82,430 of 82,430 tokens scored"])

    def test_after_its_minutes_a_call_ends_and_the_next_one_goes_on(self) -> None:
        clock = self.folder / "clock"  # a date that jumps by ten minutes after each training's step
        clock.mkdir()
        (clock / "date").write_text('#!/bin/bash\necho $(( $(/bin/date "$1") + 600 * $(cat "$NOTES" 2>/dev/null | grep -c "agree/") ))\n')
        (clock / "date").chmod(0o755)
        call = lambda *parts: self.check("--minutes", "15", *parts, PATH=f"{clock}:{os.environ['PATH']}", JOBS="1")
        first = call("facts", "agree")
        self.assertEqual(first.returncode, 0, first.stdout)
        table = self.table()
        self.assertEqual(table["losses-cpu"][0], "ok")
        self.assertEqual(table["losses-cudnn"], ("unfinished", "the minutes were over; the next call goes on"))
        self.assertEqual(table["agree-cpu-cudnn"], ("skipped", "skipped: no losses of both"))
        for _ in range(2):
            (self.folder / "notes").write_text("")
            call("facts", "agree")
            asked = (self.folder / "notes").read_text()
            self.assertNotIn("demo", asked)  # the facts, which were asked for in the first call
        table = self.table()
        self.assertEqual([table[f"losses-{of}"][0] for of in ("cpu", "fused", "fused-graph", "cudnn", "cudnn-again", "cudnn-graph")], 6 * ["ok"])
        self.assertEqual(table["agree-cpu-cudnn"][0], "ok")
        self.assertEqual(table["agree-cudnn-cudnn-again"][0], "FAILED")  # planted
        (self.check_folder / "commit").write_text("def\n")
        call("facts")
        self.assertIn("demo", (self.folder / "notes").read_text())  # another commit's, which begin anew
        # A step that the end of the call cuts is not one that took too long.
        (clock / "date").write_text('#!/bin/bash\necho $(( $(/bin/date "$1") + $([ -e "$NOTES.later" ] && echo 894 || echo 0) )); touch "$NOTES.later"\n')
        call("tests")
        self.assertEqual(self.table()["gpu_hanging"][0], "unfinished")
        self.assertEqual(self.check("--minutes", "0").stderr, "check.sh: --minutes wants a whole number, at least 1, got '0'\n")

    def test_a_precision_has_a_run_of_its_own(self) -> None:
        self.check("train:awd-lstm:bf16", limit=1, RUNS=str(self.folder / "kept"))
        self.assertIn("--set training.precision=bf16", (self.folder / "notes").read_text())
        self.assertTrue((self.folder / "kept/awd-lstm-bf16/last.safetensors").exists())

    def test_losses_are_compared_by_distance_and_repeated_ones_bit_by_bit(self) -> None:
        done = self.check("agree")
        self.assertEqual(done.returncode, 1)
        table = self.table()
        self.assertEqual(table["agree-cpu-fused"], ("ok", "1 steps, losses at most 1.8e-07 apart, other bits"))
        self.assertEqual(table["agree-cpu-cudnn"], ("ok", "1 steps, losses at most 0.0e+00 apart, the same bits"))
        self.assertEqual(table["agree-cudnn-cudnn-again"][0], "FAILED")  # planted: the tenth digit
        self.assertEqual(table["agree-cudnn-cudnn-graph"][0], "FAILED")
        self.assertEqual(table["agree-fused-fused-graph"][0], "ok")
        self.assertEqual(table["claim-empty-rows"], ("ok", "empty-rows: SUCCESS"))

    def test_a_part_that_there_is_not_is_refused_before_anything_runs(self) -> None:
        done = self.check("tests", "everything")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no part 'everything'", done.stderr)
        self.assertFalse((self.out / "steps.tsv").exists())
        for words, message in ((["everything"], "no part 'everything'"), (["--dry-run", "everything"], "no part 'everything'"), (["--minutes"], "got ''"), (["--minutes", "x"], "got 'x'")):
            done = subprocess.run([ROOT / "run", "gpu-check", *words], capture_output=True, text=True, timeout=60)  # no build
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(message, done.stderr)


class Results(Planted):
    """Pages made of what a check left."""

    def make(self, *folders: pathlib.Path) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, str(CHECK / "results.py"), *map(str, folders or [self.out]), "--out", str(self.folder / "pages"), "--date", "2030-01-02"],
                              capture_output=True, text=True)

    def test_pages_have_what_the_steps_said(self) -> None:
        self.check("facts", "tests", "agree", "speed", "train:ptb-small", limit=1)
        self.check("train:ptb-small")
        # PyTorch's line, as its script prints it
        with (self.out / "speed.jsonl").open("a") as file:
            file.write('{"name": "speed-small-fp32-torch-graph", "engine": "pytorch", "version": "9.9", "model": "small", "precision": "fp32", '
                       '"words_per_second": 500.25, "ms_per_step": 8.0, "config": {"graph": true}}\n')
        done = self.make()
        self.assertEqual(done.returncode, 0, done.stderr)
        page = (self.folder / "pages/gpu.md").read_text()
        self.assertIn("# On a GPU: A GPU\n", page)
        self.assertIn("compute capability 9.0, driver for CUDA 13.0, built with CUDA 13.0, cuDNN 91900.", page)
        self.assertRegex(page, r"\| gpu_bad \| FAILED\(1\) \| [\d.]+ \| \[doctest\] assertions: 12 / 11 passed / 1 failed / \|")
        self.assertIn("| small | fp32 | cudnn | 1000 | 4.250 | 2.00 |", page)
        self.assertIn("| small | fp32 | PyTorch 9.9, a graph | 500 | 8.000 |  |", page)
        self.assertRegex(page, r"\| train-ptb-small \| ok \| [\d.]+ \| test    perplexity 78.25")
        self.assertNotIn(str(self.folder), page)
        width = 0
        for line, before in zip(page.splitlines(), ["", *page.splitlines()]):
            if line.startswith("|"):
                width = width if before.startswith("|") else line.count("|")
                self.assertEqual(line.count("|"), width, line)
        self.assertEqual((self.folder / "pages/ptb-small-gpu.log").read_text().count("perplexity"), 2)

    def test_of_several_calls_the_last_counts_unless_it_had_no_gpu(self) -> None:
        self.check("facts", "tests", limit=1)
        (self.check_folder / "bin/gpu_bad_test").write_text("#!/bin/bash\nexit 0\n")
        second, third = self.folder / "second", self.folder / "third"
        self.check("tests", limit=1, OUT=str(second))
        self.programs(NO_DRIVER)
        self.check("facts", "tests", OUT=str(third))
        self.assertEqual(self.make(self.out, second, third).returncode, 0)
        self.assertIn("| gpu_bad | ok |", (self.folder / "pages/gpu.md").read_text())

    def test_nothing_is_read_of_what_another_commit_left(self) -> None:
        runs = self.folder / "kept"
        (runs / "ptb-small").mkdir(parents=True)
        (runs / "ptb-small/finished").write_text("test    perplexity 1.5\n")
        (runs / "ptb-small.commit").write_text("old with changes\n")
        self.out.mkdir()
        for name, text in (("commit", "old with changes\n"), ("steps.tsv", "FAILED(1)\t1.0\tgpu_old\tx\n"),
                           ("speed.jsonl", '{"name": "speed-a", "engine": "cudnn", "model": "old", "precision": "fp32", "words_per_second": 1, "ms_per_step": 1}\n')):
            (self.out / name).write_text(text)
        done = self.check("--minutes", "5", "facts", "train:ptb-small", limit=1, RUNS=str(runs))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.table()["train-ptb-small"][0], "unfinished")  # trained anew
        self.assertEqual(self.make().returncode, 0)
        page = (self.folder / "pages/gpu.md").read_text()
        self.assertIn("Commit abc, 2030-01-02.", page)
        self.assertNotRegex(page, "gpu_old|## Speed")
        aside = self.folder / "out-old-with-changes"
        self.assertIn("gpu_old", (aside / "steps.tsv").read_text())
        self.assertTrue((runs / "ptb-small-old-with-changes/finished").exists())
        done = self.make(aside, self.out)
        self.assertEqual((done.returncode, done.stderr), (2, "./run gpu-check --results: a page is of one commit, and these are of several: "
                                                             f"{aside} of old with changes, {self.out} of abc\n"))
        (self.out / "commit").write_text("old with changes\n")
        self.check("train:ptb-none", limit=1)  # and again: nothing that was moved is written over
        self.assertEqual(len(list(self.folder.glob("out-old-with-changes*"))), 2)

    def test_of_a_dry_run_nothing_is_written_beside_a_gpus_figures_either(self) -> None:
        self.check("facts", "speed")
        dry = self.folder / "dry"
        self.programs(STANDIN)
        done = self.check("facts", "speed")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, f"check.sh: in {self.out} a dry run and a GPU's figures would meet; another folder: OUT=FOLDER\n")
        self.assertIn("\nover the stand-in for CUDA: nothing was measured\n", self.check("facts", "speed", OUT=str(dry)).stdout)
        self.programs(FACTS)
        self.assertEqual(self.check("facts", OUT=str(dry)).returncode, 2)
        done = self.make(self.out, dry)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, f"./run gpu-check --results: {dry} is a dry run's, over the stand-in for CUDA: nothing was measured\n")
        self.assertFalse((self.folder / "pages").exists())

    def test_where_nothing_ran_on_a_gpu_nothing_is_written(self) -> None:
        self.programs(NO_DRIVER)
        self.check("facts", "tests")
        done = self.make()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "./run gpu-check --results: nothing ran on a GPU, and nothing is written: there is no NVIDIA driver\n")
        self.assertFalse((self.folder / "pages").exists())
        self.assertEqual(self.make(self.folder).returncode, 2)


@unittest.skipUnless("UNROLL_BUILD" in os.environ, "UNROLL_BUILD names no folder with programs over the stand-in for CUDA")
class DryRun(unittest.TestCase):
    """As ./run gpu-check --dry-run, with one model's size and with the suites alone that the part sanitize asks for."""

    def test_each_part_comes_to_its_end_and_leaves_a_row_for_each_figure(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder, out = pathlib.Path(name) / "gpu-check", pathlib.Path(name) / "out"
            subprocess.run([str(CHECK / "pack.sh"), "--over-standin", os.environ["UNROLL_BUILD"], str(folder)], check=True)
            for program in (folder / "bin").glob("gpu_*"):
                if program.name not in {f"gpu_{suite}_test" for suite in ("kernels_layers", "kernels_rows", "persistent", "gru_window", "layer_pair")}:
                    program.unlink()
            done = subprocess.run([str(folder / "check.sh")], capture_output=True, text=True, env=dict(os.environ) | {"OUT": str(out), "MODELS": "small"})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            steps = results.read_steps([out])
            left_out = {name: s["note"] for name, s in steps.items() if s["outcome"] != "ok"}
            self.assertEqual({note for name, note in left_out.items() if name != "changes-clocks"}, {"skipped: a dry run"})  # PyTorch's
            self.assertEqual({name.split("-")[-1] for name in left_out} - {"torch", "graph", "clocks"}, set())
            lines = {part: [json.loads(line) for line in (out / f"{part}.jsonl").read_text().splitlines()] for part in ("speed", "changes", "options")}
            ran = lambda part: {name for name in steps if name.startswith(f"{part}-") and name not in left_out}
            for part in lines:
                self.assertEqual({row["name"] for row in lines[part]}, ran(part) - {"changes-clocks"}, part)
            self.assertEqual(len(results.speed_table(lines["speed"])), 2 + 3 * 2 * 2)
            changes = results.changes_table(lines["changes"])
            self.assertEqual(len(changes), 2 + 2 * 2 + 2 * 2)  # engines of the model, and two layers, in two precisions
            for row in changes[2:]:
                self.assertRegex(row, r"\| \d+\.\d\d\d \|.* \d+\.\d\d \|")
            options = results.options_table(lines["options"])
            self.assertEqual(options[0], "| option / against | tf32, 200 | bf16, 200 |")
            for row in options[2:]:
                self.assertRegex(row, r" \| \d+\.\d+ \(\d+\.\d+ ms\) \| \d+\.\d+ \(")
            self.assertEqual(sum(name.startswith("train-") for name in steps), 7)
            for name in steps:
                if name.startswith("train-"):
                    self.assertRegex(steps[name]["note"], "^test +perplexity")


if __name__ == "__main__":
    unittest.main()
