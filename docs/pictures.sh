#!/usr/bin/env bash
# Draws the two pictures of README.md into docs/pictures: trains both bundled runs and lets the programs draw them.
#
#   docs/pictures.sh [FOLDER]    FOLDER keeps the runs; a run that is there already is drawn without training it again
set -euo pipefail
root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
runs=${1-}
if [ -z "$runs" ]; then
  runs=$(mktemp -d)
  trap 'rm -r -- "$runs"' EXIT
fi

[ -e "$runs/demo" ] || "$root/run" ptb train demo --out "$runs/demo"
[ -e "$runs/airline" ] || "$root/run" timeseries train airline --out "$runs/airline"

mkdir -p "$root/docs/pictures"
rm -f "$root"/docs/pictures/{demo,airline}.svg   # the programs overwrite nothing
"$root/run" ptb report "$runs/demo" --plot "$root/docs/pictures/demo.svg"
"$root/run" timeseries forecast "$runs/airline/best.safetensors" --steps 24 --plot "$root/docs/pictures/airline.svg" >/dev/null
