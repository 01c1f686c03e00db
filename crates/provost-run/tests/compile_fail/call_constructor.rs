use provost_plan::approve::ApprovedPlan;
use provost_plan::catalog::Catalog;
use provost_run::call::Call;
use provost_run::event::AttemptStarted;

fn forge(plan: &ApprovedPlan, catalog: &Catalog, intent: &AttemptStarted) -> Option<Call> {
    Call::new(plan, catalog, intent)
}

fn main() {
    let _ = forge;
}
