#!/usr/bin/env bash
# Builds libcutec and installs it: PREFIX/include/cutec.h, PREFIX/lib/libcutec.so, for pkg-config and for CMake.
#   scripts/capi.sh [--static] [--portable] [PREFIX]     PREFIX is target/capi unless it is said
#   scripts/capi.sh --test [--static]       installs there, then builds and runs examples/c
#   scripts/capi.sh --header                writes compiler/c/include/cutec.h anew, by cbindgen
# With --static, PREFIX/lib/libcutec.a as well: one object, with what is needed of LLVM and MLIR in it. With --portable the shared
# library needs nothing but glibc 2.34, and the folder may be moved.
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
  arguments=$(scripts/portable.sh "$target/portable")
  mapfile -t flags <<<"$arguments"
  cargo rustc --release -p cutec-c --crate-type cdylib -- "${flags[@]}"
else
  cargo build --release -p cutec-c
fi
if [ -n "$static" ]; then
  # LLVM's archives are not in the one that rustc makes: it says which they are.
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  cargo rustc --release -p cutec-c --crate-type staticlib -- --print native-static-libs 2>&1 | tee "$log"
  archives=$(sed -n 's/^note: native-static-libs: //p' "$log" | tr ' ' '\n' | grep -E '^-l(LLVM|MLIR|Polly)')
fi

step "installation"
prefix=${prefix:-$target/capi}
mkdir -p "$prefix/include" "$prefix/lib/pkgconfig" "$prefix/lib/cmake/cutec"
prefix=$(cd "$prefix" && pwd)
cp compiler/c/include/cutec.h "$prefix/include/cutec.h"
strip --strip-unneeded -o "$prefix/lib/libcutec.so.$major" "$target/release/libcutec_c.so"
ln -sf "libcutec.so.$major" "$prefix/lib/libcutec.so"
# What programs see: the header's functions, but for those that it defines itself, and nothing else.
public=$(grep -v '^static inline' compiler/c/include/cutec.h | grep -oE '\bcutec_[a-z_]+\(' | tr -d '(' | sort -u)
if [ -n "$static" ]; then
  llvm=${MLIR_SYS_220_PREFIX:-/usr/lib/llvm-22}
  folder=$(mktemp -d)
  trap 'rm -rf "$folder" "$log"' EXIT
  printf '%s\n' "$public" >"$folder/public"
  # One object of what the public functions need, in which all other names are its own: a program may have another LLVM, or other
  # crates of Rust. Groups are taken apart, or a program's own copy of an inline function would take the place of one of ours, whose
  # name is no longer known outside.
  # shellcheck disable=SC2046,SC2086
  ld.bfd -r --gc-sections --force-group-allocation $(printf -- '-u %s ' $public) -o "$folder/all.o" \
    "$target/release/libcutec_c.a" -L"$llvm/lib" --start-group $archives --end-group
  "$llvm/bin/llvm-objcopy" --remove-section=.llvmbc --remove-section=.llvmcmd --strip-unneeded \
    --keep-global-symbols="$folder/public" "$folder/all.o" "$folder/cutec.o"
  rm -f "$prefix/lib/libcutec.a" "$folder/all.o"
  "$llvm/bin/llvm-ar" rcs "$prefix/lib/libcutec.a" "$folder/cutec.o"
fi
# pkg-config takes its own file's place for ${pcfiledir}.
named=$prefix
[ -z "$portable" ] || named='${pcfiledir}/../..'
fill() { sed -e "s|@PREFIX@|$named|g" -e "s|@VERSION@|$version|g" -e "s|@MAJOR@|$major|g" "compiler/c/package/$1.in" >"$2/$1"; }
fill cutec.pc "$prefix/lib/pkgconfig"
[ -z "$static" ] || fill cutec-static.pc "$prefix/lib/pkgconfig"
fill cutec-config.cmake "$prefix/lib/cmake/cutec"
fill cutec-config-version.cmake "$prefix/lib/cmake/cutec"
(cd "$prefix" && find . -type f -o -type l | sort)

[ -n "$tests" ] || exit 0
step "the header is what the sources say"
make_header --check

step "what programs see is what the header says"
diff <(printf '%s\n' "$public") <(nm -D --defined-only "$prefix/lib/libcutec.so" | awk '{print $3}' | sort)
[ -z "$static" ] || diff <(printf '%s\n' "$public") \
  <("$llvm/bin/llvm-nm" --defined-only --extern-only --format=just-symbols "$folder/cutec.o" | sort)

step "examples with pkg-config"
folder=${folder:-$(mktemp -d)}
trap 'rm -rf "$folder" "${log:-}"' EXIT
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig" LD_LIBRARY_PATH="$prefix/lib"
"${CC:-cc}" -std=gnu11 -shared -fPIC -Wl,-soname,libcuda.so.1 test-suite/tests/export/libcuda.c -o "$folder/libcuda.so.1"
for package in cutec ${static:+cutec-static}; do
  # shellcheck disable=SC2046
  "${CC:-cc}" -std=c11 -Wall -Wextra -Werror examples/c/simulate.c $(pkg-config --cflags --libs "$package") -o "$folder/simulate"
  # shellcheck disable=SC2046
  "${CXX:-c++}" -std=c++17 -Wall -Wextra -Werror examples/c/embed.cpp $(pkg-config --cflags --libs "$package") -o "$folder/embed"
  # shellcheck disable=SC2046
  "${CC:-cc}" -std=c11 -Wall -Wextra -Werror compiler/c/tests/wrong_calls.c $(pkg-config --cflags --libs "$package") -lpthread -o "$folder/wrong_calls"
  # Beside a driver that only listens.
  # shellcheck disable=SC2046
  "${CC:-cc}" -std=c11 -Wall -Wextra -Werror compiler/c/tests/on_gpu.c $(pkg-config --cflags --libs "$package") "$folder/libcuda.so.1" \
    -lpthread -o "$folder/on_gpu"
  "$folder/simulate"
  "$folder/embed" examples/relu.cute
  "$folder/wrong_calls" "$folder"
  LD_LIBRARY_PATH="$prefix/lib:$folder" "$folder/on_gpu" "$folder" examples/hopper/copy_tma.cute
done

step "examples with CMake"
for library in cutec ${static:+static}; do
  cmake -S examples/c -B "$folder/$library" -DCMAKE_PREFIX_PATH="$prefix" -DCUTEC_LIBRARY="cutec::$library" >/dev/null
  cmake --build "$folder/$library"
  "$folder/$library/simulate"
  "$folder/$library/embed" examples/relu.cute
done

printf '\nlibcutec: all tests passed\n'
