//! The command line of `cutec`.

use super::error::CommandError;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use cutec::Emit;
use cutec::codegen::OptLevel;
use cutec_dialects::target::Target;
use cutec_frontend::parser::words;
use cutec_runtime::argument::ArgumentSpec;
use cutec_runtime::device::{Device, DeviceError, DeviceSpec};
use cutec_runtime::{SimDevice, sim};
use std::path::PathBuf;

/// Compiles .cute kernels to PTX and cubin, and runs them on a GPU or in a simulator.
#[derive(Debug, Parser)]
#[command(
    name = "cutec",
    version = super::version::text(),
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub struct Arguments {
    /// Compile.
    #[command(flatten)]
    pub emit: EmitArguments,

    /// Another command.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// How errors and warnings are shown: for people, or one JSON object a line (docs/tools.md)
    #[arg(long, value_enum, default_value_t = MessageFormat::Human, global = true, value_name = "FORMAT")]
    pub message_format: MessageFormat,

    /// Colours in messages
    #[arg(long, value_enum, default_value_t = Color::Auto, global = true, value_name = "WHEN")]
    pub color: Color,
}

/// Commands other than compiling.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say what is wrong with sources, for all targets that are named, and make nothing of them
    Check(CheckSourcesArguments),
    /// Put sources into the style of the language
    Fmt(FmtArguments),
    /// Launch one kernel on given or random data
    Run(RunArguments),
    /// Run the `test` blocks of files
    Test(TestArguments),
    /// Run the `bench` blocks of files
    Bench(BenchArguments),
    /// Find the fastest compile-time parameters of the kernels that a bench launches
    Tune(TuneArguments),
    /// Run kernels in the simulator and show what each line of the source costs
    Profile(ProfileArguments),
    /// Make a library of C of kernels: a header, and an object that needs no compiler
    Export(ExportArguments),
    /// Evaluate layout expressions
    Layout(LayoutArguments),
    /// Explain the code of a diagnostic, a built-in, or the kernels of a file
    Explain(ExplainArguments),
    /// Serve an editor: errors of .cute files by the language server protocol
    Lsp(LspArguments),
    /// Print the completions of a shell
    Completions(CompletionsArguments),
    /// Print the manual page, or write those of all commands
    Man(ManArguments),
}

/// How errors and warnings are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// With the lines of the source.
    Human,
    /// One JSON object a line, on standard error.
    Json,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal.
    Auto,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

/// `cutec FILE`: compile.
#[derive(Debug, Args)]
pub struct EmitArguments {
    /// Source: .cute, or .mlir at any level
    #[arg(required = true, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Output file, `-` for standard output; its extension says what to emit
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// What to emit [default: by the output's extension, else ptx]
    #[arg(long, value_parser = emit_kinds(), value_name = "KIND")]
    pub emit: Option<Emission>,

    /// Options of every compilation.
    #[command(flatten)]
    pub compile: CompileArguments,

    /// Print the IR after every MLIR pass to standard error
    #[arg(long, alias = "mlir-print-ir-after-all")]
    pub print_ir_after_all: bool,

    /// Verify the IR after every MLIR pass
    #[arg(long)]
    pub verify_each: bool,

    /// Say what was chosen for each copy and gemm, and why nothing wider
    #[arg(long)]
    pub remarks: bool,

    /// Print how long each phase and each pass took, on all threads together, to standard error
    #[arg(long)]
    pub time_passes: bool,

    /// Only this kernel
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,

    /// Threads that the kernels of a file share on their way to PTX, 0 for one a processor
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub threads: usize,
}

/// Options of every compilation.
#[derive(Debug, Clone, Args)]
pub struct CompileArguments {
    /// Target architecture [default: sm_80; with --plan the target of the plan, for `tune` on a GPU that of the GPU]
    #[arg(long, value_parser = parse_target, value_name = "ARCH")]
    pub arch: Option<Target>,

    /// Set a compile-time parameter
    #[arg(short = 'D', value_parser = parse_define, value_name = "NAME=VALUE")]
    pub define: Vec<(String, String)>,

