//! Each way in which a launch is refused, and what is accepted.

use cutec_abi::bind::{LaunchParam, Part, Place, RangeReason, ScalarValue};
use cutec_abi::tensor_map::{L2Promotion, MapProblem, MapSwizzle, MapView, OobFill, TensorMapAbi};
use cutec_abi::{Abi, DType};
use cutec_abi::{
    AbiExpr, Arg, ArgAbi, BindError, Dim, ExprError, KernelAbi, ParamAbi, Promise, ScalarAbi,
    SymbolAbi, SymbolSource, TensorAbi, TensorDesc, Width,
};

fn tensor(name: &str, dtype: DType, extents: Vec<Dim>, strides: Vec<AbiExpr>) -> TensorAbi {
    TensorAbi {
        name: name.into(),
        dtype,
        mutable: false,
        align: 16,
        extents,
        strides,
    }
}

fn symbol(name: &str, from: SymbolSource) -> SymbolAbi {
    SymbolAbi {
        name: name.into(),
        width: Width::W32,
        divisible_by: 1,
        max: None,
        from,
    }
}

/// `kernel gemm(a: tensor<f16, (m, k)>, b: tensor<f16, (k, 64) : (1, ld)>,
/// c: mut tensor<f16, (m, 64)>, alpha: f32) where k % 8 == 0, ld >= k`
pub fn gemm() -> KernelAbi {
    let (m, k, ld) = (0, 1, 2);
    let mut c = tensor(
        "c",
        DType::F16,
        vec![Dim::Symbol(m), Dim::Static(64)],
        vec![64.into(), 1.into()],
    );
    c.mutable = true;
    KernelAbi {
        name: "gemm".into(),
        entry: "gemm_sm80".into(),
        target: "sm_80".into(),
        source: Some("gemm.cute".into()),
        args: vec![
            ArgAbi::Tensor(tensor(
                "a",
                DType::F16,
                vec![Dim::Symbol(m), Dim::Symbol(k)],
                vec![AbiExpr::Symbol(k), 1.into()],
            )),
            ArgAbi::Tensor(tensor(
                "b",
                DType::F16,
                vec![Dim::Symbol(k), Dim::Static(64)],
                vec![1.into(), AbiExpr::Symbol(ld)],
            )),
            ArgAbi::Tensor(c),
            ArgAbi::Scalar(ScalarAbi {
                name: "alpha".into(),
                dtype: DType::F32,
            }),
        ],
        symbols: vec![
            symbol("m", SymbolSource::Extent { arg: 0, mode: 0 }),
            SymbolAbi {
                divisible_by: 8,
                ..symbol("k", SymbolSource::Extent { arg: 0, mode: 1 })
            },
            SymbolAbi {
                width: Width::W64,
                divisible_by: 8,
                ..symbol("ld", SymbolSource::Stride { arg: 1, mode: 1 })
            },
        ],
        tensor_maps: vec![],
        params: vec![
            ParamAbi::Pointer { arg: 0 },
            ParamAbi::Pointer { arg: 1 },
            ParamAbi::Pointer { arg: 2 },
            ParamAbi::Symbol { index: m },
            ParamAbi::Symbol { index: k },
            ParamAbi::Symbol { index: ld },
            ParamAbi::Scalar { arg: 3 },
        ],
        promises: vec![Promise {
            text: "ld >= k".into(),
            expr: AbiExpr::Ge(Box::new(AbiExpr::Symbol(ld)), Box::new(AbiExpr::Symbol(k))),
        }],
        grid: [
            AbiExpr::ceil_div(AbiExpr::Symbol(m), 128),
            1.into(),
            1.into(),
        ],
        persistent: false,
        cluster: None,
        pdl: false,
        cooperative: false,
        block: Some([256.into(), 1.into(), 1.into()]),
        smem_bytes: 65536,
        defines: [("bm".to_string(), "128".to_string())].into(),
        smem: None,
        tiles: None,
        candidates: Default::default(),
        tunable: vec![],
        resources: None,
    }
}

fn desc(dtype: DType, shape: &[i64], strides: &[i64]) -> TensorDesc {
    TensorDesc {
        dtype,
        shape: shape.into(),
        strides: strides.into(),
        align: 256,
        mutable: true,
    }
}

