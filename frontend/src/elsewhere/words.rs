//! Words of other languages that stand where a statement, an item or an operator was expected.

/// How to write here what begins with this word elsewhere.
pub fn here(word: &str) -> Option<&'static str> {
    Some(match word {
        "def" | "func" | "function" | "fun" | "proc" => "functions begin with `fn`",
        "__global__" | "__kernel" | "global" => "kernels begin with `kernel`",
        "__device__" | "inline" => "functions begin with `fn`; all are inlined",
        "void" => "kernels begin with `kernel`, functions with `fn`",
        "template" | "typename" => {
            "functions take arguments of any type; compile-time parameters stand in `fn f<n, t: dtype>(x)`"
        }
        "__shared__" => "shared memory is `let s = smem<f32>(32);`",
        "__restrict__" | "volatile" | "register" => "leave it out",
        "include" | "use" | "using" | "from" => "other files come in by `import \"file.cute\";`",
        "constexpr" => "compile-time constants are `const X = …;` at the top, or just `let`",
        "auto" | "val" | "Tensor" | "Layout" | "Shape" | "Stride" => {
            "variables are `let x = …;`, or `var x = …;` to assign to them later"
        }
        "int" | "float" | "double" | "half" | "__half" | "unsigned" | "long" | "short" | "char"
        | "bool" | "size_t" | "int8_t" | "int16_t" | "int32_t" | "int64_t" | "uint8_t"
        | "uint16_t" | "uint32_t" | "uint64_t" => {
            "variables are `let x = …;`, or `var x: f32 = …;`; element types are i32, i64, f16, bf16, f32, f64, …"
        }
        "elif" | "elsif" | "elseif" => "write `else if`",
        "unless" => "write `if !…`",
        "and" => "write `&&`",
        "or" => "write `||`",
        "not" => "write `!`",
        "is" => "write `==`",
        "as" => "conversions are calls: `f16(x)`",
        "None" => "a whole mode is `_`",
        "null" | "nullptr" | "nil" | "NULL" => {
            "there are no pointers: whether a kernel has something is a compile-time parameter, asked for by `static if`"
        }
        "dim3" | "__launch_bounds__" | "float2" | "float4" | "int2" | "int4" | "uint4" => {
            super::names::here(word)?
        }
        "asm" => "inline PTX is `ptx(\"…\", …);`",
        "goto" => {
            "there is no `goto`: a loop is left by `break`, a round of it by `continue`, a function by `return`"
        }
        "True" => "write `true`",
        "False" => "write `false`",
        "match" | "switch" | "case" => "there is no `match`; use `if … else if …`",
        "struct" | "class" => {
            "named fields are `record Ring { full, empty, var index, var phase }`"
        }
        "impl" | "trait" => "functions stand in the record that they are called on",
        "enum" | "type" | "typedef" => "there are no types but records; use `const` for numbers",
        "pub" | "public" => "all items are public; leave it out",
        "extern" => "all items are public: leave it out; shared memory is `let s = smem<f32>(32);`",
        "lambda" => "write a `fn`",
        "until" => "write `while !…`",
        "do" => "write `loop { …; if !condition { break; } }`",
        "assert" => "it is called: `assert(x[0] == 1.0);`",
        "pass" => "an empty body is `{ }`",
        "by" => "a range with steps is `0..n step 2`",
        _ => return None,
    })
}
