//! What the plain skill folders of a package will be: found out, and copied beside
//! their places, before anything of the store changes; then only names change.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use super::aside::{Built, delete, free_new};
use super::copy::copy;
use super::permitted::permitted;
use super::record::{Ours, Record};
use super::removal::withdraw;
use super::temporary::{Made, Temporary};
use super::{Copied, Folders, Found, LeftAlone, Problem, now, swap, taken_by};
use crate::archive::Tree;
use crate::package::Skill;
use crate::source::Source;
use crate::store::Error;
use crate::store::change::Writer;
use crate::store::former::Former;
use crate::store::layout::Layout;
use crate::store::lock_file::{Folder, LockFile};
use crate::store::staging::remove_all;

/// What folders are planned for.
pub(in crate::store) struct Wanted<'a> {
    /// The name of the package.
    pub(in crate::store) name: &'a str,
    /// Where it comes from.
    pub(in crate::store) source: &'a Source,
    /// Where its tree lies now.
    pub(in crate::store) root: &'a Path,
    /// Its skills.
    pub(in crate::store) skills: &'a [Skill],
    /// Where the lock file will say that they are copied to.
    pub(in crate::store) folders: &'a [Folder],
    /// What the lock file says until now.
    pub(in crate::store) installed: &'a LockFile,
    /// Which of these the user asks for now.
    pub(in crate::store) asked: &'a [Folder],
    /// Whether the user allows scripts now, wherever the lock file has them.
    pub(in crate::store) scripts: bool,
    /// Below this directory, skills are copied to wherever the lock file says.
    pub(in crate::store) base: &'a Path,
    /// The content that the lock file names until now, if copies of it may have come
    /// along.
    pub(in crate::store) former: Option<&'a Former>,
    /// Copies go here, to be looked at only; else beside their places.
    pub(in crate::store) scratch: Option<&'a Path>,
}

impl<'a> Wanted<'a> {
    /// Where the lock file says until now that its skills are copied to.
    fn recorded(&self) -> &'a [Folder] {
        let entry = self.installed.packages.get(self.name);
        entry.map_or(&[], |entry| &entry.folders)
    }
}

/// What the folders will be. Dropped, it leaves nothing behind.
pub(in crate::store) struct Plan {
    name: String,
    record: Record,
    ours: Ours,
    items: Vec<Item>,
    gone: Vec<PathBuf>,
    outside: Vec<LeftAlone>,
    /// Directories whose folders another machine has put there.
    came_along: HashSet<PathBuf>,
    /// Whether there is anything to write down.
    is_recorded: bool,
    /// What stands where copies would be built, and cannot be deleted.
    left: Vec<Problem>,
    /// After the copies.
    _built: Option<Built>,
    /// After the copies in them.
    _made: Vec<Made>,
}

struct Item {
    digest: String,
    /// Somebody else's folder has the place, and holds the same.
    is_theirs: bool,
    copied: Copied,
    copy: Temporary,
}

/// What stands in the place of a copy.
enum Standing {
    /// Nothing, or what we put there.
    Free,
    /// The same as the copy, and not ours.
    Same,
    /// Something else, and why it is not replaced.
    Occupied {
        problem: String,
        /// The other package that has the place.
        owner: Option<String>,
    },
}

