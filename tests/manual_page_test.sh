#!/usr/bin/env bash
# The manual page through the formatter that man(1) uses: no warning may come, and no line may be too wide.
set -euo pipefail
program=$1
command -v groff >/dev/null || { echo "SKIPPED: groff is not installed, so the manual page was not formatted"; exit 77; }
page=$("$program" help --man)
warnings=$(groff -man -Tascii -ww -z <<<"$page" 2>&1)
[ -z "$warnings" ] || { echo "$warnings"; exit 1; }
wide=$(groff -man -Tascii -P-cbou -rLL=80n <<<"$page" | grep -n '^.\{81,\}' || true)
[ -z "$wide" ] || { echo "wider than 80 columns:"; echo "$wide"; exit 1; }
