use provost_run::machine::{Command, Sealed};

fn forge(sealed: Sealed) -> Vec<Command> {
    sealed.commands
}

fn main() {
    let _ = forge;
}
