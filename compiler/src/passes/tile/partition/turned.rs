//! A part of a stage that lies across what a product takes: a thread reads neighbours, which are not neighbours among its registers.
//!
//! Vectors are read as they lie. Numbers of 8 and 16 bits are then in other words than the instruction takes: `PRMT` takes any four bytes of
//! two words (PTX ISA, "prmt").
use super::access::Way;
use super::{Partition, Spread};
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::VectorOp;
use cutec_dialects::semantics::SemError;
use cutec_layout::algebra::offset_at;
use cutec_layout::{Layout, Tree};
use std::collections::HashMap;

/// Bytes of a word.
const WORD: usize = 4;

impl<'c> Partition<'c> {
    /// Reads a part of a stage whose neighbours lie along an axis, where the thread's registers hold what lies across it.
    pub(super) fn read_turned(
        &mut self,
        part: IrValue<'c>,
        along: usize,
        to: &Spread,
    ) -> Result<Option<IrValue<'c>>, SemError> {
        let illegal = SemError::Illegal;
        let (shape, bytes) = (&to.tile.shape, to.tile.elem.bits() / 8);
        let vector = to.layout.neighbours(shape, along).map_err(illegal)?;
        let modes = to.layout.value_modes(shape).map_err(illegal)?;
        let first = modes.first().and_then(|mode| mode.along);
        let in_words = bytes > 0 && (to.values() * bytes) % WORD as i64 == 0;
        if !in_words || vector == 1 || first == Some((along, 1)) {
            return Ok(None);
        }
        let fragment = self.fragment(to)?;
        let mut part = self.partition(part, None, along, to)?;
        // Where in memory the value of each register is.
        let mut places = vec![0; to.values() as usize];
        for place in 0..places.len() {
            let register = offset_at(&Tree::Leaf((place as i64).into()), &part.registers)?;
            let register = register.as_static().and_then(|at| usize::try_from(at).ok());
            places[register.unwrap_or_default()] = place;
        }
        part.registers = Layout::contiguous(to.values());
        self.copy(&part, fragment, to, Way::Load)?;
        let read = self.load_vec(fragment, to)?;
        Ok(Some(match bytes as usize {
            size @ 1..WORD => self.permuted(read, to, &bytes_of(&places, size)),
            _ => {
                let read = self.elements(read, to);
                let turned: Vec<IrValue<'c>> = places.iter().map(|place| read[*place]).collect();
                self.gather(&turned, self.ir.number_type(to.tile.elem))
            }
        }))
    }

    /// A vector with its bytes in another order: of each the one that it was.
    pub(super) fn permuted(
        &self,
        vector: IrValue<'c>,
        to: &Spread,
        sources: &[usize],
    ) -> IrValue<'c> {
        let (count, i32_type) = ((sources.len() / WORD) as i64, self.ir.ty("i32"));
        let words = self.ir.vector_type(count, i32_type);
        let words = self.ir.value(VectorOp::Bitcast, &[vector], &[], words);
        let mut words = self.elements_of(words, count, Elem::I32);
        let permutation = Permutation::of(sources);
        for (of, selector) in &permutation.steps {
            let text = format!("prmt.b32 $0, $1, $2, {selector:#06x};");
            let operands = of.map(|word| words[word]);
            words.push(self.ir.assembly(&text, "=r,r,r", &operands, i32_type));
        }
        let made: Vec<IrValue<'c>> = permutation.words.iter().map(|word| words[*word]).collect();
        let made = self.gather(&made, i32_type);
        let ty = to.vector(&self.ir);
        self.ir.value(VectorOp::Bitcast, &[made], &[], ty)
    }
}

/// The bytes of elements of a size at these places.
fn bytes_of(places: &[usize], size: usize) -> Vec<usize> {
    let of_element = |place: &usize| size * place..size * (place + 1);
    places.iter().flat_map(of_element).collect()
}

/// How words of bytes in another order are made.
struct Permutation {
    /// Of each `PRMT` the two words, by their numbers among those that are there and those that were made, and the selector.
    steps: Vec<([usize; 2], usize)>,
    /// The numbers of the words in the other order.
    words: Vec<usize>,
}

