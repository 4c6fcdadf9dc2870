use super::*;
use crate::compile;
use cutec_dialects::target::Target;
use cutec_frontend::source::{LoadedSource, Span};
use cutec_runtime::Code;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const KERNEL: &str = "
kernel scale<by = 2>(x: mut tensor<f32, n>) launch tiles(n / 64)
{ x.tile(64, tile.m) = x.tile(64, tile.m) * f32(by); }";

/// A doc comment that belongs to nothing is a warning.
const LOOKS_WRONG: &str = "
kernel looks(x: mut tensor<f32, n>) launch tiles(n / 64)
{
    /// twice
    x.tile(64, tile.m) = x.tile(64, tile.m) * 2.0;
}";

fn source() -> Source {
    Source::cute("scale.cute", KERNEL)
}

fn by(factor: usize) -> Options {
    Options {
        defines: vec![("by".to_owned(), factor.to_string())],
        ..Options::default()
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).expect("a folder");
    let paths = all.map(|entry| entry.expect("an entry").path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "ptx"))
        .collect()
}

fn expected(factor: usize) -> Artifact {
    let compiled = compile(&source(), &by(factor)).expect("it compiles");
    compiled.artifact().expect("it is PTX")
}

#[test]
fn everything_that_changes_ptx_changes_the_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Cache::open(folder.path()).expect("a cache");
    let sm_90 = Options::new(Target::parse("sm_90").expect("a target"));
    let low = Options {
        level: crate::codegen::OptLevel::O1,
        ..Options::default()
    };
    let one = Options {
        kernel: Some("scale".to_owned()),
        ..Options::default()
    };
    let remarks = Options {
        remarks: true,
        ..Options::default()
    };
    let other = Source::cute("other.cute", KERNEL);
    let spaced = Source::cute("scale.cute", format!("{KERNEL} "));
    let all = [
        (source(), Options::default()),
        (source(), sm_90),
        (source(), low),
        (source(), one),
        (source(), remarks),
        (source(), by(3)),
        (other, Options::default()),
        (spaced, Options::default()),
    ];
    for found in [false, true] {
        for (at, (source, options)) in all.iter().enumerate() {
            let cached = cache.ptx(source, options).expect("it compiles");
            assert_eq!(cached.found, found, "{at}");
            assert!(cached.unsaved.is_none());
        }
    }
    let unchanged = Options {
        threads: 1,
        emit: Emit::Cubin,
        ..Options::default()
    };
    assert!(cache.ptx(&source(), &unchanged).expect("it is there").found);
    assert_eq!(entries(folder.path()).len(), all.len());
}

#[test]
fn a_changed_import_is_another_source() {
    struct One(&'static str);
    impl SourceLoader for One {
        fn load(&self, _importer: &str, path: &str) -> Result<LoadedSource, String> {
            let (name, text) = (path.to_owned(), self.0.into());
            Ok(LoadedSource { name, text })
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Cache::open(folder.path()).expect("a cache");
    let text = format!("import \"by.cute\";\n{}", KERNEL.replace("f32(by)", "BY"));
    let source = Source::cute("scale.cute", text);
    let ptx = |text| {
        let cached = cache.ptx_with(&source, &One(text), &Options::default());
        cached.map(|cached| cached.found).expect("it compiles")
    };
    assert!(!ptx("const BY = 2.0;"));
    assert!(!ptx("const BY = 3.0;"));
    assert!(ptx("const BY = 2.0;"));
    assert!(cache.ptx(&source, &Options::default()).is_err());
}

#[test]
fn calls_that_led_to_places_are_kept() {
    let text = "
        fn put(y, i) { y[i] = 1.0; }
        fn far(y, i) { put(y, i + 1000); }
        kernel k(y: mut tensor<f32, n>) launch grid(1), block(32) { far(y, thread_idx.x); }";
    let source = Source::cute("calls.cute", text);
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Cache::open(folder.path()).expect("a cache");
    for found in [false, true] {
        let cached = cache
            .ptx(&source, &Options::default())
            .expect("it compiles");
        assert_eq!(cached.found, found);
        let compiled = compile(&source, &Options::default()).expect("it compiles");
        assert_eq!(cached.calls, compiled.calls);
        let (file, _) = cached.sources.files().next().expect("a file");
        let at = text.find("y[i]").expect("the place") as u32;
        let calls = cached.calls.to(Span::new(file, at, at + 1)).into_iter();
        let shown: Vec<&str> = calls
            .map(|call| cached.sources.snippet(call.span))
            .collect();
        assert_eq!(shown, ["put(y, i + 1000)", "far(y, thread_idx.x)"]);
    }
}

#[test]
fn a_damaged_entry_is_made_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Cache::open(folder.path()).expect("a cache");
    let good = cache.ptx(&source(), &by(2)).expect("it compiles").artifact;
    let path = entries(folder.path()).pop().expect("an entry");
    let bytes = std::fs::read(&path).expect("readable");
    let mut flipped = bytes.clone();
    let last = flipped.len() - 9;
    flipped[last] ^= 1;
    for damaged in [
        &[][..],
        b"\xff",
        b"nothing\n",
        &bytes[..bytes.len() / 2],
        &flipped,
    ] {
        std::fs::write(&path, damaged).expect("written");
        let cached = cache.ptx(&source(), &by(2)).expect("it compiles");
        assert!(!cached.found);
        assert_eq!(cached.artifact, good);
        assert_eq!(std::fs::read(&path).expect("readable"), bytes);
    }
    assert!(cache.ptx(&source(), &by(2)).expect("it is there").found);
}

#[test]
fn what_cannot_be_kept_is_compiled_all_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Cache::open(folder.path().join("gone")).expect("a cache");
    std::fs::remove_dir(folder.path().join("gone")).expect("removed");
    let cached = cache.ptx(&source(), &by(2)).expect("it compiles");
    assert!(!cached.found && cached.unsaved.is_some());
    assert_eq!(cached.artifact, expected(2));
    let wrong = Source::cute("wrong.cute", "kernel k(");
    assert!(matches!(
        cache.ptx(&wrong, &by(2)),
        Err(CacheError::Source(_))
    ));
    assert!(Cache::open("/dev/null/cache").is_err());
}

/// The folder that children of a test share.
const SHARED: &str = "CUTEC_TEST_CACHE";

/// What each process does in the test below; by itself, nothing.
#[test]
fn a_process_of_many() {
    let Some(folder) = std::env::var_os(SHARED) else {
        return;
    };
    let cache = Cache::open(folder).expect("a cache");
    let expected: Vec<Artifact> = (0..3).map(expected).collect();
    std::thread::scope(|scope| {
        for first in 0..3 {
            let (cache, expected) = (&cache, &expected);
            scope.spawn(move || {
                for round in 0..8 {
                    let at = (first + round) % 3;
                    let cached = cache.ptx(&source(), &by(at)).expect("it compiles");
                    assert_eq!(cached.artifact, expected[at]);
                    assert!(cached.unsaved.is_none(), "{:?}", cached.unsaved);
                }
            });
        }
    });
}

#[test]
fn threads_and_processes_share_a_folder_that_is_being_damaged() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = std::env::current_exe().expect("a program");
    let children: Vec<_> = (0..4)
        .map(|_| {
            Command::new(&program)
                .args(["--exact", "cache::tests::a_process_of_many"])
                .env(SHARED, folder.path())
                .stdout(std::process::Stdio::null())
                .spawn()
                .expect("a process")
        })
        .collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0;
            while !done.load(Ordering::Relaxed) {
                round += 1;
                for path in entries(folder.path()) {
                    let _ = match round % 3 {
                        0 => std::fs::remove_file(&path),
                        1 => std::fs::write(&path, "half a fi"),
                        _ => Ok(()),
                    };
                }
                std::thread::sleep(std::time::Duration::from_millis(3));
            }
        });
        let codes: Vec<_> = children
            .into_iter()
            .map(|mut child| child.wait().expect("it ends").success())
            .collect();
        done.store(true, Ordering::Relaxed);
        assert_eq!(codes, [true; 4]);
    });
    let cache = Cache::open(folder.path()).expect("a cache");
    for factor in 0..3 {
        let cached = cache.ptx(&source(), &by(factor)).expect("it compiles");
        assert_eq!(cached.artifact, expected(factor));
        assert!(matches!(cached.artifact.code, Code::Ptx(_)));
    }
    // Nothing but entries is left.
    let all = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(all, entries(folder.path()).len());
}

