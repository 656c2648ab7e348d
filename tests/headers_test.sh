#!/usr/bin/env bash
# Each header that is installed can be read alone, without a warning that users of other projects have switched on.
set -euo pipefail
compiler=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
headers=$(tests/installed_headers.sh)
[ "$(wc -l <<<"$headers")" -gt 50 ] || { echo "there are more headers than $headers"; exit 1; }
for header in $headers; do
  echo "#include \"$header\"" >"$folder/alone.cpp"
  # shellcheck disable=SC2046 # flags are words
  "$compiler" -std=c++20 -Wall -Wextra -Wshadow -Wsign-conversion -Werror -fsyntax-only -I. $(pkg-config --cflags fmt) "$folder/alone.cpp" ||
    { echo "$header cannot be read alone"; exit 1; }
done
