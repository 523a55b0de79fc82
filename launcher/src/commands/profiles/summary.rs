//! Describes a workload in two lines: its load and its lengths. Pure.

use workload_profiles::{
    Workload,
    workload::{
        Arrivals, Conversations, DataSet, LengthDistribution, Load, OutputLength, Rate, RequestSource, Shape, Stage,
        Unit,
    },
};

pub(super) struct Summary {
    pub(super) load: String,
    pub(super) lengths: String,
}

impl Summary {
    pub(super) fn new(workload: &Workload) -> Summary {
        Summary { load: load(workload), lengths: lengths(&workload.requests) }
    }
}

/// Returns the first sentence of the comment at the top of a template.
pub(super) fn purpose(template: &str) -> String {
    let comment = template.lines().map_while(|it| it.strip_prefix('#')).map(str::trim);
    let text = comment.collect::<Vec<_>>().join(" ");
    match text.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => text,
    }
}

fn load(workload: &Workload) -> String {
    let unit = if workload.sessions.unit == Unit::Session { "sessions" } else { "requests" };
    let mut parts: Vec<(String, Vec<String>)> = Vec::new();
    for stage in &workload.stages {
        let (kind, level) = kind_and_level(stage, unit);
        match parts.last_mut().filter(|it| it.0 == kind) {
            Some(part) => part.1.push(level),
            None => parts.push((kind, vec![level])),
        }
    }
    let texts: Vec<String> =
        parts.into_iter().map(|(kind, levels)| of_one(&kind.replace("{}", &listed(&levels)))).collect();
    texts.join(", then ")
}

/// Changes nouns after a single 1 to their singular: `1 request/s`.
fn of_one(text: &str) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    let mut singular = Vec::new();
    for index in 1..words.len() {
        let before = index.checked_sub(2).and_then(|it| words.get(it));
        let in_list = before.is_some_and(|it| it.ends_with(',') && it.starts_with(|it: char| it.is_ascii_digit()));
        let noun = ["requests", "sessions", "users"].into_iter().find(|it| words[index].starts_with(it));
        if let Some(noun) = noun.filter(|_| words[index - 1] == "1" && !in_list) {
            singular.push((index, words[index].replacen(noun, &noun[..noun.len() - 1], 1)));
        }
    }
    for (index, word) in &singular {
        words[*index] = word;
    }
    words.join(" ")
}

/// Lists the levels of stages. If there are many, lists only the first and the last.
fn listed(levels: &[String]) -> String {
    match levels {
        [first, rest @ ..] if !rest.is_empty() && rest.iter().all(|it| it == first) => {
            format!("{} x {first}", levels.len())
        }
        [first, .., last] if levels.len() > 8 => format!("{first} ... {last} ({} stages)", levels.len()),
        _ => levels.join(", "),
    }
}

/// Returns the description that all stages of one kind share, with `{}` for the level, and the level itself.
fn kind_and_level(stage: &Stage, unit: &str) -> (String, String) {
    match &stage.load {
        Load::Open { arrivals, rate, duration, count, .. } => {
            let level = match rate {
                Rate::Steady(rate) => rate.to_string(),
                Rate::Varying(_) => "a varying number of".to_owned(),
            };
            let length = match (duration, count) {
                (Some(duration), _) => format!(" for {duration}"),
                (None, Some(count)) => format!(" for {count} {unit}"),
                (None, None) => String::new(),
            };
            (format!("{} {{}} {unit}/s{length}", name(*arrivals)), level)
        }
        Load::Burst { count, .. } => (format!("{{}} {unit} in a burst"), count.to_string()),
        Load::Trace { .. } => ("a trace".to_owned(), String::new()),
        Load::Closed { concurrency, duration, .. } => {
            let length = duration.map(|it| format!(" for {it}")).unwrap_or_default();
            (format!("{{}} {unit} in flight{length}"), concurrency.to_string())
        }
        Load::Users { users, rate, .. } => (format!("{{}} users, {rate} requests/s"), users.to_string()),
        Load::LoadGen { scenario, .. } => (format!("LoadGen {scenario:?}: {{}}"), stage.name.clone()),
    }
}

