//! Constructs of other languages, by the tokens around the place where parsing stopped.

use super::construct::{Foreign, foreign};
use crate::lexer::Token;

/// The construct in which `tokens[at]` is the first that no grammar takes, if it is one of another language.
/// `expects` tells whether a terminal could have stood there.
pub fn at(tokens: &[Token<'_>], at: usize, expects: impl Fn(&str) -> bool) -> Option<Foreign> {
    use Token::*;
    let found = *tokens.get(at)?;
    let next = tokens.get(at + 1).copied();
    let back = |count: usize| at.checked_sub(count).and_then(|at| tokens.get(at)).copied();
    let (previous, before_it) = (back(1), back(2));
    match (previous?, found) {
        (Star, Star) => foreign(
            1,
            "there is no operator `**`",
            "write `x * x`; for positive x `exp2(y * log2(x))` is x to the power of y",
        ),
        (Plus, Plus) => foreign(1, "there is no operator `++`", "write `i += 1;`"),
        (Minus, Minus) => foreign(1, "there is no operator `--`", "write `i -= 1;`"),
        (Minus, Semi) if before_it == Some(Minus) => {
            foreign(2, "there is no operator `--`", "write `i -= 1;`")
        }
        (_, Plus) if next == Some(Plus) => {
            foreign(0, "there is no operator `++`", "write `i += 1;`")
        }
        (Less, Greater) => foreign(1, "there is no operator `<>`", "write `!=`"),
        (Shr, Greater) => foreign(
            1,
            "there is no operator `>>>`",
            "`>>` shifts and keeps the sign",
        ),
        (Shl | Less, Less | Shl) => foreign(
            1,
            "kernels are launched like functions are called",
            "write `f(x, y);`: how many blocks and threads stands in the kernel's `launch grid(…), block(…)`",
        ),
        (Colon, Colon) => path(before_it, next),
        (Colon, Assign) => foreign(
            1,
            "there is no operator `:=`",
            "write `let x = …;`, or `var x = …;`",
        ),
        (DotDot, Assign) => foreign(1, "a range leaves out its end", "write `0..n + 1`"),
        (DotDot, Dot | DotDot | RBracket) | (LBracket, DotDot) => foreign(
            0,
            "there is no ellipsis",
            "every mode is written: `x[_, _]`",
        ),
        (LBracket | Comma, Colon) => foreign(
            0,
            "a whole mode is `_`",
            "write `x[_, i]`; a part of a mode is a range, `x[_, 0..16]`, or a tile, `local_tile(x, tile, coordinate)`, `x.tile(shape, coordinate)`",
        ),
        (At, Ident(_)) => foreign(
            1,
            "there is no operator `@` of matrices",
            "`dot(a, b)` is a · bᵀ of tiles",
        ),
        (Dot, Semi | Comma | RParen | RBracket) if matches!(before_it, Some(Int(_))) => foreign(
            1,
            "a floating number has digits on both sides of its point",
            "write `1.0`",
        ),
        (_, Dot) if matches!(next, Some(Int(_))) => foreign(
            0,
            "a floating number has digits on both sides of its point",
            "write `0.5`",
        ),
        (_, Arrow) if expects(";") => foreign(0, "there are no pointers", "a part is named by `.`"),
        (_, Arrow) if expects("launch") => foreign(
            0,
            "a kernel returns nothing",
            "it writes to tensors: `y: mut tensor<f32, n>`",
        ),
        (Ident(name), Bang) => macro_call(name),
        (Ident("f" | "r" | "b" | "u"), Str(_)) => foreign(
            1,
            "a string has no prefix",
            "numbers are printed by `printf(\"x[%d] = %f\\n\", i, x)`",
        ),
        (Str(""), Str(_)) => foreign(
            1,
            "there are no strings of three quotes",
            "comments are `// …`, documentation `/// …`",
        ),
        (_, Pipe) if expects("(") && !expects("*") => foreign(
            0,
            "there are no functions without a name",
            "write `fn f(a) { a + 1 }` at the top of the file",
        ),
        (RParen | Ident(_), FatArrow) if expects(")") => foreign(
            0,
            "there are no functions without a name",
            "write `fn f(a, b) { a * b }` at the top of the file, and give `f`",
        ),
        (LParen, Amp) if !expects("mut") => address(before_it?, &tokens[at + 1..]),
        (Colon | Comma | LParen | Mut, Star | Amp | AndAnd) if expects("mut") => pointer(),
        (Ident(_), Star | Amp) if expects(",") && expects(")") && !expects("+") => pointer(),
        (Ident(_), Ident(_)) if expects(":") && expects(",") && !expects("=") && !expects("+") => {
            foreign(
                1,
                "the name of a parameter stands before its type",
                "write `x: tensor<f32, (m, n)>`, `n: i32`",
            )
        }
        (Ident(ty), Ident(name)) if expects(";") && next == Some(LBracket) => {
            let ty = type_here(ty)?;
            let instead = format!("write `let {name} = fragment<{ty}>(4);`");
            foreign(1, "an array of a thread is a fragment", instead)
        }
        (Import, Ident(_) | Star | LParen | LBrace) => foreign(
            0,
            "files are imported, not modules",
            "write `import \"file.cute\";`; what is built in needs no import",
        ),
        (Ident("do"), LBrace) => foreign(
            1,
            "there is no `do`",
            "write `loop { …; if !condition { break; } }`",
        ),
        (Ident("try" | "catch" | "except"), LBrace) => foreign(
            1,
            "there are no exceptions",
            "what may not be is asked for by `if`",
        ),
        (Ident(_) | Greater | GenericClose, LBrace) if next == Some(RBrace) && expects(";") => {
            foreign(
                0,
                "a number known while compiling is written as such",
                "write `4`, where C++ has `Int<4>{}` or `_4{}`",
            )
        }
        (_, If) if expects(";") && !expects("{") && !opens_body(&tokens[at..]) => foreign(
            0,
            "`if` stands before what it chooses",
            "write `if c { a } else { b }`; `select(c, a, b)` chooses element by element",
        ),
        (Dot, Where) => foreign(
            0,
            "`where` is no function here",
            "`select(condition, a, b)` chooses element by element",
        ),
        (RParen, _) if ends_cast(tokens, at).is_some() && expects(";") => {
            let ty = ends_cast(tokens, at)?;
            foreign(3, "a conversion is a call", format!("write `{ty}(x)`"))
        }
        (_, Assign) if expects("{") && python_block(tokens, at) => foreign(
            0,
            "a body stands in braces",
            "write `if c { … }`, `for i in 0..n { … }`",
        ),
        (_, Else) if expects("{") && python_block(tokens, at) => foreign(
            0,
            "a body stands in braces",
            "write `if c { a } else { b }`",
        ),
        (_, Ident("to" | "until" | "upto")) if expects("{") => foreign(
            0,
            "a range is written with `..`",
            "write `for i in 0..n { … }`, which leaves out n",
        ),
        (_, Ident("from") | Assign) if expects("in") => foreign(
            0,
            "a loop runs over what stands behind `in`",
            "write `for i in 0..n { … }`, which leaves out n",
        ),
        (Ident("foreach"), Ident(_)) => {
            foreign(1, "there is no `foreach`", "write `for i in 0..n { … }`")
        }
        (_, Ident(_) | Return | Break | Continue)
            if expects("{") && begins_statement(found, next) =>
        {
            let keyword = match tokens.get(head(tokens, at)?)? {
                While => "while c",
                For => "for i in 0..n",
                _ => "if c",
            };
            let instead = format!("write `{keyword} {{ … }}`");
            foreign(0, "a body stands in braces", instead)
        }
        (Launch, LParen) => foreign(
            0,
            "the clauses of a launch do not stand in parentheses",
            "write `launch grid(ceil_div(n, 256)), block(256)`",
        ),
        (Ident(name), Colon) if before_it == Some(Mut) && expects(")") => foreign(
            2,
            "`mut` stands before the type",
            format!("write `{name}: mut tensor<f32, n>`"),
        ),
        (Ident(_), LBracket) if expects(")") && expects(",") && !expects("+") => foreign(
            1,
            "a type has no brackets",
            "write `x: tensor<f32, (m, n)>`, `y: mut tensor<f32, n>`",
        ),
        (Ident(_), Comma) if matches!(before_it, Some(Let | Var)) => foreign(
            1,
            "a tuple is taken apart in parentheses",
            "write `let (a, b) = …;`",
        ),
        (Dot, Int(number)) => match before_it {
            Some(Ident("tile")) => foreign(
                1,
                "the axes of a launch in tiles have names",
                "write `tile.m`, `tile.n`, `tile.l`, `tile.b`, in the order of `tiles(…)`",
            ),
            Some(Ident(name)) => foreign(
                1,
                "a part of a tuple is taken by an index",
                format!("write `{name}[{number}]`"),
            ),
            _ => foreign(
                1,
                "a part of a tuple is taken by an index",
                format!("write `t[{number}]`"),
            ),
        },
        (_, Comma) if expects(";") && expects("}") => foreign(
            0,
            "braces hold statements",
            "a tuple is written `(1, 2)`, an array `[1, 2]`, an assignment to several places `(a, b) = (b, a);`",
        ),
        (_, Comma) if expects(";") => foreign(
            0,
            "a statement declares one variable",
            "write `let a = 1; let b = 2;`",
        ),
        (_, Where) if next == Some(LParen) && expects("integer") => foreign(
            0,
            "`where` is no function here",
            "`select(condition, a, b)` chooses element by element",
        ),
        _ => None,
    }
}

fn pointer() -> Option<Foreign> {
    foreign(
        0,
        "there are no pointers and references",
        "a kernel takes tensors: `x: tensor<f32, (m, n)>`, `y: mut tensor<f32, n>`",
    )
}

/// `atomicAdd(&x[i], v)`: an atomic update of what stands at an address.
fn address(function: Token<'_>, operand: &[Token<'_>]) -> Option<Foreign> {
    /// Tokens of a place that are repeated in a message.
    const FEW: usize = 16;
    let Token::Ident(name) = function else {
        return None;
    };
    let call = match super::names::here(name) {
        Some(here) if name.starts_with("atomic") => here.to_owned(),
        _ if name.starts_with("atomic_") => format!("write `{name}(x[i], …)`"),
        _ => return None,
    };
    let end = operand.iter().position(|token| *token == Token::RBracket);
    let place = end.filter(|end| (3..FEW).contains(end)).map(|end| {
        let spaced = |token: &Token<'_>| {
            let text = token.to_string();
            let word = text.trim_matches('`');
            match token {
                Token::Comma => ", ".to_owned(),
                Token::Plus | Token::Minus | Token::Star | Token::Slash | Token::Percent => {
                    format!(" {word} ")
                }
                _ => word.to_owned(),
            }
        };
        operand[..=end].iter().map(spaced).collect::<String>()
    });
    let place = place.unwrap_or_else(|| "x[i]".to_owned());
    let instead = call.replace("x[i]", &place);
    foreign(
        0,
        "there are no pointers and references",
        format!("{instead}: an element is named without `&`"),
    )
}

