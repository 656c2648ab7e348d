#!/usr/bin/env bash
# Tries data/get-ptb.sh against a server on the loopback interface: wrong contents, a missing file, no server,
# bad options, files that are there already; and success where UNROLL_PTB names a folder with the real files.
# usage: get_ptb_test.sh SCRIPT; exit status 77: python3, which serves the files, or what fetches them is not installed.
set -uo pipefail
script=$1
command -v python3 >/dev/null || { echo 'get_ptb_test: no python3 to serve files with'; exit 77; }
command -v curl wget >/dev/null || { echo 'get_ptb_test: neither curl nor wget'; exit 77; }
export no_proxy='*' NO_PROXY='*'

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
mkdir "$work/served" "$work/served/partial"
for split in train valid test; do echo "not the $split split" >"$work/served/ptb.$split.txt"; done

python3 -u - "$work/served" >"$work/port" 2>/dev/null <<'PY' &
import functools, http.server, sys
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
print(server.server_address[1])
server.serve_forever()
PY
server=$!
for _ in $(seq 200); do [ -s "$work/port" ] && break; sleep 0.05; done
[ -s "$work/port" ] || { echo 'get_ptb_test: the server did not start'; exit 1; }
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
    printf 'get_ptb_test: %s: status %s (not %s), output: %s\n' "$name" "$code" "$status" "$output"
    failures=$((failures + 1))
  fi
}
gone() { [ ! -e "$1" ] || { echo "get_ptb_test: $1 was left behind"; failures=$((failures + 1)); }; }

expect 'wrong contents' 1 "$address/ptb.train.txt is not the file expected" --from "$address" "$work/a"
gone "$work/a"
expect 'missing file' 1 "could not download $address/partial/ptb.train.txt" \
  --from "$address/partial/" "$work/b"
gone "$work/b"
expect 'no server' 1 'could not download http://127.0.0.1:1/ptb.train.txt' --from=http://127.0.0.1:1 "$work/c"
gone "$work/c"
expect 'unknown option' 2 'no such option: --form' --form "$address"
expect 'no address' 2 '--from needs an address' --from

mkdir "$work/mine"
echo mine >"$work/mine/ptb.valid.txt"
expect 'foreign file in place' 1 "$work/mine/ptb.valid.txt is there, but" --from "$address" "$work/mine"
[ "$(ls -A "$work/mine") $(cat "$work/mine/ptb.valid.txt")" = 'ptb.valid.txt mine' ] ||
  { echo 'get_ptb_test: a folder that was there was changed'; failures=$((failures + 1)); }

if [ -n "${UNROLL_PTB:-}" ]; then
  mkdir "$work/served/real"
  cp "$UNROLL_PTB"/ptb.{train,valid,test}.txt "$work/served/real/"
  expect 'success' 0 "are in $work/d" --from "$address/real" "$work/d"
  [ "$(ls -A "$work/d" | tr '\n' ' ')" = 'ptb.test.txt ptb.train.txt ptb.valid.txt ' ] ||
    { echo 'get_ptb_test: not exactly the three files'; failures=$((failures + 1)); }
  rm "$work/d/ptb.test.txt"
  echo broken >"$work/served/real/ptb.test.txt"
  expect 'the third file broken' 1 'ptb.test.txt is not the file expected' --from "$address/real" "$work/d"
  [ "$(ls -A "$work/d" | tr '\n' ' ')" = 'ptb.train.txt ptb.valid.txt ' ] ||
    { echo 'get_ptb_test: what was there did not stay as it was'; failures=$((failures + 1)); }
  cp "$UNROLL_PTB/ptb.test.txt" "$work/d/"
  expect 'all there' 0 'already' --from http://127.0.0.1:1 "$work/d"
fi

[ "$failures" = 0 ] && echo 'get_ptb_test: passed'
[ "$failures" = 0 ]