    /// Optimisation level of LLVM and the assembler, 0 to 3
    #[arg(short = 'O', value_parser = parse_level, default_value = "3", value_name = "LEVEL")]
    pub level: OptLevel,
}

/// Where kernels run.
#[derive(Debug, Clone, Args)]
pub struct DeviceArguments {
    /// Where to run: `sim`, `cuda:0`, or `auto` for the first GPU, else the simulator
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    pub device: DeviceName,

    /// Seed of random data
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
}

/// What the simulator looks for.
#[derive(Debug, Clone, Args)]
pub struct CheckArguments {
    /// Run in the simulator, and report data races and asynchronous copies that nobody waits for
    #[arg(long)]
    pub check: bool,

    /// Run in the simulator in N legal schedules: orders of warps, moments at which asynchronous
    /// copies arrive
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub schedules: u64,
}

/// A device by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceName {
    /// The first GPU, else the simulator.
    Auto,
    /// This one.
    Named(DeviceSpec),
}

impl DeviceName {
    /// Opens the device.
    ///
    /// # Errors
    /// When it is not there.
    pub fn open(self) -> Result<Box<dyn Device>, DeviceError> {
        match self {
            Self::Auto => cutec_runtime::open(None),
            Self::Named(spec) => cutec_runtime::open(Some(&spec.to_string())),
        }
        .map(|mut device| {
            if let Some(simulator) = device.as_sim() {
                simulator.options_mut().progress = sim::Progress::terminal("");
            }
            device
        })
    }

    /// Opens the device, or the simulator where it is to check something.
    ///
    /// # Errors
    /// When it is not there, or a GPU is to check something.
    pub fn open_for(self, check: &CheckArguments) -> Result<Box<dyn Device>, CommandError> {
        if !check.check && check.schedules == 1 {
            return self.open().map_err(CommandError::message);
        }
        match self {
            Self::Named(spec @ DeviceSpec::Cuda(_)) => Err(CommandError::Usage(format!(
                "--check and --schedules are of the simulator, not of {spec}"
            ))),
            _ => Ok(Box::new(SimDevice::with_options(sim::Options {
                races: check.check,
                progress: sim::Progress::terminal(""),
                ..sim::Options::default()
            }))),
        }
    }
}

impl std::str::FromStr for DeviceName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => text
                .parse()
                .map(Self::Named)
                .map_err(|_| "expected `auto`, `sim` or `cuda:N`".to_owned()),
        }
    }
}

/// `cutec run`
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Source, .cute or .mlir
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The kernel; may be left out where the file has one
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,

    /// An argument: NAME=FILE.npy, NAME=NUMBER, or NAME=GENERATOR:SHAPE[:DTYPE] with the generators
    /// normal, uniform, zeros and poison (x=normal:1000x4096). Tensors that the kernel writes may be
    /// left out
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pub arguments: Vec<ArgumentSpec>,

    /// Write an argument after the launch: NAME=FILE.npy
    #[arg(long = "out", value_parser = parse_define, value_name = "NAME=FILE")]
    pub outputs: Vec<(String, String)>,

    /// Options of every compilation.
    #[command(flatten)]
    pub compile: CompileArguments,

    /// Where to run.
    #[command(flatten)]
    pub device: DeviceArguments,

    /// What to look for.
    #[command(flatten)]
    pub check: CheckArguments,
}

/// `cutec check`
#[derive(Debug, Args)]
pub struct CheckSourcesArguments {
    /// Sources, .cute or .mlir, and folders of .cute files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Target architectures [default: sm_80]
    #[arg(long, value_parser = parse_target, value_delimiter = ',', value_name = "ARCH,…")]
    pub arch: Vec<Target>,

    /// Set a compile-time parameter
    #[arg(short = 'D', value_parser = parse_define, value_name = "NAME=VALUE")]
    pub define: Vec<(String, String)>,

    /// Check again whenever a source has changed
    #[arg(long)]
    pub watch: bool,
}

