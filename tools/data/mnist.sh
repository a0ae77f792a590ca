#!/usr/bin/env bash
# Makes the data set mnist: 28 x 28 grey pictures of digits, 60,000 to train on and 10,000 to test
# on, as flat u8 tokens in raster order.
#
# Usage: tools/data/mnist.sh [FOLDER] [--from FOLDER]
#
# Writes FOLDER/{train,test}.npy and FOLDER/image.json, by default in data/mnist. Downloads the IDX
# files (11 MB), or takes train-images-idx3-ubyte and t10k-images-idx3-ubyte (plain or .gz) from
# another folder. Where that has the 10,000 test digits alone, the first 9,000 become the training
# split and the last 1,000 the test split. Does nothing where they are made.
# LOOPLESS_MIRROR: where to download from, a URL without the files' names.
set -euo pipefail

name=mnist
source "$(dirname "$0")/common.sh"
from=
arguments "$@"

has_images() { is_made train $((784 * $1)) && is_made test $((784 * $2)); }
if { has_images 60000 10000 || has_images 9000 1000; } && [ -f "$folder/image.json" ]
then exit 0; fi

if [ -z "$from" ]; then
  mkdir -p "$folder" || fail "cannot make the folder $folder"
  from=$folder
  while read -r file checksum; do
    [ -f "$from/$file" ] ||
      download "https://ossci-datasets.s3.amazonaws.com/mnist/$file" "$from/$file" "$checksum"
  done <<'FILES'
train-images-idx3-ubyte.gz 440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609
t10k-images-idx3-ubyte.gz 8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6
FILES
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
train=$(find_idx "$from" train-images-idx3-ubyte)
test=$(find_idx "$from" t10k-images-idx3-ubyte)
[ -n "$test" ] || fail "$from/t10k-images-idx3-ubyte.gz: does not exist"
held_out=$(idx_images "$test")
[ "$held_out" -eq 10000 ] || fail "$test: must hold 10000 images, got $held_out"
if [ -n "$train" ]; then
  count=$(idx_images "$train")
  [ "$count" -eq 60000 ] || fail "$train: must hold 60000 images, got $count"
  images_to_npy "$train" train 0 60000
  images_to_npy "$test" test 0 10000
else
  echo "$name: the training images are not in $from; 9000 of the test images stand in for them"
  images_to_npy "$test" train 0 9000
  images_to_npy "$test" test 9000 1000
fi
image_json
publish "$work"/{train.npy,test.npy,image.json}
