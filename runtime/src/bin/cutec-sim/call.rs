//! What is launched: a kernel with its arguments, by its ABI or by the command line.

use std::path::{Path, PathBuf};

use cutec_runtime::abi::embed::from_json;
use cutec_runtime::argument::{ArgumentSpec, Generator, Source, make_arguments};
use cutec_runtime::device::{Geometry, ParamValue};
use cutec_runtime::ending::is_unread;
use cutec_runtime::number::{NotANumber, Number};
use cutec_runtime::sim::{Module, Stats};
use cutec_runtime::tensor::npy;
use cutec_runtime::{
    Artifact, Code, DType, Device, DeviceError, RunError, SimDevice, Tensor, Value, run_kernel,
};

use super::Options;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// A file.
    #[error("{}: {reason}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A parameter that is none.
    #[error(
        "parameter {index} `{text}`: expected FILE.npy, GENERATOR:SHAPE:DTYPE or DTYPE:NUMBER: {reason}"
    )]
    Parameter {
        /// Its number, from 0.
        index: usize,
        /// As written.
        text: String,
        /// What is wrong.
        reason: String,
    },
    /// Another number of parameters than the kernel has.
    #[error("`{kernel}` has {expected} parameters, found {found}")]
    Count {
        /// The kernel.
        kernel: String,
        /// How many it has.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A kernel or an argument by a name that nothing has.
    #[error("no {what} `{name}`: expected one of {available}")]
    Unknown {
        /// `kernel` or `argument`.
        what: &'static str,
        /// The name.
        name: String,
        /// The names that there are.
        available: String,
    },
    /// The PTX says nothing of its ABI, and the command line neither.
    #[error("{0}; give --abi FILE, or --grid, --block and --param")]
    NoAbi(String),
    /// Arguments that do not fit.
    #[error(transparent)]
    Arguments(#[from] cutec_runtime::argument::ArgumentError),
    /// The launch failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Two schedules gave different results.
    #[error(
        "`{name}` depends on the order in which things happen: in schedule {schedule} byte {byte} is another \
         than in schedule 0"
    )]
    Schedule {
        /// The argument.
        name: String,
        /// The schedule.
        schedule: u64,
        /// The first byte that differs.
        byte: usize,
    },
    /// Standard output is closed, or the like.
    #[error(transparent)]
    Output(#[from] std::io::Error),
}

impl From<DeviceError> for CallError {
    fn from(error: DeviceError) -> CallError {
        CallError::Run(RunError::Device(error))
    }
}

impl CallError {
    /// Whether nobody reads standard output any more.
    pub fn is_unread(&self) -> bool {
        match self {
            CallError::Output(error) => is_unread(error),
            _ => false,
        }
    }

    /// What usually mends it.
    pub fn help(&self) -> Option<String> {
        match self {
            CallError::Run(RunError::Device(error)) => error.sim()?.help(),
            _ => None,
        }
    }
}

/// A kernel with its arguments.
pub struct Call {
    /// The kernel.
    pub kernel: String,
    names: Vec<String>,
    values: Vec<Value>,
    code: CodeOf,
}

enum CodeOf {
    Artifact(Artifact),
    Text(Code, Geometry),
}

impl Call {
    /// Reads all that the command line names.
    pub fn new(options: &Options) -> Result<Call, CallError> {
        let text = read(&options.file)?;
        match (options.grid, options.block) {
            (Some(grid), Some(block)) => {
                let module = Module::parse(&text).map_err(DeviceError::Sim)?;
                let entries = module.entries();
                let names = entries.iter().map(|entry| entry.name.as_str());
                let kernel = choose(names.collect(), options.kernel.as_deref())?;
                let parameters = module.entry(&kernel).map_or(0, |entry| entry.params.len());
                if parameters != options.params.len() {
                    return Err(CallError::Count {
                        kernel,
                        expected: parameters,
                        found: options.params.len(),
                    });
                }
                let params = options.params.iter().enumerate();
                let values: Result<_, _> = params
                    .map(|(index, text)| parameter(index, text, options.seed))
                    .collect();
                let geometry = Geometry {
                    entry: kernel.clone(),
                    grid: grid.0,
                    persistent: false,
                    cluster: [1; 3],
                    pdl: false,
                    cooperative: false,
                    block: block.0,
                    smem_bytes: options.shared,
                };
                Ok(Call {
                    kernel,
                    names: (0..parameters).map(|index| index.to_string()).collect(),
                    values: values?,
                    code: CodeOf::Text(Code::Ptx(text), geometry),
                })
            }
            _ => Call::by_abi(options, text),
        }
    }

    fn by_abi(options: &Options, text: String) -> Result<Call, CallError> {
        let artifact = match &options.abi {
            Some(path) => Artifact {
                abi: from_json(&read(path)?).map_err(|error| CallError::File {
                    path: path.clone(),
                    reason: error.to_string(),
                })?,
                code: Code::Ptx(text),
            },
            None => {
                Artifact::from_ptx(text).map_err(|error| CallError::NoAbi(error.to_string()))?
            }
        };
        let kernels = artifact.abi.kernels.iter();
        let names = kernels.map(|kernel| kernel.name.as_str());
        let name = choose(names.collect(), options.kernel.as_deref())?;
        let (mut names, mut values) = (Vec::new(), Vec::new());
        if let Some(kernel) = artifact.kernel(&name) {
            names = kernel
                .args
                .iter()
                .map(|arg| arg.name().to_string())
                .collect();
            values = make_arguments(kernel, &options.args, options.seed)?;
        }
        Ok(Call {
            kernel: name,
            names,
            values,
            code: CodeOf::Artifact(artifact),
        })
    }

