//! Assets: the style and the script of the pages, each under the digest of its bytes.
//!
//! Owns the table. Reads no file when it runs. INVARIANT: an address names exactly these bytes, so
//! that it can be kept for ever.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use ring::digest::{SHA256, digest};

use crate::problem::Problem;

struct Asset {
    name: &'static str,
    media: &'static str,
    bytes: &'static [u8],
}

const ASSETS: [Asset; 2] = [
    Asset {
        name: "page.css",
        media: "text/css; charset=utf-8",
        bytes: include_bytes!("../assets/page.css"),
    },
    Asset {
        name: "page.js",
        media: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../assets/page.js"),
    },
];

/// The digest over all of them: one address for each version of this program.
static HASH: LazyLock<String> = LazyLock::new(|| {
    let all: Vec<u8> = ASSETS
        .iter()
        .flat_map(|asset| asset.bytes)
        .copied()
        .collect();
    let digest = digest(&SHA256, &all);
    let digits = digest.as_ref().iter().take(8);
    digits.map(|byte| format!("{byte:02x}")).collect()
});

/// The address of an asset.
pub(crate) fn address(name: &str) -> String {
    format!("/assets/{}/{name}", *HASH)
}

/// `GET /assets/{hash}/{name}`.
pub(crate) async fn get(Path((hash, name)): Path<(String, String)>) -> Result<Response, Problem> {
    let asset = ASSETS.iter().find(|asset| asset.name == name);
    let asset = asset.filter(|_| hash == *HASH);
    let asset = asset.ok_or_else(|| Problem::not_found("file"))?;
    let mut response = asset.bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.media));
    let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
    headers.insert(header::CACHE_CONTROL, kept);
    Ok(response)
}
