//! Reading of the notation: a token of lookahead, no recursion but for expressions, whose depth is bounded.

use std::collections::BTreeMap;

use super::TextError;
use super::lexer::{Token, tokens};
use crate::expr::MAX_DEPTH;
use crate::tensor_map::{Im2col, L2Promotion, MapSwizzle, MapView, OobFill};
use crate::{
    AbiExpr, ArgAbi, DType, Dim, KernelAbi, ParamAbi, Promise, Resources, ScalarAbi, SymbolAbi,
    SymbolSource, TensorAbi, TensorMapAbi, Width,
};

type Result<T> = std::result::Result<T, TextError>;

/// The ABI that a text says; not validated.
pub(super) fn kernel(text: &str) -> Result<KernelAbi> {
    let mut reader = Reader {
        tokens: tokens(text)?,
        at: 0,
        args: Vec::new(),
        symbols: declared_symbols(text)?,
    };
    reader.kernel()
}

/// The names behind `symbol` at the start of a clause: arguments refer to symbols that come after them.
fn declared_symbols(text: &str) -> Result<Vec<String>> {
    let tokens = tokens(text)?;
    let mut names = Vec::new();
    for window in tokens.windows(3) {
        if let [
            (_, Token::Word(keyword)),
            (_, Token::Word(name) | Token::Text(name)),
            (_, Token::Sign(":")),
        ] = window
            && keyword == "symbol"
        {
            names.push(name.clone());
        }
    }
    Ok(names)
}

struct Reader {
    tokens: Vec<(usize, Token)>,
    at: usize,
    /// Names of the arguments so far.
    args: Vec<String>,
    /// Names of all symbols.
    symbols: Vec<String>,
}

impl Reader {
    fn kernel(&mut self) -> Result<KernelAbi> {
        let name = self.text("the kernel's name in quotes")?;
        let entry = match self.keyword("entry") {
            true => self.text("the name of the entry in quotes")?,
            false => name.clone(),
        };
        let source = match self.keyword("source") {
            true => Some(self.text("a file name in quotes")?),
            false => None,
        };
        let target = match self.keyword("target") {
            true => self.text("a target in quotes")?,
            false => String::new(),
        };
        let args = self.clauses("arg", Reader::arg)?;
        let symbols = self.clauses("symbol", Reader::symbol)?;
        let mut tensor_maps = Vec::new();
        while self.keyword("tensor_map") {
            let map = self.tensor_map(tensor_maps.len())?;
            tensor_maps.push(map);
        }
        self.expect_keyword("params")?;
        let params = self.list("(", ")", Reader::param)?;
        let promises = self.clauses("promise", |reader| {
            let text = reader.text("the promise in quotes")?;
            reader.sign(":")?;
            let expr = reader.expr()?;
            Ok(Promise { text, expr })
        })?;
        self.expect_keyword("grid")?;
        let grid = self.three()?;
        let persistent = self.keyword("persistent");
        let cluster = match self.keyword("cluster") {
            true => {
                let extents = self.list("(", ")", Reader::number)?;
                match <[u32; 3]>::try_from(extents) {
                    Ok(extents) => Some(extents),
                    Err(_) => return self.unexpected("three numbers of blocks of a cluster"),
                }
            }
            false => None,
        };
        let pdl = self.keyword("pdl");
        let cooperative = self.keyword("cooperative");
        let block = match self.keyword("block") {
            true => Some(self.three()?),
            false => None,
        };
        let smem_bytes = match self.keyword("smem") {
            true => self.number()?,
            false => 0,
        };
        let defines = self.named_texts("define", "its value in quotes")?;
        let candidates = self.named_texts("candidates", "its candidates in quotes")?;
        let tunable = self.clauses("tunable", |reader| reader.text("a condition in quotes"))?;
        let resources = match self.keyword("resources") {
            true => Some(self.resources()?),
            false => None,
        };
        if *self.peek() != Token::End {
            return self.unexpected("a clause of the ABI in its order, or its end");
        }
        Ok(KernelAbi {
            name,
            entry,
            target,
            source,
            args,
            symbols,
            tensor_maps,
            params,
            promises,
            grid,
            persistent,
            cluster,
            pdl,
            cooperative,
            block,
            smem_bytes,
            smem: None,
            tiles: None,
            defines,
            candidates,
            tunable,
            resources,
        })
    }

