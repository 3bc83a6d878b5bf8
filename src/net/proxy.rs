//! Which address goes through which proxy.

use std::net::IpAddr;

use url::{Host, Url};

/// The proxies of a machine, as the well-known variables name them.
///
/// Loopback addresses never go through one: a proxy is another machine, and what
/// listens on this one is not there.
#[derive(Debug, Clone, Default)]
pub struct Proxies {
    https: Option<Url>,
    http: Option<Url>,
    bypass: Vec<String>,
}

/// A proxy that cannot be used. Reads after "failed to …".
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "use the proxy of {setting}: it is neither an http:// nor an https:// address; other kinds, such as SOCKS, are not supported"
)]
pub struct BadProxy {
    /// What names it; its value may hold a password.
    pub setting: String,
}

impl Proxies {
    /// No proxy for anything.
    pub fn none() -> Self {
        Self::default()
    }

    /// The proxies of `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`,
    /// the lower-case spelling first, as `get` knows them.
    ///
    /// # Errors
    ///
    /// A proxy of another kind than HTTP.
    pub fn from_variables(get: impl Fn(&str) -> Option<String>) -> Result<Self, BadProxy> {
        let find = |upper: &str| {
            let lower = upper.to_ascii_lowercase();
            [lower.as_str(), upper].into_iter().find_map(|name| {
                Some((
                    name.to_owned(),
                    get(name).filter(|value| !value.is_empty())?,
                ))
            })
        };
        let mut proxies = Self::default();
        let all = find("ALL_PROXY");
        if let Some((name, value)) = find("HTTPS_PROXY").or_else(|| all.clone()) {
            proxies.set_https(&name, &value)?;
        }
        if let Some((name, value)) = find("HTTP_PROXY").or(all) {
            proxies.set_http(&name, &value)?;
        }
        if let Some((_, value)) = find("NO_PROXY") {
            proxies.set_bypass(&value);
        }
        Ok(proxies)
    }

    /// The proxy for `https:` addresses; `setting` names it in an error.
    ///
    /// # Errors
    ///
    /// A proxy of another kind than HTTP.
    pub fn set_https(&mut self, setting: &str, value: &str) -> Result<(), BadProxy> {
        self.https = Some(parse(setting, value)?);
        Ok(())
    }

    /// The proxy for `http:` addresses; `setting` names it in an error.
    ///
    /// # Errors
    ///
    /// A proxy of another kind than HTTP.
    pub fn set_http(&mut self, setting: &str, value: &str) -> Result<(), BadProxy> {
        self.http = Some(parse(setting, value)?);
        Ok(())
    }

    /// Hosts that are reached without a proxy: a list as in `NO_PROXY`, of names
    /// (which stand for the names below them too), addresses, networks
    /// (`10.0.0.0/8`), each with an optional port, or `*`.
    pub fn set_bypass(&mut self, list: &str) {
        self.bypass = list
            .split([',', ' '])
            .map(|entry| entry.trim().to_ascii_lowercase())
            .filter(|entry| !entry.is_empty())
            .collect();
    }

    /// The proxy that `url` goes through.
    pub fn for_url(&self, url: &Url) -> Option<&Url> {
        let proxy = match url.scheme() {
            "https" => self.https.as_ref(),
            "http" => self.http.as_ref(),
            _ => None,
        }?;
        let bypassed =
            super::is_loopback(url) || self.bypass.iter().any(|entry| matches(entry, url));
        (!bypassed).then_some(proxy)
    }

    /// Whether a proxy itself is spoken to over TLS.
    pub(super) fn use_tls(&self) -> bool {
        [&self.https, &self.http]
            .into_iter()
            .flatten()
            .any(|proxy| proxy.scheme() == "https")
    }
}

fn parse(setting: &str, value: &str) -> Result<Url, BadProxy> {
    let bad = || BadProxy {
        setting: setting.to_owned(),
    };
    let value = value.trim();
    // `proxy.example:3128` is what people write.
    let spelled = if value.contains("://") {
        value.to_owned()
    } else {
        format!("http://{value}")
    };
    let url = Url::parse(&spelled).map_err(|_| bad())?;
    if matches!(url.scheme(), "http" | "https") && url.has_host() {
        Ok(url)
    } else {
        Err(bad())
    }
}

fn matches(entry: &str, url: &Url) -> bool {
    if entry == "*" {
        return true;
    }
    let (entry, port) = split_port(entry);
    if port.is_some() && port != url.port_or_known_default() {
        return false;
    }
    let address: IpAddr = match url.host() {
        Some(Host::Ipv4(address)) => address.into(),
        Some(Host::Ipv6(address)) => address.into(),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            let entry = entry.trim_start_matches("*.").trim_start_matches('.');
            return name == entry
                || name
                    .strip_suffix(entry)
                    .is_some_and(|before| before.ends_with('.'));
        }
        None => return false,
    };
    network(entry).is_some_and(|(network, length)| in_network(address, network, length))
}

