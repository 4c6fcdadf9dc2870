//! Exported kernels beside a driver that only keeps what it is told (`libcuda.c`).

use cutec_abi::bind::LaunchParam;
use cutec_abi::dlpack;
use cutec_abi::{Abi, KernelAbi, Launch};
use cutec_export::{Build, Choice, Configuration, Export, Image, generate};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// What `cuMemAlloc` of `libcuda.c` gives, for tensor maps of no elements.
const NOWHERE: u64 = 0xA0_0000_0000;

/// The C compiler.
pub fn compiler() -> String {
    std::env::var("CC").unwrap_or_else(|_| "cc".to_owned())
}

/// Runs the C compiler.
pub fn compile(arguments: &[&str]) {
    let output = Command::new(compiler())
        .args(arguments)
        .output()
        .expect("there is a C compiler");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}\n{said}");
}

/// A shared library of a source; all warnings are errors.
pub fn shared(source: &Path, options: &[&str]) -> PathBuf {
    let library = source.with_extension("so");
    let mut arguments = vec![
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-O1",
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
    ];
    arguments.extend(options);
    let (source, output) = (
        source.to_string_lossy().into_owned(),
        library.to_string_lossy().into_owned(),
    );
    arguments.extend([source.as_str(), "-o", output.as_str()]);
    compile(&arguments);
    library
}

/// The driver, the same in all tests of the process.
pub struct Driver {
    library: Library,
    _folder: tempfile::TempDir,
}

impl Driver {
    fn load() -> Driver {
        let folder = tempfile::tempdir().expect("a folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/export/libcuda.c");
        let copy = folder.path().join("libcuda.c");
        std::fs::copy(source, &copy).expect("copied");
        // By this name the exported code finds it, as it is loaded already.
        let options = ["-fvisibility=default", "-Wl,-soname,libcuda.so.1"];
        let path = shared(&copy, &options);
        // SAFETY: a library of this test's.
        let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) };
        Driver {
            library: library.expect("it loads"),
            _folder: folder,
        }
    }

    /// For one test at a time.
    pub fn take() -> (&'static Driver, MutexGuard<'static, ()>) {
        static DRIVER: OnceLock<Driver> = OnceLock::new();
        static ONE: Mutex<()> = Mutex::new(());
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let driver = DRIVER.get_or_init(Driver::load);
        driver.number("mock_fail_launch", 0);
        driver.number("mock_fail_init", 0);
        driver.number("mock_set_resident_clusters", 33);
        driver.capability(0, 8, 0);
        driver.capability(1, 9, 0);
        driver.set_stream(0);
        driver.clear();
        (driver, one)
    }

    fn get<T: Copy>(&self, name: &str) -> T {
        // SAFETY: the types are those of `libcuda.c`.
        *unsafe { self.library.get::<T>(name.as_bytes()) }.expect(name)
    }

    fn text(&self, name: &str) -> String {
        let read = self.get::<extern "C" fn() -> *const c_char>(name);
        // SAFETY: a text that stays until the next call.
        unsafe { CStr::from_ptr(read()) }
            .to_string_lossy()
            .into_owned()
    }

    /// Calls a function of a number.
    pub fn number(&self, name: &str, number: c_int) {
        self.get::<extern "C" fn(c_int)>(name)(number);
    }

    /// What it was told.
    pub fn log(&self) -> String {
        self.text("mock_log")
    }

    /// What tvm-ffi was told.
    pub fn raised(&self) -> String {
        self.text("mock_raised")
    }

    /// How many images were loaded.
    pub fn loads(&self) -> c_int {
        self.get::<extern "C" fn() -> c_int>("mock_loads")()
    }

    /// The first letters of the image that was last launched of.
    pub fn launched(&self) -> String {
        self.text("mock_launched")
    }

    /// Forgets what it was told.
    pub fn clear(&self) {
        self.get::<extern "C" fn()>("mock_clear")();
    }

    /// What a device is.
    pub fn capability(&self, device: c_int, major: c_int, minor: c_int) {
        self.get::<extern "C" fn(c_int, c_int, c_int)>("mock_set_capability")(device, major, minor);
    }

    /// The stream of tvm-ffi's environment; of device 1, one more.
    pub fn set_stream(&self, stream: usize) {
        self.get::<extern "C" fn(usize)>("mock_set_stream")(stream);
    }

    fn declare(&self, kernel: &KernelAbi) {
        let sizes: Vec<c_int> = kernel
            .params
            .iter()
            .map(|param| param_size(kernel, *param) as c_int)
            .collect();
        let entry = CString::new(kernel.entry.as_str()).expect("a name");
        let declare = self.get::<extern "C" fn(*const c_char, c_int, *const c_int)>("mock_declare");
        declare(entry.as_ptr(), sizes.len() as c_int, sizes.as_ptr());
    }
}

