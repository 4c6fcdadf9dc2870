//! What a lit test cannot say of the programs.

use cutec_layout::expr::eval;
use cutec_test_suite::program;
use flate2::read::GzDecoder;
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// The expressions of the layout vectors.
fn expressions() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/layout.tsv.gz");
    let file = std::fs::File::open(path).expect("the vectors are there");
    let mut text = String::new();
    GzDecoder::new(file)
        .read_to_string(&mut text)
        .expect("the vectors are text");
    text.lines()
        .map(|line| line.split('\t').next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn layout_answers_every_line_of_standard_input() {
    let expressions = expressions();
    let input = expressions.join("\n") + "\n";
    let mut child = Command::new(program("cutec"))
        .args(["layout", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("cutec runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("cutec ends");
    writer
        .join()
        .expect("no panic")
        .expect("everything is read");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let mut answers = text.lines();
    for expression in &expressions {
        let expected = match eval(expression) {
            Ok(value) => value.to_string(),
            Err(error) => format!("error: {}", error.to_string().replace('\n', " ")),
        };
        assert_eq!(answers.next(), Some(expected.as_str()), "{expression}");
    }
    assert_eq!(answers.next(), None);
}

const KERNEL: &str = "kernel k(x: mut tensor<f32, m>) launch grid(1), block(32) { x[0] = 1.0; }";

#[test]
fn output_that_nobody_gets_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("k.cute");
    std::fs::write(&source, KERNEL).expect("written");
    let source = source.to_str().expect("UTF-8");
    for arguments in [
        &["layout", "(4,8):(8,1)"][..],
        &["layout", "-"],
        &["explain", "1"],
        &["--help"],
        &["--version"],
        &[source],
        &[source, "--emit", "cute"],
        &["test", source],
        &["bench", source, "--device", "sim"],
        &["run", source, "--device", "sim", "--arg", "x=zeros:4"],
    ] {
        let start = |stdout: Stdio| {
            let mut child = Command::new(program("cutec"))
                .args(arguments)
                .stdin(Stdio::piped())
                .stdout(stdout)
                .stderr(Stdio::piped())
                .spawn()
                .expect("cutec runs");
            drop(child.stdout.take());
            // The program may be gone before it has read everything.
            let mut stdin = child.stdin.take().expect("a pipe");
            let _ = stdin.write_all("(4,8):(8,1)\n".repeat(10_000).as_bytes());
            drop(stdin);
            child.wait_with_output().expect("cutec ends")
        };
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .expect("Linux has it");
        let output = start(full.into());
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        let expected = "error: cannot write to standard output: No space left on device";
        assert!(said.contains(expected), "{arguments:?}: {said}");
        // Behind `| head` there is nobody to tell.
        let output = start(Stdio::piped());
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("standard output"), "{arguments:?}: {said}");
    }
}

/// The programs of the runtime and MLIR's driver end quietly as well, behind `| head`.
#[test]
#[cfg(target_os = "linux")]
fn programs_end_quietly_where_nobody_reads() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("k.cute");
    let ptx = folder.path().join("k.ptx");
    std::fs::write(&source, KERNEL).expect("written");
    let compiled = Command::new(program("cutec"))
        .args([&source, Path::new("-o"), &ptx])
        .status();
    assert!(compiled.expect("cutec runs").success());
    let mlir = folder.path().join("k.mlir");
    std::fs::write(&mlir, "module {}\n").expect("written");
    let (ptx, mlir) = (ptx.to_str().expect("UTF-8"), mlir.to_str().expect("UTF-8"));
    for (name, arguments) in [
        ("cutec-sim", &[ptx, "--arg", "x=zeros:4", "--profile"][..]),
        ("cutec-launch", &[ptx, "--show-abi"]),
        (
            "cutec-launch",
            &[ptx, "--device", "sim", "--arg", "x=zeros:4"],
        ),
        ("cute-opt", &[mlir]),
    ] {
        let (unread, stdout) = std::io::pipe().expect("a pipe");
        drop(unread);
        let output = Command::new(program(name))
            .args(arguments)
            .stdout(stdout)
            .stderr(Stdio::piped())
            .spawn()
            .and_then(std::process::Child::wait_with_output)
            .expect("the program runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{name} {arguments:?}");
        assert_eq!(said, "", "{name} {arguments:?}");
        // Standard error may be closed as well.
        let (unread, both) = std::io::pipe().expect("a pipe");
        drop(unread);
        let status = Command::new(program(name))
            .args(arguments)
            .stdout(both.try_clone().expect("a pipe"))
            .stderr(both)
            .status()
            .expect("the program runs");
        assert_eq!(status.code(), output.status.code(), "{name} {arguments:?}");
    }
    // A mistake with nobody to hear of it is no panic either.
    for name in ["cutec-sim", "cutec-launch"] {
        let (unread, both) = std::io::pipe().expect("a pipe");
        drop(unread);
        let status = Command::new(program(name))
            .arg("absent.ptx")
            .stderr(both)
            .status()
            .expect("the program runs");
        assert_eq!(status.code(), Some(1), "{name}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_closed_standard_output_is_an_error() {
    let output = Command::new("sh")
        .args(["-c", "exec \"$@\" >&-", "sh"])
        .arg(program("cutec"))
        .args(["layout", "(4,8):(8,1)"])
        .output()
        .expect("sh runs");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("error: cannot write to standard output: it is closed"),
        "{said}"
    );
}

/// The operations that a TableGen file defines.
fn operations(dialect: &str, file: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dialects/cpp");
    let text = std::fs::read_to_string(root.join(file)).expect("the definitions are there");
    let defined = text.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("def ")?.split_once(':')?;
        let mnemonic = rest.split('"').nth(1)?;
        name.trim()
            .ends_with("Op")
            .then(|| format!("{dialect}.{mnemonic}"))
    });
    defined.collect()
}

