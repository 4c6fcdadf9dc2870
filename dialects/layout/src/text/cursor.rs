//! The recursive-descent reader behind [`crate::text`], also used by [`crate::expr`].

use crate::{
    AnyLayout, ComposedLayout, Coord, Int, IntTuple, Layout, LayoutError, Outer, Swizzle, SymInfo,
    Tiler, Tree, Width,
};
use std::ops::Range;
use thiserror::Error;

/// Nesting beyond this is refused, so that no input exhausts the stack.
const MAX_DEPTH: usize = 64;

/// A text that is not what it should be. Spans are byte ranges of the text.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum TextError {
    /// Something else was expected here.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// Where.
        span: Range<usize>,
        /// What was expected.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// The text reads well, but what it says is no layout.
    #[error("{error}")]
    Invalid {
        /// Where.
        span: Range<usize>,
        /// What is wrong.
        error: Box<LayoutError>,
    },
}

impl TextError {
    /// The byte range that the error is about.
    pub fn span(&self) -> Range<usize> {
        match self {
            TextError::Expected { span, .. } | TextError::Invalid { span, .. } => span.clone(),
        }
    }
}

/// A place in a text that is being read.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    text: &'a str,
    at: usize,
    next_var: u32,
    depth: usize,
}

impl<'a> Cursor<'a> {
    /// Starts at the beginning of `text`; run-time leaves get variables from `first_var` on.
    pub fn new(text: &'a str, first_var: u32) -> Cursor<'a> {
        Cursor {
            text,
            at: 0,
            next_var: first_var,
            depth: 0,
        }
    }

    /// Reads all of `text` by `read`.
    ///
    /// # Errors
    /// Those of `read`, and if something is left over.
    pub fn whole<T>(
        text: &'a str,
        first_var: u32,
        read: impl FnOnce(&mut Cursor<'a>) -> Result<T, TextError>,
    ) -> Result<T, TextError> {
        let mut cursor = Cursor::new(text, first_var);
        let value = read(&mut cursor)?;
        cursor.end()?;
        Ok(value)
    }

    /// The byte offset of the next token.
    pub fn at(&mut self) -> usize {
        self.skip_space();
        self.at
    }

    /// The variable that the next run-time leaf gets.
    pub fn next_var(&self) -> u32 {
        self.next_var
    }

    /// The byte offset behind the last token.
    pub fn behind(&self) -> usize {
        self.at
    }

    /// An error at the byte offset `at`.
    pub fn error(&self, at: usize, expected: impl Into<String>) -> TextError {
        let rest = self.text.get(at..).unwrap_or("");
        let mut chars = rest.char_indices();
        let (end, found) = match chars.next() {
            None => (at, "the end".to_owned()),
            Some((_, first)) if first.is_ascii_alphanumeric() => {
                let len = rest
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(rest.len());
                (at + len, format!("`{}`", &rest[..len]))
            }
            Some((_, first)) => (at + first.len_utf8(), format!("`{first}`")),
        };
        TextError::Expected {
            span: at..end,
            expected: expected.into(),
            found,
        }
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// If something is.
    pub fn end(&mut self) -> Result<(), TextError> {
        let at = self.at();
        if at == self.text.len() {
            Ok(())
        } else {
            Err(self.error(at, "the end"))
        }
    }

    /// True if `token` comes next.
    pub fn sees(&mut self, token: &str) -> bool {
        let at = self.at();
        self.text[at..].starts_with(token)
    }

    /// Takes `token` if it comes next.
    pub fn take(&mut self, token: &str) -> bool {
        let found = self.sees(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Takes `token`.
    ///
    /// # Errors
    /// If it does not come next.
    pub fn expect(&mut self, token: &str) -> Result<(), TextError> {
        if self.take(token) {
            return Ok(());
        }
        let at = self.at();
        Err(self.error(at, format!("`{token}`")))
    }

    /// Takes a word of letters, digits and `_` that starts with a letter.
    pub fn word(&mut self) -> Option<&'a str> {
        let at = self.at();
        let rest = &self.text[at..];
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let len = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        self.at += len;
        Some(&rest[..len])
    }

    /// Takes a decimal integer with an optional sign.
    ///
    /// # Errors
    /// If none comes next, or it does not fit 62 bits.
    pub fn number(&mut self) -> Result<i64, TextError> {
        let at = self.at();
        let rest = &self.text[at..];
        let sign = usize::from(rest.starts_with('-'));
        let digits = rest[sign..]
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len() - sign);
        if digits == 0 {
            return Err(self.error(at, "an integer"));
        }
        let text = &rest[..sign + digits];
        match text.parse::<i64>() {
            Ok(value) if Int::Static(value).fits() => {
                self.at += text.len();
                Ok(value)
            }
            _ => Err(TextError::Invalid {
                span: at..at + text.len(),
                error: Box::new(LayoutError::Overflow { op: "integer" }),
            }),
        }
    }

    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Runs `read` one level of nesting deeper.
    ///
    /// # Errors
    /// Those of `read`, and if the nesting is too deep.
    pub fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, TextError>,
    ) -> Result<T, TextError> {
        if self.depth >= MAX_DEPTH {
            let at = self.at();
            return Err(self.error(at, format!("at most {MAX_DEPTH} levels of nesting")));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn dynamic(&mut self) -> Result<Int, TextError> {
        let mut info = SymInfo::default();
        if self.take("{") {
            while !self.take("}") {
                let at = self.at();
                match self.word() {
                    Some("i64") => info.width = Width::I64,
                    Some("i32") => info.width = Width::I32,
                    Some("div") => {
                        self.expect("=")?;
                        let at = self.at();
                        info.div = self.number()?;
                        if info.div <= 0 {
                            return Err(self.error(at, "a positive divisor"));
                        }
                    }
                    _ => return Err(self.error(at, "`i64`, `div=…` or `}`")),
                }
                self.take(",");
            }
        }
        let id = self.next_var;
        self.next_var += 1;
        Ok(Int::var(id, info))
    }

    /// Reads an integer leaf, with its basis if there is one.
    ///
    /// # Errors
    /// If there is none.
    pub fn int(&mut self) -> Result<Int, TextError> {
        let value = if self.take("?") {
            self.dynamic()?
        } else {
            Int::Static(self.number()?)
        };
        let mut path = Vec::new();
        while self.take("@") {
            let at = self.at();
            let mode = self.number()?;
            match usize::try_from(mode) {
                Ok(mode) if mode < 1024 => path.push(mode),
                _ => return Err(self.error(at, "a mode")),
            }
        }
        path.reverse();
        Ok(Int::scaled(value, path))
    }

    fn tuple<T>(
        &mut self,
        leaf: &mut impl FnMut(&mut Self) -> Result<T, TextError>,
    ) -> Result<Tree<T>, TextError> {
        if !self.take("(") {
            return Ok(Tree::Leaf(leaf(self)?));
        }
        self.nested(|cursor| {
            let mut modes = Vec::new();
            if cursor.take(")") {
                return Ok(Tree::Node(modes));
            }
            loop {
                modes.push(cursor.tuple(leaf)?);
                if !cursor.take(",") {
                    cursor.expect(")")?;
                    return Ok(Tree::Node(modes));
                }
                // `(4,)` is a tuple of rank 1.
                if cursor.take(")") {
                    return Ok(Tree::Node(modes));
                }
            }
        })
    }

    /// Reads an integer tuple.
    ///
    /// # Errors
    /// If there is none.
    pub fn int_tuple(&mut self) -> Result<IntTuple, TextError> {
        self.tuple(&mut Cursor::int)
    }

    /// Reads a coordinate.
    ///
    /// # Errors
    /// If there is none.
    pub fn coord(&mut self) -> Result<Coord, TextError> {
        self.tuple(&mut |cursor| {
            if cursor.take("_") {
                Ok(None)
            } else {
                cursor.int().map(Some)
            }
        })
    }

    /// Reads a layout `shape:stride`.
    ///
    /// # Errors
    /// If there is none, or shape and stride do not fit each other.
    pub fn layout(&mut self) -> Result<Layout, TextError> {
        let begin = self.at();
        let shape = self.int_tuple()?;
        self.expect(":")?;
        let stride = self.int_tuple()?;
        self.make_layout(begin, shape, stride)
    }

    /// The layout of a shape and a stride that were read from `begin` to here.
    ///
    /// # Errors
    /// If they do not fit each other.
    pub fn make_layout(
        &self,
        begin: usize,
        shape: IntTuple,
        stride: IntTuple,
    ) -> Result<Layout, TextError> {
        Layout::new(shape, stride).map_err(|error| self.invalid(begin, error))
    }

    fn invalid(&self, begin: usize, error: LayoutError) -> TextError {
        TextError::Invalid {
            span: begin..self.at,
            error: Box::new(error),
        }
    }

    /// Reads a swizzle.
    ///
    /// # Errors
    /// If there is none.
    pub fn swizzle(&mut self) -> Result<Swizzle, TextError> {
        let begin = self.at();
        self.expect("S")?;
        self.expect("<")?;
        let bits = self.number()?;
        self.expect(",")?;
        let base = self.number()?;
        self.expect(",")?;
        let shift = self.number()?;
        self.expect(">")?;
        Swizzle::new(bits, base, shift).map_err(|error| self.invalid(begin, error))
    }

    /// Reads a layout that may be composed.
    ///
    /// # Errors
    /// If there is none.
    pub fn any_layout(&mut self) -> Result<AnyLayout, TextError> {
        let outer = if self.sees("S") {
            Outer::Swizzle(self.swizzle()?)
        } else {
            let layout = self.layout()?;
            if !self.sees("o") {
                return Ok(AnyLayout::Plain(layout));
            }
            Outer::Layout(layout)
        };
        self.expect("o")?;
        let offset = self.int_tuple()?;
        self.expect("o")?;
        let inner = self.layout()?;
        Ok(AnyLayout::Composed(ComposedLayout {
            outer,
            offset,
            inner,
        }))
    }

    /// Reads a tiler: a tile in brackets, a layout, an integer or `_`.
    ///
    /// # Errors
    /// If there is none.
    pub fn tiler(&mut self) -> Result<Tiler, TextError> {
        if self.take("_") {
            return Ok(Tiler::All);
        }
        if self.take("[") {
            return self.nested(|cursor| {
                let mut modes = Vec::new();
                if cursor.take("]") {
                    return Ok(Tiler::Tile(modes));
                }
                loop {
                    modes.push(cursor.tiler()?);
                    if !cursor.take(";") {
                        cursor.expect("]")?;
                        return Ok(Tiler::Tile(modes));
                    }
                }
            });
        }
        let begin = self.at();
        let shape = self.int_tuple()?;
        if self.take(":") {
            let stride = self.int_tuple()?;
            return Ok(Tiler::Layout(self.make_layout(begin, shape, stride)?));
        }
        if let Some(basis) = shape.leaves().iter().find(|leaf| !leaf.path().is_empty()) {
            let error = LayoutError::Unsupported {
                op: "tile",
                expected: "an extent",
                found: basis.to_string(),
            };
            return Err(self.invalid(begin, error));
        }
        Ok(Tiler::from_shape(&shape))
    }
}
