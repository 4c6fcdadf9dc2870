//! Shapes and strides that follow from those of other arguments.

use super::bind::gemm;

#[test]
fn leading_dimensions_are_chosen() {
    let kernel = gemm();
    let shapes = [Some(vec![100, 40]), None, None, None];
    let inferred = kernel.infer_shapes(&shapes, &[]).unwrap();
    let of = |index: usize| {
        let at: &cutec_abi::infer::ShapeAndStrides = inferred[index].as_ref().unwrap();
        (at.shape.clone(), at.strides.clone())
    };
    assert_eq!(of(0), (vec![100, 40], vec![40, 1]));
    assert_eq!(of(1), (vec![40, 64], vec![1, 40]));
    assert_eq!(of(2), (vec![100, 64], vec![64, 1]));
    assert_eq!(inferred[3], None);
}
