//! Names to addresses, for one name only.
//!
//! Owns the look-up of a client's host, and the kinds of addresses that a name may resolve to.
//! INVARIANT: no other name is looked up, and no address comes out that the name may not have.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Which names may resolve to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    /// An address of the internet: any name may resolve to it.
    Public,
    /// Of a private network or of this machine: only where the operator says `private = true`.
    Private,
    /// Link-local, multicast, or the metadata service of a cloud: the settings have to name the
    /// address itself.
    Reserved,
}

/// Which names may resolve to `address`, by the ranges of RFC 6890.
#[must_use]
pub fn address_kind(address: IpAddr) -> AddressKind {
    match address.to_canonical() {
        IpAddr::V4(v4) => kind_of_v4(v4),
        IpAddr::V6(v6) => match embedded_v4(v6) {
            Some(v4) => kind_of_v4(v4),
            None => kind_of_v6(v6),
        },
    }
}

fn kind_of_v4(v4: Ipv4Addr) -> AddressKind {
    let [a, b, c, d] = v4.octets();
    // Why these two: clouds answer at them as at 169.254.169.254.
    let is_cloud = [[100, 100, 100, 200], [192, 0, 0, 192]].contains(&[a, b, c, d]);
    if v4.is_link_local() || v4.is_multicast() || v4.is_broadcast() || a == 0 || is_cloud {
        return AddressKind::Reserved;
    }
    let is_shared = a == 100 && (64..128).contains(&b);
    match v4.is_loopback() || v4.is_private() || is_shared {
        true => AddressKind::Private,
        false => AddressKind::Public,
    }
}

fn kind_of_v6(v6: Ipv6Addr) -> AddressKind {
    let is_cloud = v6.segments() == [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254];
    if v6.is_unicast_link_local() || v6.is_multicast() || v6.is_unspecified() || is_cloud {
        return AddressKind::Reserved;
    }
    match v6.is_loopback() || v6.is_unique_local() {
        true => AddressKind::Private,
        false => AddressKind::Public,
    }
}

/// The older address that a newer one wraps: of a translating network, or written as one.
fn embedded_v4(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, high, low] = v6.segments();
    let translates = [a, b, c, d, e, f] == [0x64, 0xff9b, 0, 0, 0, 0];
    let written = [a, b, c, d, e, f] == [0; 6] && high != 0;
    let [one, two] = high.to_be_bytes();
    let [three, four] = low.to_be_bytes();
    (translates || written).then(|| Ipv4Addr::new(one, two, three, four))
}

/// Whether a name in lower case is `localhost` or below it (RFC 6761).
pub(super) fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

#[derive(Debug)]
pub(super) struct Resolver {
    host: String,
    private: bool,
}

impl Resolver {
    /// Of a name that says itself that it is this machine, the operator said so.
    pub(super) fn for_host(host: &str, private: bool) -> Arc<Self> {
        let host = host.to_ascii_lowercase();
        let private = private || is_localhost(host.trim_end_matches('.'));
        Arc::new(Self { host, private })
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (host, private) = (self.host.clone(), self.private);
        Box::pin(async move {
            if !name.as_str().eq_ignore_ascii_case(&host) {
                return Err(format!("`{}` is not the host of this tool", name.as_str()).into());
            }
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            let found = found.collect::<Vec<SocketAddr>>();
            let mut allowed = found.clone();
            allowed.retain(|address| match address_kind(address.ip()) {
                AddressKind::Public => true,
                AddressKind::Private => private,
                AddressKind::Reserved => false,
            });
            if allowed.is_empty() {
                let mut seen = found.iter().map(|address| address_kind(address.ip()));
                let reason = match seen.any(|kind| kind == AddressKind::Private) {
                    true => format!(
                        "`{host}` stands for a private address; write `private = true` beside it \
                         if you mean that"
                    ),
                    false => format!(
                        "`{host}` stands for no address that a name may stand for; name the \
                         address itself if you mean it"
                    ),
                };
                return Err(reason.into());
            }
            let addresses: Addrs = Box::new(allowed.into_iter());
            Ok(addresses)
        })
    }
}
