//! What the commands that open sessions share.

use std::future::{Future, poll_fn};
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use apkit::mcp::credential::{Credentials, Helpers};
use apkit::mcp::plan::{Plan, Problem, ServerPlan};
use apkit::mcp::session::{self, Facts, Failure as ServerFailure, Logs, Session, Step};
use apkit::mcp::{http, stdio};
use apkit::net::Proxies;
use apkit::render::visible;
use apkit::spec::near;

use super::args::Several;
use super::stop::Stop;
use super::subject::Subject;
use super::subjects::Subjects;
use super::trouble::Trouble;
use crate::cli::failure::{Failure, say};
use crate::cli::store::was_interrupted;

/// What `--timeout` is unless it is given, in seconds.
pub(super) const TIMEOUT: u64 = 30;
/// What it may be.
pub(super) const TIMEOUTS: RangeInclusive<u64> = 1..=86_400;

/// How long servers are waited for.
#[derive(Debug, Args)]
pub(super) struct Waiting {
    /// How long opening a server may take, and a request without a sign of
    /// progress; a server that is downloaded at its first start may need more
    #[arg(long, value_name = "SECONDS", default_value_t = TIMEOUT, value_parser = clap::value_parser!(u64).range(TIMEOUTS))]
    timeout: u64,
}

impl Waiting {
    pub(super) fn limit(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }
}

/// How long servers have to end when the program is interrupted: longer than one
/// takes that obeys nothing but `SIGKILL`.
const LEAVING: Duration = Duration::from_secs(8);

/// Runs what waits for servers. Servers that still run afterwards are ended.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Trouble> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Trouble::Runtime)?;
    Ok(runtime.block_on(future))
}

/// The same for what a user may interrupt: then what is asked for is cancelled, the
/// servers are ended, and there is nothing. The second time the program ends at once.
pub(super) fn interruptible<T>(future: impl Future<Output = T>) -> Result<Option<T>, Failure> {
    let done = block_on(async {
        let mut stop = Stop::listen().map_err(Trouble::Runtime)?;
        if was_interrupted() {
            return Ok(None);
        }
        {
            let mut future = pin!(future);
            tokio::select! {
                done = &mut future => return Ok(Some(done)),
                () = stop.asked() => {}
            }
            // What it waited for is cancelled here.
        }
        let tasks = tokio::runtime::Handle::current().metrics();
        let gone = async {
            while tasks.num_alive_tasks() > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            _ = tokio::time::timeout(LEAVING, gone) => {}
            () = stop.asked() => {}
        }
        Ok::<_, Failure>(None)
    })??;
    if done.is_none() {
        say("error: interrupted; the servers are ended");
    }
    Ok(done)
}

/// How servers are opened for these packages.
pub(super) fn options(subjects: &Subjects, limit: Duration) -> Result<session::Options, Trouble> {
    let environment = subjects.session.environment();
    let variable = |name: &str| Some(environment.get(name)?.to_str()?.to_owned());
    let guard = stdio::this_program().map_err(Trouble::Runtime)?;
    Ok(session::Options {
        opening: limit,
        call: Some(limit),
        stdio: stdio::Limits::new(guard),
        http: http::Rules {
            egress: subjects.egress.clone(),
            proxies: Proxies::from_variables(variable)?,
            ..http::Rules::default()
        },
        room: session::Room::default(),
    })
}

/// Opens the packages whose servers are asked, and says how.
///
/// # Errors
///
/// A package is not there, or none has the one server that is meant. That one which
/// loads no servers has none is for the report to say.
pub(super) fn open_several(several: &Several) -> Result<(Subjects, session::Options), Failure> {
    let subjects = Subjects::open(&several.sources, &several.common)?;
    let options = options(&subjects, several.waiting.limit())?;
    let loads_all = |subjects: &Subjects| {
        let mut all = subjects.all.iter();
        all.all(|subject| subject.plan.disabled.is_empty())
    };
    if let (Some(name), Some(first)) = (&several.server, subjects.all.first())
        && !subjects
            .servers()
            .any(|(_, server)| several.is_meant(server))
        && loads_all(&subjects)
    {
        server(&first.plan, name)?;
    }
    Ok((subjects, options))
}

/// How programs that print credentials are run.
pub(super) fn helpers(options: &session::Options, listener: stdio::Listener) -> Helpers {
    Helpers {
        guard: options.stdio.guard.clone(),
        limit: options.opening,
        listener,
    }
}

/// Opens a session with a server of `subject`.
pub(super) async fn open(
    subjects: &Subjects,
    subject: &Subject,
    server: &ServerPlan,
    options: &session::Options,
) -> Result<(Session, Logs), ServerFailure> {
    let variables = &subjects.session.environment().variables;
    let helpers = helpers(options, Arc::new(|line: &str| say(&visible(line))));
    let credentials =
        Credentials::for_server(&subjects.keys, subject.names(), server, variables, &helpers).await;
    let credentials = credentials
        .map_err(|error| ServerFailure::new(&server.name, Step::Start, error.to_string()))?;
    session::open(server, &credentials, options).await
}

/// The server of this name.
pub(super) fn server<'s>(plan: &'s Plan, name: &str) -> Result<&'s ServerPlan, Trouble> {
    let found = plan.servers.iter().find(|server| server.name == name);
    found.ok_or_else(|| {
        let names = || plan.servers.iter().map(|server| server.name.as_str());
        Trouble::Server {
            name: name.to_owned(),
            nearest: near::nearest(name, names()).map(str::to_owned),
            known: names().map(str::to_owned).collect(),
            disabled: plan.disabled.iter().map(Problem::to_string).collect(),
        }
    })
}

/// Why a package has no servers, for reports.
#[derive(Debug, Serialize)]
pub(super) struct ProblemText<'p> {
    pub(super) code: &'p str,
    pub(super) message: &'p str,
}

impl<'p> ProblemText<'p> {
    pub(super) fn of(problem: &'p Problem) -> Self {
        Self {
            code: problem.code,
            message: &problem.message,
        }
    }
}

/// One package, for reports.
#[derive(Serialize)]
pub(super) struct Looked<'d> {
    name: &'d str,
    path: String,
    /// Why it has no servers.
    disabled: Vec<ProblemText<'d>>,
    #[serde(skip)]
    label: &'d str,
    #[serde(skip)]
    is_empty: bool,
}

impl<'d> Looked<'d> {
    pub(super) fn of(subject: &'d Subject) -> Self {
        let plan = &subject.plan;
        Self {
            name: &plan.package,
            path: plan.root.to_string_lossy().into_owned(),
            disabled: plan.disabled.iter().map(ProblemText::of).collect(),
            label: &subject.label,
            is_empty: plan.servers.is_empty(),
        }
    }

    pub(super) fn is_disabled(&self) -> bool {
        !self.disabled.is_empty()
    }

    /// A line for each reason, and one if there are simply no servers.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let label = visible(self.label);
        for problem in &self.disabled {
            let text = format!("{}: {}", problem.code, problem.message);
            writeln!(out, "failed  {label}: {}", visible(&text))?;
        }
        if self.disabled.is_empty() && self.is_empty {
            writeln!(out, "{label}: no servers")?;
        }
        Ok(())
    }
}

/// What stands for a server in a report about these packages.
pub(super) fn title(packages: &[Looked<'_>], label: &str, server: &str) -> String {
    match packages {
        [_] => visible(server).into_owned(),
        _ => visible(&format!("{label}/{server}")).into_owned(),
    }
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
