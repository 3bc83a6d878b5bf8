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
    /// than a 32nd of `total`: some megabytes of white space do no harm.
    pub ratio: u64,
    /// Parts of one path.
    pub parts: usize,
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
