//! `cutec FILE --emit all -o FOLDER`: every level at once, and `lines.json`, which says for each line of the source which lines
//! of each level came of it. For editors and pages that show a kernel at all levels side by side.
//!
//! ```json
//! {"source": "relu.cute",
//!  "levels": {"cute": "relu.cute.mlir", "ptx": "relu.ptx", …},
//!  "lines": {"relu.cute": {"11": {"cute": [7], "ptx": [34, 35, 36], …}, …}}}
//! ```
//!
//! Lines count from 1; what the standard library or an imported file has become stands under its name.

use super::arguments::EmitArguments;
use super::context::{Reporter, compile_options};
use super::error::{CommandError, CommandResult};
use super::output;
use cutec::report::Failure;
use cutec::{Compiler, Emit, FileLoader, Options, Source};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// The levels in their order, and what each file is called behind the name of the source.
const LEVELS: [(Emit, &str); 8] = [
    (Emit::Tile, "tile.mlir"),
    (Emit::Cute, "cute.mlir"),
    (Emit::Mlir, "mlir"),
    (Emit::LlvmRaw, "raw.ll"),
    (Emit::Llvm, "ll"),
    (Emit::Ptx, "ptx"),
    (Emit::Sass, "sass"),
    (Emit::Abi, "json"),
];

/// `lines.json`
#[derive(Serialize)]
struct Links {
    source: String,
    levels: BTreeMap<&'static str, String>,
    /// By file and line of a source, and by level: lines of that level.
    lines: BTreeMap<String, BTreeMap<u32, BTreeMap<&'static str, Vec<usize>>>>,
}

/// Writes all levels into a folder. SASS is left out where NVIDIA's tools are not there.
///
/// # Errors
/// When the source is wrong, or a file cannot be written.
pub fn run(
    arguments: &EmitArguments,
    source: &Source,
    folder: &Path,
    reporter: &Reporter,
) -> CommandResult {
    let stem = Path::new(&source.name)
        .file_stem()
        .and_then(|stem| stem.to_str());
    let stem = stem.unwrap_or("kernel");
    let compiler = Compiler::new();
    let mut links = Links {
        source: source.name.clone(),
        levels: BTreeMap::new(),
        lines: BTreeMap::new(),
    };
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    for (emit, extension) in LEVELS {
        let options = Options {
            emit,
            kernel: arguments.kernel.clone(),
            threads: arguments.threads,
            places: true,
            ..compile_options(&arguments.compile)
        };
        let compiled = match compiler.compile(source, &FileLoader, &options) {
            Ok(compiled) => compiled,
            // Whoever has no tools for machine code wants the other levels.
            Err(error)
                if emit == Emit::Sass
                    && error.problems.is_empty()
                    && error
                        .failures
                        .iter()
                        .all(|failure| matches!(failure, Failure::Cubin(_) | Failure::Sass(_))) =>
            {
                let why: Vec<String> = error.failures.iter().map(Failure::to_string).collect();
                reporter.say("warning", &format!("no SASS: {}", why.join("; ")));
                continue;
            }
            Err(error) => return Err(reporter.errors(&error)),
        };
        if emit == Emit::Ptx {
            reporter.notices(&compiled);
        }
        let text = compiled.text().unwrap_or_default();
        let (text, places) = match emit {
            Emit::Tile | Emit::Cute | Emit::Mlir => of_mlir(text),
            Emit::LlvmRaw | Emit::Llvm => (text.to_owned(), of_llvm(text)),
            Emit::Ptx => (text.to_owned(), of_ptx(text)),
            Emit::Sass => (
                text.to_owned(),
                of_sass(text, links.lines.keys().chain([&source.name])),
            ),
            Emit::Cubin | Emit::Abi => (text.to_owned(), Vec::new()),
        };
        for (line, file, source_line) in places {
            let of_file = links.lines.entry(file).or_default();
            let of_level = of_file
                .entry(source_line)
                .or_default()
                .entry(emit.name())
                .or_default();
            if of_level.last() != Some(&line) {
                of_level.push(line);
            }
        }
        let name = format!("{stem}.{extension}");
        links.levels.insert(emit.name(), name.clone());
        files.push((folder.join(name), text));
    }
    let json = serde_json::to_string(&links).map_err(CommandError::message)?;
    files.push((folder.join("lines.json"), json + "\n"));
    std::fs::create_dir_all(folder).map_err(|error| {
        CommandError::Message(format!("cannot make {}: {error}", folder.display()))
    })?;
    files
        .iter()
        .try_for_each(|(path, text)| output::write(path, text.as_bytes()))
}

