//! `wgmma` against products computed here, over the layouts of its operands.

use super::{ErrorKind, launch};

/// Bytes of a span of each swizzle, by its code in a descriptor.
const SPANS: [usize; 4] = [16, 128, 64, 32];

/// A type of elements: bits, and how a small integer is written.
#[derive(Clone, Copy)]
struct Element {
    name: &'static str,
    bits: usize,
    encode: fn(i32) -> u32,
}

const F16: Element = Element {
    name: "f16",
    bits: 16,
    encode: |v| u32::from(half(v)),
};
const BF16: Element = Element {
    name: "bf16",
    bits: 16,
    encode: |v| (v as f32).to_bits() >> 16,
};
const TF32: Element = Element {
    name: "tf32",
    bits: 32,
    // The lower 13 bits have no meaning.
    encode: |v| (v as f32).to_bits() | 0x1fff,
};
const E4M3: Element = Element {
    name: "e4m3",
    bits: 8,
    encode: |v| small_float(v, 3, 7),
};
const E5M2: Element = Element {
    name: "e5m2",
    bits: 8,
    encode: |v| small_float(v, 2, 15),
};
const S8: Element = Element {
    name: "s8",
    bits: 8,
    encode: |v| v as u8 as u32,
};
const U8: Element = Element {
    name: "u8",
    bits: 8,
    encode: |v| v.unsigned_abs(),
};

/// An integer that the format has, of so many bits of fraction.
fn small_float(value: i32, fraction: u32, bias: u32) -> u32 {
    let sign = u32::from(value < 0) << 7;
    let magnitude = value.unsigned_abs();
    if magnitude == 0 {
        return sign;
    }
    let exponent = magnitude.ilog2();
    let mantissa = (magnitude << fraction >> exponent) & ((1 << fraction) - 1);
    sign | (exponent + bias) << fraction | mantissa
}

fn half(value: i32) -> u16 {
    let magnitude = value.unsigned_abs();
    let sign = u16::from(value < 0) << 15;
    if magnitude == 0 {
        return sign;
    }
    let exponent = magnitude.ilog2();
    sign | ((exponent + 15) << 10 | (magnitude << 10 >> exponent & 0x3ff)) as u16
}

