"""Finds the fastest configuration of pytorch_lm.py for one installation of PyTorch, in short runs.

Every knob is tried in turn on top of the best so far; what looks faster is measured again beside it before it is
kept. Knobs are options of pytorch_lm.py, environment variables, and libraries to preload (--preload): allocators,
another OpenMP. MKL takes slow kernels on processors that are not Intel's, so a preloaded function that says
otherwise is one of the knobs: without it a comparison on such a machine would be unfair to PyTorch.

Usage: python3 pytorch_best.py --python PYTHON[:PYTHONPATH] --model small --threads 2 [--preload LIBRARY]…
Prints one JSON line: the best configuration, its speed, and everything tried. Progress goes to standard error.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from typing import Any

SCRIPT = pathlib.Path(__file__).parent / "pytorch_lm.py"
KEEP = 1.01  # how much faster a change must be
MKL_SOURCE = "int mkl_serv_intel_cpu(void) { return 1; }\nint mkl_serv_intel_cpu_true(void) { return 1; }\n"


@dataclasses.dataclass(frozen=True)
class Config:
    """What a run of pytorch_lm.py gets beside model, threads and seconds."""

    options: tuple[tuple[str, str], ...] = ()  # ("onednn", "off"); flags have the value ""
    env: tuple[tuple[str, str], ...] = ()
    preload: tuple[str, ...] = ()  # libraries; "mkl" is the built-in one

    def plus(self, other: "Config") -> "Config":
        return Config(tuple((dict(self.options) | dict(other.options)).items()),
                      tuple((dict(self.env) | dict(other.env)).items()), tuple(dict.fromkeys(self.preload + other.preload)))

    def arguments(self) -> list[str]:
        return [word for name, value in self.options for word in ("--" + name, value) if word]

    def command(self, *words: str) -> str:
        """As one would type it; libraries without their folder."""
        preload = ["LD_PRELOAD=" + ":".join(pathlib.Path(p).name for p in self.preload)] if self.preload else []
        return " ".join([f"{n}={v}" for n, v in self.env] + preload + list(words) + self.arguments())

    def text(self) -> str:
        return self.command() or "defaults"


def option(name: str, value: str = "") -> Config:
    return Config(options=((name, value),))


def env(name: str, value: str) -> Config:
    return Config(env=((name, value),))


def knobs(task: str, preload: list[str], compile: bool, mkl: bool, device: str = "cpu") -> list[list[Config]]:
    """Groups of alternatives; of each group one at most is kept. Libraries first, then the way the model is run."""
    gpu = device == "cuda"
    loop = option("lstm", "loop")
    machine = [
        [Config(preload=("mkl",))] if mkl else [],
        [env("OPENBLAS_CORETYPE", "SkylakeX")],
        [env("ATEN_CPU_CAPABILITY", "avx512")],
        [env("OMP_PROC_BIND", "true")],
        [env("OMP_WAIT_POLICY", "active")],
        [option("onednn", "off")],
    ]
    train = [
        [loop] + [c for c in (option("compile", "default"), option("compile", "default").plus(option("compile-rnn")),
                              loop.plus(option("compile", "default")), loop.plus(option("compile", "max-autotune"))) if compile],
        [option("batch-first")],
        [option("sparse-embedding")],
        [option("optimizer", kind) for kind in ("loop", "foreach", "fused")],
        [option("clip", kind) for kind in ("loop", "foreach")],
        [option("loss", kind) for kind in ("linear", "linear-chunked")],
        [option("zero-grad", "zero")],
        [] if gpu else [option("flush-denormals")],
    ]
    if gpu:  # what feeds it matters less than how its kernels are chosen
        return [[option("graph")], [option("cudnn-benchmark")], *train]
    cells, compiled = option("lstm", "cells"), option("compile", "default")
    step = [
        [loop, cells] + [c for c in (compiled, loop.plus(compiled), cells.plus(compiled), cells.plus(option("compile", "max-autotune"))) if compile],
        [option("flush-denormals")],
    ]
    return machine[:1] + [[Config(preload=(p,))] for p in preload] + machine[1:] + (train if task == "train" else step)


def add_options(parser: argparse.ArgumentParser) -> None:
    """What is run, as far as ours and the peers must agree on it."""
    parser.add_argument("--task", choices=("train", "step"), default="train")
    parser.add_argument("--model", choices=("small", "medium", "large"), default="small")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=("fp32", "tf32", "bf16", "fp16"), default="fp32", help="of 16 bits: by autocast")
    parser.add_argument("--timeout", type=float, default=600, help="seconds after which a run counts as failed")


class Runner:
    """Runs one installation's Python; keeps the built-in preload library while it lives."""

    def __init__(self, python: str, what: argparse.Namespace) -> None:
        """`what`: the options that add_options adds."""
        self.python, _, self.pythonpath = python.partition(":")
        self.what, self.threads, self.timeout = what, what.threads, what.timeout
        self.device: str = getattr(what, "device", "cpu")
        self.folder = tempfile.TemporaryDirectory()
        compiler = shutil.which("cc")
        needed = "GenuineIntel" not in pathlib.Path("/proc/cpuinfo").read_text()
        self.mkl = os.path.join(self.folder.name, "libmkl_full_speed.so") if compiler and needed else None
        if self.mkl:
            source = pathlib.Path(self.folder.name) / "mkl.c"
            source.write_text(MKL_SOURCE)
            subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", self.mkl, str(source)], check=True)

    def environment(self, config: Config) -> dict[str, str]:
        path = {"PYTHONPATH": self.pythonpath} if self.pythonpath else {}
        return dict(os.environ) | threads_environment(self.threads) | dict(config.env) | path

    def libraries(self, config: Config) -> list[str]:
        # None: this processor needs no such help, whatever machine the configuration was found on
        return [self.mkl if p == "mkl" else p for p in config.preload if p != "mkl" or self.mkl]

    def missing(self, config: Config) -> dict[str, Any]:
        """{"error": …} of a library that is not there: the loader goes on without it, and says so where nobody looks."""
        preload = ":".join(self.libraries(config))
        said = subprocess.run(["env", "LD_PRELOAD=" + preload, "true"], capture_output=True, text=True).stderr if preload else ""
        return {"error": without_folders(said.splitlines()[0])} if "cannot be preloaded" in said else {}

    def command(self, config: Config) -> list[str]:
        libraries = self.libraries(config)
        # `env` sets the preload for the program alone, not for this Python's own children on the way
        preload = ["env", "LD_PRELOAD=" + ":".join(libraries)] if libraries else []
        return [*preload, self.python, str(SCRIPT)]

    def options(self, config: Config, seconds: float, *more: str) -> list[str]:
        return [*self.words(), "--seconds", str(seconds), *config.arguments(), *more]

    def words(self) -> list[str]:
        w = self.what
        device = ["--device", self.device] if self.device != "cpu" else []
        return ["--task", w.task, "--model", w.model, "--threads", str(w.threads), "--precision", w.precision, *device]

    def run(self, config: Config, seconds: float, *more: str) -> dict[str, Any]:
        """The program's JSON object, or {"error": its last line}."""
        if missing := self.missing(config):
            return missing
        command = [*self.command(config), *self.options(config, seconds, *more)]
        return run_json(command, self.environment(config), self.timeout)