/// A line of a level, and the file and line that it came of.
type Place = (usize, String, u32);

/// The text without its locations, and what they say.
fn of_mlir(text: &str) -> (String, Vec<Place>) {
    let definitions: HashMap<&str, &str> = text
        .lines()
        .filter(|line| line.starts_with("#loc"))
        .filter_map(|line| line.split_once(" = "))
        .collect();
    let (mut plain, mut places) = (String::new(), Vec::new());
    let mut number = 0;
    // Attributes of locations alone, `#di_…`, stand there too.
    let of_locations = |line: &&str| line.starts_with("#loc") || line.starts_with("#di_");
    for line in text.lines().filter(|line| !of_locations(line)) {
        number += 1;
        let mut rest = line;
        let mut last = None;
        while let Some((before, behind)) = rest.split_once(" loc(") {
            plain.push_str(before);
            let mut depth = 1;
            let end = behind.find(|character| {
                match character {
                    '(' => depth += 1,
                    ')' => depth -= 1,
                    _ => {}
                }
                depth == 0
            });
            let end = end.unwrap_or(behind.len());
            last = Some(&behind[..end]);
            rest = behind.get(end + 1..).unwrap_or("");
        }
        plain.push_str(rest);
        plain.push('\n');
        if let Some((file, line)) = last.and_then(|place| resolved(place, &definitions, 0)) {
            places.push((number, file, line));
        }
    }
    (plain, places)
}

/// The first place of a location of MLIR, behind its aliases.
fn resolved(
    location: &str,
    definitions: &HashMap<&str, &str>,
    depth: usize,
) -> Option<(String, u32)> {
    if depth > 8 {
        return None;
    }
    // "file":11:13, which a name in front of it has no colon behind.
    for (start, _) in location.match_indices('"') {
        let Some((name, behind)) = location[start + 1..].split_once('"') else {
            break;
        };
        let digits = behind
            .strip_prefix(':')
            .and_then(|rest| rest.split(':').next());
        if let Some(line) = digits.and_then(|digits| digits.parse().ok()) {
            return Some((name.to_owned(), line)).filter(|_| line > 0);
        }
    }
    let start = location.find("#loc")?;
    let alias = &location[start..];
    let end = alias[1..]
        .find(|c: char| !c.is_ascii_alphanumeric())
        .map_or(alias.len(), |end| end + 1);
    resolved(definitions.get(&alias[..end])?, definitions, depth + 1)
}

/// By the metadata of `!dbg`.
fn of_llvm(text: &str) -> Vec<Place> {
    let metadata: HashMap<&str, &str> = text
        .lines()
        .filter(|line| line.starts_with('!'))
        .filter_map(|line| line.split_once(" = "))
        .collect();
    let field = |of: &str, key: &str| -> Option<String> {
        let (_, behind) = of.split_once(key)?;
        let end = behind.find([',', ')']).unwrap_or(behind.len());
        Some(behind[..end].trim().trim_matches('"').to_owned())
    };
    // The file of a scope, which may lie in others.
    let file_of = |scope: &str| -> Option<String> {
        let mut scope = scope.to_owned();
        for _ in 0..32 {
            let of = metadata.get(scope.as_str())?;
            match field(of, "file: ") {
                Some(file) => {
                    let of = metadata.get(file.as_str())?;
                    let (folder, name) = (field(of, "directory: ")?, field(of, "filename: ")?);
                    return Some(match folder.as_str() {
                        "" => name,
                        folder => format!("{}/{name}", folder.trim_end_matches('/')),
                    });
                }
                None => scope = field(of, "scope: ")?,
            }
        }
        None
    };
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.starts_with(' '));
    lines
        .filter_map(|(number, line)| {
            let (_, id) = line.rsplit_once("!dbg ")?;
            let id = id.split([',', ' ']).next()?;
            let location = metadata.get(id).filter(|it| it.contains("DILocation("))?;
            let source_line: u32 = field(location, "line: ")?.parse().ok()?;
            let file = file_of(&field(location, "scope: ")?)?;
            (source_line > 0).then_some((number + 1, file, source_line))
        })
        .collect()
}