/// The lines of all `.mlir` tests, file by file.
fn mlir_tests(folder: &Path, found: &mut Vec<Vec<String>>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            mlir_tests(&path, found);
        } else if path.extension() == Some(OsStr::new("mlir")) {
            let text = std::fs::read_to_string(&path).expect("text");
            found.push(text.lines().map(str::to_owned).collect());
        }
    }
}

/// Whether a line that is no comment has an operation.
fn has_operation(line: &str, operation: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    !line.trim_start().starts_with("//")
        && line.match_indices(operation).any(|(at, _)| {
            let behind = line[at + operation.len()..].chars().next();
            let before = line[..at].chars().next_back();
            !behind.is_some_and(goes_on) && !before.is_some_and(|c| goes_on(c) || c == '!')
        })
}

#[test]
fn every_operation_is_read_and_refused_by_a_test() {
    let mut files = Vec::new();
    mlir_tests(Path::new(env!("CARGO_MANIFEST_DIR")), &mut files);
    let mut operations = operations("cute", "Cute.td");
    operations.extend(self::operations("tile", "Tile.td"));
    assert!(operations.len() > 100, "{operations:?}");
    let is_error = |line: &String| line.contains("expected-error");
    let mut without = Vec::new();
    for operation in &operations {
        let here = |line: &String| has_operation(line, operation);
        // The lines before an operation say what is wrong with it, or with what is in it.
        let stands = |file: &Vec<String>, wrong: bool| {
            (0..file.len()).any(|at| {
                let before = &file[at.saturating_sub(3)..at];
                here(&file[at]) && before.iter().any(is_error) == wrong
            })
        };
        let legal = |file: &Vec<String>| stands(file, false);
        let refused = |file: &Vec<String>| stands(file, true);
        if !files.iter().any(legal) {
            without.push(format!("{operation}: no test reads it"));
        }
        if !files.iter().any(refused) {
            without.push(format!("{operation}: no test has an error of it"));
        }
    }
    assert!(without.is_empty(), "{}", without.join("\n"));
}

