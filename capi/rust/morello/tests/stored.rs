// SPDX-License-Identifier: MIT
//! Stored kernels: saved, loaded, refused, and kept in a cache.

use morello::{Context, ContextOptions, Kernel, Options, Spec, Status};
use std::path::PathBuf;

/// A directory that goes away.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("morello-rust-stored-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn matmul() -> Spec {
    "matmul f32[6,16] f32[16,24]{*} -> f32[6,24]".parse().unwrap()
}

fn result_of(kernel: &Kernel) -> Vec<f32> {
    let a: Vec<f32> = (0..6 * 16).map(|i| i as f32 * 0.25).collect();
    let b: Vec<f32> = (0..16 * 24).map(|i| 3.0 - i as f32).collect();
    let mut c = vec![0.0; 6 * 24];
    kernel.run(&[&a, &kernel.pack(1, &b).unwrap()], &mut c).unwrap();
    c
}

#[test]
fn a_saved_kernel_is_loaded_and_runs() {
    let folder = Folder::new("saved");
    let path = folder.0.join("k.mkrn");
    let kernel = Kernel::new(&matmul()).unwrap();
    kernel.save(&path).unwrap();
    let bytes = kernel.to_bytes().unwrap();
    assert_eq!(bytes, std::fs::read(&path).unwrap());

    let context = Context::new().unwrap();
    // SAFETY: this test wrote the file and the bytes.
    let loaded = unsafe {
        [context.load_kernel(&path).unwrap(), context.kernel_from_bytes(&bytes).unwrap()]
    };
    for back in loaded {
        assert_eq!((back.name(), back.code()), (kernel.name(), kernel.code()));
        assert_eq!(back.operands(), kernel.operands());
        assert_eq!(back.spec().parse::<Spec>().unwrap(), matmul());
        assert_eq!(result_of(&back), result_of(&kernel));
        assert!(back.stats().unwrap().stored && !kernel.stats().unwrap().stored);
    }
}

#[test]
fn damaged_kernels_are_refused() {
    let mut bytes = Kernel::new(&matmul()).unwrap().to_bytes().unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    // SAFETY: what is damaged is not run.
    let error = unsafe { Context::new().unwrap().kernel_from_bytes(&bytes) }.unwrap_err();
    assert_eq!(error.status(), Status::CorruptKernel);
    bytes[8] ^= 1;
    // SAFETY: as above.
    let error = unsafe { Context::new().unwrap().kernel_from_bytes(&bytes) }.unwrap_err();
    assert_eq!(error.status(), Status::IncompatibleKernel);
}

#[test]
fn a_cache_gives_the_same_kernel_again() {
    let folder = Folder::new("cache");
    let directory = folder.0.join("kernels");
    let made: Vec<Kernel> = (0..2)
        .map(|_| {
            let options = ContextOptions::new().cache(&directory, 0).unwrap();
            options.create().unwrap().synthesize(&matmul(), &Options::new()).unwrap()
        })
        .collect();
    assert!(!made[0].stats().unwrap().stored && made[1].stats().unwrap().stored);
    assert_eq!(made[0].code(), made[1].code());
    assert_eq!(result_of(&made[0]), result_of(&made[1]));
}
