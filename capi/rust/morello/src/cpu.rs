// SPDX-License-Identifier: MIT
//! This machine, and the version of the library.

use crate::{error, Result};
use morello_sys as sys;
use std::ffi::CStr;
use std::mem::{size_of, MaybeUninit};

/// What kernels are made for: sets of CPU features. None promises to include another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Isa {
    /// AVX2 and FMA.
    Avx2,
    /// AVX2, FMA and AVX-VNNI.
    Avx2Vnni,
    /// AVX-512 F, BW, VL and DQ.
    Avx512,
    /// Those, and AVX512-VNNI.
    Avx512Vnni,
    /// Those, and AVX512-BF16.
    Avx512Bf16,
    /// Those, and AMX-TILE, AMX-BF16 and AMX-INT8.
    Avx512Amx,
}

impl Isa {
    const ALL: [Isa; 6] = [
        Isa::Avx2,
        Isa::Avx2Vnni,
        Isa::Avx512,
        Isa::Avx512Vnni,
        Isa::Avx512Bf16,
        Isa::Avx512Amx,
    ];

    pub(crate) fn to_raw(self) -> i32 {
        match self {
            Isa::Avx2 => sys::MORELLO_ISA_AVX2,
            Isa::Avx2Vnni => sys::MORELLO_ISA_AVX2_VNNI,
            Isa::Avx512 => sys::MORELLO_ISA_AVX512,
            Isa::Avx512Vnni => sys::MORELLO_ISA_AVX512_VNNI,
            Isa::Avx512Bf16 => sys::MORELLO_ISA_AVX512_BF16,
            Isa::Avx512Amx => sys::MORELLO_ISA_AVX512_AMX,
        }
    }

    pub(crate) fn from_raw(isa: i32) -> Option<Isa> {
        Isa::ALL.into_iter().find(|known| known.to_raw() == isa)
    }
}

/// What the library knows about this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CpuInfo {
    pub name: String,
    /// The best instruction set that CPU, system and the variable `MORELLO_MAX_ISA` allow.
    pub isa: Option<Isa>,
    /// All whose kernels can run here.
    pub usable: Vec<Isa>,
    pub processors: u32,
    /// Data cache sizes of one core; 0 where unknown.
    pub l1_bytes: u64,
    pub l2_bytes: u64,
    pub l3_bytes: u64,
    /// Whether memory can be made executable here.
    pub jit: bool,
}

pub fn cpu_info() -> Result<CpuInfo> {
    let mut info = MaybeUninit::<sys::morello_cpu_info>::zeroed();
    // SAFETY: the struct is plain data for which zeros are valid; the library is given its size, and
    // ends the name with a zero.
    unsafe {
        let status =
            sys::morello_cpu_info_get(info.as_mut_ptr(), size_of::<sys::morello_cpu_info>());
        error::check(status, std::ptr::null_mut())?;
        let info = info.assume_init();
        Ok(CpuInfo {
            name: CStr::from_ptr(info.name.as_ptr()).to_string_lossy().into_owned(),
            isa: Isa::from_raw(info.isa),
            usable: Isa::ALL
                .into_iter()
                .filter(|isa| info.usable_isas >> isa.to_raw() & 1 != 0)
                .collect(),
            processors: info.processors,
            l1_bytes: info.l1_bytes,
            l2_bytes: info.l2_bytes,
            l3_bytes: info.l3_bytes,
            jit: info.jit != 0,
        })
    }
}

/// Version of the library, such as "0.1.0".
pub fn version() -> &'static str {
    // SAFETY: the string belongs to the library and lives as long as it.
    unsafe { CStr::from_ptr(sys::morello_version_string()) }.to_str().unwrap_or("unknown")
}
