#!/usr/bin/env bash
# Trains a small RNN on the King James text, first by SMT and then by DMT, and another by BPTT in
# the same time; measures and shows what they learnt. About four minutes on two cores.
# Usage: tools/quickstart.sh          writes runs/quickstart, over an earlier quickstart
set -euo pipefail
[ $# -eq 0 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
cd "$(dirname "$0")/.."

runs=runs/quickstart
prompt='The proverbs of Solomon the son of David, king of Israel;
To know wisdom and instruction'

say() { printf '\n== %s\n' "$1"; }
# train METHOD FLAG...
train() { "build/train_$1" --config "train/configs/quickstart_$1.toml" --overwrite True "${@:2}"; }
# The wall time of a run: "seconds" of its last log line.
seconds_of() { sed -n '$s/.*"seconds":\([0-9.e+-]*\).*/\1/p' "$runs/$1/metrics.jsonl"; }

say "data: the King James text; held out are Proverbs, Matthew and 1 Peter"
tools/data/kjv.sh

say "1 of 3: SMT, teacher and RNN"
train smt
say "2 of 3: DMT, the same RNN on its own memories"
train dmt
say "3 of 3: BPTT, another RNN, for as long as both took"
train bptt --max_seconds "$(echo "$(seconds_of smt) $(seconds_of dmt)" | awk '{ print $1 + $2 }')"

say "measuring on held-out text"
for run in smt dmt bptt; do
  build/evaluate --load $runs/$run --json $runs/$run/evaluation.json >$runs/$run/evaluation.txt
done
tools/plot loss $runs/{smt,dmt,bptt} -o $runs/figures/loss.png
tools/plot bits $runs/{smt,dmt,bptt}/evaluation.json -o $runs/figures/bits.png
tools/plot drift $runs/{smt,dmt}/evaluation.json -o $runs/figures/drift.png

say "what they write after \"${prompt//$'\n'/ / }\""
for run in smt dmt bptt; do
  printf '\n-- the RNN after %s\n' "${run^^}"
  build/generate --load $runs/$run --prompt "$prompt" --length 300 --temperature 0.7 |
    fold -s -w 96
  echo
done

echo
tools/quickstart_summary $runs

cat <<END

Figures: $runs/figures/{loss,bits,drift}.png
Numbers: $runs/summary.json

How to go on
  build/generate --load $runs/dmt --prompt "And it came to pass"
  build/evaluate --load $runs/dmt
  build/train_smt --config train/configs/quickstart_smt.toml --save_dir runs/mine --n_iters 5000 --max_seconds 0
  build/train_smt --help
END
