//! The smallest program that embeds provost: no tool of its own, no person.

use provost_sdk::{Next, Workspace};

#[tokio::main]
async fn main() -> provost_sdk::Result<()> {
    let ws = Workspace::open("ws").user("ada").build()?;
    let mut run = ws.run("Find welcome in my notes").await?;
    match run.next().await? {
        Next::Ended(outcome) => println!("{}: {}", outcome.status, outcome.answer),
        other => println!("it waits: {other:?}"),
    }
    Ok(())
}