/// `a::b`, of which the first `:` was taken for that of a layout.
fn path(module: Option<Token<'_>>, name: Option<Token<'_>>) -> Option<Foreign> {
    let name = match name {
        Some(Token::Ident(name) | Token::Reduction(name)) => name,
        _ => "f",
    };
    let before = if module.is_some() { 2 } else { 1 };
    let instead = match super::names::here(name) {
        Some(here) => here.to_owned(),
        None => format!("write `{name}` alone: there are no modules"),
    };
    foreign(before, "there are no paths with `::`", instead)
}

/// `name!(…)`
fn macro_call(name: &str) -> Option<Foreign> {
    let instead = match name {
        "print" | "println" | "eprintln" | "dbg" => "write `printf(\"i = %d\\n\", i);`".to_owned(),
        "assert" | "assert_eq" | "debug_assert" => {
            "write `static_assert(c, \"text\");` of what is known while compiling".to_owned()
        }
        name => format!("a function is called `{name}(…)`"),
    };
    foreign(1, "there are no macros", instead)
}

/// The type of `(type)` that ends before `at`, by its name here.
fn ends_cast(tokens: &[Token<'_>], at: usize) -> Option<&'static str> {
    let [.., Token::LParen, Token::Ident(name), Token::RParen] = tokens.get(..at)? else {
        return None;
    };
    type_here(name)
}

/// An element type by its name here.
fn type_here(name: &str) -> Option<&'static str> {
    Some(match name {
        "float" | "f32" => "f32",
        "double" | "f64" => "f64",
        "half" | "__half" | "half_t" | "f16" => "f16",
        "bf16" | "__nv_bfloat16" | "bfloat16_t" => "bf16",
        "int" | "int32_t" | "i32" => "i32",
        "long" | "int64_t" | "size_t" | "i64" => "i64",
        "short" | "int16_t" | "i16" => "i16",
        "char" | "int8_t" | "i8" => "i8",
        "uint8_t" | "u8" => "u8",
        "unsigned" | "uint32_t" | "u32" => "u32",
        "uint64_t" | "u64" => "u64",
        _ => return None,
    })
}

/// Whether the tokens before `at` are `if …`, `while …` or `for …` of a block that has not begun.
fn head(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let begins = |token: &Token<'_>| {
        matches!(
            token,
            Token::If
                | Token::IfStatement
                | Token::While
                | Token::For
                | Token::Semi
                | Token::LBrace
                | Token::RBrace
                | Token::BlockStatement
        )
    };
    let start = tokens.get(..at)?.iter().rposition(begins)?;
    let opens = matches!(
        tokens[start],
        Token::If | Token::IfStatement | Token::While | Token::For
    );
    opens.then_some(start)
}

/// Whether `token` begins a statement, by what follows it. Words such as `and` have messages of their own.
fn begins_statement(token: Token<'_>, next: Option<Token<'_>>) -> bool {
    use Token::*;
    match token {
        Ident(word) if super::words::here(word).is_none() => matches!(
            next,
            Some(LBracket | LParen | Dot | Assign | AddAssign | SubAssign | MulAssign | DivAssign)
        ),
        Return | Break | Continue => true,
        _ => false,
    }
}

/// Whether a statement that begins with `if`, `for` or `while` has its body in braces.
fn opens_body(tokens: &[Token<'_>]) -> bool {
    let ends = |token: &&Token<'_>| matches!(token, Token::LBrace | Token::Else | Token::Semi);
    tokens.iter().find(ends) == Some(&Token::LBrace)
}

fn python_block(tokens: &[Token<'_>], at: usize) -> bool {
    head(tokens, at).is_some_and(|start| tokens[start..at].contains(&Token::Colon))
}
