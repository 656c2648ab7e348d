#!/bin/bash
# What a machine with an NVIDIA driver and nothing else needs for check.sh, as one file. ./run gpu-check --pack FILE calls this:
#   pack.sh BUILD FILE
# BUILD: a folder that was built with CUDA. FILE: a .tar.xz, at most 64 MiB.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")") root=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../..")
build=$1 out=$2
fail() { printf './run gpu-check --pack: %s\n' "$*" >&2; exit 1; }
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
folder=$temporary/gpu-check
mkdir -p "$folder"/{bin,lib,bench,data,reference}
cp "$build"/tests/gpu/gpu_*_test "$build"/examples/{ptb/ptb,timeseries/timeseries} "$build"/bench/{bench_lm,bench_options,cudnn_claims} "$folder/bin/"
strip "$folder"/bin/*
# Libraries that a bare system lacks. C's and C++'s own are those of the system, which PyTorch's and NVIDIA's want newer than ours.
needed=$(for program in "$folder"/bin/*; do ldd "$program"; done | awk '/=> not found/ { print $1 } /=> \// { print $3 }' | sort -u)
for library in $needed; do
  case ${library##*/} in
    libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | ld-linux* | libstdc++.so.* | libgcc_s.so.*) ;;
    *) [ -e "$library" ] || fail "there is no $library here, which a program needs"; cp -L "$library" "$folder/lib/" ;;
  esac
done
cp "$root"/bench/pytorch_{lm,best}.py "$folder/bench/"
cp "$root"/tests/reference/*.json "$folder/reference/"
cp "$root"/data/ptb/ptb.{train,valid,test}.txt "$folder/data/"
cp "$here/check.sh" "$root/LICENSE" "$folder/"
commit=$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null || echo none)
[ -z "$(git -C "$root" status --porcelain --untracked-files=no 2>/dev/null)" ] || commit="$commit with changes"
printf '%s\n' "$commit" > "$folder/commit"

mkdir -p "$(dirname "$out")"
tar -C "$temporary" --owner=0 --group=0 -c gpu-check | xz -2 --lzma2=preset=2,dict=256MiB > "$temporary/pack"
size=$(stat -c %s "$temporary/pack")
[ "$size" -le $((64 << 20)) ] || fail "the file would have $((size >> 20)) MiB, more than 64: a build for fewer GPUs is smaller (-Dgpu_arch=90)"
mv "$temporary/pack" "$out"
printf '%s: %s.%s MiB, commit %s\n' "$out" $((size >> 20)) $(((size & 1048575) * 10 >> 20)) "$commit"
printf 'There: tar xf %s && gpu-check/check.sh\n' "${out##*/}"
