//! Lines that are too long to show: of each the part around what a diagnostic is about, with `…` for what is left out.

/// Characters of a line that are shown: at least, and at most where places are far apart.
const WIDTH: usize = 200;
const MOST: usize = 600;
/// Characters that are shown before the first place, and behind the begin of the last one.
const BEFORE: usize = 60;
const BEHIND: usize = 60;

/// A text whose long lines are cut.
pub(super) struct Cut {
    /// What is left of the text.
    pub text: String,
    lines: Vec<Line>,
}

/// A line of a text and of the cut one, in characters.
struct Line {
    /// Where it begins.
    begin: usize,
    /// Where it begins in the cut text.
    start: usize,
    /// Columns that are left out before what is shown.
    left: usize,
    /// How many are shown, with `…` where something is left out, without the line break.
    shown: usize,
}

/// What ends a line where a diagnostic is drawn; `\r\n` does so once.
const ENDS: [char; 2] = ['\r', '\n'];

impl Cut {
    /// The text with what matters least of its long lines left out; `places` are those of characters. `None` where no line
    /// is too long.
    pub fn of(text: &str, places: &[usize]) -> Option<Cut> {
        let is_long = |line: &str| line.len() > WIDTH && line.chars().count() > WIDTH;
        if !text.split(ENDS).any(is_long) {
            return None;
        }
        let mut cut = Cut {
            text: String::with_capacity(text.len()),
            lines: Vec::new(),
        };
        let (mut begin, mut start) = (0, 0);
        let mut pieces = text.split_inclusive(ENDS).peekable();
        while let Some(piece) = pieces.next() {
            let body = piece.trim_end_matches(ENDS);
            let mut line_break = piece[body.len()..].to_owned();
            if line_break == "\r" && pieces.next_if_eq(&"\n").is_some() {
                line_break.push('\n');
            }
            let length = body.chars().count();
            let mut line = Line {
                begin,
                start,
                left: 0,
                shown: length,
            };
            if length > WIDTH {
                let columns = places.iter().filter_map(|place| place.checked_sub(begin));
                let columns: Vec<usize> = columns.filter(|column| *column <= length).collect();
                let (left, shown) = window(&columns, length);
                let (cuts_left, cuts_right) = (left > 0, left + shown < length);
                let kept = body.chars().skip(left).take(shown);
                cut.text.extend(cuts_left.then_some('…'));
                cut.text.extend(kept);
                cut.text.extend(cuts_right.then_some('…'));
                line.left = left;
                line.shown = usize::from(cuts_left) + shown + usize::from(cuts_right);
            } else {
                cut.text.push_str(body);
            }
            cut.text.push_str(&line_break);
            // Line breaks are of ASCII.
            begin += length + line_break.len();
            start += line.shown + line_break.len();
            cut.lines.push(line);
        }
        Some(cut)
    }

    /// The character of the cut text at a character of the whole one; of what is left out, where it was.
    pub fn offset(&self, place: usize) -> usize {
        self.at(place).map_or(0, |(line, column, _)| {
            self.lines[line].start + column.min(self.lines[line].shown)
        })
    }

    /// Line and column of a character as the cut text has them, and the column that it has; all from 0.
    pub fn at(&self, place: usize) -> Option<(usize, usize, usize)> {
        let line = self.lines.partition_point(|line| line.begin <= place);
        let line = line.checked_sub(1)?;
        let column = place - self.lines[line].begin;
        let shown = match self.lines[line].left {
            0 => column,
            left => (column + 1).saturating_sub(left),
        };
        Some((line, shown, column))
    }
}

/// How many of `whole` columns are left out before what is shown, and how many are shown. The first place always is.
fn window(columns: &[usize], whole: usize) -> (usize, usize) {
    let around = |first: usize, last: usize| {
        let end = last.saturating_add(BEHIND).min(whole);
        let left = match end <= WIDTH {
            true => 0,
            false => first.saturating_sub(BEFORE).min(whole - WIDTH),
        };
        (left, (end - left).max(WIDTH))
    };
    let Some(primary) = columns.first().copied() else {
        return (0, WIDTH);
    };
    let (first, last) = columns.iter().fold((primary, primary), |(low, high), at| {
        (low.min(*at), high.max(*at))
    });
    let all = around(first, last);
    match all.1 <= MOST {
        true => all,
        false => around(primary, primary),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_holds_the_places_and_no_more_than_it_must() {
        for (columns, whole, expected) in [
            (&[][..], 500, (0, 200)),
            (&[0], 500, (0, 200)),
            (&[140], 500, (0, 200)),
            (&[141], 500, (81, 200)),
            (&[490], 500, (300, 200)),
            (&[499], 500, (300, 200)),
            (&[1000, 1100], 9000, (940, 220)),
            (&[1100, 1000], 9000, (940, 220)),
            (&[10, 400], 9000, (0, 460)),
            // Too far apart: the first one.
            (&[8000, 10], 9000, (7940, 200)),
            (&[10, 8000], 9000, (0, 200)),
        ] {
            assert_eq!(window(columns, whole), expected, "{columns:?} of {whole}");
        }
    }

    #[test]
    fn places_stay_at_their_characters() {
        for end in ["\r\n", "\n", "\r"] {
            let long = "äbcdefghij".repeat(100);
            let text = format!("short{end}{long}{end}last");
            let begin = 5 + end.len();
            let cut = Cut::of(&text, &[begin + 503]).expect("a long line");
            let at = |place| cut.text.chars().nth(cut.offset(place));
            assert_eq!((at(2), at(begin + 503)), (Some('o'), Some('d')));
            assert_eq!(at(begin), Some('…'));
            assert_eq!(at(begin + 999), end.chars().next());
            let last = begin + 1000 + end.len();
            assert_eq!((at(last), at(last + 3)), (Some('l'), Some('t')));
            assert_eq!(cut.at(begin + 503), Some((1, 61, 503)));
            let lines: Vec<&str> = cut.text.split(end).collect();
            assert_eq!(lines[1].chars().count(), 202);
            assert!(lines[1].starts_with("…def") && lines[1].ends_with("bc…"));
        }
        assert!(Cut::of("short\n", &[]).is_none());
    }
}
