#!/bin/bash
# What only a GPU can say, in parts: whether the tests pass there, whether engines agree, how fast training is, and where the
# published recipes end. Nothing is built, installed or fetched. ./run gpu-check --pack FILE makes a file of this script, the
# programs and the text, for a machine with a driver and nothing else; there:
#
#   tar xf FILE && gpu-check/check.sh [--minutes N] [PART…]
#
#   facts     the GPU, its libraries, and which engine serves which recipe
#   tests     the suites that compute on a GPU
#   sanitize  the same kernels under compute-sanitizer, where it is installed
#   agree     what is said of cuDNN (bench/cudnn_claims.cpp); the first steps of ptb-small by each engine: losses against the
#             CPU's, and whether bits repeat
#   speed     three models by each engine and in each precision, beside PyTorch where it is installed
#   changes   each change of the kernels that UNROLL_PLAIN takes back: three models with all of them, without each that acts on the
#             engine, and without any, beside each other; a GRU and an LSTM with layer norm without theirs; the GPU's clocks;
#             PyTorch in its fastest configuration
#   options   what each option of a recurrent layer costs beside cuDNN without it
#   train     the published recipes, each for nine minutes at most. Called again, it goes on where it was
#   train:RECIPE[:PRECISION]  one of them, in its own precision or another
#
# Without a part all of them. Each step has a limit of time; after a failure the next step follows. The last lines are a table.
# Exit code 1: a step failed. ./run gpu-check --results FOLDER… makes bench/results/ of what a check left.
#
# --minutes N: the call ends after N minutes, and the next one with --minutes goes on: it leaves out the steps that ended.
#
# Nothing is read of what another commit left: its OUT becomes OUT-COMMIT, and a training of its in RUNS NAME-COMMIT.
#
# Variables: OUT, the folder of what is left (out, beside this script); RUNS, that of trainings, which holds their
# checkpoints (OUT/runs); LIMIT, seconds that a step may take at most; JOBS, how many steps that measure no time run side by
# side (a quarter of the cores); SECONDS_EACH, how long each speed is measured (2; changes 0.3, options 0.2); MODELS, those that are
# timed (small medium large).
#
# Programs made over the stand-in for CUDA (./run gpu-check --dry-run) measure nothing: sizes are small, facts and timed parts
# compute nothing, and each suite runs its first case.
set -u
parts=() minutes= limited= only_check=
while [ $# -gt 0 ]; do
  case $1 in
    facts | tests | sanitize | agree | changes | speed | options | train | train:?*) parts+=("$1") ;;
    --minutes) limited=yes minutes=${2-}; shift ;;
    --check) only_check=yes ;;  # the words alone
    --help | -h) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit ;;
    *) echo "check.sh: there is no part '$1'; the parts are facts, tests, sanitize, agree, changes, speed, options, train, train:RECIPE[:PRECISION]" >&2; exit 2 ;;
  esac
  shift