fn of_half(bits: u32) -> f64 {
    let magnitude = match bits >> 10 & 31 {
        0 => f64::from(bits & 0x3ff) / 1024.0 / 16384.0,
        exponent => f64::from(1024 + (bits & 0x3ff)) * 2f64.powi(exponent as i32 - 25),
    };
    if bits >> 15 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

/// How an operand lies in shared memory.
#[derive(Debug, Clone, Copy)]
struct Layout {
    mn_major: bool,
    swizzle: usize,
}

const K_MAJOR: Layout = Layout {
    mn_major: false,
    swizzle: 1,
};

impl Layout {
    /// Leading and stride offset for a matrix with so many rows: a canonical layout of CuTe, packed.
    fn offsets(self, rows: usize) -> [usize; 2] {
        let span = SPANS[self.swizzle];
        match (self.mn_major, self.swizzle) {
            // Chunks of a row beside each other, eight rows as 128 bytes.
            (false, 0) => [128, 256],
            (false, _) => [16, 8 * span],
            // Eight k of eight rows are 128 bytes; all rows before the next eight k.
            (true, 0) => [rows / 8 * 128, 128],
            // Eight k of a span are 8 spans; both eights of k before the next span.
            (true, _) => [16 * span, 8 * span],
        }
    }

    /// The byte of the first bit of an element, by CuTe's canonical layouts with strides in elements.
    fn byte(self, rows: usize, row: usize, k: usize, bits: usize) -> usize {
        let t = 128 / bits;
        let [leading, stride] = self.offsets(rows).map(|bytes| bytes * 8 / bits);
        let wide = SPANS[self.swizzle] / 16;
        let element = match (self.mn_major, self.swizzle) {
            // ((8,m),(T,2)) : ((T,SBO),(1,LBO))
            (false, 0) => row % 8 * t + row / 8 * stride + k % t + k / t * leading,
            // ((8,m),(T,2)) : ((wT,SBO),(1,T))
            (false, _) => row % 8 * wide * t + row / 8 * stride + k,
            // ((T,1,m),(8,k)) : ((1,T,SBO),(T,LBO))
            (true, 0) => row % t + row / t * stride + k % 8 * t + k / 8 * leading,
            // ((T,w,m),(8,k)) : ((1,T,LBO),(wT,SBO))
            (true, _) => {
                let span = wide * t;
                row % span + row / span * leading + k % 8 * span + k / 8 * stride
            }
        };
        let byte = element * bits / 8;
        // Swizzle<b,4,3>
        byte ^ (byte >> 7 & (wide - 1)) << 4
    }

    fn descriptor(self, rows: usize) -> u64 {
        let [leading, stride] = self.offsets(rows).map(|bytes| bytes as u64 >> 4);
        leading << 16 | stride << 32 | (self.swizzle as u64) << 62
    }
}

/// A product of one `wgmma`, or of two of which the second adds to the first.
#[derive(Clone, Copy)]
struct Product {
    a: Element,
    b: Element,
    d: &'static str,
    n: usize,
    /// A from registers, where there is no layout.
    a_layout: Option<Layout>,
    b_layout: Layout,
    negate: [bool; 2],
    twice: bool,
    /// Of a sparse A, which pair of each four lanes has the metadata.
    sparse: Option<usize>,
}

const PRODUCT: Product = Product {
    a: BF16,
    b: BF16,
    d: "f32",
    n: 64,
    a_layout: Some(K_MAJOR),
    b_layout: K_MAJOR,
    negate: [false; 2],
    twice: false,
    sparse: None,
};

/// Bytes of shared memory for an operand.
const OPERAND: usize = 32 << 10;
/// Bytes of the fragment of A and of the metadata, which lie behind the images.
const FRAGMENT: usize = 128 * 16;
const METADATA: usize = 128 * 4;

impl Product {
    /// How many elements of a row of A there are.
    fn k(&self) -> usize {
        256 / self.a.bits
    }

    fn k_of_b(&self) -> usize {
        if self.sparse.is_some() {
            2 * self.k()
        } else {
            self.k()
        }
    }

    /// The four bits of metadata of a chunk of a row of a sparse A.
    fn chunk(&self, row: usize, chunk: usize) -> u32 {
        let any = row * 3 + chunk * 5 + row * chunk;
        match self.a.bits {
            32 => [0b0100, 0b1110][any % 2],
            _ => [0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110][any % 6],
        }
    }

    /// Which element along K an element of a row of A is.
    fn place(&self, row: usize, at: usize) -> usize {
        let bits = |chunk| self.chunk(row, chunk) as usize;
        match (self.sparse, self.a.bits) {
            (None, _) => at,
            (Some(_), 32) => 2 * at + usize::from(bits(at) == 0b1110),
            (Some(_), _) => 4 * (at / 2) + (bits(at / 2) >> (2 * (at % 2)) & 3),
        }
    }

    /// The word of metadata of a thread, as the figures of the ISA show it; of threads that have none it must not matter.
    fn metadata(&self, thread: usize) -> u32 {
        let (warp, lane) = (thread / 32, thread % 32);
        let (group, place) = (16 * warp + lane / 4, lane % 4);
        let chunks = |row: usize, first: usize, count: usize| {
            let bits = (0..count).map(|chunk| self.chunk(row, first + chunk) << (4 * chunk));
            bits.sum::<u32>()
        };
        match (self.sparse, self.a.bits) {
            (Some(_), 8) => chunks(group + 8 * (place % 2), 8 * (place / 2), 8),
            (Some(pair), _) if place / 2 == pair => {
                let first = 4 * (place % 2);
                chunks(group, first, 4) | chunks(group + 8, first, 4) << 16
            }
            (Some(_) | None, _) => 0,
        }
    }

    /// Small integers.
    fn element(seed: usize, row: usize, k: usize) -> i32 {
        ((row * 7 + k * 5 + seed + row * k) % 9) as i32 - 4
    }

    fn image(element: Element, layout: Layout, rows: usize, k: usize, seed: usize) -> Vec<u8> {
        let mut image = vec![0; OPERAND];
        for row in 0..rows {
            for k in 0..k {
                let at = layout.byte(rows, row, k, element.bits);
                let value = (element.encode)(Product::element(seed, row, k)).to_le_bytes();
                let bytes = element.bits / 8;
                image[at..at + bytes].copy_from_slice(&value[..bytes]);
            }
        }
        image
    }

    /// A word of A's fragment of a thread.
    fn fragment_of_a(&self, thread: usize, register: usize) -> u32 {
        let (warp, lane) = (thread / 32, thread % 32);
        let packed = 32 / self.a.bits;
        let row = 16 * warp + lane / 4 + 8 * (register % 2);
        (0..packed).fold(0, |word, i| {
            let k = packed * (lane % 4) + 4 * packed * (register / 2) + i;
            word | (self.a.encode)(Product::element(1, row, k)) << (i * self.a.bits)
        })
    }

    fn instruction(&self, scale_d: u32) -> String {
        let registers = match self.d {
            "f16" => self.n / 4,
            _ => self.n / 2,
        };
        let d: Vec<String> = (0..registers).map(|i| format!("%d{i}")).collect();
        let a = match self.a_layout {
            Some(_) => "%rd1",
            None => "{%a0,%a1,%a2,%a3}",
        };
        let (sparse, metadata) = match self.sparse {
            Some(pair) => (".sp", format!("%m0, {pair}, ")),
            None => ("", String::new()),
        };
        let mut operands = format!("{{{}}}, {a}, %rd2, {metadata}{scale_d}", d.join(","));
        if self.d != "s32" {
            for negate in self.negate {
                operands += if negate { ", -1" } else { ", 1" };
            }
        }
        if self.a.bits == 16 {
            for layout in self.a_layout.into_iter().chain([self.b_layout]) {
                operands += if layout.mn_major { ", 1" } else { ", 0" };
            }
        }
        format!(
            "wgmma.mma_async{sparse}.sync.aligned.m64n{}k{}.{}.{}.{} {operands};\n",
            self.n,
            self.k_of_b(),
            self.d,
            self.a.name,
            self.b.name
        )
    }

    fn body(&self) -> String {
        let registers = if self.d == "f16" {
            self.n / 4
        } else {
            self.n / 2
        };
        let mut body = format!(
            ".shared .align 1024 .b8 smem[{}];\n.reg .b32 %d<128>;\n.reg .b32 %a<4>;\n.reg .b32 %m<1>;\n\
             mov.u32 %r1, 0;\nmov.u32 %r2, smem;\nmul.lo.u32 %r3, %r90, 16;\ncvt.u64.u32 %rd3, %r3;\n\
             add.u32 %r4, %r2, %r3;\nadd.u64 %rd4, %rd90, %rd3;\n\
             copy:\nld.global.v4.b32 {{%r5,%r6,%r7,%r8}}, [%rd4];\nst.shared.v4.b32 [%r4], {{%r5,%r6,%r7,%r8}};\n\
             add.u32 %r4, %r4, 2048;\nadd.u64 %rd4, %rd4, 2048;\nadd.u32 %r1, %r1, 2048;\n\
             setp.lt.u32 %p1, %r1, {};\n@%p1 bra copy;\nfence.proxy.async;\nbar.sync 0;\n\
             cvt.u64.u32 %rd1, %r2;\nshr.u64 %rd1, %rd1, 4;\nadd.u64 %rd2, %rd1, {};\n",
            2 * OPERAND,
            2 * OPERAND,
            OPERAND >> 4
        );
        let a = self.a_layout.map_or(0, |layout| layout.descriptor(64));
        let b = self.b_layout.descriptor(self.n);
        body += &format!("or.b64 %rd1, %rd1, {a:#x};\nor.b64 %rd2, %rd2, {b:#x};\n");
        // The fragment of A and the metadata lie behind the images.
        body += &format!(
            "add.u64 %rd4, %rd90, %rd3;\nld.global.v4.b32 {{%a0,%a1,%a2,%a3}}, [%rd4+{}];\n\
             mul.lo.u32 %r3, %r90, 4;\ncvt.u64.u32 %rd5, %r3;\nadd.u64 %rd4, %rd90, %rd5;\n\
             ld.global.b32 %m0, [%rd4+{}];\n",
            2 * OPERAND,
            2 * OPERAND + FRAGMENT
        );
        body += "wgmma.fence.sync.aligned;\n";
        body += &self.instruction(0);
        if self.twice {
            body += &self.instruction(1);
        }
        body += "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
        body += &format!(
            "mul.lo.u32 %r3, %r90, {};\ncvt.u64.u32 %rd3, %r3;\nadd.u64 %rd4, %rd90, %rd3;\n",
            4 * registers
        );
        for i in 0..registers {
            let at = 2 * OPERAND + FRAGMENT + METADATA + 4 * i;
            body += &format!("st.global.b32 [%rd4+{at}], %d{i};\n");
        }
        body
    }

    fn run(&self) {
        let k = self.k();
        let a_layout = self.a_layout.unwrap_or(K_MAJOR);
        let mut data = Product::image(self.a, a_layout, 64, k, 1);
        data.extend(Product::image(
            self.b,
            self.b_layout,
            self.n,
            self.k_of_b(),
            2,
        ));
        for thread in 0..128 {
            for register in 0..4 {
                data.extend(self.fragment_of_a(thread, register).to_le_bytes());
            }
        }
        for thread in 0..128 {
            data.extend(self.metadata(thread).to_le_bytes());
        }
        let out = data.len();
        data.resize(out + 64 * self.n * 4, 0);
        launch(&self.body(), 128, &mut data).unwrap_or_else(|error| panic!("{error}"));
        let words: Vec<u32> = data[out..]
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes(b.try_into().unwrap()))
            .collect();
        let halves = self.d == "f16";
        let registers = if halves { self.n / 4 } else { self.n / 2 };
        let of_u8 = |element: Element, v: i32| if element.name == "u8" { v.abs() } else { v };
        let sign = if self.negate[0] != self.negate[1] {
            -1
        } else {
            1
        };
        for row in 0..64 {
            for column in 0..self.n {
                let product: i32 = (0..k)
                    .map(|k| {
                        of_u8(self.a, Product::element(1, row, k))
                            * of_u8(self.b, Product::element(2, column, self.place(row, k)))
                    })
                    .sum();
                let expected = product * sign * if self.twice { 2 } else { 1 };
                // d[4j + {0, 1}]: row 16w + l/4, column 8j + 2(l % 4) + {0, 1}; d[4j + {2, 3}]: row + 8.
                let (warp, row_of_warp) = (row / 16, row % 16);
                let lane = row_of_warp % 8 * 4 + column % 8 / 2;
                let element = column / 8 * 4 + row_of_warp / 8 * 2 + column % 2;
                let thread = 32 * warp + lane;
                let found = match self.d {
                    "f16" => {
                        let word = words[thread * registers + element / 2];
                        of_half(word >> (16 * (element % 2)) & 0xffff)
                    }
                    "s32" => f64::from(words[thread * registers + element] as i32),
                    _ => f64::from(f32::from_bits(words[thread * registers + element])),
                };
                assert_eq!(
                    found,
                    f64::from(expected),
                    "{} A {:?} B {:?}: row {row}, column {column}",
                    self.instruction(0),
                    self.a_layout,
                    self.b_layout
                );
            }
        }
    }
}

