//! What this process and the guard say to each other.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::{Start, Status};

/// To the guard: ask the program to end (`SIGTERM`).
pub(super) const TERMINATE: u8 = b't';
/// To the guard: end the program (`SIGKILL`).
pub(super) const KILL: u8 = b'k';

/// The length of every [`Report`], in bytes.
pub(super) const REPORT: usize = 5;

/// What the guard says. The end of the stream says that nothing runs any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// The program runs and has this process id.
    Started(i32),
    /// Its working directory could not be entered; the system's error number.
    NoCwd(i32),
    /// It could not be executed; the system's error number.
    NoProgram(i32),
    /// It has ended. What it started may still run.
    Exited(Status),
}

impl Report {
    pub(super) fn encode(self) -> [u8; REPORT] {
        let (tag, number) = match self {
            Self::Started(id) => (b'S', id),
            Self::NoCwd(error) => (b'C', error),
            Self::NoProgram(error) => (b'P', error),
            Self::Exited(Status::Code(code)) => (b'X', code),
            Self::Exited(Status::Signal(signal)) => (b'K', signal),
            Self::Exited(Status::Unknown) => (b'U', 0),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [tag, a, b, c, d]
    }

    pub(super) fn decode([tag, a, b, c, d]: [u8; REPORT]) -> io::Result<Self> {
        let number = i32::from_le_bytes([a, b, c, d]);
        Ok(match tag {
            b'S' => Self::Started(number),
            b'C' => Self::NoCwd(number),
            b'P' => Self::NoProgram(number),
            b'X' => Self::Exited(Status::Code(number)),
            b'K' => Self::Exited(Status::Signal(number)),
            b'U' => Self::Exited(Status::Unknown),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        })
    }
}

/// What the guard is to start.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) cwd: PathBuf,
    pub(super) program: PathBuf,
    pub(super) args: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) leave: bool,
}

/// The request as the guard reads it: texts, each behind its length, and lists,
/// each behind the number of what it holds.
pub(super) fn encode(start: &Start<'_>) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    text(&mut out, start.cwd.as_os_str())?;
    text(&mut out, start.program.as_os_str())?;
    number(&mut out, start.args.len())?;
    for arg in start.args {
        text(&mut out, OsStr::new(arg))?;
    }
    number(&mut out, start.env.len())?;
    for (name, value) in start.env {
        text(&mut out, name)?;
        text(&mut out, value)?;
    }
    number(&mut out, start.leave.into())?;
    Ok(out)
}

fn number(out: &mut Vec<u8>, number: usize) -> io::Result<()> {
    let number = u32::try_from(number).map_err(|_| io::ErrorKind::InvalidInput)?;
    out.extend_from_slice(&number.to_le_bytes());
    Ok(())
}

fn text(out: &mut Vec<u8>, text: &OsStr) -> io::Result<()> {
    number(out, text.len())?;
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

/// Reads what [`encode`] wrote.
pub(super) fn decode(input: &mut impl Read) -> io::Result<Request> {
    let cwd = read_text(input)?.into();
    let program = read_text(input)?.into();
    let args = (0..read_number(input)?)
        .map(|_| read_text(input))
        .collect::<io::Result<_>>()?;
    let env = (0..read_number(input)?)
        .map(|_| Ok((read_text(input)?, read_text(input)?)))
        .collect::<io::Result<_>>()?;
    let leave = read_number(input)? != 0;
    Ok(Request {
        cwd,
        program,
        args,
        env,
        leave,
    })
}

fn read_number(input: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    input.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn read_text(input: &mut impl Read) -> io::Result<OsString> {
    let length = read_number(input)?;
    let mut bytes = Vec::new();
    input.take(length.into()).read_to_end(&mut bytes)?;
    if bytes.len() != length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;

    #[test]
    fn a_request_arrives_as_it_was_sent() {
        let args = [String::new(), "a b\n\"c\"".to_owned(), "é".to_owned()];
        let odd = OsString::from_vec(vec![b'x', 0xff]);
        let env = BTreeMap::from([(OsString::from("A"), odd.clone())]);
        let sent = encode(&Start {
            program: Path::new("/bin/x"),
            args: &args,
            env: &env,
            cwd: Path::new("/"),
            guard: Path::new("/g"),
            leave: true,
        });
        let mut sent = sent.expect("it fits");
        let read = decode(&mut sent.as_slice()).expect("all of it");
        assert_eq!(read.program, Path::new("/bin/x"));
        assert_eq!(read.cwd, Path::new("/"));
        assert_eq!(read.args, args.map(OsString::from));
        assert_eq!(read.env, [(OsString::from("A"), odd)]);
        assert!(read.leave);
        sent.pop();
        let error = decode(&mut sent.as_slice()).expect_err("the end is missing");
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn reports_arrive_as_they_were_sent() {
        for report in [
            Report::Started(7),
            Report::NoCwd(2),
            Report::NoProgram(13),
            Report::Exited(Status::Code(-1)),
            Report::Exited(Status::Signal(9)),
            Report::Exited(Status::Unknown),
        ] {
            assert_eq!(Report::decode(report.encode()).expect("known"), report);
        }
        assert!(Report::decode([0; REPORT]).is_err());
    }
}