done
[ -z "$limited" ] || [[ $minutes =~ ^[1-9][0-9]*$ ]] || { echo "check.sh: --minutes wants a whole number, at least 1, got '$minutes'" >&2; exit 2; }
[ -z "$only_check" ] || exit 0
end=${minutes:+$(($(date +%s) + 60 * minutes))}
[ ${#parts[@]} -gt 0 ] || parts=(facts tests sanitize agree changes speed options train)
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" || exit
OUT=$(realpath -m "${OUT:-out}") && RUNS=$(realpath -m "${RUNS:-$OUT/runs}") || exit
steps=$OUT/steps.tsv
jobs=${JOBS:-$(( ($(nproc) + 3) / 4 ))} models=${MODELS:-small medium large}
python=$(command -v python3 || true)

# NVIDIA's libraries: the toolkit's, or those that PyTorch came with.
site=
if [ -n "$python" ]; then
  site=$("$python" -c 'import importlib.util as u; s = u.find_spec("nvidia"); print(list(s.submodule_search_locations)[0] if s else "")' 2>/dev/null)
fi
libraries=$PWD/lib
for folder in /usr/local/cuda/lib64 ${site:+"$site"/*/lib} /usr/lib/x86_64-linux-gnu; do
  for name in libcudnn libcublas libcublasLt libnvrtc; do
    if ls "$folder/$name".so.* >/dev/null 2>&1; then libraries=$libraries:$folder; break; fi
  done
done
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} XDG_CACHE_HOME=$PWD/cache UNROLL_TEST_DATA=$PWD/reference

# Why no GPU can compute: empty where one can.
facts=$(bin/bench_lm --device cuda --facts 2>&1 | tail -1) no_gpu=$facts
case $no_gpu in
  *'"why_not":"there is no NVIDIA driver"'*) no_gpu='no driver' ;;
  *'"why_not":"'*) no_gpu=${no_gpu#*\"why_not\":\"} no_gpu=${no_gpu%%\"*} ;;
  '{'*) no_gpu= ;;
  *) no_gpu="bench_lm does not start: $no_gpu" ;;
esac
# Over the stand-in for CUDA, and never in the folder of a GPU's figures, nor the other way round.
standin=
case $facts in *'"gpu":"stand-in'*) standin=yes ;; esac
if [ -e "$OUT/commit" ] && [ "$standin" != "$(cat "$OUT/stand-in" 2>/dev/null)" ]; then
  echo "check.sh: in $OUT a dry run and a GPU's figures would meet; another folder: OUT=FOLDER" >&2
  exit 2
fi
# Moves a folder that another commit left; the file has its commit.
set_aside() {  # FOLDER FILE
  if [ ! -e "$1" ] || cmp -s commit "$2"; then return 0; fi
  local of=unknown
  [ ! -e "$2" ] || of=$(tr -c '[:alnum:]\n' - < "$2")
  mv -T --backup=numbered "$1" "$1-$of"
}
{ [ ! -e "$OUT/commit" ] || set_aside "$OUT" "$OUT/commit"; } && mkdir -p "$OUT" "$RUNS" || exit
first=$(cat "$steps" 2>/dev/null | wc -l)
[ -z "$standin" ] || echo "$standin" > "$OUT/stand-in"
small=() first_case=() peak=--peak
if [ -n "$standin" ]; then
  PATH=$PWD/stand-in:$PATH SECONDS_EACH=${SECONDS_EACH:-0.001} first_case=(--last=1) peak=
  small=(--set model.embedding=8 --set model.hidden=8 --set model.last_hidden=0 --set training.epochs=2 --set data.batch=2 --set data.bptt=5)
fi
no_torch=
if [ -n "$standin" ]; then no_torch='a dry run'
elif [ -z "$python" ]; then no_torch='no python3'
elif ! "$python" -c 'import torch' 2>/dev/null; then no_torch='no torch'; fi

record() {  # OUTCOME SECONDS NAME NOTE: a line of the table
  printf '%s\t%s\t%s\t%s\n' "$@" >> "$steps"
  printf '%-10s %6s s  %-36s %s\n' "$@"
}

# What a step said, in a line: figures if it printed some, else the last that counts.
note_of() {
  local line
  if line=$(grep -a '^{.*"words_per_second"' "$1" | tail -1) && [ -n "$line" ]; then
    printf '%s\n' "$line" | awk '
      function value(key) { return match($0, "\"" key "\":[ ]*[-+.0-9e]+") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) + 0 : "" }
      { printf "%.0f words/s, %.3f ms a step\n", value("words_per_second"), value("ms_per_step") }'
  elif grep -qa '"option_ms"' "$1"; then
    printf '%s cases\n' "$(grep -ao '"option_ms"' "$1" | wc -l)"
  else
    grep -aE '^(null-lengths|empty-rows|padded-io|bf16-persistent|multiples|one-call): |assertions:|ERROR SUMMARY|RACECHECK SUMMARY|perplexity' "$1" | tail -1 | sed 's/^=* *//' | cut -c1-250
  fi
}

# With --minutes, the steps that an earlier call ended.
ended_before=
if [ -n "$end" ] && [ -e "$steps" ]; then
  ended_before=$(awk -F '\t' '{ of[$3] = $1 } END { for (name in of) if (of[name] !~ /^(skipped|unfinished)$/) print name }' "$steps")
fi
ended() { [[ $'\n'$ended_before$'\n' = *$'\n'"$1"$'\n'* ]]; }
# Sets the step's `limit`, of `most` seconds, and `goes_on` where the end of the call comes first. Fails if there is no time for it.
give_time() {  # NAME MOST
  local left
  limit=$2
  if [ -n "${LIMIT-}" ] && [ "$LIMIT" -lt "$limit" ]; then limit=$LIMIT; fi
  [ -n "$end" ] || return 0
  left=$((end - $(date +%s) - ${GRACE:-0}))
  if [ "$left" -lt 3 ]; then record unfinished 0.0 "$1" 'the minutes were over; the next call goes on'; return 1; fi
  if [ "$left" -lt "$limit" ]; then limit=$left goes_on=yes; fi
}

# step NAME SECONDS COMMAND…: what it says goes to OUT/NAME.log. Returns 2 if it did not run.
step() {
  local name=$1 most=$2 limit begin seconds rc outcome log=$OUT/$1.log goes_on=${goes_on-}; shift 2
  if ended "$name" || ! give_time "$name" "$most"; then return 2; fi
  begin=$(date +%s%N)
  timeout -k "${GRACE:-5}" "$limit" "$@" > "$log" 2>&1 < /dev/null; rc=$?
  seconds=$(( ($(date +%s%N) - begin) / 100000000 )); seconds=$((seconds / 10)).$((seconds % 10))
  case $rc in
    0) outcome=ok ;;
    77) outcome=skipped ;;
    124 | 137) outcome=TIMEOUT ;;
    *) outcome="FAILED($rc)" ;;
  esac
  if [ "$outcome" = TIMEOUT ] && [ -n "${goes_on-}" ]; then outcome=unfinished; fi
  local note; note=$(note_of "$log")
  case $outcome in FAILED*) [ -n "$note" ] || note=$(tail -1 "$log" | cut -c1-120) ;; esac
  if [ "$outcome" = unfinished ]; then note="${note:+$note; }the next call goes on"; fi
  record "$outcome" "$seconds" "$name" "$note"
  case $outcome in ok) return 0 ;; *) return 1 ;; esac
}