fn param_size(kernel: &KernelAbi, param: cutec_abi::ParamAbi) -> usize {
    use cutec_abi::ParamAbi;
    match param {
        ParamAbi::Pointer { .. } => 8,
        ParamAbi::Symbol { index } => kernel.symbols[index].width.bits() as usize / 8,
        ParamAbi::TensorMap { .. } => 128,
        ParamAbi::Scalar { arg } => kernel.args[arg].dtype().size(),
    }
}

/// `TVMFFIAny`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Any {
    kind: i32,
    padding: u32,
    value: u64,
}

impl Any {
    /// An integer.
    pub fn int(value: i64) -> Any {
        Any {
            kind: 1,
            padding: 0,
            value: value as u64,
        }
    }

    /// A number.
    pub fn float(value: f64) -> Any {
        Any {
            kind: 3,
            padding: 0,
            value: value.to_bits(),
        }
    }

    /// A tensor.
    pub fn tensor(tensor: &dlpack::Tensor) -> Any {
        Any {
            kind: 7,
            padding: 0,
            value: std::ptr::from_ref(tensor).expose_provenance() as u64,
        }
    }
}

/// What is exported.
fn library<'a>(name: &'a str, builds: Vec<Build<'a>>, choices: Vec<Choice>) -> Export<'a> {
    static NO_DOCS: BTreeMap<String, String> = BTreeMap::new();
    Export {
        name,
        prefix: "",
        source: "a test",
        compiler: "cutec",
        docs: &NO_DOCS,
        builds,
        choices,
    }
}

/// Kernels that were exported, compiled and loaded.
pub struct Exported {
    library: Library,
    _folder: tempfile::TempDir,
}

impl Exported {
    /// Exports builds, which are given as ABIs, as a library of this name, with options of the C compiler.
    pub fn new(driver: &Driver, name: &str, abis: &[(&str, &Abi)], options: &[&str]) -> Exported {
        // The mock keeps the first letters.
        let builds = abis.iter().map(|(target, abi)| Build {
            target,
            abi,
            image: Image::Ptx(target),
            configurations: Vec::new(),
        });
        Exported::of(
            driver,
            &library(name, builds.collect(), Vec::new()),
            options,
        )
    }

    /// Exports a kernel with several configurations, the defaults first, of which a launch takes one by its extents. Their images are
    /// called `configuration 0` and so on.
    pub fn with_choice(
        driver: &Driver,
        name: &str,
        target: &str,
        configurations: &[Abi],
        choice: Choice,
    ) -> Exported {
        let images: Vec<String> = (0..configurations.len())
            .map(|number| format!("configuration {number}"))
            .collect();
        let mut parts = configurations.iter().zip(&images);
        let (abi, image) = parts.next().expect("the defaults");
        let build = Build {
            target,
            abi,
            image: Image::Ptx(image),
            configurations: parts
                .map(|(abi, image)| Configuration {
                    kernel: &abi.kernels[0].name,
                    abi,
                    image: Image::Ptx(image),
                })
                .collect(),
        };
        Exported::of(driver, &library(name, vec![build], vec![choice]), &[])
    }

    fn of(driver: &Driver, export: &Export<'_>, options: &[&str]) -> Exported {
        let generated = generate(export).expect("C can have it");
        for kernel in export.builds.iter().flat_map(|build| &build.abi.kernels) {
            driver.declare(kernel);
        }
        let name = export.name;
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(format!("{name}.h")), &generated.header)
            .expect("written");
        let source = folder.path().join(format!("{name}.c"));
        std::fs::write(&source, &generated.source).expect("written");
        let path = shared(&source, options);
        // SAFETY: a library of this test's.
        let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) };
        Exported {
            library: library.expect("it loads"),
            _folder: folder,
        }
    }

    /// Calls a kernel as tvm-ffi does. Whether it succeeded.
    pub fn call(&self, kernel: &str, args: &[Any]) -> bool {
        type Call = unsafe extern "C" fn(*mut c_void, *const Any, i32, *mut Any) -> c_int;
        let mut result = Any {
            kind: 0,
            padding: 0,
            value: 0,
        };
        // SAFETY: `TVMFFISafeCallType`; the arguments are alive.
        unsafe {
            let call = self
                .library
                .get::<Call>(format!("__tvm_ffi_{kernel}").as_bytes())
                .expect("exported");
            call(
                std::ptr::null_mut(),
                args.as_ptr(),
                args.len() as i32,
                &mut result,
            ) == 0
        }
    }

    /// The text of the last error.
    pub fn last_error(&self, library: &str) -> String {
        type Read = extern "C" fn() -> *const c_char;
        // SAFETY: as the header declares it.
        unsafe {
            let read = self
                .library
                .get::<Read>(format!("{library}_last_error").as_bytes())
                .expect("exported");
            CStr::from_ptr(read()).to_string_lossy().into_owned()
        }
    }

    /// A function by its type.
    pub fn function<T: Copy>(&self, name: &str) -> T {
        // SAFETY: the test knows the type.
        *unsafe { self.library.get::<T>(name.as_bytes()) }.expect(name)
    }
}