/// Compiles to a cubin with an assembler that is this shell script, and with temporary files in `folder`.
#[cfg(unix)]
fn with_assembler(folder: &Path, script: &str, before: &str) -> std::process::Output {
    use std::os::unix::fs::PermissionsExt;
    let (assembler, source) = (folder.join("assembler"), folder.join("k.cute"));
    std::fs::write(&assembler, format!("#!/bin/sh\n{script}\n")).expect("written");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&assembler, executable).expect("it is ours");
    std::fs::write(&source, KERNEL).expect("written");
    let temporary = folder.join("temporary");
    std::fs::create_dir_all(&temporary).expect("made");
    // Signals as they are by default, however the tests were started.
    Command::new("env")
        .args(["--default-signal=HUP,INT,TERM", "sh"])
        .args(["-c", &format!("{before}\nexec \"$@\""), "sh"])
        .arg(program("cutec"))
        .arg(&source)
        .arg("-o")
        .arg(temporary.join("k.cubin"))
        .env("CUTEC_NVJITLINK", "/none")
        .env("CUTEC_PTXAS", &assembler)
        .env("TMPDIR", &temporary)
        .output()
        .expect("sh runs")
}

#[cfg(unix)]
#[test]
fn a_signal_leaves_no_file() {
    use std::os::unix::process::ExitStatusExt;
    let folder = tempfile::tempdir().expect("a folder");
    let seen = folder.path().join("seen");
    let temporary = || std::fs::read_dir(folder.path().join("temporary")).expect("a folder");
    for (name, number) in [("HUP", 1), ("INT", 2), ("TERM", 15)] {
        let script = format!(
            "ls $TMPDIR >{}; kill -{name} $PPID; exec sleep 10",
            seen.display()
        );
        let output = with_assembler(folder.path(), &script, "");
        assert_eq!(output.status.signal(), Some(number), "{output:?}");
        let there = std::fs::read_to_string(&seen).expect("the assembler ran");
        assert!(there.starts_with("cutec-"), "{there}");
        assert_eq!(temporary().count(), 0, "{name}");
    }
    // What `nohup` asks for holds: the assembler goes on, and it is its failure that is reported.
    let output = with_assembler(folder.path(), "kill -HUP $PPID; exit 3", "trap '' HUP");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(temporary().count(), 0);
}

#[test]
fn a_wrong_source_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("wrong.cute");
    std::fs::write(&source, "kernel k( {").expect("written");
    let output = Command::new(program("cutec"))
        .arg(&source)
        .arg("-o")
        .arg(folder.path().join("out.ptx"))
        .output()
        .expect("cutec runs");
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("wrong.cute:1:"), "{message}");
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("a folder").count(),
        1
    );
}

#[test]
fn a_wrong_command_line_is_two() {
    for arguments in [
        &[][..],
        &["a.cute", "--arch", "sm_1"],
        &["a.cute", "-o", "a.exe"],
    ] {
        let output = Command::new(program("cutec"))
            .args(arguments)
            .output()
            .expect("cutec runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_host_of_the_library_has_nothing_of_the_programs() {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--package",
            "cutec",
            "--edges",
            "normal",
        ])
        .args(["--prefix", "none"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let tree = String::from_utf8_lossy(&output.stdout);
    let crates: Vec<&str> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(crates.contains(&"melior"), "{output:?}");
    for program in ["clap", "mimalloc", "lsp-server", "lsp-types", "signal-hook"] {
        assert!(!crates.contains(&program), "{program}");
    }
}

/// PTX without the lines that name places in the source.
fn code(ptx: &str) -> String {
    let lines = ptx.lines().filter(|line| {
        let line = line.trim_start();
        // Labels of positions as well.
        [".loc", ".file", "$L__tmp"]
            .iter()
            .all(|start| !line.starts_with(start))
    });
    lines.map(|line| without_places(line) + "\n").collect()
}

/// A line of the ABI without what names places in the source: its map of shared memory, and what tiles leave open.
fn without_places(line: &str) -> String {
    let parts = [",\"smem\":{", ",\"tiles\":{"].into_iter();
    parts.fold(line.to_owned(), |line, start| without_object(&line, start))
}

/// A line of JSON without the object that begins so.
fn without_object(line: &str, start: &str) -> String {
    let Some((before, object)) = line.split_once(start) else {
        return line.to_owned();
    };
    let mut depth = 1;
    let end = object.find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth == 0
    });
    format!("{before}{}", &object[end.map_or(0, |end| end + 1)..])
}

