//! What the pager of the simulated world was really asked for.

use sim::world::Local;

/// What a GET of this address answers.
pub fn got(url: &str) -> String {
    let _ = rustls::crypto::ring::default_provider().install_default();
    tokio::runtime::Runtime::new()
        .unwrap()
        .block_on(async { reqwest::get(url).await.unwrap().text().await.unwrap() })
}

/// Pages that were really sent.
pub fn pages(world: &Local) -> u64 {
    let text = got(&format!("{}/ledger", world.url()));
    let ledger: serde_json::Value = serde_json::from_str(&text).unwrap();
    let calls = ledger["calls"].as_array().unwrap();
    calls
        .iter()
        .filter(|call| call["route"] == "POST /pages")
        .map(|call| call["effects"].as_u64().unwrap())
        .sum()
}
