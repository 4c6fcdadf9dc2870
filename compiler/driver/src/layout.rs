//! `cutec layout`: layout expressions, one or one a line, as text or drawn; bank conflicts of an
//! access; atoms by name.

use super::arguments::LayoutArguments;
use super::context::Reporter;
use super::error::{CommandError, CommandResult};
use super::output;
use cutec_dialects::atoms::{self, Atom};
use cutec_layout::banks::{self, Access};
use cutec_layout::draw::{self, Colour, TvTable};
use cutec_layout::expr::{Value, eval};
use cutec_layout::smem::Kind;
use cutec_layout::{AnyLayout, Int, IntTuple, Layout, Tree};
use std::io::{BufRead, Read};

/// Bits of an element of shared memory unless the command line says them.
const DEFAULT_BITS: u32 = 16;

/// The longest line of standard input.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Runs the command.
///
/// # Errors
/// When the expression is wrong or a file cannot be written. Over standard input wrong expressions
/// are results: `error: …` on their line.
pub fn run(arguments: &LayoutArguments, _reporter: &Reporter) -> CommandResult {
    if let Some(name) = &arguments.atom {
        return atom(name, arguments);
    }
    let expression = arguments.expression.as_deref().unwrap_or_default();
    let drawn = arguments.grid || arguments.svg.is_some();
    if expression == "-" {
        if drawn || arguments.access.is_some() {
            return Err(CommandError::Usage(
                "--grid, --svg and --access take one expression, not those of standard input"
                    .to_owned(),
            ));
        }
        return every_line(std::io::stdin().lock());
    }
    if arguments.tile.is_some() && !drawn {
        return Err(CommandError::Usage(
            "--tile draws: give --grid or --svg with it".to_owned(),
        ));
    }
    let value =
        eval(expression).map_err(|error| CommandError::message(error.render(expression)))?;
    let mut text = value.to_string();
    if arguments.grid {
        text = grid(&value, arguments)?;
    }
    let access = match &arguments.access {
        Some(access) => Some(access_to(&drawable(&value)?, access, arguments)?),
        None => None,
    };
    if let Some(path) = &arguments.svg {
        let svg = picture(&drawable(&value)?, access.as_ref(), arguments)?;
        output::write(path, svg.as_bytes())?;
    }
    if let Some(access) = &access {
        text = format!("{}\n{access}", text.trim_end());
    }
    output::write_stdout(format!("{}\n", text.trim_end()).as_bytes())
}

/// A layout expression, drawn as grid and as SVG; `tile` and `bits` as `cutec layout` takes them.
pub struct LayoutPicture {
    /// The value of the expression, as text.
    pub text: String,
    /// As a grid of characters; `None` of what is no layout.
    pub grid: Option<String>,
    /// As a drawing.
    pub svg: Option<String>,
}

impl LayoutPicture {
    /// Evaluates an expression.
    ///
    /// # Errors
    /// Where it is wrong, or the layout does not fit the tile.
    pub fn of(
        expression: &str,
        tile: Option<&str>,
        bits: Option<u32>,
    ) -> Result<Self, CommandError> {
        let value =
            eval(expression).map_err(|error| CommandError::message(error.render(expression)))?;
        let arguments = LayoutArguments {
            expression: None,
            atom: None,
            grid: true,
            svg: None,
            bits,
            tile: tile.map(str::to_owned),
            access: None,
        };
        let (grid, svg) = match drawable(&value) {
            Ok(layout) => (
                Some(grid(&value, &arguments)?),
                Some(picture(&layout, None, &arguments)?),
            ),
            Err(error) if tile.is_some() => return Err(error),
            Err(_) => (None, None),
        };
        Ok(Self {
            text: value.to_string(),
            grid,
            svg,
        })
    }
}

fn grid(value: &Value, arguments: &LayoutArguments) -> Result<String, CommandError> {
    let layout = drawable(value)?;
    match &arguments.tile {
        None => Ok(draw::grid(&layout)),
        Some(tile) => {
            let (layout, tile) = (plain(&layout)?, shape(tile)?);
            let title = format!("{layout} over {tile}");
            draw::grid_tv(&TvTable::over(title, layout, &tile)).map_err(CommandError::message)
        }
    }
}

