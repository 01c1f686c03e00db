//! Names to addresses, for one name only.
//!
//! Owns the look-up of a client's host. INVARIANT: no other name is looked up, and no address
//! comes out that a name may not stand for.

use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::reachable_by_name;

#[derive(Debug)]
pub(super) struct Resolver {
    host: String,
}

impl Resolver {
    pub(super) fn for_host(host: &str) -> Arc<Self> {
        Arc::new(Self {
            host: host.to_ascii_lowercase(),
        })
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = self.host.clone();
        Box::pin(async move {
            if !name.as_str().eq_ignore_ascii_case(&host) {
                return Err(format!("`{}` is not the host of this tool", name.as_str()).into());
            }
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            let allowed = found
                .filter(|address| reachable_by_name(address.ip()))
                .collect::<Vec<SocketAddr>>();
            if allowed.is_empty() {
                let reason = format!(
                    "`{host}` stands for no address that a name may stand for; name the address \
                     itself if you mean it"
                );
                return Err(reason.into());
            }
            let addresses: Addrs = Box::new(allowed.into_iter());
            Ok(addresses)
        })
    }
}
