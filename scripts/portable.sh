#!/usr/bin/env bash
# portable.sh FOLDER: prints the arguments for rustc, one a line, with which a program or library needs nothing but glibc 2.34: the C++
# library, libgcc, zlib and zstd are linked as archives, which the linker finds first in FOLDER.
# The Python package does the same in compiler/python/build.rs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mkdir -p "$1"
folder=$(cd "$1" && pwd)
# take ARCHIVE NAME: the C++ compiler's archive, under the name by which the linker is asked for it.
take() {
  local path
  path=$("${CXX:-c++}" -print-file-name="$1")
  [ -f "$path" ] || {
    printf 'portable: no %s on this machine\n' "$1" >&2
    exit 1
  }
  ln -sf "$path" "$folder/$2"
}
for archive in libstdc++.a libz.a libzstd.a; do take "$archive" "$archive"; done
# Rust asks for the shared libgcc by its name.
take libgcc_eh.a libgcc_s.a
# What the archives ask of a later glibc: LLVM's for Debian 12 arc4random, GCC's unwinder _dl_find_object.
objects=()
for source in compiler/python/src/arc4random.c scripts/dl_find_object.c; do
  object=$folder/$(basename "$source" .c).o
  "${CC:-cc}" -O2 -fPIC -Wall -Wextra -c "$source" -o "$object"
  objects+=(-C "link-arg=$object")
done
printf '%s\n' -L "native=$folder" -C link-arg=-static-libgcc "${objects[@]}"
