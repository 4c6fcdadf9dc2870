# lit: one behaviour a file, `.cute` or `.mlir`, with its RUN and CHECK lines inside.
#
#   CUTEC_PROGRAMS  folder of cutec, cute-opt and cute-lsp-server; without it the newest of target/{release,debug}
#   CUTEC_CUDA      folder with bin/ptxas; without it .local/cuda, CUDA_HOME, /usr/local/cuda, PATH
#
# Substitutions: %cutec %cute-opt %cute-lsp-server %ptxas %mlir-opt %mlir-runner FileCheck not split-file
# Features: `ptxas`, `nvdisasm`, `cubin` where NVIDIA's tools are to be had (REQUIRES: ptxas); `node`;
#   `strace` where processes may be traced; `mlir-runner` where LLVM's JIT for MLIR is installed; `nvim`; `pygls` where
#   Python or .local/pygls has this client of language servers
import glob
import os
import shutil
import subprocess

import lit.formats

config.name = "cutec"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".cute", ".mlir", ".test"]
config.excludes = ["Inputs", "src", "tests", "vectors"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
checkout = os.path.dirname(config.test_source_root)


def programs_folder():
    given = os.environ.get("CUTEC_PROGRAMS")
    if given:
        return given
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(checkout, "target"))
    built = [os.path.join(target, profile, "cutec") for profile in ("release", "debug")]
    built = [program for program in built if os.path.exists(program)]
    if not built:
        lit_config.fatal("cutec is not built: run `cargo build --release` first, or set CUTEC_PROGRAMS")
    return os.path.dirname(max(built, key=os.path.getmtime))


def find_llvm_program(name):
    prefix = os.environ.get("MLIR_SYS_220_PREFIX", "/usr/lib/llvm-22")
    path = os.path.join(prefix, "bin", name)
    return path if os.path.exists(path) else shutil.which(name + "-22") or shutil.which(name)


def llvm_program(name):
    found = find_llvm_program(name)
    if not found:
        lit_config.fatal(name + " is missing: install llvm-22-tools, or set MLIR_SYS_220_PREFIX")
    return found


def cuda_roots():
    roots = [os.environ.get("CUTEC_CUDA"), os.path.join(checkout, ".local", "cuda"),
             os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    return [root for root in roots if root]


def cuda_program(name):
    for root in cuda_roots():
        path = os.path.join(root, "bin", name)
        if os.path.exists(path):
            return path
    return shutil.which(name)


programs = programs_folder()
config.test_exec_root = os.path.join(os.path.dirname(programs), "lit")
config.substitutions += [
    ("%cutec", os.path.join(programs, "cutec")),
    ("%cute-opt", os.path.join(programs, "cute-opt")),
    ("%cute-lsp-server", os.path.join(programs, "cute-lsp-server")),
    ("%ptxas", cuda_program("ptxas") or "ptxas-is-missing"),
]
for name in ("FileCheck", "not", "split-file"):
    config.substitutions.append((r"(?<![\w/.-])%s(?![\w.-])" % name, llvm_program(name)))

jit = {name: find_llvm_program(name) for name in ("mlir-opt", "mlir-runner")}
config.substitutions += [("%" + name, path or name + "-is-missing") for name, path in jit.items()]
if all(jit.values()):
    config.available_features.add("mlir-runner")

for name in ("ptxas", "nvdisasm"):
    if cuda_program(name):
        config.available_features.add(name)
for name in ("node", "nvim"):
    if shutil.which(name):
        config.available_features.add(name)
# Where processes may not be traced, as in some containers, it is there and does nothing.
if shutil.which("strace") and subprocess.run(["strace", "-qq", "-o", os.devnull, "true"], capture_output=True).returncode == 0:
    config.available_features.add("strace")
packages = {"PYTHONPATH": os.path.join(checkout, ".local", "pygls")}
config.substitutions.append(("%python", f"env PYTHONPATH={packages['PYTHONPATH']} python3"))
has_pygls = ["python3", "-c", "import pygls.lsp.client"]
if subprocess.run(has_pygls, env=os.environ | packages, capture_output=True).returncode == 0:
    config.available_features.add("pygls")
libraries = [path for root in cuda_roots() for path in glob.glob(os.path.join(root, "lib*", "libnvJitLink.so*"))]
if libraries or os.environ.get("CUTEC_NVJITLINK") or cuda_program("ptxas"):
    config.available_features.add("cubin")

# cutec looks in .local/cuda of its own checkout; a target folder elsewhere needs to be told.
local = os.path.join(checkout, ".local", "cuda")
if "CUTEC_CUDA" not in os.environ and os.path.isdir(local):
    config.environment["CUTEC_CUDA"] = local
for variable in ("CUTEC_CUDA", "CUTEC_NVJITLINK", "CUTEC_PTXAS", "CUDA_HOME", "CUDA_PATH", "RUST_BACKTRACE"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]
