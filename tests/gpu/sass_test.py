#!/usr/bin/env python3
"""Looks at the machine code of the GPU's kernels: memory accesses of 128 bits in each elementwise kernel, no slow division in the
persistent kernel, and no registers that spill.

    tests/gpu/sass_test.py NVCC [ROOT] [--arch 75,90] [--file updates]

Needs nvdisasm: beside nvcc, in the path, named by UNROLL_NVDISASM, or of a Python package (nvidia-cuda-nvdisasm, triton).
Exits with 77, which Meson calls skipped, where there is none.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

ARCHITECTURES = ['75', '80', '86', '89', '90', '100', '120']
FILES = ['elements', 'updates', 'masks', 'gemm', 'losses', 'middle', 'rows', 'lstm_cell', 'gru_cell', 'rnn_cell', 'few_rows', 'lstm_window', 'lstm_norm_window', 'gru_window']

# Functors whose pieces are not all 128 bits: (loads, stores). Others read and write at least one stream so.
# 64: of 16-bit numbers. None: nothing to read, or numbers from here and there.
OTHER_WIDTHS = {
    'Fill': (None, 128),
    'Round': (128, 64),
    'Widen': (64, 128),
    'Pack': (None, None),  # of 4, 2 and 8 bytes, from rows or columns
    'Copy': (None, 128),  # a transposed matrix; copy_blocks
    'Take': (None, 128),
    'SumMiddleSlope': (None, 128),
    'MaxMiddleSlope': (None, 128),
}


def find_nvdisasm(nvcc):
    named = os.environ.get('UNROLL_NVDISASM')
    candidates = [named] if named else [pathlib.Path(nvcc).parent / 'nvdisasm', shutil.which('nvdisasm')]
    packages = [pathlib.Path(sysconfig.get_paths()[name]) for name in ('purelib', 'platlib')]
    for package in packages:
        candidates += sorted(package.glob('nvidia/*/bin/nvdisasm')) + [package / 'triton/backends/nvidia/bin/nvdisasm']
    return next((str(c) for c in candidates if c and os.access(c, os.X_OK)), None)


def kernels_in(text):
    """{mangled name: code} of nvdisasm's text."""
    parts = re.split(r'(?m)^//-+ \.text\.(\S+).*$', text)
    return dict(zip(parts[1::2], parts[2::2]))


def functor_of(name):
    """The functor's name of a mangled run_each<Functor, Streams…>; None of other kernels."""
    at = re.match(r'_ZN6unroll4cuda8run_eachIN', name)
    if not at:
        return None
    words, i = [], at.end()
    while i < len(name):
        found = re.match(r'S\d*_|\d+', name[i:])
        if not found:
            break
        i += found.end()
        if found.group().startswith('S'):
            continue
        words.append(name[i:i + int(found.group())])
        i += int(found.group())
    return words[-1]


def widths(code, instruction):
    return {int(bits) for bits in re.findall(instruction + r'\.E(?:\.\w+)*?\.(64|128)\b', code)}


# Slow divisions of the persistent kernels, which are those of UNROLL_PLAIN=fast-functions, by cell. Forward three sigmoids and two tanh
# of an LSTM, two and one of a GRU. Back one tanh of an LSTM. With layer norm nine more, once a row or a
# step, and back two, once a launch.
SLOW_DIVISIONS = {'forward': {'LstmUnits': 5, 'NormedLstm': 14, 'GruUnits': 3}, 'backward': {'LstmUnits': 1, 'NormedLstm': 3, 'GruUnits': 0}}


def persistent_kernel(name):
    """Its way and its cell, or None."""
    found = re.match(r'_ZN6unroll4cuda\d+persistent_(forward|backward)I.*?(LstmUnits|NormedLstm|GruUnits)', name)
    return found and found.groups()


def faults_in(name, code):
    kernel = persistent_kernel(name)
    calls = len(re.findall(r'\bCALL\..*(?:div_rn|rcp_rn)', code))
    if kernel and calls > SLOW_DIVISIONS[kernel[0]][kernel[1]]:
        yield f'{" ".join(kernel)}: {calls} slow divisions'
    functor = functor_of(name)
    if functor is None:
        return
    loads, stores = OTHER_WIDTHS.get(functor, (128, 128))
    for instruction, width in (('LDG', loads), ('STG', stores)):
        if width and width not in widths(code, instruction):
            yield f'{functor}: no {instruction}.E.{width}'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('nvcc')
    parser.add_argument('root', nargs='?', default='.')
    parser.add_argument('--arch', default=','.join(ARCHITECTURES))
    parser.add_argument('--file', default=','.join(FILES))
    options = parser.parse_args()
    nvdisasm = find_nvdisasm(options.nvcc)
    if not nvdisasm:
        print('skipped: there is no nvdisasm (pip install nvidia-cuda-nvdisasm, or UNROLL_NVDISASM=PATH)')
        return 77
    known = subprocess.run([options.nvcc, '--list-gpu-arch'], capture_output=True, text=True, check=True).stdout
    faults, seen = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for arch in options.arch.split(','):
            if f'compute_{arch}\n' not in known:
                print(f'{arch}: not known to {options.nvcc}')
                continue
            for file in options.file.split(','):
                cubin = pathlib.Path(folder) / 'kernels.cubin'
                compiled = subprocess.run(
                    [options.nvcc, '-std=c++20', '-O3', '--expt-relaxed-constexpr', '-Xptxas=-v', '-I' + options.root,
                     '-cubin', '-arch=sm_' + arch, f'{options.root}/framework/kernels/cuda/{file}.cu', '-o', cubin],
                    capture_output=True, text=True)
                if compiled.returncode:
                    faults.append(f'{arch}, {file}: {compiled.stderr.strip()[-300:]}')
                    continue
                spills = {int(n) for n in re.findall(r'(\d+) bytes spill', compiled.stderr)}
                if spills - {0}:
                    faults.append(f'{arch}, {file}: registers spill, {max(spills)} bytes')
                text = subprocess.run([nvdisasm, '-c', cubin], capture_output=True, text=True, check=True).stdout
                kernels = kernels_in(text)
                of_streams = [name for name in kernels if functor_of(name)]
                seen += len(of_streams)
                if file.endswith('_window') and not any(persistent_kernel(name) for name in kernels):
                    faults.append(f'{arch}, {file}: no persistent kernel')
                for name in kernels:
                    faults += [f'{arch}, {file}: {fault}' for fault in faults_in(name, kernels[name])]
                print(f'{arch}, {file}: {len(kernels)} kernels, {len(of_streams)} on streams', flush=True)
    for fault in sorted(set(faults)):
        print('FAULT', fault)
    print(f'{seen} elementwise kernels, {len(set(faults))} faults')
    return 1 if faults or not seen else 0


if __name__ == '__main__':
    sys.exit(main())
