#!/usr/bin/env bash
# Makes the data set kjv: the King James text as flat u8 tokens, one verse a line, without numbers.
# Every 20th book is the test split: Proverbs, Matthew, 1 Peter.
#
# Usage: tools/data/kjv.sh [FOLDER]     writes FOLDER/{train,test}.npy, by default data/kjv
# Needs the program `bible` (Debian package bible-kjv). Does nothing where both files are there.
set -euo pipefail

name=kjv
source "$(dirname "$0")/common.sh"
arguments "$@"

declare -A characters=([train]=3919996 [test]=217854)
if is_made train "${characters[train]}" && is_made test "${characters[test]}"; then exit 0; fi

command -v bible >/dev/null || fail "bible: not found; install Debian's package bible-kjv"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# bible -f prints "Ge1:1 In the beginning ...". Books are counted from 1.
bible -f gen1:1-rev22:21 | LC_ALL=C awk -v folder="$work" '
  {
    book = $1
    sub(/[0-9]+:[0-9]+$/, "", book)
    if (book != last) { number++; last = book }
    sub(/^[^ ]+ /, "")
    print > (folder (number % 20 ? "/train" : "/test"))
  }' || fail "bible could not print the text"

for split in train test; do
  touch "$work/$split"
  count=$(wc -c <"$work/$split")
  [ "$count" -eq "${characters[$split]}" ] ||
    fail "expected ${characters[$split]} characters in $split, got $count; bible has another text"
  [ "$(LC_ALL=C tr -d '\n -~' <"$work/$split" | wc -c)" -eq 0 ] ||
    fail "expected ASCII in $split, got other bytes; bible has another text"
  { npy_header "$count" && cat "$work/$split"; } >"$work/$split.npy"
done
publish "$work"/{train,test}.npy
