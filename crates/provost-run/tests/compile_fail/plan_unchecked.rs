use provost_plan::approve::ApprovedPlan;
use provost_plan::plan::Plan;

fn forge(plan: Plan) -> ApprovedPlan {
    ApprovedPlan::gated(plan)
}

fn main() {
    let _ = forge;
}
