//! Planted faults: the programs of the folder `faults`, each of which breaks one rule, with its report; and the same program
//! without the fault, of which nothing is reported.
//!
//! A file is a module with a kernel `k(.param .u64 data)`; a second parameter of 128 bytes is a tensor map of the data as 64
//! rows of 64 bf16, in boxes of 8 rows of 32. In its first lines `// launch:` has the threads of a block (`block 128`), and
//! how many blocks there are if not one (`block 128 grid 2`), and each `// expect:` a part of the report. A line that ends with `// faulty` is of the faulty program
//! alone, one with `// clean` of the other.

use std::path::Path;

use super::{Memory, Module, Options, SimError};
use crate::abi::tensor_map::{MapSwizzle, OobFill};
use crate::sim::TensorMap;
use crate::tensor::DType;

/// Schedules in which the faulty program has to be found in one, and the clean one is not to be reported in any.
const SCHEDULES: u64 = 5;

/// Bytes of the data, all written.
const DATA: usize = 8192;

struct Fault {
    name: String,
    text: String,
}

impl Fault {
    /// The words behind a keyword of the first lines.
    fn heading(&self, keyword: &str) -> Vec<&str> {
        let lines = self.text.lines().take_while(|line| line.starts_with("//"));
        let lines = lines.filter_map(|line| line.strip_prefix(keyword));
        lines.map(str::trim).collect()
    }

    /// The program without the lines that end with a mark, which keep their numbers.
    fn without(&self, mark: &str) -> String {
        let lines = self.text.lines();
        let kept = lines.map(|line| if line.ends_with(mark) { "" } else { line });
        kept.collect::<Vec<_>>().join("\n")
    }

    fn run(&self, ptx: &str, number: u64) -> Result<(), SimError> {
        let launch = self.heading("// launch:");
        let launch: Vec<&str> = launch.iter().flat_map(|l| l.split_whitespace()).collect();
        let (threads, grid) = match launch[..] {
            ["block", threads] => (threads, "1"),
            ["block", threads, "grid", grid] => (threads, grid),
            _ => panic!("{}: `// launch: block 128`, found {launch:?}", self.name),
        };
        let threads = threads.parse().expect("a number of threads");
        let grid = [grid.parse().expect("a number of blocks"), 1, 1];
        let mut memory = Memory::new();
        let data = memory.alloc(DATA as u64, "data")?;
        memory.write(data, &[0; DATA])?;
        let options = Options {
            races: true,
            step_limit: 1 << 20,
            ..Options::default()
        };
        let options = options.schedule(number);
        let module = Module::parse(ptx)?;
        let entry = module.entry("k").expect("a kernel `k`");
        let map = tensor_map(data).encode()?;
        let params = entry.pack(&[&data.to_le_bytes()[..], &map][..entry.params.len()])?;
        let block = [threads, 1, 1];
        module.launch("k", grid, block, 0, &params, &mut memory, &options)?;
        Ok(())
    }
}

pub(super) fn tensor_map(address: u64) -> TensorMap {
    TensorMap {
        dtype: DType::BF16,
        address,
        extents: vec![64, 64],
        empty: false,
        stride_bytes: vec![128],
        box_extents: vec![32, 8],
        element_strides: vec![1, 1],
        im2col: None,
        swizzle: MapSwizzle::None,
        oob_fill: OobFill::Zeros,
    }
}

fn faults() -> Vec<Fault> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sim/tests/faults");
    let entries = std::fs::read_dir(&folder).expect("the folder of faults");
    let paths = entries.map(|entry| entry.expect("a file").path());
    let fault = |path: std::path::PathBuf| Fault {
        name: path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned(),
        text: std::fs::read_to_string(&path).expect("a text"),
    };
    let mut faults: Vec<Fault> = paths.map(fault).collect();
    faults.sort_by(|a, b| a.name.cmp(&b.name));
    faults
}

/// All of what is wrong with the programs of the folder, at once.
fn report(wrong: &[String]) {
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn faults_are_reported() {
    let mut wrong = Vec::new();
    for fault in faults() {
        let ptx = fault.without("// clean");
        let expected = fault.heading("// expect:");
        let empty = expected.iter().all(|part| part.is_empty());
        assert!(!empty, "{}: expects nothing", fault.name);
        let mut last = "nothing is reported".to_owned();
        let found = (0..SCHEDULES).any(|number| match fault.run(&ptx, number) {
            Ok(()) => false,
            Err(error) => {
                last = format!("{error}\n  {}", error.help().unwrap_or_default());
                expected.iter().all(|part| last.contains(part))
            }
        });
        if !found {
            wrong.push(format!(
                "{}: expected {expected:?}, found: {last}",
                fault.name
            ));
        }
    }
    report(&wrong);
}

#[test]
fn clean_twins_are_not() {
    let mut wrong = Vec::new();
    for fault in faults() {
        let ptx = fault.without("// faulty");
        for number in 0..SCHEDULES {
            if let Err(error) = fault.run(&ptx, number) {
                wrong.push(format!("{}, schedule {number}: {error}", fault.name));
                break;
            }
        }
    }
    report(&wrong);
}
