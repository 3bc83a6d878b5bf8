//! Making the plan.

use std::collections::HashMap;

use super::draft::Draft;
use super::identity::{Identity, package_name};
use super::json::{Json, Text};
use super::loss::{Loss, LossKind};
use super::native::{self, Native};
use super::offered;
use super::recognise::{self, MANIFEST, Shape};
use super::skill::{NameProblem, SKILL_FILE};
use super::skills::{self, Adopted};
use super::targets::{self, Target};
use super::tree::Tree;
use super::{
    Input, Output, Plan, PlanError, Source, credentials, descriptor, marketplace, npm, restate,
    texts,
};
use crate::archive::fold;

/// Plans an export.
///
/// # Errors
///
/// When the source is nothing that can be exported, or something has to be
/// decided that only the user can decide. What merely cannot be carried over is
/// a loss in the plan.
pub fn plan(input: Input) -> Result<Plan, PlanError> {
    let Input {
        mut sources,
        plugin,
        from,
        target,
        identity,
        namespace,
        rename,
        marketplace,
        server,
        npm,
    } = input;
    if target == Target::Skills {
        for (asked, option) in [(marketplace, "--marketplace"), (npm, "--npm")] {
            if asked {
                return Err(PlanError::SkillsAlone(option));
            }
        }
    }
    let said = identity.clone();
    let mut tops = targets::skills::Tops::default();
    sources.iter().for_each(|source| tops.add(source));
    let (mut draft, manifest, source) = match (sources.pop(), sources.is_empty()) {
        (None, _) => {
            let Some(server) = &server else {
                return Err(PlanError::NoSource);
            };
            let name = identity.name.clone().unwrap_or_else(|| server.name.clone());
            package_name(&name).map_err(PlanError::Name)?;
            (Draft::default(), Some(identity.manifest(&name)), "server")
        }
        (Some(source), true) => {
            let source = match &plugin {
                Some(name) => offered::choose(source, name)?,
                None => source,
            };
            let shape = recognise::recognise(&source.tree, from)?;
            let is_other = shape == Shape::Other;
            if is_other && server.is_none() {
                let found = recognise::hint(&source.tree);
                return Err(PlanError::NotRecognised { found });
            }
            one(source, &shape, identity, &namespace, rename)?
        }
        (Some(_), false) if plugin.is_some() => return Err(PlanError::PluginOfSeveral),
        (Some(source), false) => {
            sources.push(source);
            let name = identity.name.clone().ok_or(PlanError::NameMissing)?;
            package_name(&name).map_err(PlanError::Name)?;
            finish_skills(several(sources, rename)?, &identity, &name, &namespace)?
        }
    };
    if let Some(server) = &server {
        descriptor::add(&mut draft, server)?;
    }
    if let Some(manifest) = manifest {
        draft.put_json(MANIFEST, &manifest);
    }
    restate::others(&mut draft, &said);
    credentials::survey(&mut draft);
    texts::survey(&mut draft);
    let facts = targets::Facts::of(&draft);
    for client in target.clients() {
        targets::add(*client, &mut draft, &facts);
    }
    if npm {
        npm::add(&mut draft, &facts)?;
    }
    let mut plan = Plan {
        announced: std::mem::take(&mut draft.announced),
        given: said.given(),
        source,
        name: facts.name.clone(),
        version: facts.identity.version.clone(),
        ..Plan::default()
    };
    if target == Target::Skills {
        plan.judged = Some(draft.clone().outputs());
        targets::skills::only(&mut draft, &namespace, &tops);
        plan.notes = std::mem::take(&mut draft.notes);
        plan.losses = draft.sorted_losses();
        plan.outputs = distinct(draft.outputs())?;
        return Ok(plan);
    }
    plan.packages = vec![String::new()];
    plan.notes = std::mem::take(&mut draft.notes);
    plan.losses = draft.sorted_losses();
    if marketplace {
        plan.packages = marketplace::wrap(&mut draft, &facts, target);
    }
    plan.outputs = distinct(draft.outputs())?;
    Ok(plan)
}

