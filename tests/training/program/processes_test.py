#!/usr/bin/env python3
"""Trainings that several processes share: the same bits for any number of them, also when runs are killed and resumed; one
message for every error; refusals. Needs mpirun, and programs that were built with MPI; else it is skipped (77)."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from mpi_runs import Run, bits, bytes_sent, environment, has_mpi, new_folder, refused, root, sets
import mpi_runs

programs = {name: os.environ[f"UNROLL_PROGRAM_{name.upper()}"] for name in ("ptb", "timeseries", "shared_training")}
if not has_mpi():
    print("skipped: there is no mpirun here, or the programs were built without MPI")
    sys.exit(77)

sanitized = b"__asan_init" in pathlib.Path(programs["ptb"]).read_bytes()
if sanitized:  # what Open MPI keeps to its end is no leak of ours, and a library may be loaded before the sanitizer's own
    environment["ASAN_OPTIONS"] = ":".join(
        filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0", "verify_asan_link_order=0"]))

TEXT = """[model]
embedding = 9
hidden = 12
layers = 2
dropout = 0.2
[data]
corpus = "grammar"
train_tokens = 5_000
valid_tokens = 60
test_tokens = 60
batch = 10
bptt = 50
[training]
epochs = 2
clip = 0.5
reduction = "mean"
shards = 4
[optimizer]
kind = "adam"
learning_rate = 0.01
[schedule]
kind = "cosine"
warmup = 0.5
"""
AWD = """[model]
embedding = 8
hidden = 12
last_hidden = 8
layers = 3
locked_dropout = true
dropout = 0.3
embedding_dropout = 0.1
weight_drop = 0.5
tied = true
init_scheme = "pytorch"
[data]
corpus = "grammar"
train_tokens = 5_000
valid_tokens = 60
test_tokens = 60
batch = 6
bptt = 80
variable_bptt = true
eval_batch = 2
[training]
epochs = 3
clip = 0.25
reduction = "mean"
activation_regularization = 2.0
temporal_activation_regularization = 1.0
keep = "best"
shards = 4
[optimizer]
kind = "asgd"
learning_rate = 5.0
weight_decay = 1e-5
average_from = 2
"""
SERIES = """[model]
hidden = 8
dropout = 0.2
normalization = "window"
[data]
file = "airline"
window = 12
horizon = 2
batch = 10
split = "rows"
train_rows = 84
valid_rows = 24
[training]
epochs = 2
shards = 4
[optimizer]
kind = "adam"
learning_rate = 0.003
"""


def start(processes, program, words, folder, **options):
    return mpi_runs.start(processes, programs[program] if isinstance(program, str) else program, words, folder, **options)


def run(*arguments, **options):
    return Run(start(*arguments, **options))


def has_bf16():
    text = run(1, "ptb", ["explain", "demo", "--set", "training.precision=auto"], root).out
    return "Products: bf16" in text


# --- the same bits ---------------------------------------------------------------------------------------------

cases = {
    "text, 10 streams in 4 shards": ("ptb", TEXT, []),
    "text, 12 streams": ("ptb", TEXT, sets("data.batch=12")),
    "text, fewer streams than shards": ("ptb", TEXT, sets("data.batch=3")),
    "accumulation": ("ptb", TEXT, sets("training.accumulate=3", "optimizer.kind=sgd", "optimizer.learning_rate=1")),
    "variable windows, averages": ("ptb", AWD, []),
    "shuffled streams, what is told of the past, adversarial softmax": (
        "ptb", AWD, sets("data.partial_shuffle=true", "training.past_decode=0.1", "training.past_decode_share=0.3",
                         "training.adversarial_softmax=0.01")),
    "a series": ("timeseries", SERIES, []),
    "quantiles of a series": ("timeseries", SERIES, sets("training.loss=quantile")),
}


def test_the_same_bits():
    all_cases = dict(cases)
    if has_bf16():
        all_cases["bf16"] = ("ptb", TEXT, sets("training.precision=bf16"))
    for name, (program, recipe, words) in all_cases.items():
        folder = new_folder(recipe=recipe)
        found = {}
        for n in (1, 2, 4):
            result = run(n, program, ["train", "recipe.toml", "--out", f"run-{n}", *words], folder)
            assert result.code == 0, (name, n, result)
            # Rank 0 speaks alone.
            assert len(re.findall(r"^epoch 1/\d+  lr", result.out, re.M)) == 1, (name, n, result)
            assert result.out.count("\nnext ") == 1, (name, n, result)
            found[n] = bits(folder / f"run-{n}")
        assert len(set(found.values())) == 1, (name, found)
        assert sorted(p.name for p in folder.iterdir()) == ["recipe.toml", "run-1", "run-2", "run-4"], name


def test_beside_the_backward():
    """In buckets of one parameter each, exchanged as soon as it is complete, or after the backward: the same bits and bytes, of
    whole shards and of what two processes have in parts, with empty shards, and whatever each rank does."""
    cases = {"text": (TEXT, [], 4), "six": (TEXT.replace("shards = 4", "shards = 6"), [], 6),
             "empty": (TEXT, sets("data.batch=3"), 4), "options": (AWD, sets("model.tied=false"), 4)}
    for name, (recipe, words, shards) in cases.items():
        folder = new_folder(recipe=recipe)
        assert run(1, "ptb", ["train", "recipe.toml", "--out", "alone", *words], folder).code == 0
        sent = set()
        for overlap in ("on", "off", "mixed") if name == "text" else ("on",):
            setting = "[ $OMPI_COMM_WORLD_RANK != 0 ] || export UNROLL_OVERLAP=off; " if overlap == "mixed" else ""
            train = ["sh", "-c", f'{setting}exec {programs["ptb"]} train recipe.toml --out {overlap} "$@"', "sh", *words]
            result = run(2, train, [], folder,
                         env={"UNROLL_BUCKET_BYTES": "1", "UNROLL_OVERLAP": "off" if overlap == "off" else "on"})
            assert result.code == 0, (name, overlap, result)
            assert f" in a step, {'beside' if overlap == 'on' else 'after'} the backward: " in result.out, (overlap, result)
            assert bits(folder / overlap) == bits(folder / "alone"), (name, overlap)
            sent.add(bytes_sent(result))
        assert len(sent) == 1, (name, sent)


def test_a_shared_validation():
    """Ten streams in four shards: each validation score, and the one of `evaluate`, is that of one process."""
    folder = new_folder(recipe=TEXT)
    words = sets("data.eval_batch=10", "training.epochs=2")
    valid = re.compile(r'"valid_perplexity":[^,}]*')
    scores, evaluated = set(), set()
    for n in (1, 2, 4):
        result = run(n, "ptb", ["train", "recipe.toml", "--out", f"run-{n}", *words], folder)
        assert result.code == 0, result
        scores.add(tuple(valid.findall((folder / f"run-{n}" / "log.jsonl").read_text())))
        for processes in (n, 3):
            result = run(processes, "ptb", ["evaluate", f"run-{n}/last.safetensors", "--split", "valid", "--json"], folder)
            assert result.code == 0, result
            evaluated.add(re.search(r'"valid_perplexity":\s*([^,}]*)', result.out)[1])
    assert len(scores) == 1 and len(scores.pop()) == 2, scores
    assert len(evaluated) == 1, evaluated
    run(2, "ptb", ["train", "recipe.toml", "--out", "other", *words, *sets("training.seed=9")], folder)
    other = ["sh", "-c", f"[ $OMPI_COMM_WORLD_RANK = 0 ] || cd other; exec {programs['ptb']} evaluate best.safetensors"]
    shutil.copy(folder / "run-1" / "best.safetensors", folder / "best.safetensors")
    refused(run(2, other, [], folder), 2, "rank 1 has another model or text than rank 0")


def test_six_shards():
    """Parts of the tree that two or three processes do not have whole."""
    folder = new_folder(recipe=TEXT.replace("shards = 4", "shards = 6"))
    found = set()
    for n in (1, 2, 3):
        result = run(n, "ptb", ["train", "recipe.toml", "--out", f"run-{n}"], folder)
        assert result.code == 0, (n, result)
        found.add(bits(folder / f"run-{n}"))
    assert len(found) == 1


def test_the_example():
    words = {run(n, "shared_training", [], root).out.splitlines()[-1] for n in (1, 2, 4)}
    assert len(words) == 1 and words.pop().startswith("fingerprint of the weights: "), words


def test_bytes():
    """With P processes and a slab of n numbers, a process sends 2 (P-1)/P n numbers in a step."""
    folder = new_folder(recipe=TEXT)
    for n in (2, 4):
        result = run(n, "ptb", ["train", "recipe.toml", "--out", f"run-{n}", *sets("training.epochs=1", "training.log_every=1")],
                     folder)
        sent = bytes_sent(result)
        log = (folder / f"run-{n}" / "log.jsonl").read_text()
        steps = max(map(int, re.findall(r'"step":\s*(\d+)', log)))
        assert sent % steps == 0, (sent, steps)
        slab = sent / steps * n / (2 * (n - 1)) / 4
        parameters = int(re.search(r"([\d,]+) parameters", result.out)[1].replace(",", ""))
        tensors = 9  # each padded to 256 bytes, and each process's piece too
        assert parameters <= slab <= parameters + 64 * (tensors + n), (n, sent, steps, parameters)


# --- killed and resumed ----------------------------------------------------------------------------------------


def test_killed_and_resumed():
    """SIGKILL of a rank, SIGTERM of a rank and of mpirun; each time resumed with another number of processes."""
    words = sets("training.epochs=6", "training.save_every_steps=3", "data.bptt=10")
    folder = new_folder(recipe=TEXT)
    assert run(1, "ptb", ["train", "recipe.toml", "--out", "whole", *words], folder).code == 0
    for kill in ("kill rank 1", "terminate rank 1", "terminate mpirun", "kill mpirun"):
        out = kill.replace(" ", "-")
        process = start(4, "ptb", ["train", "recipe.toml", "--out", out, *words], folder, start_new_session=True)
        wait_for(folder / out / "last.safetensors", process)
        begin = time.monotonic()
        if kill.endswith("mpirun"):
            process.send_signal(signal.SIGTERM if kill.startswith("term") else signal.SIGKILL)
        else:
            os.kill(rank_of(process, 1), signal.SIGKILL if kill.startswith("kill") else signal.SIGTERM)
        result = Run(process)
        seconds = time.monotonic() - begin
        if result.code == 0:
            raise AssertionError((kill, "it was through before the signal", result))
        assert len(result.messages()) <= 1, (kill, result)
        if kill == "terminate rank 1":
            assert result.messages() == ["ptb: rank 1: ended by signal 15"], (kill, result)
        if kill == "kill rank 1":
            assert "rank 1" in result.err, (kill, result)
        print(f"{kill}: {seconds:.1f} s")
        wait_for_end(folder)
        for n in (2, 1):
            result = run(n, "ptb", ["resume", out], folder)
            assert result.code == 0, (kill, n, result)
        assert bits(folder / out) == bits(folder / "whole"), kill


def wait_for(path, process):
    while not path.exists():
        assert process.poll() is None, Run(process)
        time.sleep(0.01)


def wait_for_end(folder):
    """mpirun may be gone before its processes are."""
    for _ in range(1000):
        if not any(works_in(folder, pid) for pid in filter(str.isdigit, os.listdir("/proc"))):
            return
        time.sleep(0.02)
    raise AssertionError(f"processes in {folder} go on")


def works_in(folder, pid):
    try:
        return os.path.samefile(f"/proc/{pid}/cwd", folder)
    except OSError:
        return False


def rank_of(process, rank):
    """The process of that rank below this mpirun."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if f"\nPPid:\t{process.pid}\n" not in pathlib.Path("/proc", pid, "status").read_text():
                continue
            if f"OMPI_COMM_WORLD_RANK={rank}".encode() in pathlib.Path("/proc", pid, "environ").read_bytes().split(b"\0"):
                return int(pid)
        except OSError:
            pass
    raise AssertionError(f"no rank {rank}")


