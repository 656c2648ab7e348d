# What get-ptb.sh and get-series.sh share; sourced by them, which name the files.
#
# script: their own name; directory: where to by default; files: names, separated by blanks; address FILE: where it
# comes from by default; expected FILE: its SHA-256. A file is checked before it is put in place.
from=

usage() {
  cat <<EOF
Usage: $script [--from URL] [DIR]

Fetches these files into DIR (default: $directory), with curl or wget, and checks their SHA-256:

$(for file in $files; do echo "  $file from $(address "$file")"; done)

These addresses have not been tried.

  --from URL   take them from URL/FILE instead
EOF
}

fail() { printf '%s: %s\n' "$script" "$2" >&2; exit "$1"; }

named=
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --from) [ $# -ge 2 ] && [ -n "$2" ] || fail 2 '--from needs an address'; from=$2; shift ;;
    --from=) fail 2 '--from needs an address' ;;
    --from=*) from=${1#--from=} ;;
    -*) fail 2 "no such option: $1 (--help lists them)" ;;
    *) [ -z "$named" ] || fail 2 "one folder, not also '$1'"; named=$1 ;;
  esac
  shift
done
directory=${named:-$directory}

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
  echo "$script: everything is in $directory already"
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
scratch=$(mktemp -d -p "$directory" 2>/dev/null) || fail 1 "cannot write to $directory"

for file in $missing; do
  source=$(address "$file")
  [ -z "$from" ] || source=${from%/}/$file
  download "$source" "$scratch/$file" || fail 1 "could not download $source"
  is_right "$file" "$scratch/$file" ||
    fail 1 "what came from $source is not the file expected (SHA-256 differs); nothing was kept"
done
for file in $missing; do mv -- "$scratch/$file" "$directory/$file"; done
echo "$script: $(echo $files) are in $directory"