    /// A clause of names with a text each, which may be left out.
    fn named_texts(&mut self, keyword: &str, expected: &str) -> Result<BTreeMap<String, String>> {
        let mut texts = BTreeMap::new();
        let mut more = self.keyword(keyword);
        while more {
            let name = self.name("a name")?;
            self.sign("=")?;
            texts.insert(name, self.text(expected)?);
            more = self.take_sign(",");
        }
        Ok(texts)
    }

    fn arg(&mut self) -> Result<ArgAbi> {
        let name = self.name("the argument's name")?;
        self.args.push(name.clone());
        self.sign(":")?;
        let mutable = self.keyword("mut");
        if !self.keyword("tensor") {
            if mutable {
                return self.unexpected("`tensor`");
            }
            let dtype = self.dtype()?;
            return Ok(ArgAbi::Scalar(ScalarAbi { name, dtype }));
        }
        self.sign("<")?;
        let dtype = self.dtype()?;
        self.sign(",")?;
        let extents = self.list("(", ")", Reader::expr)?;
        self.sign(":")?;
        let strides = self.list("(", ")", Reader::expr)?;
        self.sign(">")?;
        let align = match self.keyword("align") {
            true => self.number()?,
            false => 1,
        };
        Ok(ArgAbi::Tensor(TensorAbi {
            name,
            dtype,
            mutable,
            align,
            extents: extents.into_iter().map(Dim::from).collect(),
            strides,
        }))
    }

    fn symbol(&mut self) -> Result<SymbolAbi> {
        let name = self.name("the symbol's name")?;
        self.sign(":")?;
        let width = if self.keyword("i32") {
            Width::W32
        } else if self.keyword("i64") {
            Width::W64
        } else {
            return self.unexpected("`i32` or `i64`");
        };
        self.sign("=")?;
        let from = if self.keyword("scalar") {
            let arg = self.arg_index()?;
            SymbolSource::Scalar { arg }
        } else if self.keyword("extent") {
            let (mode, arg) = self.mode_of()?;
            SymbolSource::Extent { arg, mode }
        } else if self.keyword("stride") {
            let (mode, arg) = self.mode_of()?;
            SymbolSource::Stride { arg, mode }
        } else {
            return self.unexpected("`extent`, `stride` or `scalar`");
        };
        let divisible_by = match self.keyword("div") {
            true => self.number()?,
            false => 1,
        };
        let max = match self.keyword("max") {
            true => Some(self.number()?),
            false => None,
        };
        Ok(SymbolAbi {
            name,
            width,
            divisible_by,
            max,
            from,
        })
    }

    /// `1 of a`.
    fn mode_of(&mut self) -> Result<(usize, usize)> {
        let mode = self.number()?;
        self.expect_keyword("of")?;
        Ok((mode, self.arg_index()?))
    }

    fn tensor_map(&mut self, expected: usize) -> Result<TensorMapAbi> {
        let at = self.at;
        let index: usize = self.number()?;
        if index != expected {
            self.at = at;
            return self.unexpected(&format!("`{expected}`, as tensor maps are counted"));
        }
        self.expect_keyword("of")?;
        let arg = self.arg_index()?;
        let view = match self.keyword("at") {
            true => {
                let at = self.at;
                let Ok([offset]) = <[AbiExpr; 1]>::try_from(self.list("(", ")", Reader::expr)?)
                else {
                    self.at = at;
                    return self.unexpected("one number of elements");
                };
                self.expect_keyword("as")?;
                let extents = self.list("(", ")", Reader::expr)?;
                self.sign(":")?;
                let strides = self.list("(", ")", Reader::expr)?;
                Some(MapView {
                    offset,
                    extents,
                    strides,
                })
            }
            false => None,
        };
        self.expect_keyword("order")?;
        let order = self.list("[", "]", Reader::number)?;
        self.expect_keyword("box")?;
        let box_extents = self.list("[", "]", Reader::number)?;
        let im2col = match self.keyword("im2col") {
            true => {
                self.expect_keyword("lower")?;
                let lower = self.list("[", "]", Reader::number)?;
                self.expect_keyword("upper")?;
                let upper = self.list("[", "]", Reader::number)?;
                self.expect_keyword("steps")?;
                let steps = self.list("[", "]", Reader::number)?;
                Some(Im2col {
                    lower,
                    upper,
                    steps,
                })
            }
            false => None,
        };
        let swizzle = match self.keyword("swizzle") {
            true => self.one_of("`0`, `32`, `64` or `128`", |bytes: u32| {
                MapSwizzle::try_from(bytes).ok()
            })?,
            false => MapSwizzle::None,
        };
        let l2_promotion = match self.keyword("l2") {
            true => self.one_of("`0`, `64`, `128` or `256`", |bytes: u32| {
                L2Promotion::try_from(bytes).ok()
            })?,
            false => L2Promotion::None,
        };
        let oob_fill = match self.keyword("fill") {
            true => {
                self.expect_keyword("nan")?;
                OobFill::Nan
            }
            false => OobFill::Zeros,
        };
        let tf32 = self.keyword("tf32");
        Ok(TensorMapAbi {
            arg,
            view,
            order,
            box_extents,
            im2col,
            swizzle,
            l2_promotion,
            oob_fill,
            tf32,
        })
    }

