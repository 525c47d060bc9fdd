// SPDX-License-Identifier: MIT
//! Specs and kernels with several outputs.

use morello::{Dtype, Graph, Kernel, Spec, Status, Tensor, Write};

const TEXT: &str =
    "v0 = reduce_max x0 f32[3,5] axis=1; v1 = reduce_sum x0 axis=1; v0 -> f32[3], v1 -> f32[3]";

#[test]
fn runs_and_evaluates() {
    let spec: Spec = TEXT.parse().unwrap();
    assert_eq!((spec.to_string().as_str(), spec.output_count()), (TEXT, 2));
    let x: Vec<f32> = (0..15).map(|i| i as f32).collect();
    let (mut greatest, mut sums) = (vec![0.0f32; 3], vec![0.0f32; 3]);
    let kernel = Kernel::new(&spec).unwrap();
    assert_eq!((kernel.output_count(), kernel.operands().len()), (2, 3));
    let outputs = &mut [(&mut greatest).into(), (&mut sums).into()];
    kernel.run_outputs(&[(&x).into()], outputs, None, None).unwrap();
    assert_eq!(
        (greatest.as_slice(), sums.as_slice()),
        (&[4.0, 9.0, 14.0][..], &[10.0, 35.0, 60.0][..])
    );
    sums.fill(0.0);
    let outputs = &mut [(&mut greatest).into(), (&mut sums).into()];
    spec.evaluate_outputs(&[(&x).into()], outputs).unwrap();
    assert_eq!(sums, [10.0, 35.0, 60.0]);
}

#[test]
fn no_input_is_taken_for_an_output() {
    let spec: Spec = TEXT.parse().unwrap();
    let kernel = Kernel::new(&spec).unwrap();
    let (x, not_written, mut sums) = (vec![0.0f32; 15], vec![7.0f32; 3], vec![0.0f32; 3]);
    let error = kernel.run(&[&x, &not_written], &mut sums).unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    assert_eq!(error.message(), "1 outputs where the Spec has 2");
    let error = spec.evaluate(&[&x, &not_written], &mut sums).unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    let mut short = vec![0.0f32; 2];
    let outputs = &mut [(&mut sums).into(), (&mut short).into()];
    let error = kernel.run_outputs(&[(&x).into()], outputs, None, None).unwrap_err();
    assert_eq!(error.status(), Status::OperandTooSmall);
}

#[test]
fn graphs_are_built() {
    let mut graph = Graph::new().unwrap();
    let x = graph.input(&Tensor::new(Dtype::F32, &[3, 5])).unwrap();
    let y = graph.apply("exp", &[x]).unwrap();
    let s = graph.apply("reduce_sum axis=1", &[y]).unwrap();
    let rounded = Tensor::new(Dtype::Bf16, &[3, 5]);
    let spec = graph
        .finish_outputs(&[(s, None, Write::Overwrite), (y, Some(&rounded), Write::Accumulate)])
        .unwrap();
    assert_eq!(
        spec.to_string(),
        "v0 = exp f32[3,5]; v1 = reduce_sum v0 axis=1; v1 -> f32[3], v0 += bf16[3,5]"
    );
    let twice = [(y, None, Write::Overwrite), (y, None, Write::Overwrite)];
    assert_eq!(graph.finish_outputs(&twice).unwrap_err().status(), Status::InvalidArgument);
}
