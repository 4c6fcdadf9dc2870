//! Each check with a kernel that it must stop, and a twin that it must let pass.

use super::{HEADER, fault, words, words_of};
use crate::sim::{Access, ErrorKind, Memory, Module, Options, Space};

#[test]
fn global_bounds() {
    assert!(words("st.global.b32 [%rd92], 1;", 4).is_ok());
    let ErrorKind::OutOfBounds {
        space,
        access,
        size,
        object,
        ..
    } = fault("st.global.b32 [%rd92+4], 1;", 4)
    else {
        panic!()
    };
    assert_eq!((space, access, size), (Space::Global, Access::Write, 4));
    assert_eq!(object, "bytes 16..20 of `data`, which has 16 bytes");
    assert!(matches!(
        fault("ld.global.b32 %r1, [%rd90+-4];", 1),
        ErrorKind::OutOfBounds {
            access: Access::Read,
            ..
        }
    ));
    assert!(matches!(
        fault("ld.global.v4.b32 {%r1,%r2,%r3,%r4}, [%rd90];", 3),
        ErrorKind::OutOfBounds { size: 16, .. }
    ));
    assert!(matches!(
        fault("mov.b64 %rd1, 0; ld.global.b32 %r1, [%rd1];", 1),
        ErrorKind::OutOfBounds { .. }
    ));
    assert!(matches!(
        fault("mov.b64 %rd1, 0; ld.b32 %r1, [%rd1];", 1),
        ErrorKind::OutOfBounds { .. }
    ));
}

#[test]
fn the_faulty_thread_is_named() {
    let error = words("st.global.b32 [%rd92+8], 1;", 40).unwrap_err();
    let at = error.location.clone().unwrap();
    assert_eq!(at.thread, Some([38, 0, 0]));
    assert_eq!(at.instruction, "st.global.b32 [%rd92+8], 1");
    assert!(
        error
            .to_string()
            .contains("in kernel `k`, block (0, 0, 0), thread (38, 0, 0)"),
        "{error}"
    );
}

#[test]
fn alignment() {
    assert!(words("ld.global.v2.b32 {%r1,%r2}, [%rd90+8];", 4).is_ok());
    let ErrorKind::Misaligned { align, .. } = fault("ld.global.v2.b32 {%r1,%r2}, [%rd90+4];", 4)
    else {
        panic!()
    };
    assert_eq!(align, 8);
    let shared = ".shared .align 8 .b8 s[16];\nst.shared.b16 [s+AT], 1;\nst.global.b32 [%rd92], 1;";
    assert!(words(&shared.replace("AT", "2"), 1).is_ok());
    assert!(matches!(
        fault(&shared.replace("AT", "3"), 1),
        ErrorKind::Misaligned {
            space: Space::Shared,
            align: 2,
            ..
        }
    ));
}

#[test]
fn shared_bounds() {
    let body = ".shared .align 4 .b8 s[16];\nmov.b32 %r1, s;\nst.shared.b32 [%r1+AT], 1;\nst.global.b32 [%rd92], 1;";
    assert!(words(&body.replace("AT", "12"), 1).is_ok());
    let ErrorKind::OutOfBounds { object, .. } = fault(&body.replace("AT", "16"), 1) else {
        panic!()
    };
    assert_eq!(object, "bytes 16..20 of the 16 bytes of shared memory");
    assert!(matches!(
        fault(&body.replace("AT", "-4"), 1),
        ErrorKind::OutOfBounds {
            space: Space::Shared,
            ..
        }
    ));
}