    fn param(&mut self) -> Result<ParamAbi> {
        if self.keyword("pointer") {
            let arg = self.arg_index()?;
            Ok(ParamAbi::Pointer { arg })
        } else if self.keyword("symbol") {
            let index = self.symbol_index()?;
            Ok(ParamAbi::Symbol { index })
        } else if self.keyword("scalar") {
            let arg = self.arg_index()?;
            Ok(ParamAbi::Scalar { arg })
        } else if self.keyword("tensor_map") {
            let index = self.number()?;
            Ok(ParamAbi::TensorMap { index })
        } else {
            self.unexpected("`pointer`, `symbol`, `scalar` or `tensor_map`")
        }
    }

    fn resources(&mut self) -> Result<Resources> {
        let mut numbers = [0; 4];
        let names = ["registers", "spill_stores", "spill_loads", "static_smem"];
        for (number, name) in numbers.iter_mut().zip(names) {
            self.expect_keyword(name)?;
            *number = self.number()?;
        }
        let [registers, spill_stores, spill_loads, static_smem] = numbers;
        Ok(Resources {
            registers,
            spill_stores,
            spill_loads,
            static_smem,
        })
    }

    fn three(&mut self) -> Result<[AbiExpr; 3]> {
        let at = self.at;
        let exprs = self.list("(", ")", Reader::expr)?;
        exprs.try_into().or_else(|_| {
            self.at = at;
            self.unexpected("numbers in x, y and z")
        })
    }

    fn expr(&mut self) -> Result<AbiExpr> {
        self.operators(0, 0).map(|(expr, _)| expr)
    }

    /// An expression of operators that bind at least as tightly as `level`, with its depth.
    fn operators(&mut self, level: usize, nested: usize) -> Result<(AbiExpr, usize)> {
        let Some(operators) = AbiExpr::OPERATORS.get(level) else {
            return self.operand(nested);
        };
        let (mut expr, mut depth) = self.operators(level + 1, nested)?;
        loop {
            let found = match self.peek() {
                Token::Sign(sign) => operators.iter().find(|(spelling, _)| spelling == sign),
                _ => None,
            };
            let Some((_, make)) = found else {
                return Ok((expr, depth));
            };
            self.at += 1;
            let (rhs, rhs_depth) = self.operators(level + 1, nested)?;
            depth = self.bounded(depth.max(rhs_depth) + 1)?;
            expr = make(Box::new(expr), Box::new(rhs));
        }
    }

    fn operand(&mut self, nested: usize) -> Result<(AbiExpr, usize)> {
        self.bounded(nested)?;
        if self.take_sign("(") {
            let inner = self.operators(0, nested + 1)?;
            self.sign(")")?;
            return Ok(inner);
        }
        if matches!(self.peek(), Token::Number(_) | Token::Sign("-")) {
            return Ok((AbiExpr::Const(self.number()?), 0));
        }
        let Token::Word(word) = self.peek() else {
            return Ok((AbiExpr::Symbol(self.symbol_index()?), 0));
        };
        let function = AbiExpr::FUNCTIONS.iter().find(|(name, _)| name == word);
        match (function, self.tokens.get(self.at + 1)) {
            (Some((_, make)), Some((_, Token::Sign("(")))) => {
                self.at += 2;
                let (lhs, left) = self.operators(0, nested + 1)?;
                self.sign(",")?;
                let (rhs, right) = self.operators(0, nested + 1)?;
                self.sign(")")?;
                let depth = self.bounded(left.max(right) + 1)?;
                Ok((make(Box::new(lhs), Box::new(rhs)), depth))
            }
            _ => Ok((AbiExpr::Symbol(self.symbol_index()?), 0)),
        }
    }

    fn bounded(&self, depth: usize) -> Result<usize> {
        if depth <= MAX_DEPTH {
            return Ok(depth);
        }
        let message = format!("an expression nested more than {MAX_DEPTH} deep");
        Err(TextError {
            at: self.place(),
            message,
        })
    }

