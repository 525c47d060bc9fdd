// SPDX-License-Identifier: MIT
//! The feed-forward block of a Gemma-2B layer in bf16, for a few tokens: weights are packed once
//! from a memory-mapped file, and the result, time and bandwidth stand beside those of plain loops.
//!
//!     ffn [--tokens N] [--width N] [--hidden N] [--rounds N] [--threads N] [--silu] [FILE]
//!
//! Without sizes they are the real ones, 2048 and 16384. The weights are synthetic: 201 MB, written
//! if there is no such file, and to a temporary one if none is named. `ffn.c` among the examples in
//! C does the same, with the same files.

use morello::{Bf16, Kernel, Options, Packed, Pool, Spec};
use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The file: a line of text, zeros to this many bytes, then gate, up and down, each dense row-major.
const HEADER: usize = 64;
const USAGE: &str =
    "usage: ffn [--tokens N] [--width N] [--hidden N] [--rounds N] [--threads N] [--silu] [FILE]";

#[derive(Clone, Debug)]
struct Setup {
    tokens: usize,
    width: usize,
    hidden: usize,
    rounds: usize,
    threads: usize,
    silu: bool,
    path: Option<PathBuf>,
}

impl Default for Setup {
    fn default() -> Setup {
        let (tokens, rounds, threads) = (1, 9, 1);
        Setup { tokens, width: 2048, hidden: 16384, rounds, threads, silu: false, path: None }
    }
}

impl Setup {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Setup> {
        let mut setup = Setup::default();
        while let Some(word) = words.next() {
            let (value, most) = match word.as_str() {
                "--tokens" => (&mut setup.tokens, 1024),
                "--width" => (&mut setup.width, 1 << 20),
                "--hidden" => (&mut setup.hidden, 1 << 20),
                "--rounds" => (&mut setup.rounds, 1000),
                "--threads" => (&mut setup.threads, 1024),
                "--silu" => {
                    setup.silu = true;
                    continue;
                }
                _ if word.starts_with('-') || setup.path.is_some() => {
                    return Err(format!("there is no place for '{word}'\n{USAGE}").into());
                }
                _ => {
                    setup.path = Some(word.into());
                    continue;
                }
            };
            let text = words.next().unwrap_or_default();
            *value =
                text.parse().ok().filter(|number| (1..=most).contains(number)).ok_or_else(
                    || format!("{word} needs a number from 1 to {most}, not '{text}'"),
                )?;
        }
        Ok(setup)
    }

    fn header(&self) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        let text = format!("morello ffn bf16 {} {}\n", self.width, self.hidden);
        header[..text.len()].copy_from_slice(text.as_bytes());
        header
    }

    /// As Gemma does: the form of GELU that has a tanh in it, which is this.
    fn activation_f32(&self, x: f32) -> f32 {
        let exponent = if self.silu { -x } else { -1.595_769_1 * (x + 0.044715 * x * x * x) };
        x / (1.0 + exponent.exp())
    }

    fn activation(&self, x: f64) -> f64 {
        let gelu = -(8.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
        x / (1.0 + if self.silu { -x } else { gelu }.exp())
    }
}

/// Element `index` of a sequence that looks random: uniform, with this standard deviation.
fn synthetic(index: u64, deviation: f64) -> Bf16 {
    let hash = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let unit = (hash >> 40) as f64 / f64::from(1u32 << 24);
    Bf16::from_f32(((2.0 * unit - 1.0) * 3f64.sqrt() * deviation) as f32)
}

mod mapped {
    //! A file as memory. The standard library has no such thing, but links what has.

    use std::fs::File;
    use std::io;
    use std::os::raw::{c_int, c_void};
    use std::os::unix::io::AsRawFd;

    extern "C" {
        fn mmap(
            address: *mut c_void,
            length: usize,
            protection: c_int,
            flags: c_int,
            file: c_int,
            offset: i64,
        ) -> *mut c_void;
        fn munmap(address: *mut c_void, length: usize) -> c_int;
    }
    const PROT_READ: c_int = 1;
    const MAP_PRIVATE: c_int = 2;

    pub struct Mapping {
        start: *mut c_void,
        bytes: usize,
    }

    impl Mapping {
        /// `bytes` is not 0. Nobody may change or shorten the file as long as this lives.
        pub fn new(file: &File, bytes: usize) -> io::Result<Mapping> {
            // SAFETY: a new mapping at an address that the system chooses.
            let start = unsafe {
                mmap(std::ptr::null_mut(), bytes, PROT_READ, MAP_PRIVATE, file.as_raw_fd(), 0)
            };
            if start as isize == -1 {
                return Err(io::Error::last_os_error());
            }
            Ok(Mapping { start, bytes })
        }