impl Permutation {
    /// Of the byte that each byte of the result was.
    fn of(sources: &[usize]) -> Self {
        let count = sources.len() / WORD;
        let mut permutation = Permutation {
            steps: Vec::new(),
            words: Vec::new(),
        };
        // Halves of results, by the words that they are of: a `PRMT` makes two. Then where each half is.
        let mut waiting: HashMap<[usize; 2], usize> = HashMap::new();
        let mut halves = vec![[0; 2]; 2 * count];
        for (number, half) in sources.chunks(2).enumerate() {
            let result = &sources[number / 2 * WORD..][..WORD];
            if words_of(result).is_some() {
                continue;
            }
            let Some(of) = words_of(half) else {
                continue;
            };
            let selector = select(half, of);
            match waiting.remove(&of) {
                Some(step) => {
                    permutation.steps[step].1 |= selector << 8;
                    halves[number] = [count + step, 2];
                }
                None => {
                    waiting.insert(of, permutation.steps.len());
                    halves[number] = [count + permutation.steps.len(), 0];
                    permutation.steps.push((of, selector));
                }
            }
        }
        for (number, result) in sources.chunks(WORD).enumerate() {
            let (of, selector) = match words_of(result) {
                Some(of) => (of, select(result, of)),
                None => {
                    let [[low, first], [high, second]] =
                        [halves[2 * number], halves[2 * number + 1]];
                    let bytes = [first, first + 1, WORD + second, WORD + second + 1];
                    ([low, high], packed(bytes.into_iter()))
                }
            };
            const AS_IT_IS: usize = 0x3210;
            if selector == AS_IT_IS {
                permutation.words.push(of[0]);
                continue;
            }
            permutation.words.push(count + permutation.steps.len());
            permutation.steps.push((of, selector));
        }
        permutation
    }
}

/// The two words, or the one, that bytes are of; `None` of more.
fn words_of(bytes: &[usize]) -> Option<[usize; 2]> {
    let mut words: Vec<usize> = bytes.iter().map(|byte| byte / WORD).collect();
    words.sort_unstable();
    words.dedup();
    match words[..] {
        [one] => Some([one, one]),
        [one, other] => Some([one, other]),
        _ => None,
    }
}

/// The selector of bytes of two words.
fn select(bytes: &[usize], [one, _]: [usize; 2]) -> usize {
    packed(bytes.iter().map(|byte| match byte / WORD == one {
        true => byte % WORD,
        false => WORD + byte % WORD,
    }))
}

/// Four bits for each byte, the first one the lowest.
fn packed(bytes: impl DoubleEndedIterator<Item = usize>) -> usize {
    bytes.rev().fold(0, |selector, byte| selector << 4 | byte)
}

#[cfg(test)]
mod tests {
    use super::{Permutation, WORD};

    /// The bytes of the results, of bytes numbered as they lie.
    fn apply(permutation: &Permutation, count: usize) -> Vec<usize> {
        let mut words: Vec<Vec<usize>> = (0..count)
            .map(|word| (WORD * word..WORD * (word + 1)).collect())
            .collect();
        for (of, selector) in &permutation.steps {
            let bytes: Vec<usize> = of.iter().flat_map(|word| words[*word].clone()).collect();
            let selected = (0..WORD).map(|at| bytes[selector >> (4 * at) & 7]);
            words.push(selected.collect());
        }
        let results = permutation.words.iter();
        results.flat_map(|word| words[*word].clone()).collect()
    }

    #[test]
    fn matrices_of_bytes_are_turned_by_two_instructions_a_word() {
        let sources: Vec<usize> = (0..16).map(|at| at % 4 * 4 + at / 4).collect();
        let permutation = Permutation::of(&sources);
        assert_eq!(apply(&permutation, 4), sources);
        assert_eq!(permutation.steps.len(), 8);
    }

    #[test]
    fn matrices_of_halves_are_turned_by_one_instruction_a_word() {
        let sources = [0, 1, 4, 5, 2, 3, 6, 7];
        let permutation = Permutation::of(&sources);
        assert_eq!(apply(&permutation, 2), sources);
        assert_eq!(permutation.steps.len(), 2);
    }

    #[test]
    fn any_order_is_made() {
        // Steps that have no divisor in common with the number of bytes.
        for step in [3, 5, 7, 11, 13] {
            let sources: Vec<usize> = (0..32).map(|at| at * step % 32).collect();
            assert_eq!(apply(&Permutation::of(&sources), 8), sources, "{step}");
        }
        let in_order: Vec<usize> = (0..8).collect();
        assert_eq!(Permutation::of(&in_order).steps.len(), 0);
    }
}