#[test]
fn operands_of_16_bits_in_every_layout() {
    let layouts =
        [false, true].map(|mn_major| (0..4).map(move |swizzle| Layout { mn_major, swizzle }));
    let layouts: Vec<Layout> = layouts.into_iter().flatten().collect();
    for &a in &layouts {
        Product {
            a_layout: Some(a),
            ..PRODUCT
        }
        .run();
    }
    for n in [64, 128] {
        for &b_layout in &layouts {
            Product {
                n,
                b_layout,
                ..PRODUCT
            }
            .run();
        }
    }
}

#[test]
fn operands_of_other_types_in_every_swizzle() {
    for (a, b, d) in [
        (TF32, TF32, "f32"),
        (E4M3, E4M3, "f32"),
        (E4M3, E5M2, "f32"),
        (E5M2, E4M3, "f16"),
        (S8, S8, "s32"),
        (U8, S8, "s32"),
        (U8, U8, "s32"),
    ] {
        for swizzle in 0..4 {
            let layout = Layout {
                mn_major: false,
                swizzle,
            };
            Product {
                a,
                b,
                d,
                a_layout: Some(layout),
                b_layout: layout,
                ..PRODUCT
            }
            .run();
        }
    }
}

#[test]
fn every_width() {
    for n in (8..=256).step_by(8) {
        for twice in [false, true] {
            Product {
                n,
                twice,
                ..PRODUCT
            }
            .run();
        }
    }
    for n in [8, 16, 24, 32, 48, 64, 224, 240, 256] {
        Product {
            a: S8,
            b: S8,
            d: "s32",
            n,
            twice: true,
            ..PRODUCT
        }
        .run();
    }
}

