// SPDX-License-Identifier: MIT
//! A program that contains its kernels, and needs no morello to run. See build.rs.

mod kernels {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}
use kernels::{Line, Unavailable};

const ROWS: usize = 8;
const INPUTS: usize = 64;
const OUTPUTS: usize = 96;

/// The largest difference between the kernel and a plain loop.
fn layer() -> Result<f32, Unavailable> {
    let input: [f32; ROWS * INPUTS] = std::array::from_fn(|i| (i % 13) as f32 / 8.0 - 0.5);
    let weights: [f32; INPUTS * OUTPUTS] = std::array::from_fn(|i| (i % 11) as f32 / 16.0 - 0.25);
    let bias: [f32; OUTPUTS] = std::array::from_fn(|i| i as f32 / 64.0);
    let mut packed = [Line::ZERO; INPUTS * OUTPUTS * 4 / 64];
    let mut out = [f32::NAN; ROWS * OUTPUTS];
    kernels::layer_pack_b(&weights, &mut packed, &mut [])?;
    kernels::layer(&input, &packed, &bias, &mut out, &mut [])?;
    let mut worst = 0.0f32;
    for (at, result) in out.iter().enumerate() {
        let (row, column) = (at / OUTPUTS, at % OUTPUTS);
        let sum: f32 =
            (0..INPUTS).map(|i| input[row * INPUTS + i] * weights[i * OUTPUTS + column]).sum();
        worst = worst.max((result - (sum + bias[column]).max(0.0)).abs());
    }
    Ok(worst)
}

/// A product that is stored transposed, with scratch memory.
fn turned() -> Result<[f32; 33 * 9], Unavailable> {
    let (a, b) = ([2.0; 9 * 7], [0.5; 7 * 33]);
    let mut out = [f32::NAN; 33 * 9];
    kernels::turned(&a, &b, &mut out, &mut [Line::ZERO; 4])?;
    Ok(out)
}

fn main() -> Result<(), Unavailable> {
    println!("largest difference from a plain loop: {}", layer()?);
    assert_eq!(turned()?, [7.0; 33 * 9]);
    Ok(())
}

#[test]
fn the_kernel_is_right() {
    match layer() {
        Ok(worst) => assert!(worst < 1e-4, "{worst}"),
        Err(error) => println!("{error}"),
    }
    if let Ok(out) = turned() {
        assert_eq!(out, [7.0; 33 * 9]);
    }
}
