#!/usr/bin/env python3
"""What several processes gain and cost (docs/processes.md). On a quiet machine:

  processes.py shards     a step in one process with two threads, in K shards and in one; and in two processes with a thread each. In
                          turns, beside what reading the weights takes by the memory's measured speed
  processes.py network    the exchange over networks that are made of namespaces, each rank a host of its own: a step with the exchange,
                          after the backward and beside it, and one without. Needs root, ip and tc
  processes.py table      times as fast as one process, by formula: on networks, for up to 64 processes. Measures nothing

`shards` and `network` print a page, and write it to --out with a line of JSON for each run. --steps, --rounds and --models make them
short."""
import argparse
import json
import math
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import tomllib

from programs import built

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/examples/ptb/ptb"
# Words a second of training in one process, two threads: README, a Xeon with AMX in float32; awd-lstm: bench/results/awd-lstm.md.
RATES = {"ptb-small": 21_100, "ptb-medium": 5_220, "ptb-large": 1_480, "awd-lstm": 842}
NETWORKS = (1, 10, 25, 100)  # Gbit/s
COUNTS = (2, 4, 8, 16, 20, 64)
WORDS = 10_000  # of the Penn Treebank


class Model:
    """Of a recipe: numbers of its parameters, and the words of a step."""

    def __init__(self, name):
        recipe = tomllib.loads((ROOT / f"recipes/{name}.toml").read_text())
        model, data = recipe["model"], recipe["data"]
        self.name, self.batch, self.bptt = name, data["batch"], data["bptt"]
        widths = [model["hidden"]] * model["layers"]
        widths[-1] = model.get("last_hidden", widths[-1])
        inputs = [model["embedding"], *widths[:-1]]
        self.recurrent = sum(4 * h * h for h in widths)
        self.once = sum(4 * h * i + 4 * h for h, i in zip(widths, inputs)) + WORDS * widths[-1] + WORDS
        self.embedding = 0 if model.get("tied") else WORDS * model["embedding"]

    def parameters(self):
        return self.recurrent + self.once + self.embedding

    def words(self):
        return self.batch * self.bptt

    def least_bytes(self, shards):
        """That a process reads and writes for so many shards of a step, if no cache keeps a weight for longer than a product: recurrent
        weights forward and back in each step of a window, the others once each way, gradients and the update."""
        each = 4 * (2 * self.bptt * self.recurrent + 2 * self.once)
        return shards * each + 4 * self.parameters() * (2 + 3 * shards)


def bytes_sent(parameters, processes):
    """By each process in a step; it receives as many."""
    return 4 * 2 * (processes - 1) * parameters / processes


def times_as_fast(model, rate, gbit, processes):
    computing = model.words() / rate  # seconds of a step in one process
    streams = math.ceil(model.batch / processes)
    exchange = bytes_sent(model.parameters(), processes) / (gbit * 1e9 / 8)
    return computing / (computing * streams / model.batch + exchange)


def print_table():
    print("| model | gradient | Gbit/s |", *(f"{n} |" for n in COUNTS), "most at |")
    print("| --- | ---: | ---: |", *("---: |" for _ in COUNTS), "---: |")
    for name, rate in RATES.items():
        model = Model(name)
        for gbit in NETWORKS:
            speeds = {n: times_as_fast(model, rate, gbit, n) for n in COUNTS}
            best = max(speeds, key=lambda n: round(speeds[n], 1) - n * 1e-6)
            first = gbit == NETWORKS[0]
            print(f"| {name.removeprefix('ptb-') if first else ''} | {f'{4e-6 * model.parameters():.0f} MB' if first else ''} | {gbit} |",
                  *(f"{speeds[n]:.1f} |" for n in COUNTS), f"{best if speeds[best] >= 1.05 else 'one process'} |")


# --- runs -------------------------------------------------------------------------------------------------------


