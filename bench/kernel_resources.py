#!/usr/bin/env python3
"""The table of what CUDA's kernels take of a processor: registers, shared memory, and what did not fit registers.

  kernel_resources.py [--arch 90] [--toolkit /usr/local/cuda] [--only lstm_window,…] [--out FILE]

Compiles framework/kernels/cuda/*.cu for this compute capability as the build does, and reads what ptxas says of each kernel. Exits with 1 if
one spills: has a stack, or memory of its own beside registers. Dynamic shared memory is asked for at a launch, and is not in the table."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGS = ["-std=c++20", "-O3", "--expt-relaxed-constexpr", f"-I{ROOT}"]


def run(words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def short(name):
    """run_each<CellValue<Sigmoid, Tanh>> of a demangled kernel."""
    name = re.sub(r"\(.*\)$", "", name.removeprefix("void ").replace("(anonymous namespace)::", ""))
    name = re.sub(r"unroll::|cuda::|pointwise::|_GLOBAL__N__\w+::|\(int\)", "", name)
    return name.replace("> >", ">>")


def kernels_of(source, arch, toolkit, folder):
    """(name, registers, shared, spilled) of each kernel, as ptxas says them."""
    words = [toolkit / "bin" / "nvcc", *FLAGS, f"-arch=sm_{arch}", "-Xptxas=-v", "-cubin", source, "-o", folder / "cubin"]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stderr
    found = re.findall(r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes "
                       r"spill loads\n.*?Used (\d+) registers([^\n]*)", said, re.DOTALL)
    plain = run(["c++filt", *[kernel[0] for kernel in found]]).splitlines() if found else []
    for name, (_, stack, stores, loads, registers, rest) in zip(plain, found):
        shared = re.search(r"(\d+) bytes smem", rest)
        yield short(name), int(registers), int(shared.group(1)) if shared else 0, int(stack) + int(stores) + int(loads)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="90")
    parser.add_argument("--toolkit", type=pathlib.Path, default=pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")))
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    only = [name for name in options.only.split(",") if name]
    version = re.search(r"release ([\d.]+)", run([options.toolkit / "bin" / "nvcc", "--version"])).group(1)
    lines = [f"# Kernels, compute capability {int(options.arch) / 10}", "",
             f"`bench/kernel_resources.py --arch {options.arch}`, nvcc {version}. Registers of a thread; bytes of static shared memory of",
             "a block; bytes that a thread spills, stack and local memory.", "",
             "| file | kernel | registers | shared | spilled |", "|---|---|---|---|---|"]
    spills = []
    with tempfile.TemporaryDirectory() as folder:
        for source in sorted((ROOT / "framework" / "kernels" / "cuda").glob("*.cu")):
            if only and source.stem not in only:
                continue
            for name, registers, shared, spilled in sorted(
                    kernels_of(source, options.arch, options.toolkit, pathlib.Path(folder))):
                lines.append(f"| {source.stem} | `{name}` | {registers} | {shared} | {spilled} |")
                if spilled:
                    spills.append(name)
    text = "\n".join(lines) + "\n"
    options.out.write_text(text) if options.out else sys.stdout.write(text)
    sys.exit(f"spills: {', '.join(spills)}" if spills else 0)


main()