#[test]
fn a_from_registers() {
    for (a, b, d) in [
        (F16, F16, "f16"),
        (F16, F16, "f32"),
        (BF16, BF16, "f32"),
        (TF32, TF32, "f32"),
        (E4M3, E5M2, "f32"),
        (S8, U8, "s32"),
    ] {
        Product {
            a,
            b,
            d,
            n: 32,
            a_layout: None,
            twice: true,
            ..PRODUCT
        }
        .run();
    }
}

#[test]
fn sparse_a() {
    let wide = |mn_major| Layout {
        mn_major,
        swizzle: 1,
    };
    let half = Layout {
        mn_major: false,
        swizzle: 2,
    };
    for a_layout in [None, Some(K_MAJOR)] {
        for (a, b, d, pairs) in [
            (F16, F16, "f16", 2),
            (BF16, BF16, "f32", 2),
            (TF32, TF32, "f32", 2),
            (E4M3, E5M2, "f32", 1),
            (S8, U8, "s32", 1),
        ] {
            for (pair, b_layout) in [(0, half), (pairs - 1, wide(a.bits == 16))] {
                Product {
                    a,
                    b,
                    d,
                    a_layout,
                    b_layout,
                    twice: true,
                    sparse: Some(pair),
                    ..PRODUCT
                }
                .run();
            }
        }
    }
}

