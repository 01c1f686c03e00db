use std::sync::Arc;

use provost_plan::approve::ApprovedPlan;
use provost_plan::catalog::Operation;
use provost_run::call::{Call, Slot};

fn forge(plan: &ApprovedPlan, slot: Slot, operation: Arc<Operation>) -> Option<Call> {
    Call::under(plan, slot, 1, operation, serde_json::json!({}), None)
}

fn main() {
    let _ = forge;
}
