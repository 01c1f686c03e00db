//! Payments and their refunds, in minor units of a currency.
//!
//! Owns the money. Never lets refunds exceed what was paid, but for the fault that does it twice.
//! INVARIANT: one effect is one refund, found again by its id and its key.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::route::{Reply, Request, Route};
use super::state::State;

/// Money that came in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Payment {
    id: String,
    customer: String,
    amount: u64,
    currency: String,
    #[serde(default)]
    refunded: u64,
}

/// Money that went back.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Refund {
    id: String,
    payment: String,
    amount: u64,
    /// Where it went, if not to where the payment came from.
    #[serde(default)]
    account: Option<String>,
    reason: Option<String>,
    status: String,
    key: Option<String>,
    at: String,
}

pub const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        template: "/payments/{id}",
        handle: payment,
    },
    Route {
        method: "POST",
        template: "/refunds",
        handle: refund,
    },
    Route {
        method: "GET",
        template: "/refunds/{id}",
        handle: show,
    },
    Route {
        method: "GET",
        template: "/refunds/by-key/{key}",
        handle: by_key,
    },
];

/// The payments of a new world.
pub fn payments_at_start() -> BTreeMap<String, Payment> {
    let rows = [
        ("pay-1", "ana@example.com", 12_900),
        ("pay-2", "ben@example.com", 4_500),
        ("pay-3", "chi@example.com", 250_000),
    ];
    rows.into_iter()
        .map(|(id, customer, amount)| {
            let payment = Payment {
                id: id.to_owned(),
                customer: customer.to_owned(),
                amount,
                currency: "EUR".to_owned(),
                refunded: 0,
            };
            (id.to_owned(), payment)
        })
        .collect()
}

fn payment(state: &mut State, _: &Request, holes: &[&str]) -> Reply {
    match holes.first().and_then(|id| state.payments.get(*id)) {
        Some(payment) => Reply::read(json!(payment)),
        None => Reply::refused(404, "no such payment"),
    }
}

fn refund(state: &mut State, request: &Request, _: &[&str]) -> Reply {
    let amount = request
        .body
        .get("amount")
        .and_then(Value::as_u64)
        .filter(|amount| *amount > 0);
    let (Some(payment), Some(amount)) = (request.text("payment"), amount) else {
        return Reply::refused(422, "`payment` or a positive `amount` is missing");
    };
    let Some(paid) = state.payments.get_mut(&payment) else {
        return Reply::refused(404, "no such payment");
    };
    if amount > paid.amount.saturating_sub(paid.refunded) {
        return Reply::refused(409, "the refund exceeds what is left of the payment");
    }
    paid.refunded += amount;
    let refund = Refund {
        id: format!("refund-{}", state.refunds.len() + 1),
        payment,
        amount,
        account: request.text("account"),
        reason: request.text("reason"),
        status: "done".to_owned(),
        key: request.key.clone(),
        at: request.at.clone(),
    };
    let body = json!(refund);
    state.refunds.push(refund);
    Reply::done(201, body)
}

fn show(state: &mut State, _: &Request, holes: &[&str]) -> Reply {
    let wanted = holes.first().copied();
    match state
        .refunds
        .iter()
        .find(|refund| Some(refund.id.as_str()) == wanted)
    {
        Some(refund) => Reply::read(json!(refund)),
        None => Reply::refused(404, "no such refund"),
    }
}

fn by_key(state: &mut State, _: &Request, holes: &[&str]) -> Reply {
    let wanted = holes.first().copied();
    match state
        .refunds
        .iter()
        .find(|refund| refund.key.as_deref() == wanted)
    {
        Some(refund) => Reply::read(json!({ "found": true, "id": refund.id })),
        None => Reply::read(json!({ "found": false })),
    }
}