/// `cutec fmt`
#[derive(Debug, Args)]
pub struct FmtArguments {
    /// Sources and folders of them; `-` is standard input, formatted to standard output
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Write nothing; name the files that are not in the style, and fail if there are any
    #[arg(long)]
    pub check: bool,

    /// Write nothing; show what would change, and fail if anything would
    #[arg(long)]
    pub diff: bool,
}

/// `cutec completions`
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// `cutec man`
#[derive(Debug, Args)]
pub struct ManArguments {
    /// Write `cutec.1`, `cutec-test.1` and so on into this folder
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
}

/// `cutec lsp`
#[derive(Debug, Args)]
pub struct LspArguments {
    /// Options of every compilation.
    #[command(flatten)]
    pub compile: CompileArguments,

    /// Standard input and output, which is the only way; editors like to say it
    #[arg(long, hide = true)]
    pub stdio: bool,
}

/// `cutec test`
#[derive(Debug, Args)]
pub struct TestArguments {
    /// Sources with `test` blocks, and folders of them
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Only tests whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,

    /// List the tests, and run none
    #[arg(long)]
    pub list: bool,

    /// Run so many tests at a time in the simulator; by default, and where it is 0, one a processor
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<usize>,

    /// Test again whenever a source has changed
    #[arg(long, conflicts_with = "list")]
    pub watch: bool,

    /// Take the configurations that this plan of `cutec tune` chooses by the extents of each launch, and without --arch its
    /// target
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,

    /// Options of every compilation.
    #[command(flatten)]
    pub compile: CompileArguments,

    /// Where to run.
    #[command(flatten)]
    pub device: DeviceArguments,

    /// What to look for.
    #[command(flatten)]
    pub check: CheckArguments,
}

/// `cutec bench`
#[derive(Debug, Args)]
pub struct BenchArguments {
    /// Sources with `bench` blocks, and folders of them
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Only benches whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,

    /// Take the configurations that this plan of `cutec tune` chooses by the extents of each launch, and without --arch its
    /// target
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,

    /// Launch each kernel this many times more, and report the median (GPU only)
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub repeats: usize,

    /// Options of every compilation.
    #[command(flatten)]
    pub compile: CompileArguments,

    /// Where to run.
    #[command(flatten)]
    pub device: DeviceArguments,
}

/// `cutec tune`
#[derive(Debug, Args)]
pub struct TuneArguments {
    /// Source whose kernels have candidates, `bm = 128 in [64, 128]`
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The `bench` block whose launches are tuned; each size that it launches a kernel with gets a configuration
    #[arg(long, value_name = "NAME")]
    pub bench: String,

    /// The plan, which `cutec bench --plan` and programs read [default: NAME.plan.json]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Where to measure: one device or several, `cuda:0,cuda:1`; the simulator measures by its counts
    /// [default: the first GPU, else the simulator]
    #[arg(
        long = "devices",
        alias = "device",
        value_delimiter = ',',
        value_name = "DEVICE"
    )]
    pub devices: Vec<DeviceName>,

    /// Seed of random data
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,

    /// Compile at most so many configurations of a kernel, spread over all that could win; 0 for all
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub limit: usize,

    /// Threads that compile, 0 for one a processor
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub threads: usize,

    /// Begin no round of measurements later than this many seconds after the start: what was found by then counts
    #[arg(long, value_name = "SECONDS")]
    pub time: Option<f64>,

    /// Keep PTX in this folder, and take it from there
    #[arg(long, value_name = "FOLDER")]
    pub cache: Option<PathBuf>,

    /// Begin anew, whatever an interrupted search has left
    #[arg(long)]
    pub restart: bool,

    /// Show every configuration, with its time or why it was dropped
    #[arg(long)]
    pub list: bool,

    /// Draw the search into an SVG file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// Options of every compilation; without --arch, the target is that of the device.
    #[command(flatten)]
    pub compile: CompileArguments,
}

/// `cutec profile`
#[derive(Debug, Args)]
pub struct ProfileArguments {
    /// Source; its `bench` blocks are run, or its `test` blocks where it has no others
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Launch this kernel instead, on the data that --arg describes
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,