        pub fn bytes(&self) -> &[u8] {
            // SAFETY: the mapping has so many readable bytes, and lives as long as `self`.
            unsafe { std::slice::from_raw_parts(self.start.cast(), self.bytes) }
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: what mmap() returned, once.
            unsafe { munmap(self.start, self.bytes) };
        }
    }
}

struct Weights {
    mapping: mapped::Mapping,
    size: usize,
}

impl Weights {
    fn open(setup: &Setup) -> Result<Weights> {
        let (file, name) = match &setup.path {
            Some(path) => (open_or_write(setup, path)?, path.display().to_string()),
            None => (temporary(setup)?, "a temporary file".into()),
        };
        let size = setup.width * setup.hidden;
        let (bytes, found) = (HEADER + 3 * size * 2, file.metadata()?.len());
        if found != bytes as u64 {
            let (width, hidden) = (setup.width, setup.hidden);
            let message = format!("not the {bytes} of weights of {width} x {hidden}");
            return Err(format!("{name} has {found} bytes, {message}: name a new file").into());
        }
        let mapping = mapped::Mapping::new(&file, bytes)
            .map_err(|error| format!("cannot map {name}: {error}"))?;
        let header = setup.header();
        if mapping.bytes()[..HEADER] != header {
            let text = String::from_utf8_lossy(&header);
            let line = text.lines().next().unwrap_or_default();
            return Err(format!("{name} does not begin with \"{line}\": name a new file").into());
        }
        Ok(Weights { mapping, size })
    }

    fn matrix(&self, index: usize) -> &[Bf16] {
        let bytes = &self.mapping.bytes()[HEADER..][index * self.size * 2..][..self.size * 2];
        // SAFETY: a Bf16 is any 16 bits; a mapping starts at a page, so this is aligned.
        unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), self.size) }
    }

    fn gate(&self) -> &[Bf16] {
        self.matrix(0)
    }
    fn up(&self) -> &[Bf16] {
        self.matrix(1)
    }
    fn down(&self) -> &[Bf16] {
        self.matrix(2)
    }
}

/// The file, written first if it is new. What could not be written whole is removed.
fn open_or_write(setup: &Setup, path: &Path) -> Result<File> {
    match OpenOptions::new().read(true).write(true).create_new(true).open(path) {
        Ok(file) => match write_weights(setup, &file) {
            Ok(()) => Ok(file),
            Err(error) => {
                let _ = fs::remove_file(path);
                Err(format!("cannot write {}: {error}", path.display()).into())
            }
        },
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => File::open(path)
            .map_err(|error| format!("cannot open {}: {error}", path.display()).into()),
        Err(error) => Err(format!("cannot create {}: {error}", path.display()).into()),
    }
}

/// What is open stays until it is closed, without a name.
fn temporary(setup: &Setup) -> Result<File> {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed()?.as_nanos();
    let name = format!("morello-ffn-{}-{now}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let file = open_or_write(setup, &path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

fn write_weights(setup: &Setup, file: &File) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, file);
    out.write_all(&setup.header())?;
    let size = setup.width * setup.hidden;
    for index in 0..3 * size {
        let inputs = if index / size == 2 { setup.hidden } else { setup.width };
        let value = synthetic(index as u64, 1.0 / (inputs as f64).sqrt());
        out.write_all(&value.0.to_le_bytes())?;
    }
    out.flush()
}

/// The block as kernels.
struct Block {
    gate: Kernel,
    up: Kernel,
    down: Kernel,
    pool: Option<Pool>,
}

/// The weights as the kernels like them, and room for what is between.
struct Memory {
    gate: Packed<Bf16>,
    up: Packed<Bf16>,
    down: Packed<Bf16>,
    gated: Vec<f32>,
    hidden: Vec<Bf16>,
}

impl Block {
    /// The library has no gelu: the gate's kernel leaves f32, Rust applies it, and the kernel of `up`
    /// multiplies by that before it rounds. `{*}`: weights in a layout that the kernel chooses.
    fn new(setup: &Setup) -> Result<Block> {
        let (m, w, h) = (setup.tokens, setup.width, setup.hidden);
        let options = Options::new().threads(setup.threads as u32);
        let kernel = |text: String| -> Result<Kernel> {
            let spec: Spec = text.parse()?;
            Ok(Kernel::with_options(&spec, &options)?)
        };
        Ok(Block {
            gate: kernel(format!("matmul bf16[{m},{w}] bf16[{w},{h}]{{*}} -> f32[{m},{h}]"))?,
            up: kernel(format!(
                "matmul bf16[{m},{w}] bf16[{w},{h}]{{*}} * f32[{m},{h}] -> bf16[{m},{h}]"
            ))?,
            down: kernel(format!("matmul bf16[{m},{h}] bf16[{h},{w}]{{*}} -> f32[{m},{w}]"))?,
            pool: if setup.threads > 1 { Some(Pool::new(setup.threads as u32)?) } else { None },
        })
    }

