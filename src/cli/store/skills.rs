//! `apkit skills`.

use std::io::{self, Write};

use serde_json::{Value, json};

use apkit::render::{self, visible};
use apkit::source::Source;
use apkit::spec::near::nearest;
use apkit::store::{InstalledSkill, ShownSkill};

use super::super::exit::Exit;
use super::super::failure::{self, Failure, slashed};
use super::super::output;
use super::args::{Place, SkillsCommand};
use super::{Session, Skills, json};

pub(crate) fn run(arguments: &Skills) -> Result<Exit, Failure> {
    if let Some(SkillsCommand::Show(shown)) = &arguments.command {
        let place = shown.place.or(&arguments.place);
        return show(&shown.skill, place, arguments.is_json());
    }
    let session = Session::start()?;
    let store = session.store(&arguments.place)?;
    let skills = store
        .skills(session.stop())
        .map_err(|error| Failure::store("list skills".to_owned(), error))?;
    output::to_stdout(|out| {
        if arguments.shape.is_json() {
            return json::write("skills", skills.iter().map(as_json).collect(), out);
        }
        if skills.is_empty() {
            writeln!(out, "no skills in {}", failure::show(store.root()))?;
        }
        skills.iter().try_for_each(|skill| as_text(skill, out))
    })?;
    Ok(Exit::Clean)
}

fn show(text: &str, place: &Place, is_json: bool) -> Result<Exit, Failure> {
    let session = Session::start()?;
    let store = session.store(place)?;
    let only;
    let (package, name) = match text.split_once('/') {
        Some((package, name)) => (package, name),
        None => {
            let skills = store
                .skills(session.stop())
                .map_err(|error| Failure::store("list skills".to_owned(), error))?;
            let same = skills.iter().filter(|skill| skill.skill.name == text);
            let same: Vec<&InstalledSkill> = same.collect();
            if let [one] = same[..] {
                only = one.package.clone();
                (&*only, text)
            } else {
                return Err(no_skill(text, &skills, &same));
            }
        }
    };
    let shown = store
        .skill(package, name, session.stop())
        .map_err(|error| {
            Failure::store(
                format!("show the skill {}", visible(&Source::shown(text))),
                error,
            )
        })?;
    output::to_stdout(|out| shown_skill(&shown, is_json, out))?;
    if !is_json && !shown.sidecars.is_empty() {
        failure::note(&format!(
            "beside it in {}: {}",
            failure::show(&shown.skill.directory),
            visible(&shown.sidecars.join(", "))
        ));
    }
    Ok(Exit::Clean)
}

/// That several skills have the name, or none, with those that may be meant.
fn no_skill(text: &str, skills: &[InstalledSkill], same: &[&InstalledSkill]) -> Failure {
    let of_package = skills.iter().filter(|skill| skill.package == text);
    let of_package: Vec<&InstalledSkill> = of_package.collect();
    let names = skills.iter().map(|skill| skill.skill.name.as_str());
    let nearest = nearest(text, names);
    let near = skills.iter();
    let near = near.filter(|skill| nearest == Some(skill.skill.name.as_str()));
    let near: Vec<&InstalledSkill> = near.collect();
    let meant = [same, &of_package, &near];
    let meant = meant.into_iter().find(|found| !found.is_empty());
    let known = meant.into_iter().flatten();
    let known = known.map(|skill| format!("{}/{}", skill.package, skill.skill.name));
    Failure::NoSkillName {
        text: Source::shown(text),
        is_there: !same.is_empty(),
        known: known.collect(),
    }
}

fn shown_skill(shown: &ShownSkill, is_json: bool, out: &mut dyn Write) -> io::Result<()> {
    if is_json {
        let mut document = json::header();
        let mut skill = as_json(&shown.skill);
        if let Value::Object(members) = &mut skill {
            members.insert("body".to_owned(), json!(shown.body));
            members.insert("sidecars".to_owned(), json!(shown.sidecars));
        }
        document.insert("skill".to_owned(), skill);
        return render::write_json(out, &Value::Object(document), true);
    }
    // The text is a stranger's: its lines stay lines, all else is made harmless.
    for line in shown.body.lines() {
        let line: Vec<_> = line.split('\t').map(visible).collect();
        writeln!(out, "{}", line.join("\t"))?;
    }
    Ok(())
}

fn as_text(skill: &InstalledSkill, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{}/{}  {}  {}",
        visible(&skill.package),
        visible(&skill.skill.name),
        visible(&skill.version),
        visible(&skill.source.to_string())
    )?;
    writeln!(out, "  {}", visible(&skill.skill.description))
}

fn as_json(skill: &InstalledSkill) -> Value {
    json!({
        "package": skill.package,
        "name": skill.skill.name,
        "description": skill.skill.description,
        "version": skill.version,
        "source": skill.source.to_string(),
        "path": slashed(&skill.directory),
    })
}