#[test]
fn what_is_hashed_is_what_is_compiled() {
    /// A file that somebody writes to: each time that it is read it has another text.
    struct Changing(AtomicUsize);
    impl SourceLoader for Changing {
        fn load(&self, _importer: &str, path: &str) -> Result<LoadedSource, String> {
            let by = self.0.fetch_add(1, Ordering::Relaxed);
            let (name, text) = (path.to_owned(), format!("const BY = {by}.0;").into());
            Ok(LoadedSource { name, text })
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Cache::open(folder.path()).expect("a cache");
    let text = format!("import \"by.cute\";\n{}", KERNEL.replace("f32(by)", "BY"));
    let source = Source::cute("scale.cute", text);
    let loader = Changing(AtomicUsize::new(2));
    let cached = cache.ptx_with(&source, &loader, &Options::default());
    let cached = cached.expect("it compiles");
    assert_eq!(loader.0.load(Ordering::Relaxed), 3, "read once");
    let (_, imported) = cached.sources.files().nth(1).expect("the import");
    assert_eq!(&**imported.text(), "const BY = 2.0;");
    let again = Changing(AtomicUsize::new(2));
    let again = cache.ptx_with(&source, &again, &Options::default());
    let again = again.expect("it is there");
    assert!(again.found);
    assert_eq!(again.artifact, cached.artifact);
}

#[test]
fn an_entry_keeps_what_was_said_about_the_source() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Cache::open(folder.path()).expect("a cache");
    let source = Source::cute("looks.cute", LOOKS_WRONG);
    let options = Options {
        remarks: true,
        ..Options::default()
    };
    let first = cache.ptx(&source, &options).expect("it compiles");
    let again = cache.ptx(&source, &options).expect("it is there");
    assert!(!first.found && again.found);
    assert!(!first.warnings.is_empty() && !first.remarks.is_empty());
    assert_eq!(first.warnings, again.warnings);
    assert_eq!(first.remarks, again.remarks);
    let text = again.render(RenderOptions::PLAIN);
    assert!(text.contains("looks.cute:"), "{text}");
    assert_eq!(text, first.render(RenderOptions::PLAIN));
}

#[cfg(unix)]
#[test]
fn an_entry_that_is_no_file_counts_as_absent() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Cache::open(folder.path()).expect("a cache");
    let good = cache.ptx(&source(), &by(2)).expect("it compiles").artifact;
    let path = entries(folder.path()).pop().expect("an entry");
    std::fs::remove_file(&path).expect("removed");
    let made = Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo runs").success());
    let cached = cache.ptx(&source(), &by(2)).expect("it compiles");
    assert!(!cached.found && cached.unsaved.is_none());
    assert_eq!(cached.artifact, good);
    assert!(cache.ptx(&source(), &by(2)).expect("it is there").found);
}
