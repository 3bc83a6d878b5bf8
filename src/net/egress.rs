//! Which addresses may be connected to when somebody else chose the address: a
//! package names a server, a server names the next one. A name proves nothing, so
//! what is judged is the address that a connection would go to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::proxy::{in_network, network};

/// Addresses that lead to what only this machine or its cloud may ask. They are
/// reached only if the user names the address or its network.
const NEVER: &[(&str, &str)] = &[
    (
        "169.254.0.0/16",
        "link-local, where clouds answer about their machines",
    ),
    ("fe80::/10", "link-local"),
    ("fd00:ec2::254/128", "a cloud's metadata service"),
    ("fd20:ce::254/128", "a cloud's metadata service"),
    ("100.100.100.200/32", "a cloud's metadata service"),
    ("168.63.129.16/32", "a cloud's metadata service"),
    ("192.0.0.192/32", "a cloud's metadata service"),
    ("0.0.0.0/8", "unspecified"),
    ("::/128", "unspecified"),
    ("224.0.0.0/4", "multicast"),
    ("ff00::/8", "multicast"),
    ("240.0.0.0/4", "reserved"),
];

/// Addresses of networks that are not the public one.
const PRIVATE: &[(&str, &str)] = &[
    ("10.0.0.0/8", "a private address"),
    ("172.16.0.0/12", "a private address"),
    ("192.168.0.0/16", "a private address"),
    ("100.64.0.0/10", "shared by a provider (CGNAT)"),
    ("192.0.0.0/24", "reserved"),
    ("198.18.0.0/15", "private, for measurements"),
    ("fc00::/7", "a private address"),
    ("fec0::/10", "a private address"),
    (
        "64:ff9b:1::/48",
        "an IPv4 address by a local translator (RFC 8215)",
    ),
];

/// What `localhost` must not be, whatever is allowed.
const ELSEWHERE: &str = "another machine";

const LOOPBACK: &[(&str, &str)] = &[("127.0.0.0/8", "this machine"), ("::1/128", "this machine")];

/// What may be connected to.
///
/// Public addresses always may. Private ones (RFC 1918, RFC 4193, RFC 6598) may if
/// [`Egress::private`] says so or the list names the host or a network around the
/// address. Link-local, metadata, unspecified, multicast and reserved addresses
/// may only if the list names the address or a network around it: a name that is
/// allowed could be made to mean them. This machine may be connected to if the
/// caller says that the user's own address is this machine, or if the list names
/// the host or the address.
#[derive(Debug, Clone, Default)]
pub struct Egress {
    /// Whether all private addresses may be connected to.
    pub private: bool,
    names: Vec<String>,
    networks: Vec<(IpAddr, u32)>,
}

/// An entry that is neither a host nor a network. Reads after "failed to …".
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("allow {entry:?}: write a host (intranet.example), an address or a network (10.1.0.0/16)")]
pub struct BadAllowance {
    /// The entry.
    pub entry: String,
}

/// An address that must not be connected to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct Denied {
    /// The host as it was asked for.
    pub host: String,
    /// Where it is.
    pub address: IpAddr,
    /// What kind of address that is.
    pub range: &'static str,
}

impl Denied {
    fn text(&self) -> String {
        let Self {
            host,
            address,
            range,
        } = self;
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        // As URLs have it; a word that begins with colons is escaped for people.
        let shown = match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        let place = match bare.parse() == Ok(*address) {
            true => format!("{shown} is {range}"),
            false => format!("{host} is at {shown}, which is {range}"),
        };
        if *range == ELSEWHERE {
            return format!("{place}; no connection is made there");
        }
        format!(
            "{place}; no connection is made there unless your apkit.toml has `[remote] private = [\"{address}\"]`"
        )
    }
}