#[test]
fn metadata_that_say_nothing() {
    let sparse = Product {
        sparse: Some(0),
        ..PRODUCT
    };
    // Zeros are places that are the same.
    assert!(matches!(
        fault(&sparse.body(), 128),
        ErrorKind::Value {
            what: "metadata of a chunk of A",
            ..
        }
    ));
    let narrow = Product {
        b_layout: Layout {
            mn_major: false,
            swizzle: 3,
        },
        ..sparse
    };
    assert!(matches!(
        fault(&narrow.body(), 128),
        ErrorKind::Descriptor {
            operand: 'B',
            what: "span of a swizzle",
            ..
        }
    ));
    let of_8_bits = Product {
        a: E4M3,
        b: E4M3,
        sparse: Some(1),
        ..PRODUCT
    };
    assert!(matches!(
        fault(&of_8_bits.body(), 128),
        ErrorKind::Operand { index: 4, .. }
    ));
}

#[test]
fn metadata_are_read_while_the_product_is_under_way() {
    let sparse = Product {
        sparse: Some(0),
        ..PRODUCT
    };
    let set = "mov.u32 %m0, 0x44444444;\n";
    let fence = "wgmma.fence.sync.aligned;\n";
    let body = sparse.body().replacen(fence, &format!("{set}{fence}"), 1);
    let commit = "wgmma.commit_group.sync.aligned;\n";
    let body = body.replacen(commit, &format!("{commit}{set}"), 1);
    assert!(matches!(
        fault(&body, 128),
        ErrorKind::RegisterInFlight {
            accumulator: false,
            ..
        }
    ));
}