pub fn args(m: i64, k: i64) -> Vec<Arg> {
    vec![
        Arg::Tensor(desc(DType::F16, &[m, k], &[k, 1])),
        Arg::Tensor(desc(DType::F16, &[k, 64], &[1, k])),
        Arg::Tensor(desc(DType::F16, &[m, 64], &[64, 1])),
        Arg::Scalar(ScalarValue::new(DType::F32, 0.5)),
    ]
}

pub fn change(args: &mut [Arg], index: usize, change: impl FnOnce(&mut TensorDesc)) {
    match &mut args[index] {
        Arg::Tensor(tensor) => change(tensor),
        Arg::Scalar(_) => panic!("argument {index} is a scalar"),
    }
}

fn refused(index: usize, with: impl FnOnce(&mut TensorDesc)) -> BindError {
    let mut args = args(1000, 40);
    change(&mut args, index, with);
    gemm().bind(&args).unwrap_err()
}

#[test]
fn a_good_launch() {
    let launch = gemm().bind(&args(1000, 40)).unwrap();
    assert_eq!(launch.entry, "gemm_sm80");
    assert_eq!(
        (launch.grid, launch.block, launch.smem_bytes),
        ([8, 1, 1], [256, 1, 1], 65536)
    );
    use LaunchParam::*;
    let alpha = Scalar(ScalarValue::new(DType::F32, 0.5));
    assert_eq!(
        launch.params,
        [
            Pointer(0),
            Pointer(1),
            Pointer(2),
            I32(1000),
            I32(40),
            I64(40),
            alpha
        ]
    );
}

#[test]
fn empty_tensors_launch_nothing() {
    let launch = gemm().bind(&args(0, 40)).unwrap();
    assert!(launch.is_empty());
    assert_eq!(launch.grid, [0, 1, 1]);
    // k = 0: the products are sums of nothing, but there are outputs to write.
    assert!(!gemm().bind(&args(128, 0)).unwrap().is_empty());
}

#[test]
fn strides_of_single_elements_do_not_matter() {
    let mut one_row = args(1, 40);
    change(&mut one_row, 0, |a| a.strides[0] = 12345);
    change(&mut one_row, 2, |c| c.strides[0] = 0);
    gemm().bind(&one_row).unwrap();
    // A kernel computes with strides as with numbers that are not negative.
    let mut kernel = gemm();
    kernel.promises.clear();
    let ArgAbi::Tensor(b) = &mut kernel.args[1] else {
        panic!("b is a tensor");
    };
    b.extents[1] = Dim::Static(1);
    let mut one_column = args(8, 8);
    change(&mut one_column, 1, |b| {
        (b.shape, b.strides) = (vec![8, 1], vec![1, -40]);
    });
    let launch = kernel.bind(&one_column).unwrap();
    assert_eq!(launch.params[5], LaunchParam::I64(0));
}

#[test]
fn number_and_kind_of_arguments() {
    let error = gemm().bind(&args(8, 8)[..2]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`gemm` takes 4 arguments (`a`, `b`, `c`, `alpha`), found 2"
    );
    let mut swapped = args(8, 8);
    swapped.swap(2, 3);
    let kind = |arg: &str, expected, found| BindError::Kind {
        arg: arg.into(),
        expected,
        found,
    };
    assert_eq!(gemm().bind(&swapped), Err(kind("c", "tensor", "scalar")));
    swapped[2] = swapped[3].clone();
    assert_eq!(
        gemm().bind(&swapped),
        Err(kind("alpha", "scalar", "tensor"))
    );
    let error = Abi::new(vec![gemm()]).bind("gem", &[]).unwrap_err();
    assert_eq!(error.to_string(), "no kernel `gem`: expected one of `gemm`");
}

#[test]
fn element_types() {
    let error = refused(1, |b| b.dtype = DType::BF16);
    assert_eq!(
        error.to_string(),
        "`b`: expected element type f16, found bf16"
    );
    let mut args = args(8, 8);
    args[3] = Arg::Scalar(ScalarValue::new(DType::F64, 0.5));
    let (arg, expected, found) = ("alpha".into(), DType::F32, DType::F64);
    assert_eq!(
        gemm().bind(&args),
        Err(BindError::DType {
            arg,
            expected,
            found
        })
    );
}

