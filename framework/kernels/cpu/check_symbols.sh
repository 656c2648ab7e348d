#!/bin/sh
# check_symbols.sh <instruction set> <library>: fails if the library defines a symbol that the linker may merge with
# that of a file compiled for another instruction set. (DW.ref.… is no code: a pointer to a function of the runtime.)
nm --defined-only --demangle "$2" | awk -v isa="$1" '
  $2 ~ /^[WVu]$/ && $3 !~ /^DW[.]ref[.]/ && !index($0, "::" isa "::") { print "shared between instruction sets: " $0; bad = 1 }
  END { exit bad }'
