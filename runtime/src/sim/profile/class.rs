//! What an instruction is, by its text: which unit executes it, and how much work it is.

use std::fmt;

use serde::Serialize;

/// A kind of instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// `mma`.
    Tensor,
    /// Arithmetic on floating-point numbers.
    Float,
    /// Arithmetic on integers and bits, comparisons, moves, conversions.
    Integer,
    /// Loads and stores of shared memory, `ldmatrix` and `stmatrix` included.
    Shared,
    /// Loads and stores of global memory, atomics included.
    Global,
    /// `cp.async`.
    AsyncCopy,
    /// Loads and stores of local memory and of parameters.
    Local,
    /// Branches and exits.
    Control,
    /// Barriers, fences, waits.
    Synchronize,
    /// Shuffles, votes and the like.
    Exchange,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Tensor => "tensor core",
            Class::Float => "floating point",
            Class::Integer => "integer",
            Class::Shared => "shared memory",
            Class::Global => "global memory",
            Class::AsyncCopy => "async copy",
            Class::Local => "local and parameters",
            Class::Control => "control",
            Class::Synchronize => "synchronization",
            Class::Exchange => "exchange",
        })
    }
}

/// The opcode with its modifiers, without a guard.
fn opcode(text: &str) -> &str {
    let text = text.trim_start();
    let text = match text.starts_with('@') {
        true => text
            .split_once(char::is_whitespace)
            .map_or("", |(_, rest)| rest),
        false => text,
    };
    text.trim_start()
        .split(|c: char| c.is_whitespace() || c == ';')
        .next()
        .unwrap_or("")
}

/// Which unit executes an instruction.
pub(super) fn class(text: &str) -> Class {
    let opcode = opcode(text);
    let mut parts = opcode.split('.');
    let base = parts.next().unwrap_or("");
    let has = |modifier: &str| opcode.split('.').any(|part| part == modifier);
    let in_shared = || opcode.split('.').any(|part| part.starts_with("shared"));
    match base {
        "mma" => Class::Tensor,
        "ldmatrix" | "stmatrix" => Class::Shared,
        "ld" | "ldu" | "st" | "atom" | "red" if in_shared() => Class::Shared,
        "ld" | "st" if has("param") || has("local") => Class::Local,
        "ld" | "ldu" | "st" | "atom" | "red" | "prefetch" => Class::Global,
        "cp" if has("commit_group") || has("wait_group") || has("wait_all") => Class::Synchronize,
        "cp" if has("mbarrier") => Class::Synchronize,
        "cp" => Class::AsyncCopy,
        "bar" | "barrier" | "mbarrier" | "membar" | "fence" => Class::Synchronize,
        "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" => Class::Exchange,
        "bra" | "brx" | "ret" | "exit" | "trap" | "call" => Class::Control,
        "cvt" | "mov" | "selp" | "setp" | "set" | "prmt" | "cvta" => Class::Integer,
        _ if element(opcode).is_some() => Class::Float,
        _ => Class::Integer,
    }
}

/// Numbers in a register of an arithmetic instruction, if they are floating-point ones.
fn element(opcode: &str) -> Option<u64> {
    opcode.split('.').find_map(|part| match part {
        "f32" | "f64" | "f16" | "bf16" => Some(1),
        "f16x2" | "bf16x2" | "f32x2" => Some(2),
        _ => None,
    })
}

/// `m`, `n` and `k` of an `mma`.
fn shape(opcode: &str) -> Option<[u64; 3]> {
    let part = opcode.split('.').find(|part| {
        part.starts_with('m') && part.contains('n') && part.contains('k') && *part != "mma"
    })?;
    let (m, rest) = part[1..].split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
}

/// Floating-point operations of one execution by all lanes; a fused multiply-add is two.
pub(super) fn flops(text: &str) -> u64 {
    let opcode = opcode(text);
    let base = opcode.split('.').next().unwrap_or("");
    match (base, shape(opcode), element(opcode)) {
        ("mma", Some([m, n, k]), _) => 2 * m * n * k,
        ("fma" | "mad", _, Some(numbers)) => 64 * numbers,
        (
            "add" | "sub" | "mul" | "div" | "rcp" | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin"
            | "cos" | "tanh" | "min" | "max",
            _,
            Some(numbers),
        ) => 32 * numbers,
        _ => 0,
    }
}

/// Work of an `mma` in multiply-adds of 16-bit operands: 8-bit ones take half the time of those,
/// tf32 twice, f64 sixteen times.
pub(super) fn tensor_work(text: &str) -> u64 {
    let opcode = opcode(text);
    let Some([m, n, k]) = shape(opcode).filter(|_| opcode.starts_with("mma")) else {
        return 0;
    };
    let has = |types: &[&str]| opcode.split('.').any(|part| types.contains(&part));
    let work = m * n * k;
    match () {
        _ if has(&["s8", "u8", "e4m3", "e5m2"]) => work / 2,
        _ if has(&["s4", "u4"]) => work / 4,
        _ if has(&["tf32"]) => work * 2,
        _ if has(&["f64"]) => work * 16,
        () => work,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_by_their_text() {
        for (text, expected) in [
            (
                "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {}",
                Class::Tensor,
            ),
            ("@%p1 ld.shared.v4.b32 {%r1}, [%r2]", Class::Shared),
            (
                "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1}, [%r2]",
                Class::Shared,
            ),
            (
                "cp.async.cg.shared.global [%r1], [%rd1], 16",
                Class::AsyncCopy,
            ),
            ("cp.async.wait_group 0", Class::Synchronize),
            ("ld.param.b64 %rd1, [k]", Class::Local),
            ("red.global.add.f32 [%rd1], %r1", Class::Global),
            ("fma.rn.f32 %r1, %r2, %r3, %r4", Class::Float),
            ("cvt.rn.bf16x2.f32 %r1, %r2, %r3", Class::Integer),
            ("mad.lo.s32 %r1, %r2, %r3, %r4", Class::Integer),
            ("@!%p2 bra $L1", Class::Control),
        ] {
            assert_eq!(class(text), expected, "{text}");
        }
    }

    #[test]
    fn work_of_instructions() {
        let mma = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {}";
        assert_eq!((flops(mma), tensor_work(mma)), (4096, 2048));
        let bytes = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {}";
        assert_eq!(tensor_work(bytes), 2048);
        assert_eq!(flops("fma.rn.f32 %r1, %r2, %r3, %r4"), 64);
        assert_eq!(flops("add.rn.bf16x2 %r1, %r2, %r3"), 64);
        assert_eq!(flops("add.s32 %r1, %r2, %r3"), 0);
        assert_eq!(tensor_work("fma.rn.f32 %r1, %r2, %r3, %r4"), 0);
    }
}