#[test]
fn negation() {
    for negate in [[true, false], [false, true], [true, true]] {
        for a_layout in [None, Some(K_MAJOR)] {
            Product {
                a: F16,
                b: F16,
                negate,
                a_layout,
                ..PRODUCT
            }
            .run();
        }
    }
}

/// An error of a body in one warpgroup.
fn fault(body: &str, threads: u32) -> ErrorKind {
    let mut data = vec![0; 2 * OPERAND + FRAGMENT + METADATA + 64 * 256 * 4];
    let error = launch(body, threads, &mut data).expect_err("the kernel must fail");
    error.kind
}

#[test]
fn shapes_that_there_are_not() {
    let d: Vec<String> = (0..20).map(|i| format!("%d{i}")).collect();
    for shape in [
        "m64n40k32.s32.s8.s8",
        "m64n12k16.f32.bf16.bf16",
        "m64n40k8.f32.bf16.bf16",
        "m64n40k16.f16.bf16.bf16",
    ] {
        let body = format!(
            ".reg .b32 %d<128>;\nwgmma.mma_async.sync.aligned.{shape} {{{}}}, %rd1, %rd2, 0, 1, 1, 0, 0;",
            d.join(",")
        );
        assert!(matches!(
            fault(&body, 128),
            ErrorKind::UnknownInstruction { .. }
        ));
    }
}

#[test]
fn descriptors_that_say_nothing() {
    let with = |descriptor: &str| {
        let body = PRODUCT.body();
        let fence = "wgmma.fence.sync.aligned;\n";
        body.replacen(fence, &format!("{descriptor}\n{fence}"), 1)
    };
    let what = |descriptor: &str| match fault(&with(descriptor), 128) {
        ErrorKind::Descriptor { operand, what, .. } => (operand, what),
        other => panic!("{other}"),
    };
    // A start that was not divided by 16, and one that is in the middle of a pattern.
    let reserved = "bits 14, 15, 30, 31, 46 to 48 and 52 to 61";
    assert_eq!(what("or.b64 %rd1, %rd1, 0xc000;"), ('A', reserved));
    assert_eq!(
        what("add.u64 %rd2, %rd2, 8;"),
        ('B', "start of a swizzle's pattern")
    );
    // A stride that leads out of shared memory.
    assert_eq!(
        what("or.b64 %rd2, %rd2, 0x3fff00000000;"),
        ('B', "chunk of 16 bytes")
    );
    assert!(matches!(
        fault(&with("add.u64 %rd1, %rd1, %rd3;"), 128),
        ErrorKind::Value {
            what: "descriptor of A",
            ..
        }
    ));
}

#[test]
fn warps_that_do_not_come() {
    let body = PRODUCT.body();
    let fence = "wgmma.fence.sync.aligned;\n";
    let left = body.replacen(
        fence,
        "setp.ge.u32 %p2, %r90, 96;\n@%p2 exit;\nwgmma.fence.sync.aligned;\n",
        1,
    );
    let ErrorKind::WarpgroupDivergence { what, waiters } = fault(&left, 128) else {
        panic!("no divergence");
    };
    assert!(
        what.starts_with("warps 3 have not executed `wgmma.mma_async"),
        "{what}"
    );
    assert_eq!(waiters.len(), 3);
    assert!(matches!(
        fault(&body, 96),
        ErrorKind::Value {
            what: "warps of the warpgroup",
            found: 3,
            ..
        }
    ));
    let lanes = body.replacen(
        fence,
        "setp.ge.u32 %p2, %r90, 127;\n@%p2 exit;\nwgmma.fence.sync.aligned;\n",
        1,
    );
    assert!(matches!(
        fault(&lanes, 128),
        ErrorKind::LaneDivergence { .. }
    ));
    let other = body.replacen(
        fence,
        "setp.ge.u32 %p2, %r90, 96;\n@%p2 add.u64 %rd2, %rd2, 2;\nwgmma.fence.sync.aligned;\n",
        1,
    );
    assert!(matches!(
        fault(&other, 128),
        ErrorKind::WarpgroupOperand {
            what: "descriptor of B",
            warp: 3,
            ..
        }
    ));
}