    /// An argument of that kernel, as in `cutec run`
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pub arguments: Vec<ArgumentSpec>,

    /// Only blocks whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,

    /// Print everything that was counted as JSON
    #[arg(long)]
    pub json: bool,

    /// Write a page with the source, the figures and the counts; `-` for standard output
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub html: Option<PathBuf>,

    /// Options of every compilation.
    #[command(flatten)]
    pub compile: CompileArguments,

    /// Where to run; only the simulator profiles.
    #[command(flatten)]
    pub device: DeviceArguments,
}

/// `cutec export`
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// Source, .cute or .mlir
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Name of the library, with its folder: NAME.h, NAME.o … are written [default: the source's name]
    #[arg(short, long, value_name = "NAME")]
    pub output: Option<PathBuf>,

    /// Target architectures, whose machine code goes into the library; PTX of the lowest for all others [default: sm_80]
    #[arg(long, value_parser = parse_target, value_delimiter = ',', value_name = "ARCH,…")]
    pub arch: Vec<Target>,

    /// What to make of the source
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "object",
        value_name = "KIND,…"
    )]
    pub kind: Vec<ExportKind>,

    /// Only this kernel
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,

    /// Hold the configurations that this plan of `cutec tune` chooses, of which each launch takes one by its extents; without
    /// --arch for the plan's target
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,

    /// What the names of all functions begin with
    #[arg(long, default_value = "", value_name = "TEXT")]
    pub prefix: String,

    /// The C compiler, perhaps with options [default: CC of the environment, else cc]
    #[arg(long, value_name = "COMMAND")]
    pub cc: Option<String>,

    /// Set a compile-time parameter
    #[arg(short = 'D', value_parser = parse_define, value_name = "NAME=VALUE")]
    pub define: Vec<(String, String)>,

    /// Optimisation level of LLVM and the assembler, 0 to 3
    #[arg(short = 'O', value_parser = parse_level, default_value = "3", value_name = "LEVEL")]
    pub level: OptLevel,
}

/// What an export makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportKind {
    /// NAME.o, to be linked.
    Object,
    /// NAME.so, to be opened.
    Shared,
    /// NAME.c, for any C compiler.
    Source,
}

/// `cutec layout`
#[derive(Debug, Args)]
pub struct LayoutArguments {
    /// An expression such as `composition((8,8):(8,1), 4:2)`; `-` reads one a line from standard input
    #[arg(
        value_name = "EXPRESSION",
        allow_hyphen_values = true,
        required_unless_present = "atom"
    )]
    pub expression: Option<String>,

    /// Show a copy or MMA instruction instead: who holds which elements. `ldmatrix_x4`,
    /// `sm80_16x8x16_f32bf16bf16f32`; `list` names them all
    #[arg(long, value_name = "NAME", conflicts_with_all = ["expression", "grid", "bits", "tile", "access"])]
    pub atom: Option<String>,

    /// Draw the layout as a grid of characters
    #[arg(long)]
    pub grid: bool,

    /// Draw the layout into an SVG file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// Bits of an element in shared memory: colour the drawing by banks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=128))]
    pub bits: Option<u32>,

    /// The layout maps (thread, value) to a place in a tile of this shape: draw that tile
    #[arg(long, value_name = "SHAPE", conflicts_with = "bits")]
    pub tile: Option<String>,

    /// Count the bank conflicts of an access to the layout in shared memory: `ldmatrix`,
    /// `ldmatrix_trans`, or a layout from (thread, value) to a place in it. Elements have 16 bits
    /// unless --bits says otherwise
    #[arg(long, value_name = "ACCESS", conflicts_with = "tile")]
    pub access: Option<String>,
}

/// `cutec explain`
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// The code, E0123, the name of a built-in, `zipped_divide`, or a file, for its kernels and what there is to tune of them
    #[arg(value_name = "CODE, NAME or FILE", required_unless_present = "list")]
    pub code: Option<String>,

    /// List all codes
    #[arg(long, conflicts_with = "code")]
    pub list: bool,
}

