//! Buffers of shared memory, told apart by the positions of their accesses.

use super::{ErrorKind, HEADER, Memory, Module, Options, SimError};
use crate::sim::{Access, SharedBuffer, SharedBuffers, SourceLoc};

fn position(line: u32) -> SourceLoc {
    SourceLoc {
        file: "main.cute".to_owned(),
        line,
        column: 3,
    }
}

/// Runs an access of one thread to byte `index` from a line of the source: buffer `s` of bytes 0 to 128 is
/// made in line 1 and accessed in line 5, `q` of bytes 128 to 256 made in line 2 and accessed in line 6, `t` of
/// bytes 64 to 192 shares memory with both and is accessed in line 7, where `s` is too.
fn access(text: &str, line: u32, index: i32) -> Result<(), SimError> {
    let located = text.replace("LOC", &format!(".loc 1 {line} 3\n"));
    let text = format!(
        "{HEADER}.extern .shared .align 16 .b8 window[];\n.visible .entry k(.param .u32 index)\n{{\n\
         .shared .align 4 .b8 before[4];\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\nld.param.u32 %r1, [index];\n\
         mov.b32 %r2, window;\nmov.b32 %r8, before;\nadd.s32 %r2, %r2, %r1;\n{located}\nret;\n}}\n.file 1 \"main.cute\"\n"
    );
    let mut module = Module::parse(&text).unwrap();
    let buffer = |name: &str, offset, line| SharedBuffer {
        offset,
        bytes: 128,
        name: Some(name.to_owned()),
        source: Some(position(line)),
    };
    let buffers = SharedBuffers {
        buffers: vec![buffer("s", 0, 1), buffer("q", 128, 2), buffer("t", 64, 3)],
        accesses: vec![
            (position(6), vec![1]),
            (position(7), vec![2]),
            (position(5), vec![0]),
            (position(7), vec![0]),
            (position(8), vec![9]),
        ],
    };
    module.set_shared_buffers("other", buffers.clone());
    module.set_shared_buffers("k", buffers);
    let (options, mut memory) = (Options::default(), Memory::new());
    let params = index.to_le_bytes();
    module.launch("k", [1; 3], [1; 3], 256, &params, &mut memory, &options)?;
    Ok(())
}

const STORE: &str = "LOC st.shared.b32 [%r2], 1;";

#[test]
fn an_access_stays_in_the_buffers_of_its_position() {
    for (line, first, end) in [(5, 0, 128), (6, 128, 256), (7, 0, 192)] {
        for index in (0..256).step_by(4) {
            let legal = (first..end).contains(&index);
            assert_eq!(
                access(STORE, line, index).is_ok(),
                legal,
                "line {line}, byte {index}"
            );
        }
    }
    // The end of a buffer is no place for half an access, though another buffer goes on there.
    assert!(access("LOC st.shared.b64 [%r2], 1;", 5, 120).is_ok());
    assert!(access("LOC st.shared.v4.b32 [%r2], {1,1,1,1};", 6, 112).is_err());
    assert!(access("LOC red.shared.add.u32 [%r2], 1;", 6, 0).is_err());
}

#[test]
fn an_instruction_without_a_position_may_access_all() {
    // Line 0 is what LLVM merged or moved; 8 and 9 are positions of which the compiler says nothing that holds.
    for line in [0, 8, 9] {
        assert!(
            (0..256)
                .step_by(64)
                .all(|index| access(STORE, line, index).is_ok())
        );
    }
    assert!(access("LOC .loc 1 0 0\nst.shared.b32 [%r2], 1;", 5, 200).is_ok());
}

#[test]
fn the_report_names_both_buffers() {
    let error = access(STORE, 5, 132).unwrap_err();
    let ErrorKind::OutsideOfBuffer {
        access: Access::Write,
        start: 132,
        size: 4,
        bytes: 128,
        ..
    } = &error.kind
    else {
        panic!("{error}")
    };
    let text = error.to_string();
    let expected = "main.cute:5:3: out-of-bounds write of 4 bytes of shared memory: bytes 132..136 of `s`, which has 128 \
                    bytes; it hits `q`";
    assert!(text.starts_with(expected), "{text}");
    let places = error.places();
    assert_eq!(
        places
            .iter()
            .map(|(place, _)| place.line)
            .collect::<Vec<_>>(),
        [1, 2]
    );
    let before = access(STORE, 6, 120).unwrap_err().to_string();
    assert!(before.contains("it starts 8 bytes before `q`"), "{before}");
}
