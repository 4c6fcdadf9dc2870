//! Constructs of other languages: what is said of one, and those that are known before anything is parsed.

use crate::diagnostics::{Code, Problem, codes};

/// A construct of another language.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Foreign {
    /// What is not there, in a sentence.
    pub what: String,
    /// What to write instead.
    pub instead: String,
    /// How many tokens before the one at which parsing stopped belong to it.
    pub before: usize,
}

impl Problem for Foreign {
    fn code(&self) -> Code {
        codes::FOREIGN_SYNTAX
    }

    fn label(&self) -> String {
        "of another language".to_owned()
    }

    fn help(&self) -> Option<String> {
        Some(self.instead.clone())
    }
}

/// One of which so many tokens stand before the place where parsing stopped.
pub(super) fn foreign(
    before: usize,
    what: impl Into<String>,
    instead: impl Into<String>,
) -> Option<Foreign> {
    Some(Foreign {
        what: what.into(),
        instead: instead.into(),
        before,
    })
}

/// A decorator of Python: `@cute.kernel`, `@triton.jit`.
pub fn decorator() -> Foreign {
    Foreign {
        what: "there are no decorators".to_owned(),
        instead: "a kernel is written `kernel f(x: tensor<f32, n>, y: mut tensor<f32, n>) launch grid(ceil_div(n, 256)), block(256) { … }`"
            .to_owned(),
        before: 0,
    }
}

/// A loop of C: `for (int i = 0; …)`.
pub fn c_style_for() -> Foreign {
    Foreign {
        what: "a loop of three clauses".to_owned(),
        instead: "write `for i in 0..n { … }`, or `for i in 0..n step 2 { … }`".to_owned(),
        before: 0,
    }
}

/// An array of Rust: `[0.0; 4]`.
pub fn repeated_array() -> Foreign {
    Foreign {
        what: "an array of one repeated value".to_owned(),
        instead: "registers of a thread are `fragment<f32>(4)`, then `fill(x, 0.0)`; a tile is `full<f32>(0.0, 4)`"
            .to_owned(),
        before: 0,
    }
}

/// The words of a preprocessor that follow `#`.
pub fn directive(word: &str) -> Option<Foreign> {
    match word {
        "include" => foreign(
            0,
            "there is no preprocessor",
            "other files come in by `import \"file.cute\";`",
        ),
        "pragma" => foreign(
            0,
            "there is no preprocessor",
            "a loop is unrolled by `static for i in 0..4 { … }`",
        ),
        "define" => foreign(
            0,
            "there is no preprocessor",
            "a constant is `const N = 4;`, a macro a `fn`",
        ),
        "if" | "ifdef" | "ifndef" | "else" | "elif" | "endif" | "undef" => foreign(
            0,
            "there is no preprocessor",
            "what is known while compiling decides in `static if … { … }`",
        ),
        _ => None,
    }
}