# --- refused ---------------------------------------------------------------------------------------------------


def of_rank(words):
    """A program whose words depend on its rank."""
    return ["sh", "-c", f"exec {programs['ptb']} {words}", "sh"]


def test_refusals():
    folder = new_folder(recipe=TEXT, alone=TEXT.replace("shards = 4\n", ""))
    train = ["train", "recipe.toml", "--out", "run"]
    refused(run(3, "ptb", train, folder), 2, "training.shards = 4", "3 processes", "1, 2 or 4 can")
    refused(run(2, "ptb", ["train", "alone.toml", "--out", "run"], folder), 2, "'shards = 2'", "[training]")
    refused(run(2, "ptb", ["train", "recipe.toml", "--set", "model.hiden=3"], folder), 2, "did you mean 'model.hidden'")
    refused(run(2, of_rank("train recipe.toml --out run --set training.seed=$((7 + OMPI_COMM_WORLD_RANK))"), [], folder), 2,
            "rank 1 has another recipe", "'training.seed' is 8 there, and 7 here")
    refused(run(2, of_rank("train recipe.toml --out run --set data.seed=$((7 + OMPI_COMM_WORLD_RANK))"), [], folder), 2,
            "rank 1 has another recipe", "'data.seed'")
    for rank in (0, 1):
        for split in ("train", "valid", "test"):
            path = folder / f"text-{rank}" / f"{split}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text("a b c d e\n" * 60 + ("a c b d e\n" if rank else "a b c d e\n"))
    refused(run(2, of_rank("train recipe.toml --out run --set data.corpus=text --data text-$OMPI_COMM_WORLD_RANK"), [], folder),
            2, "rank 1 has another text to train on")
    refused(run(2, of_rank("train recipe.toml --out run --set training.graph=true"), [], folder), 2, "training.graph")
    for variable, value in (("UNROLL_OVERLAP", "no"), ("UNROLL_BUCKET_BYTES", "1 MiB")):
        refused(run(2, "ptb", train, folder, env={variable: value}), 2, f"{variable} is '{value}' in the environment: ")
    other_bucket = ["sh", "-c", f"export UNROLL_BUCKET_BYTES=$((1 + 99999 * OMPI_COMM_WORLD_RANK)); exec {programs['ptb']} train recipe.toml --out run"]
    refused(run(2, other_bucket, [], folder), 2, "rank 1 has another UNROLL_BUCKET_BYTES in its environment")
    isa = ["sh", "-c", f"[ $OMPI_COMM_WORLD_RANK = 0 ] || export UNROLL_ISA=baseline; exec {programs['ptb']} train recipe.toml --out run"]
    refused(run(2, isa, [], folder), 2, "rank 1 computes with kernels for baseline", "UNROLL_ISA")
    other_build = folder / "ptb"
    other_build.write_bytes(pathlib.Path(programs["ptb"]).read_bytes() + b"\0")  # which runs like the other
    other_build.chmod(0o755)
    builds = ["sh", "-c", f"[ $OMPI_COMM_WORLD_RANK = 0 ] && exec {programs['ptb']} train recipe.toml --out run; "
              "exec ./ptb train recipe.toml --out run"]
    refused(run(2, builds, [], folder), 2, "rank 1 has another build of the program than rank 0")
    for rank in (0, 1):  # of one name, in each rank's own folder
        assert run(1, "ptb", ["train", "recipe.toml", "--out", f"first-{rank}", *sets(f"training.seed={rank}")], folder).code == 0
    first = of_rank("train ../recipe.toml --out run --set training.init_from=last.safetensors")
    first[2] = "cd first-$OMPI_COMM_WORLD_RANK; " + first[2]
    refused(run(2, first, [], folder), 2, "rank 1 has other first weights than rank 0")
    assert not (folder / "run").exists()


