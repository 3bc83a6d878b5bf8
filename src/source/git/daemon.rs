//! The protocol of `git daemon` (gitprotocol-pack, "Git Transport"), for servers
//! on this machine.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use git2::Error;
use git2::transport::{Service, SmartSubtransport, SmartSubtransportStream};

use super::super::Stop;
use super::child::Trouble;
use super::error::Failure;
use super::stream::{Pipe, Stream};
use super::transport::Context;

/// The port of `git daemon`.
const USUAL_PORT: u16 = 9418;
/// How often the wish to stop is looked at.
const TICK: Duration = Duration::from_millis(50);

/// A server that speaks git's own protocol.
pub(super) struct Daemon {
    context: Arc<Context>,
}

struct Socket {
    stream: TcpStream,
    stop: Stop,
    patience: Duration,
}

impl Daemon {
    pub(super) fn new(context: &Arc<Context>) -> Self {
        Self {
            context: Arc::clone(context),
        }
    }

    fn start(&self) -> io::Result<Stream<Socket>> {
        let context = &self.context;
        let address = &context.address;
        let port = address.port().unwrap_or(USUAL_PORT);
        let places = (address.host(), port).to_socket_addrs()?;
        let mut failed = io::Error::from(ErrorKind::NotFound);
        let since = Instant::now();
        let stream = places
            // `localhost` is looked up: it is this machine or nothing.
            .filter(|place| place.ip().is_loopback())
            .find_map(|place| {
                // All of them have the time of one, and each has some.
                let left = context.patience.saturating_sub(since.elapsed()).max(TICK);
                TcpStream::connect_timeout(&place, left)
                    .map_err(|error| failed = error)
                    .ok()
            });
        let stream = stream.ok_or(failed)?;
        stream.set_read_timeout(Some(TICK))?;
        stream.set_write_timeout(Some(TICK))?;
        let (path, host) = (address.path(), address.authority());
        let request = format!("git-upload-pack {path}\0host={host}\0");
        let length = request.len() + 4;
        let socket = Socket {
            stream,
            stop: context.stop.clone(),
            patience: context.patience,
        };
        let mut stream = Stream::new(context, socket);
        io::Write::write_all(&mut stream, format!("{length:04x}{request}").as_bytes())?;
        Ok(stream)
    }
}

impl SmartSubtransport for Daemon {
    fn action(
        &self,
        _url: &str,
        service: Service,
    ) -> Result<Box<dyn SmartSubtransportStream>, Error> {
        if service != Service::UploadPackLs {
            return Err(Error::from_str("only fetching is possible"));
        }
        match self.start() {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => Err(self.context.fail(Failure::Unreachable {
                host: self.context.address.authority(),
                reason: error.to_string(),
            })),
        }
    }

    fn close(&self) -> Result<(), Error> {
        Ok(())
    }
}

impl Socket {
    /// Reads or writes something, as long as the other side goes along and nobody
    /// wants to stop.
    fn patiently(
        &mut self,
        mut go: impl FnMut(&mut TcpStream) -> io::Result<usize>,
    ) -> Result<usize, Trouble> {
        let since = Instant::now();
        loop {
            if self.stop.is_requested() {
                return Err(Trouble::Stopped);
            }
            match go(&mut self.stream) {
                Ok(count) => return Ok(count),
                Err(error) => match error.kind() {
                    // Either, by operating system.
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                        if since.elapsed() > self.patience {
                            return Err(Trouble::Silent);
                        }
                    }
                    ErrorKind::Interrupted => {}
                    _ => return Err(Trouble::Broken(error)),
                },
            }
        }
    }
}

impl Pipe for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Trouble> {
        self.patiently(|stream| stream.read(buffer))
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<(), Trouble> {
        while !bytes.is_empty() {
            let count = self.patiently(|stream| match stream.write(bytes)? {
                0 => Err(ErrorKind::WriteZero.into()),
                count => Ok(count),
            })?;
            bytes = bytes.get(count..).unwrap_or_default();
        }
        Ok(())
    }

    fn ended(&mut self, host: String) -> Failure {
        Failure::BrokenOff {
            host,
            reason: "the server ended it".to_owned(),
        }
    }
}
