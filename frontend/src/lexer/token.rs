//! The tokens, as logos finds them and as the grammar takes them.

use logos::Logos;
use std::fmt;

/// Why a stretch of text is no token. [`super::LexProblem`] is the face of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LexError {
    /// A character without meaning.
    #[default]
    InvalidCharacter,
    /// A string that does not end on its line.
    UnterminatedString,
    /// A block comment that does not end.
    UnterminatedComment,
}

/// One token. Variants of the last group are made by [`super::classify`], never by logos.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(error = LexError)]
#[logos(skip r"[ \t\r\n\f\u{feff}]+")]
#[allow(missing_docs)]
pub enum Token<'s> {
    #[regex(r"//[^\n]*", line_comment, allow_greedy = true)]
    #[token("/*", block_comment)]
    Comment(Comment<'s>),

    #[regex(r"[\p{XID_Start}_]\p{XID_Continue}*", priority = 3)]
    Ident(&'s str),
    #[regex(r"[0-9][0-9A-Za-z_]*", priority = 3)]
    Int(&'s str),
    #[regex(
        r"[0-9][0-9_]*\.[0-9][0-9_]*([eE][+-]?[0-9][0-9_]*)?[0-9A-Za-z_]*",
        priority = 4
    )]
    #[regex(r"[0-9][0-9_]*[eE][+-]?[0-9][0-9_]*[0-9A-Za-z_]*", priority = 4)]
    Float(&'s str),
    /// The text between the quotes, escapes not yet resolved.
    #[token("\"", string)]
    Str(&'s str),

    #[token("import", priority = 10)]
    Import,
    #[token("const", priority = 10)]
    Const,
    #[token("fn", priority = 10)]
    Fn,
    #[token("kernel", priority = 10)]
    Kernel,
    #[token("record", priority = 10)]
    Record,
    #[token("test", priority = 10)]
    Test,
    #[token("bench", priority = 10)]
    Bench,
    #[token("where", priority = 10)]
    Where,
    #[token("launch", priority = 10)]
    Launch,
    #[token("let", priority = 10)]
    Let,
    #[token("var", priority = 10)]
    Var,
    #[token("mut", priority = 10)]
    Mut,
    #[token("if", priority = 10)]
    If,
    #[token("else", priority = 10)]
    Else,
    #[token("static", priority = 10)]
    Static,
    #[token("for", priority = 10)]
    For,
    #[token("in", priority = 10)]
    In,
    #[token("while", priority = 10)]
    While,
    #[token("loop", priority = 10)]
    Loop,
    #[token("break", priority = 10)]
    Break,
    #[token("continue", priority = 10)]
    Continue,
    #[token("return", priority = 10)]
    Return,
    #[token("true", priority = 10)]
    True,
    #[token("false", priority = 10)]
    False,
    #[token("_", priority = 10)]
    Underscore,

    #[token("(")]
    LParen,
    #[token(")")]
    RParen,
    #[token("[")]
    LBracket,
    #[token("]")]
    RBracket,
    #[token("{")]
    LBrace,
    #[token("}")]
    RBrace,
    #[token(",")]
    Comma,
    #[token(";")]
    Semi,
    #[token(":")]
    Colon,
    #[token(".")]
    Dot,
    #[token("..")]
    DotDot,
    #[token("->")]
    Arrow,
    #[token("=>")]
    FatArrow,
    #[token("@")]
    At,
    #[token("=")]
    Assign,
    #[token("+=")]
    AddAssign,
    #[token("-=")]
    SubAssign,
    #[token("*=")]
    MulAssign,
    #[token("/=")]
    DivAssign,
    #[token("%=")]
    RemAssign,
    #[token("&=")]
    AndAssign,
    #[token("|=")]
    OrAssign,
    #[token("^=")]
    XorAssign,
    #[token("<<=")]
    ShlAssign,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("&")]
    Amp,
    #[token("|")]
    Pipe,
    #[token("^")]
    Caret,
    #[token("&&")]
    AndAnd,
    #[token("||")]
    OrOr,
    #[token("!")]
    Bang,
    #[token("==")]
    EqEq,
    #[token("!=")]
    NotEq,
    #[token("<")]
    Less,
    #[token("<=")]
    LessEq,
    #[token("<<")]
    Shl,
    #[token(">")]
    Greater,
    #[token(">=")]
    GreaterEq,

    /// `>>`: two adjacent `>` that close nothing.
    Shr,
    /// `>>=`.
    ShrAssign,
    /// `<` that opens generic arguments.
    GenericOpen,
    /// `>` that closes them.
    GenericClose,
    /// `o` between two operands.
    Compose,
    /// `step` after a range.
    Step,
    /// `tunable` before a condition behind `where`.
    Tunable,
    /// `if` at the start of a statement.
    IfStatement,
    /// `{` at the start of a statement.
    BlockStatement,
    /// `roles` before `{` at the start of a statement.
    Roles,
    /// `{` behind the name of a record whose fields follow: `Ring { index = 0 }`.
    FieldsOpen,
    /// A name before `(…) {`: a reduction, `sum(l) { … }`.
    Reduction(&'s str),
    /// Stands for a statement in which an error was already reported.
    ErrorStatement,
}

/// What kind of comment, and its text without the marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comment<'s> {
    /// `// …` and `/* … */`.
    Plain,
    /// `/// …`, before an item.
    Doc(&'s str),
    /// `//! …`, at the start of the file.
    FileDoc(&'s str),
}

fn line_comment<'s>(lexer: &mut logos::Lexer<'s, Token<'s>>) -> Comment<'s> {
    let text = lexer.slice();
    if text.starts_with("////") {
        Comment::Plain
    } else if let Some(doc) = text.strip_prefix("///") {
        Comment::Doc(doc.strip_prefix(' ').unwrap_or(doc).trim_end())
    } else if let Some(doc) = text.strip_prefix("//!") {
        Comment::FileDoc(doc.strip_prefix(' ').unwrap_or(doc).trim_end())
    } else {
        Comment::Plain
    }
}

fn block_comment<'s>(lexer: &mut logos::Lexer<'s, Token<'s>>) -> Result<Comment<'s>, LexError> {
    let rest = lexer.remainder();
    let bytes = rest.as_bytes();
    let (mut at, mut depth) = (0, 1usize);
    while at + 1 < bytes.len() {
        match (bytes[at], bytes[at + 1]) {
            (b'/', b'*') => {
                depth += 1;
                at += 2;
            }
            (b'*', b'/') => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    lexer.bump(at);
                    return Ok(Comment::Plain);
                }
            }
            _ => at += 1,
        }
    }
    lexer.bump(rest.len());
    Err(LexError::UnterminatedComment)
}

fn string<'s>(lexer: &mut logos::Lexer<'s, Token<'s>>) -> Result<&'s str, LexError> {
    let rest = lexer.remainder();
    let mut escaped = false;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'\n' => {
                lexer.bump(at);
                return Err(LexError::UnterminatedString);
            }
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => {
                lexer.bump(at + 1);
                return Ok(&rest[..at]);
            }
            _ => {}
        }
    }
    lexer.bump(rest.len());
    Err(LexError::UnterminatedString)
}

