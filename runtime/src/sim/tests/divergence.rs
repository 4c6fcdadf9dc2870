//! A warp is its lanes: random programs with arbitrary jumps give the same results whether lanes
//! run together or each in a launch of its own, and all lanes meet at the program's end.

use proptest::prelude::*;

use super::HEADER;
use crate::sim::{Memory, Module, Options};

const BLOCKS: usize = 10;

/// What a block does: an operation on registers 1 to 4, then a jump where a test holds.
#[derive(Debug, Clone)]
struct Block {
    operation: usize,
    registers: [usize; 3],
    constant: u32,
    target: usize,
    otherwise: Option<usize>,
}

fn block() -> impl Strategy<Value = Block> {
    let registers = prop::array::uniform3(1..5usize);
    let otherwise = prop::option::of(0..BLOCKS);
    (0..5usize, registers, any::<u32>(), 0..BLOCKS, otherwise).prop_map(
        |(operation, registers, constant, target, otherwise)| Block {
            operation,
            registers,
            constant,
            target,
            otherwise,
        },
    )
}

fn program(blocks: &[Block]) -> String {
    let mut body = String::new();
    for (i, block) in blocks.iter().enumerate() {
        let [d, a, b] = block.registers;
        let constant = block.constant;
        let operation = match block.operation {
            0 => format!("mad.lo.u32 %r{d}, %r{a}, {}, %r{b};", constant | 1),
            1 => format!("xor.b32 %r{d}, %r{a}, {constant};"),
            2 => format!("shf.l.wrap.b32 %r{d}, %r{a}, %r{b}, {constant};"),
            3 => format!("add.u32 %r{d}, %r{a}, %r{b};"),
            _ => format!("@%p3 sub.u32 %r{d}, %r{a}, {constant};"),
        };
        body += &format!(
            "block{i}:\nadd.u32 %r5, %r5, 1;\nsetp.gt.u32 %p1, %r5, 60;\n@%p1 bra end;\n{operation}\n\
             setp.lt.u32 %p3, %r{d}, %r{b};\nand.b32 %r6, %r{d}, 3;\nsetp.eq.u32 %p2, %r6, {};\n@%p2 bra block{};\n",
            constant % 4,
            block.target
        );
        if let Some(otherwise) = block.otherwise {
            body += &format!("bra.uni block{otherwise};\n");
        }
    }
    format!(
        "{HEADER}.visible .entry k(.param .u64 data, .param .u32 first) {{\n.reg .pred %p<4>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<4>;\n\
         ld.param.u64 %rd1, [data];\nld.param.u32 %r9, [first];\nmov.u32 %r10, %tid.x;\nadd.u32 %r1, %r9, %r10;\n\
         mul.wide.u32 %rd2, %r1, 8;\nadd.u64 %rd1, %rd1, %rd2;\nmul.lo.u32 %r2, %r1, 0x9e3779b9;\nmov.b32 %r3, 7;\nmov.b32 %r4, %r1;\n\
         mov.b32 %r5, 0;\nsetp.eq.u32 %p3, %r1, 3;\n{body}end:\nactivemask.b32 %r7;\nxor.b32 %r1, %r1, %r2;\nxor.b32 %r3, %r3, %r4;\n\
         mad.lo.u32 %r1, %r1, 31, %r3;\nst.global.v2.b32 [%rd1], {{%r1, %r7}};\nret;\n}}\n"
    )
}

/// Results and active masks of 64 threads, `threads` of them in a launch.
fn run(module: &Module, threads: u32) -> Vec<(u32, u32)> {
    let mut memory = Memory::new();
    let data = memory.alloc(64 * 8, "data").unwrap();
    for first in (0..64).step_by(threads as usize) {
        let params = [&data.to_le_bytes()[..], &(first as u32).to_le_bytes()].concat();
        let block = [threads, 1, 1];
        let options = Options::default();
        module
            .launch("k", [1; 3], block, 0, &params, &mut memory, &options)
            .unwrap();
    }
    let bytes = memory.read(data, 64 * 8).unwrap();
    let word = |b: &[u8]| u32::from_le_bytes(b.try_into().unwrap());
    bytes
        .chunks_exact(8)
        .map(|b| (word(&b[..4]), word(&b[4..])))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn together_or_alone(blocks in prop::collection::vec(block(), BLOCKS)) {
        let module = Module::parse(&program(&blocks)).unwrap();
        let (together, alone) = (run(&module, 64), run(&module, 1));
        for (thread, (warp, lane)) in together.iter().zip(&alone).enumerate() {
            prop_assert_eq!(warp.0, lane.0, "thread {}", thread);
            prop_assert_eq!(warp.1, u32::MAX, "thread {} does not meet the others", thread);
        }
    }
}