def test_failures():
    folder = new_folder(recipe=TEXT)
    refused(run(2, "ptb", ["train", "recipe.toml", "--out", "diverged", *sets("optimizer.kind=sgd", "optimizer.learning_rate=1e30",
                                                                            "schedule.kind=constant", "training.clip=0")],
                folder), 1, "training has diverged")
    # A full disk, of rank 0.
    full = ["sh", "-c", f"[ $OMPI_COMM_WORLD_RANK != 0 ] || export LD_PRELOAD={os.environ['UNROLL_SYSTEM_CALLS']}; "
            f"exec {programs['ptb']} train recipe.toml --out full"]
    refused(run(2, full, [], folder, env={"SYSTEM_CALLS_FAIL": "fsync=ENOSPC,fdatasync=ENOSPC"}), 1, "No space left on device")
    if sanitized:  # which takes more than any limit
        return
    # Memory that rank 1 alone lacks.
    little = ["sh", "-c", f"[ $OMPI_COMM_WORLD_RANK = 0 ] || ulimit -v 700000; exec {programs['ptb']} train recipe.toml --out little "
              "--threads 1 --set model.hidden=4000"]
    result = run(2, little, [], folder)
    assert result.code == 3 and len(result.messages()) == 1 and "rank 1: " in result.messages()[0], result


