//! Before a prompt: search, and give the model what was found (design document,
//! section 6.2).

use std::time::{Duration, SystemTime};

use super::super::deadline::Deadline;
use super::super::http::Failure;
use super::super::redact::Redactor;
use super::super::state::{Recall, millis};
use super::super::text::Text;
use super::super::{Call, Context, Outcome, provision, query, render, search};
use super::{SHORT_WAIT, first_sight};

/// The profile does not depend on the query: it is asked for at a session's
/// first recall and then every so many.
const PROFILE_EVERY: u64 = 10;
/// How long searches go by keyword after the server could not do better.
const KEYWORD_FOR: Duration = Duration::from_secs(5 * 60);

/// Runs the stage.
pub fn run(context: &Context<'_>, call: &Call, prompt: &Text) -> Outcome {
    let deadline = Deadline::after(context.config.recall_timeout.value);
    // A prompt too short to search for is a sign of life all the same.
    first_sight(context, call);
    let mut redactor = Redactor::new(context.config.redact.value);
    let prompt = redactor.private(&prompt.head);
    let prompt = redactor.string(&prompt);
    let Some(query) = query::build(&prompt, context.host.wrappers()) else {
        context.log.line("nothing to search for");
        return Outcome::default();
    };
    let before = context
        .store
        .as_ref()
        .map(|store| store.recall(&call.session))
        .unwrap_or_default();
    let now = millis(SystemTime::now());
    let profile = before.count.is_multiple_of(PROFILE_EVERY);
    let keyword = now < before.keyword_until;
    let both = search::both(
        context.client(),
        &context.identity,
        &query,
        profile,
        keyword,
        deadline,
    );
    for (track, failure) in both.failures() {
        context.log.line(&format!("{track} track: {failure}"));
    }
    let mut outcome = Outcome::default();
    update(context, &call.session, |recall| {
        recall.count += 1;
        if both.keyword_only() && !keyword {
            recall.keyword_until = now + i64::try_from(KEYWORD_FOR.as_millis()).unwrap_or_default();
        }
        outcome = answer(context, &both, recall);
    });
    outcome
}

/// Changes what is remembered of the session's recalls, under its lock; without
/// a usable data directory the change lives only for this call.
pub fn update(context: &Context<'_>, session: &str, change: impl FnOnce(&mut Recall)) {
    let Some(store) = &context.store else {
        return change(&mut Recall::default());
    };
    let lock = store.lock_shared("recall.lock", Deadline::after(SHORT_WAIT));
    let mut recall = store.recall(session);
    let before = recall.clone();
    change(&mut recall);
    if recall != before
        && let Err(error) = store.save_recall(session, &recall)
    {
        context
            .log
            .line(&format!("recall state not saved: {error}"));
    }
    drop(lock);
}

fn answer(context: &Context<'_>, both: &search::Both, recall: &mut Recall) -> Outcome {
    if both.all_failed() {
        let failure = both
            .failures()
            .first()
            .map(|(_, failure)| (*failure).clone())
            .unwrap_or(Failure::Broken);
        // The session has been told that it starts; it is no news that it is not up.
        let starts = matches!(failure, Failure::Unreachable(_)) && provision::is_starting(context);
        let warn = !starts && recall.first("unreachable");
        return if warn {
            Outcome::notice(unreachable(context, &failure))
        } else {
            Outcome::default()
        };
    }
    let rendered = render::render(both.user_data(), both.agent_data(), &recall.injected);
    let mut notes: Vec<String> = Vec::new();
    match &rendered {
        Some(rendered) => {
            recall.remember(rendered.digests.iter().cloned());
            let mut summary = format!("🧠 EverOS: {}", rendered.counts.summary());
            if both.keyword_only() {
                summary.push_str(" (by keyword only)");
            }
            notes.push(summary);
        }
        None if context.config.verbose.value => {
            notes.push("🧠 EverOS: nothing new for this prompt".to_owned())
        }
        None => {}
    }
    // One half missing would otherwise look like a clean answer.
    for (track, failure) in both.failures() {
        notes.push(format!(
            "⚠️ EverOS: {track} memory unavailable this turn ({failure})"
        ));
    }
    if context.identity.user.is_none() && recall.first("no-user") {
        notes.push(no_user(context));
    }
    Outcome {
        context: rendered.map(|rendered| rendered.block),
        notice: (!notes.is_empty()).then(|| notes.join("\n")),
    }
}

/// What the user is told when no server answers.
pub fn unreachable(context: &Context<'_>, failure: &Failure) -> String {
    format!(
        "⚠️ EverOS unreachable at {} ({failure}); memory is off. Run {}",
        context.config.base_url.value,
        context.host.status_command()
    )
}

/// What the user is told when nobody is known to remember things of.
pub fn no_user(context: &Context<'_>) -> String {
    format!(
        "⚠️ EverOS: no user id found, personal memory is off. Set {}USER_ID",
        context.host.env_prefix()
    )
}