impl Token<'_> {
    /// Whether an item begins with it. These words stand nowhere else, but for `fn` in a record.
    pub fn starts_item(self) -> bool {
        use Token::*;
        matches!(self, Import | Const | Fn | Kernel | Record | Test | Bench)
    }

    /// Whether an operand can end with it, so that a following name must be an operator.
    pub fn ends_operand(self) -> bool {
        use Token::*;
        matches!(
            self,
            Ident(_)
                | Int(_)
                | Float(_)
                | Str(_)
                | True
                | False
                | Underscore
                | RParen
                | RBracket
                | RBrace
                | GenericClose
        )
    }

    /// Whether a statement begins with it that is not an expression.
    pub fn starts_statement(self) -> bool {
        use Token::*;
        matches!(
            self,
            Let | Var
                | For
                | While
                | Loop
                | Static
                | Break
                | Continue
                | Return
                | IfStatement
                | BlockStatement
                | Roles
                | ErrorStatement
        )
    }
}

/// As a diagnostic shows it: `` `let` ``, `the name "x"`.
impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Token::*;
        let text = match *self {
            Comment(_) => return f.write_str("a comment"),
            Ident(name) | Reduction(name) => return write!(f, "`{name}`"),
            Int(text) | Float(text) => return write!(f, "`{text}`"),
            Str(_) => return f.write_str("a string"),
            ErrorStatement => return f.write_str("a statement"),
            Import => "import",
            Const => "const",
            Fn => "fn",
            Kernel => "kernel",
            Record => "record",
            Roles => "roles",
            Test => "test",
            Bench => "bench",
            Where => "where",
            Launch => "launch",
            Let => "let",
            Var => "var",
            Mut => "mut",
            If | IfStatement => "if",
            Else => "else",
            Static => "static",
            For => "for",
            In => "in",
            While => "while",
            Loop => "loop",
            Break => "break",
            Continue => "continue",
            Return => "return",
            True => "true",
            False => "false",
            Underscore => "_",
            LParen => "(",
            RParen => ")",
            LBracket => "[",
            RBracket => "]",
            LBrace | BlockStatement | FieldsOpen => "{",
            RBrace => "}",
            Comma => ",",
            Semi => ";",
            Colon => ":",
            Dot => ".",
            DotDot => "..",
            Arrow => "->",
            FatArrow => "=>",
            At => "@",
            Assign => "=",
            AddAssign => "+=",
            SubAssign => "-=",
            MulAssign => "*=",
            DivAssign => "/=",
            RemAssign => "%=",
            AndAssign => "&=",
            OrAssign => "|=",
            XorAssign => "^=",
            ShlAssign => "<<=",
            ShrAssign => ">>=",
            Plus => "+",
            Minus => "-",
            Star => "*",
            Slash => "/",
            Percent => "%",
            Amp => "&",
            Pipe => "|",
            Caret => "^",
            AndAnd => "&&",
            OrOr => "||",
            Bang => "!",
            EqEq => "==",
            NotEq => "!=",
            Less | GenericOpen => "<",
            LessEq => "<=",
            Shl => "<<",
            Greater | GenericClose => ">",
            GreaterEq => ">=",
            Shr => ">>",
            Compose => "o",
            Step => "step",
            Tunable => "tunable",
        };
        write!(f, "`{text}`")
    }
}
