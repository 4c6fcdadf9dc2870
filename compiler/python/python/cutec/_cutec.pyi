from inspect import Signature
from os import PathLike
from typing import Any, Mapping, Sequence

from ._errors import Diagnostic
from ._module import Define

VERSION: str

class Kernel:
    """A kernel of a module, with a choice of its compile-time parameters. Called, it launches."""

    def __call__(
        self,
        *args: Any,
        stream: Any = ...,
        check: bool = ...,
        schedule: int = ...,
        **named: Any,
    ) -> None:
        """Launch on the device of the arrays, in the current stream of their framework; arrays of the host run in the simulator.

        Names are those of arguments, or of compile-time parameters, whose values then are of this call. `stream` is a stream of
        CUDA: a number, or an object of a framework. `check` looks for data races, and `schedule` is the number of a legal
        order of events; both are of the simulator.
        """

    def __getitem__(self, parameters: Mapping[str, Define]) -> Kernel:
        """With other compile-time parameters: `kernel[{"bm": 64}]`. The same choice gives the same object."""

    def specialize(self, **parameters: Define) -> Kernel:
        """With other compile-time parameters: `kernel.specialize(bm=64)`."""

    def compile(self, *args: Any, arch: str | None = None, **named: Any) -> Kernel:
        """Compile ahead of the first launch: for `arch`, or for the device of the arguments, which are checked."""

    def profile(self, *args: Any, **named: Any) -> Profile:
        """Run in the simulator, and say what each line of the source costs."""

    def emit(self, level: str, *, arch: str | None = None) -> str | bytes:
        """What the compiler makes of the kernel at a level: "tile", "cute", "mlir", "llvm-raw", "llvm", "ptx", "cubin", "sass", "abi"."""

    def explain(self, *, color: bool = False) -> str:
        """Warnings and remarks as text, with the lines of the source."""

    def torch_op(self, name: str) -> Any:
        """As an operator of PyTorch, such as "mine::gemm"; see `cutec.torch.torch_op`."""

    def tvm_ffi(self) -> Any:
        """As a `tvm_ffi.Function`, which C++, Rust and JAX call without Python's objects."""

    def jax(self, *args: Any) -> Any:
        """What the kernel writes, as new arrays of JAX; see `cutec.jax.call`."""

    @property
    def name(self) -> str:
        """Name in the source."""
    @property
    def __name__(self) -> str: ...
    @property
    def __signature__(self) -> Signature:
        """What `inspect.signature` and editors show."""
    @property
    def docs(self) -> str:
        """The `///` lines before it."""
    @property
    def arguments(self) -> list[str]:
        """Names of the arguments."""
    @property
    def outputs(self) -> list[str]:
        """Names of the arguments that the kernel writes."""
    @property
    def types(self) -> dict[str, str]:
        """The types of the arguments as the source has them, by name."""
    @property
    def parameters(self) -> dict[str, str | None]:
        """The compile-time parameters, with what was chosen or else the text of their defaults."""
    @property
    def candidates(self) -> dict[str, str]:
        """Of the compile-time parameters that have candidates, these as the source has them: `{"bm": "[64, 128]"}`."""
    @property
    def tunable(self) -> list[str]:
        """The conditions between candidates, as the source has them."""
    @property
    def defines(self) -> dict[str, str]:
        """What was chosen of the compile-time parameters."""
    @property
    def arch(self) -> str:
        """The target of `ptx`, `cubin` and `sass`, and of launches in the simulator."""
    @property
    def ptx(self) -> str:
        """PTX with the kernel's ABI."""
    @property
    def cubin(self) -> bytes:
        """Machine code; needs libnvJitLink or ptxas."""
    @property
    def sass(self) -> str:
        """Machine code as text; needs nvdisasm too."""
    @property
    def registers(self) -> int | None:
        """Registers a thread, as the assembler reports them."""
    @property
    def abi(self) -> dict[str, Any]:
        """What a host must know to launch the kernel, as `cutec --emit abi` has it."""
    @property
    def warnings(self) -> list[Diagnostic]:
        """What looks wrong in the source."""
    @property
    def remarks(self) -> list[Diagnostic]:
        """What each copy and product became, and why nothing faster."""

class Profile:
    """What a launch in the simulator cost, line by line of the source; a notebook shows it as a page."""

    @property
    def text(self) -> str:
        """As `cutec profile` prints it."""
    @property
    def html(self) -> str:
        """A page that stands by itself."""
    @property
    def data(self) -> list[dict[str, Any]]:
        """Everything that was counted, as `cutec profile --json` has it: one entry a launch."""
    def _repr_html_(self) -> str: ...

class Layout:
    """The value of a layout expression; a notebook shows a layout as a picture."""

    @property
    def grid(self) -> str | None:
        """A grid of characters; `None` of what is no layout."""
    @property
    def svg(self) -> str | None:
        """A drawing; `None` of what is no layout."""
    def _repr_svg_(self) -> str | None: ...

class Atom:
    """A copy or MMA instruction: who holds which elements; a notebook shows it as a picture."""

    @property
    def grid(self) -> str:
        """Grids of characters, one an operand."""
    @property
    def svg(self) -> str:
        """A drawing."""
    def _repr_svg_(self) -> str: ...

def kernels(
    name: str,
    text: str | None,
    *,
    arch: str,
    defines: dict[str, Define],
    check: bool,
    cache: str | PathLike[str] | None,
    plan: str | PathLike[str] | None = None,
) -> list[Kernel]:
    """The kernels of a source: of a file, where there is no text."""

def run_program(arguments: Sequence[str]) -> int:
    """Run the program `cutec` on arguments, of which the first is its name; the exit code."""

def native_arch() -> str | None:
    """The target of the first GPU; `None` without one."""

def tvm_ffi_entry(library: str | PathLike[str]) -> int:
    """The address of the function by which tvm-ffi calls all kernels; `library` is tvm-ffi's."""

def layout(expression: str, *, tile: str | None = None, bits: int | None = None) -> Layout:
    """Evaluate a layout expression, such as `composition((8,8):(8,1), 4:2)`.

    With `tile` it maps (thread, value) to a place in a tile of that shape, which is drawn; with `bits` of an element it is
    drawn with the banks of shared memory.
    """

def atom(name: str) -> Atom:
    """A copy or MMA instruction by name, such as "ldmatrix_x4" or "sm80_16x8x16_f32f16f16f32"."""

def atoms() -> list[str]:
    """The names of all atoms."""

class Search:
    """A search for the fastest configurations, step by step."""

    def next(self) -> tuple[int, str, int, list[int], int] | None:
        """What to measure next, beside what is known: number and name of the launch, round, numbers of configurations, batches."""
    def tell(self, results: list[tuple[int, list[float], str | None, float]]) -> None:
        """Take results of a step, those of a part of it at least; they are in the journal then."""
    def findings(self) -> tuple[str, str]:
        """The plan as JSON, and a table."""

def search(asked: dict[str, Any]) -> Search:
    """Begin a search."""

def measure_part(
    asked: dict[str, Any], launch: int, numbers: list[int], batches: int
) -> list[tuple[int, list[float], str | None, float]]:
    """Measure configurations of a launch, and the defaults beside them."""