/// The examples at the top, as sources.
fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let files = std::fs::read_dir(folder).expect("the examples are there");
    let files = files.map(|file| file.expect("an entry").path());
    let files: Vec<_> = files
        .filter(|file| file.extension() == Some(OsStr::new("cute")))
        .collect();
    assert!(files.len() > 20, "{files:?}");
    files
}

/// What a program prints that must not fail.
fn printed(name: &str, arguments: &[&OsStr]) -> String {
    let output = Command::new(program(name))
        .args(arguments)
        .output()
        .expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} {arguments:?}: {said}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The PTX of a file, or of one of its kernels, is the same by way of each level.
fn continues_from_every_level(path: &Path) {
    let name = path.display();
    let source = std::fs::read_to_string(path).expect("a source");
    let kernels: Vec<&str> = source
        .lines()
        .filter_map(|line| line.strip_prefix("kernel "))
        .filter_map(|rest| rest.split(['<', '(']).next())
        .collect();
    let folder = tempfile::tempdir().expect("a folder");
    let direct = printed("cutec", &[path.as_os_str()]);
    assert!(direct.contains("cutec-abi-begin"), "{name}");
    let direct = code(&direct);
    let by_way_of = |level: &str, only: &[&OsStr]| {
        let text = folder.path().join(format!("{level}.mlir"));
        let text = text.as_os_str();
        let emit = ["--emit".as_ref(), level.as_ref(), "-o".as_ref(), text];
        printed("cutec", &[&[path.as_os_str()], only, &emit].concat());
        printed("cute-opt", &[text, "-o".as_ref(), "/dev/null".as_ref()]);
        printed("cutec", &[text])
    };
    for level in ["tile", "cute", "mlir"] {
        if direct == code(&by_way_of(level, &[])) {
            continue;
        }
        // IR has all kernels in one module, a source each in its own; by its neighbours there a kernel may have the factors of a
        // product the other way round, as LLVM goes through the uses of constants in the order in which they came.
        for kernel in &kernels {
            let only = ["--kernel".as_ref(), kernel.as_ref()];
            let direct = printed("cutec", &[&[path.as_os_str()][..], &only].concat());
            assert!(
                code(&direct) == code(&by_way_of(level, &only)),
                "{name}, {kernel} from {level}"
            );
        }
        assert!(kernels.len() > 1, "{name} from {level}");
    }
}

#[test]
fn examples_continue_from_every_level() {
    let examples = Mutex::new(examples().into_iter());
    let next = || examples.lock().expect("no thread panicked").next();
    // One test takes longer than all others together.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(path) = next() {
                    continues_from_every_level(&path);
                }
            });
        }
    });
}

#[test]
fn a_program_makes_its_kernels_and_keeps_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = || {
        Command::new(program("examples/embed"))
            .arg(folder.path())
            .arg("sim")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the example runs")
    };
    let said = |child: std::process::Child| {
        let output = child.wait_with_output().expect("it ends");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    // Several at a time on an empty folder, then one that finds what they left.
    let children: Vec<_> = (0..6).map(|_| start()).collect();
    for child in children {
        let said = said(child);
        assert!(said.contains("100 x 72 x 40: off by at most"), "{said}");
    }
    assert!(said(start()).contains("found in"));
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("a folder").count(),
        1
    );
}

/// Defaults of an example suit every target: shared memory for one, which some have less of.
#[test]
fn every_example_compiles_for_every_target() {
    let files = examples();
    // Of targets with the same instructions, the one with the least shared memory.
    for target in ["sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"] {
        for file in &files {
            let output = Command::new(program("cutec"))
                .arg(file)
                .args(["--arch", target, "-o", "-"])
                .output()
                .expect("cutec runs");
            let message = String::from_utf8_lossy(&output.stderr);
            let spills = message.contains("E0902");
            assert!(
                output.status.success() && !spills,
                "{target} {file:?}: {message}"
            );
        }
    }
}