/// Sets registers in a block of 384 threads, which has 168 a thread: `producer` is executed by the first four
/// warps, `consumer` by the others.
fn registers(directives: &str, producer: &str, consumer: &str) -> Result<(), ErrorKind> {
    let body = format!(
        "setp.ge.u32 %p1, %r90, 128;\n@%p1 bra consumer;\n{producer}\nexit;\nconsumer:\n{consumer}\n"
    );
    let text = super::kernel(&body).replacen("{\n", &format!("{directives} {{\n"), 1);
    let module = super::Module::parse(&text).map_err(|error| error.kind)?;
    let mut memory = super::Memory::new();
    let data = memory.alloc(8, "data").unwrap();
    let options = super::Options::default();
    let params = data.to_le_bytes();
    let run = module.launch("k", [1; 3], [384, 1, 1], 0, &params, &mut memory, &options);
    run.map(drop).map_err(|error| error.kind)
}

#[test]
fn registers_go_from_warpgroup_to_warpgroup() {
    let set = |action: &str, count: u32| format!("setmaxnreg.{action}.sync.aligned.u32 {count};");
    let bounds = ".reqntid 384 .minnctapersm 1";
    registers(bounds, &set("dec", 40), &set("inc", 232)).unwrap();
    registers(".maxnreg 80", &set("dec", 24), &set("inc", 104)).unwrap();
    let error = registers(bounds, &set("dec", 40), &set("inc", 240)).unwrap_err();
    let ErrorKind::RegisterPool {
        missing,
        entry,
        counts,
        ..
    } = error
    else {
        panic!("{error}");
    };
    // 40 + 2 · 240 of 3 · 168.
    assert_eq!((entry, &counts[..]), (168, "40, 240, 240"));
    assert!(missing > 0);
    assert!(matches!(
        registers(bounds, "", &set("inc", 176)).unwrap_err(),
        ErrorKind::RegisterPool { .. }
    ));
    for (producer, consumer) in [
        (set("inc", 160), String::new()),
        (set("dec", 176), String::new()),
    ] {
        let error = registers(bounds, &producer, &consumer).unwrap_err();
        assert!(matches!(error, ErrorKind::Value { .. }), "{error}");
    }
    for count in [16, 44, 264] {
        let error = registers(bounds, &set("dec", count), "").unwrap_err();
        assert!(matches!(error, ErrorKind::Operand { .. }), "{error}");
    }
    let one_warp = format!(
        "setp.lt.u32 %p2, %r90, 32;\n@%p2 bra own;\n{}\nexit;\nown:\n{}",
        set("dec", 40),
        set("dec", 48)
    );
    let error = registers(bounds, &one_warp, "").unwrap_err();
    assert!(
        matches!(error, ErrorKind::WarpgroupOperand { .. }),
        "{error}"
    );
    let three_warps = format!("setp.lt.u32 %p2, %r90, 32;\n@%p2 exit;\n{}", set("dec", 40));
    let error = registers(bounds, &three_warps, "").unwrap_err();
    assert!(
        matches!(error, ErrorKind::WarpgroupDivergence { .. }),
        "{error}"
    );
}

