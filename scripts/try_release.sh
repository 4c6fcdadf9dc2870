#!/usr/bin/env bash
# Tries what scripts/release.sh made, each part on a Debian 12 that has nothing but its smallest set of packages, made by debootstrap and
# removed afterwards. As root, with debootstrap and a C compiler here.
#   scripts/try_release.sh [FOLDER]     FOLDER is target/handout unless it is said
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=$(cd "${1:-target/handout}" && pwd)
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
# The wheel wants a Python. apt needs libraries that are taken away then.
inside apt-get install -y --no-install-recommends python3 python3-pip python3-numpy >/dev/null 2>&1

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

step "the programs"
bare
tar -xzf "$(only 'cutec-*.tar.gz')" -C "$root/opt"
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

step "libcutec"
mkdir "$root/opt/libcutec"
tar -xzf "$(only 'libcutec-*.tar.gz')" -C "$root/opt/libcutec" --strip-components=1
export PKG_CONFIG_PATH="$root/opt/libcutec/lib/pkgconfig"
# shellcheck disable=SC2046
"${CC:-cc}" -std=c11 examples/c/simulate.c $(pkg-config --cflags --libs cutec) -o "$root/tmp/simulate"
inside env LD_LIBRARY_PATH=/opt/libcutec/lib /tmp/simulate
inside env LD_LIBRARY_PATH=/opt/libcutec/lib sh -c 'ldd /opt/libcutec/lib/libcutec.so'

step "the extension"
# VS Code is not there: what the manifest names is in the package, and the server that it starts answers.
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
request='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}'
printf 'Content-Length: %s\r\n\r\n%s' "${#request}" "$request" >"$root/tmp/request"
inside sh -c 'timeout 5 /opt/cutec-*/bin/cutec lsp </tmp/request | grep -ao "\"capabilities\":{" ' || {
  printf 'try_release: cutec lsp does not answer\n' >&2
  exit 1
}

printf '\neach part runs on a bare Debian\n'
