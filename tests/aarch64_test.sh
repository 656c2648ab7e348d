#!/usr/bin/env bash
# ./run test --aarch64, where there are its compiler and qemu.
set -euo pipefail
for tool in aarch64-linux-gnu-g++ qemu-aarch64 apt-get dpkg; do
  command -v "$tool" >/dev/null && continue
  echo "SKIPPED: there is no $tool, which ./run test --aarch64 needs (Debian's packages g++-aarch64-linux-gnu and qemu-user)"
  exit 77
done
exec ./run --no-install test --aarch64