# The same, if nothing is in its way: a GPU's, and one of PyTorch's.
skip() { record skipped 0.0 "$1" "skipped: $2"; return 2; }
gpu_step() { if [ -n "$no_gpu" ]; then skip "$1" "$no_gpu"; else step "$@"; fi; }
torch_step() {
  if [ -n "$no_gpu" ]; then skip "$1" "$no_gpu"
  elif [ -n "$no_torch" ]; then skip "$1" "$no_torch"
  else step "$@"; fi
}

# A step that others may run beside.
beside() {
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
  "$@" &
}

facts() {
  local -x UNROLL_STANDIN_COMPUTES=no
  { echo "commit $(cat commit)"
    uname -sr; ldd --version 2>&1 | head -1; echo "cores $(nproc)"; echo "LD_LIBRARY_PATH=$LD_LIBRARY_PATH"
    ! command -v nvidia-smi >/dev/null || nvidia-smi --query-gpu=name,driver_version,compute_cap,memory.total,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem --format=csv
    [ -n "$no_torch" ] || "$python" -c 'import torch; print("torch", torch.__version__, "cudnn", torch.backends.cudnn.version())'
  } > "$OUT/machine.log" 2>&1
  if step facts 60 bin/bench_lm --device cuda --facts; then tail -1 "$OUT/facts.log" > "$OUT/facts.json"; fi
  step dry-run-cpu 60 bin/ptb train demo --device cpu --dry-run
  local engine recipe
  for engine in cudnn fused; do
    gpu_step "dry-run-$engine" 60 bin/ptb train demo --device cuda --dry-run --engine $engine
  done
  gpu_step "dry-run-timeseries" 60 bin/timeseries train airline --device cuda --dry-run
  step "explain-cpu" 60 bin/ptb explain demo --device cpu
  for recipe in ptb-small ptb-medium ptb-large awd-lstm; do
    gpu_step "explain-$recipe" 60 bin/ptb explain $recipe --device cuda "${small[@]}"
  done
}

tests() {
  local program name
  for program in bin/gpu_*_test; do
    name=${program#bin/} name=${name%_test}
    case $name in
      # Tests of kernels read what a kernel wrote without asking whether it is done. The others must ask, as the library does.
      gpu_kernels* | gpu_products*) CUDA_LAUNCH_BLOCKING=1 beside gpu_step "$name" 300 "$program" "${first_case[@]}" ;;
      *) beside gpu_step "$name" 300 "$program" "${first_case[@]}" ;;
    esac
  done
  wait
}

