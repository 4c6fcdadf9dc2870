//! In which order a warp runs its diverged lanes.
//!
//! Lanes have program counters of their own. The executor always advances those that stand at the
//! instruction of lowest [`rank`]; so if the ranks order every block after all blocks from which it
//! can be reached, and keep a loop together before what follows it, then lanes that leave a branch
//! or a loop early wait for the others where their ways join: at the immediate post-dominator, or
//! earlier. LLVM does not always lay blocks out so; this module computes such an order of its own,
//! the weak topological order of Bourdoncle ("Efficient chaotic iteration strategies with
//! widenings", 1993), by strongly connected components.
//!
//! The order decides speed and when lanes meet, not what is correct: an instruction that needs
//! lanes together waits for them in any order.

use super::isa::{Flow, Instr};

/// Loops nested deeper than this keep the order of the text.
const MAX_NESTING: u32 = 64;

/// The rank of each instruction.
pub(crate) fn rank(code: &[Instr]) -> Vec<u32> {
    let graph = Graph::new(code);
    let mut order = Vec::with_capacity(graph.blocks.len());
    graph.arrange(&mut order);
    let mut rank = vec![0; code.len()];
    let instructions = order.iter().flat_map(|&block| graph.blocks[block].clone());
    for (place, at) in instructions.enumerate() {
        rank[at] = place as u32;
    }
    rank
}

/// The control-flow graph of a kernel.
pub(crate) struct Graph {
    /// Instructions of each basic block; the first is the entry.
    pub blocks: Vec<std::ops::Range<usize>>,
    pub successors: Vec<Vec<usize>>,
}

impl Graph {
    pub fn new(code: &[Instr]) -> Graph {
        let targets = |at: usize| match code[at].op.flow() {
            Flow::Jump(targets) => targets,
            Flow::Next | Flow::Exit => &[],
        };
        let ends = |at: usize| match code[at].op.flow() {
            Flow::Jump(_) | Flow::Exit => true,
            Flow::Next => false,
        };
        let mut starts = vec![false; code.len() + 1];
        starts[0] = true;
        for at in 0..code.len() {
            targets(at).iter().for_each(|&t| starts[t as usize] = true);
            starts[at + 1] |= ends(at);
        }
        let firsts: Vec<usize> = (0..code.len()).filter(|&at| starts[at]).collect();
        let lasts = firsts.iter().skip(1).copied().chain([code.len()]);
        let blocks: Vec<_> = firsts
            .iter()
            .copied()
            .zip(lasts)
            .map(|(first, end)| first..end)
            .collect();
        let block_of = |at: usize| firsts.partition_point(|&first| first <= at) - 1;
        let successors = blocks
            .iter()
            .map(|block| {
                let last = block.end - 1;
                let mut next: Vec<usize> = targets(last)
                    .iter()
                    .map(|&t| block_of(t as usize))
                    .collect();
                let leaves = ends(last) && code[last].guard.is_none();
                if !leaves && block.end < code.len() {
                    next.push(block_of(block.end));
                }
                next.sort_unstable();
                next.dedup();
                next
            })
            .collect();
        Graph { blocks, successors }
    }

    /// Puts all blocks in order, loops together.
    fn arrange(&self, order: &mut Vec<usize>) {
        // `region[b]` is the innermost part being arranged that holds b; edges leave it unseen.
        let mut region = vec![0u32; self.blocks.len()];
        let mut regions = 1;
        let mut search = Search::new(&self.successors);
        let mut work = vec![(Work::Arrange((0..self.blocks.len()).collect()), 0)];
        while let Some((item, depth)) = work.pop() {
            let members = match item {
                Work::Place(block) => {
                    order.push(block);
                    continue;
                }
                Work::Arrange(members) => members,
            };
            if depth > MAX_NESTING {
                order.extend(members);
                continue;
            }
            // Onto a stack: the last is pushed first.
            for mut component in search.components(&members, &region) {
                component.sort_unstable();
                if let [single] = component[..] {
                    work.push((Work::Place(single), depth));
                    continue;
                }
                // A loop: its head first, then the rest without the edges back to the head.
                let head = component.remove(0);
                for &block in &component {
                    region[block] = regions;
                }
                region[head] = u32::MAX;
                regions += 1;
                work.push((Work::Arrange(component), depth + 1));
                work.push((Work::Place(head), depth));
            }
        }
    }
}

const UNSEEN: u32 = u32::MAX;

