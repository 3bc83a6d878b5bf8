//! What a host sends to a hook, and what leaves of it: the payload is read
//! whatever it is, the answer is one JSON object or nothing, and no token of a
//! known issuer gets out.
#![no_main]

use std::ffi::OsString;

use apkit::everos::config::Env;
use apkit::everos::redact::Redactor;
use apkit::everos::{Host as _, json::Json, query, render};
use apkit::host::claude_code::{self, ClaudeCode, Hook};
use apkit::secret;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // As a child of our own: the payload is read, and nothing is done about it.
    let env = || Env::new([(ClaudeCode.guard_variable(), "1")].map(|(name, value)| (OsString::from(name), value.into())));
    for (_, hook) in Hook::ALL {
        let payload = bytes.to_vec();
        let answer = claude_code::run(hook, || Ok(payload), env());
        assert!(answer.is_empty());
    }

    // The prompt's way to the server.
    let payload = Json::parse(bytes);
    let prompt = payload.as_ref().and_then(|payload| payload.text("prompt"));
    let text = String::from_utf8_lossy(bytes);
    let prompt = prompt.map_or(text.as_ref(), |prompt| prompt.head.as_str());
    let mut redactor = Redactor::new(true);
    let shown = redactor.private(prompt);
    let sent = redactor.string(&shown);
    assert_eq!(secret::tokens(&sent).next(), None, "{sent:?}");
    if redactor.count == 0 {
        assert_eq!(sent, prompt);
    }
    if let Some(query) = query::build(&sent, ClaudeCode.wrappers()) {
        assert!(!query.trim().is_empty());
    }

    // The server's answer on its way to the model.
    if let Some(payload) = &payload
        && let Some(rendered) = render::render(Some(payload), Some(payload), &[])
    {
        let block = &rendered.block;
        assert!(block.chars().count() < 8_000);
        // One fence around everything, and nothing else that looks like a tag.
        let fence = apkit::everos::FENCE;
        assert!(block.starts_with(&format!("<{fence}")) && block.trim_end().ends_with(&format!("</{fence}>")));
        let inner = &block[1..block.trim_end().len() - fence.len() - 3];
        assert!(!inner.contains(&format!("<{fence}")) && !inner.contains(&format!("</{fence}")));
    }
});
