// SPDX-License-Identifier: MIT
//! Kernels against loops that anyone can read, and everything that run() must refuse.

use morello::{
    cpu_info, Context, ContextOptions, Isa, Kernel, Layout, Op, Options, Pool, Scratch, Spec,
    Status, Tensor, Write,
};
use std::time::Duration;

/// Multiples of 1/16, so that sums of their products are exact in any order.
fn values(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2654435761).wrapping_add(1);
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            ((state >> 16) % 33) as f32 / 16.0 - 1.0
        })
        .collect()
}

fn naive_matmul(a: &[f32], b: &[f32], c: &mut [f32], (m, k, n): (usize, usize, usize)) {
    for i in 0..m {
        for j in 0..n {
            c[i * n + j] += (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum::<f32>();
        }
    }
}

fn matmul(size: (usize, usize, usize), write: Write) -> Spec {
    let (m, k, n) = size;
    Spec::matmul(&Tensor::f32(&[m, k]), &Tensor::f32(&[k, n]), &Tensor::f32(&[m, n]), write)
        .unwrap()
}

#[test]
fn matches_naive_loops_for_every_isa() {
    let usable = cpu_info().unwrap().usable;
    assert!(!usable.is_empty(), "tests need AVX2");
    for isa in usable {
        for size in [(1, 1, 1), (4, 8, 16), (17, 31, 47), (1, 64, 33), (64, 1, 5), (13, 29, 1)] {
            let (m, k, n) = size;
            let options = Options::new().isa(isa);
            let kernel = Kernel::with_options(&matmul(size, Write::Overwrite), &options).unwrap();
            assert_eq!(kernel.isa(), Some(isa));
            let (a, b) = (values(m * k, 1), values(k * n, 2));
            let mut c = vec![f32::NAN; m * n]; // must not be read
            kernel.run(&[&a, &b], &mut c).unwrap();
            let mut expected = vec![0.0; m * n];
            naive_matmul(&a, &b, &mut expected, size);
            assert_eq!(c, expected, "{} {isa:?}", kernel.name());
        }
    }
}

#[test]
fn accumulates_into_the_output() {
    let size = (6, 10, 20);
    let kernel = Kernel::new(&matmul(size, Write::Accumulate)).unwrap();
    let (a, b) = (values(60, 3), values(200, 4));
    let (mut c, mut expected) = (values(120, 5), values(120, 5));
    for _ in 0..2 {
        kernel.run(&[&a, &b], &mut c).unwrap();
        naive_matmul(&a, &b, &mut expected, size);
    }
    assert_eq!(c, expected);
}

#[test]
fn evaluate_agrees() {
    let spec = matmul((5, 7, 9), Write::Overwrite).then(Op::Relu, None).unwrap();
    let (a, b) = (values(35, 6), values(63, 7));
    let (mut c, mut expected) = (vec![0.0; 45], vec![0.0; 45]);
    Kernel::new(&spec).unwrap().run(&[&a, &b], &mut c).unwrap();
    spec.evaluate(&[&a, &b], &mut expected).unwrap();
    assert_eq!(c, expected);
    let error = spec.evaluate(&[&a[1..], &b], &mut expected).unwrap_err();
    assert_eq!(error.status(), Status::OperandTooSmall);
}

#[test]
fn wrong_operands_are_refused() {
    let kernel = Kernel::new(&matmul((4, 8, 16), Write::Overwrite)).unwrap();
    let (a, b, mut c) = (values(32, 1), values(128, 2), vec![0.0; 64]);
    assert_eq!(kernel.operand_len(0), Some(32));
    assert_eq!(kernel.operand_len(2), Some(64));
    assert_eq!(kernel.operand_len(3), None);

    let error = kernel.run(&[&a[..31], &b], &mut c).unwrap_err();
    assert_eq!(error.status(), Status::OperandTooSmall);
    assert!(error.message().contains("operand 0") && error.message().contains("32"), "{error}");
    let error = kernel.run(&[&a, &b], &mut c[1..]).unwrap_err();
    assert_eq!(error.status(), Status::OperandTooSmall);
    for inputs in [&[][..], &[&a[..]][..], &[&a[..], &b[..], &b[..]][..]] {
        let error = kernel.run(inputs, &mut c).unwrap_err();
        assert_eq!(error.status(), Status::InvalidArgument);
    }
    assert_eq!(c, vec![0.0; 64]);
}

#[test]
fn threads_share_a_kernel() {
    let size = (24, 32, 40);
    let kernel = Kernel::new(&matmul(size, Write::Overwrite)).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let kernel = kernel.clone();
            scope.spawn(move || {
                let (a, b) = (values(24 * 32, thread), values(32 * 40, thread + 100));
                let mut expected = vec![0.0; 24 * 40];
                naive_matmul(&a, &b, &mut expected, size);
                let mut scratch = Scratch::new();
                for _ in 0..50 {
                    let mut c = vec![0.0; 24 * 40];
                    kernel.run_with(&[&a, &b], &mut c, Some(&mut scratch), None).unwrap();
                    assert_eq!(c, expected);
                }
            });
        }
    });
}