/// Tarjan's search, with its tables kept from one part of the graph to the next.
struct Search<'g> {
    successors: &'g [Vec<usize>],
    index: Vec<u32>,
    low: Vec<u32>,
    on_stack: Vec<bool>,
}

impl<'g> Search<'g> {
    fn new(successors: &'g [Vec<usize>]) -> Search<'g> {
        let blocks = successors.len();
        Search {
            successors,
            index: vec![UNSEEN; blocks],
            low: vec![UNSEEN; blocks],
            on_stack: vec![false; blocks],
        }
    }

    /// Strongly connected components of some blocks of one region, each before those that reach
    /// it.
    fn components(&mut self, members: &[usize], region: &[u32]) -> Vec<Vec<usize>> {
        let Search {
            successors,
            index,
            low,
            on_stack,
        } = self;
        members.iter().for_each(|&block| index[block] = UNSEEN);
        let (mut stack, mut components, mut count) = (Vec::new(), Vec::new(), 0);
        for &root in members {
            if index[root] != UNSEEN {
                continue;
            }
            let mut calls = vec![(root, 0usize)];
            while let Some(&mut (block, ref mut edge)) = calls.last_mut() {
                if *edge == 0 {
                    index[block] = count;
                    low[block] = count;
                    count += 1;
                    stack.push(block);
                    on_stack[block] = true;
                }
                let next = successors[block].get(*edge).copied();
                *edge += 1;
                match next {
                    Some(to) if region[to] != region[block] => {}
                    Some(to) if index[to] == UNSEEN => calls.push((to, 0)),
                    Some(to) if on_stack[to] => low[block] = low[block].min(index[to]),
                    Some(_) => {}
                    None => {
                        calls.pop();
                        if let Some(&(parent, _)) = calls.last() {
                            low[parent] = low[parent].min(low[block]);
                        }
                        if low[block] == index[block] {
                            let at = stack.iter().rposition(|&b| b == block).unwrap_or(0);
                            let component = stack.split_off(at);
                            component.iter().for_each(|&b| on_stack[b] = false);
                            components.push(component);
                        }
                    }
                }
            }
        }
        components
    }
}

enum Work {
    Place(usize),
    Arrange(Vec<usize>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::isa::{Hint, Op};

    fn code(ops: Vec<(Op, bool)>) -> Vec<Instr> {
        use crate::sim::lane::Pred;
        let guard = |guarded: bool| guarded.then_some(Pred::Const(true));
        let instr = |(op, guarded)| Instr {
            op,
            guard: guard(guarded),
            line: 1,
            source: None,
            has_line: false,
            text: String::new(),
        };
        ops.into_iter().map(instr).collect()
    }

    fn jump(target: u32) -> (Op, bool) {
        (Op::Branch { target }, false)
    }

    fn jump_if(target: u32) -> (Op, bool) {
        (Op::Branch { target }, true)
    }

    #[test]
    fn straight_code_keeps_its_order() {
        assert_eq!(
            rank(&code(vec![
                (Op::Hint(Hint::Sleep), false),
                (Op::Hint(Hint::Sleep), false),
                (Op::Exit, false)
            ])),
            [0, 1, 2]
        );
    }

    #[test]
    fn join_that_stands_before_its_branches_is_ranked_after_them() {
        // 0: if → 3 else 1; 1: → 2?; the join at 1 stands between.
        let ops = vec![
            jump_if(3),
            jump(2),
            (Op::Exit, false),
            (Op::Hint(Hint::Sleep), false),
            jump(2),
        ];
        let rank = rank(&code(ops));
        assert!(rank[2] > rank[1] && rank[2] > rank[4], "{rank:?}");
    }

    #[test]
    fn loop_comes_before_its_exit_wherever_that_stands() {
        // 0: head: if → exit(2); 1: → body(4); 2: exit; 3: (unused); 4: body; 5: → head
        let ops = vec![
            jump_if(2),
            jump(4),
            (Op::Hint(Hint::Sleep), false),
            (Op::Exit, false),
            (Op::Hint(Hint::Sleep), false),
            jump(0),
        ];
        let rank = rank(&code(ops));
        assert!(rank[2] > rank[5], "{rank:?}");
    }

    #[test]
    fn nested_loops_stay_together() {
        // 0 outer head; 1 inner: if → 1; 2 if → 0; 3 exit
        let ops = vec![
            (Op::Hint(Hint::Sleep), false),
            jump_if(1),
            jump_if(0),
            (Op::Exit, false),
        ];
        assert_eq!(rank(&code(ops)), [0, 1, 2, 3]);
    }
}