/// Refuses files that some file system takes for one and the same: such a package
/// cannot be imported.
fn distinct(outputs: Vec<Output>) -> Result<Vec<Output>, PlanError> {
    let mut seen: HashMap<String, &str> = HashMap::new();
    for output in &outputs {
        let ends = output.path.match_indices('/').map(|(end, _)| end);
        for end in ends.chain([output.path.len()]) {
            let path = output.path.get(..end).unwrap_or_default();
            let other = *seen.entry(fold(path).into_owned()).or_insert(path);
            if other != path {
                return Err(PlanError::SameFile(other.to_owned(), path.to_owned()));
            }
        }
    }
    Ok(outputs)
}

type Made = (Draft, Option<Json>, &'static str);

/// One source of any kind.
fn one(
    source: Source,
    shape: &Shape,
    identity: Identity,
    namespace: &str,
    rename: bool,
) -> Result<Made, PlanError> {
    match *shape {
        Shape::Package => {
            let mut draft = Draft::of(source.tree);
            skills::survey(&mut draft);
            let manifest = restated(&draft, &identity)?;
            Ok((draft, manifest, "package"))
        }
        Shape::Native(client, path) => {
            let mut draft = Draft::of(source.tree);
            let native = Native {
                client,
                manifest: path,
                identity,
                rename,
            };
            let (mut manifest, adopted) = native::convert(&mut draft, native)?;
            remember(&mut manifest, namespace, adopted);
            Ok((draft, Some(manifest), client.id()))
        }
        Shape::Other => {
            let name = identity.name.clone().ok_or(PlanError::NameMissing)?;
            package_name(&name).map_err(PlanError::Name)?;
            Ok((
                Draft::of(source.tree),
                Some(identity.manifest(&name)),
                "directory",
            ))
        }
        Shape::Skills | Shape::SkillsInside | Shape::Skill => {
            let directory = source.name.clone();
            let (draft, adopted) = adopted(source, shape, rename);
            // One skill gives its name to the package.
            let own =
                (*shape == Shape::Skill).then(|| skills::first_name(&draft).unwrap_or(directory));
            let name = identity.name.clone().or(own);
            let name = name.ok_or(PlanError::NameMissing)?;
            package_name(&name).map_err(PlanError::Name)?;
            finish_skills((draft, adopted), &identity, &name, namespace)
        }
    }
}

/// The manifest of a package, with what the user says about it; `None` if that
/// is nothing.
fn restated(draft: &Draft, identity: &Identity) -> Result<Option<Json>, PlanError> {
    if *identity == Identity::default() {
        return Ok(None);
    }
    let bytes = draft.bytes(MANIFEST).unwrap_or_default();
    let text = Text::read(MANIFEST, bytes).map_err(|error| PlanError::Manifest {
        path: MANIFEST.to_owned(),
        message: error.message,
    })?;
    let mut manifest = Json::of(&text.document.root);
    if let Some(name) = &identity.name {
        package_name(name).map_err(PlanError::Name)?;
        manifest.set("name", Json::string(name));
    }
    identity.write_to(&mut manifest);
    Ok(Some(manifest))
}

/// Several directories of skills as one.
fn several(sources: Vec<Source>, rename: bool) -> Result<(Draft, Adopted), PlanError> {
    let mut all = (Draft::default(), Adopted::default());
    for source in sources {
        let shape = recognise::recognise(&source.tree, None)?;
        if !matches!(shape, Shape::Skills | Shape::SkillsInside | Shape::Skill) {
            return Err(PlanError::NotSkills(source.name));
        }
        let origin = source.name.clone();
        let (draft, adopted) = adopted(source, &shape, rename);
        merge(&mut all.0, draft, &origin);
        all.1.add(adopted);
    }
    Ok(all)
}

/// Adds the skills of `new`; the first of two with the same name stays.
fn merge(all: &mut Draft, new: Draft, origin: &str) {
    let names: Vec<String> = new
        .tree
        .below(skills::DIRECTORY)
        .filter_map(|(inner, _)| {
            Some(
                inner
                    .strip_suffix(SKILL_FILE)?
                    .strip_suffix('/')?
                    .to_owned(),
            )
        })
        .filter(|name| all.has(&format!("{}/{name}/{SKILL_FILE}", skills::DIRECTORY)))
        .collect();
    for name in &names {
        let path = format!("{}/{name}/{SKILL_FILE}", skills::DIRECTORY);
        let why = format!("another source has a skill of this name, and {origin} comes after it");
        all.lose(
            Loss::new(LossKind::SkillCollision, path, format!("skill {name}"), why)
                .with_help("give one of them another name"),
        );
    }
    for (path, file) in new.tree.files {
        let doubled = names
            .iter()
            .any(|name| path.starts_with(&format!("{}/{name}/", skills::DIRECTORY)));
        if !doubled {
            all.tree.files.entry(path).or_insert(file);
        }
    }
    all.losses.extend(new.losses);
    all.announced.extend(new.announced);
    new.notes.into_iter().for_each(|note| all.note(note));
}

/// The skills of one source in their places.
fn adopted(source: Source, shape: &Shape, rename: bool) -> (Draft, Adopted) {
    let mut draft = Draft::of(source.tree);
    let mut adopted = Adopted::default();
    match shape {
        Shape::SkillsInside => {
            skills::adopt(&mut draft, skills::DIRECTORY, rename, &mut adopted);
        }
        Shape::Skill => {
            let files = std::mem::take(&mut draft.tree.files);
            let name = source.name.as_str();
            draft.tree = Tree {
                files: files
                    .into_iter()
                    .map(|(path, file)| (format!("{name}/{path}"), file))
                    .collect(),
                losses: Vec::new(),
            };
            skills::adopt_one(&mut draft, name, name, rename, &mut adopted);
        }
        _ => {
            skills::adopt(&mut draft, "", rename, &mut adopted);
            leave_out_others(&mut draft);
        }
    }
    (draft, adopted)
}

/// Beside skills, a package takes what tells about all of them.
fn leave_out_others(draft: &mut Draft) {
    let mut left_out: Vec<String> = Vec::new();
    draft.tree.files.retain(|path, _| {
        let top = path.split('/').next().unwrap_or_default();
        let kept = top == skills::DIRECTORY || skills::tells_about_all(path);
        if !kept && left_out.last().is_none_or(|last| last != top) {
            left_out.push(top.to_owned());
        }
        kept
    });
    for path in left_out {
        let why = "it is no skill, and no part of one";
        draft.lose(Loss::new(LossKind::FileLeftOut, path.clone(), path, why));
    }
}

/// The package of adopted skills; refuses names that break the rule.
fn finish_skills(
    (draft, mut adopted): (Draft, Adopted),
    identity: &Identity,
    name: &str,
    namespace: &str,
) -> Result<Made, PlanError> {
    let problems: Vec<NameProblem> = std::mem::take(&mut adopted.names);
    if !problems.is_empty() {
        return Err(PlanError::SkillNames(problems));
    }
    let mut manifest = identity.manifest(name);
    remember(&mut manifest, namespace, adopted);
    Ok((draft, Some(manifest), "skills"))
}

/// Notes in the manifest what skills were like before, if they were changed.
fn remember(manifest: &mut Json, namespace: &str, adopted: Adopted) {
    if adopted.before.is_empty() {
        return;
    }
    let mut extensions = manifest
        .get("extensions")
        .cloned()
        .unwrap_or(Json::Object(Vec::new()));
    let mut own = extensions
        .get(namespace)
        .cloned()
        .unwrap_or(Json::Object(Vec::new()));
    own.set("skills", Json::Object(adopted.before));
    extensions.set(namespace, own);
    manifest.set("extensions", extensions);
}