/// What the driver is told of a launch that was bound; `addresses` of the arguments that are tensors.
pub fn expected(
    kernel: &KernelAbi,
    launch: &Launch,
    addresses: &[u64],
    device: usize,
    stream: usize,
) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    if launch.is_empty() {
        return text;
    }
    let numbers = |text: &mut String, name: &str, numbers: &mut dyn Iterator<Item = i128>| {
        let _ = write!(text, " {name}");
        for number in numbers {
            let _ = write!(text, " {number}");
        }
    };
    for map in &launch.tensor_maps {
        use cutec_abi::DType::*;
        let data_type = match map.dtype {
            I8 | U8 | Bool | F8E4M3 | F8E5M2 => 0,
            I16 | U16 => 1,
            U32 => 2,
            I32 => 3,
            U64 => 4,
            I64 => 5,
            F16 => 6,
            F32 => 7,
            F64 => 8,
            BF16 => 9,
            TF32 => 11,
        };
        let kind = if map.im2col.is_some() {
            "im2col"
        } else {
            "tiled"
        };
        let address = match map.empty {
            true => NOWHERE + if map.mutable { 256 } else { 0 },
            false => addresses[map.arg].wrapping_add_signed(map.offset_bytes),
        };
        let address = match address {
            0 => "(nil)".to_owned(),
            address => format!("{address:#x}"),
        };
        let _ = write!(text, "{kind} type {data_type} at {address}");
        numbers(
            &mut text,
            "extents",
            &mut map.extents.iter().map(|extent| i128::from(*extent)),
        );
        numbers(
            &mut text,
            "strides",
            &mut map.stride_bytes.iter().map(|stride| i128::from(*stride)),
        );
        match &map.im2col {
            None => {
                numbers(
                    &mut text,
                    "box",
                    &mut map.box_extents.iter().map(|extent| i128::from(*extent)),
                );
                numbers(&mut text, "steps", &mut map.extents.iter().map(|_| 1));
            }
            Some(pixels) => {
                numbers(
                    &mut text,
                    "lower",
                    &mut pixels.lower.iter().map(|corner| i128::from(*corner)),
                );
                numbers(
                    &mut text,
                    "upper",
                    &mut pixels.upper.iter().map(|corner| i128::from(*corner)),
                );
                let _ = write!(
                    text,
                    " channels {} pixels {}",
                    map.box_extents[0], map.box_extents[1]
                );
                let steps = [&[1][..], &pixels.steps, &[1]].concat();
                numbers(&mut text, "steps", &mut steps.into_iter().map(i128::from));
            }
        }
        let swizzle = map.swizzle.bytes().checked_ilog2().map_or(0, |log| log - 4);
        let promotion = u32::from(map.l2_promotion)
            .checked_ilog2()
            .map_or(0, |log| log - 5);
        let fill = u32::from(map.oob_fill == cutec_abi::tensor_map::OobFill::Nan);
        let _ = writeln!(
            text,
            " interleave 0 swizzle {swizzle} promotion {promotion} fill {fill}"
        );
    }
    let [mut x, y, z] = launch.grid;
    if launch.persistent {
        let of_cluster: u32 = launch.cluster.iter().product();
        let resident = if of_cluster > 1 {
            33 * of_cluster
        } else {
            2 * 132
        };
        x = x.min((resident / launch.cluster[0]).max(1) * launch.cluster[0]);
    }
    let [bx, by, bz] = launch.block;
    let shared = launch.smem_bytes;
    let allowed = if shared > 48 << 10 { shared } else { 0 };
    let stream = if stream == 0 {
        "(nil)".to_owned()
    } else {
        format!("{stream:#x}")
    };
    let _ = write!(
        text,
        "launch {} grid {x} {y} {z} block {bx} {by} {bz} shared {shared} allowed {allowed} stream {stream} overlaps {} device {device}:",
        kernel.entry,
        u32::from(launch.pdl)
    );
    for param in &launch.params {
        let bytes = match *param {
            LaunchParam::Pointer(arg) => addresses[arg].to_le_bytes().to_vec(),
            LaunchParam::I32(value) => value.to_le_bytes().to_vec(),
            LaunchParam::I64(value) => value.to_le_bytes().to_vec(),
            LaunchParam::Scalar(scalar) => scalar.bytes[..scalar.dtype.size()].to_vec(),
            LaunchParam::TensorMap(index) => {
                let _ = write!(text, " map{index}");
                continue;
            }
        };
        let _ = write!(
            text,
            " {}",
            bytes
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        );
    }
    text.push('\n');
    text
}
