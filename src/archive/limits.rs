//! How much one package may be.

/// What a package may not exceed. [`Limits::default`] is generous: several times
/// what the largest known packages need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Files, links and directories, together.
    pub entries: usize,
    /// Bytes of one file.
    pub file: u64,
    /// Bytes of all files together.
    pub total: u64,
    /// How many times its own size an archive may unpack to, once that is more
    /// than [`Limits::RATIO_FROM`].
    pub ratio: u64,
    /// Parts of one path.
    pub parts: usize,
}

impl Limits {
    /// Bytes up to which no ratio is held against an archive: a few megabytes of
    /// white space do no harm.
    pub const RATIO_FROM: u64 = 16 << 20;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            entries: 50_000,
            file: 128 << 20,
            total: 512 << 20,
            ratio: 200,
            parts: 32,
        }
    }
}
