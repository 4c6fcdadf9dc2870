//! What becomes of a source, or of one of its kernels: what there is to say about it, step by step.

use crate::codegen::messages::Place;
use crate::codegen::{Message, Timings};
use crate::report::{self, Failure};
use cutec_frontend::Calls;
use cutec_frontend::diagnostics::Diagnostic;
use cutec_frontend::source::SourceMap;
use cutec_runtime::Abi;

/// Steps in their order, which is the order of what they report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    Parse,
    /// What the front end finds.
    Lower,
    /// What MLIR finds in what the front end made.
    Verify,
    TileToCute,
    Abi,
    CuteToLlvm,
    Llvm,
    Assemble,
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Self::Parse => "parsing",
            Self::Lower | Self::Verify => "lowering the source",
            Self::TileToCute => "tile to cute",
            Self::Abi => "the kernel ABI",
            Self::CuteToLlvm => "cute to LLVM",
            Self::Llvm => "translation to LLVM IR",
            Self::Assemble => "assembling",
        }
    }
}

/// What becomes of a source, or of one of its kernels, apart from the code.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub diagnostics: Vec<(Step, Diagnostic)>,
    pub failures: Vec<(Step, Failure)>,
    pub remarks: Vec<Diagnostic>,
    pub abi: Option<Abi>,
    /// Where the source has each kernel, where something may still be said about it.
    pub places: Vec<(String, Option<Place>)>,
    pub timings: Timings,
    /// What calls led to places in functions.
    pub calls: Calls,
}

impl Outcome {
    /// Reports at the places of the source.
    pub fn say(&mut self, step: Step, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        let explained = diagnostics.into_iter();
        let of_step = explained.map(|diagnostic| (step, self.calls.explain(diagnostic)));
        self.diagnostics.extend(of_step);
    }

    /// Reports a failure without a place; gives nothing, as the step does.
    pub fn fail<T>(&mut self, step: Step, failure: impl Into<Failure>) -> Option<T> {
        self.failures.push((step, failure.into()));
        None
    }

    /// Reports what MLIR did during `step`, which failed.
    pub fn fail_with<T>(
        &mut self,
        step: Step,
        messages: Vec<Message>,
        sources: &SourceMap,
    ) -> Option<T> {
        let (mut diagnostics, mut failures) = (Vec::new(), Vec::new());
        report::sort_messages(messages, sources, &mut diagnostics, &mut failures);
        if diagnostics.is_empty() && failures.is_empty() {
            failures.push(Failure::Step(step.name()));
        }
        self.say(step, diagnostics);
        let of_step = failures.into_iter().map(|failure| (step, failure));
        self.failures.extend(of_step);
        None
    }

    /// Whether something is wrong.
    pub fn failed(&self) -> bool {
        !self.failures.is_empty() || self.diagnostics.iter().any(|(_, found)| found.is_error())
    }

    /// Takes over what became of modules, given in the order of their kernels: step by step, and once what several
    /// of them say. LLVM's failures stand only where nothing came before: not every kernel has come so far then.
    pub fn take(&mut self, modules: impl IntoIterator<Item = Outcome>) {
        let mut found = Vec::new();
        for module in modules {
            found.extend(module.diagnostics);
            self.failures.extend(module.failures);
            for remark in module.remarks {
                if !self.remarks.contains(&remark) {
                    self.remarks.push(remark);
                }
            }
            self.places.extend(module.places);
            self.timings.merge(&module.timings);
            self.calls.merge(&module.calls);
            if let Some(abi) = module.abi {
                let all = self.abi.get_or_insert_with(|| Abi::new(Vec::new()));
                all.kernels.extend(abi.kernels);
            }
        }
        found.sort_by_key(|(step, _)| *step);
        for (step, diagnostic) in found {
            let known = |(of, old): &(Step, Diagnostic)| match step {
                Step::Lower => *of == step && diagnostic.repeats(old),
                // Each kernel has calls of its own that lead to a place of a function.
                _ => {
                    diagnostic.repeats(old)
                        && (&old.message, &old.notes, &old.help)
                            == (&diagnostic.message, &diagnostic.notes, &diagnostic.help)
                }
            };
            if !self.diagnostics.iter().any(known) {
                self.diagnostics.push((step, diagnostic));
            }
        }
        self.failures.sort_by_key(|(step, _)| *step);
        let before = |step: Step| step < Step::Llvm;
        if self.failures.iter().any(|(step, _)| before(*step))
            || self
                .diagnostics
                .iter()
                .any(|(step, found)| before(*step) && found.is_error())
        {
            self.failures.retain(|(step, _)| before(*step));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutec_frontend::diagnostics::codes::{INTERNAL, SLOW, WRONG_TYPE};
    use cutec_frontend::source::Span;

    fn at(place: u32) -> Span {
        Span::new(Default::default(), place, place + 1)
    }

    fn texts(outcome: &Outcome) -> Vec<&str> {
        let diagnostics = outcome.diagnostics.iter();
        diagnostics
            .map(|(_, found)| found.message.as_str())
            .collect()
    }

    #[test]
    fn what_kernels_say_is_joined_by_steps_and_said_once() {
        let (mut first, mut second) = (Outcome::default(), Outcome::default());
        let helper = |message: &str| Diagnostic::error(WRONG_TYPE, at(1), message, "here");
        let slow = |place| Diagnostic::warning(SLOW, at(place), "slow", "here");
        first.say(Step::Lower, [helper("in one")]);
        first.say(Step::TileToCute, [slow(5)]);
        let own = Diagnostic::error(WRONG_TYPE, at(9), "own", "here");
        second.say(Step::Lower, [helper("in two"), own]);
        let mlir = |message: &str| Diagnostic::error(INTERNAL, at(9), message, "here");
        second.say(Step::TileToCute, [slow(5), mlir("one"), mlir("two")]);
        let mut both = Outcome::default();
        both.take([first, second]);
        assert_eq!(texts(&both), ["in one", "own", "slow", "one", "two"]);
        assert!(both.failed());
    }

    #[test]
    fn what_llvm_refuses_stands_where_nothing_else_is_wrong() {
        let refused = || {
            let mut outcome = Outcome::default();
            assert!(
                outcome
                    .fail::<()>(Step::Llvm, Failure::Step("LLVM"))
                    .is_none()
            );
            outcome
        };
        let mut both = Outcome::default();
        both.take([refused(), refused()]);
        assert_eq!(both.failures.len(), 2);
        let mut wrong = Outcome::default();
        wrong.say(
            Step::Lower,
            [Diagnostic::error(WRONG_TYPE, at(1), "wrong", "here")],
        );
        let mut both = Outcome::default();
        both.take([refused(), wrong]);
        assert_eq!((both.failures.len(), texts(&both)), (0, vec!["wrong"]));
    }
}