/// By `.loc` and `.file`.
fn of_ptx(text: &str) -> Vec<Place> {
    let files: HashMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix(".file"))
        .filter_map(|line| {
            let (number, name) = line.trim().split_once([' ', '\t'])?;
            Some((number, name.trim().split('"').nth(1)?))
        })
        .collect();
    let mut places = Vec::new();
    let mut place: Option<(&str, u32)> = None;
    for (number, line) in text.lines().enumerate() {
        let code = line.trim();
        if let Some(location) = code.strip_prefix(".loc") {
            let mut words = location.split_whitespace();
            let file = words.next().and_then(|file| files.get(file)).copied();
            let line = words.next().and_then(|line| line.parse().ok());
            place = file.zip(line.filter(|line| *line > 0));
        } else if code.ends_with(';') && !code.starts_with('.') {
            places.extend(place.map(|(file, line)| (number + 1, file.to_owned(), line)));
        } else if code == "}" && !line.starts_with([' ', '\t']) {
            place = None;
        }
    }
    places
}

/// By the lines of the source that a listing has beside the first instruction of each. It names a file without its folder:
/// of the whole names in `files` the last one with it is meant.
fn of_sass<'f>(text: &str, files: impl Iterator<Item = &'f String>) -> Vec<Place> {
    let files: HashMap<&str, &str> = files
        .map(|file| (file.rsplit('/').next().unwrap_or(file), file.as_str()))
        .collect();
    let mut places = Vec::new();
    let mut place: Option<(String, u32)> = None;
    for (number, line) in text.lines().enumerate() {
        if !line.starts_with(' ') {
            if !line.starts_with('.') {
                place = None;
            }
            continue;
        }
        if let Some((_, said)) = line.rsplit_once(" // ")
            && let Some((file, rest)) = said.split_once(':')
            && let Some(source_line) = rest
                .split(' ')
                .next()
                .and_then(|digits| digits.parse().ok())
        {
            let file = files.get(file).copied().unwrap_or(file);
            place = Some((file.to_owned(), source_line));
        }
        places.extend(place.clone().map(|(file, line)| (number + 1, file, line)));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(level: usize, line: u32) -> Place {
        (level, "a.cute".to_owned(), line)
    }

    #[test]
    fn locations_leave_the_text_and_are_kept() {
        let text = "func @k(%x: i32 loc(\"x\"(#loc1))) {\n  op %x : i32 loc(#loc2)\n} loc(#loc1)\n#loc = loc(unknown)\n\
                    #loc1 = loc(\"a.cute\":1:8)\n#loc2 = loc(callsite(#loc3 at #loc1))\n#loc3 = loc(\"a.cute\":2:5)\n";
        let (plain, places) = of_mlir(text);
        assert_eq!(plain, "func @k(%x: i32) {\n  op %x : i32\n}\n");
        assert_eq!(places, [place(1, 1), place(2, 2), place(3, 1)]);
    }

    #[test]
    fn lines_of_ptx_and_llvm_come_of_their_directives() {
        let ptx = "\t.loc 1 4 0\n\tadd.s32 a, b, c;\n\t.loc 1 0 16\n\tmov.b32 a, b;\n}\n\t.file 1 \"a.cute\"\n";
        assert_eq!(of_ptx(ptx), [place(2, 4)]);
        let llvm = "define void @k() !dbg !2 {\n  ret void, !dbg !3\n}\n!1 = !DIFile(filename: \"a.cute\", directory: \"b\")\n\
                    !2 = distinct !DISubprogram(name: \"k\", scope: !1, file: !1, line: 1)\n!3 = !DILocation(line: 9, column: 2, scope: !2)\n";
        assert_eq!(of_llvm(llvm), [(2, "b/a.cute".to_owned(), 9)]);
    }

    #[test]
    fn a_listing_goes_on_until_it_says_another_line() {
        let sass = "k:\n  /*0000*/  MOV ;   // a.cute:3  let x;\n  /*0010*/  MOV ;\n.L_x_1:\n  /*0020*/  EXIT ;  // a.cute:4  }\n";
        assert_eq!(
            of_sass(sass, [&"a.cute".to_owned()].into_iter()),
            [place(2, 3), place(3, 3), place(5, 4)]
        );
    }
}
