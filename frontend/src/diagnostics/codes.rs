//! The table of diagnostic codes. A code is never reused and never changes its meaning.

use std::fmt;

/// A stable diagnostic code, shown as `E0001`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub u16);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "E{:04}", self.0)
    }
}

/// What `--explain` says about a code.
#[derive(Clone, Copy, Debug)]
pub struct CodeInfo {
    /// The code.
    pub code: Code,
    /// The name of its constant.
    pub name: &'static str,
    /// A headline.
    pub title: &'static str,
    /// What it means, why it is refused, how it is mended; with an example.
    pub explanation: &'static str,
}

macro_rules! codes {
    ($($name:ident = $number:literal, $title:literal, $explanation:literal;)*) => {
        $(#[doc = $title] pub const $name: Code = Code($number);)*

        /// Every code, in ascending order.
        pub const ALL: &[CodeInfo] = &[
            $(CodeInfo {
                code: $name,
                name: stringify!($name),
                title: $title,
                explanation: $explanation,
            },)*
        ];
    };
}

/// Finds a code by its text: `E0001`, `e0001` or `1`.
pub fn lookup(text: &str) -> Option<&'static CodeInfo> {
    let digits = text.trim().trim_start_matches(['E', 'e']);
    let number: u16 = digits.parse().ok()?;
    ALL.iter().find(|info| info.code.0 == number)
}

