//! `cutec export`: kernels as a library of C.
//!
//! The source is compiled for each target, and each configuration that a plan chooses once more ([`planned`]); `cutec_export` writes
//! C, and the machine's C compiler makes an object of it. Nothing is written before everything is made.

mod planned;

use super::arguments::{ExportArguments, ExportKind};
use super::context::{Reporter, check_plan, read_source};
use super::error::{CommandError, CommandResult};
use super::output;
use cutec::plan::Plan;
use cutec::{Compiled, Compiler, Content, Emit, FileLoader, Options, Source, SourceMap, pipeline};
use cutec_dialects::target::{TARGETS, Target};
use cutec_export::{Build, Export, Generated, Image, generate};
use cutec_frontend::ast::ItemKind;
use cutec_frontend::diagnostics::Code;
use cutec_frontend::diagnostics::codes::{NO_C_COMPILER, NOT_EXPORTED};
use cutec_runtime::temporary::Folder;
use planned::{Planned, planned};
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the command.
///
/// # Errors
/// When the source is wrong, C cannot have the kernels, there is no C compiler, or a file cannot be read or written.
pub fn run(arguments: &ExportArguments, reporter: &Reporter) -> CommandResult {
    let source = read_source(&arguments.file)?;
    let base = base(arguments)?;
    let name = base
        .file_name()
        .and_then(OsStr::to_str)
        .unwrap_or_default()
        .to_owned();
    let plan = arguments.plan.as_deref();
    let plan = plan
        .map(|path| read_plan(path, &source, reporter))
        .transpose()?;
    let mut targets = arguments.arch.clone();
    if targets.is_empty() {
        targets.push(match &plan {
            Some(plan) => Target::parse(&plan.device.arch).map_err(CommandError::message)?,
            None => TARGETS[0],
        });
    }
    let docs = docs(&source);
    let mut compilation = Compilation {
        arguments,
        source: &source,
        wanted: wanted(&targets),
        // The process ends with this command: its memory need not be given back piece by piece.
        compiler: ManuallyDrop::new(Compiler::new()),
        reporter,
        said: HashSet::new(),
    };
    let compiled = compilation.compile(arguments.kernel.as_deref(), &arguments.define)?;
    let abi = compiled.first().and_then(|compiled| compiled.abi.as_ref());
    let planned = match (&plan, abi) {
        (Some(plan), Some(abi)) => planned(&mut compilation, plan, abi)?,
        (None, _) | (_, None) => Planned::default(),
    };
    let mut builds = Vec::new();
    for (index, (target, _)) in compilation.wanted.iter().enumerate() {
        let Some(abi) = &compiled[index].abi else {
            continue;
        };
        builds.push(Build {
            target: target.name,
            abi,
            image: image(&compiled[index]),
            configurations: planned.of_build(index),
        });
    }
    let export = Export {
        name: &name,
        prefix: &arguments.prefix,
        source: &source.name,
        compiler: concat!("cutec ", env!("CARGO_PKG_VERSION")),
        docs: &docs,
        builds,
        choices: planned.choices.clone(),
    };
    let generated = generate(&export).map_err(|error| coded(NOT_EXPORTED, &error.to_string()))?;
    let files = files(arguments, &name, &generated)?;
    for (extension, bytes) in files {
        output::write(&base.with_file_name(format!("{name}.{extension}")), &bytes)?;
    }
    Ok(())
}

/// The files' name without an extension.
fn base(arguments: &ExportArguments) -> Result<PathBuf, CommandError> {
    let Some(output) = &arguments.output else {
        let stem = arguments.file.file_stem().and_then(OsStr::to_str);
        let name = stem
            .filter(|stem| !stem.is_empty() && *stem != "-")
            .unwrap_or("kernels");
        return Ok(PathBuf::from(cutec_export::names::identifier(name)));
    };
    match output.extension().and_then(OsStr::to_str) {
        Some(extension @ ("h" | "c" | "o" | "so")) => Err(CommandError::Usage(format!(
            "-o {}: expected a name without `.{extension}`; --kind says what is made",
            output.display()
        ))),
        _ if output.file_name().is_none() => Err(CommandError::Usage(format!(
            "-o {}: expected the name of a library",
            output.display()
        ))),
        _ => Ok(output.clone()),
    }
}

/// What the source says about its kernels; what is wrong with it, compiling it shows.
fn docs(source: &Source) -> BTreeMap<String, String> {
    let mut docs = BTreeMap::new();
    if source.name.ends_with(".mlir") {
        return docs;
    }
    if let Ok((program, _)) = pipeline::parse_source(&mut SourceMap::new(), source, &FileLoader) {
        for item in program.items() {
            if let ItemKind::Kernel(kernel) = &item.kind {
                docs.insert(kernel.name.node.to_string(), item.docs.join("\n"));
            }
        }
    }
    docs
}

/// A plan, which was made of this source or is warned about.
fn read_plan(path: &Path, source: &Source, reporter: &Reporter) -> Result<Plan, CommandError> {
    let plan = Plan::read(path).map_err(CommandError::message)?;
    check_plan(&plan, path, source, reporter);
    Ok(plan)
}

