//! Lines `EXPRESSION<TAB>RESULT` in the expression language.

use super::{read, without_unit_strides};
use cutec_layout::expr::{Value, eval};
use cutec_layout::{AnyLayout, Layout, algebra};
use std::collections::{BTreeMap, HashMap};

/// Lines where this implementation differs on purpose; see the README beside the vectors.
const DIFFERENCES: &str = include_str!("../../../../test-suite/vectors/differences.tsv");

#[test]
fn layout_expressions() {
    check("layout.tsv");
}

#[test]
fn swizzle_expressions() {
    check("swizzle.tsv");
}

fn check(file: &str) {
    let differences: HashMap<&str, &str> = DIFFERENCES
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut columns = line.split('\t');
            Some((columns.next()?, columns.next()?))
        })
        .collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for line in read(file).lines() {
        let (text, wanted) = line.split_once('\t').expect("two columns");
        let end = text.find(['(', '<']).expect("a call");
        let wanted = differences.get(text).copied().unwrap_or(wanted);
        let found = normal(&text[..end], eval(text).ok());
        let same = match wanted {
            "error" => found.is_none(),
            wanted => found.is_some() && found == normal(&text[..end], eval(wanted).ok()),
        };
        *counts.entry(text[..end].to_owned()).or_default() += 1;
        if !same {
            let found =
                eval(text).map_or_else(|error| error.to_string(), |value| value.to_string());
            failures.push(format!("{text}\n  expected {wanted}\n  found    {found}"));
        }
    }
    assert!(!counts.is_empty());
    assert!(
        failures.is_empty(),
        "{} lines differ:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// What may differ between references is made equal: strides of unit modes everywhere, and the
/// nesting of a mode of rank 1 in the products that unpack modes.
fn normal(operation: &str, value: Option<Value>) -> Option<Value> {
    Some(match value? {
        Value::Layout(AnyLayout::Plain(layout)) => {
            let layout = without_unit_strides(&layout);
            let layout = match operation {
                "tiled_product" | "flat_product" => without_unit_nesting(&layout),
                _ => layout,
            };
            Value::Layout(AnyLayout::Plain(layout))
        }
        Value::Layout(AnyLayout::Composed(composed)) => {
            let inner = without_unit_strides(&composed.inner);
            if composed
                .swizzle()
                .is_some_and(|swizzle| swizzle.is_identity())
            {
                return Some(Value::Layout(AnyLayout::Plain(inner)));
            }
            Value::Layout(AnyLayout::Composed(composed.with_inner(inner)))
        }
        other => other,
    })
}

fn without_unit_nesting(layout: &Layout) -> Layout {
    Layout::concat(layout.modes().map(|mode| {
        let mut mode = mode;
        while mode.depth() > 0 && mode.rank() == 1 {
            mode = algebra::get(&mode, &[0]).expect("one mode");
        }
        mode
    }))
}
