//! The CTAs of a cluster: they run together, and share the check for races.

use super::{ErrorKind, HEADER, Memory, Module, Options, SimError};

/// Runs a body on a grid of clusters of a size; `%rd1` is the address of data, `%r1` the rank of the CTA, and
/// `%p1` holds in its first thread. Gives the words.
fn run(body: &str, grid: [u32; 3], cluster: &str, races: bool) -> Result<Vec<u32>, SimError> {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 data)\n.explicitcluster\n.reqnctapercluster {cluster}\n{{\n\
         .reg .pred %p<9>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<9>;\n.shared .align 4 .b32 own;\n\
         ld.param.u64 %rd1, [data];\nmov.u32 %r1, %cluster_ctarank;\nmov.u32 %r2, %tid.x;\nsetp.eq.u32 %p1, %r2, 0;\n\
         {body}\nend:\nret;\n}}\n"
    );
    let mut memory = Memory::new();
    let data = memory.alloc(256, "data")?;
    memory.write(data, &[0; 256])?;
    let options = Options {
        races,
        step_limit: 1 << 20,
        ..Options::default()
    };
    let params = data.to_le_bytes();
    Module::parse(&text)?.launch("k", grid, [40, 1, 1], 0, &params, &mut memory, &options)?;
    let words = memory.read(data, 256)?;
    let words = words.chunks_exact(4);
    Ok(words
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect())
}

#[test]
fn special_registers() {
    // Each CTA stores eight numbers at the place of its `%ctaid`.
    let registers = [
        "%cluster_ctarank",
        "%cluster_nctarank",
        "%cluster_ctaid.x",
        "%cluster_ctaid.y",
        "%cluster_nctaid.x",
        "%clusterid.x",
        "%clusterid.y",
        "%nclusterid.x",
    ];
    let mut body = "mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ctaid.y;\nmad.lo.u32 %r3, %r4, 4, %r3;\n\
                    mul.wide.u32 %rd2, %r3, 32;\nadd.u64 %rd2, %rd1, %rd2;\n"
        .to_owned();
    for (index, register) in registers.iter().enumerate() {
        body += &format!(
            "mov.u32 %r5, {register};\n@%p1 st.global.b32 [%rd2+{}], %r5;\n",
            4 * index
        );
    }
    for races in [false, true] {
        let words = run(&body, [4, 2, 1], "2, 2, 1", races).unwrap();
        let of = |x: usize, y: usize| &words[8 * (4 * y + x)..][..8];
        assert_eq!(of(0, 0), [0, 4, 0, 0, 2, 0, 0, 2]);
        assert_eq!(of(1, 1), [3, 4, 1, 1, 2, 0, 0, 2]);
        assert_eq!(of(2, 1), [2, 4, 0, 1, 2, 1, 0, 2]);
    }
}

/// Rank 1 stores to `data` and sets a flag behind it, for which rank 0 waits, and which it answers.
fn exchange(scope: &str) -> String {
    format!(
        "@!%p1 bra end;\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra first;\nst.global.b32 [%rd1], 7;\n\
         st.release.{scope}.global.b32 [%rd1+4], 1;\nback:\nld.acquire.{scope}.global.b32 %r3, [%rd1+8];\n\
         setp.eq.u32 %p3, %r3, 0;\n@%p3 bra back;\nld.global.b32 %r4, [%rd1+16];\nst.global.b32 [%rd1+12], %r4;\n\
         bra end;\nfirst:\nld.acquire.{scope}.global.b32 %r3, [%rd1+4];\nsetp.eq.u32 %p3, %r3, 0;\n@%p3 bra first;\n\
         ld.global.b32 %r4, [%rd1];\nadd.u32 %r4, %r4, 1;\nst.global.b32 [%rd1+16], %r4;\n\
         st.release.{scope}.global.b32 [%rd1+8], 1;"
    )
}

#[test]
fn they_run_together() {
    for races in [false, true] {
        for scope in ["cluster", "gpu", "sys"] {
            let words = run(&exchange(scope), [2, 1, 1], "2", races).unwrap();
            assert_eq!(words[..5], [7, 1, 1, 8, 8], "{scope}");
        }
    }
    // CTAs of two clusters need not, and here they do not when they are checked.
    let error = run(&exchange("gpu"), [2, 1, 1], "1", true).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::StepLimit { .. }), "{error}");
}

#[test]
fn a_scope_reaches_the_cta_or_the_cluster() {
    let error = run(&exchange("cta"), [2, 1, 1], "2", true).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Race { .. }), "{error}");
    let add = |scope: &str| format!("red.relaxed.{scope}.global.add.u32 [%rd1], 1;");
    assert_eq!(run(&add("cluster"), [4, 1, 1], "4", true).unwrap()[0], 160);
    for (scope, cluster) in [("cluster", "2"), ("cta", "4")] {
        let error = run(&add(scope), [4, 1, 1], cluster, true).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Race { .. }), "{error}");
    }
}

#[test]
fn what_nothing_orders_races() {
    let error = run("@%p1 st.global.b32 [%rd1], %r1;", [2, 1, 1], "2", true).unwrap_err();
    let ErrorKind::Race { first, second, .. } = &error.kind else {
        panic!("{error}")
    };
    assert_eq!((first.block, second.block), ([0; 3], [1, 0, 0]));
}

#[test]
fn shared_memory_and_barriers_are_of_the_cta() {
    let body = "add.u32 %r3, %r1, 5;\n@%p1 st.shared.b32 [own], %r3;\nbar.sync 0;\nld.shared.b32 %r4, [own];\n\
                mul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd2, %rd1, %rd2;\n@%p1 st.global.b32 [%rd2], %r4;";
    for races in [false, true] {
        assert_eq!(run(body, [3, 1, 1], "3", races).unwrap()[..3], [5, 6, 7]);
    }
}

#[test]
fn a_grid_is_made_of_whole_clusters() {
    let error = run("", [3, 1, 1], "2", false).unwrap_err().to_string();
    assert!(
        error.contains("multiples of (2, 1, 1), by .reqnctapercluster"),
        "{error}"
    );
    for cluster in ["17", "0", "4, 4, 2"] {
        let error = run("", [32, 32, 2], cluster, false).unwrap_err();
        assert!(
            matches!(
                error.kind,
                ErrorKind::Limit { .. } | ErrorKind::Syntax { .. }
            ),
            "{error}"
        );
    }
}
