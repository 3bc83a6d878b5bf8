//! Repeated keys: the last one wins, every repetition is reported.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::{Duplicate, Member};

/// Below this many members a search through the earlier ones beats a table.
const SMALL: usize = 8;

/// Marks every member that a later one with the same key replaces, and lists
/// every repetition. The cost is linear in the number of members.
pub(super) fn mark(members: &mut [Member], duplicates: &mut Vec<Duplicate>) {
    if members.len() <= SMALL {
        mark_few(members, duplicates);
    } else {
        mark_many(members, duplicates);
    }
}

fn mark_few(members: &mut [Member], duplicates: &mut Vec<Duplicate>) {
    for index in 1..members.len() {
        let (earlier, rest) = members.split_at_mut(index);
        let Some(member) = rest.first() else { break };
        let mut first = None;
        for other in earlier.iter_mut().filter(|other| other.key == member.key) {
            other.shadowed = true;
            first = first.or(Some(other.key_span));
        }
        if let Some(first) = first {
            duplicates.push(Duplicate {
                first,
                again: member.key_span,
            });
        }
    }
}

fn mark_many(members: &mut [Member], duplicates: &mut Vec<Duplicate>) {
    let mut shadowed = Vec::new();
    // First occurrence of the key, and the last one so far.
    let mut seen = HashMap::with_capacity(members.len());
    for (index, member) in members.iter().enumerate() {
        match seen.entry(&member.key) {
            Entry::Vacant(entry) => {
                entry.insert((member.key_span, index));
            }
            Entry::Occupied(mut entry) => {
                let (first, last) = entry.get_mut();
                shadowed.push(*last);
                *last = index;
                duplicates.push(Duplicate {
                    first: *first,
                    again: member.key_span,
                });
            }
        }
    }
    for index in shadowed {
        if let Some(member) = members.get_mut(index) {
            member.shadowed = true;
        }
    }
}