#[test]
fn ranks_and_extents() {
    let error = refused(0, |a| {
        a.shape.push(1);
        a.strides.push(1);
    });
    assert_eq!(
        error.to_string(),
        "`a`: expected rank 2, found rank 3 (shape [1000, 40, 1])"
    );
    let error = refused(0, |a| a.strides.push(1));
    assert!(matches!(
        error,
        BindError::Malformed {
            extents: 2,
            strides: 3,
            ..
        }
    ));
    let error = refused(0, |a| a.shape[1] = -40);
    assert!(matches!(
        error,
        BindError::NegativeExtent {
            mode: 1,
            found: -40,
            ..
        }
    ));
    let error = refused(2, |c| c.shape[1] = 65);
    assert_eq!(
        error.to_string(),
        "`c`: expected extent 64 in mode 1, found 65"
    );
}

#[test]
fn tied_extents_name_both_places() {
    let error = refused(2, |c| c.shape[0] = 999);
    assert_eq!(
        error,
        BindError::TiedExtent {
            symbol: "m".into(),
            first: Place {
                arg: "a".into(),
                part: Part::Extent(0)
            },
            first_value: 1000,
            second: Place {
                arg: "c".into(),
                part: Part::Extent(0)
            },
            second_value: 999,
        }
    );
    assert_eq!(
        error.to_string(),
        "`m` must be one number: mode 0 of `a` is 1000, but mode 0 of `c` is 999"
    );
}

#[test]
fn computed_extents() {
    let mut kernel = gemm();
    let ArgAbi::Tensor(c) = &mut kernel.args[2] else {
        panic!()
    };
    c.extents[0] = Dim::Expr(AbiExpr::mul(2, AbiExpr::Symbol(0)));
    let error = kernel.bind(&args(8, 8)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`c`: expected extent 2 * m = 16 in mode 0, found 8"
    );
}

#[test]
fn strides() {
    let error = refused(0, |a| a.strides = vec![1, 1000]);
    assert_eq!(
        error.to_string(),
        "`a`: expected stride k = 40 in mode 0, found 1 (shape [1000, 40], strides [1, 1000])"
    );
    let error = refused(2, |c| c.strides[1] = 2);
    assert!(
        error
            .to_string()
            .starts_with("`c`: expected stride 1 in mode 1, found 2")
    );
}

#[test]
fn sizes_beyond_the_address_space() {
    let error = refused(1, |b| b.strides[1] = i64::MAX / 4);
    assert!(matches!(error, BindError::TooLarge { .. }), "{error}");
    let error = refused(1, |b| b.strides[1] = -8);
    assert!(matches!(error, BindError::TooLarge { .. }), "{error}");
}

#[test]
fn divisibility() {
    let error = gemm().bind(&args(1000, 42)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "mode 1 of `a`: `k` must be divisible by 8, found 42"
    );
    let error = refused(1, |b| b.strides[1] = 41);
    assert_eq!(
        error.to_string(),
        "stride of mode 1 of `b`: `ld` must be divisible by 8, found 41"
    );
}

#[test]
fn ranges() {
    let large = i64::from(i32::MAX) + 1;
    let mut narrow = args(large, 8);
    let error = gemm().bind(&narrow).unwrap_err();
    assert_eq!(
        error.to_string(),
        "mode 0 of `a`: `m` must be at most 2147483647 (it is passed as i32), found 2147483648"
    );
    let mut kernel = gemm();
    kernel.symbols[0].max = Some(512);
    narrow = args(513, 8);
    let error = kernel.bind(&narrow).unwrap_err();
    assert!(matches!(
        error,
        BindError::Range {
            max: 512,
            why: RangeReason::Bound,
            ..
        }
    ));
    kernel.symbols[0].max = None;
    kernel.symbols[0].width = Width::W64;
    assert_eq!(
        kernel.bind(&args(large, 8)).unwrap().params[3],
        LaunchParam::I64(large)
    );
}

#[test]
fn alignment_and_mutability() {
    let error = refused(0, |a| a.align = 8);
    assert_eq!(
        error.to_string(),
        "`a`: expected a base address aligned to 16 bytes, found alignment 8"
    );
    assert_eq!(
        refused(2, |c| c.mutable = false),
        BindError::ReadOnly { arg: "c".into() }
    );
    let mut kernel = args(8, 8);
    change(&mut kernel, 0, |a| a.mutable = false);
    gemm().bind(&kernel).unwrap();
}

#[test]
fn promises() {
    let error = refused(1, |b| b.strides[1] = 32);
    assert_eq!(
        error.to_string(),
        "`where ld >= k` does not hold for ld = 32, k = 40"
    );
}