sanitize() {
  local tool layer sanitizer=(compute-sanitizer --error-exitcode 9)
  if [ -z "$no_gpu" ] && ! command -v compute-sanitizer >/dev/null; then
    skip sanitize 'no compute-sanitizer'
    return
  fi
  for tool in memcheck racecheck synccheck initcheck; do
    CUDA_LAUNCH_BLOCKING=1 beside gpu_step "$tool-kernels_layers" 90 "${sanitizer[@]}" --tool $tool bin/gpu_kernels_layers_test "${first_case[@]}"
  done
  CUDA_LAUNCH_BLOCKING=1 beside gpu_step racecheck-kernels_rows 120 "${sanitizer[@]}" --tool racecheck bin/gpu_kernels_rows_test "${first_case[@]}"
  for layer in persistent gru_window layer_pair; do for tool in memcheck racecheck synccheck; do
    beside gpu_step "$tool-$layer" 120 "${sanitizer[@]}" --tool $tool "bin/gpu_${layer}_test" -tc='threads in five orders*'
  done; done
  beside gpu_step memcheck-step 120 "${sanitizer[@]}" --tool memcheck bin/ptb train demo --device cuda --dry-run --engine fused "${small[@]}"
  wait
}

went_well() { [ "$(awk -F '\t' -v name="$1" '$3 == name { last = $1 } END { print last }' "$steps")" = ok ]; }
# Losses of two runs step by step: how far apart, and whether the bits are the same. LIMIT_OF_DISTANCE "bits": they have to be.
compare() {  # NAME OTHER LIMIT_OF_DISTANCE
  local a=$OUT/agree/$1/log.jsonl b=$OUT/agree/$2/log.jsonl result
  if ended "agree-$1-$2"; then return; fi
  if ! went_well "losses-$1" || ! went_well "losses-$2"; then skip "agree-$1-$2" "no losses of both"; return; fi
  result=$(awk -v limit="$3" '
    function value(key) { return match($0, "\"" key "\":[-+.0-9eE]+") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) : "none" }
    !/"kind":"interval"/ { next }
    FNR == NR { loss[++count] = value("loss"); norm[count] = value("gradient_norm"); next }
    { i = ++others
      if (loss[i] != value("loss") || norm[i] != value("gradient_norm")) differ = 1
      distance = value("loss") / loss[i] - 1; if (distance < 0) distance = -distance
      if (!(distance <= worst)) worst = distance }
    END {
      if (count != others || count == 0) { printf "FAILED\t%d and %d steps", count, others; exit }
      failed = limit == "bits" ? differ : !(worst <= limit)
      printf "%s\t%d steps, losses at most %.1e apart, %s", failed ? "FAILED" : "ok", count, worst, differ ? "other bits" : "the same bits" }' "$a" "$b")
  record "${result%%$'\t'*}" 0.0 "agree-$1-$2" "${result#*$'\t'}"
}

agree() {
  local name claim words=(--data data --set data.limit=28001 --set training.epochs=1 --set training.deterministic=true --set training.log_every=1 --set optimizer.learning_rate=0.02 "${small[@]}")
  for claim in null-lengths empty-rows padded-io bf16-persistent multiples one-call; do
    gpu_step "claim-$claim" 60 bin/cudnn_claims $claim ${standin:+9}
  done
  losses() { local of=$1; shift; ended "losses-$of" || rm -rf "$OUT/agree/$of"; beside "$runner" "losses-$of" 120 bin/ptb train ptb-small "${words[@]}" "$@" --out "$OUT/agree/$of"; }
  runner=step; losses cpu --device cpu
  runner=gpu_step
  losses fused --device cuda --engine fused --set training.graph=false
  losses fused-graph --device cuda --engine fused --set training.graph=true
  losses cudnn --device cuda --engine cudnn --set training.graph=false
  losses cudnn-again --device cuda --engine cudnn --set training.graph=false
  losses cudnn-graph --device cuda --engine cudnn --set training.graph=true
  wait
  # At a fiftieth of the recipe's learning rate 70 steps carry a rounding of 1e-7 far below a hundredth, another formula does not.
  # (At the recipe's own rate the first steps' gradients are of norm 100, and a rounding grows to a tenth in 40 steps.)
  for name in fused cudnn; do compare cpu $name 0.01; done
  compare cudnn cudnn-again bits
  for name in fused cudnn; do compare $name $name-graph 0.01; done
  find "$OUT/agree" -name '*.safetensors' -delete 2>/dev/null
}

