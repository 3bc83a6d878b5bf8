//! Every diagnostic code, declared once: severity, effect, section, summary and
//! the long text of `apkit explain`, which is the doc comment itself.
//!
//! One file per family; the family is the first half of the code's identifier
//! and names the module under `src/package/` that checks it.

use crate::diagnostic::Code;

/// Declares the codes of one family. The doc comment of a code is its
/// published explanation.
macro_rules! codes {
    ($family:literal; $(
        $(#[doc = $doc:literal])+
        $name:ident = $id:literal, $severity:ident, $effect:ident, $spec:literal, $requirement:expr, $summary:literal;
    )+) => {
        $(
            $(#[doc = $doc])+
            pub static $name: $crate::diagnostic::Code = $crate::diagnostic::Code {
                id: concat!($family, "::", $id),
                severity: $crate::diagnostic::Severity::$severity,
                effect: $crate::diagnostic::Effect::$effect,
                spec: $spec,
                requirement: $requirement,
                summary: $summary,
                explanation: concat!($($doc, "\n"),+),
            };
        )+
        pub(super) static ALL: &[&$crate::diagnostic::Code] = &[$(&$name),+];
    };
}

pub mod manifest;
pub mod mcp;
pub mod package;
pub mod skill;
pub mod skills;

/// All codes, family by family, in the order of their declaration.
pub fn all() -> impl Iterator<Item = &'static Code> {
    [
        package::ALL,
        manifest::ALL,
        skills::ALL,
        skill::ALL,
        mcp::ALL,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// The code with this identifier.
pub fn find(id: &str) -> Option<&'static Code> {
    all().find(|code| code.id == id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::diagnostic::{Effect, Severity};

    #[test]
    fn identifiers_are_unique_and_well_formed() {
        let mut seen = BTreeSet::new();
        for code in all() {
            assert!(seen.insert(code.id), "{} is declared twice", code.id);
            let (family, name) = code.id.split_once("::").expect("family::name");
            for part in [family, name] {
                assert!(
                    part.split('-').all(|word| !word.is_empty()
                        && word
                            .chars()
                            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())),
                    "{}",
                    code.id
                );
            }
        }
    }

    #[test]
    fn severity_follows_the_effect() {
        for code in all() {
            let fits = match code.effect {
                Effect::FieldIgnored => code.severity == Severity::Warning,
                Effect::None => code.severity != Severity::Error,
                _ => code.severity == Severity::Error,
            };
            assert!(
                fits,
                "{}: {:?} with {:?}",
                code.id, code.severity, code.effect
            );
        }
    }

    #[test]
    fn every_code_is_explained_with_wrong_and_right() {
        for code in all() {
            assert!(!code.summary.ends_with('.'), "{}", code.id);
            for word in ["Wrong:", "Right:"] {
                assert!(code.explanation.contains(word), "{} lacks {word}", code.id);
            }
        }
    }

    #[test]
    fn advice_cites_apkit_and_rules_cite_a_text() {
        for code in all() {
            let known =
                code.spec.starts_with('§') || code.spec == "Agent Skills" || code.spec == "apkit";
            assert!(known, "{} cites {:?}", code.id, code.spec);
            if code.severity == Severity::Error {
                assert_ne!(code.spec, "apkit", "{} is an error without a text", code.id);
            }
        }
    }
}