/// What `--emit` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emission {
    /// One level.
    One(Emit),
    /// Every level, into a folder.
    All,
}

/// What `--emit` takes.
fn emit_kinds() -> impl TypedValueParser<Value = Emission> {
    const EVERY: &str = "all";
    let kinds = Emit::ALL.map(|emit| PossibleValue::new(emit.name()).help(emit.description()));
    let every = PossibleValue::new(EVERY)
        .help("every level and the lines that belong together, into the folder -o");
    PossibleValuesParser::new(kinds.into_iter().chain([every])).try_map(|name| {
        let kind = Emit::ALL.into_iter().find(|emit| emit.name() == name);
        match kind {
            Some(kind) => Ok(Emission::One(kind)),
            None if name == EVERY => Ok(Emission::All),
            None => Err(format!("there is no kind {name}")),
        }
    })
}

/// What is wrong with a command line whose words stand where a file and a command cannot stand together: the first one
/// was meant as a command, or there are two files. Of a command its own words are right, and its options exclude each other.
pub fn not_a_command(arguments: impl IntoIterator<Item = String>) -> Option<String> {
    let words = arguments.into_iter().filter(|word| !word.starts_with('-'));
    let words: Vec<String> = words.collect();
    let first = words.first()?;
    let command = Arguments::command();
    if command
        .get_subcommands()
        .any(|command| command.get_name() == first)
    {
        return None;
    }
    Some(match (closest_command(first), words.get(1)) {
        (_, Some(file)) if matches!(first.as_str(), "compile" | "build" | "emit") => {
            format!("there is no command `{first}`: `cutec {file}` compiles a source")
        }
        (Some(command), _) => {
            format!("`{first}` is neither a command nor a source: did you mean `cutec {command}`?")
        }
        (None, Some(second)) => format!(
            "expected one FILE, or a command and then its arguments; found `{first}` and `{second}`"
        ),
        (None, None) => return None,
    })
}

/// The command that a word is like.
pub fn closest_command(word: &str) -> Option<String> {
    let command = Arguments::command();
    let names = command.get_subcommands().map(clap::Command::get_name);
    words::closest(word, names).map(str::to_owned)
}

fn parse_target(text: &str) -> Result<Target, String> {
    Target::parse(text).map_err(|error| error.to_string())
}

fn parse_level(text: &str) -> Result<OptLevel, String> {
    text.parse()
        .ok()
        .and_then(OptLevel::from_digit)
        .ok_or_else(|| "expected 0, 1, 2 or 3".to_owned())
}

fn parse_define(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_define_may_stand_in_one_word_or_two() {
        let arguments =
            Arguments::try_parse_from(["cutec", "a.cute", "-Dbm=64", "-D", "bn = 32", "-O1"]);
        let compile = arguments.expect("a right command line").emit.compile;
        let define = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(compile.define, [define("bm", "64"), define("bn", "32")]);
        assert_eq!(compile.level, OptLevel::O1);
    }

    #[test]
    fn a_file_is_required_unless_there_is_a_command() {
        assert!(Arguments::try_parse_from(["cutec"]).is_err());
        assert!(Arguments::try_parse_from(["cutec", "layout", "8:1"]).is_ok());
        assert!(Arguments::try_parse_from(["cutec", "layout", "--atom", "fma_f32"]).is_ok());
        assert!(Arguments::try_parse_from(["cutec", "layout"]).is_err());
        assert!(Arguments::try_parse_from(["cutec", "a.cute", "--arch", "sm_1"]).is_err());
    }

    #[test]
    fn a_mistyped_command_is_named() {
        let said = |words: &[&str]| not_a_command(words.iter().map(ToString::to_string));
        let said = |words: &[&str]| said(words).unwrap_or_default();
        assert!(said(&["tst", "a.cute"]).ends_with("did you mean `cutec test`?"));
        assert!(
            said(&["--color=never", "a.cute", "b.cute"]).contains("found `a.cute` and `b.cute`")
        );
        assert_eq!(said(&["layout", "--atom", "ldmatrix_x4", "(8,8)"]), "");
    }
}
