#!/usr/bin/env bash
# portable.sh FOLDER: prints the arguments for rustc, one a line, with which a program or library needs nothing but glibc 2.34: the C++
# library, libgcc, zlib and zstd are linked as archives, which the linker finds first in FOLDER.
# The Python package does the same in compiler/python/build.rs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mkdir -p "$1"
folder=$(cd "$1" && pwd)
for archive in libstdc++.a libz.a libzstd.a; do
  path=$("${CXX:-c++}" -print-file-name="$archive")
  [ -f "$path" ] || {
    printf 'portable: no %s on this machine\n' "$archive" >&2
    exit 1
  }
  ln -sf "$path" "$folder/$archive"
done
# LLVM's libraries for Debian 12 ask glibc 2.36 for arc4random.
"${CC:-cc}" -O2 -fPIC -c compiler/python/src/arc4random.c -o "$folder/arc4random.o"
printf '%s\n' -L "native=$folder" -C link-arg=-static-libgcc -C "link-arg=$folder/arc4random.o"
