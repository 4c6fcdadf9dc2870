//! What is compiled, and how: a source text, a target, compile-time parameters, what to give.

use crate::codegen::OptLevel;
use cutec_dialects::target::{TARGETS, Target, UnknownTarget};
use cutec_frontend::build::Module;
use std::sync::Arc;

/// What a source is.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceKind {
    /// Text of the `.cute` language.
    Cute,
    /// MLIR text, at any level.
    Mlir,
    /// What was built by calls; its listing is the text.
    Built(Module),
}

/// What is compiled: a text, or what was built.
#[derive(Debug, Clone)]
pub struct Source {
    /// The name that messages and `.loc` lines show.
    pub name: String,
    /// The text.
    pub text: Arc<str>,
    /// What it is.
    pub kind: SourceKind,
}

impl Source {
    /// A source whose language follows from its name: `.mlir` is MLIR, everything else `.cute`.
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        let name = name.into();
        let kind = if name.ends_with(".mlir") {
            SourceKind::Mlir
        } else {
            SourceKind::Cute
        };
        Self {
            name,
            text: text.into(),
            kind,
        }
    }

    /// A text of the `.cute` language, whatever its name.
    pub fn cute(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
            kind: SourceKind::Cute,
        }
    }

    /// A text of MLIR at the tile level, the cute level or below, whatever its name.
    pub fn mlir(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
            kind: SourceKind::Mlir,
        }
    }
}

impl From<Module> for Source {
    /// The module under its own name, as the file `NAME.cute` would have it.
    fn from(module: Module) -> Self {
        Self {
            name: format!("{}.cute", module.name()),
            text: Arc::clone(module.listing()),
            kind: SourceKind::Built(module),
        }
    }
}

/// The level at which compilation stops and whose text (or bytes) it gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Emit {
    /// IR as the front end makes it.
    Tile,
    /// IR at the cute level.
    Cute,
    /// MLIR in upstream dialects, ready for LLVM.
    Mlir,
    /// LLVM IR as translated from MLIR.
    LlvmRaw,
    /// LLVM IR after optimisation.
    Llvm,
    /// PTX with the kernel ABI in front.
    Ptx,
    /// A cubin; the ABI goes beside it.
    Cubin,
    /// SASS text of the cubin.
    Sass,
    /// The kernel ABI as JSON.
    Abi,
}

impl Emit {
    /// All of them, from the source downwards.
    pub const ALL: [Self; 9] = [
        Self::Tile,
        Self::Cute,
        Self::Mlir,
        Self::LlvmRaw,
        Self::Llvm,
        Self::Ptx,
        Self::Cubin,
        Self::Sass,
        Self::Abi,
    ];

    /// The name by which a command line asks for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tile => "tile",
            Self::Cute => "cute",
            Self::Mlir => "mlir",
            Self::LlvmRaw => "llvm-raw",
            Self::Llvm => "llvm",
            Self::Ptx => "ptx",
            Self::Cubin => "cubin",
            Self::Sass => "sass",
            Self::Abi => "abi",
        }
    }

    /// What it is, in a few words.
    pub fn description(self) -> &'static str {
        match self {
            Self::Tile => "IR as the front end makes it",
            Self::Cute => "IR at the cute level",
            Self::Mlir => "MLIR in upstream dialects",
            Self::LlvmRaw => "LLVM IR as translated",
            Self::Llvm => "LLVM IR, optimised",
            Self::Ptx => "PTX text",
            Self::Cubin => "machine code",
            Self::Sass => "machine code as text",
            Self::Abi => "the kernel ABI as JSON",
        }
    }

    /// What a file of this extension holds.
    pub fn from_extension(extension: &str) -> Option<Self> {
        match extension {
            "mlir" => Some(Self::Mlir),
            "ll" => Some(Self::Llvm),
            "ptx" => Some(Self::Ptx),
            "cubin" => Some(Self::Cubin),
            "sass" => Some(Self::Sass),
            "json" => Some(Self::Abi),
            _ => None,
        }
    }
}

/// How to compile.
#[derive(Debug, Clone)]
pub struct Options {
    /// What to give.
    pub emit: Emit,
    /// The chip.
    pub target: Target,
    /// Only this kernel of the file.
    pub kernel: Option<String>,
    /// Values of compile-time parameters, `name=value`, as text of the language.
    pub defines: Vec<(String, String)>,
    /// LLVM's and the assembler's optimisation level.
    pub level: OptLevel,
    /// Print the IR after every MLIR pass to stderr.
    pub print_ir_after_all: bool,
    /// Verify the IR after every MLIR pass. Builds with debug assertions always do.
    pub verify_each: bool,
    /// Keep source lines in cubins.
    pub line_info: bool,
    /// Say what was chosen for each copy and gemm: [`crate::Compiled::remarks`].
    pub remarks: bool,
    /// Print the place in the source behind each operation of MLIR, in MLIR's notation.
    pub places: bool,
    /// Threads that the kernels of a file share on their way to PTX, 0 for one a processor. What comes out does not
    /// depend on it. The assembler uses all processors.
    pub threads: usize,
}

impl Default for Options {
    /// PTX for the oldest target, which runs on every newer GPU too.
    fn default() -> Self {
        Self::new(TARGETS[0])
    }
}

impl Options {
    /// PTX for the target of that name: `sm_80`, `sm_90a`.
    ///
    /// # Errors
    /// When there is no such target.
    pub fn for_arch(name: &str) -> Result<Self, UnknownTarget> {
        Ok(Self::new(Target::parse(name)?))
    }

    /// PTX for `target`, fully optimised.
    pub fn new(target: Target) -> Self {
        Self {
            emit: Emit::Ptx,
            target,
            kernel: None,
            defines: Vec::new(),
            level: OptLevel::O3,
            print_ir_after_all: false,
            verify_each: false,
            line_info: true,
            remarks: false,
            places: false,
            threads: 0,
        }
    }
}