#[test]
fn local_bounds_and_initialisation() {
    let body = ".local .align 8 .b8 __local_depot0[16];\n.reg .b64 %SP;\n.reg .b64 %SPL;\nmov.b64 %SPL, __local_depot0;\ncvta.local.u64 %SP, %SPL;\n\
        st.b32 [%SP+8], %r90;\nld.local.b32 %r1, [%SPL+AT];\nst.global.b32 [%rd92], %r1;";
    assert_eq!(words(&body.replace("AT", "8"), 3).unwrap(), [0, 1, 2]);
    assert!(matches!(
        fault(&body.replace("AT", "16"), 1),
        ErrorKind::OutOfBounds {
            space: Space::Local,
            ..
        }
    ));
    assert!(matches!(
        fault(&body.replace("AT", "4"), 1),
        ErrorKind::Uninitialised {
            space: Space::Local,
            ..
        }
    ));
}

#[test]
fn a_32_bit_base_wraps_in_32_bits() {
    // LLVM folds a constant into the offset and leaves a base below zero.
    let body = ".shared .align 4 .b8 s[16];\nmov.b32 %r1, s;\nadd.s32 %r1, %r1, -64;\n\
                st.shared.b32 [%r1+72], 5;\nld.shared.b32 %r2, [%r1+72];\nst.global.b32 [%rd92], %r2;";
    assert_eq!(words(body, 1).unwrap(), [5]);
    assert!(words(&body.replace("+72", "+80"), 1).is_err());
    let copy = "st.global.b32 [%rd90], 5;\ncp.async.ca.shared.global [%r1+72], [%rd90], 4;\ncp.async.wait_all;";
    let copied = body.replace("st.shared.b32 [%r1+72], 5;", copy);
    assert_eq!(words(&copied, 1).unwrap(), [5]);
}

#[test]
fn uninitialised_shared_memory() {
    let body = ".shared .align 4 .b8 s[16];\nst.shared.b16 [s+4], 1;\nSECOND\nld.shared.b32 %r1, [s+4];\nst.global.b32 [%rd92], %r1;";
    assert_eq!(
        words(&body.replace("SECOND", "st.shared.b16 [s+6], 2;"), 1).unwrap(),
        [0x2_0001]
    );
    let ErrorKind::Uninitialised { byte, size, .. } = fault(&body.replace("SECOND", ""), 1) else {
        panic!()
    };
    assert_eq!((byte, size), (2, 4));
}

fn copy_kernel(initialise: bool, checks: bool) -> Result<Vec<u8>, crate::sim::SimError> {
    let text = super::kernel("ld.global.b32 %r1, [%rd90];\nst.global.b32 [%rd90+4], %r1;");
    let mut memory = Memory::new();
    let data = memory.alloc(8, "data")?;
    if initialise {
        memory.write(data, &[1, 2, 3, 4])?;
    }
    let options = Options {
        checks,
        ..Options::default()
    };
    Module::parse(&text)?.launch(
        "k",
        [1; 3],
        [1; 3],
        0,
        &data.to_le_bytes(),
        &mut memory,
        &options,
    )?;
    assert_eq!(memory.first_unwritten(data + 4, 4)?, None);
    memory.read(data + 4, 4)
}

#[test]
fn uninitialised_global_memory() {
    assert_eq!(copy_kernel(true, true).unwrap(), [1, 2, 3, 4]);
    let error = copy_kernel(false, true).unwrap_err().to_string();
    assert!(
        error.contains("read of uninitialised global memory: 4 bytes at")
            && error.contains("(in `data`)"),
        "{error}"
    );
    assert_eq!(
        copy_kernel(false, false).unwrap(),
        [0xff; 4],
        "checks can be turned off"
    );
}

const ASYNC: &str = ".shared .align 16 .b8 s[64];\nmov.b32 %r1, s;\ncp.async.cg.shared.global [%r1], [%rd90], 16;\nCOMMIT\n\
    cp.async.ca.shared.global [%r1+16], [%rd90+16], 8;\nCOMMIT2\nWAIT\nld.shared.b32 %r2, [%r1+READ];\nst.global.b32 [%rd92], %r2;";

fn copies(commit: &str, commit2: &str, wait: &str, read: &str) -> String {
    ASYNC
        .replace("COMMIT2", commit2)
        .replace("COMMIT", commit)
        .replace("WAIT", wait)
        .replace("READ", read)
}

