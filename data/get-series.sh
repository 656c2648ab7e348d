#!/usr/bin/env bash
# Fetches the series that the recipes etth1, occupancy and eeg are about, which are too large to be bundled: the
# hourly electricity transformer data ETTh1 (Zhou et al. 2021), the occupancy of a room from its sensors (Candanedo and
# Feldheim 2016), and open or shut eyes from an EEG (Roesler and Suendermann 2013).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
script=get-series.sh
directory=$here/series
files='ETTh1.csv occupancy-datatraining.csv occupancy-datatest.csv occupancy-datatest2.csv eeg-eye-state.csv'
address() {
  local github=https://raw.githubusercontent.com
  case $1 in
    ETTh1.csv) echo $github/zhouhaoyi/ETDataset/main/ETT-small/ETTh1.csv ;;
    occupancy-*)
      local name=${1#occupancy-}
      echo "$github/LuisM78/Occupancy-detection-data/master/${name%.csv}.txt" ;;
    eeg-eye-state.csv) echo $github/Erik-YO/MissingValues/8943efbd7c1fbe7e5e7350d56a4288e9f5b2c474/eeg-eye-state.csv ;;
  esac
}
expected() {
  case $1 in
    ETTh1.csv) echo f18de3ad269cef59bb07b5438d79bb3042d3be49bdeecf01c1cd6d29695ee066 ;;
    occupancy-datatraining.csv) echo b2c4d0ce2b9e4e453c476f7125ef31aeec2d1f5c7f5572d0e80de3df6521ab56 ;;
    occupancy-datatest.csv) echo 1b92c7c1b2838963464fa891a610cf3c5db4becb7189189b29b330107a584c7f ;;
    occupancy-datatest2.csv) echo d026d1bd5aeccd4aff4f3b3710d48e40613bd5fc370db7e61bbdcaa50d985095 ;;
    eeg-eye-state.csv) echo 18b1d6fef449c46910403183c9de568afe83ccb562f30cdea3fab98a402ead77 ;;
  esac
}
. "$here/get-files.sh"