/// What LLVM, CUTLASS and Triton write.
#[test]
fn spellings() {
    let d = |registers: usize| {
        let d: Vec<String> = (0..registers).map(|i| format!("%d{i}")).collect();
        format!("{{{}}}", d.join(", "))
    };
    let products = [
        ("m64n8k16.f16.f16.f16", 2, "%rd1, %rd2, %p1, 1, 1, 0, 1"),
        (
            "m64n16k16.f32.f16.f16",
            8,
            "{%r1, %r2, %r3, %r4}, %rd2, %p1, -1, 1, 1",
        ),
        (
            "m64n256k16.f32.bf16.bf16",
            128,
            "%rd1, %rd2, !%p1, 1, -1, 1, 0",
        ),
        ("m64n24k8.f32.tf32.tf32", 12, "%rd1, %rd2, 1, 1, 1"),
        ("m64n104k32.f32.e4m3.e5m2", 52, "%rd1, %rd2, %p1, 1, 1"),
        (
            "m64n8k32.f16.e5m2.e5m2",
            2,
            "{%r1, %r2, %r3, %r4}, %rd2, %p1, 1, 1",
        ),
        ("m64n48k32.s32.s8.u8", 24, "%rd1, %rd2, %p1"),
        ("m64n48k32.s32.u8.u8.satfinite", 24, "%rd1, %rd2, %p1"),
        (
            "m64n48k32.satfinite.s32.s8.s8",
            24,
            "{%r1, %r2, %r3, %r4}, %rd2, 0",
        ),
    ];
    let products = products.map(|(shape, registers, operands)| {
        format!(
            "wgmma.mma_async.sync.aligned.{shape} {}, {operands}",
            d(registers)
        )
    });
    let others = [
        "wgmma.fence.sync.aligned",
        "wgmma.commit_group.sync.aligned",
        "wgmma.wait_group.sync.aligned 7",
        "setmaxnreg.inc.sync.aligned.u32 256",
        "setmaxnreg.dec.sync.aligned.u32 24",
        "mbarrier.init.shared::cta.b64 [%r1], 1",
        "mbarrier.inval.shared::cta.b64 [%r1]",
        "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2",
        "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2, %r3",
        "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2, 0x989680",
        "mbarrier.try_wait.parity.shared.b64 %p1, [%r1+8], 1",
        "mbarrier.try_wait.parity.b64 %p1, [%rd1], %r2",
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [%r1], %r2",
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r1], %r2, %r3",
        "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p1, [%r1], %r2",
        "mbarrier.try_wait.shared::cta.b64 %p1, [%r1], %rd2",
        "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], %r2",
        "mbarrier.test_wait.shared.b64 %p1, [%r1], %rd2",
        "mbarrier.arrive.shared::cta.b64 _, [%r1]",
        "mbarrier.arrive.shared::cta.b64 %rd1, [%r1], 2",
        "mbarrier.arrive.release.cta.shared::cta.b64 _, [%r1], %r2",
        "mbarrier.arrive.shared::cluster.b64 _, [%r1]",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1], 1",
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], %r2",
        "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd1, [%r1], 49152",
        "mbarrier.arrive.noComplete.shared.b64 %rd1, [%r1], 1",
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], %r2",
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r1]",
        "fence.mbarrier_init.release.cluster",
        "fence.proxy.async",
        "fence.proxy.async.global",
        "fence.proxy.async.shared::cta",
        "fence.proxy.async.shared::cluster",
        "fence.acq_rel.cluster",
        "elect.sync _|%p1, 0xffffffff",
        "elect.sync %r1|%p1, -1",
        "elect.sync %r1|%p1, %r2",
        "griddepcontrol.wait",
        "griddepcontrol.launch_dependents",
        "prefetch.tensormap [%rd1]",
        "prefetch.param.tensormap [data]",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2}",
        "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r1], {%r2, %r3}",
        "stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%r1], {%r2, %r3, %r4, %r5}",
        "stmatrix.sync.aligned.m8n8.x4.b16 [%rd1], {%r2, %r3, %r4, %r5}",
    ];
    let all = products.iter().map(|text| &text[..]).chain(others);
    let wrong: Vec<String> = all
        .filter_map(|text| {
            let body = format!(".reg .f32 %d<128>;\n{text};");
            let error = super::Module::parse(&super::kernel(&body)).err()?;
            Some(format!("{text}: {error}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
