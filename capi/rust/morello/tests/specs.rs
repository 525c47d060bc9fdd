// SPDX-License-Identifier: MIT
//! Text, errors and builders.

use morello::{Layout, Op, Spec, Status, Tensor, Write};
use std::collections::HashSet;

const MATMUL: &str = "matmul f32[4,8] f32[8,16] -> f32[4,16]";

#[test]
fn text_round_trip() {
    for text in [
        MATMUL,
        "matmul f32[4,8] f32[8,16]{0,1} -> f32[4,16]",
        "matmul f32[4,8] f32[8,16]{*} -> f32[4,16]",
        "matmul f32[2,4,8] f32[2,8,16] -> f32[2,4,16]",
        "matmul f32[64,768] f32[768,3072] + bias f32[3072] -> relu -> f32[64,3072]",
    ] {
        let spec: Spec = text.parse().unwrap();
        let printed = spec.to_string();
        let again: Spec = printed.parse().unwrap();
        assert_eq!(spec, again, "{text}");
        assert_eq!(again.to_string(), printed);
    }
}

#[test]
fn errors_have_a_place() {
    let error = "matmul f32[4,8] f99[8,16] -> f32[4,16]".parse::<Spec>().unwrap_err();
    assert_eq!(error.status(), Status::UnknownDtype);
    assert_eq!((error.line(), error.column()), (Some(1), Some(17)));
    assert!(error.to_string().starts_with("1:17: "), "{error}");

    let error = "matmul f32[4,8] ->".parse::<Spec>().unwrap_err();
    assert_eq!(error.status(), Status::SyntaxError);
    assert_eq!(error.line(), Some(1));

    let error = "matmul f32[4,0] f32[8,16] -> f32[4,16]".parse::<Spec>().unwrap_err();
    assert_eq!(error.status(), Status::InvalidShape);

    let error = "matmul\0".parse::<Spec>().unwrap_err();
    assert_eq!(error.status(), Status::SyntaxError);
    assert_eq!((error.line(), error.column()), (Some(1), Some(7)));

    let boxed: Box<dyn std::error::Error + Send + Sync> = Box::new(error);
    assert!(!boxed.to_string().is_empty());
}

#[test]
fn builders_equal_text() {
    let f32 = Tensor::f32;
    let built =
        Spec::matmul(&f32(&[4, 8]), &f32(&[8, 16]), &f32(&[4, 16]), Write::Overwrite).unwrap();
    assert_eq!(built, MATMUL.parse().unwrap());

    let fused = built.then(Op::Add, Some(&f32(&[16]))).unwrap().then(Op::Relu, None).unwrap();
    assert_eq!(
        fused,
        "matmul f32[4,8] f32[8,16] + bias f32[16] -> relu -> f32[4,16]".parse().unwrap()
    );

    let mut seen = HashSet::new();
    for spec in [
        built.clone(),
        fused,
        Spec::matmul(&f32(&[4, 8]), &f32(&[8, 16]), &f32(&[4, 16]), Write::Accumulate).unwrap(),
        Spec::einsum("mk,nk->mn", &f32(&[4, 8]), &f32(&[5, 8]), &f32(&[4, 5]), Write::Overwrite)
            .unwrap(),
        Spec::unary(Op::Sqrt, &f32(&[9]), &f32(&[9])).unwrap(),
        Spec::binary(Op::Max, &f32(&[3, 5]), &f32(&[5]), &f32(&[3, 5])).unwrap(),
        Spec::binary(Op::Less, &f32(&[3, 5]), &f32(&[5]), &f32(&[3, 5])).unwrap(),
        Spec::reduce(Op::Add, 1, &f32(&[3, 5]), &f32(&[3]), Write::Overwrite).unwrap(),
        Spec::copy(&f32(&[3, 5]).with_layout(Layout::ColumnMajor), &f32(&[3, 5])).unwrap(),
        Spec::copy(&f32(&[3, 5]).with_layout(Layout::Strided(vec![7, 1])), &f32(&[3, 5])).unwrap(),
        Spec::transpose(&[1, 0], &f32(&[3, 5]), &f32(&[5, 3])).unwrap(),
        Spec::fill(1.5, &f32(&[6])).unwrap(),
    ] {
        assert_eq!(spec, spec.to_string().parse().unwrap(), "{spec}");
        assert!(seen.insert(spec));
    }
    assert!(seen.contains(&built));
}

#[test]
fn operands_are_described() {
    let spec: Spec = "matmul f32[4,8] f32[8,16]{*} -> f32[4,16]".parse().unwrap();
    let operands = spec.operands().unwrap();
    let shapes: Vec<_> = operands.iter().map(|tensor| tensor.shape.clone()).collect();
    assert_eq!(shapes, [[4, 8], [8, 16], [4, 16]]);
    assert_eq!(operands[1].layout, Layout::Free);
    assert_eq!(spec.flops(), 2.0 * 4.0 * 8.0 * 16.0);
}

#[test]
fn bad_tensors_are_refused() {
    let f32 = Tensor::f32;
    let status = |spec: morello::Result<Spec>| spec.unwrap_err().status();
    let matmul = |a: &Tensor| Spec::matmul(a, &f32(&[8, 16]), &f32(&[4, 16]), Write::Overwrite);

    assert_eq!(status(matmul(&f32(&[4, 0]))), Status::InvalidShape);
    assert_eq!(status(matmul(&f32(&[4, 9]))), Status::InvalidShape);
    assert_eq!(status(matmul(&f32(&[4, usize::MAX]))), Status::SizeOverflow);
    assert_eq!(status(matmul(&f32(&[1; 9]))), Status::Unsupported);
    let strided = |strides: &[usize]| f32(&[4, 8]).with_layout(Layout::Strided(strides.to_vec()));
    assert_eq!(status(matmul(&strided(&[8]))), Status::InvalidLayout);
    let permutation = Spec::transpose(&[0], &f32(&[3, 5]), &f32(&[5, 3]));
    assert_eq!(status(permutation), Status::InvalidArgument);
}
