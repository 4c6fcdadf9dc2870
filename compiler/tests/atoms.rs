//! Every atom is lowered to the PTX that its definition says, on the targets that have it and no other, and the
//! simulator knows that PTX. The lists inside of `dialects/src/atoms` and of the language have tests there.

use cutec::runtime::{Code, Device, SimDevice};
use cutec::{Options, Source, compile};
use cutec_dialects::atoms::{
    Atom, CopyAtom, MmaAtom, MmaOp, MmaOperand, Place, UniversalCopy, all,
};
use cutec_dialects::elem::Elem;
use cutec_dialects::target::{TARGETS, Target};
use cutec_layout::tv::Operand;
use std::fmt::Write;

/// A view in a kernel: its name and its type.
type View = (String, String);

/// A kernel at the cute level.
#[derive(Default)]
struct Kernel {
    arguments: Vec<String>,
    body: String,
    values: usize,
}

impl Kernel {
    /// A view of so many neighbours: of an argument, of shared memory, or of registers.
    fn view(&mut self, place: Place, elem: Elem, values: i64) -> View {
        let layout = neighbours(elem, values);
        self.values += 1;
        let name = format!("%v{}", self.values);
        let of = |space: &str| format!("!cute.memref<{elem}, {space}, align<16>, \"{layout}\">");
        let ty = match place {
            Place::Global | Place::Anywhere => {
                let pointer = format!("%p{}", self.values);
                let pointer_type = format!("!cute.ptr<{elem}, gmem, align<16>>");
                let layout_type = format!("!cute.layout<\"{layout}\">");
                let (ty, operands) = (of("gmem"), format!("{pointer}, {name}_l"));
                self.line(&format!("{name}_l = cute.static : {layout_type}"));
                self.line(&format!(
                    "{name} = cute.make_view({operands}) : ({pointer_type}, {layout_type}) -> {ty}"
                ));
                self.arguments.push(format!("{pointer}: {pointer_type}"));
                ty
            }
            Place::Shared => {
                let ty = of("smem");
                self.line(&format!("{name} = cute.memref.alloc_smem() : () -> {ty}"));
                ty
            }
            Place::SharedDescriptor => panic!("a descriptor is of a matrix"),
            Place::Registers => {
                let ty = of("rmem");
                self.line(&format!("{name} = cute.memref.alloca() : () -> {ty}"));
                ty
            }
        };
        (name, ty)
    }

    /// A matrix in shared memory as a descriptor describes it: `rows` rows, of which an instruction reads so many elements.
    fn matrix(&mut self, elem: Elem, rows: i64, depth: i64) -> View {
        let pieces = 128 / elem.bits();
        let (groups, chunks) = (rows / 8, depth / pieces);
        let next = 8 * pieces * chunks;
        let values = format!(
            "((8,{groups}),({pieces},{chunks})):(({pieces},{next}),(1,{}))",
            8 * pieces
        );
        let (shape, stride) = values.split_once(':').expect("a layout");
        self.values += 1;
        let name = format!("%v{}", self.values);
        let ty = format!("!cute.memref<{elem}, smem, align<16>, \"({shape}):({stride})\">");
        self.line(&format!("{name} = cute.memref.alloc_smem() : () -> {ty}"));
        (name, ty)
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.body, "    {text}");
    }

    /// The operation of an atom on some views.
    fn op(&mut self, name: &str, atom: &str, views: &[View]) {
        self.values += 1;
        let by = format!("%a{}", self.values);
        self.line(&format!("{by} = cute.static : {atom}"));
        let (names, types): (Vec<_>, Vec<_>) = views.iter().cloned().unzip();
        let (names, types) = (names.join(", "), types.join(", "));
        self.line(&format!("{name}({by}, {names}) : {atom}, {types}"));
    }

    /// A plain copy of all that a thread has.
    fn moved(&mut self, elem: Elem, values: i64, from: View, to: View) {
        let atom = UniversalCopy::of_elements(elem, vector(elem, values));
        self.op("cute.copy", &atom.to_string(), &[from, to]);
    }

    fn text(&self) -> String {
        let (arguments, body) = (self.arguments.join(", "), &self.body);
        format!(
            "gpu.module @m {{\n  gpu.func @k({arguments}) kernel {{\n{body}    gpu.return\n  }}\n}}\n"
        )
    }
}

/// How many of so many neighbours a thread moves at a time.
fn vector(elem: Elem, values: i64) -> i64 {
    values.min(128 / elem.bits())
}

/// The layout of so many neighbours, those first that are moved together.
fn neighbours(elem: Elem, values: i64) -> String {
    let vector = vector(elem, values);
    match values / vector {
        1 => format!("({values}):({})", i64::from(values > 1)),
        others => format!("(({vector},{others})):((1,{vector}))"),
    }
}

