//! What was probably meant by a word that is not known.

/// The candidate that differs from `word` by a slip or two, if there is one.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    // Longer than any name: nothing is near, and the comparison would be long.
    if word.len() > 64 {
        return None;
    }
    let plain = |text: &str| text.to_ascii_lowercase().replace('_', "-");
    let word = plain(word);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &plain(candidate)), candidate))
        .filter(|&(distance, candidate)| distance <= candidate.len() / 4)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's distance, in bytes.
pub fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, a) in one.bytes().enumerate() {
        let mut diagonal = line;
        let mut left = line + 1;
        for (b, cell) in other.bytes().zip(row.iter_mut().skip(1)) {
            let cost = diagonal + usize::from(a != b);
            diagonal = *cell;
            left = cost.min(left + 1).min(*cell + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = line + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_what_was_meant() {
        let fields = [
            "name",
            "description",
            "license",
            "keywords",
            "allowed-tools",
        ];
        for (word, wanted) in [
            ("desciption", Some("description")),
            ("Name", Some("name")),
            ("licence", Some("license")),
            ("keyword", Some("keywords")),
            ("allowed_tools", Some("allowed-tools")),
            ("game", Some("name")),
            ("version", None),
            ("skills", None),
        ] {
            assert_eq!(nearest(word, fields), wanted, "{word}");
        }
    }

    #[test]
    fn distances_are_those_of_levenshtein() {
        for (one, other, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("flaw", "lawn", 2),
            ("name", "name", 0),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
    }
}