// 1–99 syntax; 100–199 evaluation and types.
codes! {
    UNEXPECTED_TOKEN = 1, "unexpected token",
    "The parser met something that cannot stand in this place. The message lists what could.\n\
     \n\
         let x = 3 +;      // after `+` there must be an expression";

    MISSING_SEMICOLON = 2, "missing `;`",
    "Statements end in `;`, except `if`, `for`, `while`, `loop` and blocks. The last expression of a\n\
     block may stand without it: it is the value of the block.\n\
     \n\
         let x = 3         // expected `;`\n\
         let y = 4;";

    UNCLOSED_DELIMITER = 3, "unclosed bracket",
    "A `(`, `[` or `{` has no partner before the end of the item. Where the indentation gives a hint,\n\
     a second label shows the bracket that seems to lack its partner.";

    UNMATCHED_DELIMITER = 4, "closing bracket without partner",
    "A `)`, `]` or `}` closes nothing, or something else than was opened last.";

    INVALID_CHARACTER = 5, "invalid character",
    "The character has no meaning in a `.cute` file outside of strings and comments.";

    NON_ASCII_IDENTIFIER = 6, "name with characters beyond ASCII",
    "Names consist of the letters a-z and A-Z, digits and `_`. They reappear in PTX, which has no\n\
     others. Strings and comments may hold any text.";

    UNTERMINATED_STRING = 7, "unterminated string",
    "A string ends in `\"` on the line on which it begins. A line break in a string is written `\\n`.";

    UNTERMINATED_COMMENT = 8, "unterminated comment",
    "A `/*` has no `*/`. Block comments nest: each `/*` inside needs its own `*/`.";

    INVALID_NUMBER = 9, "malformed number",
    "Numbers are decimal (`64`, `65_536`), hexadecimal (`0xff`), binary (`0b1010`) or floating\n\
     (`0.5`, `1e-3`), perhaps with a type behind: `1.0f32`, `8u32`. A floating number has digits on\n\
     both sides of the point.";

    NUMBER_TOO_LARGE = 10, "number too large",
    "An integer must fit into 64 bits, a floating number into f64.";

    INVALID_ESCAPE = 11, "unknown escape in a string",
    "Strings know `\\n`, `\\t`, `\\r`, `\\0`, `\\\\`, `\\\"` and `\\u{1f600}`.";

    NESTING_TOO_DEEP = 12, "nested too deeply",
    "Expressions, patterns, types and blocks may nest 200 deep; an operator chain `a + b + c` counts\n\
     one level for each operator. Name a part with `let`.";

    CHAINED_COMPARISON = 13, "chained comparison",
    "Comparisons do not chain: `a < b < c` would compare a bool with `c`. Write `a < b && b < c`.\n\
     \n\
     If generic arguments were meant, there must be no space before the `<`: `size<1>(x)`.";

    INVALID_ASSIGNMENT_TARGET = 14, "cannot assign to this",
    "The left of `=` is a variable (`x`), elements of a tensor (`t[_, i]`), a call that gives a\n\
     tensor view (`c.tile(shape, coord)`), or a tuple of these, each of which is given its part:\n\
     `(a, b) = (b, a + b)`. `_` there takes a part that nobody needs. Operators such as `+=` have one place.";

    DUPLICATE_NAME = 15, "name given twice",
    "Two parameters of one function, two clauses of one launch, two arguments of one call, or two\n\
     variables of one pattern have the same name.";

    MISSING_TYPE = 16, "kernel parameter without a type",
    "A kernel is called from outside, so its parameters say what they are:\n\
     \n\
         kernel scale(x: mut tensor<f32, (m, n)>, alpha: f32) launch … { … }\n\
     \n\
     Parameters of `fn` may leave the type out.";

    INVALID_LAUNCH = 17, "launch clause missing or unknown",
    "A kernel says how it is launched:\n\
     \n\
         launch grid(ceil_div(m, 128), ceil_div(n, 128)), block(256)\n\
     \n\
     with `grid(x, y, z)`, `block(x, y, z)`, and as needed `smem(bytes)`, `min_blocks(n)`,\n\
     `cluster(x, y, z)`, `pdl()`, `cooperative()`; a tile-level kernel has `tiles(…)`, `raster(n)`,\n\
     `warps(m, n)`, `multicast(m, n)`, `queue(counter)`, `pingpong()` and `persistent()`.";

    POSITIONAL_AFTER_NAMED = 18, "positional argument after a named one",
    "Arguments without a name come first: `f(a, b, rtol = 1e-2)`.";

    IMPORT_FAILED = 19, "import failed",
    "The file named in `import \"…\";` could not be had. The path is relative to the importing file.";

    TOO_MANY_ERRORS = 20, "too many errors",
    "Reading stopped. Mend the first errors and run again.";

    STRAY_DOC_COMMENT = 21, "doc comment that documents nothing",
    "`///` stands directly before an item. Other comments begin with `//`.";

    DUPLICATE_ITEM = 22, "item defined twice",
    "Two items have the same name where it must mean one. Functions, kernels, records and constants of a file share one set of\n\
     names, its tests and benches another one. A file's own items come before those of other files: what two other files\n\
     define, a file cannot name. Kernels have names of their own over all files.";

    FOREIGN_SYNTAX = 24, "syntax of another language",
    "The construct has its place in CUDA C++, Python or Rust, not here. The help line says what to write:\n\
     \n\
         x ** 2                         x * x\n\
         c ? a : b                      if c { a } else { b }, select(c, a, b)\n\
         (float)x, x as f32             f32(x)\n\
         a if c else b                  if c { a } else { b }\n\
         for (int i = 0; i < n; i++)    for i in 0..n { … }\n\
         y[:]                           y[_]\n\
         cute::size(x), tl.exp(x)       size(x), exp(x)\n\
         __global__ void f(float* x)    kernel f(x: mut tensor<f32, n>) launch grid(…), block(…) { … }";

    INVALID_RECORD = 25, "malformed record",
    "A record has one field at least. `self` is what its functions are called on: their first parameter, and\n\
     nobody else's. A function that changes it takes `mut self`:\n\
     \n\
         record Ring {\n\
             stages,\n\
             var index: i32 = 0,\n\
             fn advance(mut self) { self.index = (self.index + 1) % self.stages; }\n\
         }";

    UNKNOWN_NAME = 100, "unknown name",
    "Nothing of this name is in scope: no variable, parameter, extent, function, constant, type or\n\
     built-in. Extents are the names in the shapes of tensor parameters.";

    WRONG_TYPE = 101, "value of another kind expected",
    "A built-in, an operator or a statement takes another kind of value. The message says what was\n\
     expected and what was found.";

    WRONG_ARGUMENTS = 102, "wrong arguments",
    "A call gives too few or too many arguments, or names one that there is not.";

    SHAPE_MISMATCH = 103, "shapes do not fit",
    "Source and destination of a copy, operands of a gemm or sides of an assignment have different\n\
     numbers of elements. The message shows both shapes.";

    MODE_OUT_OF_RANGE = 104, "no such mode",
    "Modes count from 0: `size<1>(x)` is the second mode. A path `size<0, 1>(x)` goes into a nested\n\
     mode.";

    ILLEGAL_ATOM = 105, "illegal atom",
    "No instruction of this kind moves or multiplies these elements, or the target does not have it.\n\
     The message lists what there is.";

    LAYOUT_ALGEBRA = 106, "layouts that do not fit",
    "An operation of the layout algebra is not defined for these layouts: a tile that does not divide\n\
     a shape, a composition that would leave the domain. The notes show the layouts.";

    STATIC_NEEDED = 107, "known only at run time",
    "Shapes of fragments, modes, tile sizes, `static if`, `static for` and generic arguments are\n\
     evaluated at compile time. The labels show which run-time value is in the way:\n\
     \n\
         static for i in 0..m { … }    // `m` is an extent, known when the kernel is launched";

    MISSING_PROMISE = 108, "vector access that nothing proves legal",
    "A vector access needs contiguous, aligned elements that lie inside of the tensor as a whole. What\n\
     the types do not prove has to be promised, and the runtime checks it:\n\
     \n\
         kernel f(x: tensor<f16, (m, n)>) where n % 8 == 0 launch …";

    NOT_MUTABLE = 109, "cannot be written",
    "`let` names a value for good; `var` makes a variable. A tensor parameter is written only if it is\n\
     declared `mut`:\n\
     \n\
         kernel f(y: mut tensor<f32, (m, n)>) …";

    ILLEGAL_OPERATION = 110, "operation not possible",
    "The operation is not defined for these operands; the message says why.";

    BUDGET = 111, "evaluation takes too long",
    "Compile-time evaluation is limited in steps, depth and in the operations that it makes. Endless\n\
     recursion and loops that unroll into too much end here.";

    BAD_DEFINE = 112, "bad `-D`",
    "`-D name=value` sets a compile-time parameter of a kernel. The name must be one of its\n\
     parameters, the value an integer, a number, a bool, a type, a word such as `tf32x3`, or a tuple of these. Where\n\
     the default is a function the value is the name of one, which takes as many arguments:\n\
     \n\
         fn same(x) { x }\n\
         kernel scale<by = same>(…) … { … by(x[i]) … }      // -D by=exp";

    STATIC_ASSERT = 113, "static assertion failed",
    "The condition of a `static_assert` does not hold. The values of both sides of a comparison are shown.";

    BAD_KERNEL = 114, "kernel that cannot be launched",
    "Parameters, promises and launch clauses of a kernel say what a host passes: tensors with element\n\
     type and shape, and numbers; extents, strides and grid are expressions over run-time extents.";

    MIXED_TYPES = 115, "operands of different types",
    "Nothing is converted silently: `f32(x) * y`. Integer and floating literals adapt to the other\n\
     operand.";

    UNSUPPORTED = 116, "not supported",
    "The construct has a meaning, but this compiler does not implement it.";

    ARITHMETIC = 117, "arithmetic error at compile time",
    "Division by zero, or a result beyond 64 bits.";

    WRONG_RANK = 118, "wrong number of indices",
    "A tensor, a layout or a tile takes one index for each mode; `_` keeps a mode:\n\
     \n\
         kernel f(x: tensor<f32, (m, n)>, …) … { let row = x[i, _]; let element = x[i, j]; }\n\
     \n\
     One index alone is the coordinate as a whole, a tuple or the number of an element.";

    OUT_OF_BOUNDS = 120, "index out of bounds",
    "An index that is known while compiling lies outside of the extent, which is known too: of a fragment,\n\
     of a buffer in shared memory, or of a tensor of static shape. What is behind the last element belongs\n\
     to something else. `domain_offset(t, …)` gives a view that may be indexed around its first element.";

    TOO_FEW_THREADS = 121, "fewer threads than a tiled copy or MMA has",
    "`tiled.slice(thread_idx.x)` is the part of one thread. The block has fewer threads than the tiled copy\n\
     or MMA, so that the parts of the others would not be copied or multiplied:\n\
     \n\
         kernel f(…) launch grid(1), block(128) {\n\
             let c = tiled_copy(universal<f32>, thr = (32, 4) : (4, 1), val = (1, 1));   // 128 threads\n\
             let mine = c.slice(thread_idx.x);";

    UNKNOWN_FIELD = 122, "no such field or function",
    "A record has the fields and functions that its declaration lists:\n\
     \n\
         record Ring { stages, var index }\n\
         … let ring = Ring { stages = 4, index = 0 }; ring.index; …";

    MISSING_FIELD = 123, "a field without a value",
    "Where a record is built each field is given a value, but those for which the declaration has one:\n\
     \n\
         record Ring { stages, var index = 0 }\n\
         … Ring { stages = 4 } …";

    WRONG_RECEIVER = 124, "a function of a record called on something else",
    "A function whose first parameter is `self` is called on a record, `ring.advance()`, one without on the name,\n\
     `Ring.of(4)`. What `mut self` changes is a variable, or a `var` field of one:\n\
     \n\
         var ring = Ring.of(4);\n\
         ring.advance();";

    RECURSIVE_RECORD = 125, "a record that contains itself",
    "The type of a field is the record itself, or a record that contains it: no such value can be built.";

    // 130–139 what tiles become.
    SHARED_MEMORY = 130, "too much shared memory",
    "All buffers that live at the same time must fit into the shared memory of a multiprocessor: 163 KiB\n\
     on sm_80, 99 KiB on sm_86 and sm_89, 227 KiB on sm_90. A pipeline has a buffer for each operand and\n\
     stage. The message lists the buffers, the help line says how many stages fit:\n\
     \n\
         pipeline(3) for t in tiles(k, 64) { … }";

    TILE_SHAPE = 131, "a product that no instruction computes",
    "The extents of the tiles of a `dot` are multiples of those of the instruction: 16 × 8 × 16 of 16-bit\n\
     elements, 16 × 8 × 8 of tf32, 16 × 8 × 32 of bytes, 8 × 8 × 4 of f64. Tiles may be larger than the\n\
     tensor: what lies outside is read as 0 and not written.";

    WARPS = 132, "warps that cannot share a product",
    "Each warp computes a part of a product's tile, made of whole instructions. `warps(rows, columns)` in\n\
     `launch`, or the tiled MMA that is pinned, must divide the tile.";

    PINNED = 133, "a pinned choice that cannot be",
    "`copy = …` and `swizzle = …` pin how an operand of a product gets to shared memory and lies there. The\n\
     choice is refused where the copy is not legal, or the layout has bank conflicts that another one does\n\
     not have. Without it the compiler chooses.\n\
     \n\
     `pingpong()` in a launch says that two warpgroups take turns, each with tiles of its own. It is refused where\n\
     tiles do not all take as many products, or something is shared by all threads of the block.";

    BAD_CANDIDATES = 140, "candidates that cannot be tried",
    "A compile-time parameter of a kernel may name candidates beside its default, and `where tunable` says\n\
     what must hold between the parameters. `cutec tune` tries what is left:\n\
     \n\
         kernel f<bm = 128 in [64, 128, 256], wm = 2 in [1, 2, 4]>(…)\n\
         where tunable bm >= 32 * wm\n\
         launch …\n\
     \n\
     Candidates are a list or a range of values of the same kind as the default: integers, numbers, bools, types,\n\
     functions or tuples. A condition is known at compile time and mentions no arguments. Parameters that are all left\n\
     at their defaults fulfil every condition.";

    // 900–909 reports of MLIR, 910–919 `test` and `bench` blocks.
    INTERNAL = 900, "a bug of the compiler",
    "The compiler made something of the source that it cannot go on with. The place is the construct that\n\
     it came from, the note what the compiler says. This is never a mistake of the program: please report\n\
     it, with the file and the command. `--print-ir-after-all` shows which pass failed.";

    REMARK = 901, "what a copy or a gemm became",
    "With `--remarks` the compiler says of each `copy`, `autovec_copy` and `gemm` how many instructions\n\
     of which width a thread executes, and what keeps a copy from being wider: elements that do not lie\n\
     side by side, a swizzle, or an alignment that nothing proves. The last is mended by a promise:\n\
     \n\
         kernel f(x: tensor<f16, (m, n)>) where n % 8 == 0 launch …";

    SLOW = 902, "correct, but slow",
    "A warning: the kernel computes what it says, but not as fast as it could. At tile level: the tiles\n\
     that threads have to keep from round to round do not fit their registers, so that some lie in local\n\
     memory (a thread has at most 255 registers, all threads of a multiprocessor 65536 together); or\n\
     the extents of a tile are such that threads cannot share it, and several do the same.";

    HIDDEN_VARIABLE = 903, "a variable is hidden by what is not read",
    "A warning: a `let` in a block has the name of a variable around it, and nothing reads it. The\n\
     variable keeps its value.\n\
     \n\
         var top = 0.0;\n\
         for i in 0..n { let top = max(top, x[i]); }     // meant: top = max(top, x[i]);\n\
     \n\
     A name that begins with `_` is not read on purpose.";

    UNWRITTEN_FRAGMENT = 904, "a fragment is read before anything wrote it",
    "A warning: registers of a fragment are read, and on no way through the kernel has anything written\n\
     them before. Their value is whatever was in the registers.\n\
     \n\
         let f = fragment<f32>(4);\n\
         f[0] = x[i];\n\
         y[i] = f[1];              // nothing wrote f[1]";

    UNUSED = 905, "never used",
    "A warning: nothing uses a variable, a parameter, a function or a constant. A name that begins with\n\
     `_` is meant to be unused:\n\
     \n\
         for _ in 0..4 { … }\n\
         fn f(x, _scale) { x }\n\
     \n\
     Parameters may be unused that are there for a caller: of a function that is passed on as a value, and of\n\
     a function of a record that other records have too, or that the library calls.";

    UNREACHABLE = 906, "never reached",
    "A warning: a statement stands behind one that always leaves the block, `return`, `break` or\n\
     `continue`.";

    UNORDERED_LAUNCH = 907, "nothing orders a kernel behind the launch ahead of it",
    "A warning: a kernel with `pdl()` in its launch may begin while the launch ahead of it in the stream still\n\
     runs, and this one never waits for it. What an earlier launch writes may not be there yet, and what it\n\
     reads may be overwritten:\n\
     \n\
         kernel next(x: tensor<f32, n>, …) launch grid(n / 128), block(128), pdl() {\n\
             let s = smem<f32>(128);     // what needs nothing of earlier launches may come first\n\
             griddepcontrol_wait();\n\
             s[thread_idx.x] = x[…];\n\
         }";

    PRINTED = 908, "what `print` shows",
    "`print(…)` in a kernel shows values while it is compiled: layouts as CuTe prints them, tiled copies and MMAs,\n\
     tuples, records, numbers. Of what is known at run time alone it shows the type; `printf` prints it then.\n\
     \n\
         print(\"tiles of a:\", layout(gA));         // tiles of a: (128,64,?):(?,1,64)";

    INVALID_MLIR = 909, "MLIR that does not parse or verify",
    "The file is MLIR, and a check of MLIR or of a dialect failed. The message is that check's own.";

    ASSERTION_FAILED = 910, "an assertion does not hold",
    "`assert`, `assert_eq` or `assert_close` of a `test` block. Both sides are evaluated as `f64`\n\
     over the whole range of their indices; the first element that differs is shown, and how many\n\
     differ. `assert_close(found, expected, rtol = r, atol = a)` allows\n\
     |found - expected| <= a + r * |expected|; where `atol` is left out it is a hundredth of `rtol`\n\
     times the root mean square of what is expected.\n\
     \n\
     A NaN that was found may be poison that the kernel did not overwrite.";

    TEST_NOT_EVALUABLE = 911, "a test cannot be evaluated",
    "A `test` or `bench` block runs on the host: numbers, tuples, loops, conditions, tensors made by\n\
     `random`, `uniform`, `zeros`, `ones`, `full`, `iota` and `poison`, launches of kernels, calls of\n\
     functions over numbers, and index notation.\n\
     \n\
         c[i, j] = sum(l) { a[i, l] * b[j, l] };\n\
     \n\
     In index notation a name that nothing defines is an index. It runs over the modes where it\n\
     stands alone, which must have the same extent. The message says what of the block does not\n\
     fit, or that it takes too many steps.";

    LAUNCH_FAILED = 912, "a kernel was not launched, or failed",
    "A launch in a `test` or `bench` block: the kernel does not compile with these compile-time\n\
     parameters, the arguments break what its signature or its `where` promises, or the device\n\
     reported an error while it ran. In the simulator that may be an access out of bounds, a read of\n\
     what was never written, or a race; the message names the line of the kernel.";

    NO_C_COMPILER = 913, "an export has no C compiler, or one that fails",
    "`cutec export` makes an object of C, and calls the C compiler of the machine: `--cc`, else the environment\n\
     variable CC, else `cc`. It takes C11 as gcc and clang do. Without one, `--kind source` writes the source, which any\n\
     machine with a compiler takes:\n\
     \n\
         cutec export gemm.cute -o gemm --kind source      // gemm.h and gemm.c";

    NOT_EXPORTED = 914, "C cannot have a kernel",
    "A launcher of C has one signature, for all GPUs that it was compiled for, with names and types of C. A kernel\n\
     whose arguments depend on the target, one that takes a number in a type that C lacks, and two kernels whose names\n\
     are the same in C are refused: export them each by themselves, with `--kernel`.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_ascend_and_can_be_looked_up() {
        assert!(ALL.windows(2).all(|pair| pair[0].code < pair[1].code));
        for info in ALL {
            assert!(
                !info.title.is_empty() && info.explanation.len() > 20,
                "{}",
                info.name
            );
            assert_eq!(
                lookup(&info.code.to_string()).map(|found| found.code),
                Some(info.code)
            );
        }
        assert!(lookup("E9999").is_none());
        assert!(lookup("nonsense").is_none());
    }
}
