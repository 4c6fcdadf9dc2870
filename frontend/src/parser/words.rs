//! The words of syntax errors: what was expected, and what was probably meant.

use crate::elsewhere;
use crate::lexer::Token;

/// Words that begin an item.
pub const ITEM_KEYWORDS: &[&str] = &["import", "const", "fn", "kernel", "record", "test", "bench"];

/// Clauses that may stand behind `launch`.
pub const LAUNCH_CLAUSES: &[&str] = &[
    "grid",
    "persistent",
    "block",
    "smem",
    "min_blocks",
    "cluster",
    "pdl",
    "cooperative",
    "tiles",
    "raster",
    "warps",
    "multicast",
    "queue",
    "pingpong",
];

/// Words that begin a statement.
const STATEMENT_KEYWORDS: &[&str] = &[
    "let", "var", "if", "static", "for", "while", "loop", "roles", "break", "continue", "return",
];

/// Words that join parts of a construct.
const INNER_KEYWORDS: &[&str] = &["where", "launch", "mut", "else", "in", "step", "tunable"];

/// The candidate most like `word`, if one is like it at all.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = match word.chars().count() {
        0..=1 => return None,
        2..=4 => 1,
        5..=7 => 2,
        _ => 3,
    };
    candidates
        .into_iter()
        .filter(|candidate| *candidate != word)
        .map(|candidate| (edit_distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from one to the other.
fn edit_distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().take(64).collect();
    let to: Vec<char> = to.chars().take(64).collect();
    let mut before: Vec<usize> = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for i in 1..=from.len() {
        let mut row = vec![i; to.len() + 1];
        for j in 1..=to.len() {
            let replace = last[j - 1] + usize::from(from[i - 1] != to[j - 1]);
            row[j] = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

/// A fix for an unexpected `found` after `before` (the tokens of the item up to it).
pub fn hint(before: &[Token<'_>], found: Option<Token<'_>>, expected: &[String]) -> Option<String> {
    let previous = before.last().copied();
    let expects = |what: &str| expected.iter().any(|terminal| terminal == what);
    match (previous, found) {
        (Some(Token::Let), Some(Token::Mut)) => {
            return Some("a variable that is assigned to is declared `var x = …;`".to_owned());
        }
        (Some(previous), Some(Token::Assign)) if previous.ends_operand() && expects("{") => {
            return Some("to compare, write `==`".to_owned());
        }
        (_, Some(Token::FatArrow)) if expects("->") => {
            return Some("result types are written `-> type`".to_owned());
        }
        (_, Some(Token::Amp | Token::Star)) if expects("-") && !expects("*") => {
            return Some("there are no references or pointers; leave it out".to_owned());
        }
        (_, Some(Token::Less)) if expects("generic <") => {
            return Some(
                "generic arguments open with a `<` directly behind the name and need a `>`; a default with braces or a `>` stands in parentheses, `<n = (if wide { 64 } else { 32 })>`"
                    .to_owned(),
            );
        }
        (_, Some(Token::Const)) => {
            return Some("`const` stands at the top of a file; here use `let`".to_owned());
        }
        (_, Some(Token::Where)) if expects("{") => {
            return Some("promises stand before `launch`: `where n % 4 == 0 launch …`".to_owned());
        }
        (Some(Token::RParen), Some(_)) if expects("{") && in_launch(before) => {
            return Some("the body of a kernel stands in braces".to_owned());
        }
        (Some(Token::Let | Token::Var | Token::For), Some(keyword)) if is_keyword(keyword) => {
            return Some(format!("{keyword} is a keyword: choose another name"));
        }
        (Some(keyword @ (Token::Kernel | Token::Record | Token::Test | Token::Bench)), Some(_))
            if expects("name") =>
        {
            return Some(format!(
                "{keyword} is a keyword, behind which a name stands"
            ));
        }
        (_, Some(keyword @ Token::In)) if expects("name") && !expects("let") => {
            return Some(format!("{keyword} is a keyword: choose another name"));
        }
        (_, Some(Token::Fn | Token::Kernel | Token::Record)) => {
            return Some("functions, kernels and records stand at the top of a file".to_owned());
        }
        _ => {}
    }
    let name = |token: Option<Token<'_>>| match token {
        Some(Token::Ident(name) | Token::Reduction(name)) => Some(name.to_owned()),
        _ => None,
    };
    // The wrong word is either the unexpected one or the one before it, which passed for a name.
    let words = [name(found), name(previous)];
    let words = words.iter().flatten();
    let starts_here = |word: &str| {
        let at = before
            .iter()
            .rposition(|token| matches!(token, Token::Ident(n) if *n == word));
        match at {
            None => expects("let"),
            Some(at) => at == 0 || ends_statement(before[at - 1]),
        }
    };
    // `__shared__ float s[32]` is about its first word.
    for word in words.clone().rev() {
        if let Some(text) = elsewhere::words::here(word) {
            return Some(text.to_owned());
        }
    }
    for word in words {
        let candidates: &[&str] = if starts_here(word) {
            STATEMENT_KEYWORDS
        } else {
            &[]
        };
        let inner = INNER_KEYWORDS.iter().filter(|keyword| expects(keyword));
        if let Some(keyword) = closest(word, candidates.iter().chain(inner).copied()) {
            return Some(format!("did you mean `{keyword}`?"));
        }
    }
    let side_by_side = matches!(
        (previous, found),
        (Some(Token::Int(_)), Some(Token::Ident(_) | Token::Int(_)))
    );
    (side_by_side && expects("{") && in_loop_head(before))
        .then(|| "a range is written with `..`: `for i in 0..n { … }`".to_owned())
}

/// A fix for an item that begins with `word`.
pub fn item_hint(word: &str) -> Option<String> {
    if let Some(text) = elsewhere::words::here(word) {
        return Some(text.to_owned());
    }
    if STATEMENT_KEYWORDS.contains(&word) {
        return Some("statements stand in functions, kernels, tests and benches".to_owned());
    }
    closest(word, ITEM_KEYWORDS.iter().copied()).map(|known| format!("did you mean `{known}`?"))
}

/// Whether the body of a kernel is yet to begin behind its launch clauses.
fn in_launch(before: &[Token<'_>]) -> bool {
    let mut head = before.iter().rev();
    head.find(|token| matches!(token, Token::Launch | Token::LBrace)) == Some(&Token::Launch)
}

/// Whether the body of a `for` is yet to begin behind what it runs over.
fn in_loop_head(before: &[Token<'_>]) -> bool {
    let mut head = before.iter().rev();
    let of_head = |token: &&Token<'_>| {
        matches!(
            token,
            Token::In | Token::Semi | Token::LBrace | Token::RBrace
        )
    };
    head.find(of_head) == Some(&Token::In)
}

/// Whether a token is a word that no name can be.
fn is_keyword(token: Token<'_>) -> bool {
    let is_name = matches!(token, Token::Ident(_) | Token::Reduction(_));
    let text = token.to_string();
    !is_name
        && text
            .trim_matches('`')
            .chars()
            .all(|c| c.is_ascii_alphabetic())
}

fn ends_statement(token: Token<'_>) -> bool {
    matches!(
        token,
        Token::Semi | Token::LBrace | Token::RBrace | Token::BlockStatement | Token::ErrorStatement
    )
}

/// The expected terminals of the grammar in human words: `` an expression, `,` or `)` ``.
pub fn expected(terminals: &[String], after_operand: bool) -> String {
    let has = |name: &str| terminals.iter().any(|terminal| terminal == name);
    let mut words: Vec<String> = Vec::new();
    // Seldom what was meant, and confusing next to a `<` that was found.
    let mut covered: Vec<&str> = vec!["generic <", "{ fields"];
    if has("let") {
        words.push("a statement".to_owned());
        covered.extend(STATEMENT_KEYWORDS);
        covered.extend(["if statement", "{ statement", "error statement"]);
        covered.extend(EXPRESSION_STARTS);
        if has("error statement") && has("}") {
            words.push("`}`".to_owned());
            covered.push("}");
        }
    } else if has("integer") && has("(") && has("name") {
        words.push("an expression".to_owned());
        covered.extend(EXPRESSION_STARTS);
    }
    let operators = has("*") && has("&&") || after_operand && (has(";") || has("..") || has("."));
    if operators {
        covered.extend(OPERATORS);
        covered.extend(["..", "o", ":", "@", ".", "generic <", "step", "(", "["]);
    }
    if has("+=") {
        covered.extend([
            "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=",
        ]);
        // Only a clause such as `pipeline(3)` is followed by `for`.
        covered.push("for");
    }
    if has("import") && has("kernel") {
        words.push("an item".to_owned());
        covered.extend(ITEM_KEYWORDS);
    }
    let mut rest: Vec<&str> = terminals
        .iter()
        .map(String::as_str)
        .filter(|terminal| !covered.contains(terminal))
        .collect();
    rest.sort_by_key(|terminal| {
        (
            PREFERRED
                .iter()
                .position(|known| known == terminal)
                .unwrap_or(PREFERRED.len()),
            *terminal,
        )
    });
    words.extend(rest.into_iter().map(describe_terminal));
    if operators {
        words.push("an operator".to_owned());
    }
    words.dedup();
    match words.as_slice() {
        [] => "something else".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

const EXPRESSION_STARTS: &[&str] = &[
    "name",
    "integer",
    "float",
    "string",
    "reduction",
    "true",
    "false",
    "_",
    "(",
    "[",
    "{",
    "-",
    "!",
    "if",
    "static",
];

const OPERATORS: &[&str] = &[
    "+", "-", "*", "/", "%", "&", "|", "^", "&&", "||", "==", "!=", "<", "<=", "<<", ">", ">=",
    ">>",
];

/// What a user would rather read first.
const PREFERRED: &[&str] = &[";", ",", ")", "]", "generic >", "}", "{", "="];

fn describe_terminal(terminal: &str) -> String {
    match terminal {
        "name" => "a name".to_owned(),
        "integer" => "an integer".to_owned(),
        "float" => "a number".to_owned(),
        "string" => "a string".to_owned(),
        "reduction" => "a reduction".to_owned(),
        "generic <" => "`<`".to_owned(),
        "generic >" => "`>`".to_owned(),
        "{ statement" | "{ fields" => "`{`".to_owned(),
        "if statement" => "`if`".to_owned(),
        "error statement" => "a statement".to_owned(),
        symbol => format!("`{symbol}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_swaps_as_one() {
        assert_eq!(edit_distance("kernel", "kernal"), 1);
        assert_eq!(edit_distance("vra", "var"), 1);
        assert_eq!(edit_distance("", "abc"), 3);
    }

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        assert_eq!(
            closest("kernal", ITEM_KEYWORDS.iter().copied()),
            Some("kernel")
        );
        assert_eq!(closest("x", ITEM_KEYWORDS.iter().copied()), None);
        assert_eq!(closest("banana", ITEM_KEYWORDS.iter().copied()), None);
    }
}