    /// Launches it once, and gives its arguments as they are afterwards.
    pub fn run(&self, device: &mut SimDevice) -> Result<(Vec<Value>, Stats), CallError> {
        let mut values = self.values.clone();
        let report = match &self.code {
            CodeOf::Artifact(artifact) => {
                run_kernel(device, artifact, &self.kernel, &mut values)?.report
            }
            CodeOf::Text(code, geometry) => {
                let module = device.load(code)?;
                let (mut params, mut buffers) = (Vec::new(), Vec::new());
                for (name, value) in self.names.iter().zip(&values) {
                    params.push(match value {
                        Value::Scalar(scalar) => ParamValue::scalar(*scalar),
                        Value::Tensor(tensor) => {
                            let bytes = tensor.bytes();
                            let label = format!("parameter {name}");
                            let buffer = device.alloc(bytes.len() as u64, &label)?;
                            match tensor.is_poison() {
                                true => device.poison(&buffer, bytes)?,
                                false => device.upload(&buffer, bytes)?,
                            }
                            let address = ParamValue::pointer(buffer.address());
                            buffers.push(buffer);
                            address
                        }
                    });
                }
                let report = device.launch(&module, geometry, &params)?;
                let mut buffers = buffers.into_iter();
                for value in &mut values {
                    if let Value::Tensor(tensor) = value
                        && let Some(buffer) = buffers.next()
                    {
                        device.download(&buffer, tensor.bytes_mut())?;
                    }
                }
                report
            }
        };
        Ok((values, report.stats.unwrap_or_default()))
    }

    /// The number of an argument.
    pub fn position(&self, name: &str) -> Result<usize, CallError> {
        let found = self.names.iter().position(|known| known == name);
        found.ok_or_else(|| CallError::Unknown {
            what: "argument",
            name: name.to_string(),
            available: self.names.join(", "),
        })
    }

    /// The tensors that a run changed, by name.
    pub fn changed<'a>(&'a self, after: &'a [Value]) -> Vec<(&'a str, &'a Tensor)> {
        let pairs = self.values.iter().zip(after).zip(&self.names);
        pairs
            .filter(|((before, after), _)| before != after)
            .filter_map(|((_, after), name)| Some((name.as_str(), after.as_tensor()?)))
            .collect()
    }

    /// Whether a schedule gave what the first one gave.
    pub fn compare(
        &self,
        schedule: u64,
        first: &[Value],
        again: &[Value],
    ) -> Result<(), CallError> {
        for ((name, first), again) in self.names.iter().zip(first).zip(again) {
            let (Some(first), Some(again)) = (first.as_tensor(), again.as_tensor()) else {
                continue;
            };
            let mut pairs = first.bytes().iter().zip(again.bytes());
            if let Some(byte) = pairs.position(|(a, b)| a != b) {
                return Err(CallError::Schedule {
                    name: name.clone(),
                    schedule,
                    byte,
                });
            }
        }
        Ok(())
    }
}

fn choose(names: Vec<&str>, name: Option<&str>) -> Result<String, CallError> {
    match (name, &names[..]) {
        (None, [only]) => Ok((*only).to_string()),
        (Some(name), _) if names.contains(&name) => Ok(name.to_string()),
        _ => Err(CallError::Unknown {
            what: "kernel",
            name: name.unwrap_or("").to_string(),
            available: names.join(", "),
        }),
    }
}

fn read(path: &Path) -> Result<String, CallError> {
    std::fs::read_to_string(path).map_err(|error| CallError::File {
        path: path.to_path_buf(),
        reason: error.to_string(),
    })
}

/// A parameter of a kernel without an ABI.
fn parameter(index: usize, text: &str, seed: u64) -> Result<Value, CallError> {
    let wrong = |reason: String| CallError::Parameter {
        index,
        text: text.to_string(),
        reason,
    };
    if let Some((dtype, number)) = text.split_once(':')
        && let Ok(dtype) = dtype.parse::<DType>()
    {
        let number: Number = number
            .parse()
            .map_err(|error: NotANumber| wrong(error.to_string()))?;
        let scalar = number.to_scalar(dtype);
        return scalar
            .map(Value::Scalar)
            .map_err(|error| wrong(error.to_string()));
    }
    let spec: ArgumentSpec = format!("{index}={text}")
        .parse()
        .map_err(|error: cutec_runtime::argument::ArgumentSyntaxError| wrong(error.to_string()))?;
    let seed = seed.wrapping_add((index as u64) << 32);
    let tensor = match spec.source {
        Source::Npy(path) => {
            npy::read_file(&path, None).map_err(|error| wrong(error.to_string()))?
        }
        Source::Generated {
            generator,
            shape,
            dtype,
        } => {
            let dtype = dtype.ok_or_else(|| wrong("the element type is missing".to_string()))?;
            let made = match generator {
                Generator::Normal => Tensor::normal(dtype, &shape, seed),
                Generator::Uniform => Tensor::uniform(dtype, &shape, -1.0, 1.0, seed),
                Generator::Zeros => Tensor::zeros(dtype, &shape),
                Generator::Poison => Tensor::poison(dtype, &shape),
            };
            made.map_err(|error| wrong(error.to_string()))?
        }
        Source::Number(_) => return Err(wrong("a number needs its type".to_string())),
    };
    Ok(Value::Tensor(tensor))
}
