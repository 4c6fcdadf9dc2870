#!/usr/bin/env bash
# Prepares this machine to build and test cutec. May be run again at any time; does only what is missing.
#
#   1. LLVM and MLIR 22, a C++ compiler, Python, CMake and pkg-config (Debian and Ubuntu: apt)
#   2. Rust, if `cargo` is missing (rustup)
#   3. neovim and pygls, two clients for the tests of the language server
#   4. ptxas, nvdisasm, cuobjdump and libnvJitLink from PyPI into .local/cuda, unless a CUDA toolkit
#      is found; without them everything works but cubin and SASS output
#
# Variables: CUTEC_SKIP_CUDA=1 leaves out step 4.
# Arguments: --bolt installs BOLT 22 too, which scripts/bolt.sh needs and nothing else does.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

LLVM_PREFIX=${MLIR_SYS_220_PREFIX:-/usr/lib/llvm-22}
LLVM_PACKAGES=(libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools libclang1-22
  libclang-common-22-dev libpolly-22-dev libzstd-dev zlib1g-dev)

say() { printf '%s\n' "setup: $*"; }
die() {
  printf '%s\n' "setup: $*" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

# No pipes into `grep -q` here: it stops reading early, and under pipefail the writer's end fails the pipe.
installed() { [ "$(dpkg-query -W -f '${Status}' "$1" 2>/dev/null)" = 'install ok installed' ]; }
candidate() {
  local policy
  policy=$(LC_ALL=C apt-cache policy "$1" 2>/dev/null) || return 1
  [[ $policy == *"  Candidate: "[!\(]* ]]
}

llvm_complete() {
  [ -f "$LLVM_PREFIX/include/mlir-c/IR.h" ] && [ -x "$LLVM_PREFIX/bin/mlir-tblgen" ] &&
    [ -x "$LLVM_PREFIX/bin/FileCheck" ] && [ -x "$LLVM_PREFIX/bin/llvm-config" ]
}

bolt_complete() { [ -x "$LLVM_PREFIX/bin/llvm-bolt" ] && [ -x "$LLVM_PREFIX/bin/merge-fdata" ]; }

by_hand() {
  die "$1
Install by hand: LLVM and MLIR 22 with headers and static libraries, libclang, a C++ compiler, curl,
Python 3 with pip, pkg-config, CMake and make. Then set
  MLIR_SYS_220_PREFIX, TABLEGEN_220_PREFIX   to LLVM 22's prefix (the folder with bin/llvm-config)
  LIBCLANG_PATH                              to the folder of libclang.so
  CUTEC_NVJITLINK, CUTEC_PTXAS               to libnvJitLink.so and ptxas, for cubin output
and run this again. On Debian and Ubuntu the packages are
  ${LLVM_PACKAGES[*]} g++ curl python3 python3-pip pkg-config cmake make"
}

add_llvm_repository() {
  local codename
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  [ -n "$codename" ] || by_hand "no codename in /etc/os-release, so no folder of apt.llvm.org."
  say "adding apt.llvm.org for $codename"
  as_root apt-get install -y --no-install-recommends ca-certificates curl
  curl -fsSL https://apt.llvm.org/llvm-snapshot.gpg.key |
    as_root tee /etc/apt/trusted.gpg.d/apt.llvm.org.asc >/dev/null
  echo "deb https://apt.llvm.org/$codename/ llvm-toolchain-$codename-22 main" |
    as_root tee /etc/apt/sources.list.d/llvm-22.list >/dev/null
  as_root apt-get update
}

install_packages() {
  local wanted=() package
  # A prefix of its own that is complete needs no packages. Debian splits what the build needs over
  # packages that are easily forgotten, so there every one of them is looked at.
  if [ "$LLVM_PREFIX" = /usr/lib/llvm-22 ] || ! llvm_complete; then
    wanted+=("${LLVM_PACKAGES[@]}")
  fi
  command -v g++ >/dev/null || wanted+=(g++)
  command -v cc >/dev/null || wanted+=(gcc)
  command -v curl >/dev/null || wanted+=(curl ca-certificates)
  # The tests build libcutec's examples in both ways that its users build.
  command -v pkg-config >/dev/null || wanted+=(pkg-config)
  command -v cmake >/dev/null || wanted+=(cmake)
  command -v make >/dev/null || wanted+=(make)
  # An editor that asks the language server.
  command -v nvim >/dev/null || wanted+=(neovim)
  command -v python3 >/dev/null || wanted+=(python3)
  python3 -m pip --version >/dev/null 2>&1 || wanted+=(python3-pip)
  [ "$with_bolt" = 0 ] || bolt_complete || wanted+=(bolt-22)

  local missing=()
  if command -v dpkg-query >/dev/null; then
    for package in "${wanted[@]}"; do
      installed "$package" || missing+=("$package")
    done
  else
    missing=("${wanted[@]}")
  fi
  if [ ${#missing[@]} = 0 ]; then
    llvm_complete || by_hand "LLVM 22 is not complete in $LLVM_PREFIX."
    return 0
  fi

  command -v apt-get >/dev/null || by_hand "this is neither Debian nor Ubuntu; missing: ${missing[*]}"
  [ "$(id -u)" = 0 ] || command -v sudo >/dev/null ||
    by_hand "neither root nor sudo; missing: ${missing[*]}"
  say "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  local fresh=0
  for package in "${missing[@]}"; do
    if ! candidate "$package"; then
      if [ "$fresh" = 0 ]; then
        as_root apt-get update
        fresh=1
      fi
      if ! candidate "$package"; then
        case $package in
          *-22 | *-22-*) add_llvm_repository ;;
          *) by_hand "apt knows no package $package." ;;
        esac
      fi
    fi
  done
  # Lists may name files that the mirror has replaced since: once more after an update.
  as_root apt-get install -y --no-install-recommends "${missing[@]}" || {
    as_root apt-get update
    as_root apt-get install -y --no-install-recommends "${missing[@]}"
  }
  llvm_complete || by_hand "LLVM 22 is not complete in $LLVM_PREFIX."
}

install_rust() {
  [ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"
  if ! command -v cargo >/dev/null; then
    say "installing Rust"
    curl --proto '=https' --tlsv1.2 -fsSL https://sh.rustup.rs | sh -s -- -y --profile default
    . "$HOME/.cargo/env"
  fi
  local wanted have
  wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
  have=$(cargo --version | cut -d' ' -f2)
  if [ "$(printf '%s\n' "$wanted" "$have" | sort -V | head -n 1)" != "$wanted" ]; then
    command -v rustup >/dev/null || die "cargo $have is too old: $wanted is needed"
    say "updating Rust $have to $wanted or newer"
    rustup update stable
    rustup default stable
  fi
}

have_cuda_toolkit() {
  local root
  for root in "${CUTEC_CUDA:-}" .local/cuda "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
    if [ -n "$root" ] && [ -x "$root/bin/ptxas" ] && [ -x "$root/bin/nvdisasm" ] &&
      ls "$root"/lib*/libnvJitLink.so* >/dev/null 2>&1; then
      return 0
    fi
  done
  return 1
}

install_cuda_tools() {
  [ "${CUTEC_SKIP_CUDA:-0}" = 0 ] || return 0
  have_cuda_toolkit && return 0
  say "downloading ptxas, nvdisasm, cuobjdump and libnvJitLink from PyPI into .local/cuda"
  mkdir -p .local
  local folder
  folder=$(mktemp -d .local/cuda-download.XXXXXX)
  if ! python3 -m pip download --quiet --no-deps --only-binary=:all: -d "$folder" \
    'nvidia-nvjitlink>=13,<14' 'nvidia-cuda-nvcc>=13,<14' \
    'nvidia-cuda-nvdisasm>=13,<14' 'nvidia-cuda-cuobjdump>=13,<14'; then
    rm -rf "$folder"
    say "no cubin and SASS output: PyPI cannot be reached. Install a CUDA toolkit (12 or newer), or set
  CUTEC_NVJITLINK, CUTEC_PTXAS, CUTEC_NVDISASM to libnvJitLink.so, ptxas and nvdisasm."
    return 0
  fi
  local wheel
  for wheel in "$folder"/*.whl; do
    python3 -m zipfile -e "$wheel" "$folder/unpacked"
  done
  local root
  root=$(dirname "$(dirname "$(find "$folder/unpacked" -path '*/bin/ptxas' | head -n 1)")")
  mkdir -p "$folder/cuda/bin" "$folder/cuda/lib"
  local program
  for program in ptxas nvdisasm cuobjdump; do
    cp "$root/bin/$program" "$folder/cuda/bin/"
    chmod +x "$folder/cuda/bin/$program"
  done
  find "$folder/unpacked" -name 'libnvJitLink.so.*' -exec cp {} "$folder/cuda/lib/" \;
  rm -rf .local/cuda
  mv "$folder/cuda" .local/cuda
  rm -rf "$folder"
}

# Its tests are left out without it.
install_pygls() {
  python3 -c 'import pygls.lsp.client' 2>/dev/null && return 0
  PYTHONPATH=.local/pygls python3 -c 'import pygls.lsp.client' 2>/dev/null && return 0
  say "installing pygls from PyPI into .local/pygls"
  mkdir -p .local
  python3 -m pip install --quiet --disable-pip-version-check --target .local/pygls 'pygls>=2,<3' ||
    say "no pygls: PyPI cannot be reached"
}

case ${1:-} in
  '') with_bolt=0 ;;
  --bolt) with_bolt=1 ;;
  *) die "unknown argument $1" ;;
esac
install_packages
[ "$with_bolt" = 0 ] || bolt_complete || by_hand "BOLT 22 is not in $LLVM_PREFIX."
install_rust
install_pygls
install_cuda_tools