impl Egress {
    /// Allows a host by its name, an address, or a network (`10.1.0.0/16`).
    ///
    /// # Errors
    ///
    /// The entry is none of these.
    pub fn allow(mut self, entry: &str) -> Result<Self, BadAllowance> {
        let bare = entry.trim().trim_start_matches('[').trim_end_matches(']');
        let name = bare.trim_end_matches('.').to_ascii_lowercase();
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if let Some(network) = network(bare) {
            self.networks.push(network);
        } else if is_name {
            self.names.push(name);
        } else {
            return Err(BadAllowance {
                entry: entry.to_owned(),
            });
        }
        Ok(self)
    }

    /// Judges one address of `host`. `loopback` says whether the address that the
    /// user or the package configured is this machine.
    ///
    /// # Errors
    ///
    /// No connection may be made to it.
    pub fn judge(&self, host: &str, address: IpAddr, loopback: bool) -> Result<(), Denied> {
        let deny = |range| {
            Err(Denied {
                host: host.to_owned(),
                address,
                range,
            })
        };
        let bare = host.trim_end_matches('.').to_ascii_lowercase();
        let named = self.names.contains(&bare);
        let mut forms = vec![address];
        forms.extend(embedded(address));
        let listed = |form: &IpAddr| {
            self.networks
                .iter()
                .any(|&(network, length)| in_network(*form, network, length))
        };
        if bare == "localhost" && !forms.iter().any(|form| find(LOOPBACK, *form).is_some()) {
            return deny(ELSEWHERE);
        }
        for form in forms {
            if listed(&form) {
                continue;
            }
            if let Some(range) = find(NEVER, form) {
                return deny(range);
            }
            if let Some(range) = find(LOOPBACK, form).filter(|_| !loopback && !named) {
                return deny(range);
            }
            if let Some(range) = find(PRIVATE, form).filter(|_| !self.private && !named) {
                return deny(range);
            }
        }
        Ok(())
    }
}