/// `10.0.0.0/8`, or one address; the length is that of the prefix, in bits.
pub(super) fn network(entry: &str) -> Option<(IpAddr, u32)> {
    let (address, length) = match entry.split_once('/') {
        Some((address, length)) => (address, Some(length.parse::<u32>().ok()?)),
        None => (entry, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let width = if address.is_ipv4() { 32 } else { 128 };
    let length = length.unwrap_or(width);
    (length <= width).then_some((address, length))
}

/// `host:port`, `[v6]:port`, or without a port; a bare IPv6 address has none.
fn split_port(entry: &str) -> (&str, Option<u16>) {
    if let Some(rest) = entry.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').unwrap_or((rest, ""));
        return (
            host,
            rest.strip_prefix(':').and_then(|port| port.parse().ok()),
        );
    }
    match entry.split_once(':') {
        Some((host, port)) if !port.contains(':') => (host, port.parse().ok()),
        _ => (entry, None),
    }
}

/// Whether an address lies in a network.
pub(super) fn in_network(address: IpAddr, network: IpAddr, length: u32) -> bool {
    let (address, network, width) = match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => (
            u128::from(address.to_bits()),
            u128::from(network.to_bits()),
            32,
        ),
        (IpAddr::V6(address), IpAddr::V6(network)) => (address.to_bits(), network.to_bits(), 128),
        _ => return false,
    };
    length <= width
        && address.checked_shr(width - length).unwrap_or(0)
            == network.checked_shr(width - length).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{BadProxy, Proxies};
    use url::Url;

    fn through(variables: &[(&str, &str)], url: &str) -> Option<String> {
        let get = |name: &str| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        };
        let proxies = Proxies::from_variables(get).unwrap_or_else(|error| unreachable!("{error}"));
        let url = Url::parse(url).unwrap_or_else(|error| unreachable!("{error}"));
        proxies.for_url(&url).map(|url| url.as_str().to_owned())
    }

    #[test]
    fn variables_choose_by_scheme() {
        let set = [
            ("HTTPS_PROXY", "http://s:1"),
            ("http_proxy", "p:2"),
            ("HTTP_PROXY", "http://no:3"),
        ];
        assert_eq!(
            through(&set, "https://a.example/").as_deref(),
            Some("http://s:1/")
        );
        assert_eq!(
            through(&set, "http://a.example/").as_deref(),
            Some("http://p:2/")
        );
        let all = [("ALL_PROXY", "https://all"), ("https_proxy", "")];
        assert_eq!(
            through(&all, "https://a.example/").as_deref(),
            Some("https://all/")
        );
        assert_eq!(through(&[], "https://a.example/"), None);
    }

    #[test]
    fn loopback_is_reached_directly() {
        let all = [("ALL_PROXY", "http://all")];
        for url in ["http://localhost/", "https://127.0.0.1:8/", "http://[::1]/"] {
            assert_eq!(through(&all, url), None, "{url}");
        }
    }

    #[test]
    fn the_list_of_exceptions_names_hosts_networks_and_ports() {
        let cases = [
            ("*", "https://a.example/", true),
            ("a.example", "https://a.example/", true),
            ("a.example", "https://b.a.example/", true),
            (".a.example", "https://b.a.example/", true),
            ("*.a.example", "https://b.a.example/", true),
            ("a.example", "https://nota.example/", false),
            ("A.EXAMPLE , other", "https://a.example/", true),
            ("a.example:444", "https://a.example/", false),
            ("a.example:443", "https://a.example/", true),
            ("10.0.0.0/8", "https://10.9.8.7/", true),
            ("10.0.0.0/8", "https://11.9.8.7/", false),
            ("0.0.0.0/0", "https://11.9.8.7/", true),
            ("10.0.0.0/99", "https://10.0.0.0/", false),
            ("fd00::/8", "https://[fd12::1]/", true),
            ("[fd12::1]:443", "https://[fd12::1]/", true),
            ("fd12::1", "https://[fd12::1]/", true),
            ("10.1.1.1", "https://10.1.1.1/", true),
            ("", "https://a.example/", false),
        ];
        for (list, url, bypassed) in cases {
            let set = [("HTTPS_PROXY", "http://p"), ("NO_PROXY", list)];
            assert_eq!(through(&set, url).is_none(), bypassed, "{list} {url}");
        }
    }

    #[test]
    fn another_kind_of_proxy_is_an_error_that_names_the_setting() {
        let get = |name: &str| (name == "ALL_PROXY").then(|| "socks5://u:secret@p:1".to_owned());
        let error = Proxies::from_variables(get).err();
        assert_eq!(
            error,
            Some(BadProxy {
                setting: "ALL_PROXY".to_owned()
            })
        );
    }
}