class Runs:
    def __init__(self, options):
        self.options, self.lines = options, []
        self.mpirun = [built("mpirun"), "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
        if os.getuid() == 0:
            self.mpirun.append("--allow-run-as-root")
        self.folder = pathlib.Path(options.folder or tempfile.mkdtemp())
        self.number = 0

    def words(self, model, sets):
        """Of a training of a few steps. Its data end after them, and there is little to score."""
        self.number += 1
        tokens = model.words() * self.options.steps + 1
        options = {"data.limit": tokens, "training.epochs": 1, "training.save_every_minutes": 0, "training.surprising_words": 0,
                   "data.eval_batch": 10, **sets}
        if self.options.data is None:
            options |= {"data.corpus": "grammar", "data.train_tokens": max(tokens, 5_000),  # fewer lack words
                        "data.valid_tokens": 60, "data.test_tokens": 60}
            del options["data.limit"]
        words = ["train", model.name, "--json", "--out", str(self.folder / f"run-{self.number}")]
        if self.options.data is not None:
            words += ["--data", str(pathlib.Path(self.options.data).resolve())]
        if self.options.tiny:
            options |= {"model.hidden": 12, "model.embedding": 8}
        return words + [w for key, value in options.items() for w in ("--set", f"{key}={value}")]

    def finish(self, process, model, facts):
        out, err = process.communicate(timeout=3600)
        if process.returncode != 0:
            sys.exit(f"{' '.join(map(str, process.args))}\n{err}")
        lines = [line for line in out.splitlines() if line.startswith("{")]
        result = json.loads(lines[-1])
        rate, steps = result["words_per_second"], result["tokens"] / model.words()
        sent = [line for line in (out + err).splitlines() if " bytes sent by this one" in line]
        line = {**facts, "model": model.name, "seconds": model.words() / rate}
        if sent:
            line["bytes"] = int(sent[-1].split(" bytes sent")[0].rsplit(" ", 1)[1].replace(",", "")) / round(steps)
        self.lines.append(line)
        return line

    def start(self, command, environment=None):
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, **(environment or {})})

    def publish(self, name, page):
        print(page)
        if self.options.out:
            out = pathlib.Path(self.options.out)
            out.mkdir(parents=True, exist_ok=True)
            (out / f"{name}.md").write_text(page + "\n")
            (out / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in self.lines))


def median_and_spread(values):
    return f"{1e3 * statistics.median(values):.1f} ({1e3 * min(values):.1f} to {1e3 * max(values):.1f})"


def memory_speed(threads):
    """10^9 bytes a second that so many threads read, measured now."""
    text = subprocess.run([built(ROOT / "build/bench/bench_lm"), "--model", "small", "--task", "step", "--precision", "fp32", "--threads", str(threads), "--peak",
                           "--seconds", "0.5"], check=True, capture_output=True, text=True).stdout
    return json.loads(text.splitlines()[-1])["memory_gb_per_second"]


def measure_shards(options):
    runs = Runs(options)
    speed = options.memory or memory_speed(2)
    ways = [("one process, K = 1", 1, 1, 2), ("one process, K = 2", 1, 2, 2), ("one process, K = 4", 1, 4, 2),
            ("two processes, K = 2", 2, 2, 1), ("two processes, K = 4", 2, 4, 1)]
    page = [f"# Shards and processes on one machine\n\nMilliseconds of a step: the median of {options.rounds} rounds in turns, and the range; "
            f"{options.steps} steps each.\nTwo threads, or two processes with one each. Bound: what each must read and write at least, at "
            f"{speed:.1f} GB/s.\n"]
    for name in options.models:
        model = Model(name)
        for precision in options.precisions:
            found = {way[0]: [] for way in ways}
            for turn in range(options.rounds):
                for i in range(len(ways)):
                    title, processes, shards, threads = ways[(turn + i) % len(ways)]
                    words = runs.words(model, {"training.shards": shards, "training.precision": precision})
                    command = [*(runs.mpirun + ["-n", str(processes), "--oversubscribe"] if processes > 1 else []), str(options.program), *words,
                               "--threads", str(threads)]
                    facts = {"way": title, "precision": precision, "turn": turn}
                    found[title].append(runs.finish(runs.start(command), model, facts)["seconds"])
            one = statistics.median(found[ways[0][0]])
            page += [f"\n## {name}, {precision}\n", "| | ms a step | × one shard | bound, ms | × bound |", "| --- | ---: | ---: | ---: | ---: |"]
            for title, processes, shards, _ in ways:
                seconds = statistics.median(found[title])
                bound = model.least_bytes(shards) / (speed * 1e9)  # all processes together
                page.append(f"| {title} | {median_and_spread(found[title])} | {seconds / one:.2f} | {1e3 * bound:.1f} | {seconds / bound:.2f} |")
    runs.publish("processes-shards", "\n".join(page))


