//! Reads of registers that nothing has written.

use super::races::run;
use super::{ErrorKind, fault, words};

/// The register that a body of 32 threads reads too early, and the first lane.
fn unassigned(body: &str) -> Option<(String, u32)> {
    let error = run(body, 32).err()?;
    let thread = error.location.as_ref().unwrap().thread.unwrap()[0];
    match error.kind {
        ErrorKind::UnassignedRegister { register, .. } => Some((register, thread)),
        other => panic!("{body}: {other}"),
    }
}

fn found(register: &str, lane: u32) -> Option<(String, u32)> {
    Some((register.to_owned(), lane))
}

#[test]
fn operands_guards_and_addresses_are_read() {
    for (body, register) in [
        ("add.u32 %r10, %r11, 1;", "%r11"),
        ("ld.global.b32 %r10, [%rd10];", "%rd10"),
        (
            ".local .align 4 .b8 depot[4];\nst.local.b32 [depot], %r10;",
            "%r10",
        ),
        ("st.global.b32 [%rd5], %r10;", "%r10"),
        ("st.global.v2.b32 [%rd90], {%r90, %r10};", "%r10"),
        ("@%p9 mov.u32 %r10, 1;", "%p9"),
        ("selp.b32 %r10, 1, 2, %p9;", "%p9"),
        ("shfl.sync.idx.b32 %r10, %r11, 0, 31, -1;", "%r11"),
        ("atom.shared.add.u32 %r10, [s], %r11;", "%r11"),
        ("cp.async.ca.shared.global [%r5], [%rd10], 4;", "%rd10"),
        (
            "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r10,%r11,%r12,%r13}, {%r90,%r14}, {%r90}, \
             {%r90,%r90,%r90,%r90};",
            "%r14",
        ),
    ] {
        assert_eq!(unassigned(body), found(register, 0), "{body}");
    }
}

#[test]
fn what_an_instruction_writes_is_written() {
    for body in [
        "mov.u32 %r10, 1;\nadd.u32 %r10, %r10, 1;",
        "ld.shared.v2.b32 {%r10, %r11}, [s];\nadd.u32 %r10, %r10, %r11;",
        "setp.eq.u32 %p8|%p9, %r90, 1;\n@%p8 bra next;\nnext:\n@%p9 bra end;\nend:",
        "shfl.sync.idx.b32 %r10|%p8, %r90, 0, 31, -1;\nselp.b32 %r10, %r10, 0, %p8;",
        "mov.b64 {%r10, %r11}, %rd90;\nadd.u32 %r10, %r10, %r11;",
        "vote.sync.ballot.b32 %r10, %p5, -1;\nmov.u32 %r11, %r10;",
        "bar.red.and.pred %p8, 0, %p5;\n@%p8 mov.u32 %r10, 1;",
    ] {
        assert_eq!(unassigned(body), None, "{body}");
    }
}

#[test]
fn each_lane_counts_for_itself() {
    let body = |limit: u32| {
        format!(
            "setp.ge.u32 %p1, %r90, {limit};\n@%p1 bra join;\nmov.u32 %r10, 1;\njoin:\nadd.u32 %r11, %r10, 1;"
        )
    };
    assert_eq!(unassigned(&body(32)), None);
    assert_eq!(unassigned(&body(7)), found("%r10", 7));
    // Under a guard as behind a branch.
    let guarded = |read: &str| {
        format!("setp.lt.u32 %p1, %r90, 7;\n@%p1 mov.u32 %r10, 1;\n{read} add.u32 %r11, %r10, 1;")
    };
    assert_eq!(unassigned(&guarded("@%p1")), None);
    assert_eq!(unassigned(&guarded("")), found("%r10", 7));
    assert_eq!(unassigned(&guarded("@!%p1")), found("%r10", 7));
}

#[test]
fn a_loop_may_write_what_it_reads_in_the_next_round() {
    let body = |first: &str| {
        format!(
            "mov.u32 %r12, 0;\n{first}\nagain:\nsetp.eq.u32 %p1, %r12, 0;\n@%p1 bra skip;\n\
             add.u32 %r11, %r10, 1;\nskip:\nadd.u32 %r12, %r12, 1;\n{}setp.lt.u32 %p2, %r12, 3;\n@%p2 bra again;",
            if first.is_empty() {
                ""
            } else {
                "mov.u32 %r10, %r12;\n"
            }
        )
    };
    assert_eq!(unassigned(&body("")), found("%r10", 0));
    assert_eq!(unassigned(&body("mov.u32 %r13, 0;")), None);
}

/// A body that puts a byte at a time into a word that nothing has written, and what follows.
fn packed(bytes: u32, then: &str) -> String {
    let insert = |i: u32| format!("bfi.b32 %r10, %r90, %r10, {}, 8;\n", 8 * i);
    let inserted: String = (0..bytes).map(insert).collect();
    format!("prmt.b32 %r10, %r11, %r12, 0x3340U;\n{inserted}{then}")
}

