use provost_run::call::{Call, Slot};

fn forge(slot: Slot, operation: std::sync::Arc<provost_plan::catalog::Operation>) -> Call {
    Call {
        slot,
        attempt: 1,
        operation,
        args: serde_json::json!({}),
        key: None,
        timeout: std::time::Duration::from_secs(1),
    }
}

fn main() {
    let _ = forge;
}