#[test]
fn cp_async_arrives_at_the_wait_and_not_before() {
    let commit = "cp.async.commit_group;";
    let input = [11, 12, 13, 14, 15, 16, 17, 18];
    let run = |text: String| words_of(&text, 1, 0, &input).map(|words| words[0]);
    let early = |text: String| match run(text).unwrap_err().kind {
        ErrorKind::PendingCopy { access, .. } => access,
        other => panic!("{other}"),
    };
    assert_eq!(
        run(copies(commit, commit, "cp.async.wait_group 0;", "4")),
        Ok(12)
    );
    assert_eq!(
        run(copies(commit, commit, "cp.async.wait_group 0;", "20")),
        Ok(16)
    );
    assert_eq!(
        run(copies(commit, commit, "cp.async.wait_group 1;", "4")),
        Ok(12)
    );
    assert_eq!(
        early(copies(commit, commit, "cp.async.wait_group 1;", "20")),
        Access::Read
    );
    assert_eq!(
        early(copies(commit, commit, "cp.async.wait_group 2;", "4")),
        Access::Read
    );
    assert_eq!(early(copies(commit, commit, "", "4")), Access::Read);
    // What was never committed is not waited for by a group, but by `wait_all`.
    assert_eq!(
        early(copies(commit, "", "cp.async.wait_group 0;", "20")),
        Access::Read
    );
    assert_eq!(run(copies("", "", "cp.async.wait_all;", "20")), Ok(16));
    // An empty group counts.
    assert_eq!(
        run(copies(
            commit,
            "cp.async.commit_group; cp.async.commit_group;",
            "cp.async.wait_group 1;",
            "20"
        )),
        Ok(16)
    );
}

#[test]
fn writing_under_a_cp_async() {
    let text = copies("st.shared.b32 [%r1+4], 0;", "", "cp.async.wait_all;", "4");
    assert!(matches!(
        words_of(&text, 1, 0, &[1; 8]).unwrap_err().kind,
        ErrorKind::PendingCopy {
            access: Access::Write,
            ..
        }
    ));
    let text = copies(
        "cp.async.wait_all; st.shared.b32 [%r1+4], 9;",
        "",
        "cp.async.wait_all;",
        "4",
    );
    assert_eq!(words_of(&text, 1, 0, &[1; 8]).unwrap()[0], 9);
}

#[test]
fn cp_async_fills_with_zeros() {
    let body = |size: &str| {
        format!(
            ".shared .align 16 .b8 s[16];\nmov.b32 %r1, s;\nsetp.eq.u32 %p1, %r90, 0;\nmov.b32 %r5, 4;\nmov.b64 %rd1, 0;\n\
             cp.async.cg.shared.global [%r1], {size};\ncp.async.wait_all;\nld.shared.v2.b32 {{%r2,%r3}}, [%r1];\n\
             shl.b32 %r3, %r3, 8;\nor.b32 %r2, %r2, %r3;\nst.global.b32 [%rd92], %r2;"
        )
    };
    let run = |size: &str| words_of(&body(size), 1, 0, &[1, 2, 3, 4]).map(|w| w[0]);
    assert_eq!(run("[%rd90], 16").unwrap(), 0x201);
    assert_eq!(run("[%rd90], 16, 4").unwrap(), 1);
    assert_eq!(run("[%rd90], 16, %r5").unwrap(), 1);
    assert_eq!(run("[%rd90], 16, !%p1").unwrap(), 0x201);
    // Nothing is read, so the address may be anything.
    assert_eq!(run("[%rd1], 16, 0").unwrap(), 0);
    assert_eq!(run("[%rd1], 16, %p1").unwrap(), 0);
    assert!(matches!(
        run("[%rd90], 16, 17").unwrap_err().kind,
        ErrorKind::Value { found: 17, .. }
    ));
    assert!(run("[%rd90], 8").is_err(), "cp.async.cg copies 16 bytes");
}

