//! A tool of the program's own, and a person who approves its call at the terminal.

use provost_sdk::{Call, Effect, Next, ToolError, Workspace, tool};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Mail {
    to: String,
    text: String,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Sent {
    sent: bool,
}

const PLAN: &str = r#"
schema: provost/plan/v1
goal: { text: Tell ada how many tickets are open }
steps:
  - { id: tell, tool: mail.send, args: { to: ada, text: 3 tickets are open } }
success:
  - { for: goal, check: '${ steps.tell.output.sent }' }
answer:
  - { text: Ada knows., cites: [tell] }
"#;

#[tokio::main]
async fn main() -> provost_sdk::Result<()> {
    let send = async |call: Call<Mail>| -> Result<Sent, ToolError> {
        println!("to {}: {}", call.args.to, call.args.text);
        Ok(Sent { sent: true })
    };
    let mail = tool("mail.send", Effect::External, send).content(["text"]);
    let ws = Workspace::in_memory().user("ada").tool(mail).build()?;
    let mut run = ws.apply(PLAN).await?;
    let outcome = loop {
        match run.next().await? {
            Next::Approval(card) => {
                println!("{card}");
                run.approve(&card, "ada").await?;
            }
            Next::Question(question) => run.answer(&question, "none").await?,
            Next::InDoubt(doubt) => return Err(doubt.into()),
            Next::Paused(why) | Next::Until(why) => return Err(why.into()),
            Next::Ended(outcome) => break outcome,
        }
    };
    println!("{}: {}", outcome.status, outcome.answer);
    Ok(())
}
