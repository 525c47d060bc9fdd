// SPDX-License-Identifier: MIT
//! Kernels whose operands have other element types than `f32`.

use morello::{
    Bf16, Dtype, Element, Kernel, Layout, Scratch, Slice, SliceMut, Spec, Status, Tensor, F16,
};

fn kernel(text: &str) -> (Spec, Kernel) {
    let spec: Spec = text.parse().unwrap();
    let kernel = Kernel::new(&spec).unwrap();
    (spec, kernel)
}

#[test]
fn floats_of_16_bits_round_to_even() {
    assert_eq!(Bf16::from_f32(1.0).0, 0x3f80);
    assert_eq!(Bf16::from_f32(1.003_906_25).0, 0x3f80); // half way
    assert_eq!(Bf16::from_f32(1.011_718_75).0, 0x3f82);
    assert_eq!(Bf16::from_f32(f32::MAX).0, 0x7f80);
    assert_eq!(Bf16::from_f32(-0.0).0, 0x8000);
    assert_eq!(F16::from_f32(65519.0).0, 0x7bff);
    assert_eq!(F16::from_f32(65520.0).0, 0x7c00);
    assert_eq!(F16::from_f32(5.960_464_5e-8).0, 1);
    assert_eq!(F16::from_f32(2.9e-8).0, 0);
    assert_eq!(F16::from_f32(f32::NEG_INFINITY).0, 0xfc00);
    assert!(Bf16::from_f32(f32::NAN).to_f32().is_nan());
    assert!(F16::from_f32(f32::NAN).to_f32().is_nan());
    for bits in 0..=u16::MAX {
        for (value, back) in [
            (F16(bits).to_f32(), F16::from_f32(F16(bits).to_f32()).0),
            (Bf16(bits).to_f32(), Bf16::from_f32(Bf16(bits).to_f32()).0),
        ] {
            assert!(back == bits || value.is_nan(), "{bits:x}");
        }
    }
}

#[test]
fn a_quantized_product_in_slices_of_its_types() {
    let (spec, kernel) = kernel("matmul u8[2,3] i8[3,2] + i32[2] * f32[2] -> u8[2,2]");
    let (a, b) = (vec![1u8, 2, 255, 0, 4, 9], [1i8, -1, 2, 100, -3, 127]);
    let (bias, scale) = ([900i32, 0], [0.5f32, 0.01]);
    let inputs: [Slice; 4] = [(&a).into(), (&b).into(), (&bias).into(), (&scale).into()];
    let (mut c, mut want) = ([7u8; 4], [0u8; 4]);
    kernel.run_any(&inputs, (&mut c).into()).unwrap();
    spec.evaluate_any(&inputs, (&mut want).into()).unwrap();
    assert_eq!(c, want);
    assert_eq!(c, [70, 255, 255, 15]); // (1 + 4 - 765 + 900) / 2; 323.. and more saturate
    let mut scratch = Scratch::new();
    kernel.run_any_with(&inputs, (&mut want).into(), Some(&mut scratch), None).unwrap();
    assert_eq!(c, want);
}

fn moves<T: Element + PartialEq + std::fmt::Debug>(values: [T; 3]) {
    let tensor = Tensor::new(T::DTYPE, &[3]);
    let spec = Spec::copy(&tensor, &tensor).unwrap();
    assert_eq!(spec.operands().unwrap()[0].dtype, T::DTYPE);
    let kernel = Kernel::new(&spec).unwrap();
    assert_eq!(kernel.operand_len(0), Some(3));
    let mut out = vec![T::default(); 3];
    kernel.run_any(&[(&values).into()], (&mut out).into()).unwrap();
    assert_eq!(out, values);
}

#[test]
fn every_element_type_has_slices() {
    moves([1.5f32, -2.0, 0.25]);
    moves([Bf16(0x3f80), Bf16(1), Bf16(0x8000)]);
    moves([F16(0x3c00), F16(1), F16(0x8000)]);
    moves([-128i8, 0, 127]);
    moves([0u8, 128, 255]);
    moves([i32::MIN, 16_777_217, i32::MAX]);
}

#[test]
fn packed_weights_have_the_elements_of_the_operand() {
    let text = "matmul bf16[1,40] bf16[40,33]{*} -> f32[1,33]";
    let (spec, kernel) = kernel(text);
    assert_eq!(spec.operands().unwrap()[1].layout, Layout::Free);
    let a: Vec<Bf16> = (0..40).map(|i| Bf16::from_f32(i as f32 - 20.0)).collect();
    let b: Vec<Bf16> = (0..40 * 33).map(|i| Bf16::from_f32((i % 7) as f32 - 3.0)).collect();
    let packed = kernel.pack(1, &b).unwrap();
    let (mut c, mut want) = (vec![0.0f32; 33], vec![0.0f32; 33]);
    kernel.run_any(&[(&a).into(), (&packed).into()], (&mut c).into()).unwrap();
    spec.evaluate_any(&[(&a).into(), (&b).into()], (&mut want).into()).unwrap();
    assert_eq!(c, want); // small integers: exact in any order
    assert_eq!(
        kernel.pack(1, &vec![0.0f32; 40 * 33]).unwrap_err().status(),
        Status::InvalidArgument
    );
}

#[test]
fn slices_of_another_type_or_length_are_refused() {
    let (_, kernel) = kernel("relu bf16[4] -> f32[4]");
    let (x, short, mut y) = ([Bf16(0); 4], [Bf16(0); 3], [0.0f32; 4]);
    let run = |input: Slice, output: SliceMut| kernel.run_any(&[input], output).unwrap_err();
    let error = run((&y.clone()).into(), (&mut y).into());
    assert_eq!(error.status(), Status::InvalidArgument);
    assert!(error.to_string().contains("operand 0 is Bf16; its slice is F32"), "{error}");
    let error = run((&short).into(), (&mut y).into());
    assert_eq!(error.status(), Status::OperandTooSmall);
    let mut wrong = [0i32; 4];
    let error = run((&x).into(), (&mut wrong).into());
    assert!(error.to_string().contains("operand 1 is F32"), "{error}");
    let error = kernel.run(&[&y.clone()], &mut y).unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    assert_eq!(Dtype::Bf16.size(), 2);
}