def test_the_others_need_no_disk():
    """What they would write fails, and lies in a folder of their own, which stays empty."""
    folder = new_folder(recipe=TEXT)
    (folder / "elsewhere").mkdir()
    train = f"exec {programs['ptb']} train {folder}/recipe.toml --out run"
    no_disk = ",".join(f"{call}=EIO" for call in ("fsync", "fdatasync", "flock", "rename", "renameat2"))
    others = f"cd elsewhere; export LD_PRELOAD={os.environ['UNROLL_SYSTEM_CALLS']} SYSTEM_CALLS_FAIL={no_disk}"
    result = run(2, ["sh", "-c", f"[ $OMPI_COMM_WORLD_RANK = 0 ] || {{ {others}; }}; {train}"], [], folder)
    assert result.code == 0, result
    assert list((folder / "elsewhere").iterdir()) == []
    assert run(1, "ptb", ["train", "recipe.toml", "--out", "alone"], folder).code == 0
    assert bits(folder / "run") == bits(folder / "alone")


def test_all_end_by_themselves():
    """Of an error of one rank the others learn from it, whatever the launcher does then: srun leaves them alone."""
    folder = new_folder(recipe=TEXT)
    other_seed = "--set training.seed=$((7 + OMPI_COMM_WORLD_RANK))"  # rank 0 finds it
    no_weights = "$([ $OMPI_COMM_WORLD_RANK != 1 ] || echo --set training.init_from=none.safetensors)"  # rank 1 does
    for words, message in ((other_seed, "ptb: rank 1 has another recipe"), (no_weights, "ptb: rank 1: ")):
        each = ["sh", "-c", f"{programs['ptb']} train recipe.toml --out run {words}; code=$?; echo exit code $code; exit $code"]
        result = run(4, each, [], folder, env={"OMPI_MCA_orte_abort_on_non_zero_status": "0"})
        assert result.out.count("exit code 2\n") == 4, result
        assert len(result.messages()) == 1 and result.messages()[0].startswith(message), result