    fn pack(&self, setup: &Setup, weights: &Weights) -> Result<Memory> {
        let inner = setup.tokens * setup.hidden;
        Ok(Memory {
            gate: self.gate.pack(1, weights.gate())?,
            up: self.up.pack(1, weights.up())?,
            down: self.down.pack(1, weights.down())?,
            gated: vec![0.0; inner],
            hidden: vec![Bf16::default(); inner],
        })
    }

    fn run(&self, setup: &Setup, p: &mut Memory, x: &[Bf16], out: &mut [f32]) -> Result<()> {
        let pool = self.pool.as_ref();
        let gated = p.gated.as_mut_slice();
        self.gate.run_any_with(&[x.into(), (&p.gate).into()], gated.into(), None, pool)?;
        p.gated.iter_mut().for_each(|value| *value = setup.activation_f32(*value));
        let inputs = [x.into(), (&p.up).into(), (&p.gated).into()];
        self.up.run_any_with(&inputs, p.hidden.as_mut_slice().into(), None, pool)?;
        let inputs = [(&p.hidden).into(), (&p.down).into()];
        Ok(self.down.run_any_with(&inputs, out.into(), None, pool)?)
    }
}

/// The same in loops, on the file as it is.
fn plain_matmul(a: &[Bf16], b: &[Bf16], m: usize, c: &mut [f32]) {
    let (k, n) = (a.len() / m, c.len() / m);
    c.fill(0.0);
    for (p, row) in b.chunks_exact(n).enumerate() {
        for (i, sums) in c.chunks_exact_mut(n).enumerate() {
            let scale = a[i * k + p].to_f32();
            for (sum, weight) in sums.iter_mut().zip(row) {
                *sum += scale * weight.to_f32();
            }
        }
    }
}

fn plain_block(setup: &Setup, weights: &Weights, x: &[Bf16], out: &mut [f32]) {
    let mut gate = vec![0.0; setup.tokens * setup.hidden];
    let mut up = gate.clone();
    plain_matmul(x, weights.gate(), setup.tokens, &mut gate);
    plain_matmul(x, weights.up(), setup.tokens, &mut up);
    let product = |(gate, up): (&f32, &f32)| Bf16::from_f32(setup.activation_f32(*gate) * up);
    let hidden: Vec<Bf16> = gate.iter().zip(&up).map(product).collect();
    plain_matmul(&hidden, weights.down(), setup.tokens, out);
}

/// In double precision, nothing rounded between.
fn exact_matmul(a: &[f64], b: &[Bf16], m: usize, n: usize) -> Vec<f64> {
    let k = a.len() / m;
    let mut c = vec![0.0; m * n];
    for (p, row) in b.chunks_exact(n).enumerate() {
        for (i, sums) in c.chunks_exact_mut(n).enumerate() {
            for (sum, weight) in sums.iter_mut().zip(row) {
                *sum += a[i * k + p] * f64::from(weight.to_f32());
            }
        }
    }
    c
}

fn exact_block(setup: &Setup, weights: &Weights, x: &[Bf16]) -> Vec<f64> {
    let x: Vec<f64> = x.iter().map(|value| f64::from(value.to_f32())).collect();
    let gate = exact_matmul(&x, weights.gate(), setup.tokens, setup.hidden);
    let up = exact_matmul(&x, weights.up(), setup.tokens, setup.hidden);
    let hidden: Vec<f64> =
        gate.iter().zip(&up).map(|(gate, up)| setup.activation(*gate) * up).collect();
    exact_matmul(&hidden, weights.down(), setup.tokens, setup.width)
}

/// The largest error, as a part of the largest value.
fn worst_error(result: &[f32], exact: &[f64]) -> f64 {
    let (mut worst, mut largest) = (0.0, 0.0f64);
    for (value, exact) in result.iter().zip(exact) {
        let error = (f64::from(*value) - exact).abs();
        if error > worst || error.is_nan() {
            worst = if error.is_nan() { f64::INFINITY } else { error };
        }
        largest = largest.max(exact.abs());
    }
    worst / largest
}

fn print_row(setup: &Setup, name: &str, mut seconds: Vec<f64>, error: f64) {
    seconds.sort_by(f64::total_cmp);
    let (median, tokens) = (seconds[seconds.len() / 2], setup.tokens as f64);
    let bandwidth = 1e-9 * (6 * setup.width * setup.hidden) as f64 / median;
    let (time, best) = (1e3 * median / tokens, 1e3 * seconds[0] / tokens);
    println!("{name:<12} {time:12.3} {best:12.3} {bandwidth:12.2} {error:14.1e}");
}

