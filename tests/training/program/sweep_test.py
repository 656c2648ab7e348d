#!/usr/bin/env python3
"""Sweeps: each trial is the training that `train` makes; the table is that of the logs; killed and resumed it is the
same; one that crashes is a row; refusals."""
import csv
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import struct
import tempfile
import time
import unittest

import mpi_runs
from mpi_runs import Run, bits

programs = {name: os.environ[f"UNROLL_PROGRAM_{name.upper()}"] for name in ("ptb", "timeseries")}

TEXT = """[model]
embedding = 6
hidden = 8
layers = 1
[data]
corpus = "grammar"
train_tokens = 3_000
valid_tokens = 60
test_tokens = 60
batch = 10
bptt = 10
[training]
epochs = 3
save_every_steps = 10
[optimizer]
kind = "adam"
learning_rate = 0.01
"""
WORDS = ["--set", "model.hidden=6,8", "--seeds", "1..2", "--threads", "1"]
FOLDERS = ["trial-1", "trial-2", "trial-3", "trial-4"]


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def without_times(table):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in table]


def children_of(pid):
    found = []
    for other in filter(str.isdigit, os.listdir("/proc")):
        try:
            if f"\nPPid:\t{pid}\n" in pathlib.Path("/proc", other, "status").read_text():
                found.append(int(other))
        except OSError:
            pass
    return found


def fields(data):
    """Of a message of protocol buffers: (number, value), bytes if it has a length or a fixed width."""
    def varint():
        nonlocal data
        number = shift = 0
        while True:
            byte, data = data[0], data[1:]
            number, shift = number | (byte & 127) << shift, shift + 7
            if byte < 128:
                return number
    while data:
        key = varint()
        if key % 8 == 0:
            yield key // 8, varint()
            continue
        size = {1: 8, 5: 4}.get(key % 8) or varint()
        yield key // 8, data[:size]
        data = data[size:]


def seen_by_tensorboard(run):
    """The figures of a run's files of events by series and step, as a reader has them that forgets at a restart."""
    figures = {}
    for path in sorted(run.glob("events.out.tfevents.*")):
        data = path.read_bytes()
        while data:
            size, = struct.unpack("<Q", data[:8])
            event = dict(fields(data[12:12 + size]))
            data = data[16 + size:]
            if 7 in event:
                figures = {(name, step): v for (name, step), v in figures.items() if step < event[2]}
            for number, scalar in fields(event.get(5, b"")):
                of_it = dict(fields(scalar))
                figures[of_it[1].decode(), event[2]] = struct.unpack("<f", of_it[2])[0]
    return figures


def in_its_log(run):
    """The same, as docs/run-folder.md tells what is of which record."""
    figures = {}
    for record in map(json.loads, (run / "log.jsonl").read_text().splitlines()):
        of_it = {f"train/{k}": record[k] for k in ("loss", "perplexity", "learning_rate", "gradient_norm") if k in record}
        of_it["speed/words_per_second"] = record["time"]["words_per_second"]
        if record["kind"] == "epoch":
            of_it = {"epoch/train_perplexity": record["perplexity"], "epoch/valid_perplexity": record["valid_perplexity"]}
        figures.update({(name, record["step"]): struct.unpack("<f", struct.pack("<f", v))[0] for name, v in of_it.items()})
    return figures


