// SPDX-License-Identifier: MIT
//! A program that has its table inside: its kernels need no search. See build.rs.

use morello::{cpu_info, Isa, Kernel, Options, Result, Spec, Table};
use std::time::Instant;

static AVX2: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/avx2.mtab"));
static AVX512: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/avx512.mtab"));

fn table() -> Result<Table> {
    Table::from_bytes(if cpu_info()?.usable.contains(&Isa::Avx512) { AVX512 } else { AVX2 })
}

fn layer(rows: usize) -> Result<Spec> {
    format!("matmul f32[{rows},64] f32[64,256] + bias f32[256] -> relu -> f32[{rows},256]").parse()
}

fn main() -> Result<()> {
    let table = table()?;
    let options = Options::new().table(&table);
    println!("{} and {} bytes of tables", AVX2.len(), AVX512.len());
    // 17 is not on the ladder of sizes that a bound stands for: it is searched for.
    for rows in [1, 8, 48, 17] {
        let spec = layer(rows)?;
        let start = Instant::now();
        let kernel = Kernel::with_options(&spec, &options)?;
        let took = start.elapsed();
        let (a, b, bias) = (vec![0.5; rows * 64], vec![0.25; 64 * 256], vec![-7.0; 256]);
        let mut c = vec![0.0; rows * 256];
        kernel.run(&[&a, &b, &bias], &mut c)?;
        assert_eq!(c, vec![1.0; rows * 256]);
        println!("{spec}: {:?} in {took:?}", kernel.stats()?.table_use);
    }
    Ok(())
}

#[test]
fn nothing_is_searched_for() {
    let options = Options::new().table(&table().unwrap());
    for rows in [1, 5, 16, 24, 64] {
        let kernel = Kernel::with_options(&layer(rows).unwrap(), &options).unwrap();
        let stats = kernel.stats().unwrap();
        assert_eq!((stats.table_use, stats.states), (morello::TableUse::Answered, 0), "{rows}");
    }
}
