//! Tokens → syntax tree, by recursive descent.

use super::ast::{Entry, Guard, Instruction, Module, Operand, Registers, Statement, Variable};
use super::lexer::{Kind, Token, tokenize};
use super::literal;
use crate::sim::Space;
use crate::sim::error::{ErrorKind, SimError};

/// Largest variable, in bytes.
const MAX_VARIABLE: u64 = 1 << 30;
/// Deepest nesting of `{ }`.
const MAX_DEPTH: usize = 64;

/// Reads a module.
pub(crate) fn parse(text: &str) -> Result<Module<'_>, SimError> {
    let tokens = tokenize(text);
    Parser {
        text,
        tokens: &tokens,
        at: 0,
        depth: 0,
    }
    .module()
}

struct Parser<'t, 'a> {
    text: &'a str,
    tokens: &'t [Token<'a>],
    at: usize,
    depth: usize,
}

type Parse<T> = Result<T, SimError>;

impl<'a> Parser<'_, 'a> {
    // ---- tokens ----

    fn peek(&self) -> Token<'a> {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> Token<'a> {
        // The last token is `End`, which is never consumed.
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn is(&self, punct: u8) -> bool {
        self.peek().kind == Kind::Punct(punct)
    }

    fn eat(&mut self, punct: u8) -> bool {
        let found = self.is(punct);
        if found {
            self.next();
        }
        found
    }

    fn is_dotted(&self, name: &str) -> bool {
        self.peek().kind == Kind::Dotted && self.peek().text == name
    }

    fn eat_dotted(&mut self, name: &str) -> bool {
        let found = self.is_dotted(name);
        if found {
            self.next();
        }
        found
    }

    fn unexpected<T>(&self, expected: impl Into<String>) -> Parse<T> {
        let token = self.peek();
        let kind = ErrorKind::Syntax {
            expected: expected.into(),
            found: token.describe(),
        };
        Err(SimError::at_line(kind, token.line))
    }

    fn expect(&mut self, punct: u8) -> Parse<()> {
        match self.eat(punct) {
            true => Ok(()),
            false => self.unexpected(format!("`{}`", char::from(punct))),
        }
    }

    fn name(&mut self, what: &str) -> Parse<&'a str> {
        match self.peek().kind {
            Kind::Name => Ok(self.next().text),
            _ => self.unexpected(what),
        }
    }

    fn dotted(&mut self, what: &str) -> Parse<&'a str> {
        match self.peek().kind {
            Kind::Dotted => Ok(self.next().text),
            _ => self.unexpected(what),
        }
    }

    fn integer(&mut self, what: &str) -> Parse<u64> {
        let token = self.peek();
        match (token.kind, literal::integer(token.text)) {
            (Kind::Number, Some(value)) => {
                self.next();
                Ok(value)
            }
            _ => self.unexpected(what),
        }
    }

    fn small(&mut self, what: &str) -> Parse<u32> {
        let line = self.peek().line;
        let value = self.integer(what)?;
        u32::try_from(value).map_err(|_| {
            SimError::at_line(
                ErrorKind::Syntax {
                    expected: format!("{what} below 2^32"),
                    found: value.to_string(),
                },
                line,
            )
        })
    }

    // ---- module ----

    fn module(mut self) -> Parse<Module<'a>> {
        let mut module = Module::default();
        let mut has_version = false;
        loop {
            let token = self.peek();
            match (token.kind, token.text) {
                (Kind::End, _) if has_version => return Ok(module),
                (Kind::End, _) => return self.unexpected("`.version`"),
                (Kind::Dotted, ".version") => {
                    has_version = true;
                    self.next();
                    self.version()?;
                }
                (Kind::Dotted, ".target") => {
                    self.next();
                    self.name("a target")?;
                    while self.eat(b',') {
                        self.name("a target option")?;
                    }
                }
                (Kind::Dotted, ".address_size") => {
                    self.next();
                    match self.peek().text {
                        "64" => self.next(),
                        _ => return self.unexpected("an address size of 64"),
                    };
                }
                (Kind::Dotted, ".file") => {
                    self.next();
                    let file = self.file()?;
                    module.files.push(file);
                }
                (Kind::Dotted, ".section") => {
                    self.next();
                    self.section()?;
                }
                (Kind::Dotted, ".visible" | ".extern" | ".weak" | ".common") => {
                    self.next();
                }
                (Kind::Dotted, ".entry") => {
                    self.next();
                    if let Some(entry) = self.entry()? {
                        module.entries.push(entry);
                    }
                }
                (Kind::Dotted, ".global" | ".const" | ".shared") => {
                    let variable = self.variable()?;
                    self.expect(b';')?;
                    module.variables.push(variable);
                }
                (Kind::Dotted, ".func") => {
                    self.next();
                    self.declaration()?;
                }
                (Kind::Dotted, name) => {
                    let kind = ErrorKind::UnknownDirective {
                        name: name.to_owned(),
                    };
                    return Err(SimError::at_line(kind, token.line));
                }
                _ => return self.unexpected("a directive"),
            }
        }
    }

    fn version(&mut self) -> Parse<()> {
        // `8.0` is lexed as one number.
        let token = self.peek();
        let major = token
            .text
            .split_once('.')
            .and_then(|(major, _)| major.parse::<u32>().ok());
        match (token.kind, major) {
            (Kind::Number, Some(6..)) => {
                self.next();
                Ok(())
            }
            _ => self.unexpected("a PTX version from 6.0"),
        }
    }

    fn file(&mut self) -> Parse<(u64, String)> {
        let number = self.integer("a file number")?;
        let token = self.peek();
        if token.kind != Kind::String {
            return self.unexpected("a file name");
        }
        self.next();
        // Timestamp and size may follow.
        while self.eat(b',') {
            self.integer("a timestamp or a size")?;
        }
        let path = token.text.trim_matches('"').replace("\\\\", "\\");
        Ok((number, path))
    }

    /// DWARF sections are skipped.
    fn section(&mut self) -> Parse<()> {
        self.dotted("a section name")?;
        self.expect(b'{')?;
        while !self.eat(b'}') {
            if self.peek().kind == Kind::End {
                return self.unexpected("`}`");
            }
            self.next();
        }
        Ok(())
    }

    /// A function that is elsewhere; what is called shows where it is called.
    fn declaration(&mut self) -> Parse<()> {
        while !self.eat(b';') {
            if matches!(self.peek().kind, Kind::End | Kind::Punct(b'{')) {
                return self.unexpected("`;` behind the declaration of a function");
            }
            self.next();
        }
        Ok(())
    }

    fn entry(&mut self) -> Parse<Option<Entry<'a>>> {
        let line = self.peek().line;
        let name = self.name("a kernel name")?;
        let mut params = Vec::new();
        if self.eat(b'(') && !self.eat(b')') {
            loop {
                if !self.is_dotted(".param") {
                    return self.unexpected("`.param`");
                }
                params.push(self.variable()?);
                if self.eat(b')') {
                    break;
                }
                self.expect(b',')?;
            }
        }
        let mut entry = Entry {
            name,
            line,
            params,
            reqntid: None,
            cluster: None,
            maxntid: None,
            maxnreg: None,
            minnctapersm: None,
            body: Vec::new(),
        };
        loop {
            let token = self.peek();
            match (token.kind, token.text) {
                (Kind::Dotted, ".reqntid") => {
                    self.next();
                    entry.reqntid = Some(self.extents()?);
                }
                (Kind::Dotted, ".reqnctapercluster") => {
                    self.next();
                    let cluster = self.extents()?;
                    let ctas = cluster.iter().try_fold(1u32, |all, &n| all.checked_mul(n));
                    // The most that CUDA allows, for kernels that ask for it.
                    if !ctas.is_some_and(|ctas| (1..=16).contains(&ctas)) {
                        let kind = ErrorKind::Limit {
                            what: "CTAs of a cluster",
                            limit: 16,
                            found: ctas.map_or(u64::MAX, u64::from),
                        };
                        return Err(SimError::at_line(kind, token.line));
                    }
                    entry.cluster = Some(cluster);
                }
                (Kind::Dotted, ".maxntid") => {
                    self.next();
                    entry.maxntid = Some(self.extents()?);
                }
                (Kind::Dotted, ".minnctapersm") => {
                    self.next();
                    entry.minnctapersm = Some(self.small("a number of CTAs")?);
                }
                (Kind::Dotted, ".maxnreg") => {
                    self.next();
                    entry.maxnreg = Some(self.small("a number of registers")?);
                }
                (Kind::Dotted, ".maxnctapersm" | ".maxclusterrank") => {
                    self.next();
                    self.integer("a number")?;
                }
                (Kind::Dotted, ".noreturn" | ".abi_preserve" | ".explicitcluster") => {
                    self.next();
                }
                (Kind::Dotted, ".pragma") => self.pragma()?,
                (Kind::Dotted, name) => {
                    let kind = ErrorKind::UnknownDirective {
                        name: name.to_owned(),
                    };
                    return Err(SimError::at_line(kind, token.line));
                }
                (Kind::Punct(b';'), _) => {
                    // A declaration.
                    self.next();
                    return Ok(None);
                }
                _ => break,
            }
        }
        self.expect(b'{')?;
        entry.body = self.statements()?;
        Ok(Some(entry))
    }

    fn extents(&mut self) -> Parse<[u32; 3]> {
        let mut extents = [1; 3];
        for (i, extent) in extents.iter_mut().enumerate() {
            if i > 0 && !self.eat(b',') {
                break;
            }
            *extent = self.small("an extent")?;
        }
        Ok(extents)
    }

    fn pragma(&mut self) -> Parse<()> {
        self.next();
        if self.peek().kind != Kind::String {
            return self.unexpected("a pragma string");
        }
        self.next();
        self.expect(b';')
    }

    // ---- variables ----

    /// From the state space on, up to and without `;`, `,` or `)`.
    fn variable(&mut self) -> Parse<Variable<'a>> {
        let space = match self.next().text {
            ".global" => Space::Global,
            ".shared" => Space::Shared,
            ".local" => Space::Local,
            ".const" => Space::Const,
            _ => Space::Param,
        };
        let mut align = None;
        let mut ty = "";
        loop {
            let token = self.peek();
            match (token.kind, token.text) {
                (Kind::Dotted, ".align") => {
                    self.next();
                    let given = self.small("an alignment")?;
                    // `.ptr .align` tells of the pointee.
                    if ty.is_empty() {
                        align = Some(given);
                    }
                }
                (Kind::Dotted, ".ptr" | ".global" | ".shared" | ".local" | ".const")
                    if !ty.is_empty() =>
                {
                    self.next();
                }
                (Kind::Dotted, name) if ty.is_empty() && scalar_bytes(name).is_some() => {
                    ty = self.next().text;
                }
                (Kind::Name, _) if !ty.is_empty() => break,
                _ => return self.unexpected("a type and a name"),
            }
        }
        let line = self.peek().line;
        let name = self.name("a variable name")?;
        let element = scalar_bytes(ty).unwrap_or(1);
        let mut bytes = u64::from(element);
        let mut unsized_array = false;
        while self.eat(b'[') {
            if self.eat(b']') {
                unsized_array = true;
                bytes = 0;
                continue;
            }
            let extent = self.integer("an array extent")?;
            self.expect(b']')?;
            bytes = bytes.saturating_mul(extent);
        }
        let mut init = Vec::new();
        if self.eat(b'=') {
            self.initialiser(element, &mut init)?;
        }
        let align = align.unwrap_or(element);
        if !align.is_power_of_two() || align > 1 << 16 {
            let kind = ErrorKind::Syntax {
                expected: "an alignment that is a power of two".into(),
                found: align.to_string(),
            };
            return Err(SimError::at_line(kind, line));
        }
        if bytes > MAX_VARIABLE {
            return Err(SimError::at_line(
                ErrorKind::Limit {
                    what: "bytes of a variable",
                    limit: MAX_VARIABLE,
                    found: bytes,
                },
                line,
            ));
        }
        if init.len() as u64 > bytes {
            let kind = ErrorKind::Syntax {
                expected: format!("an initialiser of at most {bytes} bytes"),
                found: format!("{} bytes", init.len()),
            };
            return Err(SimError::at_line(kind, line));
        }
        Ok(Variable {
            space,
            name,
            align,
            bytes,
            unsized_array,
            init,
            line,
        })
    }

    fn initialiser(&mut self, element: u32, image: &mut Vec<u8>) -> Parse<()> {
        if !self.eat(b'{') {
            let value = match self.operand()? {
                Operand::Int(value) | Operand::Double(value) => value,
                Operand::Single(bits) => u64::from(bits),
                _ => return self.unexpected("a number as initialiser"),
            };
            image.extend_from_slice(&value.to_le_bytes()[..element as usize]);
            return Ok(());
        }
        self.deeper()?;
        while !self.eat(b'}') {
            self.initialiser(element, image)?;
            if !self.is(b'}') {
                self.expect(b',')?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn deeper(&mut self) -> Parse<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let kind = ErrorKind::Limit {
                what: "nested braces",
                limit: MAX_DEPTH as u64,
                found: self.depth as u64,
            };
            return Err(SimError::at_line(kind, self.peek().line));
        }
        Ok(())
    }

    // ---- bodies ----

    /// After `{`, through the matching `}`.
    fn statements(&mut self) -> Parse<Vec<Statement<'a>>> {
        self.deeper()?;
        let mut statements = Vec::new();
        while !self.eat(b'}') {
            if let Some(statement) = self.statement()? {
                statements.push(statement);
            }
        }
        self.depth -= 1;
        Ok(statements)
    }

    fn statement(&mut self) -> Parse<Option<Statement<'a>>> {
        let token = self.peek();
        let statement = match token.kind {
            Kind::Punct(b'{') => {
                self.next();
                Statement::Block(self.statements()?)
            }
            Kind::Punct(b';') => {
                self.next();
                return Ok(None);
            }
            Kind::Punct(b'@') => self.instruction()?,
            Kind::Name if self.peek_at(1).kind == Kind::Punct(b':') => self.label()?,
            Kind::Name => self.instruction()?,
            Kind::Dotted => return self.directive(),
            _ => return self.unexpected("a statement or `}`"),
        };
        Ok(Some(statement))
    }

    fn label(&mut self) -> Parse<Statement<'a>> {
        let line = self.peek().line;
        let name = self.name("a label")?;
        self.expect(b':')?;
        if !self.eat_dotted(".branchtargets") {
            return Ok(Statement::Label { name, line });
        }
        let mut targets = vec![self.name("a label")?];
        while self.eat(b',') {
            targets.push(self.name("a label")?);
        }
        self.expect(b';')?;
        Ok(Statement::BranchTargets {
            name,
            targets,
            line,
        })
    }

    fn directive(&mut self) -> Parse<Option<Statement<'a>>> {
        let token = self.peek();
        let statement = match token.text {
            ".reg" => self.registers()?,
            ".shared" | ".local" | ".global" | ".const" | ".param" => {
                let variable = self.variable()?;
                self.expect(b';')?;
                Statement::Variable(variable)
            }
            ".loc" => self.loc()?,
            ".pragma" => {
                self.pragma()?;
                return Ok(None);
            }
            ".extern" | ".visible" | ".weak" => {
                self.next();
                return Ok(None);
            }
            name => {
                let kind = ErrorKind::UnknownDirective {
                    name: name.to_owned(),
                };
                return Err(SimError::at_line(kind, token.line));
            }
        };
        Ok(Some(statement))
    }

    fn registers(&mut self) -> Parse<Statement<'a>> {
        self.next();
        let ty = self.dotted("a register type")?;
        let mut registers = Vec::new();
        loop {
            let line = self.peek().line;
            let name = self.name("a register name")?;
            let count = match self.eat(b'<') {
                true => {
                    let count = self.small("a register count")?;
                    self.expect(b'>')?;
                    Some(count)
                }
                false => None,
            };
            registers.push(Registers {
                ty,
                name,
                count,
                line,
            });
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b';')?;
        Ok(Statement::Registers(registers))
    }

    fn loc(&mut self) -> Parse<Statement<'a>> {
        self.next();
        let file = self.integer("a file number")?;
        let line = self.small("a line")?;
        let column = self.small("a column")?;
        // `, function_name $L__info_string0, inlined_at 1 17 3`
        while self.eat(b',') {
            self.name("a `.loc` attribute")?;
            while matches!(self.peek().kind, Kind::Number)
                || matches!(self.peek().kind, Kind::Name) && self.is_loc_label()
            {
                self.next();
            }
            if self.eat(b'+') {
                self.integer("an offset")?;
            }
        }
        Ok(Statement::Loc { file, line, column })
    }

    /// Whether the name belongs to a `.loc` attribute and does not start the next statement.
    fn is_loc_label(&self) -> bool {
        matches!(self.peek_at(1).kind, Kind::Punct(b',' | b'+'))
            && self.tokens[self.at - 1].text == "function_name"
    }

    fn instruction(&mut self) -> Parse<Statement<'a>> {
        let first = self.peek();
        let guard = match self.eat(b'@') {
            true => {
                let negated = self.eat(b'!');
                Some(Guard {
                    register: self.name("a predicate register")?,
                    negated,
                })
            }
            false => None,
        };
        let opcode = self.name("an opcode")?;
        let mut modifiers = Vec::new();
        while self.peek().kind == Kind::Dotted {
            modifiers.push(&self.next().text[1..]);
        }
        let mut operands = Vec::new();
        if !self.is(b';') {
            operands.push(self.operand()?);
            while self.eat(b',') {
                operands.push(self.operand()?);
            }
        }
        let end = self.peek();
        if !self.eat(b';') {
            return self.unexpected("`,` or `;`");
        }
        let text = self
            .text
            .get(first.start..end.start)
            .unwrap_or("")
            .trim_end();
        Ok(Statement::Instruction(Instruction {
            guard,
            opcode,
            modifiers,
            operands,
            line: first.line,
            text,
        }))
    }

    fn operand(&mut self) -> Parse<Operand<'a>> {
        let token = self.peek();
        match token.kind {
            Kind::Name if token.text == "_" && self.peek_at(1).kind != Kind::Punct(b'|') => {
                self.next();
                Ok(Operand::Sink)
            }
            Kind::Name => self.named_operand(),
            Kind::Number => match literal::parse(token.text) {
                Some(value) => {
                    self.next();
                    Ok(value)
                }
                None => self.unexpected("a number"),
            },
            Kind::Punct(b'-') => {
                self.next();
                let token = self.peek();
                match (token.kind, literal::parse(token.text)) {
                    (Kind::Number, Some(Operand::Int(value))) => {
                        self.next();
                        Ok(Operand::Int(value.wrapping_neg()))
                    }
                    (Kind::Number, Some(Operand::Double(bits))) => {
                        self.next();
                        Ok(Operand::Double(bits ^ 1 << 63))
                    }
                    _ => self.unexpected("a number"),
                }
            }
            Kind::Punct(b'!') => {
                self.next();
                Ok(Operand::Not(self.name("a predicate register")?))
            }
            // `(a, b)` are the parameters of a call.
            Kind::Punct(open @ (b'{' | b'(')) => {
                let close = if open == b'{' { b'}' } else { b')' };
                self.next();
                self.deeper()?;
                let mut elements = Vec::new();
                while !self.eat(close) {
                    elements.push(self.operand()?);
                    if !self.is(close) {
                        self.expect(b',')?;
                    }
                }
                self.depth -= 1;
                Ok(Operand::Vector(elements))
            }
            Kind::Punct(b'[') => {
                self.next();
                let (base, offset) = match self.operand()? {
                    Operand::Sum(name, offset) => (Operand::Name(name), offset),
                    base @ (Operand::Name(_) | Operand::Int(_)) => (base, 0),
                    _ => return self.unexpected("a register, variable or number as address"),
                };
                let base = Box::new(base);
                let operand = match self.eat(b',') {
                    false => Operand::Address(base, offset),
                    true => match self.operand()? {
                        Operand::Vector(coordinates) => Operand::Tensor(base, offset, coordinates),
                        _ => return self.unexpected("coordinates in braces"),
                    },
                };
                self.expect(b']')?;
                Ok(operand)
            }
            _ => self.unexpected("an operand"),
        }
    }

    fn named_operand(&mut self) -> Parse<Operand<'a>> {
        let token = self.next();
        let mut name = token.text;
        // `%tid.x`: one name, when the parts touch.
        let component = self.peek();
        if component.kind == Kind::Dotted && component.start == token.start + token.text.len() {
            self.next();
            name = self
                .text
                .get(token.start..component.start + component.text.len())
                .unwrap_or(name);
        }
        if self.eat(b'|') {
            return Ok(Operand::Pair(name, self.name("a register")?));
        }
        let negative = match self.peek().kind {
            Kind::Punct(b'+') => false,
            Kind::Punct(b'-') => true,
            _ => return Ok(Operand::Name(name)),
        };
        self.next();
        let negative = negative ^ self.eat(b'-');
        let value = self.integer("an offset")? as i64;
        Ok(Operand::Sum(
            name,
            if negative {
                value.wrapping_neg()
            } else {
                value
            },
        ))
    }
}

/// Bytes of a fundamental type by its directive, `.pred` excluded.
fn scalar_bytes(ty: &str) -> Option<u32> {
    Some(match ty {
        ".b8" | ".u8" | ".s8" => 1,
        ".b16" | ".u16" | ".s16" | ".f16" | ".bf16" => 2,
        ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" | ".bf16x2" | ".tf32" => 4,
        ".b64" | ".u64" | ".s64" | ".f64" => 8,
        _ => return None,
    })
}
