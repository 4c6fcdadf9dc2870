//! `cutec-bench`: compiled kernels against cuBLAS and against plain copies, on one GPU.
//!
//! It needs neither the compiler nor LLVM: a plan (JSON) names artifacts, kernels and problem sizes.
//!
//! - `plan`: the plan.
//! - `measure`: alternating rounds of ours and the peer, device events, medians.
//! - `operands`: buffers on the device, as many sets as it takes to leave the L2 cache cold.
//! - `cublas`: the peer and the f64 reference of matrix products.
//! - `matmul`, `elementwise`: the two families of cases; `rows`: what reductions of rows give.
//! - `table`: results as Markdown and JSON.
//!
//! Protocol: random normal inputs; operands rotate through sets of buffers that exceed the L2 cache;
//! a round times a batch of launches of ours and one of the peer, each as a graph unless that is clearly slower, and the order swaps from round to
//! round; times are medians over rounds, and the ratio is the median of the rounds' ratios. Before and
//! after it is timed, every kernel is checked against an f64 reference on poisoned outputs.
//!
//! Exit status: 0, 1 when a case failed or was wrong, 2 for wrong usage.

mod cublas;
mod elementwise;
mod matmul;
mod measure;
mod operands;
mod plan;
mod rows;
mod table;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use cutec_runtime::cuda::CudaDevice;
use cutec_runtime::ending::{complain, is_unread};
use cutec_runtime::output_file;
use cutec_runtime::{Artifact, Device, Loaded};

use cublas::Cublas;
use measure::Protocol;
use plan::{Case, Kind, Plan};
use table::Row;

/// Measures compiled kernels against cuBLAS and plain copies.
#[derive(Debug, Parser)]
#[command(name = "cutec-bench", version)]
struct Options {
    /// The plan, JSON.
    plan: PathBuf,
    /// Folder with the artifacts; the plan's own folder if it is not given.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Number of the GPU.
    #[arg(long, default_value_t = 0)]
    device: usize,
    /// Rounds of ours and the peer, at least 7.
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(7..1000))]
    rounds: u32,
    /// Duration of the batch that a round times, in milliseconds.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..10000))]
    batch_ms: u32,
    /// Only cases whose kernel or file contains this.
    #[arg(long)]
    only: Option<String>,
    /// Only checks the results, measures nothing.
    #[arg(long)]
    check: bool,
    /// Leaves out cases whose file does not exist.
    #[arg(long)]
    skip_missing: bool,
    /// Writes the results as JSON, too.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Seed of the inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Any failure of a case; it is shown and ends in the table.
type Failure = Box<dyn std::error::Error>;

/// What the cases share.
struct Bench {
    device: CudaDevice,
    cublas: Cublas,
    protocol: Protocol,
    seed: u64,
}

fn main() -> ExitCode {
    cutec_runtime::signals::leave_nothing_behind();
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            if !is_unread(error.as_ref()) {
                complain(&format!("error: {error}"));
            }
            ExitCode::FAILURE
        }
    }
}

/// Whether all cases ran and were right.
fn run(options: &Options) -> Result<bool, Failure> {
    let plan = Plan::read(&options.plan)?;
    let folder = match &options.folder {
        Some(folder) => folder.clone(),
        None => options
            .plan
            .parent()
            .map_or_else(PathBuf::new, PathBuf::from),
    };
    let device = CudaDevice::open(options.device)?;
    let cublas = Cublas::open(&device)?;
    let protocol = Protocol {
        rounds: options.rounds,
        batch_ms: options.batch_ms,
        measure: !options.check,
    };
    let mut bench = Bench {
        device,
        cublas,
        protocol,
        seed: options.seed,
    };
    let mut out = std::io::stdout();
    writeln!(out, "{}", bench.heading())?;
    writeln!(out, "{}", table::HEAD)?;
    let mut rows = Vec::new();
    let mut missing = Vec::new();
    let mut fault = None;
    for case in &plan.cases {
        let wanted = |only: &String| case.kernel.contains(only) || case.file.contains(only);
        if !options.only.as_ref().is_none_or(wanted) {
            continue;
        }
        if options.skip_missing && !folder.join(&case.file).exists() {
            missing.push(format!("- {}: no such file, left out", case.file));
            continue;
        }
        for row in bench.case(&folder, case) {
            writeln!(out, "{}", row.markdown())?;
            out.flush()?;
            rows.push(row);
        }
        // After a fault a context is lost: the other cases would only repeat the error.
        fault = bench.device.synchronize().err();
        if fault.is_some() {
            break;
        }
    }
    let mut remarks: Vec<String> = rows.iter().filter_map(Row::remark).collect();
    remarks.extend(missing);
    if !remarks.is_empty() {
        writeln!(out, "\n{}", remarks.join("\n"))?;
    }
    if let Some(path) = &options.json {
        output_file::write(path, serde_json::to_string_pretty(&rows)?.as_bytes())?;
    }
    if let Some(fault) = fault {
        return Err(fault.into());
    }
    if rows.is_empty() {
        return Err("there was nothing to measure".into());
    }
    Ok(rows.iter().all(Row::is_right))
}

impl Bench {
    fn heading(&self) -> String {
        let (major, minor) = self.device.capability();
        format!(
            "{}, compute capability {major}.{minor}, driver {}, cuBLAS {}; {} rounds of {} ms\n",
            self.device.name(),
            self.device.driver_version(),
            self.cublas.version(),
            self.protocol.rounds,
            self.protocol.batch_ms,
        )
    }

    /// A row for each size of a case.
    fn case(&mut self, folder: &std::path::Path, case: &Case) -> Vec<Row> {
        let artifact = match Artifact::read(&folder.join(&case.file)) {
            Ok(artifact) => artifact,
            Err(error) => return vec![Row::failed(case, &[], error.to_string())],
        };
        let loaded = match Loaded::load(&mut self.device, &artifact) {
            Ok(loaded) => loaded,
            Err(error) => return vec![Row::failed(case, &[], error.to_string())],
        };
        let rows = case.sizes.iter().map(|size| {
            self.size(&artifact, &loaded, case, size)
                .unwrap_or_else(|error| Row::failed(case, size, error.to_string()))
        });
        rows.collect()
    }

    fn size(
        &mut self,
        artifact: &Artifact,
        loaded: &Loaded,
        case: &Case,
        size: &[i64],
    ) -> Result<Row, Failure> {
        let kernel = artifact.kernel(&case.kernel).ok_or_else(|| {
            let names: Vec<&str> = artifact
                .abi
                .kernels
                .iter()
                .map(|k| k.name.as_str())
                .collect();
            format!(
                "no kernel `{}`: expected one of {}",
                case.kernel,
                names.join(", ")
            )
        })?;
        match &case.kind {
            Kind::Matmul {
                b_is,
                tf32,
                bias_relu,
            } => self.matmul(
                kernel,
                loaded.module(),
                case,
                size,
                *b_is,
                (*tf32, *bias_relu),
            ),
            Kind::Elementwise { op } => self.elementwise(kernel, loaded.module(), case, size, *op),
        }
    }
}