fn name(arrivals: Arrivals) -> &'static str {
    match arrivals {
        Arrivals::Constant | Arrivals::ConstantAfterGap => "evenly spaced",
        Arrivals::Poisson | Arrivals::ConditionedPoisson | Arrivals::PoissonPerSecond => "Poisson",
        Arrivals::Gamma { .. } | Arrivals::ConditionedGamma { .. } => "gamma",
    }
}

fn lengths(requests: &RequestSource) -> String {
    let tokens = |input: String, output: String| format!("ISL {input}, OSL {output}");
    match requests {
        RequestSource::Mock => "short fixed texts".to_owned(),
        RequestSource::Random { input, output, .. } => tokens(length(input), length(output)),
        RequestSource::SharedPrefix {
            groups, prompts_per_group, system_prompt_len, question_len, output_len, ..
        } => {
            let input = format!("{} shared + {}", length(system_prompt_len), length(question_len));
            format!("{}; {groups} prefixes x {prompts_per_group} prompts", tokens(input, length(output_len)))
        }
        RequestSource::Conversations(conversations) => {
            let Conversations { turns, turn, .. } = &**conversations;
            let turns = length(turns);
            format!("{turns} turns of {}", tokens(length(&turn.input), length(&turn.output)))
        }
        RequestSource::TraceBlocks { .. } => "as in the trace".to_owned(),
        RequestSource::DataSet(DataSet { output: OutputLength::Fixed(output), .. }) => {
            tokens("of the data set".to_owned(), format!("at most {output}"))
        }
        RequestSource::DataSet(_) => "as in the data set".to_owned(),
        RequestSource::Recorded(_) => "as in the recording".to_owned(),
        RequestSource::Questions(questions) => {
            tokens(format!("of the questions with {} examples", questions.shots), questions.max_tokens.to_string())
        }
    }
}

fn length(of: &LengthDistribution) -> String {
    let LengthDistribution { shape, min, max, mean, std_dev, .. } = of;
    match shape {
        Shape::Fixed => format!("{mean}"),
        Shape::Uniform => format!("{min} to {max}"),
        Shape::Poisson => format!("{mean} (Poisson, {min} to {max})"),
        Shape::Normal => format!("{mean} ± {std_dev} ({min} to {max})"),
        Shape::Lognormal => format!("{mean} ± {std_dev} (log-normal, {min} to {max})"),
        Shape::SkewNormal { .. } => format!("{mean} ± {std_dev} (skew-normal, {min} to {max})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_purpose_is_the_first_sentence() {
        assert_eq!(purpose("# Checks it:\n# in 30 s. More text.\nload: 1\n# no"), "Checks it: in 30 s.");
        assert_eq!(purpose("load: 1"), "");
    }

    #[test]
    fn one_of_a_kind_is_singular() {
        for (text, expected) in [
            ("evenly spaced 1 requests/s for 30s", "evenly spaced 1 request/s for 30s"),
            ("1 requests in flight, then 1 users, 1 requests/s", "1 request in flight, then 1 user, 1 request/s"),
            ("Poisson 1, 2, 4 requests/s", "Poisson 1, 2, 4 requests/s"),
            ("Poisson 4, 2, 1 requests/s", "Poisson 4, 2, 1 requests/s"),
            ("21 requests in a burst", "21 requests in a burst"),
        ] {
            assert_eq!(of_one(text), expected);
        }
    }

    #[test]
    fn many_levels_are_shortened() {
        let levels = |count: u32| (1..=count).map(|it| it.to_string()).collect::<Vec<_>>();
        assert_eq!(listed(&levels(3)), "1, 2, 3");
        assert_eq!(listed(&levels(9)), "1 ... 9 (9 stages)");
        assert_eq!(listed(&vec!["4".to_owned(); 3]), "3 x 4");
    }
}
