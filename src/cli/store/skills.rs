//! `apkit skills`.

use std::io::{self, Write};

use serde_json::{Value, json};

use apkit::render::{self, visible};
use apkit::source::Source;
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
            let mut same = skills.into_iter().filter(|skill| skill.skill.name == text);
            match (same.next(), same.next()) {
                (Some(one), None) => {
                    only = one.package;
                    (&*only, text)
                }
                _ => return Err(Failure::NoSkillName(Source::shown(text))),
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
