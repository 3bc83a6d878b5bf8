//! Where a link of a package leads, told from the names of its entries alone.

use std::collections::VecDeque;

use super::fold::fold;
use super::path::{EntryPath, check_part};
use super::refusal::LinkProblem;

/// Links followed before a path counts as a loop, as in Linux.
const MAX_LINKS: usize = 40;
/// Parts looked at before it counts as one, so that links to long paths of links
/// do not multiply without end.
const MAX_STEPS: usize = 512;

/// Refuses a target that some system reads differently, or that is absolute.
pub(super) fn check_target(target: &[u8]) -> Result<&str, LinkProblem> {
    if target.len() > EntryPath::MAX_LENGTH {
        return Err(LinkProblem::Target);
    }
    let text = str::from_utf8(target).map_err(|_| LinkProblem::Target)?;
    if text.starts_with('/') {
        return Err(LinkProblem::Absolute);
    }
    let drive = text.as_bytes().get(1) == Some(&b':');
    if text.starts_with('\\') || drive {
        return Err(LinkProblem::Absolute);
    }
    let odd = |c: char| c.is_control() || c == '\\';
    if text.is_empty() || text.contains(odd) {
        return Err(LinkProblem::Target);
    }
    for part in text.split('/') {
        if !matches!(part, "" | "." | "..") && check_part(part).is_err() {
            return Err(LinkProblem::Target);
        }
    }
    Ok(text)
}

/// Follows the link at `from` to `target`, both seen from the package root, and
/// tells the folded path it ends at (`""` is the root). Nothing needs to be there.
///
/// `target_of` tells for a folded path what the link there points to. Names are
/// compared folded, because on some system a link may be reached by another
/// spelling; where that is not so, nothing is there.
pub(super) fn follow<'t>(
    from: &EntryPath,
    target: &'t str,
    target_of: impl Fn(&str) -> Option<Result<&'t str, LinkProblem>>,
) -> Result<String, LinkProblem> {
    let mut at = from
        .parent()
        .map(|parent| fold(parent).into_owned())
        .unwrap_or_default();
    let mut pending: VecDeque<&str> = target.split('/').collect();
    let mut links = 0;
    let mut steps = 0;
    while let Some(part) = pending.pop_front() {
        steps += 1;
        if steps > MAX_STEPS {
            return Err(LinkProblem::Loop);
        }
        match part {
            "" | "." => {}
            ".." if at.is_empty() => return Err(LinkProblem::Outside),
            ".." => at.truncate(at.rfind('/').unwrap_or(0)),
            name => {
                let above = at.len();
                if !at.is_empty() {
                    at.push('/');
                }
                at.push_str(&fold(name));
                if let Some(target) = target_of(&at) {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(LinkProblem::Loop);
                    }
                    at.truncate(above);
                    for part in target?.split('/').rev() {
                        pending.push_front(part);
                    }
                }
            }
        }
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_followed_by_names_alone() {
        let links = [
            ("up", ".."),
            ("d/here", "."),
            ("d/top", ".."),
            ("loop1", "loop2"),
            ("loop2", "loop1"),
            ("abs", "/etc"),
        ];
        let target_of = |path: &str| {
            let (_, target) = links.iter().find(|(link, _)| *link == path)?;
            Some(check_target(target.as_bytes()))
        };
        for (from, target, wanted) in [
            ("l", "a", Ok("a")),
            ("d/l", "../a/", Ok("a")),
            ("d/l", "..", Ok("")),
            ("d/l", "../..", Err(LinkProblem::Outside)),
            ("l", "../x", Err(LinkProblem::Outside)),
            ("l", "nothing/../../x", Err(LinkProblem::Outside)),
            ("l", "d/here/here/x", Ok("d/x")),
            ("l", "d/top/x", Ok("x")),
            ("l", "d/top/../x", Err(LinkProblem::Outside)),
            ("l", "D/TOP/../x", Err(LinkProblem::Outside)),
            ("l", "up/x", Err(LinkProblem::Outside)),
            ("l", "loop1/x", Err(LinkProblem::Loop)),
            ("l", "abs/passwd", Err(LinkProblem::Absolute)),
        ] {
            let from = EntryPath::parse(from.as_bytes()).unwrap();
            let found = follow(&from, target, target_of);
            assert_eq!(found, wanted.map(str::to_owned), "{from} -> {target}");
        }
    }

    #[test]
    fn long_chains_end() {
        let target = "a/".repeat(400);
        let target_of = |path: &str| path.ends_with('b').then_some(Ok(target.as_str()));
        let from = EntryPath::parse(b"l").unwrap();
        let found = follow(&from, "b/b/b", target_of);
        assert_eq!(found, Err(LinkProblem::Loop));
    }

    #[test]
    fn a_target_is_a_path_like_any_other() {
        for (target, wanted) in [
            ("/etc/passwd", LinkProblem::Absolute),
            ("C:x", LinkProblem::Absolute),
            ("\\\\host\\share", LinkProblem::Absolute),
            ("", LinkProblem::Target),
            ("..\\..\\x", LinkProblem::Target),
            ("a\nb", LinkProblem::Target),
            ("a/nul", LinkProblem::Target),
            (".git/hooks", LinkProblem::Target),
        ] {
            assert_eq!(check_target(target.as_bytes()), Err(wanted), "{target:?}");
        }
        assert_eq!(check_target(b"\xff"), Err(LinkProblem::Target));
        assert_eq!(check_target(b"./a//b/.."), Ok("./a//b/.."));
    }
}