    /// Repeats `clause` while it begins with `keyword`.
    fn clauses<T>(
        &mut self,
        keyword: &str,
        mut clause: impl FnMut(&mut Reader) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        while self.keyword(keyword) {
            found.push(clause(self)?);
        }
        Ok(found)
    }

    fn list<T>(
        &mut self,
        open: &'static str,
        close: &'static str,
        mut element: impl FnMut(&mut Reader) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.sign(open)?;
        let mut found = Vec::new();
        if self.take_sign(close) {
            return Ok(found);
        }
        loop {
            found.push(element(self)?);
            if self.take_sign(close) {
                return Ok(found);
            }
            if !self.take_sign(",") {
                return self.unexpected(&format!("`,` or `{close}`"));
            }
        }
    }

    fn arg_index(&mut self) -> Result<usize> {
        let at = self.at;
        let name = self.name("an argument")?;
        match self.args.iter().position(|known| *known == name) {
            Some(index) => Ok(index),
            None => {
                self.at = at;
                self.unexpected("the name of an argument")
            }
        }
    }

    fn symbol_index(&mut self) -> Result<usize> {
        let at = self.at;
        let name = self.name("a number or a symbol")?;
        match self.symbols.iter().position(|known| *known == name) {
            Some(index) => Ok(index),
            None => {
                self.at = at;
                self.unexpected("the name of a symbol")
            }
        }
    }

    fn dtype(&mut self) -> Result<DType> {
        let dtype = match self.peek() {
            Token::Word(word) => word.parse().ok(),
            _ => None,
        };
        match dtype {
            Some(dtype) => {
                self.at += 1;
                Ok(dtype)
            }
            None => self.unexpected("an element type"),
        }
    }

    /// A number that is one of those that `accept` takes.
    fn one_of<T>(&mut self, expected: &str, accept: impl Fn(u32) -> Option<T>) -> Result<T> {
        let at = self.at;
        accept(self.number()?).map_or_else(
            || {
                self.at = at;
                self.unexpected(expected)
            },
            Ok,
        )
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        let at = self.at;
        let sign = if self.take_sign("-") { "-" } else { "" };
        let number = match self.peek() {
            Token::Number(digits) => format!("{sign}{digits}").parse().ok(),
            _ => None,
        };
        match number {
            Some(number) => {
                self.at += 1;
                Ok(number)
            }
            None => {
                self.at = at;
                self.unexpected("a number that fits")
            }
        }
    }

    /// A word, or a text in quotes.
    fn name(&mut self, expected: &str) -> Result<String> {
        match self.peek().clone() {
            Token::Word(name) | Token::Text(name) => {
                self.at += 1;
                Ok(name)
            }
            _ => self.unexpected(expected),
        }
    }

    fn text(&mut self, expected: &str) -> Result<String> {
        match self.peek().clone() {
            Token::Text(text) => {
                self.at += 1;
                Ok(text)
            }
            _ => self.unexpected(expected),
        }
    }

    /// Takes a word if it comes next.
    fn keyword(&mut self, keyword: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(word) if word == keyword);
        self.at += usize::from(found);
        found
    }

    fn expect_keyword(&mut self, keyword: &str) -> Result<()> {
        match self.keyword(keyword) {
            true => Ok(()),
            false => self.unexpected(&format!("`{keyword}`")),
        }
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Token::Sign(found) if *found == sign);
        self.at += usize::from(found);
        found
    }

    fn sign(&mut self, sign: &str) -> Result<()> {
        match self.take_sign(sign) {
            true => Ok(()),
            false => self.unexpected(&format!("`{sign}`")),
        }
    }

    fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(_, it)| it)
    }

    fn place(&self) -> usize {
        self.tokens
            .get(self.at)
            .or(self.tokens.last())
            .map_or(0, |(at, _)| *at)
    }

    fn unexpected<T>(&self, expected: &str) -> Result<T> {
        let found = match self.peek() {
            Token::Word(word) | Token::Number(word) => format!("`{}`", shortened(word)),
            Token::Text(text) => format!("\"{}\"", shortened(text)),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end".into(),
        };
        Err(TextError {
            at: self.place(),
            message: format!("expected {expected}, found {found}"),
        })
    }
}

/// The first characters of a word, printable.
fn shortened(word: &str) -> String {
    const MOST: usize = 40;
    let mut text: String = word
        .chars()
        .take(MOST)
        .flat_map(char::escape_debug)
        .collect();
    if word.chars().nth(MOST).is_some() {
        text.push('…');
    }
    text
}
