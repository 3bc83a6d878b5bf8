//! Both searches of a recall, side by side, under one deadline.

use super::client::{Client, Found, Track};
use super::deadline::Deadline;
use super::http::Failure;
use super::identity::Identity;

/// What the two tracks answered.
#[derive(Debug)]
pub struct Both {
    /// The user's track; `None` if no user is known.
    pub user: Option<Result<Found, Failure>>,
    /// The agent's track.
    pub agent: Result<Found, Failure>,
}

impl Both {
    /// The tracks that failed, with the words for them.
    pub fn failures(&self) -> Vec<(&'static str, &Failure)> {
        let user = self
            .user
            .as_ref()
            .and_then(|user| user.as_ref().err())
            .map(|failure| ("personal", failure));
        let agent = self.agent.as_ref().err().map(|failure| ("agent", failure));
        user.into_iter().chain(agent).collect()
    }

    /// Whether nothing was answered at all.
    pub fn all_failed(&self) -> bool {
        self.agent.is_err() && !matches!(self.user, Some(Ok(_)))
    }

    /// Whether a track had to be answered by keyword alone.
    pub fn keyword_only(&self) -> bool {
        let found = [
            self.user.as_ref().and_then(|user| user.as_ref().ok()),
            self.agent.as_ref().ok(),
        ];
        found.into_iter().flatten().any(|found| found.keyword_only)
    }

    /// The data of the user's track.
    pub fn user_data(&self) -> Option<&super::json::Json> {
        self.user
            .as_ref()
            .and_then(|user| user.as_ref().ok())
            .map(|found| &found.data)
    }

    /// The data of the agent's track.
    pub fn agent_data(&self) -> Option<&super::json::Json> {
        self.agent.as_ref().ok().map(|found| &found.data)
    }
}

/// Searches both tracks at the same time; each may fail on its own.
pub fn both(
    client: Client<'_>,
    identity: &Identity,
    query: &str,
    profile: bool,
    keyword: bool,
    deadline: Deadline,
) -> Both {
    let agent = || client.search(identity, Track::Agent, query, keyword, deadline);
    std::thread::scope(|scope| {
        // Without a second thread the two go one after the other.
        let beside = std::thread::Builder::new().spawn_scoped(scope, agent);
        let user = identity.user.as_deref().map(|id| {
            client.search(
                identity,
                Track::User { id, profile },
                query,
                keyword,
                deadline,
            )
        });
        let agent = match beside {
            Ok(handle) => handle.join().unwrap_or(Err(Failure::Broken)),
            Err(_) => agent(),
        };
        Both { user, agent }
    })
}