#[test]
fn geometry() {
    let bind = |grid: AbiExpr, block: [i64; 3]| {
        let mut kernel = gemm();
        kernel.grid[1] = grid;
        kernel.block = Some(block.map(AbiExpr::Const));
        kernel.bind(&args(8, 8)).unwrap_err()
    };
    let error = bind(65536.into(), [1, 1, 1]);
    assert_eq!(error.to_string(), "grid.y is 65536: expected 0 to 65535");
    assert!(matches!(
        bind((-1).into(), [1, 1, 1]),
        BindError::Geometry { found: -1, .. }
    ));
    assert!(matches!(
        bind(1.into(), [0, 1, 1]),
        BindError::Geometry { what: "block", .. }
    ));
    assert!(matches!(
        bind(1.into(), [1, 1, 65]),
        BindError::Geometry { axis: 'z', .. }
    ));
    assert_eq!(
        bind(1.into(), [64, 32, 1]),
        BindError::BlockSize { found: 2048 }
    );
    let divided = AbiExpr::Div(Box::new(AbiExpr::Symbol(0)), Box::new(0.into()));
    let error = bind(divided, [1, 1, 1]);
    assert!(matches!(
        &error,
        BindError::Expr {
            error: ExprError::DivisionByZero { .. },
            ..
        }
    ));
    assert_eq!(error.to_string(), "grid.y: division by zero in `m / 0`");
}

#[test]
fn an_unvalidated_abi_does_not_panic() {
    let mut kernel = gemm();
    kernel.symbols[0].from = SymbolSource::Extent { arg: 9, mode: 0 };
    assert!(matches!(
        kernel.bind(&args(8, 8)),
        Err(BindError::Inconsistent { .. })
    ));
    let mut kernel = gemm();
    kernel.params[0] = ParamAbi::Scalar { arg: 0 };
    assert!(matches!(
        kernel.bind(&args(8, 8)),
        Err(BindError::Inconsistent { .. })
    ));
    let mut kernel = gemm();
    kernel.params[0] = ParamAbi::Symbol { index: 9 };
    assert!(matches!(
        kernel.bind(&args(8, 8)),
        Err(BindError::Inconsistent { .. })
    ));
}

#[test]
fn symbols_from_scalars() {
    let mut kernel = gemm();
    kernel.args[3] = ArgAbi::Scalar(ScalarAbi {
        name: "splits".into(),
        dtype: DType::I32,
    });
    kernel
        .symbols
        .push(symbol("splits", SymbolSource::Scalar { arg: 3 }));
    kernel.grid[2] = AbiExpr::Symbol(3);
    let mut args = args(8, 8);
    args[3] = Arg::Scalar(ScalarValue::new(DType::I32, 4.0));
    assert_eq!(kernel.bind(&args).unwrap().grid, [1, 1, 4]);
    args[3] = Arg::Scalar(ScalarValue::new(DType::I32, -4.0));
    assert!(
        kernel
            .bind(&args)
            .unwrap_err()
            .to_string()
            .contains("grid.z is -4")
    );
}

/// [`gemm`] with `b`, column-major, through a tensor map instead of a pointer.
pub fn gemm_with_map() -> KernelAbi {
    let mut kernel = gemm();
    kernel.tensor_maps.push(TensorMapAbi {
        view: None,
        arg: 1,
        order: vec![0, 1],
        box_extents: vec![64, 128],
        im2col: None,
        swizzle: MapSwizzle::B128,
        l2_promotion: L2Promotion::B128,
        oob_fill: OobFill::Nan,
        tf32: false,
    });
    kernel.params[1] = ParamAbi::TensorMap { index: 0 };
    kernel
}