/// The atoms that kernels are compiled of: of `wgmma`, which has a form for each width, the narrowest and the widest.
fn compiled() -> Vec<(String, Atom)> {
    let mut atoms = all();
    atoms.retain(|(_, atom)| match atom {
        Atom::Mma(atom) => match atom.op {
            MmaOp::Wgmma(shape) => matches!(shape.n, 8 | 256),
            MmaOp::MmaSync(_) | MmaOp::Fma(_) => true,
        },
        Atom::Copy(_) => true,
    });
    atoms
}

/// A kernel that uses an atom for one instruction.
fn kernel_of(atom: &Atom) -> String {
    let mut kernel = Kernel::default();
    match atom {
        Atom::Copy(atom) => copies(&mut kernel, atom),
        Atom::Mma(atom) => multiplies(&mut kernel, atom),
    }
    kernel.text()
}

fn copies(kernel: &mut Kernel, atom: &CopyAtom) {
    let [from, to] = atom.places();
    let (elem, values) = (atom.elem, atom.dst_values());
    let source = kernel.view(from, elem, atom.src_values());
    let target = kernel.view(to, elem, values);
    kernel.op("cute.copy", &atom.to_string(), &[source, target.clone()]);
    match to {
        Place::Registers => {
            let out = kernel.view(Place::Global, elem, values);
            kernel.moved(elem, values, target, out);
        }
        Place::Shared | Place::SharedDescriptor | Place::Global | Place::Anywhere => {}
    }
}

fn multiplies(kernel: &mut Kernel, atom: &MmaAtom) {
    let layouts = atom.layouts().expect("an atom that exists");
    let operands = [
        (Operand::A, layouts.a),
        (Operand::B, layouts.b),
        (Operand::C, layouts.c),
    ];
    let [a, b, c] = operands.map(|(which, layout)| {
        let MmaOperand { elem, place, .. } = atom.operand(which);
        let values = layout.mode(1).and_then(|mode| mode.size().as_static());
        let values = values.expect("a static layout");
        if place == Place::SharedDescriptor {
            let [m, n, _] = atom.shape();
            let rows = if which == Operand::A { m } else { n };
            return (kernel.matrix(elem, rows, values / rows), elem, values);
        }
        let from = kernel.view(Place::Global, elem, values);
        let to = kernel.view(place, elem, values);
        kernel.moved(elem, values, from, to.clone());
        (to, elem, values)
    });
    let (sums, elem, values) = c;
    let mut operands = vec![sums.clone(), a.0, b.0, sums.clone()];
    if atom.has_sparse_a() {
        kernel.line("%adds = arith.constant true");
        operands.push(("%adds".to_owned(), "i1".to_owned()));
        let from = kernel.view(Place::Global, Elem::I32, 1);
        let to = kernel.view(Place::Registers, Elem::I32, 1);
        kernel.moved(Elem::I32, 1, from, to.clone());
        operands.push(to);
    }
    kernel.op("cute.gemm", &atom.to_string(), &operands);
    let out = kernel.view(Place::Global, elem, values);
    kernel.moved(elem, values, sums, out);
}

/// The oldest target that has an atom.
fn target_of(atom: &Atom) -> Target {
    let mut targets = TARGETS.into_iter();
    let found = targets.find(|target| atom.legal_on(target).is_ok());
    found.expect("a target that has the atom")
}

#[test]
fn every_atom_is_lowered_to_its_ptx_which_the_simulator_knows() {
    for (name, atom) in compiled() {
        let text = kernel_of(&atom);
        let source = Source::mlir(format!("{name}.mlir"), text.as_str());
        let compiled = compile(&source, &Options::new(target_of(&atom)));
        let compiled = compiled.unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
        let ptx = compiled.text().expect("PTX");
        for opcode in atom.ptx() {
            assert!(ptx.contains(&opcode), "{name}: no {opcode} in\n{ptx}");
        }
        if let Err(error) = SimDevice::new().load(&Code::Ptx(ptx.into())) {
            panic!("{name}: {error}\n{ptx}");
        }
    }
}

#[test]
fn every_atom_is_refused_on_targets_without_it() {
    for (name, atom) in compiled() {
        for target in TARGETS {
            if atom.legal_on(&target).is_ok() {
                continue;
            }
            let source = Source::mlir(format!("{name}.mlir"), kernel_of(&atom));
            match compile(&source, &Options::new(target)) {
                Ok(_) => panic!("{name} is compiled for {}", target.name),
                Err(error) => assert!(error.to_string().contains(target.name), "{error}"),
            }
        }
    }
}
