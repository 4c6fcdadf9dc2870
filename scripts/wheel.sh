#!/usr/bin/env bash
# Builds the Python package: one wheel, target/wheels/cutec-*.whl, for CPython 3.10 and later on Linux with glibc 2.34 and later.
# With --test the wheel is installed into a fresh virtual environment, and test-suite/python runs there; `--test python3.10 python3.13` does so for
# each of these interpreters.
#
# The Python tools are in .local/python, from PyPI; NumPy of the tests too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"
target=$(cargo metadata --no-deps --format-version 1 |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
tools=.local/python
# Wheels are served by hosts; each byte of one is loaded at an import.
most_bytes=$((40 << 20))

case ${1:-} in
  '' | --test) ;;
  *)
    printf 'wheel: unknown argument %s\n' "$1" >&2
    exit 1
    ;;
esac

step() { printf '\n== %s\n' "$*"; }

step "tools"
# As folders of packages: the module venv is a package of its own on Debian, and virtualenv comes from PyPI.
if [ ! -x "$tools/bin/maturin" ] || [ ! -d "$tools/virtualenv" ]; then
  rm -rf "$tools"
  python3 -m pip install --quiet --disable-pip-version-check --target "$tools" 'maturin>=1.9,<2' virtualenv
fi

step "wheel"
# It checks what the module asks of glibc and of other libraries.
"$tools/bin/maturin" build --release --manifest-path compiler/python/Cargo.toml \
  --compatibility manylinux_2_34 --auditwheel check --out "$target/wheels"
# The last one, where there are older versions.
wheel=$(ls -t "$target"/wheels/cutec-*.whl | sed -n 1p)
bytes=$(stat -c %s "$wheel")
printf '%s: %s bytes\n' "$wheel" "$bytes"
[ "$bytes" -le "$most_bytes" ] || {
  printf 'wheel: expected at most %s bytes\n' "$most_bytes" >&2
  exit 1
}

for licence in LICENSE-APACHE LICENSE-MIT; do
  python3 -m zipfile --list "$wheel" | grep "dist-info/licenses/$licence " >/dev/null || {
    printf 'wheel: no %s within\n' "$licence" >&2
    exit 1
  }
done

[ "${1:-}" = --test ] || exit 0
environments=$(mktemp -d)
trap 'rm -rf "$environments"' EXIT
shift
for python in "${@:-python3}"; do
  step "tests of the wheel, $("$python" --version)"
  environment=$(mktemp -d -p "$environments")
  PYTHONPATH=$PWD/$tools python3 -m virtualenv --quiet --python "$python" "$environment"
  install() { "$environment/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }
  install "$wheel" numpy pytest
  # Their tests are skipped without them.
  for package in jax ml_dtypes apache-tvm-ffi mypy; do
    install "$package" || printf 'wheel: no %s\n' "$package"
  done
  # From elsewhere, so that the installed package is imported and not the folder here.
  (cd "$environment" && CUTEC_CACHE=$environment/cache bin/python -m pytest -q -p no:cacheprovider "$OLDPWD/test-suite/python")
done
