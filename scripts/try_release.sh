#!/usr/bin/env bash
# Tries what scripts/release.sh made, each part on a Debian 12 that has nothing but its smallest set of packages, made by debootstrap and
# removed afterwards. As root, with debootstrap and a C compiler here.
#   scripts/try_release.sh [FOLDER] [PART…]     FOLDER is target/handout unless it is said; PART as of release.sh, all unless some are named
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=target/handout
parts=()
for argument in "$@"; do
  case $argument in
    programs | library | wheel | extension) parts+=("$argument") ;;
    *) folder=$argument ;;
  esac
done
folder=$(cd "$folder" && pwd)
[ ${#parts[@]} != 0 ] || parts=(programs library wheel extension)
wanted() { [[ " ${parts[*]} " == *" $1 "* ]]; }
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
root=$(mktemp -d)
# What is mounted within is seen by the command alone that runs there, so that nothing of this machine can be removed with it.
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"

step() { printf '\n== %s\n' "$*"; }
inside() {
  # shellcheck disable=SC2016
  unshare --mount --propagation private sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" \
    /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"
}
only() { # only PATTERN: the one file of that name
  local found
  found=$(find "$folder" -maxdepth 1 -name "$1")
  [ -n "$found" ] && [ "$(wc -l <<<"$found")" = 1 ] || {
    printf 'try_release: expected one %s, found: %s\n' "$1" "$found" >&2
    exit 1
  }
  printf '%s\n' "$found"
}
# What LLVM and Rust else load must not be what makes it run.
bare() { rm -f "$root"/usr/lib/*/libgcc_s.so* "$root"/lib/*/libgcc_s.so* "$root"/usr/lib/*/libstdc++.so* "$root"/usr/lib/*/libzstd.so* "$root"/usr/lib/*/libz.so* "$root"/lib/*/libz.so*; }

step "sums"
(cd "$folder" && sha256sum --check SHA256SUMS)

step "Debian"
debootstrap --variant=minbase bookworm "$root" "$mirror" >/dev/null
# The wheel wants a Python, and what comes with the programs a reader of manuals and shells. apt needs libraries that are taken away then.
packages=(man-db bash-completion zsh fish)
! wanted wheel || packages+=(python3 python3-pip python3-numpy)
inside env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${packages[@]}" >/dev/null 2>&1

try_wheel() {
  step "the Python package"
  cp "$(only 'cutec-*.whl')" "$root/tmp"
  inside sh -c 'python3 -m pip install --quiet --root-user-action=ignore --break-system-packages --no-deps /tmp/cutec-*.whl'
  cat >"$root/tmp/try.py" <<'PYTHON'
import cutec, numpy as np
mod = cutec.loads("""
kernel relu(x: tensor<f32, (m, n)>, y: mut tensor<f32, (m, n)>) launch tiles(m / 16, n / 64)
{ y.tile((16, 64), (tile.m, tile.n)) = max(x.tile((16, 64), (tile.m, tile.n)), 0.0); }
""")
x = np.random.standard_normal((100, 72)).astype(np.float32)
y = np.empty_like(x)
mod.relu(x, y, check=True)
assert (y == np.maximum(x, 0)).all()
print("cutec", cutec.__version__, "in the simulator: right")
PYTHON
  inside python3 /tmp/try.py
  inside cutec --version
}

try_manuals() {
  step "manual pages and completions"
  # shellcheck disable=SC2016
  inside bash -ec '
    cd /opt/cutec-*/share
    for page in man/man1/*.1; do
      MANWIDTH=100 man -l "$page" >/tmp/page || { echo "try_release: $page is no page"; exit 1; }
      for section in NAME SYNOPSIS OPTIONS; do
        grep -q "^$section" /tmp/page || { echo "try_release: $page has no $section"; exit 1; }
      done
    done
    [ -z "$(man --warnings -l man/man1/cutec-test.1 2>&1 >/dev/null)" ]
    echo "$(ls man/man1 | wc -l) pages"
    . /usr/share/bash-completion/bash_completion
    . bash-completion/completions/cutec
    completed() { COMP_WORDS=(cutec "$@"); COMP_CWORD=$#; COMP_LINE="cutec $*"; COMP_POINT=${#COMP_LINE}; _cutec cutec "${@: -1}" "${*: -2:1}"; echo "${COMPREPLY[*]}"; }
    [ "$(completed te)" = test ]
    [ "$(completed test --sched)" = --schedules ]
    echo "bash completes: cutec te, cutec test --sched"
    PATH=$PATH:$(echo /opt/cutec-*/bin) fish -c "set -p fish_complete_path /opt/cutec-*/share/fish/vendor_completions.d; complete -C\"cutec lay\"" | grep "^layout"
    mkdir -p /tmp/zsh; cd /tmp/zsh
    zsh -fc "fpath=(/opt/cutec-*/share/zsh/site-functions(N) \$fpath); autoload -Uz compinit && compinit -u && whence -w _cutec && [ \"\$_comps[cutec]\" = _cutec ]"
  '
}

try_programs() {
  step "the programs"
  tar -xzf "$(only 'cutec-*.tar.gz')" -C "$root/opt"
  try_manuals
  bare
  for program in "$root"/opt/cutec-*/bin/*; do
    name=${program#"$root"}
    missing=$(inside ldd "$name" | grep 'not found' || true)
    [ -z "$missing" ] || {
      printf 'try_release: %s misses %s\n' "$name" "$missing" >&2
      exit 1
    }
    inside "$name" --version
  done
  inside sh -c 'ldd /opt/cutec-*/bin/cutec'
  inside sh -c 'cd /opt/cutec-* && bin/cutec test --device sim --check examples/relu.cute examples/gemm_1_base.cute'
  inside sh -c 'cd /opt/cutec-* && bin/cutec test --device sim --arch sm_90a examples/hopper/gemm_3_roles.cute'
  inside sh -c "cd /opt/cutec-* && bin/cutec examples/gemm.cute -o /tmp/gemm.ptx && bin/cutec layout 'composition((8,8):(8,1), 4:2)'"
}

try_library() {
  step "libcutec"
  bare
  mkdir "$root/opt/libcutec"
  tar -xzf "$(only 'libcutec-*.tar.gz')" -C "$root/opt/libcutec" --strip-components=1
  export PKG_CONFIG_PATH="$root/opt/libcutec/lib/pkgconfig"
  # shellcheck disable=SC2046
  "${CC:-cc}" -std=c11 examples/c/simulate.c $(pkg-config --cflags --libs cutec) -o "$root/tmp/simulate"
  inside env LD_LIBRARY_PATH=/opt/libcutec/lib /tmp/simulate
  inside env LD_LIBRARY_PATH=/opt/libcutec/lib sh -c 'ldd /opt/libcutec/lib/libcutec.so'
}

try_extension() {
  step "the extension"
  # VS Code is not there: what the manifest names is in the package.
  python3 - "$(only 'cute-*.vsix')" <<'PYTHON'
import json, sys, zipfile
package = zipfile.ZipFile(sys.argv[1])
manifest = json.loads(package.read("extension/package.json"))
named = [manifest["main"]] + [grammar["path"] for grammar in manifest["contributes"]["grammars"]]
named += [language["configuration"] for language in manifest["contributes"]["languages"] if "configuration" in language]
named += [f"node_modules/{name}/package.json" for name in manifest["dependencies"]]
for name in named:
    package.getinfo("extension/" + name.removeprefix("./"))
print(manifest["name"], manifest["version"], len(package.namelist()), "files")
PYTHON
}

try_server() {
  step "the language server"
  request='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}'
  printf 'Content-Length: %s\r\n\r\n%s' "${#request}" "$request" >"$root/tmp/request"
  inside sh -c 'timeout 5 /opt/cutec-*/bin/cutec lsp </tmp/request | grep -ao "\"capabilities\":{" ' || {
    printf 'try_release: cutec lsp does not answer\n' >&2
    exit 1
}

}

! wanted wheel || try_wheel
! wanted programs || try_programs
! wanted library || try_library
! wanted extension || try_extension
! wanted programs || try_server

printf '\neach part runs on a bare Debian\n'