fn find(table: &[(&str, &'static str)], address: IpAddr) -> Option<&'static str> {
    table.iter().find_map(|&(entry, range)| {
        let (network, length) = network(entry)?;
        in_network(address, network, length).then_some(range)
    })
}

/// The IPv4 addresses that a connection to an IPv6 address may lead to: mapped,
/// compatible, NAT64 (RFC 6052, RFC 8215), SIIT (RFC 2765), 6to4 (RFC 3056), ISATAP
/// (RFC 5214), and of Teredo (RFC 4380) the server and the client.
fn embedded(address: IpAddr) -> Vec<IpAddr> {
    let IpAddr::V6(v6) = address else {
        return Vec::new();
    };
    if v6 == Ipv6Addr::LOCALHOST || v6 == Ipv6Addr::UNSPECIFIED {
        return Vec::new();
    }
    let bits = |from: u32| (v6.to_bits() >> from & 0xffff_ffff) as u32;
    let part = |from: u32| IpAddr::from(Ipv4Addr::from_bits(bits(from)));
    let within = |entry: &str| {
        network(entry).is_some_and(|(network, length)| in_network(address, network, length))
    };
    let in_the_end = [
        "::ffff:0:0/96",
        "::/96",
        "::ffff:0:0:0/96",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
    ];
    // The interface identifier of ISATAP, with or without the bit for global ones.
    let is_isatap = matches!(bits(32), 0x0000_5efe | 0x0200_5efe);
    if in_the_end.into_iter().any(within) || is_isatap {
        vec![part(0)]
    } else if within("2002::/16") {
        vec![part(80)]
    } else if within("2001::/32") {
        // The client's is written with every bit turned.
        vec![part(64), Ipv4Addr::from_bits(!bits(0)).into()]
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::Egress;
    use std::net::IpAddr;

    fn at(text: &str) -> IpAddr {
        text.parse()
            .unwrap_or_else(|error| unreachable!("{text}: {error}"))
    }

    fn allowing(entries: &[&str]) -> Egress {
        entries.iter().fold(Egress::default(), |egress, entry| {
            egress
                .allow(entry)
                .unwrap_or_else(|error| unreachable!("{error}"))
        })
    }

    const METADATA: [&str; 15] = [
        "169.254.169.254",
        "169.254.170.2",
        "fe80::1",
        "fd00:ec2::254",
        "100.100.100.200",
        "0.0.0.0",
        "::",
        "224.0.0.1",
        "255.255.255.255",
        "::ffff:169.254.169.254",
        "64:ff9b:1::a9fe:a9fe",
        "::ffff:0:a9fe:a9fe",
        "2001:0:a9fe:a9fe::f7f7:f7f7",
        "2001:0:808:808::5601:5601",
        "2606:2800:220:1:0:5efe:a9fe:a9fe",
    ];
    const PRIVATE: [&str; 13] = [
        "10.0.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "100.64.0.1",
        "fd12::1",
        "fec0::1",
        "::ffff:10.0.0.1",
        "::10.0.0.1",
        "64:ff9b::a00:1",
        "2002:a00:1::1",
        "64:ff9b:1::808:808",
        "2001:0:808:808::f5ff:fffe",
        "2606:2800:220:1:200:5efe:a00:1",
    ];
    const LOOPBACK: [&str; 4] = ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"];
    const PUBLIC: [&str; 7] = [
        "93.184.216.34",
        "172.32.0.1",
        "100.128.0.1",
        "2606:2800:220:1::1",
        "64:ff9b::5db8:d822",
        "2001:0:808:808::f7f7:f7f7",
        "2001:db8::1",
    ];

    #[test]
    fn only_public_addresses_need_no_allowance() {
        let egress = Egress::default();
        for denied in METADATA.iter().chain(&PRIVATE).chain(&LOOPBACK) {
            assert!(
                egress.judge("h.example", at(denied), false).is_err(),
                "{denied}"
            );
        }
        for fine in PUBLIC {
            assert_eq!(egress.judge("h.example", at(fine), false), Ok(()), "{fine}");
        }
    }

    #[test]
    fn this_machine_is_for_addresses_that_say_so() {
        let egress = Egress::default();
        for here in LOOPBACK {
            assert_eq!(egress.judge("localhost", at(here), true), Ok(()), "{here}");
        }
        let elsewhere = egress.judge("localhost", at("93.184.216.34"), true);
        let said = elsewhere.map_err(|denied| denied.to_string());
        assert_eq!(
            said,
            Err(
                "localhost is at 93.184.216.34, which is another machine; no connection is made there"
                    .to_owned()
            )
        );
    }

    #[test]
    fn a_name_lifts_less_than_a_network() {
        let named = allowing(&["Intranet.example."]);
        for private in PRIVATE.iter().chain(&LOOPBACK) {
            assert_eq!(named.judge("intranet.example", at(private), false), Ok(()));
            assert!(
                named
                    .judge("x.intranet.example", at(private), false)
                    .is_err()
            );
        }
        for never in METADATA {
            assert!(named.judge("intranet.example", at(never), false).is_err());
        }
        let network = allowing(&["10.0.0.0/24", "169.254.169.254", "[fd12::]"]);
        assert_eq!(network.judge("h", at("10.0.0.9"), false), Ok(()));
        assert_eq!(network.judge("h", at("169.254.169.254"), false), Ok(()));
        assert!(network.judge("h", at("10.0.1.9"), false).is_err());
        assert!(network.judge("h", at("fd12::1"), false).is_err());
        let all = Egress {
            private: true,
            ..Egress::default()
        };
        assert_eq!(all.judge("h", at("192.168.1.1"), false), Ok(()));
        assert!(all.judge("h", at("169.254.169.254"), false).is_err());
        assert!(all.judge("h", at("127.0.0.1"), false).is_err());
    }

    #[test]
    fn entries_are_hosts_or_networks() {
        for bad in ["", "a b", "10.0.0.0/33", "https://a.example", "a/b", "*"] {
            assert!(Egress::default().allow(bad).is_err(), "{bad:?}");
        }
    }
}
