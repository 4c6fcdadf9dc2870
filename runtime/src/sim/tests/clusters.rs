//! The CTAs of a cluster: they run together, reach each other's shared memory, and share the check for races.

use super::{ErrorKind, HEADER, Memory, Module, Options, SimError};

/// Runs a body on a grid of clusters of a size; `%rd1` is the address of data, `%r1` the rank of the CTA, and
/// `%p1` holds in its first thread. Gives the words.
fn run(body: &str, grid: [u32; 3], cluster: &str, races: bool) -> Result<Vec<u32>, SimError> {
    run_in(body, grid, cluster, races, 0)
}

fn run_in(
    body: &str,
    grid: [u32; 3],
    cluster: &str,
    races: bool,
    schedule: u64,
) -> Result<Vec<u32>, SimError> {
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
    let options = options.schedule(schedule);
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
    let ErrorKind::Polling { polls, are_all, .. } = &error.kind else {
        panic!("{error}")
    };
    assert_eq!(
        (&polls[0].blocks[..], polls[0].threads, *are_all),
        (&[[0; 3]][..], 1, false)
    );
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

/// Runs a body with `far`, 64 words of shared memory, and an `mbarrier` `m` of one arrival, in all schedules; `%r3` is the
/// rank of the next CTA, `%rd3` the place of the CTA's words in `data`, 16 each. CTAs begin and end together.
fn together(body: &str, ctas: u32) -> Vec<u32> {
    let barrier = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
    let body = format!(
        ".shared .align 16 .b8 far[256];\n.shared .align 8 .b64 m;\nadd.u32 %r3, %r1, 1;\n\
         rem.u32 %r3, %r3, {ctas};\nmul.wide.u32 %rd3, %r1, 64;\nadd.u64 %rd3, %rd3, %rd1;\n\
         @%p1 mbarrier.init.shared::cta.b64 [m], 1;\n@%p1 st.shared.v4.b32 [far], {{%r1, %r1, %r1, %r1}};\n{barrier}\
         {body}\n{barrier}"
    );
    let run = |races, schedule| {
        let cluster = ctas.to_string();
        run_in(&body, [ctas, 1, 1], &cluster, races, schedule).unwrap()
    };
    let first = run(true, 0);
    for schedule in 0..8 {
        assert_eq!(run(schedule % 2 == 0, schedule), first, "{schedule}");
    }
    first
}

#[test]
fn addresses_name_their_cta() {
    let body = "mov.b32 %r5, far;\nmapa.shared::cluster.u32 %r6, %r5, %r3;\ngetctarank.shared::cluster.u32 %r7, %r6;\n\
                @%p1 st.global.b32 [%rd3], %r7;\ngetctarank.shared::cluster.u32 %r7, %r5;\n@%p1 st.global.b32 [%rd3+4], %r7;\n\
                mov.b64 %rd4, far;\ncvta.shared.u64 %rd5, %rd4;\nmapa.u64 %rd6, %rd5, %r3;\ngetctarank.u64 %r7, %rd6;\n\
                @%p1 st.global.b32 [%rd3+8], %r7;\nmapa.shared::cluster.u64 %rd7, %rd4, %r3;\n\
                cvta.shared::cluster.u64 %rd8, %rd7;\nsetp.eq.u64 %p2, %rd8, %rd6;\nselp.b32 %r7, 1, 0, %p2;\n\
                isspacep.shared::cta %p3, %rd8;\n@%p3 or.b32 %r7, %r7, 2;\nisspacep.shared::cluster %p3, %rd8;\n\
                @%p3 or.b32 %r7, %r7, 4;\nisspacep.shared::cta %p3, %rd5;\n@%p3 or.b32 %r7, %r7, 8;\n\
                @%p1 st.global.b32 [%rd3+12], %r7;\n";
    let words = together(body, 3);
    for rank in 0..3 {
        let next = (rank as u32 + 1) % 3;
        assert_eq!(
            words[16 * rank..][..4],
            [next, rank as u32, next, 1 | 4 | 8]
        );
    }
}

#[test]
fn loads_stores_and_atomics_reach_a_peer() {
    // Each reads the next one's word, by either kind of address, adds to another one, and stores a third.
    let body = "mapa.shared::cluster.u32 %r6, far, %r3;\n@%p1 ld.shared::cluster.b32 %r7, [%r6];\n\
                @%p1 st.global.b32 [%rd3], %r7;\nmov.b64 %rd4, far;\ncvta.shared.u64 %rd5, %rd4;\nmapa.u64 %rd6, %rd5, %r3;\n\
                @%p1 ld.v2.b32 {%r8, %r9}, [%rd6];\n@%p1 st.global.b32 [%rd3+4], %r9;\n\
                @%p1 atom.relaxed.cluster.shared::cluster.add.u32 %r8, [%r6+4], 100;\n\
                @%p1 red.relaxed.cluster.add.u32 [%rd6+4], 1000;\n@%p1 st.shared::cluster.b32 [%r6+8], 7;\n\
                barrier.cluster.arrive;\nbarrier.cluster.wait;\n@%p1 ld.shared.v2.b32 {%r8, %r9}, [far+8];\n\
                @%p1 st.global.b32 [%rd3+8], %r8;\n@%p1 ld.shared.b32 %r9, [far+4];\n@%p1 st.global.b32 [%rd3+12], %r9;";
    // What is read by one CTA is added to by it, so that the reads are ordered before.
    let words = together(body, 2);
    for rank in 0..2 {
        let next = 1 - rank as u32;
        assert_eq!(words[16 * rank..][..4], [next, next, 7, rank as u32 + 1100]);
    }
}

/// Waits for a phase of `m`, with the scope of the cluster.
const WAIT: &str = "waiting:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p8, [m], 0;\n@!%p8 bra waiting;\n";

#[test]
fn arrivals_come_from_peers() {
    let body = format!(
        "mapa.shared::cluster.u32 %r6, far, %r3;\nmapa.shared::cluster.u32 %r7, m, %r3;\nadd.u32 %r8, %r1, 50;\n\
         @%p1 st.shared::cluster.b32 [%r6+16], %r8;\n\
         @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];\n{WAIT}ld.shared.b32 %r9, [far+16];\n\
         @%p1 st.global.b32 [%rd3], %r9;"
    );
    let words = together(&body, 4);
    for rank in 0..4u32 {
        assert_eq!(words[16 * rank as usize], (rank + 3) % 4 + 50);
    }
}

#[test]
fn stores_and_sums_arrive_asynchronously() {
    let body = format!(
        "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 28;\nmapa.shared::cluster.u32 %r6, far, %r3;\n\
         mapa.shared::cluster.u32 %r7, m, %r3;\nadd.u32 %r8, %r1, 50;\n\
         @%p1 st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r6+16], {{%r8, %r1, %r8, %r3}}, [%r7];\n\
         @%p1 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r6+32], %rd2, [%r7];\n\
         @%p1 red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r6], 100, [%r7];\n{WAIT}\
         ld.shared.b32 %r9, [far];\n@%p1 st.global.b32 [%rd3], %r9;\nld.shared.v4.b32 {{%r9, %r10, %r11, %r12}}, [far+16];\n\
         @%p1 st.global.v4.b32 [%rd3+16], {{%r9, %r10, %r11, %r12}};"
    );
    let words = together(&format!("mov.b64 %rd2, 77;\n{body}"), 2);
    for rank in 0..2u32 {
        let other = 1 - rank;
        let found = &words[16 * rank as usize..][..8];
        assert_eq!(found[0], rank + 100);
        assert_eq!(found[4..], [other + 50, other, other + 50, rank]);
    }
}

#[test]
fn copies_go_to_peers_and_to_many() {
    // Rank 0 sends 16 bytes of `data` to ranks 1 and 2; each sends 16 bytes of its own to the next one.
    let body = format!(
        "setp.eq.u32 %p2, %r1, 0;\nselp.b32 %r5, 16, 32, %p2;\nmov.b16 %rs1, 6;\n\
         @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], %r5;\nmapa.shared::cluster.u32 %r6, far, %r3;\n\
         mapa.shared::cluster.u32 %r7, m, %r3;\nand.pred %p3, %p1, %p2;\nfence.proxy.async.shared::cta;\n\
         @%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r6+64], [far], 16, [%r7];\n\
         mov.b32 %r8, 16;\nadd.u64 %rd4, %rd1, 240;\n\
         @%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [far+32], [%rd4], %r8, [m], \
         %rs1;\n{WAIT}ld.shared.b32 %r9, [far+64];\n@%p1 st.global.b32 [%rd3], %r9;\n@%p2 bra rest;\n\
         ld.shared.b32 %r10, [far+32];\n@%p1 st.global.b32 [%rd3+4], %r10;\nrest:\n"
    )
    .replace("mov.b16 %rs1", ".reg .b16 %rs<2>;\nmov.b16 %rs1");
    let words = together(&body, 3);
    for rank in 0..3u32 {
        // The data were zeros.
        assert_eq!(words[16 * rank as usize..][..2], [(rank + 2) % 3, 0]);
    }
}
