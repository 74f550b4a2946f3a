//! What Umpire may use of the machine's memory: the `memory_*` keys of `[proxy]`.
use super::walk::{Number, Section};

/// Of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Bytes of the process; None: half of what the machine, or the control group, has.
    pub limit: Option<u64>,
    /// Above this part of a worker's share nobody gets far ahead. Default 80.
    pub high_water_percent: u32,
    /// Bytes of prepared statements of one connection. Default 64 MiB.
    pub connection: usize,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory {
            limit: None,
            high_water_percent: HIGH_WATER.default as u32,
            connection: CONNECTION.default as usize,
        }
    }
}

const LIMIT: Number = Number {
    key: "memory_limit_bytes",
    unit: "bytes",
    range: 64 << 20..(1 << 50) + 1,
    default: 0,
};
const HIGH_WATER: Number = Number {
    key: "memory_high_water_percent",
    unit: "percent",
    range: 10..96,
    default: 80,
};
const CONNECTION: Number = Number {
    key: "connection_memory_bytes",
    unit: "bytes",
    range: 64 << 10..1 << 32,
    default: 64 << 20,
};

pub(super) fn read(section: &mut Section<'_, '_>) -> Memory {
    Memory {
        limit: section.number_if_given(&LIMIT),
        high_water_percent: super::proxy::count(section, &HIGH_WATER),
        connection: super::proxy::count(section, &CONNECTION) as usize,
    }
}
