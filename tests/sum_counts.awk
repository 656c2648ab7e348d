# Adds up doctest's own counts over Meson's test log and prints the one line that sums up a run:
#   N passed, N failed[, N skipped]
# A program that failed (crashed, timed out, leaked) without doctest counting a failure is one failure.
# A test that cannot run prints a line beginning with "[skipped] ", once, and returns: doctest counted it
# as passed, here it is skipped. -v status is what `meson test` exited with; the exit status is 1 where
# it was not 0 or anything failed.

function close_program() {
  if (result == "exit status 77") skipped++                      # Meson's sign for a test that cannot run
  else if (result != "exit status 0") failed += program_failed ? program_failed : 1
  else if (!started) passed++                                    # not a doctest program: one test
  else if (!counted) failed++                                    # left in the middle
}

# ===================================== 3/12 =====================================
# test:         ops
# result:       exit status 0
/^=+ [0-9]+\/[0-9]+ =+$/ {
  if (programs++) close_program()
  in_header = 1; result = ""; started = counted = program_failed = 0
}
in_header && /^result: / { sub(/^result: */, ""); result = $0 }
/^-+ (stdout|output|stderr) -+$/ { in_header = 0 }

/^\[skipped\] / { skipped++; passed-- }

/^\[doctest\] doctest version/ { started = 1 }

# [doctest] test cases:  3 |  2 passed | 1 failed | 0 skipped
/^\[doctest\] test cases:/ {
  counted = 1
  for (i = 1; i < NF; i++) {
    if ($(i + 1) == "passed") passed += $i
    if ($(i + 1) == "failed") program_failed += $i
    if ($(i + 1) == "skipped") skipped += $i
  }
}

END {
  if (programs) close_program()
  if (status && !failed) failed = 1
  printf "%d passed, %d failed%s\n", passed, failed, skipped ? ", " skipped " skipped" : ""
  exit failed > 0 || !programs                      # no program ran: a name that no suite has
}