#[test]
fn tensor_maps() {
    let launch = gemm_with_map().bind(&args(1000, 40)).unwrap();
    assert_eq!(launch.params[1], LaunchParam::TensorMap(0));
    let map = &launch.tensor_maps[0];
    assert_eq!((map.arg, map.dtype), (1, DType::F16));
    assert_eq!(
        (map.extents.as_slice(), map.stride_bytes.as_slice()),
        (&[40, 64][..], &[80][..])
    );
    let refused = |with: &dyn Fn(&mut TensorDesc)| {
        let (mut kernel, mut args) = (gemm_with_map(), args(1000, 40));
        let ArgAbi::Tensor(b) = &mut kernel.args[1] else {
            panic!()
        };
        b.align = 1;
        change(&mut args, 1, with);
        kernel.bind(&args).unwrap_err()
    };
    let error = refused(&|b| b.align = 8);
    assert!(matches!(
        error,
        BindError::TensorMap {
            problem: MapProblem::Align { found: 8 },
            ..
        }
    ));
    let mut kernel = gemm_with_map();
    kernel.symbols[2].divisible_by = 4;
    let mut odd = args(1000, 40);
    change(&mut odd, 1, |b| b.strides[1] = 44);
    let error = kernel.bind(&odd).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`b`: the kernel copies it through a tensor map: stride of mode 1: expected a multiple of 16 \
         bytes, 8 elements of f16, below 2^40, found 88 bytes"
    );
    kernel.tensor_maps[0].order = vec![1, 0];
    let error = kernel.bind(&args(1000, 40)).unwrap_err();
    let inner = MapProblem::InnerStride { mode: 1, found: 40 };
    assert!(matches!(error, BindError::TensorMap { problem, .. } if problem == inner));
}

/// Every second column of `b`, from a place on that `k` says.
fn gemm_with_map_of_view(offset: AbiExpr) -> KernelAbi {
    let mut kernel = gemm_with_map();
    let (k, ld) = (AbiExpr::Symbol(1), AbiExpr::Symbol(2));
    kernel.tensor_maps[0].view = Some(MapView {
        offset,
        extents: vec![k, 32.into()],
        strides: vec![1.into(), AbiExpr::mul(ld, 2)],
    });
    kernel
}

#[test]
fn tensor_maps_of_views() {
    let launch = gemm_with_map_of_view(AbiExpr::Symbol(1)).bind(&args(1000, 40));
    let map = &launch.unwrap().tensor_maps[0];
    assert_eq!(
        (map.extents.as_slice(), map.stride_bytes.as_slice()),
        (&[40, 32][..], &[160][..])
    );
    assert_eq!((map.offset_bytes, map.empty), (80, false));
    // The address is checked where the view begins.
    let odd = gemm_with_map_of_view(3.into()).bind(&args(1000, 40));
    assert!(matches!(
        odd.unwrap_err(),
        BindError::TensorMap {
            problem: MapProblem::Align { found: 2 },
            ..
        }
    ));
    let far = AbiExpr::mul(AbiExpr::Symbol(1), i64::MAX / 40);
    let far = gemm_with_map_of_view(far).bind(&args(1000, 40));
    assert!(matches!(far.unwrap_err(), BindError::Expr { .. }));
    // What ends in front of its begin has no elements.
    let mut kernel = gemm_with_map_of_view(0.into());
    if let Some(view) = &mut kernel.tensor_maps[0].view {
        view.extents[1] = AbiExpr::Const(-3);
    }
    let launch = kernel.bind(&args(1000, 40)).unwrap();
    let map = &launch.tensor_maps[0];
    assert_eq!((map.extents.as_slice(), map.empty), (&[1, 1][..], true));
}

#[test]
fn tensor_maps_of_single_rows() {
    let mut kernel = gemm_with_map();
    let ArgAbi::Tensor(b) = &mut kernel.args[1] else {
        panic!()
    };
    b.extents[1] = Dim::Static(1);
    let mut args = args(8, 40);
    change(&mut args, 1, |b| {
        b.shape[1] = 1;
        b.strides[1] = 3;
    });
    kernel.promises.clear();
    let launch = kernel.bind(&args).unwrap();
    assert_eq!(launch.tensor_maps[0].stride_bytes, [80]);
}

#[test]
fn a_grid_is_made_of_whole_clusters() {
    let mut kernel = gemm();
    let bind = |kernel: &KernelAbi| {
        let args = args(1000, 40);
        let launch = kernel.bind(&args);
        launch
            .map(|launch| (launch.grid, launch.cluster))
            .map_err(|error| error.to_string())
    };
    let (grid, cluster) = bind(&kernel).unwrap();
    assert_eq!(cluster, [1; 3]);
    kernel.cluster = Some([1, 1, 1]);
    assert_eq!(bind(&kernel).unwrap().0, grid);
    let blocks = grid[0] + 1;
    kernel.cluster = Some([blocks, 1, 1]);
    let error = bind(&kernel).unwrap_err();
    assert_eq!(
        error,
        format!(
            "grid.x is {}: expected a multiple of {blocks}, the blocks of a cluster",
            grid[0]
        )
    );
}