/// What is made of the source: machine code for each target, and PTX of the lowest one that later GPUs take.
fn wanted(targets: &[Target]) -> Vec<(Target, Emit)> {
    let mut wanted: Vec<(Target, Emit)> = Vec::new();
    for target in targets {
        if !wanted.iter().any(|(known, _)| known.name == target.name) {
            wanted.push((*target, Emit::Cubin));
        }
    }
    // PTX for a target with a suffix runs nowhere else.
    let plain = targets
        .iter()
        .filter(|target| target.name.ends_with(|last: char| last.is_ascii_digit()));
    wanted.extend(
        plain
            .min_by_key(|target| target.sm)
            .map(|target| (*target, Emit::Ptx)),
    );
    wanted
}

/// Compilations of one source for all targets.
struct Compilation<'a> {
    arguments: &'a ExportArguments,
    source: &'a Source,
    wanted: Vec<(Target, Emit)>,
    compiler: ManuallyDrop<Compiler>,
    reporter: &'a Reporter,
    /// Notices, of which those that are true of all targets are said once.
    said: HashSet<String>,
}

impl Compilation<'_> {
    /// All kernels, or one, with these compile-time parameters: what is wanted, in order.
    fn compile(
        &mut self,
        kernel: Option<&str>,
        defines: &[(String, String)],
    ) -> Result<Vec<Compiled>, CommandError> {
        let mut all = Vec::new();
        for (target, emit) in &self.wanted {
            let options = Options {
                emit: *emit,
                kernel: kernel.map(str::to_owned),
                defines: defines.to_vec(),
                level: self.arguments.level,
                ..Options::new(*target)
            };
            let compiled = self.compiler.compile(self.source, &FileLoader, &options);
            let compiled = compiled.map_err(|error| self.reporter.errors(&error))?;
            if self.said.insert(compiled.render(self.reporter.options())) {
                self.reporter.notices(&compiled);
            }
            all.push(compiled);
        }
        Ok(all)
    }
}

/// The code as it is exported.
fn image(compiled: &Compiled) -> Image<'_> {
    match &compiled.content {
        Content::Binary(cubin) => Image::Cubin(cubin),
        Content::Text(ptx) => Image::Ptx(ptx),
    }
}

/// The extensions and contents of all files.
fn files(
    arguments: &ExportArguments,
    name: &str,
    generated: &Generated,
) -> Result<Vec<(&'static str, Vec<u8>)>, CommandError> {
    let mut files = vec![("h", generated.header.clone().into_bytes())];
    let mut kinds = arguments.kind.clone();
    kinds.dedup();
    for kind in kinds {
        files.push(match kind {
            ExportKind::Source => ("c", generated.source.clone().into_bytes()),
            ExportKind::Object => ("o", build(arguments, name, generated, &["-c"], "o")?),
            ExportKind::Shared => {
                let soname = format!("-Wl,-soname,{name}.so");
                // Of older C libraries dlopen is in a library of its own.
                let options = ["-shared", &soname, "-Wl,--as-needed", "-ldl"];
                ("so", build(arguments, name, generated, &options, "so")?)
            }
        });
    }
    Ok(files)
}

/// What the C compiler makes of the source.
fn build(
    arguments: &ExportArguments,
    name: &str,
    generated: &Generated,
    options: &[&str],
    extension: &str,
) -> Result<Vec<u8>, CommandError> {
    let command = arguments.cc.clone().or_else(|| std::env::var("CC").ok());
    let command = command
        .filter(|command| !command.trim().is_empty())
        .unwrap_or_else(|| "cc".to_owned());
    let mut words = command.split_whitespace();
    let compiler = words.next().unwrap_or("cc");
    let folder = Folder::new().map_err(|error| {
        CommandError::Message(format!("cannot make a temporary folder: {error}"))
    })?;
    let (source, made) = (format!("{name}.c"), format!("{name}.{extension}"));
    for (file, text) in [
        (format!("{name}.h"), &generated.header),
        (source.clone(), &generated.source),
    ] {
        let path = folder.path().join(file);
        std::fs::write(&path, text).map_err(|error| unwritten(&path, &error))?;
    }
    let program = program(compiler);
    let mut command = Command::new(&program);
    command.args(words).args([
        "-std=c11",
        "-O2",
        "-fPIC",
        "-fvisibility=hidden",
        "-w",
        &source,
        "-o",
        &made,
    ]);
    let output = command.args(options).current_dir(folder.path()).output();
    let output = output.map_err(|error| {
        coded(NO_C_COMPILER, &format!("no C compiler: cannot run `{compiler}`: {error}; set CC or --cc, or take --kind source"))
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(coded(
            NO_C_COMPILER,
            &format!(
                "`{compiler}` does not compile the export:\n{}",
                said.trim_end()
            ),
        ));
    }
    let path = folder.path().join(made);
    std::fs::read(&path).map_err(|error| {
        coded(
            NO_C_COMPILER,
            &format!("`{compiler}` has not written {}: {error}", path.display()),
        )
    })
}

/// A compiler by a path from here, as it is run elsewhere.
fn program(compiler: &str) -> PathBuf {
    match compiler.contains('/') {
        true => std::path::absolute(compiler).unwrap_or_else(|_| PathBuf::from(compiler)),
        false => PathBuf::from(compiler),
    }
}

fn unwritten(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::Message(format!("cannot write {}: {error}", path.display()))
}

fn coded(code: Code, text: &str) -> CommandError {
    CommandError::Message(format!("[{code}] {text}"))
}
