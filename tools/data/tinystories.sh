#!/usr/bin/env bash
# Makes the data set tinystories: the bytes of 2.1 million short English stories, 1,924,281,556 to
# train on and 19,447,282 to test on (R. Eldan and Y. Li 2023, arXiv:2305.07759; licence
# CDLA-Sharing-1.0).
#
# Usage: tools/data/tinystories.sh [FOLDER]
#
# Writes FOLDER/{train,test}.npy, by default in data/tinystories. Downloads 1.9 GB and needs twice
# that on the disk meanwhile; an interrupted download is gone on from by the next call. Does nothing
# where the files are made.
# LOOPLESS_MIRROR: where to download from, a URL without the files' names.
set -euo pipefail

name=tinystories
source "$(dirname "$0")/common.sh"
arguments "$@"

base=https://huggingface.co/datasets/roneneldan/TinyStories/resolve
revision=f54c09fd23315a6f9c86f9dc80f725de7d8f9c64
mkdir -p "$folder" || fail "cannot make the folder $folder"
while read -r split file size checksum; do
  if is_made "$split" "$size"; then continue; fi
  text=$folder/$file array=$folder/.$split.npy.part
  [ -f "$text" ] || download "$base/$revision/$file" "$text" "$checksum"
  [ "$(wc -c <"$text")" -eq "$size" ] || fail "$text: must have $size bytes; remove it"
  # Beside its place, since 1.9 GB may be more than a temporary folder holds.
  { npy_header "$size" && cat "$text"; } >"$array" && mv "$array" "$folder/$split.npy" ||
    { rm -f "$array"; fail "cannot write $folder/$split.npy"; }
  rm "$text"
done <<'FILES'
test TinyStories-valid.txt 19447282 94e431816c4cce81ff71e4408ff8d3bda9a42e8d2663986697c3954288cb38b4
train TinyStories-train.txt 1924281556 c5cf5e22ff13614e830afbe61a99fbcbe8bcb7dd72252b989fa1117a368d401f
FILES
