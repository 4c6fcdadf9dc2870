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

/// A line of a cut text, in characters.
struct Line {
    /// Where it begins in the cut text.
    start: usize,
    /// Columns that are left out before it.
    left: usize,
    /// Its length without the line break, with `…` where something is left out.
    length: usize,
}

/// A place that is to be shown, both from 0: lines, and columns in characters.
pub(super) type At = (usize, usize);

impl Cut {
    /// The text with what matters least of its long lines left out. `None` where none is too long.
    pub fn of(text: &str, places: &[At]) -> Option<Cut> {
        let is_long = |line: &str| line.len() > WIDTH && line.chars().count() > WIDTH;
        if !text.lines().any(is_long) {
            return None;
        }
        let mut cut = Cut {
            text: String::with_capacity(text.len()),
            lines: Vec::new(),
        };
        let mut start = 0;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            let body = line.trim_end_matches(['\r', '\n']);
            let (mut left, mut length) = (0, body.chars().count());
            if is_long(body) {
                let columns = places.iter().filter(|(of, _)| *of == number);
                let columns: Vec<usize> = columns.map(|(_, column)| *column).collect();
                let (whole, shown) = (length, window(&columns, length));
                let ends = shown.0 + shown.1 < whole;
                left = shown.0;
                if left > 0 {
                    cut.text.push('…');
                }
                cut.text.extend(body.chars().skip(left).take(shown.1));
                if ends {
                    cut.text.push('…');
                }
                length = usize::from(left > 0) + shown.1 + usize::from(ends);
            } else {
                cut.text.push_str(body);
            }
            let line_break = &line[body.len()..];
            cut.text.push_str(line_break);
            cut.lines.push(Line {
                start,
                left,
                length,
            });
            start += length + line_break.len();
        }
        Some(cut)
    }

    /// The character of the cut text at a place of the whole one; of what is left out the one where it was.
    pub fn offset(&self, (line, column): At) -> usize {
        let Some(found) = self.lines.get(line) else {
            return self.lines.last().map_or(0, |last| last.start + last.length);
        };
        found.start + self.column((line, column)).min(found.length)
    }

    /// The column of a place in the cut text.
    pub fn column(&self, (line, column): At) -> usize {
        match self.lines.get(line) {
            Some(found) if found.left > 0 => (column + 1).saturating_sub(found.left),
            _ => column,
        }
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
        let long = "äbcdefghij".repeat(100);
        let text = format!("short\r\n{long}\r\nlast");
        let cut = Cut::of(&text, &[(1, 503)]).expect("a long line");
        let at = |place| cut.text.chars().nth(cut.offset(place));
        assert_eq!((at((0, 2)), at((1, 503))), (Some('o'), Some('d')));
        assert_eq!((at((1, 0)), at((1, 999))), (Some('…'), Some('\r')));
        assert_eq!((at((2, 0)), at((2, 3))), (Some('l'), Some('t')));
        let lines: Vec<&str> = cut.text.lines().collect();
        assert_eq!(lines[1].chars().count(), 202);
        assert!(lines[1].starts_with("…def") && lines[1].ends_with("bc…"));
        assert!(Cut::of("short\n", &[]).is_none());
    }
}