class Trials:
    """Short runs for a Runner; those that share environment and preloaded libraries share a process."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.process: subprocess.Popen[str] | None = None
        self.like: Config | None = None

    def run(self, config: Config, seconds: float, *more: str) -> dict[str, Any]:
        like = dataclasses.replace(config, options=())
        if self.process is None or self.like != like:
            self.close()  # only one at a time: threads of a waiting one may spin
            if missing := self.runner.missing(config):
                return missing
            self.like = like
            self.process = subprocess.Popen([*self.runner.command(config), "--serve"], env=self.runner.environment(config),
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                            text=True, start_new_session=True)
        try:
            self.process.stdin.write(shlex.join(self.runner.options(config, seconds, *more)) + "\n")
            self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], self.runner.timeout)
            if not ready:
                raise ValueError(f"no result in {self.runner.timeout:.0f} s")
            return json.loads(self.process.stdout.readline())
        except (OSError, ValueError) as error:  # an empty line: it died
            self.close()
            return {"error": without_folders(str(error))}

    def close(self) -> None:
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)  # with the compiler's processes
            self.process.wait()
            self.process = None


def threads_environment(threads: int) -> dict[str, str]:
    return {n: str(threads) for n in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}


def run_json(command: list[str], environment: dict[str, str], timeout: float) -> dict[str, Any]:
    """The last line of a program's output as JSON, or {"error": …}."""
    try:
        program = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
    except OSError as error:
        return {"error": without_folders(str(error))}
    try:
        out, messages = program.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"error": f"no result in {timeout:.0f} s"}
    finally:
        if program.poll() is None:  # with the compiler's processes, which would keep the pipe open
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()
    if program.returncode != 0:
        return {"error": without_folders((messages.strip().splitlines() or [f"exit code {program.returncode}"])[-1])}
    try:
        return json.loads(out.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return {"error": "its last line is no JSON object"}


def without_folders(text: str) -> str:
    """Results are published: a message keeps the names of files and not where they lie."""
    return re.sub(r"(?<![\w.])/(?:[^\s/'\"]+/)*", "", text)[:200]


def find_best(runner: Runner, seconds: float, preload: list[str], compile: bool, say: Any = lambda text: None) -> dict[str, Any]:
    tried: list[dict[str, Any]] = []

    trials = Trials(runner)

    def speed(config: Config) -> float:
        result = trials.run(config, seconds, "--repetitions", "3", "--warmup", "5")
        words = result.get("words_per_second_max", 0.0)  # noise only ever slows down
        tried.append({"config": config.text(), **({"error": without_folders(result["error"])} if "error" in result else {"words_per_second": words})})
        say(f"{words:10.0f}  {config.text()}" + ("  " + result["error"] if "error" in result else ""))
        return words

    best, best_speed = Config(), speed(Config())
    if best_speed == 0.0:
        trials.close()
        return {"error": tried[0]["error"], "tried": tried}
    for group in knobs(runner.what.task, preload, compile, bool(runner.mkl), runner.device):
        candidates = [(speed(best.plus(change)), best.plus(change)) for change in group]
        if not candidates:
            continue
        words, candidate = max(candidates, key=lambda c: c[0])
        if words > KEEP * best_speed:  # again, beside the incumbent: the machine may have changed its mind
            pairs = [(speed(best), speed(candidate)) for _ in range(2)]
            old, new = max(p[0] for p in pairs), max(p[1] for p in pairs)
            best, best_speed = (candidate, new) if new > KEEP * old else (best, old)
    trials.close()
    return {"best": dataclasses.asdict(best), "text": best.text(), "words_per_second": best_speed, "tried": tried}


def config_from(data: dict[str, Any]) -> Config:
    """A Config from what find_best returned, also after a trip through JSON."""
    pairs = lambda rows: tuple((name, value) for name, value in rows)
    return Config(pairs(data["options"]), pairs(data["env"]), tuple(data["preload"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="PYTHON[:PYTHONPATH]")
    add_options(parser)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each trial")
    parser.add_argument("--preload", action="append", default=[], metavar="LIBRARY", help="a library to try with LD_PRELOAD")
    parser.add_argument("--no-compile", action="store_true", help="leave out torch.compile, which takes minutes")
    args = parser.parse_args()
    runner = Runner(args.python, args)
    say = lambda text: print(text, file=sys.stderr, flush=True)
    result = find_best(runner, args.seconds, args.preload, not args.no_compile, say)
    print(json.dumps(result))
    sys.exit("error" in result)


if __name__ == "__main__":
    main()
