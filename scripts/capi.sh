#!/usr/bin/env bash
# Builds libcutec and installs it: PREFIX/include/cutec.h, PREFIX/lib/libcutec.so, for pkg-config and for CMake.
#   scripts/capi.sh [--static] [--portable] [PREFIX]     PREFIX is target/capi unless it is said
#   scripts/capi.sh --test                  installs there, then builds and runs examples/c
#   scripts/capi.sh --header                writes compiler/c/include/cutec.h anew, by cbindgen
# With --static, PREFIX/lib/libcutec.a as well, which has all of MLIR in it. With --portable the shared library needs nothing but glibc
# 2.34, and the folder may be moved.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"
target=$(cargo metadata --no-deps --format-version 1 |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | sed -n 1p)
major=${version%%.*}
prefix=
static=
portable=
tests=
header=
for argument in "$@"; do
  case $argument in
    --static) static=1 ;;
    --portable) portable=1 ;;
    --test) tests=1 ;;
    --header) header=1 ;;
    -*)
      printf 'capi: unknown argument %s\n' "$argument" >&2
      exit 1
      ;;
    *) prefix=$argument ;;
  esac
done

step() { printf '\n== %s\n' "$*"; }

# cbindgen is a workspace of its own, in a folder of its own.
make_header() { CARGO_TARGET_DIR="$target/c-header" cargo run --quiet --manifest-path compiler/c/header/Cargo.toml -- "$@"; }
if [ -n "$header" ]; then
  make_header
  exit
fi

step "libcutec"
if [ -n "$portable" ]; then
  mapfile -t flags < <(scripts/portable.sh "$target/portable")
  cargo rustc --release -p cutec-c --crate-type cdylib -- "${flags[@]}"
else
  cargo build --release -p cutec-c
fi
if [ -n "$static" ]; then
  cargo rustc --release -p cutec-c --crate-type staticlib
fi

step "installation"
prefix=${prefix:-$target/capi}
mkdir -p "$prefix/include" "$prefix/lib/pkgconfig" "$prefix/lib/cmake/cutec"
prefix=$(cd "$prefix" && pwd)
cp compiler/c/include/cutec.h "$prefix/include/cutec.h"
strip --strip-unneeded -o "$prefix/lib/libcutec.so.$major" "$target/release/libcutec_c.so"
ln -sf "libcutec.so.$major" "$prefix/lib/libcutec.so"
[ -z "$static" ] || strip --strip-debug -o "$prefix/lib/libcutec.a" "$target/release/libcutec_c.a"
# pkg-config takes its own file's place for ${pcfiledir}.
named=$prefix
[ -z "$portable" ] || named='${pcfiledir}/../..'
fill() { sed -e "s|@PREFIX@|$named|g" -e "s|@VERSION@|$version|g" -e "s|@MAJOR@|$major|g" "compiler/c/package/$1.in" >"$2/$1"; }
fill cutec.pc "$prefix/lib/pkgconfig"
fill cutec-config.cmake "$prefix/lib/cmake/cutec"
fill cutec-config-version.cmake "$prefix/lib/cmake/cutec"
(cd "$prefix" && find . -type f -o -type l | sort)

[ -n "$tests" ] || exit 0
step "the header is what the sources say"
make_header --check

step "examples with pkg-config"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig" LD_LIBRARY_PATH="$prefix/lib"
# shellcheck disable=SC2046
"${CC:-cc}" -std=c11 -Wall -Wextra -Werror examples/c/simulate.c $(pkg-config --cflags --libs cutec) -o "$folder/simulate"
# shellcheck disable=SC2046
"${CXX:-c++}" -std=c++17 -Wall -Wextra -Werror examples/c/embed.cpp $(pkg-config --cflags --libs cutec) -o "$folder/embed"
"$folder/simulate"
"$folder/embed" examples/relu.cute

step "examples with CMake"
cmake -S examples/c -B "$folder/build" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$folder/build"
"$folder/build/simulate"
"$folder/build/embed" examples/relu.cute

printf '\nlibcutec: all tests passed\n'
