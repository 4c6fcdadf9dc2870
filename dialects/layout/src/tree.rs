//! [`Tree`]: the nested tuple that shapes, strides and coordinates are made of.

use crate::Int;
use std::fmt;

/// A nested tuple: a leaf, or a tuple of trees.
///
/// `Leaf(x)` and `Node(vec![Leaf(x)])` are different values, as `4` and `(4)` are in CuTe.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Tree<T> {
    /// A single value; it has rank 1 and depth 0.
    Leaf(T),
    /// A tuple; its rank is its length.
    Node(Vec<Tree<T>>),
}

impl<T> Tree<T> {
    /// Number of modes at the top: 1 for a leaf.
    pub fn rank(&self) -> usize {
        match self {
            Tree::Leaf(_) => 1,
            Tree::Node(modes) => modes.len(),
        }
    }

    /// Nesting depth: 0 for a leaf, 1 for a flat tuple.
    pub fn depth(&self) -> usize {
        match self {
            Tree::Leaf(_) => 0,
            Tree::Node(modes) => 1 + modes.iter().map(Tree::depth).max().unwrap_or(0),
        }
    }

    /// True for a leaf.
    pub fn is_leaf(&self) -> bool {
        matches!(self, Tree::Leaf(_))
    }

    /// The value, if this is a leaf.
    pub fn as_leaf(&self) -> Option<&T> {
        match self {
            Tree::Leaf(value) => Some(value),
            Tree::Node(_) => None,
        }
    }

    /// The modes at the top; a leaf is its own only mode.
    pub fn modes(&self) -> &[Tree<T>] {
        match self {
            Tree::Leaf(_) => std::slice::from_ref(self),
            Tree::Node(modes) => modes,
        }
    }

    /// Mode `index`, or `None` when it is out of range. Mode 0 of a leaf is the leaf.
    pub fn mode(&self, index: usize) -> Option<&Tree<T>> {
        self.modes().get(index)
    }

    /// The sub-tree reached by following `path` from the top.
    pub fn at(&self, path: &[usize]) -> Option<&Tree<T>> {
        path.iter().try_fold(self, |tree, &index| tree.mode(index))
    }

    /// The leaves from left to right.
    pub fn leaves(&self) -> Vec<&T> {
        let mut out = Vec::with_capacity(self.leaf_count());
        self.visit(&mut |leaf| out.push(leaf));
        out
    }

    /// Number of leaves.
    pub fn leaf_count(&self) -> usize {
        match self {
            Tree::Leaf(_) => 1,
            Tree::Node(modes) => modes.iter().map(Tree::leaf_count).sum(),
        }
    }

    /// Calls `f` on every leaf from left to right.
    pub fn visit<'a>(&'a self, f: &mut impl FnMut(&'a T)) {
        match self {
            Tree::Leaf(value) => f(value),
            Tree::Node(modes) => modes.iter().for_each(|mode| mode.visit(f)),
        }
    }

    /// Whether `f` holds at some leaf.
    pub fn any(&self, f: &mut impl FnMut(&T) -> bool) -> bool {
        match self {
            Tree::Leaf(value) => f(value),
            Tree::Node(modes) => modes.iter().any(|mode| mode.any(f)),
        }
    }

    /// Calls `f` on the leaves of two congruent trees from right to left.
    pub(crate) fn visit_pairs_back<'a, U>(
        &'a self,
        other: &'a Tree<U>,
        f: &mut impl FnMut(&'a T, &'a U),
    ) {
        match (self, other) {
            (Tree::Leaf(a), Tree::Leaf(b)) => f(a, b),
            (a, b) => {
                let pairs = a.modes().iter().zip(b.modes());
                pairs.rev().for_each(|(a, b)| a.visit_pairs_back(b, f));
            }
        }
    }

    /// The tree of the same profile whose leaves are `f` of these leaves.
    pub fn map<U>(&self, f: &mut impl FnMut(&T) -> U) -> Tree<U> {
        match self {
            Tree::Leaf(value) => Tree::Leaf(f(value)),
            Tree::Node(modes) => Tree::Node(modes.iter().map(|mode| mode.map(f)).collect()),
        }
    }

    /// True if both trees have the same nesting.
    pub fn congruent<U>(&self, other: &Tree<U>) -> bool {
        match (self, other) {
            (Tree::Leaf(_), Tree::Leaf(_)) => true,
            (Tree::Node(a), Tree::Node(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.congruent(b))
            }
            _ => false,
        }
    }

    /// True if `other` refines this profile: wherever this has a leaf, `other` may have anything.
    pub fn weakly_congruent<U>(&self, other: &Tree<U>) -> bool {
        match (self, other) {
            (Tree::Leaf(_), _) => true,
            (Tree::Node(a), Tree::Node(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.weakly_congruent(b))
            }
            _ => false,
        }
    }
}

impl<T: Clone> Tree<T> {
    /// The leaves as a flat tuple; a leaf stays a leaf.
    pub fn flatten(&self) -> Tree<T> {
        match self {
            Tree::Leaf(value) => Tree::Leaf(value.clone()),
            Tree::Node(_) => Tree::Node(
                self.leaves()
                    .into_iter()
                    .map(|leaf| Tree::Leaf(leaf.clone()))
                    .collect(),
            ),
        }
    }

    /// Wraps a leaf into a tuple of rank 1; a tuple stays as it is.
    pub fn wrap(&self) -> Tree<T> {
        match self {
            Tree::Leaf(_) => Tree::Node(vec![self.clone()]),
            Tree::Node(_) => self.clone(),
        }
    }

    /// Strips tuples of rank 1 from the top.
    pub fn unwrap_unit(self) -> Tree<T> {
        match self {
            Tree::Node(mut modes) if modes.len() == 1 => match modes.pop() {
                Some(mode) => mode.unwrap_unit(),
                None => Tree::Node(modes),
            },
            other => other,
        }
    }

    /// A tree of this profile with every leaf set to `value`.
    pub fn repeat_like<U: Clone>(&self, value: &U) -> Tree<U> {
        self.map(&mut |_| value.clone())
    }
}

impl Tree<Int> {
    /// Whether a text may have every integer ([`Int::fits`]).
    pub fn fits(&self) -> bool {
        match self {
            Tree::Leaf(int) => int.fits(),
            Tree::Node(modes) => modes.iter().all(Tree::fits),
        }
    }
}

impl<T> From<T> for Tree<T> {
    fn from(value: T) -> Self {
        Tree::Leaf(value)
    }
}

impl<T: fmt::Display> fmt::Display for Tree<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tree::Leaf(value) => value.fmt(f),
            Tree::Node(modes) => {
                f.write_str("(")?;
                for (index, mode) in modes.iter().enumerate() {
                    if index > 0 {
                        f.write_str(",")?;
                    }
                    mode.fmt(f)?;
                }
                f.write_str(")")
            }
        }
    }
}
