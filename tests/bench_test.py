"""What the comparison of speeds says and does, with figures that are planted: nothing is measured here."""

import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

BENCH = pathlib.Path(__file__).resolve().parent.parent / "bench"
sys.path.insert(0, str(BENCH))
import ladder  # noqa: E402
import processes  # noqa: E402
import programs  # noqa: E402
import pytorch_best  # noqa: E402
import run_bench  # noqa: E402
import tables  # noqa: E402

# Plays bench_lm: facts when asked for them, else a line of figures by what it was asked to run, which it also notes down.
PROGRAM = """
import json, sys
words = sys.argv[1:]
if "--facts" in words:
    print(json.dumps(FACTS))
else:
    asked = {k[2:]: v for k, v in zip(words, words[1:]) if k.startswith("--")}
    with open(NOTES, "a") as notes:
        notes.write(" ".join(words) + "\\n")
    if asked["engine"] == "fused" and asked["precision"] == "tf32":
        sys.exit("bench_lm: out of memory")
    rate = {"cudnn": 30000.0, "fused": 20000.0, "composed": 5000.0}[asked["engine"]] * {"fp32": 1, "tf32": 2}[asked["precision"]]
    line = {"engine": asked["engine"], "precision": asked["precision"], "words_per_second": rate, "ms_per_step": 4e5 / rate,
            "share_of_peak": 0.125, "peak_gflops": 50000.0, "flops_per_word": 1e9}
    if asked["device"] == "cuda":
        line |= {"algorithm": "persistent", "tensors_mib": 100.0, "device_mib": 700.0}
    elif asked["task"] == "step":
        line |= {"share_of_memory": 0.5, "memory_gb_per_second": 20.0, "bytes_per_word": 5e5}
    if "--profile" in words:
        line |= {"share_of_products": 0.75, "operations": [{"operation": "layers", "share": 0.9, "products": 0.8, "gflops": 1234.0},
                 {"operation": "step", "share": 0.095, "products": 0.0, "gflops": 0.0}, {"operation": "dust", "share": 0.005, "products": 0.0, "gflops": 0.0}]}
    print(json.dumps(line))
"""
# Plays an interpreter with PyTorch: one run, or one for each line of standard input.
PYTHON = """
import json, shlex, sys
def line(words):
    asked = dict(zip(words, words[1:]))
    peak = {"peak_gflops": 40000.0, "share_of_peak": 0.1} if "--peak" in words else {}
    rate = {"fp32": 10000.0, "tf32": 25000.0}[asked["--precision"]] * (2 if "--cudnn-benchmark" in words else 1)
    return json.dumps({"engine": "pytorch", "version": "9.9", "precision": asked["--precision"], "words_per_second": rate,
                       "words_per_second_max": rate, "ms_per_step": 4e5 / rate, "device_mib": 900.0, **peak})
if sys.argv[-1] == "--serve":
    for text in sys.stdin:
        print(line(shlex.split(text)), flush=True)
else:
    print(line(sys.argv[2:]))
"""
CPU = {"device": "cpu", "computes": [{"engine": e, "precision": "fp32"} for e in ("fused", "composed")]}
GPU = {"device": "cuda", "gpu": "A GPU", "capability": 90, "driver": 13000, "cuda": 13000, "cudnn": 91900,
       "computes": [{"engine": e, "precision": p} for p in ("fp32", "tf32") for e in ("cudnn", "fused")]}


