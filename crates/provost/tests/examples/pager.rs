//! What the pager of the simulated world was really asked for.

use sim::world::Local;

/// Pages that were really sent.
pub fn pages(world: &Local) -> u64 {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let url = format!("{}/ledger", world.url());
    let text = tokio::runtime::Runtime::new()
        .unwrap()
        .block_on(async { reqwest::get(url).await.unwrap().text().await.unwrap() });
    let ledger: serde_json::Value = serde_json::from_str(&text).unwrap();
    let calls = ledger["calls"].as_array().unwrap();
    calls
        .iter()
        .filter(|call| call["route"] == "POST /pages")
        .map(|call| call["effects"].as_u64().unwrap())
        .sum()
}