class Network:
    """Hosts, each a namespace of its own, joined by a bridge in another. What enters or leaves a host has that rate."""

    def __init__(self, hosts, rate, folder):
        self.hosts, self.names = hosts, []
        self.agent = folder / "agent.sh"
        # mpirun's word for another host: AGENT ADDRESS COMMAND…
        self.agent.write_text('#!/bin/sh\nhost=$1; shift\nexec ip netns exec "unroll-${host##*.}" unshare --uts sh -c '
                              '"hostname unroll-host-${host##*.}; $*"\n')
        self.agent.chmod(0o755)
        try:
            self.make("unroll-switch")
            self.inside("unroll-switch", "ip link add bridge type bridge", "ip link set bridge up")
            for host in range(1, hosts + 1):
                name = f"unroll-{host}"
                self.make(name)
                self.inside("unroll-switch", f"ip link add port{host} type veth peer name net netns {name}",
                            f"ip link set port{host} master bridge", f"ip link set port{host} up")
                self.inside(name, f"ip addr add 10.77.0.{host}/24 dev net", "ip link set net up", "ip link set lo up")
                for place, device in (("unroll-switch", f"port{host}"), (name, "net")):
                    self.inside(place, f"tc qdisc add dev {device} root tbf rate {rate} burst 256kb latency 100ms")
        except BaseException:
            self.end()
            raise

    def make(self, name):
        subprocess.run(["ip", "netns", "add", name], check=True)
        self.names.append(name)

    def inside(self, name, *commands):
        for command in commands:
            subprocess.run(["ip", "netns", "exec", name, *command.split()], check=True)

    def end(self):
        for name in self.names:  # with what runs in them, if something has failed
            for pid in subprocess.run(["ip", "netns", "pids", name], check=False, capture_output=True, text=True).stdout.split():
                subprocess.run(["kill", "-9", pid], check=False)
            subprocess.run(["ip", "netns", "del", name], check=False)

    def on_host(self, host, command):
        return ["ip", "netns", "exec", f"unroll-{host}", "unshare", "--uts", "sh", "-c", f'hostname unroll-host-{host}; exec "$@"', "sh", *command]

    def mpirun(self, command):
        hosts = ",".join(f"10.77.0.{host}" for host in range(1, self.hosts + 1))
        return self.on_host(1, [*command, "-n", str(self.hosts), "--host", hosts, "--mca", "plm_rsh_agent", str(self.agent), "--mca", "btl", "self,tcp",
                                "--mca", "btl_tcp_if_include", "10.77.0.0/24", "--mca", "oob_tcp_if_include", "10.77.0.0/24"])


def measure_network(options):
    runs = Runs(options)
    bits = float(options.rate.removesuffix("gbit")) * 1e9
    page = [f"# The exchange over {options.rate}\n\nEach rank in a network namespace of its own, one thread each, waiting ranks yield. Milliseconds of a "
            f"step: the median of {options.rounds} rounds in turns, and the range; {options.steps} steps each.\n\nAlone: as many processes at once, each with "
            "the work of one rank and no exchange. Own time: with the exchange less alone. On paper: the bytes that the ranks counted, by the network's "
            "rate.\n",
            "| model | ranks | alone | after the backward | beside it | own time | on paper | × | hidden |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for name in options.models:
        model = Model(name)
        for ranks in options.ranks:
            network = Network(ranks, options.rate, runs.folder)
            found = {"alone": [], "off": [], "on": []}
            try:
                for turn in range(options.rounds):
                    for i in range(3):
                        way = list(found)[(turn + i) % 3]
                        facts = {"way": way, "ranks": ranks, "turn": turn, "rate": options.rate}
                        if way == "alone":
                            part = Model(name)
                            part.batch = model.batch // ranks
                            processes = [runs.start(network.on_host(host, [str(options.program), *runs.words(part, {"data.batch": part.batch}), "--threads", "1"]))
                                         for host in range(1, ranks + 1)]
                            found[way].append(max(runs.finish(p, part, facts)["seconds"] for p in processes))
                        else:
                            words = runs.words(model, {"training.shards": ranks})
                            command = network.mpirun(runs.mpirun + ["-x", f"UNROLL_OVERLAP={way}"]) + [str(options.program), *words, "--threads", "1"]
                            line = runs.finish(runs.start(command), model, facts)
                            found[way].append(line["seconds"])
                            paper = 8 * line["bytes"] / bits
            finally:
                network.end()
            alone, after, beside = (statistics.median(found[way]) for way in ("alone", "off", "on"))
            page.append(f"| {name} | {ranks} | {median_and_spread(found['alone'])} | {median_and_spread(found['off'])} | {median_and_spread(found['on'])} | "
                        f"{1e3 * (after - alone):.1f} | {1e3 * paper:.1f} | {(after - alone) / paper:.2f} | {1e3 * (after - beside):.1f} |")
    runs.publish("processes-network", "\n".join(page))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("shards", "network", "table"):
        command = commands.add_parser(name)
        if name == "table":
            continue
        command.add_argument("--program", type=built, default=str(PROGRAM), help="ptb, built with MPI")
        command.add_argument("--data", help="the folder of the Penn Treebank; without one the built-in grammar, whose decoder is small")
        command.add_argument("--models", nargs="+", default=["ptb-medium", "ptb-large"])
        command.add_argument("--steps", type=int, default=30)
        command.add_argument("--rounds", type=int, default=5)
        command.add_argument("--tiny", action="store_true", help="models of a few units, to try the script")
        command.add_argument("--folder", help="for the runs; else a temporary one")
        command.add_argument("--out", help="for the page and the figures")
        if name == "shards":
            command.add_argument("--precisions", nargs="+", default=["fp32", "bf16"])
            command.add_argument("--memory", type=float, help="GB/s that two threads read; else measured by build/bench/bench_lm")
        else:
            command.add_argument("--rate", default="1gbit")
            command.add_argument("--ranks", nargs="+", type=int, default=[2, 4])
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that namespaces are taken down
    if options.command != "table":
        options.program = pathlib.Path(options.program).resolve()
    {"shards": measure_shards, "network": measure_network, "table": lambda _: print_table()}[options.command](options)


if __name__ == "__main__":
    main()
