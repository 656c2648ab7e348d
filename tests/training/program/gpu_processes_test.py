#!/usr/bin/env python3
"""Processes with a GPU each, over the stand-in for CUDA and NCCL: the same bits for any number of them, over NCCL or through the
host's memory; what the first lines say; one message for an error. Needs mpirun; else it is skipped (77)."""
import os
import re
import signal
import sys
import time

from mpi_runs import Run, bits, bytes_sent, has_mpi, new_folder, refused, run, sets, start

ptb = os.environ["UNROLL_PROGRAM_PTB_OVER_STANDIN"]
if not has_mpi():
    print("skipped: there is no mpirun here, or the programs were built without MPI")
    sys.exit(77)

RECIPE = """[model]
embedding = 6
hidden = 8
layers = 2
dropout = 0.2
engine = "cudnn"
[data]
corpus = "grammar"
train_tokens = 5_000
valid_tokens = 60
test_tokens = 60
batch = 10
bptt = 50
eval_batch = 4
[training]
epochs = 1
clip = 0.5
shards = 4
[optimizer]
kind = "adam"
learning_rate = 0.01
"""
GPUS = {"UNROLL_STANDIN_DEVICES": "4"}
HOST = {**GPUS, "UNROLL_GPU_EXCHANGE": "host"}
SHARED = {"UNROLL_STANDIN_DEVICES": "1"}
MISSING = {**GPUS, "UNROLL_STANDIN_MISSING": "libnccl"}


def train(n, folder, out, *words, env=GPUS):
    result = run(n, ptb, ["train", "recipe.toml", "--device", "cuda", "--out", out, *words], folder, env=env)
    assert result.code == 0, (n, out, result)
    return result


def test_the_same_bits():
    folder = new_folder(recipe=RECIPE)
    found = {1: bits_of(train(1, folder, "alone"), folder / "alone")}
    for n in (2, 4):
        found[n] = bits_of(train(n, folder, f"run-{n}"), folder / f"run-{n}", "over NCCL 2.")
    found["host"] = bits_of(train(2, folder, "host", env=HOST), folder / "host",
                            "through the host's memory (rank 0: UNROLL_GPU_EXCHANGE is 'host' in its environment)")
    found["one GPU"] = bits_of(train(2, folder, "shared", env=SHARED), folder / "shared",
                               "through the host's memory (ranks 0 and 1 share a GPU)")
    found["no NCCL"] = bits_of(train(2, folder, "missing", env=MISSING), folder / "missing",
                               "through the host's memory (rank 0: libnccl.so.2: cannot open shared object file")
    assert len(set(found.values())) == 1, found
    # Resumed by others, which take a GPU each again.
    train(4, folder, "parts", *sets("training.epochs=2"))
    result = run(2, ptb, ["resume", "run-4", *sets("training.epochs=2")], folder, env=GPUS)
    assert result.code == 0 and "over NCCL 2." in result.out, result
    assert bits(folder / "run-4") == bits(folder / "parts")


def bits_of(result, folder, over=""):
    assert over in result.out, result
    assert "cudnn" in result.out, result
    return bits(folder)


def test_other_trainings():
    """Three parts of a tree, accumulation, empty shards, and buckets of one parameter."""
    folder = new_folder(recipe=RECIPE)
    for name, counts, words in (("six", (1, 2, 3), ["training.shards=6"]), ("few", (1, 4), ["data.batch=3"]),
                                ("fused", (1, 2), ["training.accumulate=2", "model.engine=fused"])):
        found = set()
        for n in counts:
            train(n, folder, f"{name}-{n}", *sets(*words), env={**GPUS, "UNROLL_BUCKET_BYTES": "1"})
            found.add(bits(folder / f"{name}-{n}"))
        assert len(found) == 1, name


def test_bytes():
    folder = new_folder(recipe=RECIPE)
    over_nccl, through_host = (bytes_sent(train(2, folder, out, env=env)) for out, env in (("nccl", GPUS), ("host", HOST)))
    assert over_nccl == through_host > 0


def test_what_is_said():
    folder = new_folder(recipe=RECIPE)
    table = run(1, ptb, ["explain", "recipe.toml", "--device", "cuda"], folder, env=GPUS)
    assert "Gradients go over NCCL where each process has a GPU of its own: not measured." in table.out, table
    table = run(1, ptb, ["explain", "recipe.toml", "--device", "cuda"], folder, env=MISSING)
    assert "Gradients go through the host's memory: libnccl.so.2: cannot open" in table.out, table
    refused(run(2, ptb, ["train", "recipe.toml", "--device", "cuda", *sets("training.graph=true")], folder, env=GPUS), 2,
            "training.graph", "shards")
    refused(run(2, ptb, ["train", "recipe.toml", "--device", "cuda"], folder, env={**GPUS, "UNROLL_GPU_EXCHANGE": "tcp"}), 2,
            "UNROLL_GPU_EXCHANGE is 'tcp' in the environment: host or nccl")
    result = run(2, ptb, ["evaluate", str(trained(folder)), "--device", "cuda"], folder, env=GPUS)
    alone = run(1, ptb, ["evaluate", str(trained(folder)), "--device", "cuda"], folder, env=GPUS)
    assert re.findall("perplexity.*", result.out) == re.findall("perplexity.*", alone.out) != [], (result, alone)


def trained(folder):
    if not (folder / "trained").exists():
        train(2, folder, "trained")
    return folder / "trained" / "last.safetensors"


def test_errors():
    """Of one rank, while the others wait for what its GPU sends."""
    folder = new_folder(recipe=RECIPE)
    diverged = ["train", "recipe.toml", "--device", "cuda", "--out", "diverged",
                *sets("optimizer.kind=sgd", "optimizer.learning_rate=1e30", "training.clip=0")]
    refused(run(2, ptb, diverged, folder, env=GPUS), 1, "training has diverged")
    process = start(2, ptb, ["train", "recipe.toml", "--device", "cuda", "--out", "ended",
                             *sets("training.epochs=1000", "training.save_every_steps=1")], folder, env=GPUS)
    while not (folder / "ended" / "last.safetensors").exists():
        assert process.poll() is None, Run(process)
        time.sleep(0.01)
    begin = time.monotonic()
    process.send_signal(signal.SIGTERM)
    result = Run(process)
    assert time.monotonic() - begin < 10 and result.code != 0 and len(result.messages()) <= 1, result
    assert run(1, ptb, ["resume", "ended", *sets("training.epochs=1")], folder, env=GPUS).code in (0, 2)


if __name__ == "__main__":
    begin = time.monotonic()
    for name, test in [(n, f) for n, f in globals().items() if n.startswith("test_")]:
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        test()
        print(f"{name}: passed, {time.monotonic() - begin:.1f} s in all", flush=True)
