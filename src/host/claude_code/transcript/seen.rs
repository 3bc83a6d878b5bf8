//! Lines that stand in a transcript a second time.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};

/// How many lines back a second one is known. Those seen stood right behind the
/// first ones; the memory must not grow with the transcript.
const KEPT: usize = 4096;

/// Which of the lines read last stands where.
#[derive(Debug, Default)]
pub(super) struct Seen {
    state: RandomState,
    first: HashMap<u64, u64>,
    order: VecDeque<u64>,
}

impl Seen {
    /// Whether the line `id` at the byte `at` stands earlier, too. The same line
    /// may be read again and again.
    pub(super) fn is_again(&mut self, id: &str, at: u64) -> bool {
        let key = self.state.hash_one(id);
        match self.first.entry(key) {
            Entry::Occupied(first) if *first.get() < at => return true,
            Entry::Occupied(mut first) => {
                first.insert(at);
            }
            Entry::Vacant(first) => {
                first.insert(at);
                self.order.push_back(key);
            }
        }
        if self.order.len() > KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.first.remove(&oldest);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Seen};

    #[test]
    fn the_first_of_two_lines_counts_however_often_it_is_read() {
        let mut seen = Seen::default();
        for _ in 0..2 {
            assert!(!seen.is_again("a", 0));
            assert!(!seen.is_again("b", 10));
            assert!(seen.is_again("a", 20));
        }
        for line in 0..2 * KEPT {
            seen.is_again(&line.to_string(), 30 + line as u64);
        }
        assert!(seen.first.len() <= KEPT && seen.order.len() <= KEPT);
        // After a look further back, the earlier place is the first one.
        let mut seen = Seen::default();
        assert!(!seen.is_again("a", 20));
        assert!(!seen.is_again("a", 0));
        assert!(seen.is_again("a", 20));
    }
}
