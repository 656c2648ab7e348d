#!/usr/bin/env bash
# Fetches the series that the recipes etth1 are about, which is too large to be bundled: the hourly electricity
# transformer data ETTh1 (Zhou et al. 2021).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
script=get-series.sh
directory=$here/series
files='ETTh1.csv'
address() {
  local github=https://raw.githubusercontent.com
  case $1 in
    ETTh1.csv) echo $github/zhouhaoyi/ETDataset/main/ETT-small/ETTh1.csv ;;
  esac
}
expected() {
  case $1 in
    ETTh1.csv) echo f18de3ad269cef59bb07b5438d79bb3042d3be49bdeecf01c1cd6d29695ee066 ;;
  esac
}
. "$here/get-files.sh"
