#!/usr/bin/env bash
# Draws the pictures of the documentation into docs/pictures: README's two from both bundled runs, which it trains, the
# schedules from recipes alone, and the lessons' by their solutions. Makes docs/live.html from a small demo, which it trains.
# Panels of the pages of `look` are drawn by Chromium, where it is.
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
[ -e "$runs/year" ] || "$root/run" timeseries train airline --set data.window=36 --set data.horizon=12 --out "$runs/year"
[ -e "$runs/airline" ] || "$root/run" timeseries train airline --out "$runs/airline"

mkdir -p "$root/docs/pictures"
rm -f "$root"/docs/pictures/{demo,airline,synthetic,schedule-*}.svg   # the programs overwrite nothing
"$root/run" ptb report "$runs/demo" --plot "$root/docs/pictures/demo.svg"
"$root/run" timeseries forecast "$runs/airline/best.safetensors" --steps 24 --plot "$root/docs/pictures/airline.svg" >/dev/null
"$root/run" timeseries generate --rows 120 | python3 "$root/docs/synthetic_picture.py" > "$root/docs/pictures/synthetic.svg"

rm -f "$root"/docs/pictures/look-*.png "$runs"/look*.html
"$root/run" ptb look "$runs/demo/last.safetensors" --out "$runs/look.html" \
  --text "the dog that the men near the trucks wash often chases the cats ."
"$root/run" timeseries look "$runs/year/best.safetensors" --out "$runs/look-series.html"
for page in look look-series; do
  python3 "$root/tests/browser/look_test.py" ptb --page "$runs/$page.html" --panels "$root/docs/pictures" || [ $? = 77 ]
done

# The page that runs its model, which is small enough to lie in docs.
[ -e "$runs/small" ] || "$root/run" ptb train demo --set model.embedding=80 --set model.hidden=80 --set model.tied=true --out "$runs/small"
rm -f "$runs/live.html"
(cd "$runs" && "$root/run" ptb look small/last.safetensors --live 8 --out live.html \
  --text "the dog that the men near the trucks wash often chases the cats .")
mv "$runs/live.html" "$root/docs/live.html"
python3 "$root/tests/browser/live_test.py" ptb --page "$root/docs/live.html" --panels "$root/docs/pictures" || [ $? = 77 ]

for picture in constant=awd-lstm step=ptb-medium plateau=ptb-medium-tied cosine=demo one_cycle=awd-lstm-onecycle; do
  "$root/run" ptb explain "${picture#*=}" --plot "$root/docs/pictures/schedule-${picture%%=*}.svg" >/dev/null
done

# The lessons look for the trained demo where they are done.
mkdir -p "$runs/lessons"
cp "$runs/demo/last.safetensors" "$runs/lessons/demo.safetensors"
for folder in "$root"/examples/lessons/[0-9][0-9]-*; do
  name=${folder##*/}
  (cd "$runs" && "$root/run" lesson "${name%%-*}" --solution)
  cp "$runs/lessons/$name.svg" "$root/docs/pictures/lesson-${name%%-*}.svg"
done

results=$root/bench/results
rm -f "$root/docs/pictures/ladder.svg"
python3 "$root/bench/ladder.py" picture "$root/docs/pictures/ladder.svg" "$results"/ptb-{6m,19m,19m-transformer,afternoon}-seed-1.log \
  "awd-lstm, an H100=$results/awd-lstm-bf16-h100.log" "ptb-small=$results/ptb-small-amx-seed-1.log"
