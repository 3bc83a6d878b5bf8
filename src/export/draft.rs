//! What a plan is made of while it is made.

use std::collections::{BTreeMap, BTreeSet};

use super::credentials;
use super::json::Json;
use super::loss::Loss;
use super::tree::{File, Tree};
use super::{Announced, Output};
use crate::diagnostic::Code;

/// A package that is being put together.
#[derive(Debug, Default, Clone)]
pub(super) struct Draft {
    pub(super) tree: Tree,
    pub(super) losses: Vec<Loss>,
    pub(super) notes: Vec<String>,
    /// Warnings of the rule book that a loss already tells about.
    pub(super) announced: BTreeSet<Announced>,
}

impl Draft {
    /// Takes over everything of a source but its files of credentials.
    pub(super) fn of(mut tree: Tree) -> Self {
        let mut draft = Self {
            losses: std::mem::take(&mut tree.losses),
            tree,
            ..Self::default()
        };
        credentials::leave_out(&mut draft);
        draft
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.tree.files.contains_key(path)
    }

    pub(super) fn bytes(&self, path: &str) -> Option<&[u8]> {
        self.tree.files.get(path).map(|file| file.bytes.as_slice())
    }

    /// Puts a text there.
    pub(super) fn put(&mut self, path: impl Into<String>, text: impl Into<Vec<u8>>) {
        let file = File {
            bytes: text.into(),
            executable: false,
        };
        self.tree.files.insert(path.into(), file);
    }

    pub(super) fn put_json(&mut self, path: impl Into<String>, value: &Json) {
        self.put(path, value.text());
    }

    /// Takes the files below a directory out.
    pub(super) fn take_directory(&mut self, path: &str) -> BTreeMap<String, File> {
        let inside: Vec<String> = self
            .tree
            .below(path)
            .map(|(inner, _)| inner.to_owned())
            .collect();
        let mut taken = BTreeMap::new();
        for inner in inside {
            if let Some(file) = self.tree.files.remove(&format!("{path}/{inner}")) {
                taken.insert(inner, file);
            }
        }
        taken
    }

    pub(super) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    pub(super) fn lose(&mut self, loss: Loss) {
        self.losses.push(loss);
    }

    /// Says that a loss tells about findings with this code in this file.
    pub(super) fn announce(&mut self, path: &str, code: &Code) {
        self.announced.insert(Announced {
            path: path.to_owned(),
            code: code.id,
        });
    }

    /// What is left of the draft: the files, each path once.
    pub(super) fn outputs(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.tree.files)
            .into_iter()
            .map(|(path, file)| Output {
                path,
                bytes: file.bytes,
                executable: file.executable,
            })
            .collect()
    }

    /// Sorts the losses by weight, file and place, each once.
    pub(super) fn sorted_losses(&mut self) -> Vec<Loss> {
        let mut losses = std::mem::take(&mut self.losses);
        losses.sort_by(|a, b| {
            let key = |loss: &Loss| (loss.kind.weight(), loss.path.clone(), loss.line, loss.kind);
            let (a, b) = (key(a), key(b));
            b.0.cmp(&a.0)
                .then_with(|| (&a.1, a.2, a.3).cmp(&(&b.1, b.2, b.3)))
        });
        losses.dedup();
        losses
    }
}
