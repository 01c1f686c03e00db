use provost_plan::check::{CheckedPlan, PlanRecord};
use provost_plan::plan::Plan;

fn forge(plan: Plan, record: PlanRecord) -> CheckedPlan {
    CheckedPlan { plan, record }
}

fn main() {
    let _ = forge;
}
