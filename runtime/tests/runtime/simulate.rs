//! The program `cutec-sim`.

use std::path::Path;
use std::process::{Command, Output};

use super::end_to_end::AXPY;

fn simulate(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cutec-sim"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(args)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn passes(args: &[&str]) -> String {
    let output = simulate(args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn fails(args: &[&str]) -> String {
    let output = simulate(args);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    text(&output.stderr)
}

/// Each thread changes a word, its own or the first, in a way that depends on who came before.
fn kernel(own: bool) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n\
         .visible .entry add(.param .u64 data, .param .u32 by) {{\n.reg .b32 %r<5>;\n.reg .b64 %rd<4>;\n\
         ld.param.u64 %rd1, [data];\nld.param.u32 %r1, [by];\nmov.u32 %r2, %tid.x;\n\
         mul.wide.u32 %rd2, %r2, {};\nadd.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r3, [%rd3];\n\
         mad.lo.u32 %r3, %r3, 3, %r1;\nadd.u32 %r3, %r3, %r2;\nst.global.u32 [%rd3], %r3;\nret;\n}}\n",
        if own { 4 } else { 0 }
    )
}

fn saved(folder: &Path, own: bool) -> String {
    let path = folder.join(format!("{own}.ptx"));
    std::fs::write(&path, kernel(own)).unwrap();
    path.display().to_string()
}

#[test]
fn ptx_with_its_abi() {
    let args = [
        AXPY,
        "--kernel",
        "axpy",
        "--arg",
        "x=normal:200",
        "--arg",
        "y=zeros:200",
    ];
    let with = |more: &[&'static str]| {
        let mut all = args.to_vec();
        all.extend(["--arg", "alpha=2"]);
        all.extend(more);
        passes(&all)
    };
    let plain = with(&["--check", "--schedules", "4"]);
    assert!(plain.contains("y: f32 200, from "), "{plain}");
    assert!(plain.contains("the same result in 4 schedules"), "{plain}");
    let profile = with(&["--profile"]);
    assert!(
        profile.contains("floating point") && profile.contains("fma.rn.f32"),
        "{profile}"
    );
    let json: serde_json::Value = serde_json::from_str(&with(&["--json"])).unwrap();
    assert_eq!(json[0]["entry"], "axpy");
}

#[test]
fn any_ptx_by_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let (own, shared) = (saved(folder.path(), true), saved(folder.path(), false));
    let args = |file: &'static str| {
        vec![
            file.to_string(),
            "--grid".into(),
            "1".into(),
            "--block".into(),
            "64".into(),
        ]
    };
    let run = |file: &str, more: &[&str]| {
        let mut all = args("");
        all[0] = file.to_string();
        all.extend(more.iter().map(|text| text.to_string()));
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        simulate(&all)
    };
    let params = ["--param", "zeros:64:i32", "--param", "i32:5", "--check"];
    let output = run(&own, &params);
    assert!(
        text(&output.stdout).contains("0: i32 64, from 5 to 68"),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    let race = text(&run(&shared, &params).stderr);
    assert!(
        race.contains("data race on byte 0 of `parameter 0`"),
        "{race}"
    );
    assert!(race.contains("help: lanes of a warp"), "{race}");
    let few = text(&run(&own, &params[..2]).stderr);
    assert!(few.contains("`add` has 2 parameters, found 1"), "{few}");
    let untyped = text(&run(&own, &["--param", "zeros:64", "--param", "i32:5"]).stderr);
    assert!(untyped.contains("the element type is missing"), "{untyped}");
    let depends = [
        "--param",
        "zeros:64:i32",
        "--param",
        "i32:5",
        "--schedules",
        "40",
    ];
    assert!(text(&run(&own, &depends).stdout).contains("40 schedules"));
    let depends = text(&run(&shared, &depends).stderr);
    assert!(
        depends.contains("depends on the order in which things happen"),
        "{depends}"
    );
}

#[test]
fn what_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = saved(folder.path(), true);
    assert!(fails(&[&file]).contains("give --abi FILE, or --grid"));
    assert!(fails(&["no.ptx"]).contains("no.ptx"));
    let grid = ["--grid", "1", "--block", "32", "--kernel", "other"];
    let mut args = vec![file.as_str()];
    args.extend(grid);
    assert!(fails(&args).contains("no kernel `other`: expected one of add"));
    assert_eq!(simulate(&[&file, "--grid", "0"]).status.code(), Some(2));
    assert_eq!(simulate(&[&file, "--grid", "1"]).status.code(), Some(2));
}

#[test]
fn an_abi_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(AXPY)).unwrap();
    let abi = cutec_runtime::Artifact::from_ptx(ptx.clone()).unwrap().abi;
    let bare: String = ptx
        .lines()
        .filter(|line| !line.starts_with("//"))
        .map(|line| format!("{line}\n"))
        .collect();
    let (code, side) = (folder.path().join("a.ptx"), folder.path().join("a.json"));
    std::fs::write(&code, bare).unwrap();
    std::fs::write(&side, serde_json::to_string(&abi).unwrap()).unwrap();
    let (code, side) = (code.display().to_string(), side.display().to_string());
    let args = [
        &code,
        "--kernel",
        "axpy",
        "--abi",
        &side,
        "--arg",
        "x=normal:9",
        "--arg",
        "y=zeros:9",
        "--arg",
        "alpha=2",
    ];
    assert!(passes(&args).contains("axpy:"));
}
