#!/usr/bin/env bash
# Tries a script that fetches files (data/get-ptb.sh, data/get-series.sh) against a server on the loopback interface: wrong
# contents, a missing file, no server, bad options, files that are there already; and success where REAL, not empty,
# names a folder with the real files.
# usage: get_files_test.sh SCRIPT REAL FILE...; exit status 77: python3, which serves the files, or what fetches them is
# not installed.
set -uo pipefail
script=$1 real=$2
shift 2
files=("$@")
first=${files[0]} last=${files[-1]}
command -v python3 >/dev/null || { echo 'get_files_test: no python3 to serve files with'; exit 77; }
command -v curl wget >/dev/null || { echo 'get_files_test: neither curl nor wget'; exit 77; }
export no_proxy='*' NO_PROXY='*'

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
mkdir "$work/served" "$work/served/partial"
for file in "${files[@]}"; do echo "not $file" >"$work/served/$file"; done

python3 -u - "$work/served" >"$work/port" 2>/dev/null <<'PY' &
import functools, http.server, sys
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
print(server.server_address[1])
server.serve_forever()
PY
server=$!
for _ in $(seq 200); do [ -s "$work/port" ] && break; sleep 0.05; done
[ -s "$work/port" ] || { echo 'get_files_test: the server did not start'; exit 1; }
address=http://127.0.0.1:$(cat "$work/port")

failures=0
# expect NAME STATUS TEXT ARGUMENTS...: runs the script; its output is one line that contains TEXT.
expect() {
  local name=$1 status=$2 text=$3
  shift 3
  local output code=0
  output=$(bash "$script" "$@" 2>&1) || code=$?
  local lines
  lines=$(printf '%s\n' "$output" | wc -l)
  if [ "$code" != "$status" ] || [ "${output#*"$text"}" = "$output" ] || [ "$lines" != 1 ]; then
    printf 'get_files_test: %s: status %s (not %s), output: %s\n' "$name" "$code" "$status" "$output"
    failures=$((failures + 1))
  fi
}
gone() { [ ! -e "$1" ] || { echo "get_files_test: $1 was left behind"; failures=$((failures + 1)); }; }

list() { ls -A "$1" | LC_ALL=C sort | tr '\n' ' '; }
sorted() { printf '%s\n' "$@" | LC_ALL=C sort | tr '\n' ' '; }

expect 'wrong contents' 1 "$address/$first is not the file expected" --from "$address" "$work/a"
gone "$work/a"
expect 'missing file' 1 "could not download $address/partial/$first" --from "$address/partial/" "$work/b"
gone "$work/b"
expect 'no server' 1 "could not download http://127.0.0.1:1/$first" --from=http://127.0.0.1:1 "$work/c"
gone "$work/c"
expect 'unknown option' 2 'no such option: --form' --form "$address"
expect 'no address' 2 '--from needs an address' --from
expect 'an empty address' 2 '--from needs an address' --from= "$work/c"
expect 'two folders' 2 "not also 'b'" a b

mkdir "$work/mine"
echo mine >"$work/mine/$last"
expect 'foreign file in place' 1 "$work/mine/$last is there, but" --from "$address" "$work/mine"
[ "$(list "$work/mine")$(cat "$work/mine/$last")" = "$last mine" ] ||
  { echo 'get_files_test: a folder that was there was changed'; failures=$((failures + 1)); }

if [ -n "$real" ]; then
  mkdir "$work/served/real"
  for file in "${files[@]}"; do cp "$real/$file" "$work/served/real/"; chmod u+w "$work/served/real/$file"; done
  expect 'success' 0 "are in $work/d" --from "$address/real" "$work/d"
  [ "$(list "$work/d")" = "$(sorted "${files[@]}")" ] ||
    { echo 'get_files_test: not exactly the files'; failures=$((failures + 1)); }
  rm "$work/d/$last"
  echo broken >"$work/served/real/$last"
  expect 'the last file broken' 1 "$last is not the file expected" --from "$address/real" "$work/d"
  [ "$(list "$work/d")" = "$(sorted "${files[@]:0:${#files[@]}-1}")" ] ||
    { echo 'get_files_test: what was there did not stay as it was'; failures=$((failures + 1)); }
  cp "$real/$last" "$work/d/"
  expect 'all there' 0 'already' --from http://127.0.0.1:1 "$work/d"
fi

[ "$failures" = 0 ] && echo 'get_files_test: passed'
[ "$failures" = 0 ]