impl Plan {
    /// Makes one.
    ///
    /// # Errors
    ///
    /// When something that is not ours stands in a place, the path of one is no
    /// Unicode, or a copy cannot be made.
    pub(in crate::store) fn make(layout: &Layout, wanted: &Wanted<'_>) -> Result<Self, Error> {
        let mut record = Record::read(layout)?;
        let (permitted, outside) = permitted(layout, &record, wanted);
        let mut directories = permitted.iter().map(|folder| &folder.directory);
        if let Some(path) = directories.find(|directory| directory.to_str().is_none()) {
            let path = path.clone();
            return Err(Error::NoUnicode { path });
        }
        let before = record.allowed.remove(wanted.name).unwrap_or_default();
        // What the lock file says was copied there, and this machine has not seen yet,
        // came along with the lock file.
        let recorded = wanted.recorded();
        let came_along: HashSet<PathBuf> = recorded
            .iter()
            .map(|folder| folder.directory.clone())
            .filter(|directory| !before.contains_key(directory))
            .collect();
        let ours = record.packages.remove(wanted.name).unwrap_or_default();
        let allowed: BTreeMap<PathBuf, bool> = permitted
            .iter()
            .map(|folder| (folder.directory.clone(), folder.scripts))
            .collect();
        let is_recorded = !(ours.is_empty() && allowed.is_empty() && before.is_empty());
        if !allowed.is_empty() {
            record.allowed.insert(wanted.name.to_owned(), allowed);
        }
        let mut plan = Self {
            name: wanted.name.to_owned(),
            is_recorded,
            ours,
            items: Vec::new(),
            gone: Vec::new(),
            outside,
            came_along,
            left: Vec::new(),
            _built: None,
            _made: Vec::new(),
            record,
        };
        plan.adopt(layout, &permitted, wanted)?;
        let places = plan.build_at(layout, &permitted, wanted)?;
        let mut problems = Vec::new();
        let pairs = permitted
            .iter()
            .flat_map(|folder| wanted.skills.iter().map(move |skill| (folder, skill)));
        for ((folder, skill), to) in pairs.zip(places) {
            let root = wanted
                .root
                .canonicalize()
                .map_err(|error| Error::io("read", wanted.root, error))?;
            let place = folder.directory.join(&skill.name);
            let to = Temporary(to);
            let mut copied = Copied::to(place);
            let digest = plan.copy(&root, skill, folder, wanted, &to.0, &mut copied)?;
            plan.take_over(&copied.path, wanted.installed);
            let there = now(&copied.path);
            copied.compare(&there, &digest);
            let standing = plan.standing(&copied.path, &digest, &there);
            let is_theirs = matches!(standing, Standing::Same);
            if let Standing::Occupied { problem, owner } = standing {
                problems.push(Problem {
                    path: copied.path.clone(),
                    problem,
                    is_in_the_way: true,
                    owner,
                });
            }
            plan.items.push(Item {
                digest,
                is_theirs,
                copied,
                copy: to,
            });
        }
        if !problems.is_empty() {
            let recorded = recorded.iter().map(|folder| folder.directory.clone());
            return Err(Error::Folders {
                name: plan.name,
                problems,
                recorded: recorded.collect(),
            });
        }
        plan.gone = plan.no_longer_wanted();
        Ok(plan)
    }

    /// Where the copies are made, in their order; nothing is there.
    fn build_at(
        &mut self,
        layout: &Layout,
        permitted: &[Folder],
        wanted: &Wanted<'_>,
    ) -> Result<Vec<PathBuf>, Error> {
        let mut places = Vec::new();
        for folder in permitted {
            if wanted.scratch.is_none() && !wanted.skills.is_empty() {
                self._made.push(Made::directory(&folder.directory)?);
            }
            for skill in wanted.skills {
                places.push(match wanted.scratch {
                    None => free_new(&folder.directory.join(&skill.name), &mut self.left)?,
                    Some(scratch) => {
                        let to = scratch.join(format!("folder-{}", places.len()));
                        remove_all(&to).map_err(|error| Error::io("remove", &to, error))?;
                        to
                    }
                });
            }
        }
        if wanted.scratch.is_none() && !places.is_empty() {
            self._built = Some(Built::at(places.clone(), layout)?);
            self.record.aside.extend(places.iter().cloned());
        }
        Ok(places)
    }

    /// Where a copy is made that is looked at and deleted again. It is dropped before
    /// what keeps its place written down.
    fn try_at(
        &mut self,
        layout: &Layout,
        place: &Path,
        wanted: &Wanted<'_>,
    ) -> Result<(Option<Built>, Temporary), Error> {
        if let Some(scratch) = wanted.scratch {
            let to = scratch.join("folder");
            remove_all(&to).map_err(|error| Error::io("remove", &to, error))?;
            return Ok((None, Temporary(to)));
        }
        let to = free_new(place, &mut self.left)?;
        let built = Built::at(vec![to.clone()], layout)?;
        Ok((Some(built), Temporary(to)))
    }

    /// Copies a skill, and gives the digest of the copy. Scripts that are not allowed
    /// come along if they stand there already, beside all else as it will be: nobody
    /// brings them then.
    fn copy(
        &self,
        root: &Path,
        skill: &Skill,
        folder: &Folder,
        wanted: &Wanted<'_>,
        to: &Path,
        copied: &mut Copied,
    ) -> Result<String, Error> {
        let is_about = |recorded: &&Folder| recorded.directory == folder.directory;
        let recorded = wanted.folders.iter().find(is_about);
        let digest = |tree: Tree| tree.digest().to_string();
        if !folder.scripts
            && recorded.is_some_and(|recorded| recorded.scripts)
            && let Found::Tree(there) = now(&copied.path)
        {
            let whole = digest(copy(root, skill, true, to, copied)?);
            if whole == there {
                return Ok(whole);
            }
            remove_all(to).map_err(|error| Error::io("remove", to, error))?;
            copied.links_left_out.clear();
        }
        Ok(digest(copy(root, skill, folder.scripts, to, copied)?))
    }