#[test]
fn traps() {
    assert_eq!(
        fault(
            "setp.eq.u32 %p1, %r90, 2;\n@%p1 trap;\nst.global.b32 [%rd92], 1;",
            4
        ),
        ErrorKind::Trap
    );
    assert!(
        words(
            "setp.eq.u32 %p1, %r90, 9;\n@%p1 trap;\nst.global.b32 [%rd92], 1;",
            4
        )
        .is_ok()
    );
}

#[test]
fn errors_stand_at_the_source_line() {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 p)\n{{\n.reg .b64 %rd<3>;\n.loc 1 10 3\nld.param.u64 %rd1, [p];\n\
         .loc 2 42 7, function_name $L__info_string0, inlined_at 1 11 5\nst.global.b32 [%rd1], 1;\n.loc 1 0 0\nret;\n}}\n\
         .file 1 \"main.cute\"\n.file 2 \"lib.cute\"\n.section .debug_str\n{{\n$L__info_string0:\n.b8 65, 0\n}}\n"
    );
    let module = Module::parse(&text).unwrap();
    let mut memory = Memory::new();
    let error = module
        .launch(
            "k",
            [1; 3],
            [1; 3],
            0,
            &[0; 8],
            &mut memory,
            &Options::default(),
        )
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("lib.cute:42:7: out-of-bounds write of 4 bytes"),
        "{error}"
    );
}

#[test]
fn of_several_blocks_the_first_failing_one_is_reported() {
    let text = super::kernel(
        "mov.u32 %r1, %ctaid.x;\nsetp.lt.u32 %p1, %r1, 17;\n@%p1 bra end;\ntrap;\nend:",
    );
    let module = Module::parse(&text).unwrap();
    for threads in [0, 1, 3] {
        let options = Options {
            threads,
            ..Options::default()
        };
        let error = module
            .launch(
                "k",
                [100, 1, 1],
                [32, 1, 1],
                0,
                &[0; 8],
                &mut Memory::new(),
                &options,
            )
            .unwrap_err();
        assert_eq!(error.location.unwrap().block, Some([17, 0, 0]));
    }
}

#[test]
fn launches_are_checked() {
    let text = format!(
        "{HEADER}.visible .entry fixed(.param .u32 a, .param .align 16 .b8 b[32])\n.reqntid 64\n{{\nret;\n}}\n\
         .visible .entry bounded()\n.maxntid 128, 1, 1\n.minnctapersm 2\n{{\n.shared .align 4 .b8 s[100];\nret;\n}}\n"
    );
    let module = Module::parse(&text).unwrap();
    let params = &module.entry("fixed").unwrap().params;
    assert_eq!(
        (params[1].offset, params[1].size, params[1].align),
        (16, 32, 16)
    );
    assert_eq!(module.entry("fixed").unwrap().param_bytes(), 48);
    assert_eq!(module.entry("bounded").unwrap().static_shared, 100);
    let packed = module
        .entry("fixed")
        .unwrap()
        .pack(&[&[1, 0, 0, 0], &[2; 32]])
        .unwrap();
    assert_eq!((packed[0], packed[16], packed.len()), (1, 2, 48));
    let launch = |entry: &str, grid, block, shared, params: &[u8]| {
        module
            .launch(
                entry,
                grid,
                block,
                shared,
                params,
                &mut Memory::new(),
                &Options::default(),
            )
            .map_err(|e| e.to_string())
    };
    assert!(launch("fixed", [1; 3], [64, 1, 1], 0, &packed).is_ok());
    let refused = |entry: &str, grid, block, shared, params: &[u8], text: &str| {
        let error = launch(entry, grid, block, shared, params).unwrap_err();
        assert!(error.contains(text), "{error}");
    };
    refused(
        "fixed",
        [1; 3],
        [32, 1, 1],
        0,
        &packed,
        "expected (64, 1, 1), by .reqntid, found (32, 1, 1)",
    );
    refused(
        "fixed",
        [1; 3],
        [64, 1, 1],
        0,
        &packed[1..],
        "parameters: expected 48 bytes, found 47 bytes",
    );
    refused(
        "bounded",
        [1; 3],
        [129, 1, 1],
        0,
        &[],
        "at most 128 threads",
    );
    refused("bounded", [0, 1, 1], [1, 1, 1], 0, &[], "grid");
    refused(
        "bounded",
        [1; 3],
        [32, 1, 1],
        227 << 10,
        &[],
        "shared memory: expected at most 232448 bytes, found 232548 bytes",
    );
    refused(
        "missing",
        [1; 3],
        [1; 3],
        0,
        &[],
        "no kernel `missing` in the module; it has [\"fixed\", \"bounded\"]",
    );
}

