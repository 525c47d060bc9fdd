#!/bin/sh
# SPDX-License-Identifier: MIT
# ffn_test.sh PROGRAM: a small block from a new file and from the file that is there, what is
# refused, and that nothing is left behind.
set -eu
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
block() { "$program" --width 200 --hidden 777 --rounds 3 "$@"; }
refused() {
  expected=$1
  shift
  if "$@" > "$folder/out" 2>&1; then echo "not refused: $*" && exit 1; fi
  grep -q -- "$expected" "$folder/out" || { echo "$*: no '$expected' in:" && cat "$folder/out" && exit 1; }
}

program=$1
file=$folder/weights.bin
block "$file"
cp "$file" "$folder/copy"
block --tokens 3 --threads 2 --silu "$file"
cmp "$file" "$folder/copy"
block

refused "has 932464 bytes, not the 934864" "$program" --width 200 --hidden 779 "$file"
refused "has 0 bytes" block /dev/null
refused "does not begin with" "$program" --width 777 --hidden 200 "$file"
refused "cannot create" block "$folder/none/weights.bin"
refused "from 1 to" block --tokens 0 "$file"
refused "from 1 to" block --tokens
refused "no place for '--tokes'" block --tokes 1
refused MORELLO_SIZE_OVERFLOW "$program" --width 1048576 --hidden 1048576 "$folder/large"
[ ! -e "$folder/large" ]
# A disk that is full: the file of a failed write is removed.
refused "cannot write" sh -c "trap '' XFSZ; ulimit -f 100; exec '$program' --width 200 --hidden 777 '$folder/short'"
[ ! -e "$folder/short" ]