    /// Our folders that the package has no skill for any more. What lies where we
    /// may not write now is left alone.
    fn no_longer_wanted(&self) -> Vec<PathBuf> {
        let wanted: HashSet<&Path> = self.items.iter().map(|item| &*item.copied.path).collect();
        let is_outside = |place: &PathBuf| {
            self.outside
                .iter()
                .any(|above| place.starts_with(&above.path))
        };
        let places = self.ours.keys();
        places
            .filter(|place| !wanted.contains(place.as_path()) && !is_outside(place))
            .cloned()
            .collect()
    }

    /// Makes those copies ours that came along with the lock file and are, to the byte,
    /// what the content gives that it names until now.
    fn adopt(
        &mut self,
        layout: &Layout,
        permitted: &[Folder],
        wanted: &Wanted<'_>,
    ) -> Result<(), Error> {
        let Some(former) = wanted.former else {
            return Ok(());
        };
        let root = former
            .root
            .canonicalize()
            .map_err(|error| Error::io("read", &former.root, error))?;
        for Folder { directory, .. } in permitted {
            let is_about = |recorded: &&Folder| recorded.directory == *directory;
            let recorded = wanted.recorded().iter().find(is_about);
            let Some(recorded) = recorded.filter(|_| self.came_along.contains(directory)) else {
                continue;
            };
            for skill in &former.skills {
                let place = directory.join(&skill.name);
                let is_known = {
                    let mut known = self.record.packages.values().chain([&self.ours]);
                    known.any(|places| places.contains_key(&place))
                };
                let there = match now(&place) {
                    Found::Tree(there) if !is_known => there,
                    _ => continue,
                };
                for scripts in [false, true] {
                    // No more than the lock file has copied.
                    if scripts && !recorded.scripts {
                        continue;
                    }
                    let (_built, to) = self.try_at(layout, &place, wanted)?;
                    let mut copied = Copied::to(place.clone());
                    let copy = copy(&root, skill, scripts, &to.0, &mut copied)?;
                    if copy.digest().to_string() == there {
                        self.ours.insert(place, vec![there]);
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Makes a place ours that another package has by the record alone: the lock file
    /// has its skills copied there no more, and so neither does an update of it.
    fn take_over(&mut self, place: &Path, installed: &LockFile) {
        let above = place.parent().unwrap_or(place);
        for (other, places) in &mut self.record.packages {
            let entry = installed.packages.get(other);
            let mut directories = entry.iter().flat_map(|entry| &entry.folders);
            if directories.any(|folder| folder.directory == above) {
                continue;
            }
            let before = places.remove(place).unwrap_or_default();
            if !before.is_empty() {
                let known = self.ours.entry(place.to_owned()).or_default();
                known.splice(..0, before);
            }
        }
        self.record.packages.retain(|_, places| !places.is_empty());
    }

    /// Whether a folder may be written. One that we did not make is not ours, not even
    /// if it holds the same, unless the lock file that came along says so.
    fn standing(&self, place: &Path, digest: &str, there: &Found) -> Standing {
        let mut others = self.record.packages.iter();
        if let Some((other, _)) = others.find(|(_, folders)| folders.contains_key(place)) {
            // It stays theirs, also while it is gone: their next update puts it back.
            return Standing::Occupied {
                problem: taken_by(other, !matches!(there, Found::Nothing)),
                owner: Some(other.clone()),
            };
        }
        let ours = self.ours.get(place);
        let problem = match there {
            Found::Nothing => return Standing::Free,
            Found::Tree(there) if ours.is_some_and(|ours| ours.contains(there)) => {
                return Standing::Free;
            }
            Found::Tree(there) if *there == digest => {
                let above = place.parent().unwrap_or(place);
                return match self.came_along.contains(above) {
                    true => Standing::Free,
                    false => Standing::Same,
                };
            }
            _ if ours.is_some() => "was changed since apkit put it there",
            _ => "is there already, and apkit has not put it there",
        };
        Standing::Occupied {
            problem: problem.to_owned(),
            owner: None,
        }
    }

    /// Whether a folder is neither as it was left nor as it will be.
    pub(in crate::store) fn mends_anything(&self) -> bool {
        let is_good = |item: &Item| match now(&item.copied.path) {
            Found::Tree(there) if there == item.digest => true,
            Found::Tree(there) => {
                let ours = self.ours.get(&item.copied.path);
                ours.and_then(|ours| ours.last()) == Some(&there)
            }
            _ => false,
        };
        !self.gone.is_empty() || !self.items.iter().all(is_good)
    }

    /// What would be done.
    pub(in crate::store) fn preview(mut self) -> Folders {
        let mut result = Folders {
            removed: std::mem::take(&mut self.gone),
            ..Folders::default()
        };
        self.tell(&mut result);
        result
    }

    /// Says where the copies stand and which were not made.
    fn tell(&mut self, result: &mut Folders) {
        result.outside.append(&mut self.outside);
        for item in self.items.drain(..) {
            if item.is_theirs {
                result.already_there.push(item.copied.path);
            } else {
                result.copied.push(item.copied);
            }
        }
    }

    /// Writes down what may stand in the places from now on, to be taken for the
    /// record together with the new tree: a process that ends before the copies are
    /// made then leaves them known as ours, and as not what they should be.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(in crate::store) fn announce(&mut self, layout: &Layout) -> Result<(), Error> {
        if !self.is_recorded {
            return Ok(());
        }
        self.claim();
        self.write(layout, Record::write_next)
    }

    /// Makes the places ours, with what will stand there last.
    fn claim(&mut self) {
        for item in &self.items {
            if item.is_theirs {
                self.ours.remove(&item.copied.path);
                continue;
            }
            let known = self.ours.entry(item.copied.path.clone()).or_default();
            known.retain(|digest| *digest != item.digest);
            known.push(item.digest.clone());
        }
    }

    /// Does it. The caller holds the store.
    ///
    /// # Errors
    ///
    /// When a folder was changed meanwhile, or the system refuses.
    pub(in crate::store) fn apply(
        mut self,
        layout: &Layout,
        _writer: &Writer<'_>,
    ) -> Result<Folders, Error> {
        if !self.is_recorded {
            return Ok(self.preview());
        }
        self.claim();
        // Written before the folders, so that they are known as ours even if this
        // process ends in between.
        self.write(layout, Record::write)?;
        let mut result = Folders::default();
        for item in self.items.iter().filter(|item| !item.is_theirs) {
            let place = &item.copied.path;
            let there = now(place);
            let standing = self.standing(place, &item.digest, &there);
            if let Standing::Occupied { problem, .. } = standing {
                let error = io::Error::other(format!("it {problem}"));
                return Err(Error::io("replace", place, error));
            }
            if !matches!(there, Found::Tree(there) if there == item.digest) {
                let before = swap(&item.copy.0, place)?;
                let left = before.and_then(|before| delete(&before));
                result.not_deleted.extend(left);
            }
            self.ours.insert(place.clone(), vec![item.digest.clone()]);
        }
        for place in std::mem::take(&mut self.gone) {
            withdraw(layout, &place, &mut self.ours, &mut result)?;
        }
        result.not_deleted.append(&mut self.left);
        let left = result.not_deleted.iter().map(|left| left.path.clone());
        self.record.aside.extend(left);
        self.write(layout, Record::write)?;
        self.tell(&mut result);
        Ok(result)
    }

    fn write(
        &mut self,
        layout: &Layout,
        how: impl FnOnce(&Record, &Layout) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.ours.is_empty() {
            self.record.packages.remove(&self.name);
        } else {
            let ours = self.ours.clone();
            self.record.packages.insert(self.name.clone(), ours);
        }
        let written = how(&self.record, layout);
        // In the record, they would be another package's.
        self.record.packages.remove(&self.name);
        written
    }
}

impl Copied {
    /// Compares it with what stands in its place until now.
    fn compare(&mut self, there: &Found, digest: &str) {
        if let Found::Tree(there) = there {
            self.is_unchanged = there == digest;
            let left_out = self.scripts_left_out.iter();
            let stands = |script: &&String| self.path.join(script).symlink_metadata().is_ok();
            self.scripts_removed = left_out.filter(stands).cloned().collect();
        }
    }
}