fn picture(
    layout: &AnyLayout,
    access: Option<&Access>,
    arguments: &LayoutArguments,
) -> Result<String, CommandError> {
    if let Some(access) = access {
        let bits = arguments.bits.unwrap_or(DEFAULT_BITS);
        return Ok(draw::svg_access(layout, access, bits));
    }
    match (&arguments.tile, arguments.bits) {
        (Some(tile), _) => {
            draw::svg_tv(plain(layout)?, &shape(tile)?).map_err(CommandError::message)
        }
        (None, Some(elem_bits)) => Ok(draw::svg(layout, Colour::Bank { elem_bits })),
        (None, None) => Ok(draw::svg(layout, Colour::Thread)),
    }
}

/// `ldmatrix`, with the number of matrices and `_trans` if wanted, or a thread-value layout.
fn access_to(
    layout: &AnyLayout,
    access: &str,
    arguments: &LayoutArguments,
) -> Result<Access, CommandError> {
    let bits = arguments.bits.unwrap_or(DEFAULT_BITS);
    let name = match access {
        "ldmatrix" => "ldmatrix_x4",
        "ldmatrix_trans" => "ldmatrix_x4_trans",
        other => other,
    };
    if let Some(Atom::Copy(atom)) = atoms::find(name)
        && let (
            _,
            Kind::Ldmatrix {
                matrices,
                transpose,
            },
        ) = atom.shared_access()
    {
        return banks::access_ldmatrix(layout, bits, matrices as usize, transpose)
            .map_err(CommandError::message);
    }
    let tv = eval(access).map_err(|error| {
        CommandError::Message(format!(
            "--access takes ldmatrix, ldmatrix_trans or a thread-value layout: {error}"
        ))
    })?;
    banks::access_tv(layout, plain(&drawable(&tv)?)?, bits).map_err(CommandError::message)
}

/// Shows an atom: who holds which elements of its operands.
fn atom(name: &str, arguments: &LayoutArguments) -> CommandResult {
    if name == "list" && arguments.svg.is_none() {
        let known: Vec<String> = atoms::all().into_iter().map(|(name, _)| name).collect();
        return output::write_stdout(format!("{}\n", known.join("\n")).as_bytes());
    }
    let picture = AtomPicture::of(name)?;
    if let Some(path) = &arguments.svg {
        output::write(path, picture.svg()?.as_bytes())?;
    }
    output::write_stdout(picture.text()?.as_bytes())
}

/// Who holds which elements of the operands of an atom.
pub struct AtomPicture {
    title: String,
    tables: Vec<TvTable>,
}

impl AtomPicture {
    /// The atom of that name.
    ///
    /// # Errors
    /// Where there is none; the message lists them all.
    pub fn of(name: &str) -> Result<Self, CommandError> {
        let Some(atom) = atoms::find(name) else {
            let known: Vec<String> = atoms::all().into_iter().map(|(name, _)| name).collect();
            return Err(CommandError::Message(format!(
                "there is no atom `{name}`; there is:\n  {}",
                known.join("\n  ")
            )));
        };
        let (title, tables) = atom_tables(name, atom)?;
        Ok(Self { title, tables })
    }

    /// As grids of characters.
    ///
    /// # Errors
    /// Where a table cannot be drawn.
    pub fn text(&self) -> Result<String, CommandError> {
        let mut text = format!("{}\n", self.title);
        for table in &self.tables {
            text.push('\n');
            text.push_str(&draw::grid_tv(table).map_err(CommandError::message)?);
        }
        Ok(text)
    }

    /// As a drawing.
    ///
    /// # Errors
    /// Where a table cannot be drawn.
    pub fn svg(&self) -> Result<String, CommandError> {
        let svg = match self.tables.as_slice() {
            [a, b, c] => draw::svg_mma(&self.title, a, b, c),
            tables => draw::svg_tables(&self.title, tables),
        };
        svg.map_err(CommandError::message)
    }
}

