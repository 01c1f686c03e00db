use super::*;

/// Whether it is never so, the schema, what is asked.
const ASKED: &str = r#"
never true : == 1, == 2
can   true : == 1, == 1.0
never true : > 5, < 3
never true : > 5, <= 5
can   true : >= 5, <= 5
never true : == 4, < 4
never true : == "a", != "a"
can   true : != "a"
never {"type":"integer","minimum":0} : < 0
can   {"type":"integer","minimum":0} : <= 0
never {"type":"integer","minimum":0} : == -1
never {"type":"integer","minimum":0} : > 3, < 4
never {"type":"integer","minimum":0} : <= 0, != 0
never {"type":"integer","minimum":0} : < 3, != 0, != 1, != 2
can   {"type":"integer","minimum":0} : < 3, != 0, != 2
never {"type":"integer","maximum":5} : >= 5, != 5
can   {"type":"integer"} : <= 0, != 0
can   {"type":"number","minimum":0} : <= 1, != 1, != 0
can   {"type":"number"} : > 3, < 4
can   {"type":"integer","minimum":0} : == "1"
never {"type":"integer","minimum":0} : == null
can   {"type":["integer","null"]} : == null
never {"enum":["low","high"]} : == "medium"
never {"enum":["low","high"]} : != "low", != "high"
never {"enum":["low","high"]} : in ["mid","top"]
can   {"enum":["low","high"]} : in ["mid","low"]
can   {"type":"string"} : > "b", < "a"
"#;

fn demand(text: &str) -> Demand {
    let (operator, value) = text.split_once(' ').unwrap_or_default();
    let value: Value = serde_json::from_str(value).unwrap_or_default();
    let operator = match operator {
        "==" => Compare::Equal,
        "!=" => Compare::NotEqual,
        "<" => Compare::Less,
        "<=" => Compare::LessEqual,
        ">" => Compare::Greater,
        ">=" => Compare::GreaterEqual,
        _ => return Demand::Among(value.as_array().cloned().unwrap_or_default(), true),
    };
    Demand::Compares(operator, value)
}

#[test]
fn demands_that_exclude_each_other() {
    for line in ASKED.lines().filter(|line| !line.is_empty()) {
        let (never, rest) = line.split_at(6);
        let (ty, asked) = rest.split_once(" : ").unwrap_or_default();
        let ty: Value = serde_json::from_str(ty).unwrap_or_default();
        let demands: Vec<Demand> = asked.split(", ").map(demand).collect();
        let demands: Vec<&Demand> = demands.iter().collect();
        let x = DemandSubject {
            root: Root::Output,
            path: Vec::new(),
            is_size: false,
        };
        let reason =
            among_themselves(&x, &demands).or_else(|| of_type(&x, &Type::of_json(&ty), &demands));
        assert_eq!(reason.is_some(), never == "never ", "{line}: {reason:?}");
    }
}
