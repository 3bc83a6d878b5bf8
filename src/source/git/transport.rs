//! Our transports, given to libgit2: it speaks the protocol, we carry the bytes.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use git2::transport::Transport as Carrier;
use git2::{ConfigLevel, opts, transport};

use super::super::{Environment, Stop};
use super::address::{Address, Transport};
use super::advertisement::Advertisement;
use super::configuration::Configuration;
use super::error::Failure;
use super::{daemon, http, memory, ssh};
use crate::net;

/// The address libgit2 is given: which repository is meant, the [`Context`] says.
pub(super) const URL: &str = "apkit://repository";

/// The most a server may send to say what it has, in bytes: large in old
/// repositories, and all of it is kept.
pub(super) const MAX_LIST: u64 = 128 << 20;

/// What a transport must know.
pub(super) struct Context {
    /// What is talked to, after `insteadOf`.
    pub address: Address,
    /// A password that the user's configuration holds for the address.
    pub password: Option<String>,
    pub environment: Environment,
    pub configuration: Configuration,
    /// Our own bare repository, so that no other one has a say.
    pub git_dir: PathBuf,
    pub stop: Stop,
    /// Whether a host may be asked.
    pub permit: Option<net::Permit>,
    /// How long a silence is borne.
    pub patience: Duration,
    /// The most that is received in one answer, in bytes.
    pub limit: u64,
    pub found: Findings,
}

/// What a transport finds out.
#[derive(Default)]
pub(super) struct Findings {
    advertisement: Mutex<Advertisement>,
    failure: Mutex<Option<Failure>>,
    /// The credentials that the server was sent.
    sent: Mutex<net::Sent>,
}

impl Context {
    pub(super) fn advertisement(&self) -> MutexGuard<'_, Advertisement> {
        self.found
            .advertisement
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a failure for who started the fetch; libgit2 passes on a text only.
    pub(super) fn fail(&self, failure: Failure) -> git2::Error {
        let error = git2::Error::from_str(&failure.to_string());
        let mut kept = self
            .found
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert(failure);
        error
    }

    /// Keeps what a server was sent and may send back.
    pub(super) fn keep_sent(&self, sent: net::Sent) {
        *self
            .found
            .sent
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = sent;
    }

    /// A text of the server without what it was sent.
    pub(super) fn hidden(&self, text: &str) -> String {
        self.sent().hidden(text)
    }

    /// What any server of this fetch was sent: another one may say it, as the first
    /// chooses what the second is asked.
    pub(super) fn sent(&self) -> net::Sent {
        let sent = self.found.sent.lock();
        sent.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn take_failure(&self) -> Option<Failure> {
        let mut kept = self
            .found
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        kept.take()
    }
}

thread_local! {
    /// libgit2 makes transports by scheme alone, on the thread that connects.
    static CURRENT: RefCell<Option<Arc<Context>>> = const { RefCell::new(None) };
}

/// Does something with libgit2 whose connections are those of `context`.
pub(super) fn within<T>(context: &Arc<Context>, work: impl FnOnce() -> T) -> T {
    let before = CURRENT.replace(Some(Arc::clone(context)));
    let result = work();
    CURRENT.set(before);
    result
}

/// Prepares libgit2, once for the whole process: no configuration of the system
/// or the user is read by it, and [`URL`] is ours.
pub(super) fn prepare() -> Result<(), git2::Error> {
    static READY: OnceLock<Result<(), String>> = OnceLock::new();
    let ready = READY.get_or_init(|| register().map_err(|error| error.message().to_owned()));
    ready.clone().map_err(|text| git2::Error::from_str(&text))
}

#[expect(
    unsafe_code,
    reason = "both change libgit2's global tables and must not run beside themselves; `prepare` runs this once, before anything else here uses libgit2"
)]
fn register() -> Result<(), git2::Error> {
    let levels = [
        ConfigLevel::ProgramData,
        ConfigLevel::System,
        ConfigLevel::XDG,
        ConfigLevel::Global,
    ];
    for level in levels {
        unsafe { opts::set_search_path(level, "") }?;
    }
    memory::set_up()?;
    unsafe {
        transport::register("apkit", |remote| {
            let Some(context) = CURRENT.with_borrow(Clone::clone) else {
                return Err(git2::Error::from_str("nothing is being fetched"));
            };
            match context.address.transport() {
                Transport::Https | Transport::Http => {
                    let http = http::Http::new(&context).map_err(|error| context.fail(error))?;
                    Carrier::smart(remote, true, http)
                }
                Transport::Git => Carrier::smart(remote, false, daemon::Daemon::new(&context)),
                Transport::Ssh => Carrier::smart(remote, false, ssh::Ssh::new(&context)),
                Transport::File => Err(git2::Error::from_str("nothing to carry")),
            }
        })
    }
}