#[test]
fn parallel_kernels_run_on_a_pool() {
    let size = (128, 64, 96);
    let spec = matmul(size, Write::Overwrite);
    let kernel = Kernel::with_options(&spec, &Options::new().threads(2)).unwrap();
    let pool = Pool::new(2).unwrap();
    let (a, b) = (values(128 * 64, 8), values(64 * 96, 9));
    let mut expected = vec![0.0; 128 * 96];
    naive_matmul(&a, &b, &mut expected, size);
    for pool in [None, Some(&pool)] {
        let mut c = vec![0.0; 128 * 96];
        kernel.run_with(&[&a, &b], &mut c, None, pool).unwrap();
        assert_eq!(c, expected);
    }
    assert_eq!(Pool::new(100_000).unwrap_err().status(), Status::InvalidArgument);
}

#[test]
fn free_layouts_are_packed_once() {
    let size = (17, 40, 50);
    let (m, k, n) = size;
    let weights = Tensor::f32(&[k, n]).with_layout(Layout::Free);
    let spec =
        Spec::matmul(&Tensor::f32(&[m, k]), &weights, &Tensor::f32(&[m, n]), Write::Overwrite)
            .unwrap();
    let kernel = Kernel::new(&spec).unwrap();
    let (a, b) = (values(m * k, 10), values(k * n, 11));
    let packed = kernel.pack(1, &b).unwrap();
    assert_eq!(Some(packed.len()), kernel.operand_len(1));
    let (mut c, mut expected) = (vec![0.0; m * n], vec![0.0; m * n]);
    kernel.run(&[&a, &packed], &mut c).unwrap();
    naive_matmul(&a, &b, &mut expected, size);
    assert_eq!(c, expected);

    assert_eq!(kernel.pack(1, &b[1..]).unwrap_err().status(), Status::OperandTooSmall);
    assert_eq!(kernel.pack(7, &b).unwrap_err().status(), Status::InvalidArgument);
}

#[test]
fn kernels_describe_themselves() {
    let spec = matmul((17, 31, 47), Write::Overwrite);
    let kernel = Kernel::new(&spec).unwrap();
    assert!(kernel.name().starts_with("morello_"), "{}", kernel.name());
    assert!(kernel.cost() > 0.0);
    assert!(kernel.stats().unwrap().states > 0);
    assert!(!kernel.impl_tree().is_empty() && !kernel.plan().is_empty());
    assert!(!kernel.code().is_empty());
    assert_eq!(kernel.operands(), spec.operands().unwrap());
    // The same question has the same answer.
    assert_eq!(kernel.code(), Kernel::new(&spec).unwrap().code());
}

#[test]
fn search_only_kernels_do_not_run() {
    let options = Options::new().isa(Isa::Avx512).search_only(true);
    let kernel = Kernel::with_options(&matmul((4, 8, 16), Write::Overwrite), &options).unwrap();
    assert!(kernel.code().is_empty() && !kernel.impl_tree().is_empty());
    let (a, b, mut c) = (values(32, 1), values(128, 2), vec![0.0; 64]);
    assert_eq!(kernel.run(&[&a, &b], &mut c).unwrap_err().status(), Status::InvalidArgument);
}

#[test]
fn contexts_cap_and_move() {
    let spec = matmul((4, 8, 16), Write::Overwrite);
    let context = ContextOptions::new().max_isa(Isa::Avx2).create().unwrap();
    let kernel = context.synthesize(&spec, &Options::new()).unwrap();
    assert_eq!(kernel.isa(), Some(Isa::Avx2));
    let error = context.synthesize(&spec, &Options::new().isa(Isa::Avx512)).unwrap_err();
    assert_eq!(error.status(), Status::IsaUnavailable);

    let context = Context::new().unwrap();
    let handle = std::thread::spawn(move || context.synthesize(&spec, &Options::new()).unwrap());
    let kernel = handle.join().unwrap(); // the context is gone
    kernel.run(&[&[1.0; 32], &[2.0; 128]], &mut [0.0; 64]).unwrap();
}

#[test]
fn tools_and_explanations() {
    let context = ContextOptions::new().tools("gdb,unwind").unwrap().create().unwrap();
    let kernel =
        context.synthesize(&matmul((4, 8, 16), Write::Overwrite), &Options::new()).unwrap();
    assert!(kernel.explain().starts_with("{\"cycles\":"));
    let error = ContextOptions::new().tools("gdb,magic").unwrap().create().unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
}

#[test]
fn threads_share_a_context() {
    let context = Context::new().unwrap();
    let spec = matmul((4, 8, 16), Write::Overwrite);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| context.synthesize(&spec, &Options::new()).unwrap());
        }
    });
}

#[test]
fn budgets_end_a_search() {
    let options = Options::new().time_budget(Duration::from_micros(1));
    match Kernel::with_options(&matmul((1000, 1000, 1000), Write::Overwrite), &options) {
        Ok(_) => {} // an answer in time
        Err(error) => assert_eq!(error.status(), Status::BudgetExceeded),
    }
}

#[test]
fn versions() {
    assert!(morello::version().starts_with("0."));
    let info = cpu_info().unwrap();
    assert!(info.processors > 0);
    assert!(info.usable.contains(&info.isa.unwrap()) && info.usable.contains(&Isa::Avx2));
}
