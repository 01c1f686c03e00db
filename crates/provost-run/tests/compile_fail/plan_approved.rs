use provost_plan::approve::ApprovedPlan;
use provost_plan::check::CheckedPlan;

fn forge(checked: CheckedPlan) -> ApprovedPlan {
    ApprovedPlan { checked, grants: Default::default() }
}

fn main() {
    let _ = forge;
}
