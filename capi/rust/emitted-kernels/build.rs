// SPDX-License-Identifier: MIT
//! Has the kernels of the program made.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    morello_emit::Kernels::new()
        .spec("layer = matmul f32[8,64] f32[64,96]{*} + bias f32[96] -> relu -> f32[8,96]")
        .spec("turned = einsum \"mk,kn->nm\" f32[9,7] f32[7,33] -> f32[33,9]")
        .isa("avx2")
        .isa("avx512")
        .build("kernels");
}
