//! PTX of several modules as one text, as LLVM would have written it of one module.
//!
//! ```text
//! header          .version, .target, .address_size: of the first module
//! declarations    .extern, .global: each once
//! functions       in order; their labels, files and calls numbered on
//! sections, files each once
//! ```
//!
//! LLVM numbers functions, labels and files in each module anew, and calls over all modules of a process: they are
//! numbered here in the order of the text.

use std::fmt::Write;

/// Joins modules with symbols that differ, but for what several of them declare in the same words.
pub fn join(modules: &[String]) -> String {
    let modules: Vec<Module<'_>> = modules.iter().map(|text| Module::of(text)).collect();
    let mut joined = Joined::default();
    for module in &modules {
        joined.add(module);
    }
    let Some(first) = modules.first() else {
        return String::new();
    };
    let mut text = String::with_capacity(joined.functions.len() + (1 << 12));
    text.push_str(first.header);
    text.push_str(first.name);
    for declaration in joined.declarations {
        text.push_str(declaration);
    }
    text.push('\n');
    text.push_str(&joined.functions);
    for section in joined.sections {
        text.push_str(section);
    }
    for (at, name) in joined.files.iter().enumerate() {
        let _ = write!(text, "{FILE}{} {name}", at + 1);
    }
    text
}

const FILE: &str = "\t.file\t";
const SECTION: &str = "\t.section\t";
const LINE: &str = "\t.loc\t";
const LABEL: &str = "$L__";
const STACK: &str = "__local_depot";
const CALL: &str = "\t{ // callseq ";
const CALL_END: &str = "\t} // callseq ";

/// The parts of a module's text. Each ends with its line.
#[derive(Default)]
struct Module<'a> {
    header: &'a str,
    /// The comment with the name of the first function, which stands before the declarations.
    name: &'a str,
    declarations: Vec<&'a str>,
    functions: Vec<&'a str>,
    sections: Vec<&'a str>,
    /// Number and name.
    files: Vec<(usize, &'a str)>,
}

impl<'a> Module<'a> {
    fn of(text: &'a str) -> Self {
        let last = text.find("\n.address_size").map_or(0, |at| at + 1);
        let end = text[last..].find("\n\n").map_or(0, |at| last + at + 2);
        let (header, rest) = text.split_at(end);
        let mut module = Self {
            header,
            ..Self::default()
        };
        let mut at = 0;
        let mut declared = 0;
        for line in rest.split_inclusive('\n') {
            let start = at;
            at += line.len();
            if let Some((number, name)) = line.strip_prefix(FILE).and_then(numbered) {
                module.files.push((number, name.trim_start_matches(' ')));
            } else if line.starts_with(SECTION) {
                module.sections.push(line);
            } else if !module.functions.is_empty() || begins_function(line) {
                module.functions.push(line);
            } else if line.starts_with("\t//") {
                module.name = line;
                declared = at;
            } else if line.trim().is_empty() {
                declared = at;
            } else if line.trim_end().ends_with(';') {
                module.declarations.push(&rest[declared..at]);
                declared = at;
            } else {
                // A declaration of several lines.
                declared = declared.min(start);
            }
        }
        module
    }
}

/// Of a function with a body.
fn begins_function(line: &str) -> bool {
    let words = || line.split([' ', '\t']);
    !line.starts_with(".extern") && words().any(|word| matches!(word, ".entry" | ".func"))
}

/// What has been put together.
#[derive(Default)]
struct Joined<'a> {
    declarations: Vec<&'a str>,
    functions: String,
    sections: Vec<&'a str>,
    files: Vec<&'a str>,
    /// How many there are in the functions so far.
    bodies: usize,
    places: usize,
    calls: usize,
}

