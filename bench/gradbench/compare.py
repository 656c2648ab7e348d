#!/usr/bin/env python3
"""Runs our entry for GradBench beside others, on one core. GradBench's evals ask; each message goes to all tools in turns. The eval
judges our answer, and others' answers are compared with ours by the evals' tolerance. Prints a table: milliseconds of the fastest
run, and theirs / ours: the median over rounds of the ratio of the fastest runs.

compare.py OURS --checkout FOLDER --eval lstm="-l 2 -c 1024" --tool codipack="python3 python/gradbench/gradbench/cpp.py codipack"
  OURS      the program that `ninja -C build bench/gradbench/gradbench` makes
  FOLDER    a checkout of GradBench; all but ours run there. Its evals need `make -C tools/manual bin/EVAL` and what they import
"""
import argparse
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from programs import built  # noqa: E402

TOLERANCE = 1e-4  # of GradBench's evals, relative to what is above 1


class Speaker:
    """A program that speaks the protocol: an eval or a tool."""

    def __init__(self, words, folder=None):
        self.process = subprocess.Popen(words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def ask(self, message):
        self.say(message)
        return self.hear() or sys.exit(f"compare: {shlex.join(self.process.args)} ended at {message['kind']}")


def differ(a, b):
    """Whether two answers differ by more than the tolerance, or in form."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() != b.keys() or any(differ(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) != len(b) or any(map(differ, a, b))
    if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return True
    return not abs(a - b) <= TOLERANCE * max(1, abs(a) + abs(b))


def fastest(answer):
    return min(timing["nanoseconds"] for timing in answer["timings"] if timing["name"] == "evaluate") / 1e6


def in_turns(tools, message, rounds):
    """Each tool's first answer, or the one that failed, and its fastest run of each round in milliseconds. A tool that fails once is
    not asked again."""
    first, times = {}, {name: [] for name in tools}
    for number in range(rounds):
        if number > 0 and not first["ours"]["success"]:
            break  # there is nothing to compare with
        for name in list(tools) if number % 2 == 0 else reversed(tools):
            if name not in first or first[name]["success"]:
                answer = tools[name].ask(message)
                if answer["success"]:
                    first.setdefault(name, answer)
                    times[name].append(fastest(answer))
                else:
                    first[name] = answer
    return first, times


def rows(module, words, tools, arguments):
    """What an eval asks, and the cells of all tools."""
    asker = Speaker([sys.executable, f"python/gradbench/gradbench/evals/{module}/run.py", *words], arguments.checkout)
    able, row = dict(tools), None
    while message := asker.hear():
        reply = {"id": message["id"]}
        if message["kind"] == "define":
            able = {name: tool for name, tool in tools.items() if tool.ask(message)["success"]}
            reply["success"] = "ours" in able
        elif message["kind"] == "evaluate":
            if isinstance(message["input"], dict):
                message["input"] |= {"min_runs": 2, "min_seconds": arguments.seconds}
            first, times = in_turns(able, message, arguments.rounds)
            reply = first["ours"]
            ours = times["ours"]
            row = [f"{module} {message['function']} {message.get('description', '')}", f"{min(ours):.4g}" if reply["success"] else "fails"]
            for name in list(tools)[1:]:
                if name not in able:
                    row.append("–")
                elif not first[name]["success"]:
                    row.append("fails")
                elif not reply["success"]:
                    row.append("–")
                else:
                    ratio = statistics.median(b / a for a, b in zip(ours, times[name]))
                    row.append(f"{ratio:.3g}" + (" (differs)" if differ(reply["output"], first[name]["output"]) else ""))
            if not reply["success"]:
                yield row + ["–"]  # an eval does not judge a failure
        elif message["kind"] == "analysis":
            yield row + ["valid" if message["valid"] else "wrong"]
        asker.say(reply)


def main():
    named = lambda text: (text.partition("=")[0], shlex.split(text.partition("=")[2]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ours", type=pathlib.Path)
    parser.add_argument("--checkout", type=pathlib.Path, required=True)
    parser.add_argument("--eval", type=named, action="append", required=True, metavar="EVAL[=OPTIONS]")
    parser.add_argument("--tool", type=named, action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each tool for a message in a round")
    arguments = parser.parse_args()
    try:
        os.sched_setaffinity(0, {0})  # GradBench's tool for JAX goes there by itself
    except OSError as error:
        sys.exit(f"compare: core 0: {error.strerror}")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(arguments.checkout.resolve() / "python/gradbench"), os.environ.get("PYTHONPATH", "")])
    tools = {"ours": Speaker([str(built(arguments.ours).resolve())])}
    tools |= {name: Speaker(words, arguments.checkout) for name, words in arguments.tool}
    for tool in tools.values():
        tool.ask({"id": 0, "kind": "start"})
    print("| " + " | ".join(["eval", "ours, ms", *list(tools)[1:], "the eval's verdict"]) + " |")
    print("| --- |" + " ---: |" * len(tools) + " --- |", flush=True)
    for module, words in arguments.eval:
        for row in rows(module, words, tools, arguments):
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
