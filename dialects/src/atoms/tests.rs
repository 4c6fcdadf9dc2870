//! Every atom is in every list.
use super::*;
use crate::elem::Elem;
use crate::hints::Hints;
use crate::target::TARGETS;
use crate::types::{Vars, parse_type};
use crate::value::Val;
use cutec_layout::Layout;
use cutec_layout::algebra::{cosize, size};
use cutec_layout::tv::Operand;
use std::collections::BTreeSet;

#[test]
fn every_name_is_found_and_every_atom_exists() {
    let atoms = all();
    for (name, atom) in &atoms {
        assert_eq!(find(name), Some(*atom), "{name}");
        atom.verify().unwrap();
    }
    let names: BTreeSet<_> = atoms.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), atoms.len());
}

#[test]
fn names_are_those_of_cute() {
    for name in [
        "SM80_16x8x16_F32BF16BF16F32",
        "sm80_16x8x32_s32s8s8s32",
        "sm80_16x8x16_s32u8s8s32",
        "SM80_16x8x64_S32S4S4S32",
        "sm80_8x8x32_s32u4s4s32",
        "sm80_8x8x4_f64f64f64f64",
        "SM90_16x8x16_F64F64F64F64",
        "sm89_16x8x32_f32e4m3e4m3f32",
        "sm89_16x8x32_f32e4m3e5m2f32",
        "ldmatrix_x4",
        "ldmatrix_x4_trans",
        "cp_async_128",
        "fma_f32",
    ] {
        assert!(find(name).is_some(), "{name}");
    }
    assert_eq!(find("sm80_16x8x16_f32bf16f16f32"), None);
}

