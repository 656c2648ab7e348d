#!/bin/bash
# What a machine with an NVIDIA driver and nothing else needs for check.sh, as one file. ./run gpu-check --pack FILE calls this:
#   pack.sh BUILD FILE
# BUILD: a folder that was built with CUDA. FILE: a .tar.xz, at most 64 MiB.
#   pack.sh --over-standin BUILD FOLDER
# A folder in which check.sh runs over the stand-in for CUDA (tests/standin): ./run gpu-check --dry-run. The text is a small one.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")") root=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../..")
commit=$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null || echo none)
[ -z "$(git -C "$root" status --porcelain --untracked-files=no 2>/dev/null)" ] || commit="$commit with changes"

if [ "$1" = --over-standin ]; then
  programs=$(readlink -f "$2")/tests/standin folder=$3
  mkdir -p "$folder"/{bin,data,stand-in}
  # A program holds several suites, of which a script chooses one, as Meson's test of it does.
  meson introspect --tests "$2" | python3 -c '
import json, pathlib, shlex, sys
for test in json.load(sys.stdin):
    if test["name"].startswith("standin_") and pathlib.Path(test["cmd"][0]).name.endswith("_suites") and not test["name"].endswith("_large"):
        script = pathlib.Path(sys.argv[1], "gpu_" + test["name"].removeprefix("standin_") + "_test")
        script.unlink(missing_ok=True)
        script.write_text("#!/bin/sh\nexec " + shlex.join(test["cmd"][:3]) + " \"$@\"\n")
        script.chmod(0o755)' "$folder/bin"
  for name in ptb timeseries bench_lm bench_options cudnn_claims; do ln -sfn "$programs/${name}_over_standin" "$folder/bin/$name"; done
  ln -sfn "$root/bench" "$folder/bench"
  ln -sfn "$root/tests/reference" "$folder/reference"
  for split in train valid test; do
    awk -v lines=$([ $split = train ] && echo 40 || echo 10) 'BEGIN {
      for (i = 1; i <= lines; ++i) for (k = 0; k < 10; ++k) printf " w%d%s", (7 * i * (k + 3) + k) % 30, k == 9 ? "\n" : ""
    }' > "$folder/data/ptb.$split.txt"
  done
  printf '#!/bin/sh\n# Plays compute-sanitizer.\n[ "$1 $3" = "--error-exitcode --tool" ] && shift 4 && exec "$@"\n' > "$folder/stand-in/compute-sanitizer"
  chmod +x "$folder/stand-in/compute-sanitizer"
  cp "$here/check.sh" "$folder/"
  printf '%s\n' "$commit" > "$folder/commit"
  exit
fi

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
printf '%s\n' "$commit" > "$folder/commit"

mkdir -p "$(dirname "$out")"
tar -C "$temporary" --owner=0 --group=0 -c gpu-check | xz -2 --lzma2=preset=2,dict=256MiB > "$temporary/pack"
size=$(stat -c %s "$temporary/pack")
[ "$size" -le $((64 << 20)) ] || fail "the file would have $((size >> 20)) MiB, more than 64: a build for fewer GPUs is smaller (-Dgpu_arch=90)"
mv "$temporary/pack" "$out"
printf '%s: %s.%s MiB, commit %s\n' "$out" $((size >> 20)) $(((size & 1048575) * 10 >> 20)) "$commit"
printf 'There: tar xf %s && gpu-check/check.sh\n' "${out##*/}"