class Everything(unittest.TestCase):
    """What is measured where the command line names no program of ours."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def executable(self, name: str, text: str) -> pathlib.Path:
        path = self.folder / name
        path.write_text(f"#!{sys.executable}\n{text}")
        path.chmod(0o755)
        return path

    def run_bench(self, facts: dict, *words: str) -> subprocess.CompletedProcess:
        program = self.executable("bench_lm", f"FACTS = {facts!r}\nNOTES = {str(self.folder / 'notes')!r}\n{PROGRAM}")
        return subprocess.run([sys.executable, str(BENCH / "run_bench.py"), "--program", str(program),
                               "--out", str(self.folder / "out"), "--pause", "0", *words], capture_output=True, text=True)

    def runs(self) -> list[dict[str, str]]:
        """What the program was asked for, in this order."""
        lines = [line.split() for line in (self.folder / "notes").read_text().splitlines()]
        return [{k[2:]: v for k, v in zip(words, words[1:]) if k.startswith("--")} for words in lines]

    def peer(self) -> str:
        return f"9.9={self.executable('python', PYTHON)}"

    def check_page(self, page: str) -> None:
        """Each table's lines have as many cells as its head, and no folder of this machine is published."""
        width = 0
        for line, before in zip(page.splitlines(), ["", *page.splitlines()]):
            if line.startswith("|"):
                width = width if before.startswith("|") else line.count("|")
                self.assertEqual(line.count("|"), width, line)
        self.assertNotIn(str(self.folder), page)

    def test_without_a_gpu_it_says_so_in_one_line_and_measures_nothing(self) -> None:
        done = self.run_bench({"device": "cuda", "why_not": "there is no NVIDIA driver"}, "--gpu", "--torch", self.peer())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "./run bench --gpu: NOTHING WAS MEASURED: there is no NVIDIA driver\n")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["bench_lm", "python"])

    def test_on_a_gpu_every_engine_and_precision_that_there_is_takes_turns_with_every_peer(self) -> None:
        done = self.run_bench(GPU, "--gpu", "--rounds", "2", "--torch", self.peer(), "--no-compile")
        self.assertEqual(done.returncode, 0, done.stderr)
        runs = [(r["model"], r["engine"], r["precision"]) for r in self.runs()]
        for model in ("small", "medium", "large"):
            for engine in ("cudnn", "fused"):
                for precision in ("fp32", "tf32"):
                    once = (engine, precision) == ("fused", "tf32")  # it fails, and is not asked again
                    self.assertEqual(runs.count((model, engine, precision)), 2 if once else 4)  # each also as a graph
        turns = [line.split("  ")[1] for line in done.stderr.splitlines() if line.startswith("round 2")]
        self.assertEqual([t.strip() for t in turns[:5]],  # a place further on than the first round, without what failed
                         ["unroll cudnn fp32, a graph", "unroll fused fp32", "unroll fused fp32, a graph", "unroll cudnn tf32", "unroll cudnn tf32, a graph"])

        [result] = (self.folder / "out").glob("speed-gpu-*.json")
        parts = json.loads(result.read_text())["parts"]
        self.assertEqual([(p["model"], p["task"]) for p in parts], [(m, "train") for m in ("small", "medium", "large")])
        rows = {r["name"]: r for r in parts[2]["rows"]}
        self.assertEqual(rows["9.9 fp32"]["median"], 20000.0)  # with what the screening found
        self.assertEqual(rows["9.9 fp32"]["share_of_peak"], 0.1)  # its own measure
        self.assertIn("--cudnn-benchmark", rows["9.9 fp32"]["command"])
        self.assertIn("--device cuda", rows["9.9 fp32"]["command"])
        self.assertEqual(rows["unroll cudnn fp32"]["times_pytorch"], [1.5] * 2)
        self.assertEqual(rows["unroll cudnn tf32"]["times_pytorch"], [60000 / 50000] * 2)
        self.assertIn(" --graph", rows["unroll cudnn fp32, a graph"]["command"])
        self.assertNotIn("--graph", rows["unroll cudnn fp32"]["command"])
        self.assertEqual(rows["unroll fused tf32"]["error"], "bench_lm: out of memory")
        page = result.with_suffix(".md").read_text()
        self.assertIn("# Training and inference on A GPU\n", page)
        self.assertIn("| unroll cudnn fp32 | 30000 | 30000 | 30000 | 13.33 | 1.50 | 12% |", page)
        self.assertIn("| cudnn, persistent |", page)
        self.assertIn("| unroll fused tf32 | | | |", page)
        self.check_page(page)

    def test_on_a_cpu_training_and_inference_of_all_models_are_one_page(self) -> None:
        done = self.run_bench(CPU, "--rounds", "3", "--torch", self.peer(), "--no-compile")
        self.assertEqual(done.returncode, 0, done.stderr)
        runs = [(r["model"], r["task"], r["engine"]) for r in self.runs()]
        for model in ("small", "medium", "large"):
            self.assertEqual(runs.count((model, "train", "fused")), 3)
            self.assertEqual(runs.count((model, "train", "composed")), 3)
            self.assertEqual(runs.count((model, "step", "fused")), 3)
            self.assertEqual(runs.count((model, "step", "composed")), 0)  # no engine computes that
        [result] = (self.folder / "out").glob("speed-cpu-*.json")
        parts = {(p["model"], p["task"]): {r["name"]: r for r in p["rows"]} for p in json.loads(result.read_text())["parts"]}
        train, step = parts["large", "train"], parts["large", "step"]
        self.assertEqual(list(train), ["unroll fused fp32", "unroll composed fp32", "9.9 fp32"])
        self.assertEqual(train["unroll composed fp32"]["times_pytorch"], [0.5] * 3)
        self.assertEqual(train["9.9 fp32"]["share_of_peak"], 10000 * 1e9 / 1e9 / 50000)  # of what ours measured
        self.assertEqual(step["9.9 fp32"]["share_of_memory"], 10000 * 5e5 / 1e9 / 20)
        self.assertNotIn("--peak", step["9.9 fp32"]["command"])
        page = result.with_suffix(".md").read_text()
        self.assertIn("# Training and inference on a CPU, 2 thread(s)\n", page)
        self.assertIn("| layers | 90% | 80% | 1,234 |", page)
        self.assertIn("| step | 10% | | |", page)
        self.assertNotIn("dust", page)
        self.check_page(page)

    def test_what_is_named_is_all_that_is_measured(self) -> None:
        done = self.run_bench(CPU, "--rounds", "1", "--model", "medium", "--task", "step")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([(r["model"], r["task"]) for r in self.runs()], [("medium", "step")])
        self.assertEqual(len(list((self.folder / "out").glob("speed-cpu-medium-step-*.md"))), 1)
        refused = self.run_bench(CPU, "--precision", "bf16")
        self.assertEqual((refused.returncode, refused.stderr), (1, "./run bench: no engine computes in bf16 here\n"))

    @unittest.skipUnless("UNROLL_BENCH_OVER_STANDIN" in os.environ, "no bench_lm over the stand-in in this build")
    def test_the_program_says_what_a_gpu_has(self) -> None:
        ask = lambda device: json.loads(subprocess.run([os.environ["UNROLL_BENCH_OVER_STANDIN"], "--device", device, "--facts"],
                                                       capture_output=True, text=True, check=True).stdout)
        facts = ask("cuda")
        self.assertEqual((facts["gpu"], facts["capability"]), ("stand-in for an H100", 90))
        self.assertGreater(facts["cudnn"], 90000)
        for engine in ("cudnn", "fused"):
            self.assertIn({"engine": engine, "precision": "fp32"}, facts["computes"])
        self.assertNotIn("cudnn", [c["engine"] for c in ask("cpu")["computes"]])

    def test_without_a_peer_it_says_that_nothing_is_compared(self) -> None:
        done = self.run_bench(GPU, "--gpu", "--rounds", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nothing is compared with PyTorch", done.stderr)

    def test_arguments_that_do_not_go_together_are_refused(self) -> None:
        for words, why in ((["--gpu", "--busy", "0"], "beside nothing"), (["--gpu", "--task", "step"], "training"),
                           (["--gpu", "--ours", "a"], "what --program can do"), (["--screen-only"], "--configs FILE")):
            said = io.StringIO()
            with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as refusal:
                run_bench.parse(words)
            self.assertEqual(refusal.exception.code, 2)
            self.assertIn(why, said.getvalue())


# Plays bench_parts, mlpack's program, and an interpreter with PyTorch or ONNX Runtime: milliseconds by what is asked for.
PART = """
import json, sys
words = sys.argv[1:]
asked = dict(zip(words, words[1:]))
ms = {"eager": 30.0, "compile": 20.0, "script": 50.0}.get(asked.get("--how"), 10.0)
if "onnxruntime_step.py" in words[0]:
    print(json.dumps({"version": "7.7", "ms": [31.0, 31.0], "call_ms": [6.0, 6.0]}))
elif "pytorch_parts.py" in words[0]:
    print(json.dumps({"version": "9.9", "ms": [ms, ms, 99.0]}))
elif sys.argv[0].endswith("mlpack"):
    print(json.dumps({"version": "5.5", "ms": [40.0, 40.0]}))
elif "optimizer" in words:
    print(json.dumps({"megabytes": 8.0, "ms": [10.0, 20.0, 40.0], "copy_ms": [9.0, 18.0, 36.0]}))
else:
    print(json.dumps({"ms": [10.0, 10.0, 99.0]}))
"""


class Parts(unittest.TestCase):
    def run_parts(self, *words: str) -> tuple[subprocess.CompletedProcess[str], list[dict[str, object]]]:
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program"
            program.write_text(f"#!{sys.executable}\n{PART}")
            program.chmod(0o755)
            mlpack = pathlib.Path(folder) / "mlpack"
            mlpack.symlink_to(program)
            done = subprocess.run([sys.executable, str(BENCH / "run_parts.py"), *words, "--ours", str(program), "--rounds", "2", "--tiny",
                                   "--out", folder, "--name", "parts", f"--torch={program}", f"--onnxruntime={program}",
                                   f"--mlpack={mlpack}"], capture_output=True, text=True)
            result = pathlib.Path(folder) / "parts.json"
            return done, json.loads(result.read_text())["rows"] if result.exists() else []

    def test_ratios_are_of_rounds_beside_the_fastest(self) -> None:
        done, rows = self.run_parts("block", "own_cell", "step", "optimizer", "lstm_every", "--precision", "fp32")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {(row["part"], row["what"].split(",")[-1].strip()): row["ratios"] for row in rows}
        self.assertEqual(found["block", "beside compile"], [2.0, 2.0])
        self.assertEqual(found["own_cell", "beside script"], [5.0, 5.0])
        self.assertEqual(found["step", "the call from Python left out"], [2.5, 2.5])
        self.assertEqual(found["step", "as called from Python"], [3.1, 3.1])
        self.assertEqual([row["theirs"] for row in rows if row["part"] == "step"], [[25.0, 25.0], [31.0, 31.0]])
        self.assertEqual([row["ratios"] for row in rows if row["part"] == "optimizer"], [[0.9, 0.9]] * 5)
        self.assertEqual(found["lstm_every", "beside mlpack"], [4.0, 4.0])
        self.assertIn("Beside PyTorch 9.9, ONNX Runtime 7.7, mlpack 5.5.", done.stdout)
        self.assertIn("| block | 16 wide, fp32, beside compile | 10 | 20 | 2.00 | 2.00–2.00 | 1.00 |", done.stdout)

    def test_a_part_without_its_peer_is_refused(self) -> None:
        for part, option in (("block", "--torch"), ("step", "--onnxruntime")):
            done = subprocess.run([sys.executable, str(BENCH / "run_parts.py"), part], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{part}: {option} PYTHON names an interpreter", done.stderr)


class Ratios(unittest.TestCase):
    def test_a_ratio_is_of_rounds_whatever_the_machine_does_between_them(self) -> None:
        ours, it = {"all": [10.0, 20.0, 42.0, 44.0]}, {"all": [5.0, 10.0, 20.0, 20.0]}
        self.assertEqual(tables.median_and_quartiles(tables.ratios(ours, it)), "2.05 (2.00–2.12)")
        self.assertEqual(tables.median_and_quartiles([1.5]), "1.50")


class Peers(unittest.TestCase):
    def words(self, *words: str) -> list[str]:
        args = run_bench.parse(["--model", "small", "--task", "train", "--precision", "fp32", *words])
        runner = pytorch_best.Runner("python3", args)
        self.addCleanup(runner.folder.cleanup)
        return runner.words()

    def test_a_peer_is_told_its_device_only_where_that_is_no_cpu(self) -> None:
        self.assertNotIn("--device", self.words())
        self.assertEqual(self.words("--gpu")[-2:], ["--device", "cuda"])

    def test_a_library_that_is_not_there_is_an_error_and_no_slower_peer(self) -> None:
        runner = pytorch_best.Runner("python3", run_bench.parse(["--model", "small", "--task", "train", "--precision", "fp32"]))
        self.addCleanup(runner.folder.cleanup)
        missing = pytorch_best.Config(preload=("/nowhere/libfaster.so",))
        self.assertIn("libfaster.so", runner.run(missing, 1)["error"])
        self.assertIn("libfaster.so", pytorch_best.Trials(runner).run(missing, 1)["error"])

    def test_a_gpu_is_screened_for_what_matters_there(self) -> None:
        tried = [c.text() for group in pytorch_best.knobs("train", [], True, False, "cuda") for c in group]
        self.assertIn("--graph", tried)
        self.assertIn("--cudnn-benchmark", tried)
        self.assertIn("--compile default", tried)
        self.assertFalse([t for t in tried if "onednn" in t or "=" in t])
        on_cpu = [c.text() for group in pytorch_best.knobs("train", [], False, False) for c in group]
        self.assertNotIn("--cudnn-benchmark", on_cpu)
        self.assertFalse([t for t in on_cpu if "compile" in t])


class SeriesM4(unittest.TestCase):
    def test_measures_and_naive_2_are_those_that_are_recorded(self):
        done = subprocess.run([sys.executable, str(BENCH / "series_m4.py"), "check"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "the formulas give the recorded values\n"))


class Programs(unittest.TestCase):
    """What is said where a program is not built."""

    def test_a_remedy_for_what_this_project_builds(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name).resolve()
            (folder / "own/bench").mkdir(parents=True)
            (folder / "own/build.ninja").touch()
            for missing, said in ((folder / "own/bench/bench_lm", f"{folder}/own/bench/bench_lm: ninja -C {folder}/own bench/bench_lm"),
                                  (folder / "other/ptb", f"{folder}/other/ptb"), ("no-such-program", "no-such-program")):
                with self.assertRaises(SystemExit) as ended:
                    programs.built(missing)
                self.assertRegex(str(ended.exception), f"^\\S+: there is no {re.escape(said)}$")
            (folder / "own/bench/bench_lm").touch()
            for there in (folder / "own/bench/bench_lm", "sh"):
                self.assertEqual(programs.built(there), there)
            with self.assertRaises(SystemExit) as ended, unittest.mock.patch.object(programs, "ROOT", folder):
                programs.built(folder / "build/bench/bench_lm")
            self.assertTrue(str(ended.exception).endswith(f": cd {folder} && meson setup build && ninja -C build bench/bench_lm"))

    def test_every_script_says_it_in_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            none, build = f"{folder}/build/none", f"{folder}/build"
            pathlib.Path(build).mkdir()
            pathlib.Path(build, "build.ninja").touch()
            for script, *words in (("cost_of_keys.py", "ptb-small", "a=1", "--data", ".", "--ptb", none), ("processes.py", "shards", "--program", none),
                                   ("real_time.py", build), ("run_bench.py", "--program", none), ("run_bench.py", "--ours", none),
                                   ("run_options.py", "--ours", none), ("run_parts.py", "optimizer", "--ours", none),
                                   ("same_bits.py", build, build, "--data", ".", "demo"), ("series_forecast.py", ".", "--timeseries", none),
                                   ("series_held_out.py", "--timeseries", none), ("series_large.py", "read", "--timeseries", none),
                                   ("series_m4.py", "score", "monthly", ".", "--timeseries", none),
                                   ("gradbench/compare.py", none, "--checkout", ".", "--eval", "lstm")):
                done = subprocess.run([sys.executable, BENCH / script, *words], capture_output=True, text=True, cwd=folder)
                said = [line for line in done.stderr.splitlines() if not line.startswith("#")]
                self.assertEqual((done.returncode, len(said)), (1, 1), done.stderr)
                self.assertRegex(said[0], rf"^{script.rpartition('/')[2]}: there is no \S+: ninja -C {re.escape(build)} \S+$")


class Processes(unittest.TestCase):
    """The table by formula."""

    def test_a_models_numbers_are_those_that_explain_counts(self):
        for name, parameters in (("ptb-small", 4_651_600), ("ptb-medium", 19_775_200), ("ptb-large", 66_022_000), ("awd-lstm", 24_210_800)):
            self.assertEqual(processes.Model(name).parameters(), parameters)

    def test_the_table(self):
        model = processes.Model("ptb-large")
        self.assertEqual(processes.bytes_sent(100, 4), 4 * 2 * 3 / 4 * 100)
        # Without an exchange, a process for each stream; by the exchange alone, the ratio of the two times.
        self.assertAlmostEqual(processes.times_as_fast(model, 1480, 1e9, 20), 20, places=3)
        self.assertAlmostEqual(processes.times_as_fast(model, 1480, 1e9, 64), 20, places=3)
        slow = processes.times_as_fast(model, 1480, 1e-6, 2)
        self.assertAlmostEqual(slow, (700 / 1480) / (4 * model.parameters() * 8 / 1e3), delta=1e-4 * slow)


class Ladder(unittest.TestCase):
    def test_of_a_folder_a_log_and_a_csv_file(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name) / "run"
            folder.mkdir()
            records = [{"kind": "interval", "words": 5}] + [
                {"kind": "epoch", "words": 500000 * k, "valid_perplexity": valid, "time": {"seconds": 90 * k}}
                for k, valid in ((1, 130.0), (2, 99.0), (3, 101.0))]
            (folder / "log.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n")
            (folder / "report.json").write_text(json.dumps({
                "facts": [{"name": "model", "value": "2 layers: 1,234 parameters"}, {"name": "", "value": "fp32, seed 7"}],
                "results": [{"name": "test perplexity", "value": "95.10"}]}))
            found = ladder.rows([ladder.read(f"mine={folder}")]).splitlines()
            self.assertEqual(found[2], "| mine | 1,234 | 1.5 M | 7 | 99.00 | 95.10 |")
            self.assertEqual(found[6], "| mine | 1.0 (3.0) | 1.0 (3.0) | – | – | – |")
            # The score that belongs to the tested weights, if the last are kept; null is a score that was not finite.
            (folder / "recipe.toml").write_text('[training]\nkeep = "last"\n')
            self.assertIn("| 101.00 | 95.10 |", ladder.rows([ladder.read(f"mine={folder}")]))
            with (folder / "log.jsonl").open("a") as log:
                log.write(json.dumps(records[1] | {"valid_perplexity": None}) + "\n")
            self.assertIn("| inf | 95.10 |", ladder.rows([ladder.read(f"mine={folder}")]))
            # The best weights scored on another text: what was scored before does not compare.
            (folder / "recipe.toml").write_text('[training]\nkeep = "best"\n')
            with (folder / "log.jsonl").open("a") as log:
                log.write(json.dumps({"kind": "anew", "epoch": 2, "words": 1000000, "valid_perplexity": 110.5, "time": {"seconds": 270}}) + "\n")
            found = ladder.rows([ladder.read(f"mine={folder}")]).splitlines()
            self.assertEqual(found[2], "| mine | 1,234 | 1.5 M | 7 | 110.50 | 95.10 |")
            self.assertEqual(found[6], "| mine | 1.0 (3.0) | – | – | – | – |")
            (folder / "recipe.toml").write_text('[data]\nlimit = 1000\n')
            with self.assertRaisesRegex(SystemExit, "data.limit = 1000; the ladder counts scores of the whole text"):
                ladder.read(f"mine={folder}")
            (folder / "recipe.toml").unlink()
            far = pathlib.Path(name) / "far.csv"
            far.write_text("tokens,minutes,valid\n1000,0,900\n")
            with self.assertRaisesRegex(SystemExit, "from 55 to 250"):
                ladder.main(["picture", f"{name}/far.svg", str(far)])
            other = pathlib.Path(name) / "other.csv"
            other.write_text("tokens,minutes,valid\n1000000,12.4,79.5\n")
            self.assertIn("| other | 1.0 (12) | 1.0 (12) | 1.0 (12) | – | – |", ladder.rows([ladder.read(str(other))]))
            other.write_text("epoch,valid\n1,2\n")
            with self.assertRaisesRegex(SystemExit, "must name tokens, minutes and valid"):
                ladder.read(str(other))
            with self.assertRaisesRegex(SystemExit, "no such file"):
                ladder.read(f"{name}/none.log")
            out = pathlib.Path(name) / "out.svg"
            ladder.main(["picture", str(out), str(folder)])
            self.assertIn("<polyline", out.read_text())
            with self.assertRaisesRegex(SystemExit, "nothing is overwritten"):
                ladder.main(["picture", str(out), str(folder)])

    def test_the_page_has_the_rows_of_the_logs(self) -> None:
        page = (BENCH.parent / "docs" / "ladder.md").read_text()
        for log in re.findall(r"results/([\w-]+)\.log\)", page):
            row = ladder.rows([ladder.read(str(BENCH / "results" / f"{log}.log"))]).splitlines()[-1]
            self.assertIn(row.split("|", 2)[2].strip(), page, log)

if __name__ == "__main__":
    unittest.main()
