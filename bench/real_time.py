#!/usr/bin/env python3
"""Measures an LSTM of 16 units at 48 kHz, sample by sample on one core: the C header, RealTimeStep, Stepper, and RTNeural in the
same run. Prints a table of seconds of sound for one second of computing, the best of three turns beside each backend.

real_time.py BUILD [--rtneural FOLDER]   FOLDER: a git repository of RTNeural, bare or not. Its Eigen backend needs Eigen's headers
"""
import argparse
import pathlib
import subprocess
import tempfile

from programs import built

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("build", type=pathlib.Path)
parser.add_argument("--rtneural", type=pathlib.Path)
arguments = parser.parse_args()
library = built(arguments.build / "libunroll.a")
root = pathlib.Path(__file__).resolve().parent.parent
LINK = ["-lfmt", "-lz", "-pthread", "-ldl", "-lrt"]


def run(words, **options):
    return subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True, **options).stdout


def compiled(program, flags):
    cuda = [arg for arg in ["/usr/local/cuda/lib64/libcudart_static.a"] if pathlib.Path(arg).exists()]
    run(["g++", "-std=c++20", *flags, root / "bench/real_time.cpp", program.parent / "ours.o", library, *cuda,
         *LINK, "-o", program])
    return program


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    run(["g++", "-std=c++20", "-O2", f"-I{root}", "-c", root / "bench/real_time_steps.cpp", "-o", folder / "ours.o"])
    run([compiled(folder / "make", []), folder / "amp.h"])
    ways = {"": [f"-I{folder}"]}
    if arguments.rtneural:
        archive = subprocess.run(["git", "-C", str(arguments.rtneural), "archive", "HEAD", "RTNeural", "modules"], check=True,
                                 capture_output=True).stdout
        subprocess.run(["tar", "x", "-C", str(folder)], input=archive, check=True)
        common = [f"-I{folder}", "-DRTNEURAL", "-DRTNEURAL_DEFAULT_ALIGNMENT=32", "-w"]
        ways = {"STL": [*common, "-DRTNEURAL_USE_STL=1"],
                "Eigen": [*common, "-DRTNEURAL_USE_EIGEN=1", "-I/usr/include/eigen3"]}
    print("| compiled with | step | times real time | the last sample |\n| --- | --- | ---: | ---: |")
    for flags in ["-O2", "-O3", "-O3 -march=native"]:
        best = {}
        for backend, way in ways.items():
            for line in run([compiled(folder / "steps", [*flags.split(), *way])]).splitlines():
                step, times, last = line.split("\t")
                step += f", beside {backend}" if backend else ""
                best[step] = max(best.get(step, (0, "")), (int(times), last))
        for step, (times, last) in best.items():
            print(f"| {flags} | {step} | {times:,} | {last} |")