#[test]
fn module_variables() {
    let text = format!(
        "{HEADER}.visible .global .align 4 .b8 table[16] = {{1, 0, 0, 0, 254, 255, 255, 255}};\n.const .align 4 .f32 pi = 0f40490FDB;\n\
         .global .align 4 .u32 counter;\n\
         .visible .entry k(.param .u64 out)\n{{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd1, [out];\nmov.b64 %rd2, table;\n\
         ld.global.b32 %r1, [%rd2+4];\nst.global.b32 [%rd1], %r1;\nld.const.b32 %r2, [pi];\nst.global.b32 [%rd1+4], %r2;\n\
         atom.global.add.u32 %r3, [counter], 5;\nst.global.b32 [%rd1+8], %r3;\nSTORE\nret;\n}}\n"
    );
    let module = Module::parse(&text.replace("STORE", "")).unwrap();
    let mut memory = Memory::new();
    let out = memory.alloc(12, "out").unwrap();
    for round in 0..2 {
        module
            .launch(
                "k",
                [1; 3],
                [1; 3],
                0,
                &out.to_le_bytes(),
                &mut memory,
                &Options::default(),
            )
            .unwrap();
        let words: Vec<u32> = memory
            .read(out, 12)
            .unwrap()
            .chunks(4)
            .map(|b| u32::from_le_bytes(b.try_into().unwrap()))
            .collect();
        assert_eq!(
            words,
            [-2i32 as u32, 0x40490fdb, 5 * round],
            "variables outlive launches"
        );
    }
    let module =
        Module::parse(&text.replace("STORE", "mov.b64 %rd3, pi; st.global.b32 [%rd3], 0;"))
            .unwrap();
    let error = module
        .launch(
            "k",
            [1; 3],
            [1; 3],
            0,
            &out.to_le_bytes(),
            &mut memory,
            &Options::default(),
        )
        .unwrap_err();
    assert!(matches!(
        error.kind,
        ErrorKind::ReadOnly {
            space: Space::Const,
            ..
        }
    ));
}

#[test]
fn parameters_by_value_and_generic() {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 out, .param .align 64 .b8 block[16], .param .s8 small)\n{{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n\
         ld.param.u64 %rd1, [out];\nmov.b64 %rd2, block;\ncvta.param.u64 %rd3, %rd2;\nld.b32 %r1, [%rd3+8];\nld.param.b32 %r2, [block+8];\n\
         ld.param.s8 %r3, [small];\nadd.u32 %r1, %r1, %r2;\nst.global.v2.b32 [%rd1], {{%r1, %r3}};\nret;\n}}\n"
    );
    let module = Module::parse(&text).unwrap();
    let mut memory = Memory::new();
    let out = memory.alloc(8, "out").unwrap();
    let mut block = [0; 16];
    block[8] = 21;
    let params = module
        .entry("k")
        .unwrap()
        .pack(&[&out.to_le_bytes(), &block, &[0xfd]])
        .unwrap();
    module
        .launch(
            "k",
            [1; 3],
            [1; 3],
            0,
            &params,
            &mut memory,
            &Options::default(),
        )
        .unwrap();
    assert_eq!(
        memory.read(out, 8).unwrap(),
        [42, 0, 0, 0, 0xfd, 0xff, 0xff, 0xff]
    );
}