#[test]
fn undefined_bits_are_passed_on_and_reported_where_they_are_used() {
    assert_eq!(unassigned(&packed(4, "add.u32 %r13, %r10, 1;")), None);
    let used = packed(3, "add.u32 %r13, %r10, 1;");
    assert_eq!(unassigned(&used), found("%r10", 0));
    for (what, then, used) in [
        (
            "bits that a mask leaves",
            "and.b32 %r13, %r10, 0xff0000;\nst.global.b32 [%rd5], %r13;",
            None,
        ),
        (
            "bits that it does not",
            "and.b32 %r13, %r10, 0xff000000;\nst.global.b32 [%rd5], %r13;",
            Some("%r13"),
        ),
        (
            "ones over them",
            "or.b32 %r13, %r10, 0xff000000;\nst.global.b32 [%rd5], %r13;",
            None,
        ),
        (
            "a shift out",
            "shl.b32 %r13, %r10, 8;\nst.global.b32 [%rd5], %r13;",
            None,
        ),
        (
            "a shift down",
            "shr.u32 %r13, %r10, 24;\nst.global.b32 [%rd5], %r13;",
            Some("%r13"),
        ),
        (
            "another half",
            "mov.b32 {%rs10, %rs11}, %r10;\ncvt.u32.u16 %r13, %rs10;\nst.global.b32 [%rd5], %r13;",
            None,
        ),
        (
            "its half",
            "mov.b32 {%rs10, %rs11}, %r10;\ncvt.u32.u16 %r13, %rs11;\nst.global.b32 [%rd5], %r13;",
            Some("%r13"),
        ),
        (
            "a narrow store",
            "cvt.u16.u32 %rs10, %r10;\nst.global.b8 [%rd5], %rs10;",
            None,
        ),
        (
            "a field",
            "bfe.u32 %r13, %r10, 8, 16;\nst.global.b32 [%rd5], %r13;",
            None,
        ),
        (
            "a field with its sign",
            "bfe.s32 %r13, %r10, 16, 9;\nst.global.b32 [%rd5], %r13;",
            Some("%r13"),
        ),
        (
            "a word of two",
            "mov.b64 %rd10, {%r90, %r10};\ncvt.u32.u64 %r13, %rd10;\nst.global.b32 [%rd5], %r13;",
            None,
        ),
        (
            "the other choice",
            "selp.b32 %r13, %r90, %r10, %p5;\nst.global.b32 [%rd5], %r13;",
            None,
        ),
        (
            "an address",
            "mov.b32 %r13, %r10;\nld.shared.b32 %r14, [%r13];",
            Some("%r13"),
        ),
        (
            "with itself",
            "xor.b32 %r13, %r10, %r10;\nst.global.b32 [%rd5], %r13;",
            None,
        ),
        (
            "by other lanes",
            "shfl.sync.bfly.b32 %r10, %r10, 1, 31, -1;\nshr.u32 %r13, %r10, 8;\nst.global.b32 [%rd5], %r13;",
            Some("%r13"),
        ),
        (
            "what is put aside",
            ".local .align 4 .b8 depot[4];\nst.local.b32 [depot], %r10;",
            None,
        ),
        (
            "a half of a sum",
            "add.rn.f16x2 %r13, %r10, %r90;\ncvt.u16.u32 %rs10, %r13;\nst.global.b16 [%rd5], %rs10;",
            None,
        ),
        (
            "the other half of a sum",
            "add.rn.f16x2 %r13, %r10, %r90;\nst.global.b32 [%rd5], %r13;",
            Some("%r13"),
        ),
        (
            "two of four conversions",
            "cvt.u16.u32 %rs10, %r10;\ncvt.rn.f16x2.e4m3x2 %r13, %rs10;\nst.global.b32 [%rd5], %r13;",
            None,
        ),
    ] {
        let setup = "mov.pred %p5, 1;\n";
        let body = format!("{setup}{}", packed(3, then));
        assert_eq!(
            unassigned(&body),
            used.and_then(|used| found(used, 0)),
            "{what}"
        );
    }
}

#[test]
fn a_use_says_where_its_bits_come_from() {
    let error = run(&packed(3, "st.global.b32 [%rd5], %r10;"), 32).unwrap_err();
    assert_eq!(
        error.kind.to_string(),
        "use of uninitialised bits 24 to 31 of register `%r10`: they come from `%r11`, which nothing has written"
    );
}

#[test]
fn it_is_reported_with_the_check_alone() {
    assert_eq!(words("st.global.b32 [%rd92], %r10;", 1).unwrap(), [0]);
    let kind = fault("ld.global.b32 %r1, [%rd20];", 1);
    assert!(matches!(kind, ErrorKind::OutOfBounds { .. }), "{kind}");
}
