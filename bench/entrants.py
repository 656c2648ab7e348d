"""Who takes part in a comparison of speeds, and how they take turns: programs of ours, and installations of PyTorch."""

import argparse
import contextlib
import json
import os
import shlex
import subprocess
import sys
import time
from typing import Any, Iterator

import pytorch_best
from programs import built


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Ours:
    def __init__(self, name: str, command: str, threads: int, timeout: float) -> None:
        self.name, self.command, self.threads, self.timeout = name, shlex.split(command), threads, timeout
        self.text = command
        built(self.command[0])

    def run(self) -> dict[str, Any]:
        return pytorch_best.run_json(self.command, dict(os.environ) | {"OMP_NUM_THREADS": str(self.threads)}, self.timeout)


class Peer:
    def __init__(self, name: str, runner: pytorch_best.Runner, config: pytorch_best.Config, seconds: float, *more: str) -> None:
        self.name, self.runner, self.config, self.seconds, self.more = name, runner, config, seconds, more
        self.text = config.command("python3", "bench/pytorch_lm.py", *runner.words(), "--seconds", str(seconds), *more)

    def run(self) -> dict[str, Any]:
        return self.runner.run(self.config, self.seconds, *self.more)


def screen(args: argparse.Namespace, runners: dict[str, pytorch_best.Runner]) -> dict[str, Any]:
    """Each peer's best configuration, from the file where it is known, else by trying; the file is kept up to date."""
    what = [args.model, str(args.threads)] + [w for w in (args.task, args.precision, args.device) if w not in ("train", "fp32", "cpu")]
    key = lambda name: " ".join([name, *what])
    known = json.loads(args.configs.read_text()) if args.configs and args.configs.exists() else {}
    for name, runner in runners.items():
        if args.screen and "best" not in known.get(key(name), {}):
            say(f"# screening {name}: {' '.join(what)}")
            known[key(name)] = pytorch_best.find_best(runner, args.screen_seconds, args.preload, not args.no_compile, say)
            if args.configs:
                args.configs.write_text(json.dumps(known, indent=1) + "\n")
    return {name: known.get(key(name), {}) for name in runners}


def peers_of(args: argparse.Namespace, runners: dict[str, pytorch_best.Runner], found: dict[str, Any], names: str, *more: str) -> list[Peer]:
    """`names`: "{}" with what is to follow a peer's name."""
    peers = []
    for name, runner in runners.items():
        data = found[name].get("best")
        config = pytorch_best.config_from(data) if data else pytorch_best.Config()
        peers.append(Peer(names.format(name), runner, config, args.seconds, "--warmup", str(args.warmup), *more))
    return peers


@contextlib.contextmanager
def busy(core: int | None) -> Iterator[None]:
    """Keeps a core busy with a loop."""
    if core is None:
        yield
        return
    loop = subprocess.Popen([sys.executable, "-c", f"import os\nos.sched_setaffinity(0, [{core}])\nwhile True: pass"])
    try:
        yield
    finally:
        loop.kill()
        loop.wait()


def rounds(entrants: list[Any], args: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """All take turns, each round starting one place further on; beside --busy's loop."""
    results: dict[str, list[dict[str, Any]]] = {e.name: [] for e in entrants}
    with busy(args.busy):
        for number in range(args.rounds):
            turn = number % len(entrants)
            for entrant in entrants[turn:] + entrants[:turn]:
                if any("error" in r for r in results[entrant.name]):
                    continue  # it has failed once: it would again
                result = entrant.run()
                results[entrant.name].append(result)
                say(f"round {number + 1}  {entrant.name:28s} {result.get('words_per_second', 0):10.0f}  {result.get('error', '')}")
                time.sleep(args.pause)
    return results
