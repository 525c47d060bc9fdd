// SPDX-License-Identifier: MIT
//! Kernels with a size that is known only at run time.

use morello::{Effort, Kernel, Options, Spec, Status};

#[test]
fn runs_every_size() {
    let spec: Spec = "matmul f32[?<=20,8] f32[8,24] -> f32[?,24]".parse().unwrap();
    assert_eq!(spec.largest_size(), 20);
    let kernel = Kernel::with_options(&spec, &Options::new().effort(Effort::Quick)).unwrap();
    assert_eq!(kernel.largest_size(), 20);
    assert!(kernel.cost_at_size(3) > 0.0 && kernel.cost_at_size(21) == 0.0);
    let b = vec![2.0f32; 8 * 24];
    for size in 1..=20 {
        let a = vec![1.0f32; size * 8];
        let mut c = vec![-1.0f32; size * 24 + 1];
        kernel.run_sized(size, &[(&a).into(), (&b).into()], (&mut c).into(), None, None).unwrap();
        assert!(c[..size * 24].iter().all(|&x| x == 16.0) && c[size * 24] == -1.0);
        let fixed = spec.at_size(size).unwrap();
        assert_eq!(fixed.operands().unwrap()[0].shape, &[size, 8]);
    }
}

#[test]
fn refuses_what_does_not_fit() {
    let spec: Spec = "relu f32[?<=4,3]".parse().unwrap();
    let kernel = Kernel::new(&spec).unwrap();
    let (a, mut c) = (vec![1.0f32; 9], vec![0.0f32; 12]);
    let status = |size: usize, c: &mut Vec<f32>| {
        kernel.run_sized(size, &[(&a).into()], c.into(), None, None).unwrap_err().status()
    };
    assert_eq!(status(4, &mut c), Status::OperandTooSmall);
    assert_eq!(status(0, &mut c), Status::InvalidArgument);
    assert_eq!(status(5, &mut c), Status::InvalidArgument);
    assert_eq!(kernel.run(&[&[0.0; 12]], &mut c).unwrap_err().status(), Status::InvalidArgument);
    assert_eq!(spec.at_size(5).unwrap_err().status(), Status::InvalidArgument);
    assert!("relu f32[4,?<=4]".parse::<Spec>().is_err());
}