/// The largest error of the kernels, which is as good as that of the loops.
fn compare(setup: &Setup) -> Result<f64> {
    // Kernels first: a size that cannot be is refused before a file is written.
    let start = Instant::now();
    let block = Block::new(setup)?;
    let made = start.elapsed();
    let weights = Weights::open(setup)?;
    let start = Instant::now();
    let mut packed = block.pack(setup, &weights)?;
    println!(
        "{} -> {} ({}) -> {} in bf16, tokens at once: {}, threads: {}, weights: {:.1} MB\n\
         kernels made in {:.2} s, weights packed in {:.2} s",
        setup.width,
        setup.hidden,
        if setup.silu { "silu" } else { "gelu" },
        setup.width,
        setup.tokens,
        setup.threads,
        1e-6 * weights.mapping.bytes().len() as f64,
        made.as_secs_f64(),
        start.elapsed().as_secs_f64()
    );

    let outer = setup.tokens * setup.width;
    let x: Vec<Bf16> = (0..outer).map(|index| synthetic(!(index as u64), 1.0)).collect();
    let (mut out, mut plain) = (vec![0.0; outer], vec![0.0; outer]);
    let (mut times, mut plain_times) = (Vec::new(), Vec::new());
    block.run(setup, &mut packed, &x, &mut out)?; // first touch of everything
    for _ in 0..setup.rounds {
        let start = Instant::now();
        block.run(setup, &mut packed, &x, &mut out)?;
        times.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        plain_block(setup, &weights, &x, &mut plain);
        plain_times.push(start.elapsed().as_secs_f64());
    }

    let exact = exact_block(setup, &weights, &x);
    let (error, plain_error) = (worst_error(&out, &exact), worst_error(&plain, &exact));
    let columns = ["", "ms/token", "best", "GB/s", "largest error"];
    let [name, time, best, bandwidth, largest] = columns;
    println!("{name:<12} {time:>12} {best:>12} {bandwidth:>12} {largest:>14}");
    print_row(setup, "morello", times, error);
    print_row(setup, "plain loops", plain_times, plain_error);
    // Nearly all of it is hidden values rounded to bf16, which both do: if they differ by as much
    // among one another, a term is missing.
    let plain: Vec<f64> = plain.iter().map(|value| f64::from(*value)).collect();
    let difference = worst_error(&out, &plain);
    if !error.is_finite() || difference.is_nan() || difference > plain_error / 2.0 + 1e-5 {
        return Err(
            format!("the result is wrong: it differs from the loops by {difference}").into()
        );
    }
    Ok(error)
}

fn main() {
    if let Err(error) = Setup::parse(std::env::args().skip(1)).and_then(|setup| compare(&setup)) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(words: &str) -> Result<Setup> {
        let words = format!("--width 200 --hidden 777 --rounds 1 {words}");
        Setup::parse(words.split_whitespace().map(String::from))
    }

    #[test]
    fn a_small_block_is_right() {
        for words in ["", "--tokens 3 --threads 2 --silu"] {
            let error = compare(&small(words).unwrap()).unwrap();
            assert!(error > 0.0 && error < 1.0 / 256.0, "{words}: {error}");
        }
    }

    #[test]
    fn a_file_is_written_once_and_others_are_refused() {
        let path = std::env::temp_dir().join(format!("morello-ffn-test-{}", std::process::id()));
        let setup = small(path.to_str().unwrap()).unwrap();
        let first = Weights::open(&setup).map(|weights| weights.mapping.bytes().to_vec()).unwrap();
        let second = Weights::open(&setup).map(|weights| weights.mapping.bytes().to_vec()).unwrap();
        let swapped = Weights::open(&Setup { width: 777, hidden: 200, ..setup.clone() });
        let larger = Weights::open(&Setup { hidden: 779, ..setup });
        fs::remove_file(&path).unwrap();
        assert!(first == second);
        assert!(swapped.err().unwrap().to_string().contains("does not begin with"));
        assert!(larger.err().unwrap().to_string().contains("932464 bytes, not the 934864"));
    }

    #[test]
    fn bad_options_are_refused() {
        for (words, expected) in [
            ("--tokens 0", "--tokens needs a number from 1 to 1024, not '0'"),
            ("--tokens", "not ''"),
            ("--tokes 1", "no place for '--tokes'"),
            ("a b", "no place for 'b'"),
        ] {
            assert!(small(words).unwrap_err().to_string().contains(expected), "{words}");
        }
        let huge = small("--width 1048576 --hidden 1048576").unwrap();
        assert!(Block::new(&huge).err().unwrap().to_string().contains("more than 2147483647"));
    }
}
