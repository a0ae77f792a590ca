#!/usr/bin/env bash
# Makes the data set fashion_mnist: 28 x 28 grey pictures of clothes, 60,000 to train on and 10,000
# to test on, as flat u8 tokens in raster order.
#
# Usage: tools/data/fashion_mnist.sh [FOLDER] [--from FOLDER]
#
# Writes FOLDER/{train,test}.npy and FOLDER/image.json, by default in data/fashion_mnist, from the
# IDX files of Debian's package dataset-fashion-mnist, or from train-images-idx3-ubyte and
# t10k-images-idx3-ubyte (plain or .gz) in another folder. Does nothing where they are made.
set -euo pipefail

name=fashion_mnist
source "$(dirname "$0")/common.sh"
from=/usr/share/datasets/fashion-mnist
arguments "$@"

declare -A images=([train]=60000 [test]=10000) files=([train]=train [test]=t10k)
if is_made train $((784 * 60000)) && is_made test $((784 * 10000)) && [ -f "$folder/image.json" ]
then exit 0; fi
[ -d "$from" ] ||
  fail "$from: does not exist; install Debian's package dataset-fashion-mnist, or give --from FOLDER"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for split in train test; do
  file=${files[$split]}-images-idx3-ubyte
  path=$(find_idx "$from" "$file")
  [ -n "$path" ] || fail "$from/$file.gz: does not exist"
  count=$(idx_images "$path")
  [ "$count" -eq "${images[$split]}" ] ||
    fail "$path: must hold ${images[$split]} images, got $count"
  images_to_npy "$path" "$split" 0 "$count"
done
image_json
publish "$work"/{train.npy,test.npy,image.json}