impl<'a> Joined<'a> {
    fn add(&mut self, module: &Module<'a>) {
        for declaration in &module.declarations {
            place_of(declaration, &mut self.declarations);
        }
        for section in &module.sections {
            place_of(section, &mut self.sections);
        }
        let files: Vec<(usize, usize)> = module
            .files
            .iter()
            .map(|(number, name)| (*number, place_of(name, &mut self.files) + 1))
            .collect();
        if !self.functions.is_empty() {
            self.functions.push_str(module.name);
        }
        let (bodies, places) = (self.bodies, self.places);
        for line in &module.functions {
            if let Some(rest) = line.strip_prefix(LINE) {
                self.line(rest, &files);
            } else if line.starts_with(CALL) || line.starts_with(CALL_END) {
                self.call(line);
            } else if line.contains('$') || line.contains(STACK) {
                self.labels(line, bodies, places);
            } else {
                self.bodies += usize::from(line.trim_end() == "}" && !line.starts_with('\t'));
                self.functions.push_str(line);
            }
        }
    }

    /// `.loc FILE LINE COLUMN`, perhaps with `inlined_at FILE LINE COLUMN`.
    fn line(&mut self, rest: &str, files: &[(usize, usize)]) {
        const INLINED: &str = "inlined_at ";
        self.functions.push_str(LINE);
        let mut rest = rest;
        loop {
            if let Some((number, behind)) = numbered(rest) {
                let known = files.iter().find(|(old, _)| *old == number);
                let _ = write!(self.functions, "{}", known.map_or(number, |(_, new)| *new));
                rest = behind;
            }
            let Some(at) = rest.find(INLINED) else { break };
            let (before, behind) = rest.split_at(at + INLINED.len());
            self.functions.push_str(before);
            rest = behind;
        }
        self.functions.push_str(rest);
    }

    /// `{ // callseq NUMBER, …` and `} // callseq NUMBER`.
    fn call(&mut self, line: &str) {
        let ends = line.starts_with(CALL_END);
        let prefix = if ends { CALL_END } else { CALL };
        let rest = &line[prefix.len()..];
        let behind = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let _ = write!(self.functions, "{prefix}{}{behind}", self.calls);
        self.calls += usize::from(ends);
    }

    /// Labels, `$L__BB0_3` of function 0, `$L__func_end0`, `$L__tmp1`, and `__local_depot0`, its stack.
    fn labels(&mut self, line: &str, bodies: usize, places: usize) {
        let mut rest = line;
        while let Some((before, word, number, behind)) = next_label(rest) {
            let number = match word {
                "tmp" => {
                    self.places = self.places.max(places + number + 1);
                    places + number
                }
                "BB" | "func_begin" | "func_end" | STACK => bodies + number,
                _ => number,
            };
            let _ = write!(self.functions, "{before}{number}");
            rest = behind;
        }
        self.functions.push_str(rest);
    }
}

/// The next label of a line: the text up to its number, its word, the number, what comes behind.
fn next_label(line: &str) -> Option<(&str, &str, usize, &str)> {
    let from = |at: usize, word: usize| {
        let length = line[word..].find(|c: char| c.is_ascii_digit())?;
        let (before, rest) = line.split_at(word + length);
        let (number, behind) = numbered(rest)?;
        let starts = !line[..at].ends_with(is_part_of_name);
        let ends = line[at..].starts_with(LABEL) || !behind.starts_with(is_part_of_name);
        (starts && ends).then_some((before, &line[word..word + length], number, behind))
    };
    let label = line.find(LABEL).and_then(|at| from(at, at + LABEL.len()));
    label.or_else(|| line.find(STACK).and_then(|at| from(at, at)))
}

fn is_part_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_$%".contains(character)
}

/// The number that a text begins with, and what comes behind.
fn numbered(text: &str) -> Option<(usize, &str)> {
    let length = text.find(|character: char| !character.is_ascii_digit());
    let (digits, behind) = text.split_at(length.unwrap_or(text.len()));
    Some((digits.parse().ok()?, behind))
}

/// Where a list has an item, which is added where it has not.
fn place_of<'a>(item: &'a str, list: &mut Vec<&'a str>) -> usize {
    list.iter()
        .position(|known| *known == item)
        .unwrap_or_else(|| {
            list.push(item);
            list.len() - 1
        })
}

#[cfg(test)]
mod tests;
