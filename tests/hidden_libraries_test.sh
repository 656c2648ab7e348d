#!/usr/bin/env bash
# A program that was built with CUDA, where NVIDIA's libraries are not: it needs none of them to start, trains on the CPU,
# and says what is missing. $1: the program ptb; $2: the toolkit's folder of libraries, which is compiled into it.
set -euo pipefail
program=$1 folder=$2
unset LD_LIBRARY_PATH

needed=$(ldd "$program")
if grep -E 'lib(cu(da|dart|blas|blasLt|dnn)|nvidia)[^ ]*\.so' <<<"$needed"; then
  echo "the program is linked with NVIDIA's libraries"
  exit 1
fi

if [ $# = 2 ]; then
  hidden=$(cd "$folder" && ls | grep -E '^lib(cublas|cudnn)\.so\.[0-9]+$' || true)
  # In a namespace of its own, which root may have, and where the system lets them a plain user.
  for way in 'unshare --mount' 'unshare --user --map-root-user --mount'; do
    if $way mount -t tmpfs none "$folder" 2>/dev/null; then exec $way "$0" "$program" "$folder" libcuda.so.1 $hidden; fi
  done
  echo "SKIPPED: no namespace can be had here (unshare --mount), so NVIDIA's libraries were not hidden"
  exit 77
fi

mount -t tmpfs none "$folder"
while read -r library; do
  if [ -e "$library" ]; then mount --bind /dev/null "$library"; fi
done < <(ldconfig -p | sed -n 's/.*=> \(.*\/lib\(cuda\|cublas\|cublasLt\|cudart\|cudnn\)[^/]*\)$/\1/p')
for library in "${@:3}"; do
  # The system's loader says so where it cannot open what is to be loaded first.
  LD_PRELOAD=$library /bin/true 2>&1 | grep -q 'cannot be preloaded' || { echo "$library is not hidden"; exit 1; }
  [ ! -e "$folder/$library" ] || { echo "$folder/$library is not hidden"; exit 1; }
done

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
small=(--set model.hidden=16 --set model.embedding=16 --set data.train_tokens=20000 --set data.valid_tokens=1000
  --set data.test_tokens=1000 --set training.epochs=1)
said=$("$program" train demo "${small[@]}" --out "$out/run")
[ -s "$out/run/last.safetensors" ] || { echo "$said"; echo "no model was trained"; exit 1; }
why='there is no NVIDIA driver|lib(cuda|cublas|cudnn)[^ ]*: cannot open|file too short'
grep -Eq "^engine .*fused, because .*($why)" <<<"$said" || { echo "$said"; echo "train does not say what is missing"; exit 1; }
said=$("$program" explain demo)
grep -Eq "^Device: cpu, since .*($why)" <<<"$said" || { echo "$said"; echo "explain does not say what is missing"; exit 1; }
status=0
said=$("$program" train demo --device cuda --out "$out/refused" 2>&1) || status=$?
if [ "$status" != 2 ] || [ "$(wc -l <<<"$said")" != 1 ] || ! grep -Eq "device cuda: .*($why)" <<<"$said"; then
  echo "$said"
  echo "asking for the GPU is not refused in one line: exit code $status"
  exit 1
fi
