//! Packages that are built by themselves have the dependencies of the whole workspace, with the same features: what
//! `scripts/test.sh` has compiled serves them, too.
use std::collections::BTreeSet;
use std::process::Command;

/// A crate that the Python package has without its programs, and so with other features by intention.
const OTHERWISE: &str = "cutec-driver ";

/// The crates that cargo compiles for a package, or for all, each with its version and features.
fn crates(selected: &[&str]) -> BTreeSet<String> {
    let tree = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--edges",
            "features",
            "--prefix",
            "none",
        ])
        .args(["--format", "{p} features {f}", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .args(selected)
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&tree.stdout);
    assert!(
        tree.status.success(),
        "{}",
        String::from_utf8_lossy(&tree.stderr)
    );
    let lines = text.lines().map(|line| line.trim_end_matches(" (*)"));
    let crates = lines.filter(|line| line.contains(" features "));
    crates.map(str::to_owned).collect()
}

#[test]
fn a_package_by_itself_compiles_nothing_anew() {
    let all = crates(&["--workspace"]);
    assert!(all.iter().any(|one| one.starts_with("cutec v")));
    for package in ["cutec-c", "cutec-python"] {
        let own = crates(&["--package", package]);
        let anew: Vec<&String> = own.difference(&all).collect();
        let anew: Vec<&&String> = anew
            .iter()
            .filter(|one| !one.starts_with(OTHERWISE))
            .collect();
        assert!(
            anew.is_empty(),
            "`cargo build -p {package}` compiles these once more, with other features than a build of the workspace; name what is missing in its Cargo.toml: {anew:#?}"
        );
    }
}