class Sweep(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "mine.toml").write_text(TEXT)

    def start(self, *words, program="ptb", processes=0):
        return mpi_runs.start(processes, programs[program], words, self.folder)

    def run_program(self, *words, code=0, **options):
        run = Run(self.start(*words, **options))
        self.assertEqual(run.code, code, run)
        return run

    def sweep(self, out, *words, **options):
        return self.run_program("sweep", "mine.toml", "--out", out, *(words or WORDS), **options)

    def wait_for(self, condition, process):
        while not condition():
            self.assertIsNone(process.poll(), "it was through too early")
            time.sleep(0.005)

    def refused(self, told, *words):
        run = self.run_program(*words, code=2)
        self.assertEqual(run.out, "", run)
        self.assertEqual(len(run.err.splitlines()), 1, run)
        self.assertIn(told, run.err)

    def outcome(self, out):
        out = self.folder / out
        table = json.loads((out / "table.json").read_text())
        for entry in table["configurations"] + table["trials"]:
            del entry["seconds"]
        del table["folder"]
        for trial in FOLDERS:
            self.assertEqual(seen_by_tensorboard(out / trial / "run"), in_its_log(out / trial / "run"))
        return table, without_times(rows(out / "table.csv")), without_times(rows(out / "trials.csv")), [
            (bits(out / trial / "run"), json.loads((out / trial / "run/start.json").read_text())) for trial in FOLDERS]

    def whole(self):
        self.sweep("whole")
        return self.outcome("whole")

    # --- what it trains, and what it says ----------------------------------------------------------------------

    def test_each_trial_is_a_training_and_the_table_is_that_of_the_logs(self):
        run = self.sweep("out")
        out = self.folder / "out"
        trials = rows(out / "trials.csv")
        self.assertEqual([(t["folder"], t["model.hidden"], t["seed"], t["state"]) for t in trials],
                         [("trial-1", "6", "1", "done"), ("trial-2", "6", "2", "done"), ("trial-3", "8", "1", "done"),
                          ("trial-4", "8", "2", "done")])
        self.run_program("train", "mine.toml", "--set", "model.hidden=8", "--seed", "1", "--out", "alone", "--threads", "1")
        self.assertEqual(bits(out / "trial-3" / "run"), bits(self.folder / "alone"))
        best = {}
        for trial in trials:
            log = [json.loads(line) for line in (out / trial["folder"] / "run" / "log.jsonl").read_text().splitlines()]
            scores = [record["valid_perplexity"] for record in log if record["kind"] == "epoch"]
            self.assertEqual(len(scores), 3)
            self.assertEqual(float(trial["best"]), min(scores))
            self.assertEqual(int(trial["epoch"]), 1 + scores.index(min(scores)))
            self.assertGreater(float(trial["seconds"]), 0)
            best.setdefault(trial["model.hidden"], []).append(min(scores))
        table = rows(out / "table.csv")
        self.assertEqual([row["model.hidden"] for row in table], ["6", "8"])
        for row in table:
            scores = best[row["model.hidden"]]
            self.assertEqual((row["trials"], row["done"], row["failed"]), ("2", "2", "0"))
            self.assertAlmostEqual(float(row["mean"]), statistics.mean(scores), delta=1e-12 * scores[0])
            self.assertAlmostEqual(float(row["spread"]), statistics.stdev(scores), delta=1e-12 * scores[0])
            self.assertEqual(float(row["lowest"]), min(scores))
            self.assertRegex(run.out, rf"(?m)^ *{row['model.hidden']} +2 of 2 +{float(row['mean']):.4g}"[:-1])
        found = json.loads((out / "table.json").read_text())
        self.assertEqual([c["mean"] for c in found["configurations"]], [float(row["mean"]) for row in table])
        self.assertEqual([c["values"] for c in found["configurations"]], [{"model.hidden": 6}, {"model.hidden": 8}])
        lowest = min(table, key=lambda row: float(row["mean"]))["model.hidden"]
        self.assertRegex(run.out, rf"(?m)^lowest  model.hidden = {lowest}: perplexity ")

        # A trial whose result is lost is looked at again, by today's threads, and its output goes on.
        (out / "trial-2/result.json").unlink()
        said = (out / "trial-2/output.txt").read_text()
        self.run_program("sweep", "out", "--threads", "2")
        self.assertTrue((out / "trial-2/output.txt").read_text().startswith(said + "recipe "))
        self.assertEqual([json.loads((out / trial / "run/start.json").read_text())["threads"] for trial in FOLDERS], [1, 2, 1, 1])
        self.assertEqual(json.loads((out / "table.json").read_text()), found)

        # Done, it trains nothing.
        before = {path: path.stat().st_mtime_ns for path in out.glob("trial-*/**/*")}
        again = self.run_program("sweep", "out", "--json")
        self.assertEqual({path: path.stat().st_mtime_ns for path in out.glob("trial-*/**/*")}, before)
        self.assertEqual(json.loads(again.out)["trials"], found["trials"])
        self.assertEqual(len(again.out.splitlines()), 1)

    def test_every_field_that_it_prints_and_writes_is_of_the_logs(self):
        words = ["--set", "optimizer.learning_rate=0.01,1", "--set", "model.peepholes=true", "--set", "training.epochs=2",
                 "--seeds", "7,3", "--threads", "1", "--device", "cpu"]
        run, out = self.sweep("out", *words), self.folder / "out"
        lines = [re.split(" {2,}", line) for line in run.out.splitlines()]
        self.assertEqual(lines[0], ["sweep", "mine: optimizer.learning_rate = 0.01, 1; model.peepholes = true; "
                                    "training.epochs = 2; seeds 7, 3"])
        self.assertEqual(lines[1], ["", "4 trials"])
        self.assertRegex(run.out, r"(?m)^folder  (\S*/)?out$")
        table, csv_of_trials = json.loads((out / "table.json").read_text()), rows(out / "trials.csv")
        self.assertEqual((table["folder"], table["recipe"], table["score"]), (str(out.resolve()), "mine", "perplexity"))
        for number, trial in enumerate(table["trials"]):
            run_folder = out / trial["folder"] / "run"
            self.assertEqual(json.loads((run_folder / "start.json").read_text())["threads"], 1)
            log = [json.loads(line) for line in (run_folder / "log.jsonl").read_text().splitlines()]
            epochs = [record for record in log if record["kind"] == "epoch"]
            best = min(epochs, key=lambda record: record["valid_perplexity"])
            rate, seed = (0.01, 1)[number // 2], (7, 3)[number % 2]
            self.assertEqual(trial, {
                "folder": f"trial-{number + 1}", "seed": seed, "state": "done", "best": best["valid_perplexity"],
                "values": {"optimizer.learning_rate": rate, "model.peepholes": True, "training.epochs": 2}, "epoch": best["epoch"],
                "epochs": 2, "steps": epochs[-1]["step"], "seconds": epochs[-1]["time"]["seconds"]})
            self.assertEqual(csv_of_trials[number], {
                "folder": trial["folder"], "optimizer.learning_rate": f"{rate:g}", "model.peepholes": "true",
                "training.epochs": "2", "seed": str(seed), "state": "done", "why": "",
                **{k: str(trial[k]) for k in ("best", "epoch", "epochs", "steps", "seconds")}})
            self.assertRegex(run.out, rf"(?m)^trial-{number + 1} +optimizer.learning_rate = {rate:g}, seed {seed}: perplexity "
                                      rf"{trial['best']:.2f} after epoch {best['epoch']} of 2, \d+:\d\d$")
        self.assertIn(["optimizer.learning_rate", "trials", "mean", "spread", "lowest", "time"], lines)
        for c, rate, of_csv in zip(table["configurations"], (0.01, 1), rows(out / "table.csv")):
            of_it = [trial for trial in table["trials"] if trial["values"]["optimizer.learning_rate"] == rate]
            best = [trial["best"] for trial in of_it]
            self.assertEqual((c["values"], c["trials"], c["done"], c["failed"]), (of_it[0]["values"], 2, 2, 0))
            for name, wanted in (("mean", statistics.mean(best)), ("spread", statistics.stdev(best)), ("lowest", min(best)),
                                 ("seconds", statistics.mean(trial["seconds"] for trial in of_it))):
                self.assertAlmostEqual(c[name], wanted, delta=1e-12 * wanted)
                self.assertEqual(float(of_csv[name]), c[name])
            printed = next(line for line in lines if line[0] == "" and line[1:3] == [f"{rate:g}", "2 of 2"])
            for text, wanted in zip(printed[3:6], (c["mean"], c["spread"], c["lowest"])):
                self.assertAlmostEqual(float(text), wanted, delta=0.006 + 0.001 * wanted)  # of so many digits

        # Told again: with fewer words, and by another version.
        quiet = self.run_program("sweep", "out", "--quiet").out
        self.assertEqual(quiet, run.out[run.out.index("\noptimizer.learning_rate ") + 1:])
        plan = json.loads((out / "sweep.json").read_text())
        (out / "sweep.json").write_text(json.dumps({**plan, "version": "0.0.1"}))
        self.assertIn("\nnote    begun with version 0.0.1 of the program; this is " + plan["version"],
                      self.run_program("sweep", "out").out)
        # The device stays that of the beginning.
        more = ["sweep", "mine.toml", "--out", "out", *words[:6], "--seeds", "7,3"]
        self.refused("its device was cpu, and is cuda now", *more, "--device", "cuda")
        self.run_program(*more)
        self.assertEqual(json.loads((out / "sweep.json").read_text())["device"], "cpu")
        Run(self.start("sweep", "mine.toml", "--out", "gpu", "--set", "training.epochs=1", "--seeds", "1,2", "--device", "cuda"))
        for trial in json.loads((self.folder / "gpu/table.json").read_text())["trials"]:  # by a GPU, or because of one
            start = self.folder / "gpu" / trial["folder"] / "run/start.json"
            self.assertIn("cuda", trial.get("why") or json.loads(start.read_text())["device"])

    def test_a_sweep_that_goes_on_from_another_folder_reads_the_files_where_it_began(self):
        (self.folder / "series.csv").write_text("t,y\n" + "".join(f"{i},{i % 5}\n" for i in range(60)))
        (self.folder / "series.toml").write_text(
            '[data]\nfile = "series.csv"\ntime = "t"\nwindow = 4\nhorizon = 2\n[model]\nhidden = 3\n[training]\nepochs = 1\n')
        self.run_program("sweep", "series.toml", "--out", "out", "--seeds", "1,2", program="timeseries")
        (self.folder / "elsewhere").mkdir()
        run = mpi_runs.run(0, programs["timeseries"], ["sweep", "../series.toml", "--out", "../out", "--seeds", "1..3"],
                           self.folder / "elsewhere")
        self.assertEqual(run.code, 0, run)
        self.assertEqual([t["state"] for t in rows(self.folder / "out/trials.csv")], ["done"] * 3)

    def test_more_values_and_more_seeds(self):
        self.sweep("out", "--set", "model.hidden=6", "--seeds", "1,2")
        first = bits(self.folder / "out" / "trial-1" / "run")
        began = (self.folder / "out" / "trial-1" / "run" / "last.safetensors").stat().st_mtime_ns
        self.sweep("out", "--set", "model.hidden=8,6", "--seeds", "1..3")
        trials = rows(self.folder / "out" / "trials.csv")
        self.assertEqual([(t["folder"], t["model.hidden"], t["seed"]) for t in trials],
                         [("trial-3", "8", "1"), ("trial-4", "8", "2"), ("trial-5", "8", "3"), ("trial-1", "6", "1"),
                          ("trial-2", "6", "2"), ("trial-6", "6", "3")])
        self.assertEqual((self.folder / "out" / "trial-1" / "run" / "last.safetensors").stat().st_mtime_ns, began)
        self.assertEqual(bits(self.folder / "out" / "trial-1" / "run"), first)

    def test_words_lists_and_the_default_folder(self):
        run = self.run_program("sweep", "mine.toml", "--set", 'model.cell="lstm", gru', "--set", "training.epochs=1")
        self.assertIn("runs/mine-sweep-1", run.out)
        table = json.loads((self.folder / "runs/mine-sweep-1/table.json").read_text())
        self.assertEqual([c["values"]["model.cell"] for c in table["configurations"]], ["lstm", "gru"])
        self.assertEqual([c["spread"] for c in table["configurations"]], [None, None])
        self.assertNotIn("seed", table["trials"][0])
        self.assertRegex(run.out, r"(?m)^model\.cell +trials +perplexity +time$")

    def test_the_last_of_two_keys_changes_first(self):
        self.sweep("out", "--set", "model.hidden=6,8", "--set", "training.epochs=1,2")
        trials = rows(self.folder / "out" / "trials.csv")
        self.assertEqual([(t["folder"], t["model.hidden"], t["training.epochs"]) for t in trials],
                         [("trial-1", "6", "1"), ("trial-2", "6", "2"), ("trial-3", "8", "1"), ("trial-4", "8", "2")])

    def test_a_series(self):
        run = self.run_program("sweep", "airline", "--set", "model.hidden=4,5", "--set", "training.epochs=2", "--seeds", "1,2",
                               "--out", "out", program="timeseries")
        table = rows(self.folder / "out" / "table.csv")
        self.assertEqual([(row["model.hidden"], row["training.epochs"], row["done"]) for row in table],
                         [("4", "2", "2"), ("5", "2", "2")])
        self.assertIn(": loss ", run.out)
        self.run_program("sweep", "out", code=2)  # which is of the other program

    # --- what goes wrong ---------------------------------------------------------------------------------------

    def test_a_trial_that_fails_is_a_row(self):
        words = ["--set", "optimizer.kind=sgd", "--set", "optimizer.learning_rate=1e30,0.1", "--seeds", "1,2", "--set",
                 "training.clip=0"]
        said = [""] * 4
        for again in (False, True):
            run = self.run_program("sweep", *(["out"] if again else ["mine.toml", "--out", "out", *words]), code=1)
            self.assertEqual(run.err.count("\n"), 1, run)
            self.assertIn("2 of 4 trials failed", run.err)
            self.assertRegex(run.out, r"(?m)^trial-1 +optimizer.learning_rate = 1e30, seed 1: ")  # sgd is in all
            trials = rows(self.folder / "out" / "trials.csv")
            self.assertEqual([t["state"] for t in trials], ["failed", "failed", "done", "done"])
            self.assertIn("diverged", trials[0]["why"])
            self.assertEqual(trials[0]["best"], "")
            self.assertEqual([(row["done"], row["failed"]) for row in rows(self.folder / "out" / "table.csv")],
                             [("0", "2"), ("2", "0")])
            self.assertRegex(run.out, r"(?m)^ *1e30 +0 of 2, 2 failed")
            in_table = json.loads((self.folder / "out" / "table.json").read_text())["trials"]
            self.assertEqual([t["state"] for t in in_table], ["failed", "failed", "done", "done"])
            of_values = json.loads((self.folder / "out" / "table.json").read_text())["configurations"]
            self.assertEqual([(c["trials"], c["done"], c["failed"], c["mean"] is None) for c in of_values],
                             [(2, 0, 2, True), (2, 2, 0, False)])
            self.assertEqual([t.get("why") for t in in_table], [trials[0]["why"], trials[1]["why"], None, None])
            # The output of a failed trial goes on; the others are done.
            before, said = said, [(self.folder / "out" / trial / "output.txt").read_text() for trial in FOLDERS]
            for text, earlier, failed in zip(said, before, (True, True, False, False)):
                self.assertTrue(text.startswith(earlier) and (text != earlier) == (failed or not again), text)

    def test_data_that_cannot_be_made_are_refused_before_the_first_trial(self):
        (self.folder / "series.csv").write_text("t,y\n" + "".join(f"{i},{i % 5}\n" for i in range(60)))
        (self.folder / "series.toml").write_text(
            '[data]\nfile = "series.csv"\ntime = "t"\nwindow = 4\nhorizon = 2\n[model]\nhidden = 3\n[training]\nepochs = 1\n')
        before = sorted(self.folder.iterdir())
        for told, key in (("nowhere", "data.targets=['y'],['nowhere']"), ("nowhere.csv", "data.file=series.csv,nowhere.csv")):
            run = self.run_program("sweep", "series.toml", "--set", key, "--out", "out", program="timeseries", code=2)
            self.assertEqual((run.out, len(run.err.splitlines())), ("", 1), run)
            self.assertIn(told, run.err)
            self.assertEqual(sorted(self.folder.iterdir()), before)
        os.mkfifo(self.folder / "pipe")
        run = self.run_program("sweep", "series.toml", "--csv", "pipe", "--seeds", "1,2", program="timeseries", code=2)
        self.assertIn("timeseries: pipe: each trial reads the data anew", run.err)
        # Of a text, and in a sweep that goes on from another folder: nothing is lost.
        text = self.folder / "text"
        text.mkdir()
        for split in ("train", "valid", "test"):
            (text / f"{split}.txt").write_text("a b c a b\n" * 40)
        words = ["--data", "text", "--set", "data.corpus=text", "--set", "training.epochs=1", "--seeds"]
        self.sweep("out", *words, "1,2")
        (text / "valid.txt").unlink()
        self.refused("valid.txt", "sweep", "mine.toml", "--out", "out", *words, "1..3")
        self.assertEqual([t["state"] for t in rows(self.folder / "out/trials.csv")], ["done", "done"])
        self.run_program("sweep", "out")  # all are done: data are not needed

    def test_a_trial_that_is_killed_is_a_row_and_goes_on_the_next_time(self):
        (self.folder / "mine.toml").write_text(TEXT.replace("3_000", "20_000"))
        whole = self.whole()
        process = self.start("sweep", "mine.toml", "--out", "out", *WORDS)
        self.wait_for(lambda: (self.folder / "out/trial-2/run/last.safetensors").exists(), process)
        for child in children_of(process.pid):
            os.kill(child, signal.SIGKILL)
        run = Run(process)
        self.assertEqual(run.code, 1, run)
        table = self.folder / "out/trials.csv"
        self.assertEqual([t["why"] for t in rows(table)], ["", "ended by signal 9", "", ""])
        # While it goes on, its tables keep the results of later trials.
        before = table.stat().st_mtime_ns
        process = self.start("sweep", "out")
        self.wait_for(lambda: table.stat().st_mtime_ns != before, process)
        process.kill()
        Run(process)
        self.assertEqual([t["state"] for t in rows(table)], ["done", "unfinished", "done", "done"])
        self.run_program("sweep", "out")
        self.assertEqual(self.outcome("out"), whole)

    def test_killed_and_resumed_to_the_same_table(self):
        (self.folder / "mine.toml").write_text(TEXT.replace("3_000", "20_000"))
        whole, resumed = self.whole(), 0
        # Where the sweep is when it is killed: a trial trains, or has just been made.
        for number, place in enumerate(("trial-1/run/last.safetensors", "trial-2/mine.toml", "trial-3/run/log.jsonl",
                                        "trial-3/result.json")):
            for how in (signal.SIGKILL, signal.SIGTERM):
                out = f"out-{number}-{how}"
                process = self.start("sweep", "mine.toml", "--out", out, *WORDS)
                self.wait_for(lambda: (self.folder / out / place).exists(), process)
                process.send_signal(how)
                run = Run(process)
                self.assertEqual(run.code, -9 if how == signal.SIGKILL else 143, run)
                if how == signal.SIGTERM:
                    self.assertRegex(run.out, rf"(?m)^next    .+ sweep \S+/{out}$")
                    self.assertEqual(run.err, "ptb: ended by signal 15\n")
                kept = {path: path.stat().st_mtime_ns for path in (self.folder / out).glob("*/result.json")}
                begun = {path: path.read_text() for path in (self.folder / out).glob("*/output.txt") if how == signal.SIGTERM and
                         (path.parent / "run/last.safetensors").exists() and "\nspeed " not in path.read_text()}
                self.run_program("sweep", out, "--threads", "1")
                self.assertEqual(self.outcome(out), whole, (place, how))
                for path, written in kept.items():
                    self.assertEqual(path.stat().st_mtime_ns, written)
                for path, before in begun.items():
                    self.assertTrue(path.read_text().startswith(before))  # which had the epochs so far
                    self.assertIn("\nresumed after step", path.read_text()[len(before):])
                resumed += len(begun)
        self.assertGreater(resumed, 0)

    def test_the_file_that_a_sweep_was_given_is_read_when_it_goes_on(self):
        for name, shift in (("series", 0), ("other", 3)):
            (self.folder / f"{name}.csv").write_text("t,y\n" + "".join(f"{i},{(i + shift) * i % 7}\n" for i in range(60)))
        (self.folder / "series.toml").write_text(
            '[data]\nfile = "series.csv"\ntime = "t"\nwindow = 4\nhorizon = 2\n[model]\nhidden = 3\n[training]\nepochs = 1\n')
        words = ["--seeds", "1,2", "--threads", "1"]
        self.run_program("sweep", "series.toml", "--csv", "other.csv", "--out", "out", *words, program="timeseries")
        trial = self.folder / "out" / "trial-2"
        before = bits(trial / "run")
        shutil.rmtree(trial)
        for file in (self.folder / "out").glob("t*.*"):
            file.unlink()
        self.run_program("sweep", "out", program="timeseries")
        self.assertEqual(bits(trial / "run"), before)
        self.run_program("sweep", "series.toml", "--out", "own", *words, program="timeseries")
        self.assertNotEqual(bits(self.folder / "own" / "trial-2" / "run"), before)

    def test_one_process_at_a_time(self):
        whole = self.whole()
        first = self.start("sweep", "mine.toml", "--out", "out", *WORDS)
        self.wait_for(lambda: (self.folder / "out/trial-1/mine.toml").exists(), first)
        plan = (self.folder / "out/sweep.json").read_bytes()
        self.refused("another process", "sweep", "out")
        self.refused("another process", "sweep", "mine.toml", "--out", "out", *WORDS[:2], "--seeds", "1..3", "--threads", "1")
        self.assertEqual((self.folder / "out/sweep.json").read_bytes(), plan)
        self.assertEqual(Run(first).code, 0)
        self.assertEqual(self.outcome("out"), whole)

    def test_refusals(self):
        for told, *words in (
                ("did you mean 'model.hidden'?", "--set", "model.hiden=6,8"),
                ("there is no value behind the '='", "--set", "model.hidden="),
                ("a value between two commas, or at an end, is missing", "--set", "model.hidden=6,,8"),
                ("a value between two commas, or at an end, is missing", "--set", "model.hidden=6,8,"),
                ("KEY=VALUE,VALUE", "--set", "model.hidden"),
                ("6 stands there twice", "--set", "model.hidden=6,8,6"),
                ("all values of a key stand in one list", "--set", "model.hidden=6,8", "--set", "model.hidden=9"),
                ("'model.hidden'", "--set", "model.hidden=6,many"),
                ("seeds are given by --seeds", "--set", "training.seed=1,2"),
                ("'x' is no whole number", "--seeds", "1,x"), ("'' is no whole number", "--seeds", "1,"),
                ("'-3' is no whole number", "--seeds=-3..2"), ("5 is above 1", "--seeds", "5..1"),
                ("2 stands there twice", "--seeds", "1..3,2"), ("more than 10000", "--seeds", "1..99999999"),
                ("that is one trial", "--seeds", "3"), ("that is one trial", "--set", "model.hidden=6"),
                ("no such file or folder", "--seeds", "1,2", "--data", "nowhere"),
                ("--threads 0", "--seeds", "1,2", "--threads", "0")):
            self.refused(told, "sweep", "mine.toml", *words)
        self.refused("no sweep has begun in it", "sweep", ".")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["mine.toml"])  # nothing was made

        short = ["--set", "training.epochs=1", "--seeds"]
        self.sweep("out", *short, "1,2")
        before = {path: path.stat().st_mtime_ns for path in (self.folder / "out").glob("**/*")}
        again = ["sweep", "mine.toml", "--out", "out", *short]
        self.refused("trial-2 (seed 2) is not asked for any more", *again, "1,3")
        self.refused("it varies training.epochs, and training.epochs, model.hidden", *again, "1,2", "--set", "model.hidden=8,9")
        self.refused("its data were not given", *again, "1,2", "--data", ".")
        self.refused("leave out --seeds", "sweep", "out", "--seeds", "1,2")
        (self.folder / "mine.toml").write_text(TEXT.replace("layers = 1", "layers = 2"))
        self.refused("'model.layers' was 1 in trial-1, and is 2 now", *again, "1..3")
        self.assertEqual({path: path.stat().st_mtime_ns for path in (self.folder / "out").glob("**/*")}, before)
        self.refused("there is something in this folder", "sweep", "mine.toml", "--out", "out/trial-1", *short, "1,2")
        (self.folder / "out/sweep.json").write_text("{}")
        self.refused("sweep.json: damaged", "sweep", "out")


if __name__ == "__main__":
    unittest.main(verbosity=2)
