// SPDX-License-Identifier: MIT
//! A layer of a neural network: matmul, bias and ReLU as one kernel.

use morello::{Kernel, Spec};

fn main() -> morello::Result<()> {
    let spec: Spec =
        "matmul f32[64,768] f32[768,3072] + bias f32[3072] -> relu -> f32[64,3072]".parse()?;
    let kernel = Kernel::new(&spec)?;

    let (a, b) = (vec![0.5; 64 * 768], vec![0.25; 768 * 3072]);
    let bias: Vec<f32> = (0..3072).map(|n| n as f32 - 1536.0).collect();
    let mut c = vec![0.0; 64 * 3072];
    kernel.run(&[&a, &b, &bias], &mut c)?;

    println!("{spec}\n{}", kernel.impl_tree());
    println!("c[0,0] = {}, c[63,3071] = {}", c[0], c[64 * 3072 - 1]);
    assert_eq!((c[0], c[64 * 3072 - 1]), (0.0, 768.0 * 0.125 + 1535.0));
    Ok(())
}