#[test]
fn atoms_print_as_types_that_parse_to_them() {
    let context = crate::context();
    for (name, atom) in all() {
        let text = atom.to_string();
        let parsed = match parse_type(&text, &mut Vars::default()).unwrap() {
            Val::CopyAtom(atom) => Atom::Copy(atom),
            Val::MmaAtom(atom) => Atom::Mma(atom),
            other => panic!("{name} is {other}"),
        };
        assert_eq!(parsed, atom, "{name}");
        let ty = melior::ir::Type::parse(&context, &text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(ty.to_string(), text, "{name}");
    }
}

#[test]
fn types_are_read_with_other_spaces_and_printed_in_one_form() {
    let context = crate::context();
    for (written, printed) in [
        (
            "!cute_nvgpu.atom.universal_copy< f16 ,128b, cache=streaming >",
            "!cute_nvgpu.atom.universal_copy<f16, 128 b, cache = streaming>",
        ),
        (
            "!cute_nvgpu.atom.ldsm<val_type=bf16,num_matrices=4,t>",
            "!cute_nvgpu.atom.ldsm<val_type = bf16, num_matrices = 4, t>",
        ),
        (
            "!cute_nvgpu.sm80.mma<\"16x8x16\",elem_type=(bf16,bf16,f32)>",
            "!cute_nvgpu.sm80.mma<\"16x8x16\", elem_type = (bf16, bf16, f32)>",
        ),
    ] {
        let ty = melior::ir::Type::parse(&context, written).unwrap_or_else(|| panic!("{written}"));
        assert_eq!(ty.to_string(), printed);
    }
}

#[test]
fn each_target_has_each_atom_or_names_those_that_do() {
    for (name, atom) in all() {
        let having = TARGETS
            .iter()
            .filter(|target| atom.legal_on(target).is_ok());
        assert!(having.count() > 0, "no target has {name}");
        for target in TARGETS {
            if let Err(error) = atom.legal_on(&target) {
                assert!(error.to_string().contains(target.name), "{error}");
            }
        }
    }
}

#[test]
fn fp8_needs_ada() {
    let atom = find("sm89_16x8x32_f32e4m3e4m3f32").unwrap();
    assert!(atom.legal_on(&Target::parse("sm_80").unwrap()).is_err());
    assert!(atom.legal_on(&Target::parse("sm_89").unwrap()).is_ok());
}

/// Threads and values of a layout.
fn extents(layout: &Layout) -> [i64; 2] {
    [0, 1].map(|mode| {
        let mode = layout.mode(mode).map(|mode| mode.size());
        mode.and_then(|size| size.as_static()).unwrap_or(1)
    })
}

#[test]
fn layouts_are_of_the_threads_that_issue() {
    for (name, atom) in all() {
        let threads = atom.issuer().threads();
        let layouts = match atom {
            Atom::Copy(atom) => {
                let CopyLayouts { src, dst, .. } = atom.layouts();
                assert_eq!(extents(&src)[1], atom.src_values(), "{name}");
                assert_eq!(extents(&dst)[1], atom.dst_values(), "{name}");
                vec![src, dst]
            }
            Atom::Mma(atom) => {
                let MmaLayouts { a, b, c, .. } = atom.layouts().unwrap();
                vec![a, b, c]
            }
        };
        for layout in layouts {
            assert_eq!(extents(&layout)[0], threads, "{name}: {layout}");
        }
    }
}

#[test]
fn each_operand_of_an_mma_is_covered_once_by_threads_and_values() {
    for atom in MmaAtom::all() {
        let layouts = atom.layouts().unwrap();
        let [m, n, k] = layouts.shape;
        let k_of_a = if atom.has_sparse_a() { k / 2 } else { k };
        for (which, layout, elements) in [
            (Operand::A, &layouts.a, m * k_of_a),
            (Operand::B, &layouts.b, n * k),
            (Operand::C, &layouts.c, m * n),
        ] {
            // Each thread names all of what a descriptor describes.
            let of_one = match atom.operand(which).place {
                Place::SharedDescriptor => layout.mode(1).expect("values"),
                Place::Registers | Place::Shared | Place::Global | Place::Anywhere => {
                    layout.clone()
                }
            };
            let layout = &of_one;
            assert!(size(layout).is(elements), "{atom}: {layout}");
            assert!(cosize(layout).unwrap().is(elements), "{atom}: {layout}");
            let offsets: BTreeSet<_> = crate::semantics::offsets_of(layout)
                .unwrap()
                .iter()
                .map(|offset| offset.as_static().unwrap())
                .collect();
            assert_eq!(offsets.len() as i64, elements, "{atom}: {layout}");
        }
    }
}

#[test]
fn registers_hold_what_a_thread_has_of_an_operand() {
    for atom in MmaAtom::all() {
        let MmaLayouts { a, b, c, .. } = atom.layouts().unwrap();
        for (which, layout) in [(Operand::A, a), (Operand::B, b), (Operand::C, c)] {
            let MmaOperand { elem, register, .. } = atom.operand(which);
            let [_, values] = extents(&layout);
            assert_eq!(values % register.elements(elem.bits()), 0, "{atom}");
        }
    }
}

#[test]
fn ldmatrix_reads_rows_of_eight_and_writes_every_element_once() {
    for transpose in [false, true] {
        for op in Ldmatrix::widths(transpose) {
            let atom = CopyAtom::new(CopyOp::Ldmatrix(op), Elem::BF16);
            atom.verify().unwrap();
            let layouts = atom.layouts();
            let elements = 64 * i64::from(op.0.count);
            assert!(size(&layouts.src).is(32 * 8), "{atom}");
            assert!(cosize(&layouts.src).unwrap().is(elements), "{atom}");
            assert!(size(&layouts.dst).is(32 * atom.dst_values()), "{atom}");
            assert!(cosize(&layouts.dst).unwrap().is(elements), "{atom}");
        }
    }
}

#[test]
fn every_shape_of_mma_sync_has_a_name_and_says_its_operands() {
    let word = |elem: Elem| match elem {
        Elem::I8 => "i8",
        Elem::I4 => "i4",
        Elem::U4 => "u4",
        Elem::U8 => "u8",
        Elem::U64 => "u64",
        Elem::F8E4M3 | Elem::F8E5M2 => "f8",
        other => other.name(),
    };
    for shape in &SHAPES {
        assert_eq!(shape.name, shape.op.language_name());
        let of_shape = MmaAtom::all();
        let of_shape = of_shape
            .iter()
            .filter(|atom| atom.op == MmaOp::MmaSync(shape.op));
        let wanted: BTreeSet<&str> = of_shape.map(|atom| word(atom.a)).collect();
        let (_, operands) = shape.documentation.split_once(" Of ").unwrap();
        let words = operands.split(|c: char| !c.is_alphanumeric() && c != '_');
        let said = words.filter(|word| !matches!(*word, "" | "and" | "on" | "sm_89" | "sm_90"));
        assert_eq!(said.collect::<BTreeSet<_>>(), wanted, "{}", shape.name);
    }
    for atom in MmaSync::all() {
        let MmaOp::MmaSync(op) = atom.op else {
            panic!("{atom}")
        };
        assert_eq!(MmaSync::find(&op.language_name()), Some(op), "{atom}");
    }
}

#[test]
fn an_mma_that_there_is_not_names_those_near_it() {
    let mut atoms = MmaAtom::of_types([Elem::BF16, Elem::BF16, Elem::F32]);
    atoms.retain(|atom| atom.issuer() == Issuer::Warp);
    let mut atom = atoms[0];
    assert_eq!(atom.shape(), [16, 8, 16]);
    atom.c = Elem::F16;
    let near = atom.near();
    assert_eq!(
        near[0].to_string(),
        atom.to_string().replace("f16)", "f32)")
    );
    assert!(near.iter().all(|atom| atom.issuer() == Issuer::Warp));
    assert!(atom.verify().unwrap_err().to_string().contains("near it"));
}

#[test]
fn instructions_refuse_hints_that_they_do_not_take() {
    let mut hints = Hints::NONE;
    assert!(hints.set("cache", "streaming"));
    for (name, atom) in all() {
        if let Atom::Copy(mut atom) = atom {
            atom.hints = hints;
            let takes = matches!(atom.op, CopyOp::UniversalCopy(_));
            assert_eq!(atom.verify().is_ok(), takes, "{name}");
        }
    }
}