fn atom_tables(name: &str, atom: Atom) -> Result<(String, Vec<TvTable>), CommandError> {
    let name = name.to_ascii_lowercase();
    Ok(match atom {
        Atom::Copy(atom) => {
            let layouts = atom.layouts();
            let title = format!(
                "{name}: {}, elements of {}",
                threads(layouts.threads),
                atom.elem
            );
            // The rows of the matrices of ldmatrix lie below each other.
            let elements = atom.src_values().max(1);
            let rows = cutec_layout::algebra::cosize(&layouts.src)
                .ok()
                .and_then(|size| size.as_static())
                .unwrap_or(elements)
                / elements;
            let positions = row_major(rows, elements);
            let table = |what: &str, layout: &Layout| TvTable {
                title: format!("{what} {layout}"),
                layout_tv: layout.clone(),
                positions: positions.clone(),
            };
            let src = table("source", &layouts.src);
            (title, vec![src, table("destination", &layouts.dst)])
        }
        Atom::Mma(atom) => {
            let layouts = atom.layouts().map_err(CommandError::message)?;
            let [m, n, k] = layouts.shape;
            let title = format!(
                "{name}: C ({m}, {n}) of {} += A ({m}, {k}) of {} * B ({n}, {k}) of {}, {}",
                atom.c,
                atom.a,
                atom.b,
                threads(layouts.threads)
            );
            let a = TvTable::over(format!("A (M,K) {}", layouts.a), &layouts.a, &pair(m, k));
            // Drawn with K downwards, as it meets C.
            let b = TvTable {
                title: format!("B (K,N) {}", layouts.b),
                layout_tv: layouts.b.clone(),
                positions: row_major(k, n),
            };
            let c = TvTable::over(format!("C (M,N) {}", layouts.c), &layouts.c, &pair(m, n));
            (title, vec![a, b, c])
        }
    })
}

fn threads(count: i64) -> String {
    match count {
        1 => "1 thread".to_owned(),
        _ => format!("{count} threads"),
    }
}

fn pair(rows: i64, columns: i64) -> IntTuple {
    Tree::Node([rows, columns].map(|n| Tree::Leaf(Int::Static(n))).to_vec())
}

fn row_major(rows: i64, columns: i64) -> Layout {
    Layout::concat([Layout::scalar(rows, columns), Layout::scalar(columns, 1)])
}

/// Evaluates one expression a line; an empty line gives an empty line.
fn every_line(mut input: impl BufRead) -> CommandResult {
    let unreadable =
        |reason: String| CommandError::Message(format!("cannot read standard input: {reason}"));
    loop {
        let mut line = Vec::new();
        let mut bounded = input.by_ref().take(MAX_LINE_BYTES + 1);
        let read = bounded.read_until(b'\n', &mut line);
        if read.map_err(|error| unreadable(error.to_string()))? == 0 {
            return Ok(());
        }
        if line.len() as u64 > MAX_LINE_BYTES {
            return Err(unreadable(format!(
                "a line of more than {MAX_LINE_BYTES} bytes"
            )));
        }
        let line = String::from_utf8(line).map_err(|_| unreadable("it is not UTF-8".to_owned()))?;
        let result = match line.trim() {
            "" => String::new(),
            expression => match eval(expression) {
                Ok(value) => value.to_string(),
                Err(error) => format!("error: {}", error.to_string().replace('\n', " ")),
            },
        };
        // Line by line, so that a program at the other end may ask and wait.
        output::write_stdout(format!("{result}\n").as_bytes())?;
    }
}

/// The layout that an expression gives; a shape stands for its column-major layout.
fn drawable(value: &Value) -> Result<AnyLayout, CommandError> {
    match value {
        Value::Layout(layout) => Ok(layout.clone()),
        Value::Tuple(shape) if shape.leaves().iter().all(|leaf| leaf.path().is_empty()) => {
            Ok(AnyLayout::Plain(Layout::col_major(shape.clone())))
        }
        other => Err(CommandError::Message(format!(
            "only a layout can be drawn, and this is {}",
            other.kind()
        ))),
    }
}

fn plain(layout: &AnyLayout) -> Result<&Layout, CommandError> {
    match layout {
        AnyLayout::Plain(layout) => Ok(layout),
        AnyLayout::Composed(_) => Err(CommandError::Message(
            "a thread-value layout is needed, and this is a composed layout".to_owned(),
        )),
    }
}

fn shape(tile: &str) -> Result<IntTuple, CommandError> {
    match eval(tile).map_err(CommandError::message)? {
        Value::Tuple(tile) => Ok(tile),
        other => Err(CommandError::Usage(format!(
            "--tile takes a shape, and this is {}",
            other.kind()
        ))),
    }
}
