//! What the commands that open sessions share.

use std::future::{Future, poll_fn};
use std::task::Poll;
use std::time::Duration;

use clap::Args;

use apkit::mcp::credential::Credentials;
use apkit::mcp::plan::ServerPlan;
use apkit::mcp::session::{self, Facts, Failure as ServerFailure, Logs, Session, Step};
use apkit::mcp::{http, stdio};
use apkit::net::{Egress, Proxies};
use apkit::render::visible;
use apkit::spec::near;

use super::place::Subjects;
use super::trouble::Trouble;

/// How long servers are waited for.
#[derive(Debug, Args)]
pub(super) struct Waiting {
    /// How long opening a server may take, and a request without a sign of
    /// progress; a server that is downloaded at its first start may need more
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

impl Waiting {
    pub(super) fn limit(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }
}

/// Runs what waits for servers. Servers that still run afterwards are ended.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Trouble> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Trouble::Runtime)?;
    Ok(runtime.block_on(future))
}

/// How servers are opened for these packages.
pub(super) fn options(subjects: &Subjects, limit: Duration) -> Result<session::Options, Trouble> {
    let environment = subjects.session.environment();
    let variable = |name: &str| Some(environment.get(name)?.to_str()?.to_owned());
    let mut egress = Egress::default();
    for entry in &subjects.private {
        egress = egress.allow(entry)?;
    }
    let guard = stdio::this_program().map_err(Trouble::Runtime)?;
    Ok(session::Options {
        opening: limit,
        call: Some(limit),
        stdio: stdio::Limits::new(guard),
        http: http::Rules {
            egress,
            proxies: Proxies::from_variables(variable)?,
            ..http::Rules::default()
        },
        room: session::Room::default(),
    })
}

/// What the user gives a server of `package`.
pub(super) fn credentials(
    subjects: &Subjects,
    package: &str,
    server: &ServerPlan,
) -> Result<Credentials, ServerFailure> {
    let variables = &subjects.session.environment().variables;
    Credentials::for_server(&subjects.keys, package, server, variables)
        .map_err(|error| ServerFailure::new(&server.name, Step::Start, error.to_string()))
}

/// Opens a session with a server of `package`.
pub(super) async fn open(
    subjects: &Subjects,
    package: &str,
    server: &ServerPlan,
    options: &session::Options,
) -> Result<(Session, Logs), ServerFailure> {
    let credentials = credentials(subjects, package, server)?;
    session::open(server, &credentials, options).await
}

/// The server of this name.
pub(super) fn server<'s>(servers: &'s [ServerPlan], name: &str) -> Result<&'s ServerPlan, Trouble> {
    let found = servers.iter().find(|server| server.name == name);
    found.ok_or_else(|| {
        let names = || servers.iter().map(|server| server.name.as_str());
        Trouble::Server {
            name: name.to_owned(),
            nearest: near::nearest(name, names()).map(str::to_owned),
            known: names().map(str::to_owned).collect(),
        }
    })
}

/// What all of these give, in their order. They run at the same time.
pub(super) async fn all<T>(futures: impl IntoIterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut running: Vec<_> = futures.into_iter().map(|one| Box::pin(one)).collect();
    let mut done: Vec<Option<T>> = running.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut all = true;
        for (one, done) in running.iter_mut().zip(&mut done) {
            if done.is_none() {
                match one.as_mut().poll(context) {
                    Poll::Ready(value) => *done = Some(value),
                    Poll::Pending => all = false,
                }
            }
        }
        if all { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}

/// The name and version of a server's program, and the version of MCP.
pub(super) fn program(facts: &Facts) -> String {
    let info = &facts.server_info;
    let own = format!("{} {}", info.name, info.version);
    let own = match own.trim() {
        "" => "unnamed",
        own => own,
    };
    format!("{}, MCP {}", visible(own), facts.protocol_version)
}

/// `1 tool`, `2 tools`.
pub(super) fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
