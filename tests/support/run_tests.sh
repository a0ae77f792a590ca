#!/usr/bin/env bash
# Runs test commands, all of them even when one fails, shows what failed, and ends with the line
# "N passed, N failed" (", N skipped" where there are any). Exit status 1 if anything failed.
#
# Usage: run_tests.sh COMMAND...    each COMMAND one argument, such as "build/tests/test_ops"
#
# A GoogleTest binary counts by its tests, plus one failure if it crashed or stopped half-way; any
# other command counts as one test, by its exit status. No tests at all is a failure.
set -u
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
[ $# -gt 0 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Reads a GoogleTest log; prints what failed, then a last line "passed failed skipped finished".
read -r -d '' summary <<'AWK'
/^\[ RUN      \] /                        { block = ""; open = 1 }
/\[       OK \] .* \([0-9]+ ms\)$/        { passed++; open = 0 }
/\[  SKIPPED \] .* \([0-9]+ ms\)$/        { skipped++; open = 0 }
/\[  FAILED  \] .* \([0-9]+ ms\)$/        { failed++; open = 0; printf "%s%s\n", block, $0 }
/^\[==========\] [0-9]+ tests? .* ran\./  { finished = 1 }
                                          { block = block $0 "\n" }
END {
  if (open || !finished) printf "%s", block
  print passed + 0, failed + 0, skipped + 0, finished + 0
}
AWK

passed=0 failed=0 skipped=0
for command in "$@"; do
  start=$SECONDS
  bash -c "exec $command" >"$log" 2>&1 </dev/null
  status=$?
  if grep -q '^\[==========\]' "$log"; then
    result=$(awk "$summary" "$log")
    head -n -1 <<<"$result"
    read -r ok bad skip finished < <(tail -n 1 <<<"$result")
    if [ "$finished" = 0 ] || [ "$status" -gt 1 ] || { [ "$status" = 1 ] && [ "$bad" = 0 ]; }; then
      echo "$command: stopped with status $status before its end"
      bad=$((bad + 1))
    fi
  elif [ "$status" = 0 ]; then
    ok=1 bad=0 skip=0
  else
    cat "$log"
    echo "$command: status $status"
    ok=0 bad=1 skip=0
  fi
  printf '%-32s %4d ok %4d bad %4d skipped %4d s\n' \
    "$command" "$ok" "$bad" "$skip" $((SECONDS - start))
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
done

summary="$passed passed, $failed failed"
[ "$skipped" = 0 ] || summary+=", $skipped skipped"
echo "$summary"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
