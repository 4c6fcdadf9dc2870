//! Which of a kernel's configurations a launch takes, as C: the sizes that were measured as a table of their logarithms, and a
//! function that reads the extents of a launch. What is the same in all exports is `c/choice.c`.

use crate::names::comment;
use crate::signature::Signature;
use crate::{Choice, ExportError};
use cutec_abi::{KernelAbi, SymbolSource};
use std::fmt::Write;

/// A choice with what its symbols are read from.
#[derive(Debug)]
pub struct Chosen<'a> {
    choice: &'a Choice,
    /// Of each symbol.
    from: Vec<SymbolSource>,
}

impl<'a> Chosen<'a> {
    /// The choice for a kernel with so many configurations.
    ///
    /// # Errors
    /// Where a symbol is none of the kernel's, or the choice is none among its configurations.
    pub fn new(
        choice: &'a Choice,
        kernel: &KernelAbi,
        configurations: usize,
    ) -> Result<Chosen<'a>, ExportError> {
        let from = choice.symbols.iter().map(|name| {
            let mut symbols = kernel.symbols.iter();
            let found = symbols.find(|symbol| symbol.name == *name);
            // As in `cutec_tuning::candidate::size`.
            let from = found.map(|symbol| symbol.from).filter(|from| match from {
                SymbolSource::Extent { .. } | SymbolSource::Scalar { .. } => true,
                SymbolSource::Stride { .. } => false,
            });
            from.ok_or_else(|| ExportError::Choice {
                kernel: kernel.name.clone(),
                symbol: name.clone(),
            })
        });
        let from = from.collect::<Result<Vec<_>, _>>()?;
        let (sizes, numbers) = (choice.sizes.len(), &choice.configuration_of_sizes);
        let complete = sizes > 0
            && numbers.len() == sizes
            && choice.logarithms.len() == sizes * from.len()
            && numbers.iter().all(|number| *number < configurations);
        if !complete {
            return Err(ExportError::Choice {
                kernel: kernel.name.clone(),
                symbol: choice.symbols.join(", "),
            });
        }
        Ok(Chosen { choice, from })
    }

    /// The function's name.
    pub fn function(signature: &Signature<'_>) -> String {
        format!("configuration_of_{}", signature.identifier)
    }

    /// The most symbols of a size.
    pub fn symbols(&self) -> usize {
        self.from.len()
    }

    /// The sizes at which a configuration is the fastest that was measured, for comments.
    pub fn sizes_of(&self, configuration: usize) -> String {
        let sizes = self
            .choice
            .sizes
            .iter()
            .zip(&self.choice.configuration_of_sizes);
        let sizes = sizes.filter(|(_, number)| **number == configuration);
        let texts: Vec<String> = sizes.map(|(size, _)| self.size(size)).collect();
        texts.join("; ")
    }

    /// `m = 1024, n = 1024`
    fn size(&self, size: &[i64]) -> String {
        let pairs = self.choice.symbols.iter().zip(size);
        let texts: Vec<String> = pairs
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        texts.join(", ")
    }

    /// The table and the function, which gives a configuration's number: 0, the defaults, where the arguments are none of this kernel.
    pub fn write(&self, signature: &Signature<'_>) -> String {
        let (identifier, count) = (&signature.identifier, self.from.len());
        let function = Chosen::function(signature);
        let parameters = signature.inner_parameters();
        let parameters = parameters.strip_suffix(", ").unwrap_or("void");
        let mut text = String::new();
        let numbers = &self.choice.configuration_of_sizes;
        if count == 0 {
            // Nothing tells launches apart: what is fastest for one is so for all.
            let _ = writeln!(text, "\nstatic int {function}({parameters})\n{{");
            for parameter in &signature.parameters {
                let _ = writeln!(text, "    (void){};", parameter.inner_name());
            }
            let _ = writeln!(text, "    return {};\n}}", numbers[0]);
            return text;
        }
        let _ = writeln!(
            text,
            "\n/* The sizes that were measured, by their logarithms, and the fastest configuration of each. */\n\
             static const int32_t sizes_of_{identifier}[][{count}] = {{"
        );
        for (size, logarithms) in self
            .choice
            .sizes
            .iter()
            .zip(self.choice.logarithms.chunks(count))
        {
            let logarithms: Vec<String> = logarithms.iter().map(i64::to_string).collect();
            let (logarithms, size) = (logarithms.join(", "), comment(&self.size(size)));
            let _ = writeln!(text, "    {{{logarithms}}}, /* {size} */");
        }
        let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
        let _ = writeln!(
            text,
            "}};\nstatic const uint16_t fastest_of_{identifier}[] = {{{}}};\n\nstatic int {function}({parameters})\n{{",
            numbers.join(", ")
        );
        let _ = writeln!(text, "    int64_t extents[{count}];");
        for parameter in &signature.parameters {
            let _ = writeln!(text, "    (void){};", parameter.inner_name());
        }
        for (index, from) in self.from.iter().enumerate() {
            let (impossible, value) = match *from {
                SymbolSource::Extent { arg, mode } | SymbolSource::Stride { arg, mode } => {
                    let tensor = signature.parameters[arg].inner_name();
                    (
                        format!("{tensor}->ndim <= {mode}"),
                        format!("{tensor}->shape[{mode}]"),
                    )
                }
                SymbolSource::Scalar { arg } => {
                    let parameter = &signature.parameters[arg];
                    let scalar = parameter.inner_name();
                    let impossible = match parameter.is_u64() {
                        true => format!("{scalar} > INT64_MAX"),
                        false => String::new(),
                    };
                    (impossible, format!("(int64_t){scalar}"))
                }
            };
            if !impossible.is_empty() {
                let _ = writeln!(text, "    if ({impossible})\n        return 0;");
            }
            let _ = writeln!(text, "    extents[{index}] = {value};");
        }
        let _ = writeln!(
            text,
            "    return fastest_of_{identifier}[nearest(extents, {count}, sizes_of_{identifier}[0], {})];\n}}",
            self.choice.sizes.len()
        );
        text
    }
}
