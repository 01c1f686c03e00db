//! The codes of diagnostics: one row a code, with its severity, title and page.
//!
//! Owns the table that `explain` prints and that the page tests walk. A letter is a family: P
//! text and structure, R refs, T types, E effects, F flow, B budget, V policy, S shape, W
//! workspace. INVARIANT: a code is never reused or given another severity.

use crate::diagnostic::Severity;

macro_rules! codes {
    ($($name:ident = $code:literal, $severity:ident, $title:literal;)+) => {
        /// A diagnostic's code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $(#[doc = $title] $name,)+ }

        impl Code {
            /// Every code, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The code as written, such as `R101`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)+ }
            }

            /// The code's name, such as `UnknownTool`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)+ }
            }

            /// The severity of every finding with this code.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)+ }
            }

            /// What the code is about, in a few words.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)+ }
            }

            /// The page that `explain` prints.
            #[must_use]
            pub fn page(self) -> &'static str {
                match self {
                    $(Self::$name => include_str!(concat!("../../explain/", $code, ".md")),)+
                }
            }
        }
    };
}

codes! {
    Syntax = "P001", Error, "the text is not readable as YAML, JSON or TOML";
    TooLarge = "P002", Error, "the text passes a limit of size, depth or count";
    DuplicateKey = "P003", Error, "a key appears twice in one map";
    UnknownField = "P004", Error, "a field the format does not have";
    MissingField = "P005", Error, "a field that must be there is not";
    WrongShape = "P006", Error, "a field has a value of the wrong kind";
    BadNumber = "P007", Error, "an integer beyond ±2^53";
    LaterField = "P008", Error, "a field this version understands but does not carry out";
    BadExpression = "P009", Error, "an expression that cannot be read";
    BadName = "P010", Error, "a name with characters a name may not have";
    WrongSchema = "P011", Error, "the text declares another format";
    AnchorUsed = "P012", Error, "an anchor, alias or tag";
    UnknownTool = "R101", Error, "a step calls a tool that is not in the catalog";
    UnknownStep = "R102", Error, "a reference to a step the plan does not have";
    DuplicateStep = "R103", Error, "two steps with one id";
    Cycle = "R104", Error, "steps that wait for each other";
    UnknownParam = "R105", Error, "a reference to a parameter that does not exist";
    UnguardedRead = "R106", Error, "a read of what may be absent, without a guard";
    UnknownRoot = "R107", Error, "a reference to a name that is not in scope here";
    GoalChanged = "R108", Error, "a plan that changes the goal or its criteria";
    UnknownCriterion = "R109", Error, "a proof of a criterion the goal does not have";
    UnprovenCriterion = "R110", Error, "a criterion that nothing proves";
    RepeatsFailure = "R112", Error, "a revision that repeats a failed call unchanged";
    FactChanged = "R111", Error, "a revision that changes a step that already ran";
    UnknownRole = "R113", Error, "a step in a role that the operator does not declare";
    NoSubgoal = "R114", Error, "a step that refines no subgoal of the plan";
    BeyondRefinement = "R115", Error, "a refinement that does more, or less, than to refine";
    NeverRefined = "R116", Error, "a subgoal that no planner refines";
    AskedOnce = "R117", Error, "a question over a list";
    BadLet = "R118", Error, "a name of a `let` that cannot be written out";
    UnknownValue = "R119", Error, "a limit of a value that no tool counts";
    ArgumentType = "T201", Error, "an argument that the tool's input schema refuses";
    MissingArgument = "T202", Error, "a required argument is missing";
    UnknownArgument = "T203", Error, "an argument the tool does not have";
    AbsentPath = "T204", Error, "a path that the output schema does not have";
    NoOverlap = "T205", Error, "a reference whose values never fit their place";
    NotBoolean = "T206", Error, "a guard, acceptance or proof that is not boolean";
    RunTimeCheck = "T207", Note, "a value that can only be checked at run time";
    NotPrintable = "T208", Error, "a list, map or null inside a text";
    OperandType = "T209", Error, "an operator on kinds of value it does not support";
    NotAList = "T210", Error, "a `for_each` over what is not a list, or over more than `max_items`";
    OtherUnit = "T211", Error, "a number of one unit where another is meant";
    DefaultType = "T212", Error, "a default that the schema of its answer refuses";
    FractionOfWhole = "T213", Warning, "a whole number compared with a fraction";
    OtherUnitName = "T214", Warning, "a number whose name says another unit than it is given to";
    FieldBesideFits = "T215", Warning, "a field that may not fit, beside one that always does";
    CrossedArguments = "T216", Warning, "an argument that is given the field of another";
    RiskUnderstated = "E301", Error, "a step that declares less risk than it has";
    NoAcceptance = "E302", Warning, "a write with no acceptance";
    NoIdempotency = "E303", Note, "a write that cannot be repeated safely";
    ConcurrentWrites = "E304", Error, "two writes to one target that may run at once";
    RepeatedCall = "E305", Error, "the same write twice in one plan";
    StaleReading = "E306", Warning, "a step acts on a reading that another step may change";
    BadConfirm = "E307", Error, "a `confirm` that cannot prove a write";
    NeedlessFresh = "E308", Warning, "`fresh` where no reading is acted on";
    BadUndo = "E309", Error, "an `undo` that reverses nothing";
    VainSetting = "E310", Warning, "a setting of a step that its tool does not follow";
    BadUntil = "E311", Error, "an `until` that cannot poll";
    UntrustedSink = "F401", Note, "untrusted data decides who or what is reached";
    UntrustedControl = "F402", Note, "untrusted text decides whether something runs";
    SecretLeaves = "F403", Error, "a secret leaves for the outside";
    TooManySteps = "B501", Error, "more steps than the limit";
    TooManyCalls = "B502", Error, "more calls than the limit in the worst case";
    TooManyAttempts = "B503", Error, "more attempts than the limit in the worst case";
    NotBounded = "B504", Note, "something that no limit bounds";
    TimePassed = "B505", Error, "the longest path takes longer than the limit";
    MoneyPassed = "B506", Error, "more money than the limit in the worst case";
    TokensPassed = "B507", Error, "more tokens than the limit in the worst case";
    NotPriced = "B508", Note, "a step whose cost has no bound";
    ValuePassed = "B509", Error, "more of a counted value than the limit in the worst case";
    ValueNotBounded = "B510", Error, "a step that adds to a limited value without a bound";
    Forbidden = "V601", Error, "policy forbids a step";
    Asks = "V602", Note, "policy asks a person about a step";
    OutsideRole = "V603", Error, "a tool that the role of its step does not admit";
    OutsideEnvelope = "V604", Error, "a step that the envelope of its subgoal does not admit";
    AsksNobody = "V605", Warning, "a question to a person or group that there is not";
    TooFewApprovers = "V606", Warning, "an approval that too few people may give";
    ConstantCheck = "S701", Error, "a proof that reads no step";
    UnreadOutput = "S702", Warning, "a read or a question whose output nothing uses";
    NoSteps = "S703", Error, "a plan without steps";
    UnsupportedClaim = "S704", Warning, "a claim in the answer that cites nothing";
    NoAnswer = "S705", Warning, "a plan without an answer";
    VagueStep = "S706", Warning, "a description that says nothing";
    VagueCriterion = "S707", Warning, "a criterion without a testable condition";
    ImpossibleProof = "S708", Error, "a proof or an acceptance that can never be true";
    NeedlessOrder = "S709", Warning, "an entry of `needs` that something else implies";
    RepeatedRead = "S710", Warning, "a call that gives nothing new: the same was made already";
    EarlyEffect = "S711", Warning, "an effect beside a call that can still fail";
    ConstantGuard = "S712", Warning, "a guard that is always the same";
    WideEnvelope = "S713", Warning, "an envelope wider than what it could be used for";
    ReadsProveEffect = "S714", Warning, "a criterion that wants an effect, proven by reads alone";
    HollowCondition = "S715", Warning, "an acceptance or a proof that is always true";
    AgainstProof = "S716", Warning, "a guard and a proof that say opposite things";
    UnsureClaim = "S717", Warning, "a claim that cites what may not have happened";
    OtherThanGiven = "S718", Warning, "an acceptance of another value than the call is given";
    UnusedName = "S719", Warning, "a name of a `let` that nothing uses";
    Detached = "S720", Warning, "a `confirm` or an `undo` that has nothing of its step";
    NeedlessMark = "S721", Note, "an argument that may be left out, and never or always is";
    OtherList = "S722", Warning, "a proof that counts another list than its step goes over";
    StoppedCleanup = "S723", Warning, "a step that takes another back, and that a failure stops";
    VainWrite = "S724", Warning, "a write of what is so already";
    VainLoop = "S725", Warning, "a `for_each` that what is known before it keeps from working";
    UnwaitedState = "S726", Warning, "a state that a read wants at once of what a write has begun";
    ReadElsewhere = "S727", Warning, "a read of another thing than the write that it is for";
    BadWorkspace = "W801", Error, "a setting of the workspace that cannot be used";
    BadPolicy = "W802", Error, "a policy that does not load";
    ReachesItself = "W803", Error, "a tool that could change what governs it";
    BadSchema = "W804", Error, "a JSON Schema that does not load";
    BadPlaybook = "W805", Error, "a playbook that cannot be used";
    PolicyNeverApplies = "W807", Warning, "a policy that can never apply";
    Uncovered = "W808", Warning, "a tool that no policy permits";
    NamesNobody = "W809", Warning, "a policy that names a group, person or role that there is not";
    UnseenTag = "W810", Warning, "a tag that no policy looks at";
    UnknownTag = "W811", Error, "a tag that is not declared";
    ManyCases = "W812", Warning, "a playbook with more cases than are compiled";
    UntrustedUnasked = "W813", Note, "policies that ask nobody about untrusted values";
    Drift = "W806", Error, "a tool that differs from `provost.lock`";
}

/// The families of codes: the letter, and what the pass looks at.
pub const FAMILIES: &[(char, &str)] = &[
    ('P', "text and structure"),
    ('R', "references"),
    ('T', "types"),
    ('E', "effects"),
    ('F', "flow of untrusted and secret values"),
    ('B', "budget"),
    ('V', "policy"),
    ('S', "shape"),
    ('W', "workspace"),
];

impl Code {
    /// What the family of this code looks at.
    #[must_use]
    pub fn family(self) -> &'static str {
        let known = FAMILIES
            .iter()
            .find(|(letter, _)| self.as_str().starts_with(*letter));
        known.map_or("", |(_, family)| *family)
    }

    /// The page's paragraph on what it finds.
    #[must_use]
    pub fn finds(self) -> &'static str {
        let section = self.page().split("\n## ").nth(1).unwrap_or_default();
        section
            .split_once('\n')
            .map_or("", |(_heading, text)| text.trim())
    }

    /// The code written as `text`, in either case.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|code| code.as_str().eq_ignore_ascii_case(text))
    }
}

impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
