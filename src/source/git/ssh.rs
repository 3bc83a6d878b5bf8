//! ssh, spoken by the user's own program: its configuration, keys, agent and
//! known hosts count, and nothing is asked for.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use git2::Error;
use git2::transport::{Service, SmartSubtransport, SmartSubtransportStream};

use super::address::Address;
use super::child::{self, Running, Trouble};
use super::error::Failure;
use super::stream::{Pipe, Stream};
use super::transport::Context;

/// A connection to an ssh server.
pub(super) struct Ssh {
    context: Arc<Context>,
}

impl Ssh {
    pub(super) fn new(context: &Arc<Context>) -> Self {
        Self {
            context: Arc::clone(context),
        }
    }

    fn start(&self) -> Result<Stream<Running>, Failure> {
        let context = &self.context;
        let (mut command, program) = command(context)?;
        let running =
            Running::start(&mut command, &context.stop, context.patience).map_err(|error| {
                Failure::NoSsh {
                    program,
                    reason: error.to_string(),
                }
            })?;
        Ok(Stream::new(context, running))
    }
}

impl SmartSubtransport for Ssh {
    fn action(
        &self,
        _url: &str,
        service: Service,
    ) -> Result<Box<dyn SmartSubtransportStream>, Error> {
        match service {
            Service::UploadPackLs => match self.start() {
                Ok(stream) => Ok(Box::new(stream)),
                Err(failure) => Err(self.context.fail(failure)),
            },
            // The stream goes on; pushing is none of our business.
            _ => Err(Error::from_str("only fetching is possible")),
        }
    }

    fn close(&self) -> Result<(), Error> {
        Ok(())
    }
}

impl Pipe for Running {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Trouble> {
        Self::read(self, buffer)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        Self::write(self, bytes)
    }

    fn ended(&mut self, host: String) -> Failure {
        let said = self.end();
        let said = if said.is_empty() {
            "the connection ended without a word".to_owned()
        } else {
            said
        };
        Failure::Ssh { host, said }
    }
}

/// How a program for ssh takes its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    OpenSsh,
    Plink,
    TortoisePlink,
    /// None at all.
    Simple,
}

/// The command for the address, and the program's name for messages. As with git,
/// `GIT_SSH_COMMAND` counts before `core.sshCommand`, that before `GIT_SSH`.
fn command(context: &Context) -> Result<(Command, String), Failure> {
    let environment = &context.environment;
    let text = |name| {
        environment
            .get(name)
            .map(|value| value.to_string_lossy().into_owned())
    };
    let shell = text("GIT_SSH_COMMAND").or_else(|| context.configuration.ssh_command.clone());
    let (mut command, program) = match shell {
        Some(line) => {
            let mut command = child::command("sh", environment);
            command.arg("-c").arg(format!("{line} \"$@\"")).arg(&line);
            let word = line.split_whitespace().next().unwrap_or_default();
            (command, word.trim_matches(['"', '\'']).to_owned())
        }
        None => {
            let program = text("GIT_SSH").unwrap_or_else(|| "ssh".to_owned());
            (child::command(&program, environment), program)
        }
    };
    let said = text("GIT_SSH_VARIANT").or_else(|| context.configuration.ssh_variant.clone());
    let variant = variant(said.as_deref(), &program);
    command.args(arguments(&context.address, variant)?);
    Ok((command, program))
}

fn variant(said: Option<&str>, program: &str) -> Variant {
    let name = match said {
        None | Some("auto") => Path::new(program)
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default()
            .to_ascii_lowercase(),
        Some(said) => said.to_ascii_lowercase(),
    };
    match name.as_str() {
        "plink" | "putty" => Variant::Plink,
        "tortoiseplink" => Variant::TortoisePlink,
        "simple" => Variant::Simple,
        _ => Variant::OpenSsh,
    }
}

fn arguments(address: &Address, variant: Variant) -> Result<Vec<String>, Failure> {
    let mut arguments = Vec::new();
    match variant {
        Variant::OpenSsh => arguments.push("-oBatchMode=yes".to_owned()),
        Variant::Plink => arguments.push("-batch".to_owned()),
        Variant::TortoisePlink | Variant::Simple => {}
    }
    if let Some(port) = address.port() {
        match variant {
            Variant::OpenSsh => arguments.extend(["-p".to_owned(), port.to_string()]),
            Variant::Plink | Variant::TortoisePlink => {
                arguments.extend(["-P".to_owned(), port.to_string()]);
            }
            Variant::Simple => return Err(Failure::SshPort { port }),
        }
    }
    if variant == Variant::OpenSsh {
        arguments.push("--".to_owned());
    }
    arguments.push(match address.user() {
        Some(user) => format!("{user}@{}", address.host()),
        None => address.host().to_owned(),
    });
    arguments.push(format!("git-upload-pack {}", quoted(address.path())));
    Ok(arguments)
}

/// For the shell on the other side, which may be any; `!` means something to
/// some of them even in quotes.
fn quoted(path: &str) -> String {
    let mut quoted = String::from("'");
    for c in path.chars() {
        if matches!(c, '\'' | '!') {
            quoted.push_str("'\\");
            quoted.push(c);
            quoted.push('\'');
        } else {
            quoted.push(c);
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(address: &str, variant: Variant) -> Vec<String> {
        let address = Address::parse(address).unwrap_or_else(|error| panic!("{error}"));
        arguments(&address, variant).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn each_program_gets_its_own_options() {
        assert_eq!(
            of("ssh://me@host:2222/a/it's!", Variant::OpenSsh),
            [
                "-oBatchMode=yes",
                "-p",
                "2222",
                "--",
                "me@host",
                r"git-upload-pack '/a/it'\''s'\!''"
            ]
        );
        assert_eq!(
            of("git@host:o/r", Variant::Simple),
            ["git@host", "git-upload-pack 'o/r'"]
        );
        assert_eq!(
            of("ssh://host:7/~me/r", Variant::Plink),
            ["-batch", "-P", "7", "host", "git-upload-pack '~me/r'"]
        );
        let address = Address::parse("ssh://host:7/r").unwrap_or_else(|error| panic!("{error}"));
        assert!(arguments(&address, Variant::Simple).is_err());
    }

    #[test]
    fn programs_are_known_by_their_name() {
        for (said, program, wanted) in [
            (None, "ssh", Variant::OpenSsh),
            (None, "/opt/wrapper.sh", Variant::OpenSsh),
            (None, "C:/putty/PLINK.EXE", Variant::Plink),
            (Some("auto"), "TortoisePlink.exe", Variant::TortoisePlink),
            (Some("simple"), "ssh", Variant::Simple),
            (Some("ssh"), "plink", Variant::OpenSsh),
        ] {
            assert_eq!(variant(said, program), wanted, "{program}");
        }
    }
}
