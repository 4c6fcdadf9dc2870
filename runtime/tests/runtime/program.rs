//! The program `cutec-launch`.

use std::path::Path;
use std::process::{Command, Output};

use cutec_runtime::tensor::npy;
use cutec_runtime::{DType, Tensor};

use super::end_to_end::AXPY;

fn launch(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cutec-launch"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(args)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn save(path: &Path, tensor: &Tensor) {
    npy::write(std::fs::File::create(path).unwrap(), tensor).unwrap();
}

#[test]
fn from_file_to_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let x = Tensor::normal(DType::F32, &[200], 1).unwrap();
    save(&path("x.npy"), &x);
    let arg = |name: &str, file: &str| format!("{name}={}", path(file).display());
    let (x_arg, y_out) = (arg("x", "x.npy"), arg("y", "y.npy"));
    let run = launch(&[
        AXPY,
        "--kernel",
        "axpy",
        "--device",
        "sim",
        "--arg",
        &x_arg,
        "--arg",
        "y=zeros:200",
        "--arg",
        "alpha=2",
        "--out",
        &y_out,
    ]);
    assert!(run.status.success(), "{}", text(&run.stderr));
    assert!(
        text(&run.stdout).contains("axpy ran on simulator"),
        "{}",
        text(&run.stdout)
    );
    let y = npy::read(std::fs::File::open(path("y.npy")).unwrap(), None).unwrap();
    let doubled: Vec<f64> = x.to_f64().iter().map(|value| 2.0 * value).collect();
    assert_eq!(y.to_f64(), doubled);
}

#[test]
fn exit_status_and_messages() {
    let fails = |args: &[&str], status: i32, message: &str| {
        let run = launch(args);
        let stderr = text(&run.stderr);
        assert_eq!(run.status.code(), Some(status), "{stderr}");
        assert!(stderr.contains(message), "expected {message:?} in {stderr}");
    };
    fails(&[], 2, "Usage");
    fails(&[AXPY, "--arg", "x"], 2, "expected NAME=VALUE");
    fails(&[AXPY, "--arg", "x=normal:axb"], 2, "is no shape");
    fails(&[AXPY, "--out", "y"], 2, "expected NAME=FILE.npy");
    fails(&["no/such.ptx"], 1, "no/such.ptx");
    fails(&["Cargo.toml"], 1, "no kernel ABI");
    fails(&[AXPY], 1, "expected --kernel with one of: axpy, unguarded");
    fails(&[AXPY, "--kernel", "axpby"], 1, "no kernel `axpby`");
    let axpy =
        |args: &[&'static str]| [&[AXPY, "--kernel", "axpy", "--device", "sim"], args].concat();
    fails(&axpy(&["--out", "z=z.npy"]), 1, "no argument `z`");
    fails(&axpy(&["--arg", "alpha=1"]), 1, "`x` is missing");
    let two = [
        "--arg",
        "alpha=1",
        "--arg",
        "x=normal:4:f16",
        "--arg",
        "y=zeros:4",
    ];
    fails(&axpy(&two), 1, "`x`: expected element type f32, found f16");
    let uninitialised = ["--arg", "alpha=1", "--arg", "x=normal:4"];
    fails(&axpy(&uninitialised), 1, "axpy.cute:5:27");
    let device = [
        AXPY,
        "--kernel",
        "axpy",
        "--arg",
        "alpha=1",
        "--arg",
        "x=normal:4",
    ];
    fails(
        &[&device[..], &["--device", "tpu"]].concat(),
        1,
        "`tpu` is no device",
    );
}

#[test]
fn the_abi_is_shown() {
    let run = launch(&[AXPY, "--kernel", "axpy", "--show-abi"]);
    assert!(run.status.success());
    assert!(text(&run.stdout).contains("\"entry\": \"axpy\""));
}

#[test]
fn a_cubin_needs_the_file_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let cubin = folder.path().join("axpy.sm_80.cubin");
    std::fs::write(&cubin, b"\x7fELF").unwrap();
    let cubin = cubin.to_str().unwrap();
    let run = launch(&[cubin]);
    assert_eq!(run.status.code(), Some(1));
    assert!(
        text(&run.stderr).contains("axpy.sm_80.abi.json"),
        "{}",
        text(&run.stderr)
    );
    let ptx = include_str!("axpy.ptx");
    let abi = cutec_runtime::abi::embed::extract(ptx).unwrap();
    let json = cutec_runtime::abi::embed::to_json(&abi);
    std::fs::write(folder.path().join("axpy.sm_80.abi.json"), json).unwrap();
    let run = launch(&[cubin, "--kernel", "axpy", "--show-abi"]);
    assert!(run.status.success(), "{}", text(&run.stderr));
}
