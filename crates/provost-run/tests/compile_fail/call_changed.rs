use provost_run::call::Call;

fn forge(mut call: Call) -> Call {
    call.args = serde_json::json!({ "to": "somebody else" });
    call
}

fn main() {
    let _ = forge;
}
