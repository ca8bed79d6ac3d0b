#!/bin/sh
# parallel.sh - fit a table in shards, side by side, and merge them:  parallel.sh DATA.csv TARGET SHARDS OUT [fit options ..]
#
# Any queue does instead of xargs: each shard is one call of `fabayes fit`, and the merge one call at the end. The table has a line of
# names. Units and words come from the first shard, so that every method can be merged.
set -eu
fabayes=${FABAYES:-fabayes}
data=$1 target=$2 shards=$3 out=$4
shift 4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

head -n 1 "$data" >"$folder/names"
tail -n +2 "$data" | split -n "r/$shards" -d -a 4 - "$folder/rows." # in turn: a table in some order is mixed
for rows in "$folder"/rows.*; do cat "$folder/names" "$rows" >"$rows.csv" && rm "$rows"; done
set -- "$@" -y "$target" --quiet
first=$(ls "$folder"/rows.*.csv | head -n 1)
"$fabayes" fit "$first" "$@" -o "$folder/units"
ls "$folder"/rows.*.csv |
    xargs -P "$(nproc)" -I{} "$fabayes" fit {} "$@" --threads 1 --units "$folder/units" -o {}.part
exec "$fabayes" merge "$folder"/rows.*.part -o "$out"