# The stand-in computes nothing of what is timed.
speed() {
  local model precision engine graph name
  local -x UNROLL_STANDIN_COMPUTES=no
  for model in $models; do for precision in fp32 tf32 bf16; do
    for engine in cudnn fused; do for graph in '' --graph; do
      name=speed-$model-$precision-$engine${graph#-}
      figures "$name" gpu_step "$name" 60 bin/bench_lm --device cuda --model $model --precision $precision \
        --engine $engine --seconds "${SECONDS_EACH:-2}" $peak $graph
    done; done
  done; done
  torch_speed
}
# PyTorch's, all in one process: loading it takes longer than a measurement.
torch_speed() {
  local model precision graph name names=() lines=() i=0 line limit rc goes_on= log=$OUT/speed-torch.log
  for model in $models; do for precision in fp32 tf32 bf16; do for graph in '' --graph; do
    if ended "speed-$model-$precision-torch${graph#-}"; then continue; fi
    names+=("speed-$model-$precision-torch${graph#-}")
    lines+=("--device cuda --model $model --precision $precision --seconds ${SECONDS_EACH:-2} $graph")
  done; done; done
  if [ -n "$no_gpu$no_torch" ]; then
    for name in "${names[@]}"; do skip "$name" "${no_gpu:-$no_torch}"; done
    return
  fi
  if [ ${#names[@]} = 0 ] || ! give_time "${names[0]}" 400; then return; fi
  printf '%s\n' "${lines[@]}" | timeout -k 5 "$limit" "$python" bench/pytorch_lm.py --serve > "$log" 2> "$OUT/speed-torch-errors.log"; rc=${PIPESTATUS[1]}
  while read -r line; do
    printf '%s\n' "$line" > "$OUT/${names[i]}.log"
    case $line in
      '{"error"'*) record 'FAILED(1)' 0.0 "${names[i]}" "$(printf '%s' "$line" | cut -c1-120)" ;;
      *) figures "${names[i]}" record ok 0.0 "${names[i]}" "$(note_of "$OUT/${names[i]}.log")" ;;
    esac
    i=$((i + 1))
  done < <(grep -a '^{' "$log")
  local outcome="FAILED($rc)"
  case $rc in 124 | 137) outcome=${goes_on:+unfinished} ;; esac
  for ((; i < ${#names[@]}; ++i)); do record "${outcome:-TIMEOUT}" 0.0 "${names[i]}" "PyTorch ended before it"; done
}
# The words of UNROLL_PLAIN (framework/plain.h) that act on the models, by engine.
changes_of_fused="arrive-wait block-flags fast-functions few-rows passes two-layers"
changes_of_cudnn="cudnn-lanes passes"
# Those that act on other layers, by cases of bench_options; few-rows matters there only if norm-window is off too.
changes_of_gru="gru-window"
changes_of_layer_norm="norm-window norm-window,few-rows"
changes() {
  local model precision engine change layer plain name of all
  local -x UNROLL_STANDIN_COMPUTES=no
  if command -v nvidia-smi >/dev/null; then step changes-clocks 20 nvidia-smi -q -d CLOCK,SUPPORTED_CLOCKS,PERFORMANCE
  else skip changes-clocks 'no nvidia-smi'; fi
  for model in $models; do for precision in bf16 tf32; do
    for engine in fused cudnn; do of=changes_of_$engine all=${!of}; for change in '' $all "${all// /,}"; do
      name=changes-$model-$precision-$engine${change:+-without-}${change/*,*/any}
      UNROLL_PLAIN=$change figures "$name" gpu_step "$name" 60 bin/bench_lm --device cuda --model $model --precision $precision \
        --engine $engine --seconds "${SECONDS_EACH:-0.3}" --graph
    done; done
    name=changes-$model-$precision-torch
    figures "$name" torch_step "$name" 120 "$python" bench/pytorch_best.py --device cuda --model $model --precision $precision \
      --seconds "${SECONDS_EACH:-0.3}" --no-compile
  done; done
  for layer in gru layer_norm; do of=changes_of_$layer; for precision in bf16 tf32; do for plain in '' ${!of}; do
    name=changes-$layer-$precision-fused${plain:+-without-$plain}
    UNROLL_PLAIN=$plain figures "$name" gpu_step "$name" 60 bin/bench_options --device cuda --graph --hidden 650 --precision $precision \
      --only "${layer/_/ }" --seconds "${SECONDS_EACH:-0.3}"
  done; done; done
}
figures() {  # NAME RUNNER …: its line of JSON, with its name
  local name=$1; shift
  if "$@"; then grep -a '^{' "$OUT/$name.log" | tail -1 | sed "s/^{/{\"name\": \"$name\", /" >> "$OUT/${name%%-*}.jsonl"; fi
}

options() {
  local precision model hidden
  local -x UNROLL_STANDIN_COMPUTES=no
  local -A units=([small]=200 [medium]=650 [large]=1500)
  for precision in tf32 bf16; do for model in $models; do
    hidden=${units[$model]}
    figures "options-$precision-$hidden" gpu_step "options-$precision-$hidden" 120 bin/bench_options --device cuda --graph --hidden $hidden --precision $precision \
      --seconds "${SECONDS_EACH:-0.2}"
  done; done
}

recipes="ptb-small ptb-medium ptb-medium-tied ptb-large ptb-large-tied awd-lstm-onecycle awd-lstm"
train_one() {  # RECIPE[:PRECISION]
  local recipe=${1%%:*} precision= name run
  case $1 in *:*) precision=${1#*:} ;; esac
  name=$recipe${precision:+-$precision} run=$RUNS/$recipe${precision:+-$precision}
  local words=(--device cuda --set training.graph=true ${precision:+--set training.precision=$precision} "${small[@]}")
  if [ -n "$no_gpu" ]; then skip "train-$name" "$no_gpu"; return; fi
  set_aside "$run" "$run.commit" && cp commit "$run.commit" || return
  if [ -e "$run/finished" ]; then
    record ok 0.0 "train-$name" "finished before: $(cat "$run/finished")"
    return
  fi
  # The second minute is for a step and its checkpoint.
  local GRACE=60 goes_on=yes
  if [ -e "$run/last.safetensors" ]; then
    step "train-$name" 540 bin/ptb resume "$run" --data data
  else
    rm -rf "$run"
    step "train-$name" 540 bin/ptb train "$recipe" --data data "${words[@]}" --out "$run"
  fi
  local trained=$?
  [ $trained != 2 ] || return
  mkdir -p "$OUT/train/$name"
  cat "$OUT/train-$name.log" >> "$OUT/train/$name/output.log"
  cp "$run/log.jsonl" "$run/recipe.toml" "$run/report.html" "$OUT/train/$name/" 2>/dev/null
  if [ $trained = 0 ]; then
    note_of "$OUT/train-$name.log" > "$run/finished"
    rm -f "$run"/*.safetensors
  fi
}
train() { local recipe; for recipe in $recipes; do train_one "$recipe"; done; }

cp commit "$OUT/commit"
for part in "${parts[@]}"; do
  case $part in
    train:*) train_one "${part#train:}" ;;
    *) $part ;;
  esac
done

echo
awk -F '\t' '{ if (!($3 in line)) order[++count] = $3; line[$3] = sprintf("%-10s %6s s  %-36s %s", $1, $2, $3, $4) }
  END { for (i = 1; i <= count; ++i) print line[order[i]] }' "$steps" | tee "$OUT/table.txt"
# With --minutes, of earlier calls too: their steps are not taken again.
failures=$(if [ -n "$end" ]; then cat "$OUT/table.txt"; else tail -n +$((first + 1)) "$steps"; fi | grep -cE '^(TIMEOUT|FAILED)')
[ -z "$standin" ] || echo 'over the stand-in for CUDA: nothing was measured'
printf '%s steps failed; what was left lies in %s\n' "$failures" "$OUT"
[ $failures = 0 ]
