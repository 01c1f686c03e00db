//! The control: everything the other files name, used as it may be.
use provost_plan::approve::ApprovedPlan;
use provost_plan::check::CheckedPlan;
use provost_run::call::{Call, Slot};
use provost_run::machine::{Command, Receipt, SealError, Sealed};

fn reads(call: &Call) -> (&Slot, &serde_json::Value, Option<&str>) {
    (call.slot(), call.args(), call.key())
}

fn gates(checked: CheckedPlan) -> ApprovedPlan {
    ApprovedPlan::gated(checked)
}

fn opens(sealed: Sealed, receipt: &Receipt) -> Result<Vec<Command>, SealError> {
    sealed.open(receipt)
}

pub fn main() {
    let _ = (reads, gates, opens);
}