def test_what_is_not_shared():
    """Rank 0 does it alone."""
    folder = new_folder(recipe=TEXT)
    assert run(2, "ptb", ["train", "recipe.toml", "--out", "run"], folder).code == 0
    once = run(2, "ptb", ["evaluate", "run/last.safetensors"], folder)
    alone = run(1, "ptb", ["evaluate", "run/last.safetensors"], folder)
    perplexity = re.compile(r"perplexity.*")
    assert once.code == 0 and perplexity.findall(once.out) == perplexity.findall(alone.out) != [], (once, alone)
    table = run(1, "ptb", ["explain", "recipe.toml"], folder).out
    assert "a step has 4 shards, which 1, 2 or 4 processes can share" in table, table
    result = run(2, "ptb", ["train", "recipe.toml", "--dry-run"], folder)
    assert result.code == 0 and "shared  by 2 processes over Open MPI" in result.out, result
    # A pretraining, from its beginning and resumed.
    words = ["pretrain", "forecaster", *sets("model.hidden=8", "series.steps=4", "series.segments=144", "series.valid=40")]
    for processes, out in ((2, "shared"), (1, "by-one")):
        for each in ([*words, *sets("training.epochs=1"), "--out", out], ["resume", out, *sets("training.epochs=2")]):
            result = run(processes, "timeseries", each, folder)
            assert result.code == 0, result
    assert bits(folder / "shared") == bits(folder / "by-one")


def test_the_script_for_slurm():
    page = (pathlib.Path(__file__).resolve().parents[3] / "docs/processes.md").read_text()
    script = re.search(r"```bash\n(#!/bin/bash\n.*?)```", page, re.S)[1]
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    # It begins a run, also over what a job left that was ended before its run began, and goes on with one.
    folder = new_folder(srun="#!/bin/sh\necho $*\n")
    (folder / "srun.toml").rename(folder / "srun")
    (folder / "srun").chmod(0o755)
    def words(*there):
        (folder / "run").mkdir(exist_ok=True)
        for name in there:
            (folder / "run" / name).touch()
        done = subprocess.run(["bash"], input=script.replace("/shared/runs/medium", str(folder / "run")), text=True, check=True,
                              capture_output=True, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
        return done.stdout.split(" ptb ")[1].split()[0]
    assert words() == "train"
    assert words("start.json") == "train"
    assert words("recipe.toml") == "resume"


if __name__ == "__main__":
    begin = time.monotonic()
    for name, test in [(n, f) for n, f in globals().items() if n.startswith("test_")]:
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        test()
        print(f"{name}: passed, {time.monotonic() - begin:.1f} s in all", flush=True)
