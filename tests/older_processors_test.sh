#!/usr/bin/env bash
# The same programs on other processors, which qemu plays: an instruction that such a processor lacks stops them, wherever it
# comes from. On x86-64 those without AVX-512, and without AVX; for Arm one without BFMMLA, and one with all that qemu has.
# Arguments: x86_64 or aarch64, the programs ptb and timeseries, then suites of kernels, which on each processor test those that run there.
set -euo pipefail
architecture=$1 ptb=$(realpath "$2") timeseries=$(realpath "$3")
mapfile -t suites < <(realpath "${@:4}")

case $architecture in
  x86_64) emulator=(qemu-x86_64) processors=(Nehalem Haswell) kernels=(baseline avx2) ;;
  aarch64) emulator=(qemu-aarch64 -L /usr/aarch64-linux-gnu) processors=(cortex-a57 max) kernels=(baseline neon_bf16) ;;
  *) processors=() ;;
esac
if [ ${#processors[@]} = 0 ] || ! command -v "${emulator[0]}" >/dev/null; then
  echo "SKIPPED: processors are emulated by qemu (Debian's package qemu-user), x86-64's and 64-bit Arm's"
  exit 77
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$out"
tiny=(--set model.hidden=16 --set model.embedding=16 --set data.train_tokens=8000 --set data.valid_tokens=300
  --set data.test_tokens=300 --set training.epochs=1)

on() {  # PROCESSOR PROGRAM ARGUMENT…: its output; where it fails, all that it said, and the end of this test
  local said
  said=$("${emulator[@]}" -cpu "$@" 2>&1) || {
    local code=$?
    printf '%s\non %s: %s ended with %s\n' "$said" "$1" "$2" "$code" >&2
    exit 1
  }
  echo "$said"
}
try() {  # PROCESSOR KERNELS
  local explained
  explained=$(on "$1" "$ptb" explain demo)
  grep -q "by the kernels for $2\$" <<<"$explained" || { echo "on $1: not the kernels for $2"; exit 1; }
  on "$1" "$ptb" train demo "${tiny[@]}" --out "$1" >/dev/null
  on "$1" "$ptb" generate "$1/best.safetensors" --words 5 >/dev/null
  on "$1" "$ptb" train demo "${tiny[@]}" --engine composed --out "$1-composed" >/dev/null
  UNROLL_ISA=emulated_bf16 on "$1" "$ptb" train demo --set training.precision=bf16 --dry-run >/dev/null
  on "$1" "$timeseries" train airline --dry-run >/dev/null
  for suite in "${suites[@]}"; do  # of the products those of many blocks take minutes here
    on "$1" "$suite" --test-case-exclude='*several blocks*,*do not depend on threads*' >/dev/null
  done
}
for i in "${!processors[@]}"; do try "${processors[i]}" "${kernels[i]}"; done
